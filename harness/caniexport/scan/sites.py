"""What a source tree has that measurements may speak to: each with its file and line."""

from __future__ import annotations

import ast
import gc
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TypeVar

from caniexport.scan import copies, exports, gates, rules
from caniexport.scan.branches import Flags, ends, exporting, flags_of
from caniexport.scan.files import SECONDS, TOO_DEEP, Clock, ParsedFile, Skipped, SourceFile, TooLong, Unreadable
from caniexport.scan.gates import Condition
from caniexport.scan.site import BY_DYNAMO, BY_EITHER, BY_TRACE, UNREAD, Site, SiteKind, site_at
from caniexport.scan.syntax import assignments, blocks_of, dotted

#: arguments of the export call that later releases refuse, with the workaround that leaves them out
GONE = {
    name: (case, "leave_out")
    for name, case in {
        "_retain_param_name": "export-argument-retain-param-name",
        "aten": "export-argument-aten",
        "enable_onnx_checker": "export-argument-enable-onnx-checker",
        "example_outputs": "example-outputs-argument-removed",
        "export_raw_ir": "export-argument-export-raw-ir",
        "strip_doc_string": "export-argument-strip-doc-string",
        "use_external_data_format": "export-argument-use-external-data-format",
    }.items()
}

_T = TypeVar("_T")
_LOG = logging.getLogger(__name__)


def find(sources: Sequence[SourceFile], known: copies.Known) -> tuple[list[Site], list[Skipped]]:
    """Return every site of these files, in their order, and the files that cannot be looked through. Flags that one
    file defines are known in all. Each file is parsed where it is looked at, and its tree let go.
    """
    skipped: dict[str, str] = {}
    sites: list[Site] = []
    with _without_collector():
        derived, flags = _version_names(sources, skipped)
        for source in sources:
            sites += _tried(source, skipped, _Finder(flags, derived, known).look) or ()
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
    """Return the names that hold torch's version, and those that stand for a comparison with it."""
    comparing = [source for source in sources if gates.may_compare(source.text)]
    derived = frozenset(name for source in comparing for name in _tried(source, skipped, _derived) or ())
    flags: dict[str, Condition] = {}
    for source in sources:
        if source in comparing or any(name in source.text for name in derived):
            flags.update(_tried(source, skipped, partial(_flags, derived)) or {})
    return derived, flags


def _tried(source: SourceFile, skipped: dict[str, str], act: Callable[[ParsedFile, Clock], _T]) -> _T | None:
    """Return what ``act`` gives for a file; ``None`` where it cannot be looked through, with the reason in
    ``skipped``.
    """
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
    """Return the names that stand for a comparison."""
    flags = {}
    for name, value in assignments(source.tree):
        clock.check()
        made = None if isinstance(value, ast.Name | ast.Attribute) else gates.condition(value, {}, derived)
        if made is not None:
            flags[name] = made
    return flags


def _derived(source: ParsedFile, clock: Clock) -> list[str]:
    """Return the names that hold torch's version, however it was cut up."""
    return [name for name, value in assignments(source.tree) if _is_derived(source, value, clock)]


def _is_derived(source: ParsedFile, value: ast.expr, clock: Clock) -> bool:
    clock.check()
    lines = source.lines[value.lineno - 1 : value.end_lineno]
    others = (ast.Compare, ast.BoolOp, ast.IfExp, ast.JoinedStr, ast.Dict)
    if isinstance(value, others) or not any("ver" in line.lower() for line in lines):
        return False
    if not gates.holds_version(value, frozenset()):
        return False
    is_text = any(isinstance(node, ast.JoinedStr) for node in ast.walk(value))
    return not is_text and gates.condition(value, {}, frozenset()) is None


