"""Places of a file of which their author says that they are there for an export: in a comment, a docstring or a
name, by a branch on exporting, or by putting a function in the place of an operator.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from caniexport.scan import backends
from caniexport.scan.files import ParsedFile
from caniexport.scan.forms import words_of
from caniexport.scan.normal import dotted, every_statement, operator_of

#: words of an export in a comment
_EXPORT = re.compile(
    r"(?:equivalent (?:of|to)|same as|instead of|replacement (?:of|for)|alternative to|mimics?) [`'\"]?(?:torch|nn|F)\."
    r"|\bexport(?:able|ing|ed)\b|(?:not|n't|can|cannot) (?:be )?export|export[- ](?:friendly|compat|mode)"
    r"|(?:for|during|when|in|model|to) export\b|\bexport (?:does|do|is|fails?|can|will|needs?|requires?)\b"
    r"|onnx|opset|torchscript|torch\.?jit|\bjit\b|torch\.export|\btrac(?:ing|ed|eable|er)\b|torch\.trace|jit\.trace",
    re.IGNORECASE,
)
#: what a comment on a workaround has
_COMPLAINT = re.compile(
    r"support|instead|avoid|work-? ?a?round|cannot|can't|can not|\bnot\b|n't|replac|rewrit|equivalent|compatib|friendly"
    r"|issue|\bbug|fail|error|custom|fix|hack|requir|needed|need to|problem|explicit|constant|convenience|\bfor onnx"
    r"|allow|enable|convert|correct|\bmatch|\bno\b|without|missing|recorded"
    r"|hard-?cod|support|trick|\bfor export|doesnt|prefer|differen|wrong"
    r"|export",
    re.IGNORECASE,
)
#: what a sentence has that tells of something that fails, or of what takes its place
_AT_FAULT = re.compile(
    r"\bnot\b|n't|cannot|\bno\b|unsupported|support|instead|rather than|in ?place of|replac|re-?implement|rewrit"
    r"|equivalent|work-?\s?a?rounds?|avoid|\bfail|error|\bbug|limitation|compatib|friendly|without|alternative|mimic"
    r"|same as|\bhack|\btrick|\bissue|problem|\bbuggy|broken|custom|explicit|prefer|differen|wrong|need|requir|\ballow"
    r"|\benabl|exportable",
    re.IGNORECASE,
)
#: of these what only something that fails has by itself: an operator that is named in the same sentence is at fault
_HARD = re.compile(
    r"(?:not|n't|cannot) (?:\w+ ){0,2}(?:support|export|handle|compatib|implement|allow|work|possible|friendly|trace)"
    r"|(?:not|n't|cannot) (?:be )?(?:support|export|handle|convert|trace|us)ed|can ?not|can't|unsupported|incompatib"
    r"|to be supported|\bfails?\b|\bfailed|\berror|\bbugg?y?\b|\bbreaks?\b|broken|\bissues?\b|problematic|reject"
    r"|\bcrash|\bbakes?\b|\bno (?:onnx )?(?:lowering|symbolic|rule|support|equivalent)",
    re.IGNORECASE,
)
_WORKAROUND = re.compile(r"work-? ?a?rounds?\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!])\s|\n\s*\n")
#: what a test that asks for an export has, and one for scripting or compiling alone has not
_ASKS = re.compile(r"onnx|export|trac", re.IGNORECASE)
_STRONG = re.compile(
    r"onnx|opset|\bort\b|\btrac(?:ing|ed|eable)\b|\bexport(?:s|able|ing|ed)?\b|torch\.jit\.trace", re.IGNORECASE
)
_NAMED_FOR_EXPORT = re.compile(r"onnx|export(?!er|s\b)|tracing|traceable|torchscript|scriptable|jit", re.IGNORECASE)
#: a function that exports something, and is not there for an export of itself
_EXPORTS = re.compile(
    r"(^|_)export(_(?!friendly|compat|mode|safe)|$)|^to_onnx$|(^|_)(run|load|save|infer|create|convert|build|check|test)_\w*onnx"
)
_GATE = re.compile(
    r"is_in_onnx_export|is_onnx|onnx_export|onnx_trace|is_export|exportable|is_tracing|is_trac|_tracing|tracing$"
    r"|in_export|exporting|export_mode|for_export|export_onnx|onnx_mode|\bexport$|to_onnx|for_onnx|is_jit"
    r"|get_tracing_state|is_scripting|is_dynamo|is_compiling|torchdynamo|is_fx|fx_proxy|traceable$|export_friendly"
    r"|onnx_compat|onnx_friendly|onnx_trac|is_scripting_or_tracing|torchscript$|^trac(?:ing|ed)$",
    re.IGNORECASE,
)
#: names of operators that are words of English, too: they count where they are written as code
_ENGLISH = frozenset(
    "add all any and or not where index to max min size view expand repeat fold split copy type range sum mean "
    "norm sort round data item select gather fill full empty ones zeros trace unique mode sign floor ceil flip "
    "roll pad cat stack resize slice cross product dot mul sub div pow exp log square reshape transpose linear "
    "embedding dropout attention mask loop if input constant shape cast equal less greater identity upsample "
    "pool conv random normal uniform bias complex real imag squeeze append mm rand sequence list cond scan int "
    "float bool is in call return for exp2 attr tensor apply addition detach prim scatter softmax relu sigmoid "
    "conv2d matmul convolution gelu abs eq ne lt gt le ge insert unsqueeze unbind chunk layer instance batch "
    "clamp clone cube diagonal logit nonzero prod quantile remainder "
    "group tile interpolate einsum_ pooling to_ replace optional case convert forward result length line state "
    "clip state_dict op ops name step zero one half solve inverse normalize diff std var dist window polar".split()
)
_NAME = (
    r"(?P<code>[`'\"]*(?:(?:torch|nn|F|np|aten|Tensor|functional|linalg|fft|special)[.:]+|\.)*"
    r"(?P<name>[A-Za-z_]\w*)(?:\(\))?)[`'\")]*"
)
#: what is said of an operator that is left out or fails: its name before that, and its name behind it
_AVOIDED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        _NAME + r"(?: (?:op|operator|operation|function|method|call|layer|is|are|was|does|do|which))*"
        r" ?(?:not|isn't|aren't|doesn't|don't|n't|cannot|can't|unsupported|fails|failed|breaks|raises|crashes"
        r"|has no|(?:has|is) (?:an? )?(?:buggy|broken|missing|incomplete|incorrect))\b",
        r"(?:instead of|in ?place of|(?:calls|uses|has|needs|with) no\b"
        r"|replace(?:s|d|ment (?:for|of))?|replacing|rather than|without"
        r"|avoid(?:s|ing)?|remov(?:es?|ing)|alternative (?:to|for|of)|equivalent (?:to|of)|same as|mimics?"
        r"|re-?implement(?:s|ation of)?|rewrite(?:s| of)?|work-? ?a?rounds? (?:for|of)"
        r"|(?:version|implementation|variant|form) of|support(?:s|ing|ed)? for|not support|n't support|unsupported"
        r"|bug (?:in|of|with)|(?:issues?|problems?|trouble) with|export(?:s|ing)?(?: of)?|emulates?)"
        r" (?:(?:using|use of|the|a|an|calls? to|usage of|pytorch'?s?|built-?in|native|original|op|operator) )*"
        + _NAME,
    )
)
#: an operator that takes the place of another one, and one that is undone
_SWAPPED = re.compile(
    rf"\b(?:us(?:e|es|ed|ing)|prefer(?:s|red)?) {_NAME.replace('?P<code>', '').replace('?P<name>', '?P<used>')}"
    rf"(?: \w+){{0,3}} (?:instead of|in ?place of|rather than|over) {_NAME}",
    re.IGNORECASE,
)
_UNDONE = re.compile(
    rf"{_NAME}\S* in reverse|(?:inverse|reverse|opposite) (?:of|to) {_NAME.replace('?P<', '?P<of_')}", re.IGNORECASE
)
#: what only tells of what goes on
_TELLS = frozenset("print info debug warning warn log".split())
_CODE = re.compile(
    r"`+~?([\w.:]+)[^`]*`+|((?:torch|nn|F|np|aten|Tensor)[.:][\w.:]+)|(\.?[A-Za-z_]\w*)(?=\()|"
    r"(?:operator|op|operators|instead of|replacement (?:for|of)|replace|replaces|of using|use of|using)"
    r" (?:the |a |an )?[`'\"]?([A-Za-z_]\w*)"
)
#: what is written to a slice is copied there
_SLICES_ASSIGNED = re.compile(r"\b(?:strided )?slice[ -]assign\w*", re.IGNORECASE)
#: what authors call operators otherwise
_OTHER_NAMES = (
    (
        re.compile(r"\b(?:fused|flash|sdpa?)[ _-]?att(?:entio)?n|\bsdpa\b", re.IGNORECASE),
        operator_of("scaled_dot_product_attention"),
    ),
)
_PLAIN_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_QUOTED_COMMENT = re.compile(r"^\s*\\?#.*$", re.MULTILINE)
_COMMENT_LINE = re.compile(r"^\s*#")
#: an operator of torch by its path
_OF_TORCH = re.compile(r"^(torch(\.(Tensor|nn\.functional|functional|linalg|fft|special|ops\.\w+))?|F)\.\w+$")
#: lines behind a comment that it is about, at most
_BEHIND = 14
#: lines above a branch's first statement that may be its comment
_ABOVE = 5
#: names of functions, classes and decorators that put a function in the place of an operator
_REPLACING = re.compile(r"register_rewriter|PatchingSpec|(?<![a-z])patch|rewriter", re.IGNORECASE)


def _is_on_export(said: str) -> bool:
    """Whether a text has a word on an export; of one on compiling, tracing is none."""
    words = {word.lower() for word in _STRONG.findall(said)}
    if _COMPILING.search(said):
        words = {word for word in words if not word.startswith("trac")}
    return bool(words)


_TRACING = re.compile(r"\btrac(?:ing|ed|eable)\b", re.IGNORECASE)
_COMPILING = re.compile(r"torch[._]compile|\bcompil|dynamo|inductor|cuda ?graph|vmap", re.IGNORECASE)


class Told(StrEnum):
    """How the author says it."""

    COMMENT = "comment"
    DOCSTRING = "docstring"
    NAME = "name"
    GATE = "gate"
    PATCH = "patch"


@dataclass(frozen=True)
class ToldPlace:
    """Lines from ``first`` to ``last`` that are there for an export; ``line`` is where that is shown.

    ``named`` are the operators that the author names, ``avoided`` those of them of which it is said that they fail or
    are left out, ``blamed`` those in a sentence that tells of a failure, ``shown`` those in a branch's own names,
    ``said`` the author's text, ``instead`` the lines of the branch that is taken elsewhere, ``runtime`` another runtime
    than ONNX Runtime that it is for, ``asked`` whether a branch asks for an export (and not for scripting), ``refuses``
    whether that branch only raises.
    """

    line: int
    first: int
    last: int
    told: Told
    said: str
    named: frozenset[str] = frozenset()
    instead: tuple[int, int] | None = None
    runtime: str = ""
    quoted: tuple[str, ...] = ()
    avoided: frozenset[str] = frozenset()
    blamed: frozenset[str] = frozenset()
    shown: frozenset[str] = frozenset()
    asked: bool = False
    refuses: bool = False

    @property
    def is_about_onnx(self) -> bool:
        """Whether its author speaks of an export, and not of scripting or of a function of torch alone."""
        return self.told is Told.PATCH or _is_on_export(self.said) or self.asked

    def most_told(self, operators: frozenset[str]) -> str:
        """Of these operators the only one, or the one that its author names most often; empty where several are."""
        if len(operators) < 2:
            return next(iter(operators), "")
        counts = Counter(map(operator_of, _PLAIN_WORD.findall(self.said)))
        first, second = sorted(operators, key=lambda name: (-counts[name], name))[:2]
        return first if counts[first] > counts[second] else ""

    @property
    def words(self) -> frozenset[str]:
        """The words of what the author says."""
        return words_of(self.said)


def places(source: ParsedFile, known: Collection[str]) -> list[ToldPlace]:
    """Every such place of a file, by line. ``known`` are the operators that cases are about."""
    if not _may_speak("\n".join(source.lines)):
        return []
    found = list(_PlaceFinder(source, frozenset(known)).all())
    rules = [
        span([node]) for node in every_statement(source.tree) if isinstance(node, ast.FunctionDef) and _is_rule(node)
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


def _in_name(known: Collection[str], name: str) -> Iterator[str]:
    """The operators in a function's name, the longest first."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    parts: list[str] = [part for part in spaced.split("_") if part]
    for size in range(min(4, len(parts)), 0, -1):
        for start in range(len(parts) - size + 1):
            word = "_".join(parts[start : start + size])
            operator = operator_of(word)
            if operator in known and not {word, operator} & _ENGLISH:
                parts[start : start + size] = [""] * size
                yield operator


