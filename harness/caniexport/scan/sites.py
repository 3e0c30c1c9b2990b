"""What a source tree has that measurements may speak to: each with its file and line.

The expressions of the corpus's rewrites are recognised in other people's code whatever the names and numbers are.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, partial
from textwrap import dedent
from typing import NamedTuple, TypeVar

from caniexport.answers.select import CatalogueEntry
from caniexport.model.case import PLAIN
from caniexport.model.status import FixKind
from caniexport.scan import gates
from caniexport.scan.files import SECONDS, TOO_DEEP, Clock, ParsedFile, Skipped, TooLong
from caniexport.scan.gates import Condition, dotted

#: nodes and calls below which an expression is anybody's
_NODES, _CALLS = 14, 2
_REWRITES = (FixKind.REWRITE.value, FixKind.MODULE_SWAP.value)


@dataclass(frozen=True)
class Shapes:
    """By skeleton: the fixes that have it, as (case, variant)."""

    known: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)

    @cached_property
    def _called(self) -> frozenset[str]:
        """What the known expressions call outermost: of most calls in a tree it is enough to look at that."""
        return frozenset(text.partition("(")[0] for text in self.known)

    def of(self, node: ast.Call) -> tuple[tuple[str, str], ...]:
        """The fixes whose expression this is; empty for none."""
        if _name(node) not in self._called or not _large(node):
            return ()
        return self.known.get(skeleton(node), ())


def shapes(entries: Iterable[CatalogueEntry]) -> Shapes:
    """The skeletons of all rewrites that no failing form has too."""
    fixes: dict[str, list[tuple[str, str]]] = defaultdict(list)
    plain: set[str] = set()
    for entry in entries:
        for node in _values(entry.code):
            if entry.variant == PLAIN:
                plain.add(skeleton(node))
            elif entry.kind in _REWRITES and (entry.case, entry.variant) not in fixes[skeleton(node)]:
                fixes[skeleton(node)].append((entry.case, entry.variant))
    return Shapes({text: tuple(found) for text, found in fixes.items() if text not in plain})


def skeleton(node: ast.AST) -> str:
    """An expression without its names and numbers: what is called stays."""
    if isinstance(node, ast.Name):
        return "_"
    if isinstance(node, ast.Constant):
        return type(node.value).__name__
    if isinstance(node, ast.Call):
        function, name = node.func, _name(node)
        own = isinstance(function, ast.Attribute) and not isinstance(function.value, ast.Name)
        parts = [skeleton(function.value)] if own and isinstance(function, ast.Attribute) else []
        parts += map(skeleton, node.args)
        parts += sorted(f"{word.arg}={skeleton(word.value)}" for word in node.keywords)
        return f"{name}({','.join(parts)})"
    parts = [skeleton(item) for item in ast.iter_child_nodes(node) if not isinstance(item, ast.expr_context)]
    return f"{type(node).__name__}({','.join(parts)})"


def _name(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "_")


def _large(node: ast.AST) -> bool:
    nodes = [item for item in ast.walk(node) if isinstance(item, ast.expr)]
    return len(nodes) >= _NODES and sum(isinstance(item, ast.Call) for item in nodes) >= _CALLS


def _values(code: str) -> list[ast.Call]:
    """The calls of a variant's code that are large enough to be its own, inner ones too."""
    try:
        tree = ast.parse(dedent(code))
    except SyntaxError:
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _large(node)]


_WIDTH = 110
#: above the number of any opset
_HIGHEST = 1000
#: torch's own, and what projects call theirs
_REGISTERING = ("register_custom_op_symbolic", "register_symbolic")
#: what a registration calls the runtime that was measured, or no runtime in particular
_MEASURED = ("", "default", "onnx", "onnxruntime", "ort")
_EXPORTS = ("export", "_export", "export_to_pretty_string")
#: words of a name that has to do with an export
_ABOUT_EXPORT = ("onnx", "symbolic", "is_tracing", "is_exporting")


_T = TypeVar("_T")


class SiteKind(StrEnum):
    """What a site is."""

    GATE = "version-gate"
    SYMBOLIC = "custom-symbolic"
    DYNAMO = "dynamo-pin"
    OPSET = "opset-pin"
    FALLBACK = "fallback-type"
    ARGUMENT = "export-argument"
    SHAPE = "known-rewrite"