@dataclass
class _Finder(ast.NodeVisitor):
    """Walks one file, ``source``. ``inside`` counts the branches on exporting around a node, ``gated`` its gates."""

    flags: dict[str, Condition]
    derived: frozenset[str]
    known: copies.Known
    found: list[Site] = field(default_factory=list)
    functions: list[ast.FunctionDef] = field(default_factory=list)
    inside: int = 0
    gated: int = 0
    clock: Clock = field(default_factory=Clock)
    copied: list[copies.Copy] = field(default_factory=list)
    source: ParsedFile = field(init=False)

    def look(self, source: ParsedFile, clock: Clock) -> list[Site]:
        """Return the sites of the file, by line."""
        self.source, self.clock = source, clock
        self.copied = list(copies.find(source, self.known, clock.check))
        self._keep(item.site for item in self.copied)
        self._keep(rules.of_functions(source))
        self.visit(source.tree)
        return sorted(self.found, key=lambda site: site.line)

    def visit(self, node: ast.AST) -> None:
        self.clock.check()
        super().visit(node)

    @cached_property
    def _speaks_of_onnx(self) -> bool:
        return any("onnx" in line for line in self.source.lines)

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
        for name, value in assignments(self.source.tree):
            values[name].append(value)
        return values

    @cached_property
    def _functions(self) -> Mapping[str, ast.FunctionDef]:
        return {node.name: node for node in self.source.tree.body if isinstance(node, ast.FunctionDef)}

    @cached_property
    def _export_flags(self) -> Flags:
        return flags_of(self.source.tree)

    @cached_property
    def _rest(self) -> Mapping[int, Sequence[ast.stmt]]:
        """By branch that ends its block and has no other side: the statements behind it, which are the other side."""
        return dict(_behind(self.source.tree))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.functions.append(node)
        self.generic_visit(node)
        self.functions.pop()

    def visit_If(self, node: ast.If) -> None:
        rest = node.orelse or (() if isinstance(node.body[-1], ast.Raise) else self._rest.get(id(node), ()))
        answer = exporting(node.test, self._export_flags)
        about = answer is not None
        self.inside += about
        is_gate = self._gate(node.test, node.body, rest)
        exported, other = (node.body, rest) if answer else (rest, node.body)
        if about and not is_gate and not any(_is_in(item, exported) for item in self.copied):
            ops = tuple(sorted(_called(other) - _called(exported)))
            self._add(node, SiteKind.BRANCH, name=ast.unparse(node.test), ops=ops)
        self.gated += is_gate
        self.generic_visit(node)
        self.gated -= is_gate
        self.inside -= about

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._gate(node.test, [node.body], [node.orelse])
        self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        self._gate(node.test, [], [])
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._gate(node.test, node.body, [])
        self.generic_visit(node)

    def _gate(self, test: ast.expr, body: Sequence[ast.AST], orelse: Sequence[ast.AST]) -> bool:
        """Add the comparisons of a test with torch's version; returns whether there are any."""
        conditions = gates.conditions(test, self.flags, self.derived)
        if not conditions:
            return False
        about = self.inside or exporting(test, self._export_flags) is not None
        ops = tuple(sorted(_called(body) ^ _called(orelse))) if about else ()
        fixes = next((item.site.fixes for item in self.copied if _is_in(item, body) or _is_in(item, orelse)), ())
        for found in conditions:
            self._add(test, SiteKind.GATE, name=found.text, condition=found, ops=ops, fixes=fixes)
        return True

    def visit_Call(self, node: ast.Call) -> None:
        name = dotted(node.func)
        last = (self._exports.full(node.func) if "." not in name else name).split(".")[-1]
        if last in rules.REGISTERING or name.endswith("symbolic_registry.register_op"):
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
        elif last == "add_argument" and self._speaks_of_onnx:
            self._option(node)
        elif self._speaks_of_onnx:
            # the export function under another name, dict(opset_version=17)
            self._gathered(node, [(word.arg, word.value) for word in node.keywords])
        self.generic_visit(node)

    def _export_call(self, node: ast.Call, partial: ast.Call | None = None) -> None:
        """Add what the call is given, by itself and by a ``partial``; what ``**name`` gives is not known."""
        words = [*(partial.keywords if partial else ()), *node.keywords]
        written = {word.arg: word.value for word in words if word.arg}
        way = self._way(node, partial, written.get("dynamo"))
        self._exported(node, [(name, value) for name, value in written.items() if name != "dynamo" or not way])
        is_chosen = bool(way) or "dynamo" in written
        if way or not (is_chosen or len(written) < len(words)):
            self._add(node, SiteKind.EXPORT, name=way)
        is_unread = any(word.arg is None and not isinstance(word.value, ast.Dict) for word in words)
        if is_unread and not (is_chosen and "opset_version" in written):
            self._add(node, SiteKind.EXPORT, name=UNREAD)

    def _way(self, node: ast.Call, partial: ast.Call | None, dynamo: ast.expr | None) -> str:
        """Return the exporter of a call that no literal chooses: by its function, by its model, by a variable."""
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
        """Return what the file gives a variable."""
        if not isinstance(node, ast.Name):
            return []
        inside = [value for function in self.functions for value in exports.given(function, node.id)]
        return inside or list(self._values.get(node.id, ()))

    def visit_Dict(self, node: ast.Dict) -> None:
        if self._speaks_of_onnx:
            self._keep(rules.translated(self.source, node, self._functions))
            pairs = zip(node.keys, node.values, strict=True)
            self._gathered(node, [(key.value, value) for key, value in pairs if isinstance(key, ast.Constant)])
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant) and self._speaks_of_onnx:
            self._gathered(node, [(target.slice.value, node.value)])  # kwargs["dynamo"] = False
        self.generic_visit(node)

    def _gathered(self, node: ast.AST, pairs: Iterable[tuple[object, ast.expr]]) -> None:
        """Add arguments of an export call that are gathered before it."""
        named = [(name, value) for name, value in pairs if isinstance(name, str)]
        self._exported(node, [pair for pair in named if pair[0] in ("dynamo", "opset_version", *GONE)])

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
            elif name in GONE and not self.gated:  # behind a comparison with torch's version others are given it
                self._add(place, SiteKind.ARGUMENT, name=name, fixes=(GONE[name],))

    def _add(self, node: ast.AST, kind: SiteKind, **more: object) -> None:
        self._keep([site_at(self.source, node, kind, **more)])

    def _keep(self, found: Iterable[Site]) -> None:
        """Add sites that are not there yet."""
        self.found += [site for site in found if site not in self.found]