def names_around(tree: ast.AST, known: Collection[str]) -> Callable[[int], frozenset[str]]:
    """The operators that the names of the functions and classes around a line have, by line."""
    every = ((node, _made(node)) for node in every_statement(tree) if isinstance(node, ast.stmt))
    nodes = [(node, name) for node, name in every if name]

    def around(line: int) -> frozenset[str]:
        names = (name for node, name in nodes if node.lineno <= line <= (node.end_lineno or 0))
        return frozenset(operator for name in names for operator in _in_name(known, name))

    return around


def _made(node: ast.stmt) -> str:
    """The name of a function or class that a statement makes; empty for any other."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    is_lambda = isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda)
    return _last(node.targets[0]) if isinstance(node, ast.Assign) and is_lambda else ""


#: what edits files of ONNX, or only calls an exporter, imports no torch
_IMPORTS_TORCH = re.compile(r"^\s*(?:import torch|from torch|from \S+ import .*\btorch)", re.MULTILINE)

#: a node that a program writes into a graph of its own, and from how many on that is what its file does
_NODE_WRITTEN, _FEW_NODES = re.compile(r"\bop\.[A-Z]\w*\("), 5


def builds_graphs(text: str) -> bool:
    """Whether a file writes the nodes of ONNX graphs itself: what it says of an operator is about its own graph, and
    none of it is exported from torch.
    """
    return len(_NODE_WRITTEN.findall(text)) >= _FEW_NODES


def _is_rule(function: ast.FunctionDef) -> bool:
    """Whether it is an export rule, which writes nodes into the graph ``g``, or is registered as one."""
    made = {_last(item.func if isinstance(item, ast.Call) else item) for item in function.decorator_list}
    return bool(made & _RULES) or (bool(function.args.args) and function.args.args[0].arg == "g")


#: decorators of the exporter's own rules
_RULES = frozenset({"torch_op", "onnx_impl"})


@dataclass
class _PlaceFinder:
    source: ParsedFile
    known: frozenset[str]
    onnx: bool = False
    statements: list[ast.stmt] = field(default_factory=list)
    firsts: list[int] = field(default_factory=list)

    def all(self) -> Iterator[ToldPlace]:
        self.onnx = any("onnx" in line.lower() or "jit.trace" in line for line in self.source.lines)
        listed = (node for node in every_statement(self.source.tree) if isinstance(node, ast.stmt))
        self.statements = sorted(listed, key=lambda node: (_first_line(node), node.lineno))
        self.firsts = [_first_line(node) for node in self.statements]
        yield from self._comments()
        yield from self._blocks(self.source.tree, "")

    def _comments(self) -> Iterator[ToldPlace]:
        lines = self._without_texts()
        number = 0
        while number < len(lines):
            if not _COMMENT_LINE.match(lines[number]):
                said = _trailing(lines[number])
                if said and (_EXPORT.search(said) or backends.of_text(said)):
                    yield from self._commented(number + 1, number + 1, [said])
                number += 1
                continue
            end = number
            while end + 1 < len(lines) and _COMMENT_LINE.match(lines[end + 1]):
                end += 1
            block = [line.strip().lstrip("#").strip() for line in lines[number : end + 1]]
            following = _trailing(lines[end + 1]) if end + 1 < len(lines) else ""
            if _EXPORT.search(" ".join([*block, following])) or _blames_runtime(" ".join(block)):
                yield from self._commented(number + 1, end + 2, [*block, following])
            number = end + 1

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
        if not _COMPLAINT.search(said) and not backends.of_text(said):
            return
        node = self._statement_at(first, start)
        if node is None or _only_tells(node):
            return
        quoted = tuple(line.strip() for line in block if _is_code(line))
        last = node.end_lineno or node.lineno
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.If | ast.For | ast.With):
            last = self._end_of_paragraph(last)
        line = max(first, _first_line(node)) if isinstance(node, ast.FunctionDef | ast.ClassDef) else node.lineno
        if node.lineno < first <= last:
            line = first
        telling = _telling(said)
        if not self.onnx and not _is_on_export(_TRACING.sub("", said)) and not backends.of_text(said):
            return  # tracing of another kind: fx, torch.compile, a graph of its own
        named = self.named(telling, quoted)
        swapped = self._swapped(node)
        named |= swapped
        exchanged = swapped if swapped and _assigns_attribute(node) else set()
        yield ToldPlace(
            line, min(first, node.lineno), last, Told.COMMENT, said, named,
            quoted=quoted, runtime=backends.of_text(said), avoided=self.avoided(telling) | exchanged,
            blamed=self.blamed(filter(_STRONG.search, _SENTENCE.split(said))),
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

    def _blocks(self, node: ast.AST, inside: str) -> Iterator[ToldPlace]:
        """The places that the statements below a node show by themselves."""
        left: list[tuple[ast.AST, str]] = [(node, inside)]
        while left:
            parent, name = left.pop()
            for field_name in ("body", "orelse", "finalbody", "handlers", "cases"):
                block = getattr(parent, field_name, None)
                if not isinstance(block, list):
                    continue
                for number, child in enumerate(block):
                    within = getattr(child, "name", None) if isinstance(child, ast.FunctionDef) else name
                    yield from self._shown(child, block[number + 1 :], name or "")
                    left.append((child, within or ""))

    def _shown(self, node: ast.AST, rest: Sequence[ast.stmt], inside: str) -> Iterator[ToldPlace]:
        if isinstance(node, ast.FunctionDef):
            yield from self._function(node)
        elif isinstance(node, ast.ClassDef):
            yield from self._docstring(node)
        elif isinstance(node, ast.If):
            yield from self._gate(node, rest, inside)
        elif isinstance(node, ast.Assign):
            yield from self._assigned(node)
            yield from self._chosen(node)
        elif isinstance(node, ast.Return | ast.Expr):
            yield from self._chosen(node)

    def _function(self, node: ast.FunctionDef) -> Iterator[ToldPlace]:
        exports = bool(_EXPORTS.search(node.name))
        yield from () if exports else self._docstring(node)
        last = node.end_lineno or node.lineno
        for decorator in node.decorator_list:
            yield from self._replaced(decorator, node)
        if _NAMED_FOR_EXPORT.search(node.name) and not exports:
            named = set(_in_name(self.known, node.name))
            said = node.name.replace("_", " ")
            yield ToldPlace(
                node.lineno, node.lineno, last, Told.NAME, said, frozenset(named), runtime=backends.of_text(said),
                avoided=frozenset(named),
            )  # fmt: skip

    def _docstring(self, node: ast.FunctionDef | ast.ClassDef) -> Iterator[ToldPlace]:
        said = _QUOTED_COMMENT.sub("", ast.get_docstring(node) or "")
        telling = _at_fault(said)
        if telling:
            last = node.end_lineno or node.lineno
            named = self.named(said if len(said) < _SHORT else telling, ())
            body = node.body if isinstance(node, ast.ClassDef) else ()
            forward = [item for item in body if isinstance(item, ast.FunctionDef) and item.name == "forward"]
            line, said = forward[0].lineno if forward else node.lineno, f"{node.name} {telling}"
            runtime = backends.of_text(telling)
            yield ToldPlace(
                line, node.lineno, last, Told.DOCSTRING, said, named, runtime=runtime, avoided=self.avoided(telling)
            )
            yield from self._methods(body, telling)

    def _methods(self, body: Iterable[ast.stmt], telling: str) -> Iterator[ToldPlace]:
        """The methods of a class that is there for an export, each by what is said of itself."""
        for item in body:
            own = (ast.get_docstring(item) or "") if isinstance(item, ast.FunctionDef) else ""
            named = self.named(own, ())
            if named:
                last = item.end_lineno or item.lineno
                yield ToldPlace(item.lineno, item.lineno, last, Told.DOCSTRING, f"{own} {telling}", named)

    def _replaced(self, call: ast.expr, node: ast.FunctionDef) -> Iterator[ToldPlace]:
        """``@REWRITER.register_rewriter(func_name="torch.Tensor.expand", backend="ncnn")``."""
        if not isinstance(call, ast.Call) or not _REPLACING.search(_last(call.func)):
            return
        texts = [
            item.value for item in ast.walk(call) if isinstance(item, ast.Constant) and isinstance(item.value, str)
        ]
        runtime = backends.of_call(call)
        named = {operator_of(text) for text in texts} & self.known
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

    def _assigned(self, node: ast.Assign) -> Iterator[ToldPlace]:
        """``torch.tril = own``."""
        if len(node.targets) != 1 or not isinstance(node.targets[0], ast.Attribute):
            return
        path, own = dotted(node.targets[0]), getattr(node.value, "id", "")
        function = next(
            (item for item in self.statements if isinstance(item, ast.FunctionDef) and item.name == own), None
        )
        taken = bool(_OF_TORCH.match(path)) and operator_of(path) in self.known
        if function is not None and taken and self._speaks(function, node):
            last = function.end_lineno or function.lineno
            said = f"{path} {ast.get_docstring(function) or ''}"
            named = frozenset([operator_of(path)])
            yield ToldPlace(function.lineno, function.lineno, last, Told.PATCH, said, named, avoided=named)

    def _speaks(self, *nodes: ast.stmt) -> bool:
        """Whether these statements, or the lines right around them, have a word on an export."""
        spans = ((max(0, node.lineno - 4), (node.end_lineno or node.lineno) + 1) for node in nodes)
        return any(speaks_of_export(self.source.lines[first:last]) for first, last in spans)

    def _chosen(self, node: ast.Assign | ast.Return | ast.Expr) -> Iterator[ToldPlace]:
        """``a if is_in_onnx_export() else b`` somewhere in a statement."""
        if not any(" if " in line for line in self.source.lines[node.lineno - 1 : node.end_lineno]):
            return
        for item in ast.walk(node):
            if isinstance(item, ast.IfExp):
                way = exporting(item.test)
                runtime = backends.of_test(item.test)
                if way is not None or runtime:
                    there = item.body if way is False else item.orelse
                    last = node.end_lineno or node.lineno
                    yield ToldPlace(
                        node.lineno, node.lineno, last, Told.GATE, "", instead=(there.lineno, there.end_lineno or 0),
                        runtime=runtime, asked=asks_for_export(item.test),
                    )  # fmt: skip

    def _gate(self, node: ast.If, rest: Sequence[ast.stmt], inside: str) -> Iterator[ToldPlace]:
        way, runtime = exporting(node.test), backends.of_test(node.test)
        if way is None and not runtime:
            return
        other: Sequence[ast.stmt] = node.orelse or (rest if ends(node.body) else ())
        ours: Sequence[ast.stmt] = node.body
        if way is False:
            ours, other = [item for item in other if node.orelse or item.lineno - node.lineno < _BEHIND], ours
        runtime = runtime or backends.of_branch(ours)
        first = node.lineno
        here, instead = span(ours) if ours else None, span(other) if other else None
        last = max(node.end_lineno or node.lineno, *(end for _, end in filter(None, (here, instead))), 0)
        near = min(last, (here[1] if here else node.lineno) + _BEHIND)
        end = here[1] if here else node.lineno
        lines = enumerate(self.source.lines[node.lineno - 1 : near], node.lineno)
        # what is said in the branch that is taken elsewhere is about that one
        behind = span(node.body)[1] if way is False else first
        own = (line for number, line in lines if _STRONG.search(line) or number == first or behind < number <= end)
        comments = list(filter(None, map(_comment_of, own)))
        # the whole comments of the branch itself, of which only lines on an export are read otherwise
        block = " ".join(map(_comment_of, self.source.lines[here[0] - _ABOVE : here[1]])) if here else ""
        runtime = runtime or (backends.of_text(block) if _AT_FAULT.search(block) else "")
        said = " ".join([inside, *comments, *_messages(node)])
        shown, chosen = frozenset(_in_name(self.known, inside)), self._chosen_names(ours)
        yield ToldPlace(
            first, here[0] if here else first, here[1] if here else last, Told.GATE, said,
            self.named(said, ()) | shown | chosen, instead=instead, runtime=runtime, shown=shown,
            avoided=self.avoided(said) | chosen, blamed=self.blamed(_SENTENCE.split(said)),
            asked=asks_for_export(node.test), refuses=bool(ours) and isinstance(ours[0], ast.Raise),
        )  # fmt: skip

    def _chosen_names(self, block: Sequence[ast.stmt]) -> frozenset[str]:
        """The operators in names of a branch that are there for the export: ``self.max_unpool2d_for_onnx``."""
        names = (_last(item) for node in block for item in ast.walk(node) if isinstance(item, ast.Attribute | ast.Name))
        told = {name for name in names if _NAMED_FOR_EXPORT.search(name)}
        return frozenset(operator for name in told for operator in _in_name(self.known, name))

    def _swapped(self, node: ast.stmt) -> set[str]:
        """The operators of the modules that a statement looks for: ``isinstance(layer, nn.Hardswish)``."""
        calls = (item for item in ast.walk(node) if isinstance(item, ast.Call) and _last(item.func) == "isinstance")
        asked = (item for call in calls for item in ast.walk(call.args[-1]) if isinstance(item, ast.Attribute))
        return {operator_of(item.attr) for item in asked if dotted(item).startswith(("nn.", "torch.nn."))} & self.known

    def avoided(self, said: str) -> frozenset[str]:
        """The operators of which a text says that they fail, or that something takes their place."""
        said = _UNDONE.sub(" ", _without_equals(_SLICES_ASSIGNED.sub("`copy_`", said)))
        found = (match for pattern in _AVOIDED for match in pattern.finditer(said))
        told = {
            match["name"] for match in found if match["code"] != match["name"] or match["name"].lower() not in _ENGLISH
        }
        return frozenset(map(operator_of, told)) & self.known - _EVERYWHERE

    def blamed(self, sentences: Iterable[str]) -> frozenset[str]:
        """The operators in those of these sentences that tell of a failure."""
        return self.named(_without_equals(" ".join(filter(_HARD.search, sentences))), ())

    def named(self, said: str, quoted: Iterable[str]) -> frozenset[str]:
        """The operators that a text names: by a word that is no English, or written as code."""
        said = _UNDONE.sub(" ", _SLICES_ASSIGNED.sub("`copy_`", said))
        words = _PLAIN_WORD.findall(said)
        found = {operator_of(word) for word in words if word.lower() not in _ENGLISH}
        lower = [word.lower() for word in words]
        found |= {operator_of("_".join(lower[start : start + 2])) for start in range(len(lower) - 1)}
        found |= {operator_of("_".join(lower[start : start + 3])) for start in range(len(lower) - 2)}
        found |= {operator for sign, operator in _OTHER_NAMES if sign.search(said)}
        for groups in _CODE.findall(said):
            found |= {operator_of(word.strip(".")) for word in groups if word.strip(".")}
        for line in quoted:
            found |= {operator_of(_last(node.func)) for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Call)}
        return frozenset(found & self.known) - _EVERYWHERE


#: operators that say nothing when they are named
_EVERYWHERE = frozenset(
    "to int bool float size item append shape list forward trace add mul both if loop constant".split()
)
#: a comment or docstring of which all is about one thing
_SHORT = 400


def exporting(test: ast.expr) -> bool | None:
    """Whether a test is true while exporting; ``None`` where it does not ask that."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = exporting(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        return next((found for item in test.values for found in [exporting(item)] if found is not None), None)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _format_is_onnx(test)
    if isinstance(test, ast.Call):
        return exporting(test.func)
    if isinstance(test, ast.Name | ast.Attribute):
        return True if _GATE.search(_last(test)) else None
    return None