@dataclass(frozen=True)
class Site:
    """One place. ``name`` is the operator, argument, number or option; ``condition`` is a gate's.

    ``ops`` are the functions that only one branch of a gate calls, where the gate has to do with an export.
    ``runtime`` is another runtime than ONNX Runtime that a symbolic is registered for, as far as its call says.
    """

    path: str
    line: int
    kind: SiteKind
    text: str
    name: str = ""
    condition: Condition | None = None
    ops: tuple[str, ...] = ()
    fixes: tuple[tuple[str, str], ...] = ()
    runtime: str = ""


def find(sources: Sequence[ParsedFile], shapes: Shapes) -> tuple[list[Site], list[Skipped]]:
    """Every site of these files, in their order, and the files that cannot be looked through. Flags that one file
    defines are known in all.
    """
    skipped: dict[str, str] = {}
    given = {source.path: _tried(source, skipped, _given) for source in sources}
    derived = frozenset(name for one in given.values() if one for name in one.derived)
    flags: dict[str, Condition] = {}
    for source in sources:
        one = given[source.path]
        if one is not None:
            flags.update(_tried(source, skipped, partial(_flags, one.values, derived)) or {})
    sites: list[Site] = []
    for source in sources:
        if source.path not in skipped:
            sites += _tried(source, skipped, _Finder(source, flags, derived, shapes).look) or ()
    return sites, [Skipped(path, reason) for path, reason in skipped.items()]


def _tried(source: ParsedFile, skipped: dict[str, str], act: Callable[[ParsedFile, Clock], _T]) -> _T | None:
    """What ``act`` gives for a file; ``None`` where it cannot be looked through, which is told to ``skipped``."""
    try:
        return act(source, Clock())
    except RecursionError:
        skipped[source.path] = TOO_DEEP
    except TooLong:
        skipped[source.path] = f"takes more than {SECONDS:.0f} s to look through"
    except MemoryError:
        skipped[source.path] = "takes more memory than there is"
    return None


class _Given(NamedTuple):
    """Names that a file gives one value, and those of them that hold torch's version."""

    values: list[tuple[str, ast.expr]]
    derived: list[str]


def _given(source: ParsedFile, clock: Clock) -> _Given:
    values = []
    for name, value in gates.assignments(source.tree):
        clock.check()
        values.append((name, value))
    return _Given(values, list(_derived(source, values, clock)))


def _flags(
    given: Iterable[tuple[str, ast.expr]], derived: frozenset[str], _: ParsedFile, clock: Clock
) -> dict[str, Condition]:
    """Names that stand for a comparison."""
    flags = {}
    for name, value in given:
        clock.check()
        made = None if isinstance(value, ast.Name | ast.Attribute) else gates.condition(value, {}, derived)
        if made is not None:
            flags[name] = made
    return flags


def _derived(source: ParsedFile, given: Iterable[tuple[str, ast.expr]], clock: Clock) -> Iterator[str]:
    """Names that hold torch's version, however it was cut up."""
    others = (ast.Compare, ast.BoolOp, ast.IfExp, ast.JoinedStr, ast.Dict)
    for name, value in given:
        clock.check()
        if isinstance(value, others) or not _may_hold_version(source, value):
            continue
        if not gates.holds_version(value, frozenset()):
            continue
        told = any(isinstance(node, ast.JoinedStr) for node in ast.walk(value))
        if not told and gates.condition(value, {}, frozenset()) is None:
            yield name


def _may_hold_version(source: ParsedFile, value: ast.expr) -> bool:
    """Whether the text of an expression has what every name of a version has: most have not."""
    lines = source.lines[value.lineno - 1 : value.end_lineno]
    return any("ver" in line.lower() for line in lines)