def _is_in(item: copies.Copy, block: Sequence[ast.AST]) -> bool:
    """Return whether a copy lies in a block."""
    first = min((getattr(node, "lineno", 0) for node in block), default=0)
    return first <= item.first and item.last <= max((getattr(node, "end_lineno", 0) for node in block), default=0)


def _called(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the last names of what is called; a list, a set or a text has methods with an operator's name, too, so
    these count where they are called of torch.
    """
    calls = (dotted(item.func) for node in nodes for item in ast.walk(node) if isinstance(item, ast.Call))
    named = ((name, name.split(".")[-1]) for name in calls)
    return {last for name, last in named if name.startswith(_TORCH) or last not in _OF_VALUES} - {""}


_TORCH = ("torch.", "F.", "nn.")
#: methods of Python's own values: ``names.split(".")``, ``seen.add(name)``
_OF_VALUES = frozenset(name for kind in (str, list, dict, set, float) for name in dir(kind))


def _behind(tree: ast.AST) -> Iterator[tuple[int, Sequence[ast.stmt]]]:
    """Yield each branch that ends its block and has no other side, with the statements that follow it."""
    left: list[tuple[Sequence[ast.stmt], Sequence[ast.stmt]]] = [(block, ()) for block in blocks_of(tree)]
    while left:
        block, after = left.pop()
        for number, node in enumerate(block):
            follows = isinstance(node, ast.If | ast.With)
            tail = [*block[number + 1 :], *after] if follows else ()
            if isinstance(node, ast.If) and not node.orelse and ends(node.body):
                yield id(node), tail
            left += [(inner, tail) for inner in blocks_of(node)]
