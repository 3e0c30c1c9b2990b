"""Branches on exporting: what a test asks, and the statements of its sides."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from caniexport.scan.normal import every_statement
from caniexport.scan.wording import last_name

#: what a test that asks for an export has, and one for scripting or compiling alone has not
_ASKS = re.compile(r"onnx|export|trac", re.IGNORECASE)
_GATE = re.compile(
    r"is_in_onnx_export|is_onnx|onnx_export|onnx_trace|is_export|exportable|is_tracing|is_trac|_tracing|tracing$"
    r"|in_export|exporting|export_mode|for_export|export_onnx|onnx_mode|\bexport$|to_onnx|for_onnx|is_jit"
    r"|get_tracing_state|is_scripting|is_dynamo|is_compiling|torchdynamo|is_fx|fx_proxy|traceable$|export_friendly"
    r"|onnx_compat|onnx_friendly|onnx_trac|trac(?:e|ing)_mode|is_scripting_or_tracing|torchscript$|^trac(?:ing|ed)$|trace_onnx|_onnx$"
    r"|onnx_(?:safe|able|enabled|ok$)|onnxable|export_(?:flag|phase|time|safe|jit|torchscript)|_export$",
    re.IGNORECASE,
)
#: what a mode or a format is called while exporting
_FORMATS = re.compile(r"^(?:onnx|(?:onnx_)?(?:export|trac)(?:ing|e)?(?:_onnx)?)$", re.IGNORECASE)
#: what a setting is asked by: ``trace_mode.on()``
_SWITCH = frozenset("on enabled is_enabled is_on active is_active value".split())
#: calls that give back what a name holds
_ASKED_BY_NAME = ("getattr", "get", "getenv")

#: by name that a file gives the answer of a test on exporting: whether it is true while exporting
Flags = Mapping[str, bool]


def flags_of(tree: ast.AST) -> Flags:
    """The names that are only given such answers: ``static = torch.onnx.is_in_onnx_export()``."""
    ways: dict[str, set[bool | None]] = {}
    for node in every_statement(tree):
        if isinstance(node, ast.Assign) and not isinstance(node.value, ast.Constant | ast.Name | ast.Attribute):
            for target in node.targets:
                ways.setdefault(last_name(target), set()).add(exporting(node.value))
    sure = {name: next(iter(found)) for name, found in ways.items() if name and len(found) == 1}
    return {name: way for name, way in sure.items() if way is not None}


def exporting(test: ast.expr, flags: Flags = MappingProxyType({})) -> bool | None:
    """Whether a test is true while exporting; ``None`` where it does not ask that."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _turned(exporting(test.operand, flags))
    if isinstance(test, ast.BoolOp):
        return next((found for item in test.values for found in [exporting(item, flags)] if found is not None), None)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compared(test, flags)
    if isinstance(test, ast.Call):
        name = _asked_by_name(test)
        return True if _GATE.search(name) else exporting(test.func)
    if isinstance(test, ast.Attribute) and test.attr in _SWITCH:
        return exporting(test.value, flags)
    if isinstance(test, ast.Name | ast.Attribute):
        name = last_name(test)
        is_own = isinstance(test, ast.Attribute) and test.attr == "onnx" and last_name(test.value) == "self"
        return flags[name] if name in flags else True if is_own or _GATE.search(name) else None
    return None


def asks_for_export(test: ast.expr, flags: Flags = MappingProxyType({})) -> bool:
    """Whether a test asks for an export, and not for scripting or compiling alone."""
    names = {last_name(item) for item in ast.walk(test)}
    return exporting(test, flags) is not None and bool(_ASKS.search(ast.unparse(test)) or names & flags.keys())


def _turned(way: bool | None) -> bool | None:
    return None if way is None else not way


def _asked_by_name(call: ast.Call) -> str:
    """``export`` of ``getattr(self, "export", False)`` and of ``settings.get("export")``."""
    texts = [item.value for item in call.args if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    return texts[0] if texts and last_name(call.func) in _ASKED_BY_NAME else ""


def _compared(test: ast.Compare, flags: Flags) -> bool | None:
    """``mode == "onnx"``, ``flag is True``, ``torch._C._get_tracing_state() is not None``."""
    (how,), (right,) = test.ops, test.comparators
    turned = isinstance(how, ast.NotEq | ast.IsNot | ast.NotIn)
    if isinstance(right, ast.Constant) and (isinstance(right.value, bool) or right.value is None):
        about = exporting(test.left, flags) if right.value is not None or isinstance(test.left, ast.Call) else None
        return about if turned != bool(right.value) else _turned(about)
    texts = [item.value for item in ast.walk(test) if isinstance(item, ast.Constant)]
    if not texts or not isinstance(how, ast.Eq | ast.NotEq | ast.In | ast.NotIn):
        return None
    named = [isinstance(text, str) and bool(_FORMATS.search(text)) for text in texts]
    asked = all(named) or (
        "onnx" in texts and isinstance(how, ast.In | ast.NotIn) and isinstance(right, ast.Tuple | ast.List | ast.Set)
    )
    return not turned if asked else None


def span(block: Sequence[ast.stmt]) -> tuple[int, int]:
    """The first and the last line of a block."""
    return block[0].lineno, max(node.end_lineno or node.lineno for node in block)


def ends(block: Sequence[ast.stmt]) -> bool:
    """Whether nothing behind a block is reached from it."""
    return isinstance(block[-1], ast.Return | ast.Raise | ast.Continue)


def is_shared(test: ast.expr) -> bool:
    """Whether a side is taken by sizes as well as while exporting: ``count < limit or exporting``."""
    if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.Or):
        return False
    return any(isinstance(item, ast.Compare) for item in test.values)


def for_old_opset(test: ast.expr) -> bool | None:
    """Whether a test is true for an older opset: ``opset_version < 16``; ``None`` where it asks for none."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or "opset" not in last_name(test.left).lower():
        return None
    kinds = {ast.Lt: True, ast.LtE: True, ast.Gt: False, ast.GtE: False}
    is_number = isinstance(test.comparators[0], ast.Constant)
    return kinds.get(type(test.ops[0])) if is_number else None