@dataclass
class _Finder(ast.NodeVisitor):
    """Walks one file."""

    source: ParsedFile
    flags: dict[str, Condition]
    derived: frozenset[str]
    shapes: Shapes
    found: list[Site] = field(default_factory=list)
    functions: list[ast.AST] = field(default_factory=list)
    clock: Clock = field(default_factory=Clock)

    def look(self, source: ParsedFile, clock: Clock) -> list[Site]:
        """The sites of the file, by line."""
        self.clock = clock
        self.visit(source.tree)
        return sorted(self.found, key=lambda site: site.line)

    def visit(self, node: ast.AST) -> None:
        self.clock.check()
        super().visit(node)

    @cached_property
    def _names_exporter(self) -> bool:
        return any("onnx.export" in line for line in self.source.lines)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.functions.append(node)
        self.generic_visit(node)
        self.functions.pop()

    def visit_If(self, node: ast.If) -> None:
        self._gate(node.test, node.body, node.orelse)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._gate(node.test, [node.body], [node.orelse])
        self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        self._gate(node.test, [], [])
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._gate(node.test, node.body, [])
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = dotted(node.func)
        last = name.split(".")[-1]
        self._rewritten(node)
        if last in _REGISTERING or name.endswith("symbolic_registry.register_op"):
            self._registered(node, last)
        elif name.split(".")[-1] in _EXPORTS and "onnx" in name:
            self._exported(node, [(word.arg, word.value) for word in node.keywords if word.arg])
        elif self._names_exporter:
            # the export function under another name
            self._exported(node, [(word.arg, word.value) for word in node.keywords if word.arg == "dynamo"])
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        # keyword arguments that are gathered before the call
        pairs = [
            (str(key.value), value)
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant) and key.value in ("dynamo", "opset_version", "operator_export_type")
        ]
        self._exported(node, pairs)
        self.generic_visit(node)

    def _gate(self, test: ast.expr, body: Sequence[ast.AST], orelse: Sequence[ast.AST]) -> None:
        for found in gates.conditions(test, self.flags, self.derived):
            ops: tuple[str, ...] = ()
            if self._about_export(test, body, orelse):
                ops = tuple(sorted(_called(body) ^ _called(orelse)))
            self._add(test, SiteKind.GATE, name=found.text, condition=found, ops=ops)

    def _about_export(self, test: ast.AST, body: Sequence[ast.AST], orelse: Sequence[ast.AST]) -> bool:
        nodes = [test, *body, *orelse]
        if self.functions:
            function = self.functions[-1]
            nodes += getattr(function, "decorator_list", [])
            if any(word in getattr(function, "name", "").lower() for word in _ABOUT_EXPORT):
                return True
        names = (
            dotted(item).lower()
            for node in nodes
            for item in ast.walk(node)
            if isinstance(item, ast.Attribute | ast.Name)
        )
        return any(word in name for name in names for word in _ABOUT_EXPORT)

    def _rewritten(self, node: ast.Call) -> None:
        """A call of the corpus's rewrites; of several in one line the outermost."""
        known = self.shapes.of(node)
        if known and not any(site.kind is SiteKind.SHAPE and site.line == node.lineno for site in self.found):
            self._add(node, SiteKind.SHAPE, name=known[0][0], fixes=known)

    def _registered(self, node: ast.Call, name: str) -> None:
        first = node.args[0] if node.args else next((word.value for word in node.keywords if word.arg), None)
        operator = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
        if operator.isidentifier() and name != "register_custom_op_symbolic":
            operator = f"aten::{operator}"
        self._add(node, SiteKind.SYMBOLIC, name=operator, runtime=_runtime(node))

    def _exported(self, node: ast.AST, pairs: Sequence[tuple[str, ast.expr]]) -> None:
        for name, value in pairs:
            place = node if isinstance(node, ast.Dict) else value
            if name == "dynamo" and isinstance(value, ast.Constant) and value.value is False:
                self._add(place, SiteKind.DYNAMO, name="dynamo=False")
            elif name == "opset_version":
                if isinstance(value, ast.Constant) and type(value.value) is int and 0 <= value.value < _HIGHEST:
                    self._add(place, SiteKind.OPSET, name=str(value.value))
            elif name == "operator_export_type":
                self._add(place, SiteKind.FALLBACK, name=dotted(value).split(".")[-1])
            elif name != "dynamo":
                self._add(place, SiteKind.ARGUMENT, name=name)

    def _add(self, node: ast.AST, kind: SiteKind, **more: object) -> None:
        line = getattr(node, "lineno", 1)
        text = self.source.lines[line - 1].strip() if line <= len(self.source.lines) else ""
        text = text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
        site = Site(self.source.path, line, kind, text, **more)  # type: ignore[arg-type]  # fields of Site
        if site not in self.found:
            self.found.append(site)


def _called(nodes: Iterable[ast.AST]) -> set[str]:
    """The last names of what is called in these branches."""
    calls = (item for node in nodes for item in ast.walk(node) if isinstance(item, ast.Call))
    return {dotted(call.func).split(".")[-1] for call in calls} - {""}


def _runtime(node: ast.Call) -> str:
    """Whom a registration is for: ``backend="tensorrt"``, ``backend=Backend.TENSORRT.value``. Empty for everybody."""
    given = next((word.value for word in node.keywords if word.arg == "backend"), None)
    if isinstance(given, ast.Constant):
        name = str(given.value)
    else:
        name = dotted(given).removesuffix(".value").split(".")[-1] if given else ""
    return "" if name.lower() in _MEASURED else name.lower()
