"""What a source tree has that measurements may speak to: each with its file and line."""

from __future__ import annotations

import ast
import gc
import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TypeVar

from caniexport.scan import exports, gates, rules, values
from caniexport.scan.branches import Flags, asks_for_export, ends, exporting, flags_of
from caniexport.scan.dtypes import types_in_code, types_said
from caniexport.scan.files import SECONDS, TOO_DEEP, Clock, ParsedFile, Skipped, SourceFile, TooLong, Unreadable
from caniexport.scan.gates import Condition, dotted
from caniexport.scan.normal import blocks, blocks_of, operator_of
from caniexport.scan.project import is_test
from caniexport.scan.ranked import OnLines, Ranking, lines_of
from caniexport.scan.site import BY_DYNAMO, BY_EITHER, BY_TRACE, UNREAD, Site, SiteKind, Sureness, site_at
from caniexport.scan.workarounds import StatedWorkaround, speaks_near, workarounds

#: torch's own, and what projects call theirs
_REGISTERING = ("register_custom_op_symbolic", "register_symbolic", "_onnx_symbolic", "onnx_symbolic")
#: words of a name that has to do with an export
_ABOUT_EXPORT = ("onnx", "symbolic", "is_tracing", "is_exporting")
_OLDER_IR = tuple((f"ir-version-{number}-too-new", "older_ir_version") for number in (11, 10, 9))
_EAGER = (("sdpa-opset-13", "formula"),)
_OPSETS = (("opset-range-by-torch-version", "opset_in_range"),)

_T = TypeVar("_T")
_LOG = logging.getLogger(__name__)


def find(sources: Sequence[SourceFile], ranking: Ranking) -> tuple[list[Site], list[Skipped]]:
    """Every site of these files, in their order, and the files that cannot be looked through. Flags that one file
    defines are known in all. Each file is parsed where it is looked at, and its tree let go.
    """
    skipped: dict[str, str] = {}
    sites: list[Site] = []
    with _without_collector():
        derived, flags = _version_names(sources, skipped)
        ruled = _classes_with_rules(sources, skipped)
        autograd = frozenset(head["name"] for source in sources for head in _AUTOGRAD.finditer(source.text))
        for source in sources:
            finder = _Finder(flags, derived, ranking, ruled, autograd)
            sites += _tried(source, skipped, finder.look) or ()
            if finder.left_out:
                skipped.setdefault(source.path, finder.left_out)
    return sites, [Skipped(path, reason) for path, reason in skipped.items()]


@contextmanager
def _without_collector() -> Iterator[None]:
    """Without Python's search for cycles, which trees have none of: a seventh of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _version_names(
    sources: Sequence[SourceFile], skipped: dict[str, str]
) -> tuple[frozenset[str], dict[str, Condition]]:
    """The names that hold torch's version, and those that stand for a comparison with it."""
    comparing = [source for source in sources if gates.may_compare(source.text)]
    derived = frozenset(name for source in comparing for name in _tried(source, skipped, _derived) or ())
    flags: dict[str, Condition] = {}
    for source in sources:
        if source in comparing or any(name in source.text for name in derived):
            flags.update(_tried(source, skipped, partial(_flags, derived)) or {})
    return derived, flags


def _classes_with_rules(sources: Sequence[SourceFile], skipped: dict[str, str]) -> frozenset[str]:
    """The autograd functions of a tree that bring an export rule, and the classes that are made of them."""
    having = [source for source in sources if "def symbolic" in source.text]
    found = {made.name for source in having for made in _tried(source, skipped, _ruled_classes) or ()}
    heads = [head for source in sources if found for head in _HEAD.finditer(source.text)]
    bases = {head["name"]: set(_NAME.findall(head["bases"])) for head in heads}
    return frozenset(found | {name for name, given in bases.items() if given & found})


def _ruled_classes(source: ParsedFile, _: Clock) -> list[ast.ClassDef]:
    return [made for made, _ in rules.rules_of_functions(source.tree)]


