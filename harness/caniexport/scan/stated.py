"""Places of a file of which their author says that they are there for an export: in a comment, a docstring or a
name, by a branch on exporting, or by putting a function in the place of an operator.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from caniexport.scan import backends
from caniexport.scan.branches import (
    Flags,
    asks_for_export,
    ends,
    exporting,
    flags_of,
    for_old_opset,
    is_shared,
    span,
)  # fmt: skip
from caniexport.scan.files import ParsedFile
from caniexport.scan.normal import dotted, every_statement, operator_of
from caniexport.scan.project import is_test
from caniexport.scan.rules import is_rule
from caniexport.scan.sides import LONG, calculates, given_to, left_out
from caniexport.scan.swaps import swapped
from caniexport.scan.told import Told, ToldPlace
from caniexport.scan.wording import (
    AT_FAULT,
    COMPLAINT,
    EXPORT,
    QUOTED_COMMENT,
    SENTENCE,
    STRONG,
    TRACING,
    at_fault,
    avoided_in,
    blamed_in,
    blames_compiler,
    blames_runtime,
    in_name,
    is_code,
    is_on_export,
    last_name,
    named_in,
    telling_part,
)  # fmt: skip

_NAMED_FOR_EXPORT = re.compile(r"onnx|export(?!er|s\b)|tracing|traceable|torchscript|scriptable|jit", re.IGNORECASE)
#: a function that exports something, and is not there for an export of itself
_EXPORTS = re.compile(
    r"(^|_)export(_(?!friendly|compat|mode|safe)|$)|^to_onnx$|(^|_)(run|load|save|infer|create|convert|build|check|test)_\w*onnx"
)
#: what only tells of what goes on
_TELLS = frozenset("print info debug warning warn log".split())
#: what a comment behind code has that says whom the code is for, and not only what is there
_FOR = re.compile(r"\bfor\b", re.IGNORECASE)
_COMMENT_LINE = re.compile(r"^\s*#")
#: operators of everyday use that a function's name has for themselves
_EVERYDAY = frozenset("clip clamp expand repeat gather roll flip split chunk squeeze unbind pad scatter tile".split())
#: what is said of a function or class that takes the place of the operator in its name
_FRIENDLY = re.compile(r"(?:onnx|export|trac\w+)[- ](?:safe|friendly|compatible)|exportable|traceable", re.IGNORECASE)
#: lines behind a comment that it is about, at most
_BEHIND = 14
#: lines above a branch's first statement that may be its comment
_ABOVE = 5
#: names of functions, classes and decorators that put a function in the place of an operator
_REPLACING = re.compile(r"register_rewriter|PatchingSpec|(?<![a-z])patch|rewriter", re.IGNORECASE)


#: a comment or docstring of which all is about one thing
_SHORT = 400


def places(source: ParsedFile, known: Collection[str]) -> list[ToldPlace]:
    """Every such place of a file, by line. ``known`` are the operators that cases are about."""
    if not _may_speak("\n".join(source.lines)) and not backends.of_path(source.path):
        return []
    found = list(_PlaceFinder(source, frozenset(known)).all())
    rules = [
        span([node]) for node in every_statement(source.tree) if isinstance(node, ast.FunctionDef) and is_rule(node)
    ]
    outside = [place for place in found if not any(first <= place.first <= last for first, last in rules)]
    text = "\n".join(source.lines)
    is_exported = _IMPORTS_TORCH.search(text) and not builds_graphs(text)
    kept = [place for place in outside if is_exported or place.told is Told.PATCH]
    taking = {place.line: place for place in kept if place.told is Told.PATCH}
    # a function that takes an operator's place is about that one, whatever else its docstring or name says
    joined = (_joined(place, taking.get(place.line)) for place in kept)
    return sorted(filter(None, joined), key=lambda place: (place.first, place.last))


#: words of a place, which are looked for before any pattern is: that is ten times as quick
_WORDS = (
    "export", "onnx", "opset", "torchscript", "scripting", "scriptable", "tracing", "traced", "traceable", "tracer",
    "is_trac", "torch.trac", "torchdynamo", "is_compiling", "is_dynamo", "fx_proxy", "is_fx",
)  # fmt: skip
_LIKE = ("equivalent (?:of|to)", "same as", "instead of", "replacement (?:of|for)", "alternative to", "mimics?")
#: what further texts of places have; a pattern that begins with a letter is quick
_SIGNS = (
    re.compile(r"jit\b"),
    re.compile(rf"@\w.*(?:{_REPLACING.pattern.lower()})"),
    *(re.compile(rf"{like} [`'\"]?(?:torch|nn|f)\.") for like in _LIKE),
)


def _may_speak(text: str) -> bool:
    """Whether a file has any word of an export, or of another runtime."""
    small = text.lower()
    signs = any(word in small for word in _WORDS) or any(sign.search(small) for sign in _SIGNS)
    return signs or backends.mentioned(small)


def _joined(place: ToldPlace, taking: ToldPlace | None) -> ToldPlace | None:
    """A place as it is told where a function takes an operator's place on its line: that one, or none of its own."""
    if taking is None or not taking.named or place is taking:
        return place
    return None if place.told in (Told.DOCSTRING, Told.NAME) else place


