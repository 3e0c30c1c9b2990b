"""The export calls of a file: their exporter and opset, wherever these are written."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from caniexport.model.status import Exporter
from caniexport.scan.files import ParsedFile
from caniexport.scan.site import Site, SiteKind
from caniexport.scan.syntax import assignments, full_name

#: above the number of any opset
_HIGHEST = 1000
_EXPORTS = ("torch.onnx.export", "torch.onnx.utils.export", "torch.onnx._export", "torch.onnx.utils._export")
_DYNAMO_EXPORT = "torch.onnx.dynamo_export"
#: what makes an exported program
_PROGRAMS = ("torch.export.export", "torch.export.export_for_training", "torch.export.load")
#: a value, and the lines that see it
_Value = tuple[ast.expr, range]
_TRACE, _DYNAMO = Exporter.TRACE.value, Exporter.DYNAMO.value


class Exports:
    """Reads the export calls of a file. ``imports`` has the full name of each imported name."""

    def __init__(self, source: ParsedFile, imports: Mapping[str, str]) -> None:
        self._source, self._imports = source, imports

    @cached_property
    def _values(self) -> Mapping[str, Sequence[_Value]]:
        """What names of the file are given."""
        values: dict[str, list[_Value]] = defaultdict(list)
        for name, value, scope in _values_of(self._source.tree):
            values[name].append((value, scope))
        return values

    def _given(self, node: ast.expr, line: int) -> list[ast.expr]:
        """What a name is given where a line sees it: an argument of the function around goes before the file's."""
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        seen = [item for item in self._values.get(name, ()) if line in item[1]]
        nearest = min((len(scope) for _, scope in seen), default=0)
        return [value for value, scope in seen if len(scope) == nearest]

    def read(self, node: ast.Call) -> Site | None:
        """Return the exporter and opset of an export call, also in a ``partial``; ``None`` for other calls."""
        name = full_name(node.func, self._imports)
        given = node.args
        if name.split(".")[-1] == "partial" and given:
            name, given = full_name(given[0], self._imports), given[1:]
        if name not in (*_EXPORTS, _DYNAMO_EXPORT):
            return None
        words = {word.arg: word.value for word in node.keywords if word.arg}
        model = words.get("model", given[0] if given else None)
        dynamo = self._constant(words.get("dynamo"), bool, node.lineno)
        exporter = None if dynamo is None else _DYNAMO if dynamo else _TRACE
        if name == _DYNAMO_EXPORT or self._is_program(model):
            exporter = _DYNAMO
        is_unread = any(word.arg is None for word in node.keywords) and not ("dynamo" in words or exporter)
        is_unread |= "dynamo" in words and dynamo is None
        opset = self._constant(words.get("opset_version"), int, node.lineno)
        return Site(
            self._source.path,
            node.lineno,
            SiteKind.CALL,
            name=name,
            exporter=exporter,
            opset=opset,
            is_unread=is_unread,
        )

    def gathered(self, node: ast.Dict | ast.Call) -> Site | None:
        """Return the exporter and opset in a dictionary of arguments, ``{"opset_version": 17}``; else ``None``."""
        if isinstance(node, ast.Dict):
            pairs = {key.value: value for key, value in zip(node.keys, node.values, strict=True)
                     if isinstance(key, ast.Constant)}  # fmt: skip
        else:
            pairs = {word.arg: word.value for word in node.keywords}
        opset = self._constant(pairs.get("opset_version"), int, node.lineno)
        dynamo = self._constant(pairs.get("dynamo"), bool, node.lineno)
        if opset is None and (dynamo is None or "opset_version" not in pairs):
            return None
        exporter = None if dynamo is None else _DYNAMO if dynamo else _TRACE
        return Site(self._source.path, node.lineno, SiteKind.CALL, exporter=exporter, opset=opset)

    def _is_program(self, node: ast.expr | None) -> bool:
        """Whether what is exported was made by ``torch.export``: that is exported by dynamo, whatever the call says."""
        made = self._given(node, node.lineno) if isinstance(node, ast.Name) else filter(None, [node])
        return any(isinstance(value, ast.Call) and full_name(value.func, self._imports) in _PROGRAMS for value in made)

    def _constant(self, node: ast.expr | None, kind: type[int], line: int) -> int | None:
        """The number or truth value that an expression is, or that it is unless somebody says otherwise."""
        left, seen = [node] if node else [], set[int]()
        while left:
            node = left.pop()
            if isinstance(node, ast.Constant) and type(node.value) is kind and 0 <= node.value < _HIGHEST:
                return node.value
            if id(node) not in seen:
                seen.add(id(node))
                left += reversed(list(self._behind(node, line)))
        return None

    def _behind(self, node: ast.expr, line: int) -> Iterable[ast.expr]:
        """Expressions that may be the value of this one."""
        if isinstance(node, ast.BoolOp):
            return node.values
        if isinstance(node, ast.IfExp):
            return (node.body, node.orelse)
        if isinstance(node, ast.Call):
            last = full_name(node.func, {}).split(".")[-1]
            return node.args[1:] if last in ("get", "getattr", "pop") else node.args[:1] if last == "int" else ()
        return self._given(node, line)


def _values_of(tree: ast.Module) -> Iterator[tuple[str, ast.expr, range]]:
    """What names are given, and the lines that see it: by assignments, by defaults of functions' arguments, and by
    ``parser.add_argument("--opset", default=17)``.
    """
    everywhere = range(_HIGHEST**2)
    yield from ((name, value, everywhere) for name, value in assignments(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            named, scope = node.args, range(node.lineno, (node.end_lineno or node.lineno) + 1)
            pairs = [*zip(reversed([*named.posonlyargs, *named.args]), reversed(named.defaults), strict=False)]
            keywords = [(one, value) for one, value in zip(named.kwonlyargs, named.kw_defaults, strict=True) if value]
            yield from ((argument.arg, value, scope) for argument, value in (*pairs, *keywords))
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
            default = next((word.value for word in node.keywords if word.arg == "default"), None)
            options = [str(item.value).lstrip("-") for item in node.args if isinstance(item, ast.Constant)]
            yield from ((name.replace("-", "_"), default, everywhere) for name in options if default)
