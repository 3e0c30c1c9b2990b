"""The export calls of a file: their opsets, wherever the number is written, and what else they are given."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from caniexport.scan.gates import dotted
from caniexport.scan.normal import every_statement

#: above the number of any opset
_HIGHEST = 1000
_EXPORTS = ("export", "_export", "export_to_pretty_string", "dynamo_export")
_DEEPEST = 6


def is_export(call: ast.Call, imported: bool) -> bool:
    """Whether a call is ``torch.onnx.export`` or one of its kin; ``imported``: ``export`` alone is it."""
    name = dotted(call.func)
    return name.split(".")[-1] in _EXPORTS and ("onnx" in name or (imported and name == "export"))


def imports_export(tree: ast.AST) -> bool:
    """Whether a file has ``from torch.onnx import export``."""
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "torch.onnx"
        and any(item.name == "export" for item in node.names)
        for node in every_statement(tree)
    )


@dataclass(frozen=True)
class Numbers:
    """Resolves the opset of a call: ``values`` are what names of the file are given, ``functions`` those around it."""

    values: Mapping[str, Sequence[ast.expr]]
    functions: Sequence[ast.AST] = ()

    def opset(self, node: ast.expr | None, depth: int = 0) -> int | None:
        """The number that an expression is, or that it is unless somebody says otherwise."""
        if node is None or depth > _DEEPEST:
            return None
        if isinstance(node, ast.Constant):
            good = type(node.value) is int and 0 < node.value < _HIGHEST
            return node.value if good else None  # type: ignore[return-value]  # an int by the line above
        return next((found for item in self._behind(node) if (found := self.opset(item, depth + 1)) is not None), None)

    def _behind(self, node: ast.expr) -> Iterator[ast.expr]:
        """Expressions that may be the value of this one."""
        if isinstance(node, ast.BoolOp):
            yield from node.values
        elif isinstance(node, ast.IfExp):
            yield from (node.body, node.orelse)
        elif isinstance(node, ast.Call):
            last = dotted(node.func).split(".")[-1]
            yield from node.args[1:] if last in ("get", "getattr", "pop") else node.args[:1] if last == "int" else ()
        elif isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            for function in reversed(self.functions):
                yield from given(function, name)
            yield from self.values.get(name, ())


def given(function: ast.AST, name: str) -> Iterator[ast.expr]:
    """What a function gives a name: by assignment, or as the default of an argument."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == name for target in node.targets):
            yield node.value
    if isinstance(function, ast.FunctionDef):
        yield from (value for argument, value in defaults(function) if argument == name)


def defaults(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """The arguments of a function that have a default, with it."""
    arguments = function.args
    behind = [*arguments.posonlyargs, *arguments.args]
    pairs: Iterable[tuple[ast.arg, ast.expr | None]] = [
        *zip(behind[len(behind) - len(arguments.defaults) :], arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    yield from ((argument.arg, value) for argument, value in pairs if value is not None)
