"""The export calls of a file: their exporter and opset, wherever these are written."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from caniexport.model.status import Exporter
from caniexport.scan.files import ParsedFile
from caniexport.scan.site import Site, SiteKind, site_at
from caniexport.scan.syntax import assignments, full_name

#: above the number of any opset
_HIGHEST = 1000
_EXPORTS = ("torch.onnx.export", "torch.onnx.utils.export", "torch.onnx._export", "torch.onnx.utils._export")
_DYNAMO_EXPORT = "torch.onnx.dynamo_export"
#: what makes an exported program
_PROGRAMS = ("torch.export.export", "torch.export.export_for_training", "torch.export.load")
_TRACE, _DYNAMO = Exporter.TRACE.value, Exporter.DYNAMO.value


class Exports:
    """Reads the export calls of a file; ``imports`` are full names by those that the file has."""

    def __init__(self, source: ParsedFile, imports: Mapping[str, str]) -> None:
        self._source, self._imports = source, imports

    @cached_property
    def _values(self) -> Mapping[str, Sequence[ast.expr]]:
        """What names of the file are given."""
        values: dict[str, list[ast.expr]] = defaultdict(list)
        for name, value in (*assignments(self._source.tree), *_arguments(self._source.tree)):
            values[name].append(value)
        return values

    def read(self, node: ast.Call) -> Site | None:
        """What an export call names, by itself or in a ``partial``; ``None`` for another call."""
        name = full_name(node.func, self._imports)
        given = node.args
        if name.split(".")[-1] == "partial" and given:
            name, given = full_name(given[0], self._imports), given[1:]
        if name not in (*_EXPORTS, _DYNAMO_EXPORT):
            return None
        words = {word.arg: word.value for word in node.keywords if word.arg}
        model = words.get("model", given[0] if given else None)
        dynamo = self._constant(words.get("dynamo"), bool)
        exporter = None if dynamo is None else _DYNAMO if dynamo else _TRACE
        if name == _DYNAMO_EXPORT or self._is_program(model):
            exporter = _DYNAMO
        is_unread = any(word.arg is None for word in node.keywords) and not ("dynamo" in words or exporter)
        is_unread |= "dynamo" in words and dynamo is None
        opset = self._constant(words.get("opset_version"), int)
        return site_at(
            self._source, node, SiteKind.CALL, name=name, exporter=exporter, opset=opset, is_unread=is_unread
        )

    def gathered(self, node: ast.Dict | ast.Call) -> Site | None:
        """The opset of ``dict(opset_version=17)`` and of ``{"opset_version": 17}``, which a call gets later."""
        if isinstance(node, ast.Dict):
            pairs = {key.value: value for key, value in zip(node.keys, node.values, strict=True)
                     if isinstance(key, ast.Constant)}  # fmt: skip
        else:
            pairs = {word.arg: word.value for word in node.keywords}
        opset, dynamo = self._constant(pairs.get("opset_version"), int), self._constant(pairs.get("dynamo"), bool)
        if opset is None and (dynamo is None or "opset_version" not in pairs):
            return None
        exporter = None if dynamo is None else _DYNAMO if dynamo else _TRACE
        return site_at(self._source, node, SiteKind.CALL, exporter=exporter, opset=opset)

    def _is_program(self, node: ast.expr | None) -> bool:
        """Whether what is exported was made by ``torch.export``: that is exported by dynamo, whatever the call says."""
        made = self._values.get(node.id, ()) if isinstance(node, ast.Name) else filter(None, [node])
        return any(isinstance(value, ast.Call) and full_name(value.func, self._imports) in _PROGRAMS for value in made)

    def _constant(self, node: ast.expr | None, kind: type[int]) -> int | None:
        """The number or truth value that an expression is, or that it is unless somebody says otherwise."""
        left, seen = [node] if node else [], set[int]()
        while left:
            node = left.pop()
            if isinstance(node, ast.Constant) and type(node.value) is kind and 0 <= node.value < _HIGHEST:
                return node.value
            if id(node) not in seen:
                seen.add(id(node))
                left += reversed(list(self._behind(node)))
        return None

    def _behind(self, node: ast.expr) -> Iterable[ast.expr]:
        """Expressions that may be the value of this one."""
        if isinstance(node, ast.BoolOp):
            return node.values
        if isinstance(node, ast.IfExp):
            return (node.body, node.orelse)
        if isinstance(node, ast.Call):
            last = full_name(node.func, {}).split(".")[-1]
            return node.args[1:] if last in ("get", "getattr", "pop") else node.args[:1] if last == "int" else ()
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        return self._values.get(name, ())


def _arguments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Defaults by name: of functions' arguments, and of ``parser.add_argument("--opset", default=17)``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            arguments = node.args
            behind = [*arguments.posonlyargs, *arguments.args]
            pairs: Sequence[tuple[ast.arg, ast.expr | None]] = [
                *zip(behind[len(behind) - len(arguments.defaults) :], arguments.defaults, strict=True),
                *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
            ]
            yield from ((argument.arg, value) for argument, value in pairs if value is not None)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
            default = next((word.value for word in node.keywords if word.arg == "default"), None)
            options = [item.value for item in node.args if isinstance(item, ast.Constant)]
            names = [str(option).lstrip("-").replace("-", "_") for option in options]
            yield from ((name, default) for name in names if default is not None)