def names_around(tree: ast.AST, known: Collection[str]) -> Callable[[int], frozenset[str]]:
    """The names of the functions and classes around a line, and the operators that these have, by line."""
    every = ((node, _made(node)) for node in every_statement(tree) if isinstance(node, ast.stmt))
    nodes = [(node, name) for node, name in every if name]

    def around(line: int) -> frozenset[str]:
        names = [name for node, name in nodes if node.lineno <= line <= (node.end_lineno or 0)]
        return frozenset(names).union(*(in_name(known, name) for name in names))

    return around


def _made(node: ast.stmt) -> str:
    """The name of a function or class that a statement makes; empty for any other."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    is_lambda = isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda)
    return last_name(node.targets[0]) if isinstance(node, ast.Assign) and is_lambda else ""


#: what edits files of ONNX, or only calls an exporter, imports no torch
_IMPORTS_TORCH = re.compile(r"^\s*(?:import torch|from torch|from \S+ import .*\btorch)", re.MULTILINE)

#: a node that a program writes into a graph of its own, and from how many on that is what its file does
_NODE_WRITTEN, _FEW_NODES = re.compile(r"\bop\.[A-Z]\w*\("), 5


def builds_graphs(text: str) -> bool:
    """Whether a file writes the nodes of ONNX graphs itself: what it says of an operator is about its own graph, and
    none of it is exported from torch.
    """
    return len(_NODE_WRITTEN.findall(text)) >= _FEW_NODES


#: what a file has that calculates with graphs, or calls a runtime, and not with tensors
_OF_GRAPHS = re.compile(
    r"\btorch\.fx\b|^[ \t]*(?:import|from) (?:tensorrt|torch_tensorrt|coremltools|openvino|tensorflow|onnxruntime)\b",
    re.MULTILINE,
)


def edits_graphs(text: str) -> bool:
    """Whether a file edits graphs or drives another runtime: what it says of operators is about its own work."""
    return bool(_OF_GRAPHS.search(text))


@dataclass
class _PlaceFinder:
    source: ParsedFile
    known: frozenset[str]
    onnx: bool = False
    statements: list[ast.stmt] = field(default_factory=list)
    firsts: list[int] = field(default_factory=list)
    flags: Flags = field(default_factory=dict)
    runtime: str = ""

    def all(self) -> Iterator[ToldPlace]:
        self.onnx = any("onnx" in line.lower() or "jit.trace" in line for line in self.source.lines)
        listed = (node for node in every_statement(self.source.tree) if isinstance(node, ast.stmt))
        self.statements = sorted(listed, key=lambda node: (_first_line(node), node.lineno))
        self.firsts = [_first_line(node) for node in self.statements]
        self.flags = flags_of(self.source.tree)
        is_other = is_test(self.source.path) or edits_graphs("\n".join(self.source.lines))
        self.runtime = "" if is_other else backends.of_path(self.source.path)
        yield from self._comments()
        yield from self._blocks(self.source.tree, None)
        yield from swapped(self.source, self.known)

    def _comments(self) -> Iterator[ToldPlace]:
        lines = self._without_texts()
        number = 0
        while number < len(lines):
            if not _COMMENT_LINE.match(lines[number]):
                said = _trailing(lines[number])
                meant = self._is_for_runtime(said) or (_FOR.search(said) and backends.of_text(said))
                if EXPORT.search(said) or meant or self._runtime_fails(said):
                    yield from self._commented(number + 1, number + 1, [said])
                number += 1
                continue
            end = number
            while end + 1 < len(lines) and _COMMENT_LINE.match(lines[end + 1]):
                end += 1
            block = [line.strip().lstrip("#").strip() for line in lines[number : end + 1]]
            following = _trailing(lines[end + 1]) if end + 1 < len(lines) else ""
            said = " ".join(block)
            if EXPORT.search(f"{said} {following}") or self._is_for_runtime(said) or self._runtime_fails(said):
                yield from self._commented(number + 1, end + 2, [*block, following])
            number = end + 1

    def _is_for_runtime(self, said: str) -> bool:
        """Whether a comment says what fails in another runtime, or which operators are there for it, or are not."""
        about = backends.of_text(said) and AT_FAULT.search(said)
        return blames_runtime(said) or bool(about and (avoided_in(self.known, said) | blamed_in(self.known, [said])))

    def _runtime_fails(self, said: str) -> bool:
        """Whether a comment tells of a failure in a folder that is about another runtime, which it need not name."""
        return bool(self.runtime) and blames_compiler(said)

    def _without_texts(self) -> list[str]:
        """The lines of the file; those of a text over several lines are empty, for what it quotes is no comment."""
        lines = list(self.source.lines)
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for number in range(node.lineno, node.end_lineno or node.lineno):
                    lines[number - 1] = ""
        return lines

    def _commented(self, first: int, start: int, block: Sequence[str]) -> Iterator[ToldPlace]:
        said = " ".join(block)
        runtime = backends.of_text(said) or (self.runtime if self._runtime_fails(said) else "")
        if not COMPLAINT.search(said) and not runtime:
            return
        node = self._statement_at(first, start)
        if node is None or _only_tells(node):
            return
        quoted = tuple(line.strip() for line in block if is_code(line))
        last = node.end_lineno or node.lineno
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.If | ast.For | ast.With):
            last = self._end_of_paragraph(last)
        line = max(first, _first_line(node)) if isinstance(node, ast.FunctionDef | ast.ClassDef) else node.lineno
        if node.lineno < first <= last:
            line = first
        telling = telling_part(said)
        if not self.onnx and not is_on_export(TRACING.sub("", said)) and not runtime:
            return  # tracing of another kind: fx, torch.compile, a graph of its own
        named = named_in(self.known, telling, quoted)
        swapped = self._swapped(node)
        named |= swapped
        exchanged = swapped if swapped and _assigns_attribute(node) else set()
        sentences = [part for part in SENTENCE.split(said) if runtime or STRONG.search(part)]
        yield ToldPlace(
            line, min(first, node.lineno), last, Told.COMMENT, said, named,
            quoted=quoted, runtime=runtime, avoided=avoided_in(self.known, telling) | exchanged,
            blamed=blamed_in(self.known, sentences),
        )  # fmt: skip

    def _statement_at(self, first: int, start: int) -> ast.stmt | None:
        """The innermost statement around a line, where the comment is behind code; otherwise the next one."""
        if first == start:
            before = self.statements[: bisect_right(self.firsts, first)]
            return next((node for node in reversed(before) if (node.end_lineno or 0) >= first), None)
        number = bisect_left(self.firsts, start)
        if number == len(self.statements):
            return None
        between = self.source.lines[start - 1 : self.firsts[number] - 1]
        nothing = all(not line.strip() or _COMMENT_LINE.match(line) for line in between)
        return self.statements[number] if nothing else None

    def _end_of_paragraph(self, last: int) -> int:
        lines = self.source.lines
        end = last
        while end < min(len(lines), last + _BEHIND) and lines[end].strip() and not _COMMENT_LINE.match(lines[end]):
            end += 1
        return end

    def _blocks(self, node: ast.AST, inside: ast.FunctionDef | None) -> Iterator[ToldPlace]:
        """The places that the statements below a node show by themselves."""
        left: list[tuple[ast.AST, ast.FunctionDef | None]] = [(node, inside)]
        while left:
            parent, function = left.pop()
            for field_name in ("body", "orelse", "finalbody", "handlers", "cases"):
                block = getattr(parent, field_name, None)
                if not isinstance(block, list):
                    continue
                for number, child in enumerate(block):
                    yield from self._shown(child, block[number + 1 :], function)
                    left.append((child, child if isinstance(child, ast.FunctionDef) else function))

    def _shown(self, node: ast.AST, rest: Sequence[ast.stmt], function: ast.FunctionDef | None) -> Iterator[ToldPlace]:
        if isinstance(node, ast.FunctionDef):
            yield from self._function(node)
        elif isinstance(node, ast.ClassDef):
            yield from self._docstring(node)
        elif isinstance(node, ast.If):
            yield from self._gate(node, rest, function)
        elif isinstance(node, ast.Assign | ast.Return | ast.Expr):
            yield from self._chosen(node)
            yield from self._switched(node)

    def _function(self, node: ast.FunctionDef) -> Iterator[ToldPlace]:
        exports = bool(_EXPORTS.search(node.name))
        yield from () if exports else self._docstring(node)
        last = node.end_lineno or node.lineno
        for decorator in node.decorator_list:
            yield from self._replaced(decorator, node)
        if _NAMED_FOR_EXPORT.search(node.name) and not exports:
            named = set(in_name(self.known, node.name))
            said = node.name.replace("_", " ")
            yield ToldPlace(
                node.lineno, node.lineno, last, Told.NAME, said, frozenset(named), runtime=backends.of_text(said),
                avoided=frozenset(named),
            )  # fmt: skip

    def _docstring(self, node: ast.FunctionDef | ast.ClassDef) -> Iterator[ToldPlace]:
        said = QUOTED_COMMENT.sub("", ast.get_docstring(node) or "")
        telling = at_fault(said) or " ".join(part for part in SENTENCE.split(said) if self._blames(part))
        if telling:
            last = node.end_lineno or node.lineno
            named = named_in(self.known, said if len(said) < _SHORT else telling, ())
            own = self._own_name(node) if _FRIENDLY.search(telling) else frozenset()
            body = node.body if isinstance(node, ast.ClassDef) else ()
            forward = [item for item in body if isinstance(item, ast.FunctionDef) and item.name == "forward"]
            line, said = forward[0].lineno if forward else node.lineno, f"{node.name} {telling}"
            runtime = backends.of_text(telling)
            yield ToldPlace(
                line,
                node.lineno,
                last,
                Told.DOCSTRING,
                said,
                named | own,
                runtime=runtime,
                avoided=avoided_in(self.known, telling) | own,
                blamed=blamed_in(self.known, filter(STRONG.search, SENTENCE.split(telling))),
            )
            yield from self._methods(body, telling)

    def _blames(self, part: str) -> bool:
        """Whether a sentence says of an operator that it fails in another runtime."""
        return blames_runtime(part) and bool(blamed_in(self.known, [part]))

    def _own_name(self, node: ast.FunctionDef | ast.ClassDef) -> frozenset[str]:
        """The operators in the name of a function or class, where no branch within it shows which one is left out."""
        name = node.name
        if any(isinstance(item, ast.If) and exporting(item.test, self.flags) is not None for item in ast.walk(node)):
            return frozenset()
        return named_in(self.known, name, ()) | frozenset(in_name(self.known, name))

    def _methods(self, body: Iterable[ast.stmt], telling: str) -> Iterator[ToldPlace]:
        """The methods of a class that is there for an export, each by what is said of itself."""
        for item in body:
            own = (ast.get_docstring(item) or "") if isinstance(item, ast.FunctionDef) else ""
            named = named_in(self.known, own, ())
            if named:
                last = item.end_lineno or item.lineno
                yield ToldPlace(item.lineno, item.lineno, last, Told.DOCSTRING, f"{own} {telling}", named)

    def _replaced(self, call: ast.expr, node: ast.FunctionDef) -> Iterator[ToldPlace]:
        """``@REWRITER.register_rewriter(func_name="torch.Tensor.expand", backend="ncnn")``."""
        if not isinstance(call, ast.Call) or not _REPLACING.search(last_name(call.func)):
            return
        texts = [
            item.value for item in ast.walk(call) if isinstance(item, ast.Constant) and isinstance(item.value, str)
        ]
        runtime = backends.of_call(call)
        named = {operator_of(text.removesuffix(".forward")) for text in texts} & self.known
        last = node.end_lineno or node.lineno
        yield ToldPlace(
            node.lineno,
            call.lineno,
            last,
            Told.PATCH,
            f"{node.name} {' '.join(texts)}",
            frozenset(named),
            runtime=runtime,
            avoided=frozenset(named),
        )

    def _chosen(self, node: ast.Assign | ast.Return | ast.Expr) -> Iterator[ToldPlace]:
        """``a if is_in_onnx_export() else b`` somewhere in a statement."""
        if not any(" if " in line for line in self.source.lines[node.lineno - 1 : node.end_lineno]):
            return
        around = {id(given): item for item in ast.walk(node) if isinstance(item, ast.Call) for given in _given(item)}
        for item in ast.walk(node):
            if isinstance(item, ast.IfExp):
                way = exporting(item.test, self.flags)
                runtime = backends.of_test(item.test)
                if way is not None or runtime:
                    ours, there = (item.orelse, item.body) if way is False else (item.body, item.orelse)
                    last, call = node.end_lineno or node.lineno, around.get(id(item))
                    left = given_to(call, self.known) if call else left_out([ours], [there], self.known)
                    yield ToldPlace(
                        node.lineno, node.lineno, last, Told.GATE, "", instead=(there.lineno, there.end_lineno or 0),
                        runtime=runtime, asked=asks_for_export(item.test, self.flags), left_out=left,
                    )  # fmt: skip

    def _switched(self, node: ast.Assign | ast.Return | ast.Expr) -> Iterator[ToldPlace]:
        """``interpolate(x, antialias=not exporting)``: an argument that a flag itself decides."""
        calls = (item for item in ast.walk(node) if isinstance(item, ast.Call))
        for call in calls:
            given = [word.value for word in call.keywords if word.arg and exporting(ast.Name(word.arg)) is None]
            asked = [value for value in given if exporting(value, self.flags) is not None]
            if asked and (left := given_to(call, self.known)):
                yield ToldPlace(
                    node.lineno, node.lineno, node.end_lineno or node.lineno, Told.GATE, "",
                    asked=asks_for_export(asked[0], self.flags), left_out=left,
                )  # fmt: skip

    def _gate(self, node: ast.If, rest: Sequence[ast.stmt], function: ast.FunctionDef | None) -> Iterator[ToldPlace]:
        way, runtime, opset = exporting(node.test, self.flags), backends.of_test(node.test), for_old_opset(node.test)
        way = opset if way is None else way
        if way is None and not runtime:
            yield from self._for_runtime(node, rest)
            return
        ours, other = _sides(node, rest, turned=way is False)
        inside, about = (function.name, ast.get_docstring(function) or "") if function else ("", "")
        runtime = runtime or backends.of_branch(ours) or (backends.of_text(about) if blames_runtime(about) else "")
        first = node.lineno
        here, instead = span(ours) if ours else None, span(other) if other else None
        last = max(node.end_lineno or node.lineno, *(end for _, end in filter(None, (here, instead))), 0)
        near = min(last, (here[1] if here else node.lineno) + _BEHIND)
        end = here[1] if here else node.lineno
        if rest and isinstance(rest[0], ast.If) and exporting(rest[0].test, self.flags) is not None:
            near = min(near, span([node])[1])  # what is said behind it belongs to the next branch
        lines = enumerate(self.source.lines[node.lineno - 1 : near], node.lineno)
        # what is said in the branch that is taken elsewhere is about that one
        behind = span(node.body)[1] if way is False else first
        own = (line for number, line in lines if STRONG.search(line) or number == first or behind < number <= end)
        comments = list(filter(None, map(_comment_of, own)))
        # the whole comments of the branch itself, of which only lines on an export are read otherwise
        block = " ".join(map(_comment_of, self.source.lines[here[0] - _ABOVE : here[1]])) if here else ""
        runtime = runtime or (backends.of_text(block) if AT_FAULT.search(block) else "")
        said = " ".join([inside, *comments, *_messages(node)])
        shown, chosen = frozenset(in_name(self.known, inside)), self._chosen_names(ours)
        yield ToldPlace(
            first, here[0] if here else first, here[1] if here else last, Told.GATE, said,
            named_in(self.known, said, ()) | shown | chosen, instead=instead, runtime=runtime, shown=shown,
            avoided=avoided_in(self.known, said) | chosen, blamed=blamed_in(self.known, SENTENCE.split(said)),
            asked=opset is not None or asks_for_export(node.test, self.flags),
            refuses=bool(ours) and isinstance(ours[0], ast.Raise),
            left_out=left_out(ours, other if _is_telling(node, other) else (), self.known),
        )  # fmt: skip

    def _for_runtime(self, node: ast.If, rest: Sequence[ast.stmt]) -> Iterator[ToldPlace]:
        """A branch on a runtime's flag, ``if self.for_coreml:``, both sides of which calculate with torch."""
        turned = isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
        flag = node.test.operand if isinstance(node.test, ast.UnaryOp) and turned else node.test
        runtime = backends.of_name(last_name(flag))
        ours, other = _sides(node, rest, turned=turned)
        if runtime and ours and other and _is_telling(node, other) and calculates(ours, self.known):
            left = left_out(ours, other, self.known, rare_only=True)
            first, last = span(ours)
            if left:
                yield ToldPlace(
                    node.lineno, first, last, Told.GATE, "", instead=span(other), runtime=runtime, asked=True,
                    left_out=left,
                )  # fmt: skip

    def _chosen_names(self, block: Sequence[ast.stmt]) -> frozenset[str]:
        """The operators in names of a branch that are there for the export: ``self.max_unpool2d_for_onnx``; in those of
        functions that it calls words of everyday use, too: ``clip_for_onnx``.
        """
        parts = [item for node in block for item in ast.walk(node)]
        names = {last_name(item) for item in parts if isinstance(item, ast.Attribute | ast.Name)}
        called = {last_name(item.func) for item in parts if isinstance(item, ast.Call)}
        told = {name for name in names if _NAMED_FOR_EXPORT.search(name)}
        sure = frozenset(operator for name in told for operator in in_name(self.known, name))
        words = {word for name in told & called for word in name.lower().split("_")} & _EVERYDAY
        return sure or frozenset(map(operator_of, words)) & self.known

    def _swapped(self, node: ast.stmt) -> set[str]:
        """The operators of the modules that a statement looks for: ``isinstance(layer, nn.Hardswish)``."""
        calls = (item for item in ast.walk(node) if isinstance(item, ast.Call) and last_name(item.func) == "isinstance")
        asked = (item for call in calls for item in ast.walk(call.args[-1]) if isinstance(item, ast.Attribute))
        return {operator_of(item.attr) for item in asked if dotted(item).startswith(("nn.", "torch.nn."))} & self.known


