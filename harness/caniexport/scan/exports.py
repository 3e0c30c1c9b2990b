"""The export calls of a file: their opsets, wherever the number is written, and what else they are given."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from caniexport.scan.gates import dotted
from caniexport.scan.normal import every_statement

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
    names = ExportNames(dict(_imported(tree)), {})
    given = [(name, value) for name, listed in values.items() for value in listed]
    made = {name: names.full(value) for name, value in given if dotted(value) and names.is_export(value)}
    names = ExportNames({**made, **names.imported}, {})
    partials = {name: value for name, value in given if isinstance(value, ast.Call) and names.is_partial(value)}
    return ExportNames(names.imported, partials)


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """What is imported of ``torch.onnx``, by the name that it has in the file."""
    for node in every_statement(tree):
        if isinstance(node, ast.Import):
            whole = [(item.asname, item.name) for item in node.names if item.asname]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            whole = [(item.asname or item.name, f"{node.module}.{item.name}") for item in node.names]
        else:
            continue
        yield from ((name, full) for name, full in whole if full.startswith("torch.onnx"))


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


@dataclass
class UnpackedArguments:
    """What ``**name`` gives to a call; ``scopes`` are the functions around the call and the file, the innermost first.

    ``found`` has each argument with the expression in which it is written; ``known`` is whether these are all.
    """

    scopes: Sequence[ast.AST]
    found: list[tuple[ast.AST, str, ast.expr]] = field(default_factory=list)
    known: bool = True
    names: set[str] = field(default_factory=set)

    def read(self, value: ast.expr) -> None:
        """Add what a dictionary has: one that is written out, ``dict(dynamo=False)``, or a name of one."""
        if isinstance(value, ast.Dict):
            for key, item in zip(value.keys, value.values, strict=True):
                self._give(value, key, item)
        elif isinstance(value, ast.IfExp):
            self.read(value.body)
            self.read(value.orelse)
        elif isinstance(value, ast.Call) and dotted(value.func) == "dict":
            self._given_to(value)
        elif isinstance(value, ast.Name):
            self._named(value.id)
        else:
            self.known = False

    def is_settled(self, name: str) -> bool:
        """Whether an argument is given one constant, or is not given."""
        values = [value for _, key, value in self.found if key == name]
        written = {value.value for value in values if isinstance(value, ast.Constant)}
        return len(written) <= 1 and all(isinstance(value, ast.Constant) for value in values)

    def _give(self, place: ast.AST, key: ast.expr | None, value: ast.expr) -> None:
        if key is None:
            self.read(value)
        elif isinstance(key, ast.Constant) and isinstance(key.value, str):
            self.found.append((place, key.value, value))
        else:
            self.known = False

    def _given_to(self, call: ast.Call) -> None:
        """``dict(other, dynamo=False)``, ``name.update(dynamo=False)``."""
        for item in call.args:
            self.read(item)
        for word in call.keywords:
            self._give(call, ast.Constant(word.arg) if word.arg else None, word.value)

    def _named(self, name: str) -> None:
        if name in self.names:
            return
        self.names.add(name)
        for scope in self.scopes:
            values = [value for node in own_nodes(scope) for value in self._changed(node, name)]
            for value in values:
                self.read(value)
            if name in _parameters(scope):
                break
            if values:
                return
        self.known = False

    def _changed(self, node: ast.AST, name: str) -> Iterator[ast.expr]:
        """Add what a statement puts into a dictionary; gives what it makes the name stand for."""
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if _is_named(target, name) and node.value is not None:
                    yield node.value
                elif isinstance(target, ast.Subscript) and _is_named(target.value, name) and node.value is not None:
                    self._give(target, target.slice, node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_named(node.func.value, name):
            if node.func.attr == "update":
                self._given_to(node)
            elif node.func.attr == "setdefault" and len(node.args) == 2:
                self._give(node, *node.args)
            elif node.func.attr in _TAKING:
                self.known = False


#: methods that take something out of a dictionary
_TAKING = ("pop", "popitem", "clear")


def _is_named(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _parameters(scope: ast.AST) -> set[str]:
    """The arguments of a function by name; none of a file."""
    if not isinstance(scope, ast.FunctionDef):
        return set()
    given = scope.args
    more = filter(None, (given.vararg, given.kwarg))
    return {argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs, *more)}


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function or a file, without those of the functions and classes in it."""
    left = list(ast.iter_child_nodes(scope))
    while left:
        node = left.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            left += ast.iter_child_nodes(node)
