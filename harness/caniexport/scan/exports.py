"""The export calls of a file: their opsets, wherever the number is written, and what else they are given."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from caniexport.scan.syntax import dotted, imported

#: above the number of any opset
_HIGHEST = 1000
_EXPORTS = ("export", "_export", "export_to_pretty_string", "dynamo_export")
_DEEPEST = 6


@dataclass(frozen=True)
class ExportNames:
    """What a file calls the export function: ``imported`` are full names by those that it imports or gives them,
    ``partials`` what ``partial(torch.onnx.export, …)`` was given to.
    """

    imported: Mapping[str, str]
    partials: Mapping[str, ast.Call]

    def full(self, node: ast.AST) -> str:
        """The name of a function or module as torch has it."""
        first, dot, rest = dotted(node).partition(".")
        return f"{self.imported.get(first, first)}{dot}{rest}"

    def is_export(self, node: ast.AST) -> bool:
        """Whether an expression is ``torch.onnx.export`` or one of its kin."""
        return _is_export(self.full(node))

    def is_partial(self, node: ast.AST) -> bool:
        """Whether it is ``partial(torch.onnx.export, …)``."""
        is_call = isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] == "partial"
        return is_call and bool(node.args) and self.is_export(node.args[0])  # type: ignore[attr-defined]  # a call


def _is_export(name: str) -> bool:
    return name.split(".")[-1] in _EXPORTS and "onnx" in name


def export_names(tree: ast.Module, values: Mapping[str, Sequence[ast.expr]]) -> ExportNames:
    """The names in a file; ``values`` are what its names are given."""
    names = ExportNames({name: full for name, full in imported(tree) if full.startswith("torch.onnx")}, {})
    given = [(name, value) for name, listed in values.items() for value in listed]
    made = {name: names.full(value) for name, value in given if dotted(value) and names.is_export(value)}
    names = ExportNames({**made, **names.imported}, {})
    partials = {name: value for name, value in given if isinstance(value, ast.Call) and names.is_partial(value)}
    return ExportNames(names.imported, partials)


def is_program(node: ast.expr | None, functions: Sequence[ast.AST], values: Mapping[str, Sequence[ast.expr]]) -> bool:
    """Whether what is exported was made by ``torch.export``: that is exported by dynamo, whatever the call says."""
    if isinstance(node, ast.Call):
        return dotted(node.func) in _PROGRAMS
    if not isinstance(node, ast.Name):
        return False
    made = [value for function in functions for value in given(function, node.id)] or values.get(node.id, ())
    if any(isinstance(value, ast.Call) and dotted(value.func) in _PROGRAMS for value in made):
        return True
    return any(
        argument.arg == node.id
        and argument.annotation is not None
        and "ExportedProgram" in ast.dump(argument.annotation)
        for function in functions
        if isinstance(function, ast.FunctionDef)
        for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    )


#: what makes an exported program
_PROGRAMS = ("torch.export.export", "torch.export.export_for_training", "torch.export.load")


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