def _assigns_attribute(node: ast.stmt) -> bool:
    """Whether a statement puts a new object in the place of a part of another: ``layer.act = SiLU()``."""
    made = (item for item in ast.walk(node) if isinstance(item, ast.Assign) and isinstance(item.value, ast.Call))
    return any(isinstance(target, ast.Attribute) for item in made for target in item.targets)


def _messages(node: ast.AST) -> Iterator[str]:
    """The texts of what is asserted, raised or warned of in a branch."""
    for item in ast.walk(node):
        given = item.msg if isinstance(item, ast.Assert) else item.exc if isinstance(item, ast.Raise) else None
        if isinstance(item, ast.Call) and "warn" in last_name(item.func):
            given = item
        texts = ast.walk(given) if given is not None else ()
        yield from (part.value for part in texts if isinstance(part, ast.Constant) and isinstance(part.value, str))


def _given(call: ast.Call) -> list[ast.expr]:
    """The arguments of a call."""
    return [*call.args, *(word.value for word in call.keywords)]


def _sides(node: ast.If, rest: Sequence[ast.stmt], *, turned: bool) -> tuple[Sequence[ast.stmt], Sequence[ast.stmt]]:
    """The side of a branch that is taken while exporting, and the other one."""
    other = node.orelse or (rest if ends(node.body) else ())
    if not turned:
        return node.body, other
    return [item for item in other if node.orelse or item.lineno - node.lineno < _BEHIND], node.body


def _is_telling(node: ast.If, other: Sequence[ast.stmt]) -> bool:
    """Whether the other side of a branch is short enough to tell what is left out, and taken for no other reason."""
    first, last = span(other) if other else (0, 0)
    return last - first <= (LONG if node.orelse else _BEHIND) and not is_shared(node.test)


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(item.lineno for item in decorators)])


def _trailing(line: str) -> str:
    """The comment behind code; empty where the sign is within a text."""
    before, sign, said = line.partition("#")
    return said if sign and before.strip() and before.count('"') % 2 == 0 and before.count("'") % 2 == 0 else ""


def _comment_of(line: str) -> str:
    return line.strip().lstrip("#") if _COMMENT_LINE.match(line) else _trailing(line)


def _only_tells(node: ast.stmt) -> bool:
    """Whether a statement only writes a message."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and last_name(node.value.func) in _TELLS