#: the first line of a class that is made of others
_HEAD = re.compile(r"^class (?P<name>\w+)\((?P<bases>[^)\n]*)", re.MULTILINE)
_NAME = re.compile(r"\w+")
#: the first line of an autograd function
_AUTOGRAD = re.compile(r"^class (?P<name>\w+)\((?:torch\.)?(?:autograd\.)?Function\)", re.MULTILINE)


def _tried(source: SourceFile, skipped: dict[str, str], act: Callable[[ParsedFile, Clock], _T]) -> _T | None:
    """What ``act`` gives for a file; ``None`` where it cannot be looked through, which is told to ``skipped``."""
    if source.path in skipped:
        return None
    try:
        return act(source.parsed(), Clock())
    except Unreadable as error:
        skipped[source.path] = str(error)
    except RecursionError:
        skipped[source.path] = TOO_DEEP
    except TooLong:
        skipped[source.path] = f"takes more than {SECONDS:.0f} s to look through"
    except MemoryError:
        skipped[source.path] = "takes more memory than there is"
    except Exception as error:
        # code of a form that nobody thought of: the other files of the project are still looked through
        _LOG.debug("scanning %s", source.path, exc_info=True)
        skipped[source.path] = f"cannot be looked through: {type(error).__name__} in the scan itself"
    return None


def _flags(derived: frozenset[str], source: ParsedFile, clock: Clock) -> dict[str, Condition]:
    """Names that stand for a comparison."""
    flags = {}
    for name, value in gates.assignments(source.tree):
        clock.check()
        made = None if isinstance(value, ast.Name | ast.Attribute) else gates.condition(value, {}, derived)
        if made is not None:
            flags[name] = made
    return flags


def _derived(source: ParsedFile, clock: Clock) -> list[str]:
    """Names that hold torch's version, however it was cut up."""
    return [name for name, value in gates.assignments(source.tree) if _is_derived(source, value, clock)]


def _is_derived(source: ParsedFile, value: ast.expr, clock: Clock) -> bool:
    clock.check()
    others = (ast.Compare, ast.BoolOp, ast.IfExp, ast.JoinedStr, ast.Dict)
    if isinstance(value, others) or not _may_hold_version(source, value):
        return False
    if not gates.holds_version(value, frozenset()):
        return False
    told = any(isinstance(node, ast.JoinedStr) for node in ast.walk(value))
    return not told and gates.condition(value, {}, frozenset()) is None


def _may_hold_version(source: ParsedFile, value: ast.expr) -> bool:
    """Whether the text of an expression has what every name of a version has: most have not."""
    lines = source.lines[value.lineno - 1 : value.end_lineno]
    return any("ver" in line.lower() for line in lines)


