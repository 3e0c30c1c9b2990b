"""What a source tree has that measurements may speak to: each with its file and line."""

from __future__ import annotations

import ast
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from ast_grep_py import SgRoot

from caniexport.scan import gates, patterns
from caniexport.scan.exports import Exports
from caniexport.scan.files import TOO_DEEP, ParsedFile, Skipped, SourceFile, Unreadable
from caniexport.scan.gates import Condition
from caniexport.scan.site import Site, SiteKind
from caniexport.scan.syntax import assignments, full_name, imported

#: functions of torch that are true while a model is exported
_EXPORTING = ("torch.onnx.is_in_onnx_export", "torch.onnx.utils.is_in_onnx_export", "torch.compiler.is_exporting")
_REGISTERING = (
    "torch.onnx.register_custom_op_symbolic",
    "torch.onnx.utils.register_custom_op_symbolic",
    "torch.onnx.symbolic_registry.register_op",
)
#: ``# caniexport: CASE/WORKAROUND``
_MARKER = re.compile(r"#\s*caniexport:\s*(?P<case>[\w-]+)/(?P<variant>\w+)")

_T = TypeVar("_T")
_LOG = logging.getLogger(__name__)


def find(sources: Sequence[SourceFile]) -> tuple[list[Site], list[Skipped]]:
    """Return every site of these files, in their order, and the files that cannot be looked through. Flags that one
    file defines are known in all. Each file is parsed where it is looked at, and its tree let go.
    """
    skipped: dict[str, str] = {}
    sites: list[Site] = []
    derived, flags = _version_names(sources, skipped)
    for source in sources:
        sites += _tried(source, skipped, lambda file: _Finder(file, flags, derived).look()) or ()
    return sites, [Skipped(path, reason) for path, reason in skipped.items()]


def _version_names(
    sources: Sequence[SourceFile], skipped: dict[str, str]
) -> tuple[frozenset[str], dict[str, Condition]]:
    """Return the names that hold torch's version, and those that stand for a comparison with it."""
    comparing = [source for source in sources if gates.may_compare(source.text)]
    derived = frozenset(name for source in comparing for name in _tried(source, skipped, _derived) or ())
    flags: dict[str, Condition] = {}
    for source in sources:
        if derived.intersection(re.findall(r"\w+", source.text)) or gates.may_compare(source.text):
            flags.update(_tried(source, skipped, partial(_flags, derived)) or {})
    return derived, flags


def _tried(source: SourceFile, skipped: dict[str, str], act: Callable[[ParsedFile], _T]) -> _T | None:
    """Return what ``act`` gives for a file; ``None`` where it cannot be looked through, with the reason in
    ``skipped``.
    """
    if source.path in skipped:
        return None
    try:
        return act(source.parsed())
    except Unreadable as error:
        skipped[source.path] = str(error)
    except RecursionError:
        skipped[source.path] = TOO_DEEP
    except MemoryError:
        skipped[source.path] = "takes more memory than there is"
    except Exception as error:
        # code of a form that nobody thought of: the other files of the project are still looked through
        _LOG.debug("scanning %s", source.path, exc_info=True)
        skipped[source.path] = f"cannot be looked through: {type(error).__name__} in the scan itself"
    return None


def _flags(derived: frozenset[str], source: ParsedFile) -> dict[str, Condition]:
    """Return the names that stand for a comparison."""
    flags = {}
    for name, value in assignments(source.tree):
        made = None if isinstance(value, ast.Name | ast.Attribute) else gates.condition(value, {}, derived)
        if made is not None:
            flags[name] = made
    return flags


def _derived(source: ParsedFile) -> list[str]:
    """Return the names that hold torch's version, however it was cut up."""
    return [name for name, value in assignments(source.tree) if _is_derived(source, value)]


def _is_derived(source: ParsedFile, value: ast.expr) -> bool:
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
    """Walks one file. ``gated`` are the lines of its branches on torch's version, ``stored`` names that
    are given a value.
    """

    source: ParsedFile
    flags: dict[str, Condition]
    derived: frozenset[str]
    found: list[Site] = field(default_factory=list)
    gated: list[range] = field(default_factory=list)
    stored: set[str] = field(default_factory=set)
    imports: Mapping[str, str] = field(init=False)
    exports: Exports = field(init=False)

    def look(self) -> list[Site]:
        """Return the sites of the file, by line."""
        tree, text = self.source.tree, "\n".join(self.source.lines)
        self.imports = dict(imported(tree))
        self.exports = Exports(self.source, self.imports)
        self.visit(tree)
        marked = list(self._markers(text)) if "caniexport:" in text else []
        self.found += marked
        own = {(site.line + off, site.workaround) for site in marked for off in (0, 1)}
        imports = {name: full for name, full in self.imports.items() if name not in self.stored}
        for rule, line in patterns.find(tree, patterns.NamesByLine(self.source.lines), imports):
            kind = SiteKind.ORIGINAL if rule.is_original else SiteKind.WORKAROUND
            if (line, (rule.case, rule.variant)) not in own:
                self.found.append(Site(self.source.path, line, kind, workaround=(rule.case, rule.variant)))
        # what stands behind a comparison with torch's version is not for all releases
        gated = frozenset().union(*self.gated)
        kept = (replace(site, is_gated=site.line in gated) for site in dict.fromkeys(self.found))
        return sorted(kept, key=lambda site: site.line)

    def _markers(self, text: str) -> Iterator[Site]:
        for comment in SgRoot(text, "python").root().find_all(kind="comment"):
            if marker := _MARKER.match(comment.text()):
                line = comment.range().start.line + 1
                named = marker["case"], marker["variant"]
                yield Site(self.source.path, line, SiteKind.WORKAROUND, workaround=named)

    def _branch(self, node: ast.If | ast.IfExp | ast.While | ast.Assert) -> None:
        conditions = gates.conditions(node.test, self.flags, self.derived)
        for one in conditions:
            self._add(node.test, SiteKind.GATE, name=one.text, condition=one)
        if conditions:
            self.gated.append(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        else:
            calls = [full_name(item.func, self.imports) for item in ast.walk(node.test) if isinstance(item, ast.Call)]
            if name := next((name for name in calls if name in _EXPORTING), ""):
                self._add(node, SiteKind.BRANCH, name=name)
        self.generic_visit(node)

    visit_If = visit_IfExp = visit_While = visit_Assert = _branch  # noqa: N815 - ast's names

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.stored.add(node.id)

    def visit_Call(self, node: ast.Call) -> None:
        call = self.exports.read(node) or self.exports.gathered(node)
        if call:
            self.found.append(call)
        elif full_name(node.func, self.imports) in _REGISTERING:
            given = [item.value for item in node.args if isinstance(item, ast.Constant)]
            operator = str(given[0]) if given else ""
            self._add(node, SiteKind.SYMBOLIC, name=f"aten::{operator}" if operator.isidentifier() else operator)
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        if call := self.exports.gathered(node):
            self.found.append(call)
        self.generic_visit(node)

    def _add(self, node: ast.expr | ast.stmt, kind: SiteKind, name: str, condition: Condition | None = None) -> None:
        self.found.append(Site(self.source.path, node.lineno, kind, name, condition=condition))