def asks_for_export(test: ast.expr) -> bool:
    """Whether a test asks for an export, and not for scripting or compiling alone."""
    return exporting(test) is not None and bool(_ASKS.search(ast.unparse(test)))


def _format_is_onnx(test: ast.Compare) -> bool | None:
    texts = [item.value for item in ast.walk(test) if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    if texts == ["onnx"] and isinstance(test.ops[0], ast.Eq):
        return True
    return None


def span(block: Sequence[ast.stmt]) -> tuple[int, int]:
    """The first and the last line of a block."""
    return block[0].lineno, max(node.end_lineno or node.lineno for node in block)


def ends(block: Sequence[ast.stmt]) -> bool:
    """Whether nothing behind a block is reached from it."""
    return isinstance(block[-1], ast.Return | ast.Raise | ast.Continue)


def is_scripted_for_values(function: ast.FunctionDef) -> bool:
    """Whether a function is scripted where it is traced, and has what a tracer bakes: a branch on values, or a
    calculation with sizes.
    """
    scripted = any(_last(decorator).endswith("script_if_tracing") for decorator in function.decorator_list)
    return scripted and (_branches_on_values(function) or _computes_with_sizes(function))


def _assigns_attribute(node: ast.stmt) -> bool:
    """Whether a statement puts a new object in the place of a part of another: ``layer.act = SiLU()``."""
    made = (item for item in ast.walk(node) if isinstance(item, ast.Assign) and isinstance(item.value, ast.Call))
    return any(isinstance(target, ast.Attribute) for item in made for target in item.targets)


def _computes_with_sizes(function: ast.FunctionDef) -> bool:
    """Whether a function calculates with the size of an axis: ``time % x.shape[2]``, ``y.size(1) - n``."""
    names = {
        target.id
        for item in ast.walk(function)
        if isinstance(item, ast.Assign) and _is_size(item.value)
        for target in item.targets
        if isinstance(target, ast.Name)
    }
    sums = (item for item in ast.walk(function) if isinstance(item, ast.BinOp | ast.Compare))
    parts = (part for item in sums for part in ast.walk(item))
    return any(_is_size(part) or (isinstance(part, ast.Name) and part.id in names) for part in parts)


def _is_size(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        return _last(node.value) == "shape"
    return isinstance(node, ast.Call) and _last(node.func) == "size" and bool(node.args)


def _branches_on_values(function: ast.FunctionDef) -> bool:
    """Whether a function has a branch on values that are computed."""
    tests = (item.test for item in ast.walk(function) if isinstance(item, ast.If | ast.While))
    calls = (item for test in tests for item in ast.walk(test) if isinstance(item, ast.Call))
    return any(_last(call.func) in ("any", "all", "max", "min", "sum", "item", "equal", "allclose") for call in calls)


def _messages(node: ast.AST) -> Iterator[str]:
    """The texts of what is asserted, raised or warned of in a branch."""
    for item in ast.walk(node):
        given = item.msg if isinstance(item, ast.Assert) else item.exc if isinstance(item, ast.Raise) else None
        if isinstance(item, ast.Call) and "warn" in _last(item.func):
            given = item
        texts = ast.walk(given) if given is not None else ()
        yield from (part.value for part in texts if isinstance(part, ast.Constant) and isinstance(part.value, str))


def speaks_of_export(lines: Iterable[str]) -> bool:
    """Whether any of these lines has a word on an export."""
    return any(_STRONG.search(line) for line in lines)


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(item.lineno for item in decorators)])


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _trailing(line: str) -> str:
    """The comment behind code; empty where the sign is within a text."""
    before, sign, said = line.partition("#")
    return said if sign and before.strip() and before.count('"') % 2 == 0 and before.count("'") % 2 == 0 else ""