@dataclass
class _Finder(ast.NodeVisitor):
    """Walks one file, ``source``."""

    flags: dict[str, Condition]
    derived: frozenset[str]
    ranking: Ranking
    ruled: frozenset[str] = frozenset()
    autograd: frozenset[str] = frozenset()
    found: list[Site] = field(default_factory=list)
    functions: list[ast.FunctionDef] = field(default_factory=list)
    inside: int = 0
    clock: Clock = field(default_factory=Clock)
    near: list[StatedWorkaround] = field(default_factory=list)
    lines: OnLines = field(default_factory=lambda: OnLines((), ()))
    left_out: str = ""
    dtypes: frozenset[str] = frozenset()
    source: ParsedFile = field(init=False)

    def look(self, source: ParsedFile, clock: Clock) -> list[Site]:
        """The sites of the file, by line."""
        self.source, self.clock = source, clock
        try:
            self.lines = lines_of(self.source, self.ranking.known, self.clock.check)
            self.near = workarounds(self.source, self.ranking, self.lines, self.clock.check)
        except TooLong:
            self.left_out = f"its rewrites take more than {SECONDS:.0f} s to find"
        self.clock = Clock()
        self.found += [item.site for item in self.near]
        self._keep(rules.of_functions(self.source))
        self.visit(self.source.tree)
        there = {operator_of(site.name) for site in self.found if site.kind is SiteKind.SYMBOLIC}
        self._keep(rules.written(self.source, self.ranking.known.operators - there))
        typed = (replace(site, dtypes=self.dtypes | types_said(site.said)) for site in self.found)
        return sorted(typed, key=lambda site: site.line)

    def visit(self, node: ast.AST) -> None:
        self.clock.check()
        super().visit(node)

    @cached_property
    def _names_exporter(self) -> bool:
        return any("onnx.export" in line for line in self.source.lines)

    @cached_property
    def _exports(self) -> exports.ExportNames:
        return exports.export_names(self.source.tree, self._values)

    @cached_property
    def _called(self) -> frozenset[str]:
        """The names that are called in the file."""
        nodes = ast.walk(self.source.tree)
        return frozenset(dotted(node.func) for node in nodes if isinstance(node, ast.Call))

    @cached_property
    def _values(self) -> Mapping[str, Sequence[ast.expr]]:
        values = defaultdict(list)
        for name, value in gates.assignments(self.source.tree):
            values[name].append(value)
        return values

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._keep(values.scripted(self.source, node))
        self.functions.append(node)
        self.generic_visit(node)
        self.functions.pop()

    def visit_If(self, node: ast.If) -> None:
        way = exporting(node.test, self._export_flags)
        asked = asks_for_export(node.test, self._export_flags)
        about = asked or id(node) in self._behind_export
        self.inside += about
        rest = () if isinstance(node.body[-1], ast.Raise) else self._rest.get(id(node), ())
        if way is not None:
            sides = (node.body, node.orelse or rest) if way else (node.orelse or rest, node.body)
            self._keep(rules.called(self.source, node, sides[0], self.ruled))
            self._keep(values.left_out(self.source, node, sides, self.autograd) if asked else ())
            told = any(item.site.line == node.lineno and item.site.sure is not Sureness.SIMILAR for item in self.near)
            self._keep(values.unasked(self.source, node, sides) if asked and not told else ())
        self._gate(node.test, node.body, node.orelse or rest)
        self.generic_visit(node)
        self.inside -= about

    @cached_property
    def _export_flags(self) -> Flags:
        return flags_of(self.source.tree)

    @cached_property
    def _rest(self) -> Mapping[int, Sequence[ast.stmt]]:
        """By branch that ends its block and has no other side: the statements behind it, which are the other side."""
        return dict(_behind(self.source.tree))

    @cached_property
    def _behind_export(self) -> frozenset[int]:
        """Branches in what is left to an export, as another branch has ended before."""
        nodes = (node for block in blocks(self.source.tree) for node in block if id(node) in self._rest)
        behind = (
            self._rest[id(node)]
            for node in nodes
            if isinstance(node, ast.If) and asks_for_export(node.test, self._export_flags)
        )
        return frozenset(id(node) for block in behind for node in block)

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
        last = (self._exports.full(node.func) if "." not in name else name).split(".")[-1]
        if last in _REGISTERING or name.endswith("symbolic_registry.register_op"):
            self._keep([rules.registered(self.source, node, last)])
        elif name in self._exports.partials:
            self._export_call(node, self._exports.partials[name])
        elif self._exports.is_partial(node):
            # one that is called under its name counts there
            own = [given for given, made in self._exports.partials.items() if made is node]
            if not self._called.intersection(own):
                self._export_call(node)
        elif self._exports.is_export(node.func):
            self._export_call(node)
        elif last == "add_argument" and self._names_exporter:
            self._option(node)
        elif self._names_exporter:
            # the export function under another name
            named = ("dynamo", "operator_export_type")
            self._exported(node, [(word.arg, word.value) for word in node.keywords if word.arg in named])
        self.generic_visit(node)

    def _export_call(self, node: ast.Call, partial: ast.Call | None = None) -> None:
        """What the call is given, by itself, by ``**name`` and by a ``partial``; one that may choose anything is an
        export by ``**``.
        """
        self.dtypes |= self._types_of(node)
        words = [*(partial.keywords if partial else ()), *node.keywords]
        written = {word.arg: word.value for word in words if word.arg}
        self._exported(node, [(name, value) for name, value in written.items() if name != "dynamo"])
        given = exports.UnpackedArguments([*reversed(self.functions), self.source.tree])
        for word in words:
            if word.arg is None:
                given.read(word.value)
        is_settled = given.is_settled("dynamo")
        for place, name, value in given.found:
            if name != "dynamo" or (is_settled and "dynamo" not in written):
                self._exported(place, [(name, value)])
        way = self._way(node, partial, written.get("dynamo"))
        if way:
            self._add(node, SiteKind.EXPORT, name=way)
        elif "dynamo" in written:
            self._exported(node, [("dynamo", written["dynamo"])])
        if not (given.known and is_settled):
            if not (way or "dynamo" in written) or "opset_version" not in written:
                self._add(node, SiteKind.EXPORT, name=UNREAD)
        elif not way and "dynamo" not in {*written, *(name for _, name, _ in given.found)}:
            self._add(node, SiteKind.EXPORT)

    def _types_of(self, node: ast.Call) -> frozenset[str]:
        """The types of what a call is given, and of what its names were given before."""
        names = (item.id for item in ast.walk(node) if isinstance(item, ast.Name))
        given = [node, *(value for name in names for value in self._values.get(name, ()))]
        lines = (line for item in given for line in self.source.lines[item.lineno - 1 : item.end_lineno])
        return types_in_code("\n".join(lines))

    def _way(self, node: ast.Call, partial: ast.Call | None, dynamo: ast.expr | None) -> str:
        """The exporter of a call that no literal chooses: by its function, by what it exports, by a variable."""
        made = partial or node
        name = self._exports.full(made.args[0] if self._exports.is_partial(made) else node.func)
        if name.endswith("dynamo_export"):
            return BY_DYNAMO
        if name.endswith(("onnx.utils.export", "onnx.utils._export")):
            return BY_TRACE
        model = next((word.value for word in node.keywords if word.arg == "model"), node.args[0] if node.args else None)
        if exports.is_program(model, self.functions, self._values):
            return BY_DYNAMO
        if dynamo is None or isinstance(dynamo, ast.Constant):
            return ""
        known = {item.value for item in self._given(dynamo) if isinstance(item, ast.Constant)}
        return BY_DYNAMO if known == {True} else BY_TRACE if known == {False} else BY_EITHER

    def _given(self, node: ast.expr) -> list[ast.expr]:
        """What the file gives a variable."""
        if not isinstance(node, ast.Name):
            return []
        inside = [value for function in self.functions for value in exports.given(function, node.id)]
        return inside or list(self._values.get(node.id, ()))

    def visit_Assign(self, node: ast.Assign) -> None:
        name = node.targets[0].attr if isinstance(node.targets[0], ast.Attribute) else ""
        if name == "ir_version" and self._limits(node) and not is_test(self.source.path):
            self._add(node, SiteKind.STATED, fixes=_OLDER_IR, told="the IR version that it sets")
        if name.endswith("attn_implementation"):
            self._eager(node, node.value)
        self.generic_visit(node)

    def _limits(self, node: ast.Assign) -> bool:
        """Whether an assignment sets a number, the smaller of two, or what a comparison right above it names."""
        if isinstance(node.value, ast.Call):
            return dotted(node.value.func) == "min"
        above = " ".join(self.source.lines[max(0, node.lineno - _CLOSE) : node.lineno - 1])
        if isinstance(node.value, ast.Constant):
            return isinstance(node.value.value, int)
        return isinstance(node.value, ast.Name) and "ir_version >" in above

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg and node.arg.endswith("attn_implementation"):
            self._eager(node, node.value)
        self.generic_visit(node)

    def _eager(self, node: ast.AST, value: ast.expr) -> None:
        """Attention without the fused operator, where a word on an export is near."""
        line = getattr(node, "lineno", 1)
        is_eager = isinstance(value, ast.Constant) and value.value == "eager"
        if is_eager and not is_test(self.source.path) and speaks_near(self.source, line):
            self._add(
                node, SiteKind.STATED, name=operator_of("scaled_dot_product_attention"), fixes=_EAGER,
                told="attention that is set to eager", sure=Sureness.OPERATOR,
            )  # fmt: skip

    @cached_property
    def _functions(self) -> Mapping[str, ast.FunctionDef]:
        return {node.name: node for node in self.source.tree.body if isinstance(node, ast.FunctionDef)}

    def visit_Dict(self, node: ast.Dict) -> None:
        if self._speaks_of_onnx:
            self._keep(rules.translated(self.source, node, self._functions))
        # keyword arguments that are gathered before the call
        pairs = [
            (str(key.value), value)
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant)
            and key.value in ("dynamo", "opset_version", "operator_export_type", *self._arguments)
            and (self._speaks_of_onnx or not _is_true(key, value))
        ]
        self._exported(node, pairs)
        if _is_table_of_opsets(node):
            self._add(node, SiteKind.STATED, name="opset_version", fixes=_OPSETS, told="an opset for each release")
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        # kwargs["example_outputs"] = ...
        if isinstance(node.slice, ast.Constant) and isinstance(node.ctx, ast.Store):
            self._argument(node, node.slice.value)
        self.generic_visit(node)

    @property
    def _arguments(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        return self.ranking.known.arguments

    def _argument(self, node: ast.AST, name: object) -> None:
        if isinstance(name, str) and name in self._arguments and self._speaks_of_onnx:
            self._add(node, SiteKind.ARGUMENT, name=name)

    @cached_property
    def _speaks_of_onnx(self) -> bool:
        return any("onnx" in line for line in self.source.lines)

    def _gate(self, test: ast.expr, body: Sequence[ast.AST], orelse: Sequence[ast.AST]) -> None:
        for found in gates.conditions(test, self.flags, self.derived):
            ops: tuple[str, ...] = ()
            fixes = self._arguments_in([test, *body, *orelse]) or self._of_opset(body)
            about = self.inside or fixes or self._about_export(test, body, orelse)
            chosen = self._chosen(found, body, orelse)
            if about:
                named = bool(self.functions) and _is_named_for_export(self.functions[-1])
                asked = self.inside or asks_for_export(test, self._export_flags)
                called = _called if asked else _called_of_torch if named else _called_by_none
                ops = tuple(sorted(called(body) ^ called(orelse)))
                fixes = fixes or self._beside(test, [*body, *orelse])
            told = "a branch in an export" if about else "the rewrite that it chooses" if chosen else ""
            fixes = fixes or chosen
            self._add(test, SiteKind.GATE, name=found.text, condition=found, ops=ops, fixes=fixes, told=told)

    def _of_opset(self, body: Sequence[ast.AST]) -> tuple[tuple[str, str], ...]:
        """The fix of a gate that chooses an opset: it sets one, or its function gives one back."""
        named = bool(self.functions) and "opset" in self.functions[-1].name
        given = named and any(isinstance(node, ast.Return) for node in body)
        return _OPSETS if given or _sets_opset(body) else ()

    def _arguments_in(self, nodes: Sequence[ast.AST]) -> tuple[tuple[str, str], ...]:
        """The fixes of arguments of the export call that are named in a gate or its branches."""
        if not self._speaks_of_onnx:
            return ()
        named = {name for node in nodes for item in ast.walk(node) for name in self._named_argument(item)}
        return tuple(fix for name, listed in self._arguments.items() if name in named for fix in listed)

    def _named_argument(self, node: ast.AST) -> Iterator[object]:
        """The names of arguments that a keyword, a key, or a comparison has."""
        if isinstance(node, ast.keyword):
            yield node.arg
        keys = node.keys if isinstance(node, ast.Dict) else [node.slice] if isinstance(node, ast.Subscript) else []
        if isinstance(node, ast.Call):
            keys = node.args[:1] if dotted(node.func).endswith((".pop", ".get", ".setdefault")) else []
        keys = [node.left] if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn) else keys
        for key in filter(None, keys):
            values = (
                exports.given(self.functions[-1], key.id) if isinstance(key, ast.Name) and self.functions else [key]
            )
            yield from (value.value for value in values if isinstance(value, ast.Constant))

    def _beside(self, test: ast.AST, nodes: Sequence[ast.AST]) -> tuple[tuple[str, str], ...]:
        """The fixes of a workaround that a gate chooses, or that it is in."""
        first, last = getattr(test, "lineno", 0), max((getattr(node, "end_lineno", 0) for node in nodes), default=0)
        near = (item for item in self.near if item.first <= last and first <= item.last)
        # a gate around much more than the workaround is about that, too
        beside = (item.site.fixes for item in near if last - first <= _NEAR + item.last - item.first)
        return next((found for found in beside if found), ())

    def _chosen(
        self, gate: Condition, body: Sequence[ast.AST], orelse: Sequence[ast.AST]
    ) -> tuple[tuple[str, str], ...]:
        """The fixes of a rewrite in one of a gate's branches, whatever its author says: of one that is found by itself,
        or that takes the place of the failing form in the other branch.
        """
        sides = [lines_between(block) for block in (body, orelse) if block]
        inside = [item for item in self.near if _is_sure(item) and any(_holds(side, item) for side in sides)]
        for item in inside:
            self.found = [replace(site, condition=gate) if site == item.site else site for site in self.found]
        if inside or len(sides) < 2:
            return inside[0].site.fixes if inside else ()
        pairs = (sides, sides[::-1]) if all(last - first <= _NEAR for first, last in sides) else ()
        best = (self.ranking.choose(self.lines, ours, other) for ours, other in pairs)
        return next((((found[0].case, found[0].variant),) for found in best if found), ())

    def _about_export(self, test: ast.AST, body: Sequence[ast.AST], orelse: Sequence[ast.AST]) -> bool:
        nodes = [test, *body, *orelse]
        if self.functions:
            function = self.functions[-1]
            nodes += function.decorator_list
            if _is_named_for_export(function):
                return True
        names = (
            dotted(item).lower()
            for node in nodes
            for item in ast.walk(node)
            if isinstance(item, ast.Attribute | ast.Name)
        )
        return any(word in name for name in names for word in _ABOUT_EXPORT)

    def _option(self, node: ast.Call) -> None:
        """``parser.add_argument("--opset", default=13)``."""
        texts = [item.value for item in node.args if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        default = next((word.value for word in node.keywords if word.arg == "default"), None)
        if default is not None and any("opset" in text for text in texts):
            self._exported(node, [("opset_version", default)])

    def _exported(self, node: ast.AST, pairs: Sequence[tuple[str, ast.expr]]) -> None:
        for name, value in pairs:
            place = node if isinstance(node, ast.Dict) else value
            if name == "dynamo" and isinstance(value, ast.Constant) and value.value is False:
                self._add(place, SiteKind.DYNAMO, name=BY_TRACE)
            elif name == "dynamo" and isinstance(value, ast.Constant) and value.value is True:
                self._add(place, SiteKind.EXPORT, name=BY_DYNAMO)
            elif name == "opset_version":
                opset = exports.Numbers(self._values, self.functions).opset(value)
                if opset is not None:
                    self._add(place, SiteKind.OPSET, name=str(opset))
            elif name == "operator_export_type":
                self._add(place, SiteKind.FALLBACK, name=dotted(value).split(".")[-1])
            elif name != "dynamo":
                self._add(place, SiteKind.ARGUMENT, name=name)

    def _add(self, node: ast.AST, kind: SiteKind, **more: object) -> None:
        self._keep([site_at(self.source, node, kind, **more)])

    def _keep(self, found: Iterable[Site]) -> None:
        """Add sites that are not there yet."""
        self.found += [site for site in found if site not in self.found]


def _is_true(key: ast.Constant, value: ast.expr) -> bool:
    """``"dynamo": True``, which other compilers are given, too."""
    return key.value == "dynamo" and isinstance(value, ast.Constant) and value.value is True


def lines_between(block: Sequence[ast.AST]) -> tuple[int, int]:
    """The first and the last line of statements or expressions."""
    first = min(getattr(node, "lineno", 0) for node in block)
    return first, max(getattr(node, "end_lineno", None) or first for node in block)


def _is_sure(item: StatedWorkaround) -> bool:
    return bool(item.site.fixes) and item.site.sure is Sureness.SAME and not item.site.runtime


def _holds(side: tuple[int, int], item: StatedWorkaround) -> bool:
    """Whether a workaround is in a branch that has little else."""
    first, last = side
    return first <= item.first and item.last <= last and last - first <= _NEAR + item.last - item.first


def _is_named_for_export(function: ast.FunctionDef) -> bool:
    return any(word in function.name.lower() for word in _ABOUT_EXPORT)


#: lines above an assignment that may compare what it sets
_CLOSE = 4
#: lines of a gate beside the workaround that it chooses
_NEAR = 40
#: releases of torch, of which 1.13 was followed by 2.0
_RELEASE = re.compile(r"^(?:1\.(?:\d|1[0-3])|2\.\d+)(?:\.\d+)?$")


def _is_table_of_opsets(node: ast.Dict) -> bool:
    """``{"1.12": 15, "1.11": 14}``: opsets by releases of torch."""
    keys = [item.value for item in node.keys if isinstance(item, ast.Constant)]
    values = [item.value for item in node.values if isinstance(item, ast.Constant)]
    releases = [key for key in keys if isinstance(key, str) and _RELEASE.match(key)]
    opsets = [value for value in values if isinstance(value, int) and 7 <= value <= 30]  # opsets of torch
    return len(releases) >= 2 and len(releases) == len(node.keys) == len(opsets)  # a table has two rows


def _sets_opset(nodes: Iterable[ast.AST]) -> bool:
    """``opset_version = 12``."""
    made = (item for node in nodes for item in ast.walk(node) if isinstance(item, ast.Assign))
    return any("opset" in dotted(item.targets[0]) and isinstance(item.value, ast.Constant) for item in made)


def _called(nodes: Iterable[ast.AST]) -> set[str]:
    """The last names of what is called in these branches; a list, a set or a text has methods with an operator's name,
    too, so that these count where they are called of torch.
    """
    calls = (dotted(item.func) for node in nodes for item in ast.walk(node) if isinstance(item, ast.Call))
    return {name.split(".")[-1] for name in calls if name.startswith(_TORCH) or _is_of_tensors(name)} - {""}


def _called_of_torch(nodes: Iterable[ast.AST]) -> set[str]:
    """Of these the functions of torch."""
    calls = (dotted(item.func) for node in nodes for item in ast.walk(node) if isinstance(item, ast.Call))
    return {name.split(".")[-1] for name in calls if name.startswith(_TORCH)}


_TORCH = ("torch.", "F.", "nn.")
#: methods of Python's own values: ``names.split(".")``, ``seen.add(name)``
_OF_VALUES = frozenset(name for kind in (str, list, dict, set, float) for name in dir(kind))


def _is_of_tensors(name: str) -> bool:
    """Whether a call by this name may be one of a tensor's methods, or of a function imported by its own name."""
    return name.split(".")[-1] not in _OF_VALUES


def _called_by_none(_: Iterable[ast.AST]) -> set[str]:
    return set()


def _behind(tree: ast.AST) -> Iterator[tuple[int, Sequence[ast.stmt]]]:
    """Each branch that ends its block and has no other side, with the statements that follow it."""
    left: list[tuple[Sequence[ast.stmt], Sequence[ast.stmt]]] = [(block, ()) for block in blocks_of(tree)]
    while left:
        block, after = left.pop()
        for number, node in enumerate(block):
            follows = isinstance(node, ast.If | ast.With)
            tail = [*block[number + 1 :], *after] if follows else ()
            if isinstance(node, ast.If) and not node.orelse and ends(node.body):
                yield id(node), tail
            left += [(inner, tail) for inner in blocks_of(node)]
