"""Branches on exporting: what a test asks, by the names in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from caniexport.scan.syntax import last_name, statements

#: torch's functions, and what projects call a flag of their own
_ASKED = re.compile(
    r"is_in_onnx_export|is_exporting|is_tracing|_get_tracing_state"
    r"|^(?:is_|in_|for_|to_)?(?:onnx_)?(?:export(?:ing|able|_mode|_onnx)?|tracing|trace_mode)$"
    r"|^(?:is_|for_|to_)onnx$|^onnx_(?:export|trac|mode)",
    re.IGNORECASE,
)

#: by name that a file gives the answer of a test on exporting: whether it is true while exporting
Flags = Mapping[str, bool]


def flags_of(tree: ast.AST) -> Flags:
    """Return the names that are only given such answers: ``static = torch.onnx.is_in_onnx_export()``."""
    answers: dict[str, set[bool | None]] = {}
    for node in statements(tree):
        if isinstance(node, ast.Assign) and not isinstance(node.value, ast.Constant | ast.Name | ast.Attribute):
            for target in node.targets:
                answers.setdefault(last_name(target), set()).add(exporting(node.value))
    sure = {name: next(iter(found)) for name, found in answers.items() if name and len(found) == 1}
    return {name: answer for name, answer in sure.items() if answer is not None}


def exporting(test: ast.expr, flags: Flags = MappingProxyType({})) -> bool | None:
    """Return whether a test is true while exporting; ``None`` where it does not ask that."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        answer = exporting(test.operand, flags)
        return None if answer is None else not answer
    if isinstance(test, ast.BoolOp):
        return next((found for item in test.values for found in [exporting(item, flags)] if found is not None), None)
    if isinstance(test, ast.Compare) and isinstance(test.comparators[0], ast.Constant):
        is_turned = isinstance(test.ops[0], ast.IsNot) == bool(test.comparators[0].value)  # is None, is not True
        answer = exporting(test.left, flags) if isinstance(test.ops[0], ast.Is | ast.IsNot) else None
        return answer if answer is None else answer != is_turned
    if isinstance(test, ast.Call):
        return exporting(test.func)
    name = last_name(test)
    return flags[name] if name in flags else True if _ASKED.search(name) else None


def ends(block: Sequence[ast.stmt]) -> bool:
    """Return whether nothing behind a block is reached from it."""
    return isinstance(block[-1], ast.Return | ast.Raise | ast.Continue)