def _comment_of(line: str) -> str:
    return line.strip().lstrip("#") if _COMMENT_LINE.match(line) else _trailing(line)


def _without_equals(said: str) -> str:
    """A text without the operators of which one takes the place of another that is the same to the scan: ``view`` for
    ``flatten``.
    """
    return _SWAPPED.sub(lambda seen: " " if operator_of(seen["used"]) == operator_of(seen["name"]) else seen[0], said)


def _blames_runtime(said: str) -> bool:
    """Whether a comment says that something fails in another runtime, or is there because of one."""
    return bool(_HARD.search(said) or _WORKAROUND.search(said)) and bool(backends.of_text(said))


def _only_tells(node: ast.stmt) -> bool:
    """Whether a statement only writes a message."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _last(node.value.func) in _TELLS


def _at_fault(said: str) -> str:
    """The sentences on an export that tell of something that fails, or of what takes its place."""
    return " ".join(filter(_tells_of_fault, _SENTENCE.split(said)))


def _tells_of_fault(part: str) -> bool:
    return bool(_EXPORT.search(part) and _AT_FAULT.search(part))


def _telling(said: str) -> str:
    """Of what an author says the sentences on an export, where they name anything; otherwise all of it."""
    sentences = re.split(r"(?<=[.!?;])\s+", said)
    telling = " ".join(sentence for sentence in sentences if _STRONG.search(sentence))
    return telling if _CODE.search(telling) else said


def _is_code(line: str) -> bool:
    """Whether a comment's line is code: an assignment or a call."""
    if "(" not in line or not line.rstrip().endswith((")", "]")):
        return False
    try:
        (node,) = ast.parse(line.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return isinstance(node, ast.Assign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
