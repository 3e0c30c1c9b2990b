"""Reads an error text: the reasons in it, the operators that they name, its words.

A text is read as people paste it: one line, a whole traceback, a wrapped report with its summary, a runtime's log.
Frames, dumped graphs and advice («Next steps») are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from caniexport import home
from caniexport.model.messages import make_signature
from caniexport.operators import is_dtype, operator_key, operator_keys

#: characters that are read of a text, at its begin and at its end
LONGEST = 20_000
#: characters that are read of a reason
_REASON = 1500
_MOST_REASONS = 12

_KIND = (
    r"(?:\w*(?:Error|Exception|Fail(?:ure)?|Warning|InvalidArgument|InvalidGraph|NotImplemented|RuntimeErrorWithDiagnostic"
    r"|GuardOnDataDependentSymNode|PendingUnbackedSymbolNotFound|DataDependentOutputException|Parser(?:Unsupported|Refused)"
    r"|ConstraintViolation|BuilderRefused|NoSuchFile|EPFail|exc\.Unsupported))"
)
#: where an exception's words begin, also where pasting made one line of a whole traceback
_RAISED = re.compile(
    rf"(?:^|(?<=[\s⬆⬇️>│|'\"(]))(?<!Type )(?:E\s+)?"
    rf"(?:<class '(?:[\w.]+\.)?(?P<quoted>\w+)'>|(?:[\w]+\.)*(?P<plain>{_KIND}))"
    r"(?::[ \t]|:(?=[A-Z])|:?\n|$|: )",
    re.MULTILINE,
)
_RUNTIME = re.compile(r"\[ONNXRuntimeError\] : [\dN]+ : \w+ : (?:Load model from [^\n]{1,200}? failed: ?)?")
#: an exception that only wraps another one
_WRAPPERS = re.compile(
    r"Failed to (?:convert the exported program|export the model (?:with|to)|decompose the FX graph|run the exported)"
    r"|Error when translating node|Generating SARIF report|This is step \d/\d|Translation errors:"
    r"|Exporting model (?:exist|exit) |An error occurred while|backend='\w+' raised"
    r"|Failed to translate node|^Error (?:when calling function|calling operator|constructing node)"
)
_FRAME = re.compile(
    r'^[ \t]*(?:File "[^"\n]*", line \d+.*|\S+\.(?:py|cpp|cc|h)\(\d+\): .*|frame #\d+: .*|#\d+ +0x.*|\^+|~+\^*~*)'
    r"[ \t]*$",
    re.MULTILINE,
)
_GRAPH = re.compile(r"^[ \t*>]*(?:graph\(|%[^\s,:]+ : |return \(|block\d+\(|-> \(|\}).*\n?", re.MULTILINE)
#: what a value's node takes and gives
_NODE_DUMP = re.compile(r"^[ \t]*Inputs:\s*\n\s*#0: .*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
_CAUSED_BY = re.compile(
    r"\s*\[Caused by the value .*?(?:TorchScript graph\.|$)(?: The containing node has kind '[^']*'\.\])?", re.DOTALL
)
#: nodes that only hold the one that failed
_OUTER_NODE = re.compile(
    r"Non-zero status code returned while running \w+ node\. Name:'[^']*' Status Message: (?=Non-zero status code)"
)
#: advice in a text
_ADVICE = re.compile(
    r"Next steps:.*?(?=## Exception summary|<class '|\ncaused by |\Z)"
    r"|Please feel free to request support or submit a pull request[^\n]*"
    r"|Support for this operator was added in version [^\n]*"
    r"|Please open a bug to request ONNX export support[^\n]*"
    r"|The error above occurred when calling torch\.export\.export\..*?(?=\(Refer|\Z)"
    r"|\(Refer to the full stack trace above for more information\.\)"
    r"|For (?:more information|extended logs|C\+\+ stack trace|more debugging help)[^\n]*"
    r"|If you suspect the guard was triggered from C\+\+[^\n]*"
    r"|Constant folding (?:-|not)[^\n]*"
    r"|Set TORCH_LOGS[^\n]*|You can suppress this exception[^\n]*|See the stack trace for more information\.",
    re.DOTALL,
)
#: a line of a log about an error
_WRONG = re.compile(
    r"error|fail|unsupported|cannot|could not|invalid|assert|exception|not (?:a|in|sup|imp|reg)", re.IGNORECASE
)
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
#: a line that was broken for its length, and quotes as a text processor sets them
_BROKEN_LINE = re.compile(r"\\\n\s*")
_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d`", "''\"\"'")
_TRACE_END = "During handling of the above exception"
_DIRECT = "The above exception was the direct cause"
#: words between one exception and the next
_TIES = (_DIRECT, "During handling of the above", "\ncaused by", "⬆", "Traceback (most recent call last)")
#: the function of a frame in torch's symbolic files, which is called as its operator is
_SYMBOLIC = re.compile(
    r"(?:symbolic_(?:opset\d+|helper|caffe2)|onnx[/\\]symbolic)\."
    r'(?:py(?:", line \d+,? in |\(\d+\): )|(?!py\b))(?P<op>\w+)'
)
#: the errors of the TorchScript exporter for an operator without a symbolic, also by the name of ONNX's operator
_OF_EXPORTER = re.compile(r"ONNX export of (?:operator )?\w|ONNX export failed on \w|\w'? to ONNX opset version \d")
_QUOTE = "'\""
_NAMESPACED = re.compile(r"(?P<namespace>aten|prims?|torchvision)_(?P<name>\w+)$")
_HELPERS = ("_", "get_", "check_", "is_", "args_")

#: sentences that name the failing operator, the most reliable first
_SENTENCES = tuple(
    re.compile(text, re.DOTALL | re.ASCII)
    for text in (
        r"OpOverload(?:Packet)?\(op='(?P<op>[\w.]+)'",
        r"\b(?P<op>(?!support\b)\w+(?:::\w+)?)'? (?:support )?to ONNX opset version",
        r"(?:ONNX export failed on|with unrecognized namespace) (?:ATen operator |RNN/GRU/)?"
        r"(?P<op>(?!an )\w+(?:(?:::|\.)\w+)*)",
        r"ONNX export of (?:operator )?'?(?:(?:torch|nn|functional|F)\.)*(?P<op>(?:\w+::)?\w+)",
        r"Couldn't export (?:Python )?operator (?P<op>[\w:]+)",
        r"when tracing in-place operator (?P<op>\w+)",
        r"(?:No ONNX function found for|call_function target:) <(?:built-in )?function (?P<op>\w+)",
        r"\b(?P<op>[a-z]\w*)\(\): (?:argument '|Expected )",
        r"\bAdapter (?:(?:To|From|For Current) Version \$\d+ )?[Ff]or (?P<op>(?!Current )[A-Z]\w+)",
        r"\b(?P<op>[a-z]\w*?)(?:_vml|_impl|_kernel|_out|_frame|_cpu|_cuda)*_?[\"']? not implemented for '",
        r"in method wrapper_+(?:[A-Z]+_+)?(?P<op>[a-z]\w*?)\)",
        r"(?:Fatal error: )?(?P<op>[\w.]+:\w+)\(-?\d*\) is not a registered",
        r"\b(?P<op>_?[A-Za-z]\w+) is not a registered function/op",
        r"[Oo]ccurred when translating (?P<op>\w+)",
        r"Could not find an implementation for (?:the node )?(?:[^\s:(]*:)?(?P<op>[A-Z]\w*)\s?\(\d+\)",
        r"(?:while running|executing) (?P<op>[A-Z]\w+) node",
        r"\b(?:Op|OpType|Optype|op_type)\b:? ?\(?\"?(?P<op>[A-Z]\w+)\)?",
        r"No (?:Op|[Ss]chema) registered for '?(?P<op>\w+)",
        r"\b(?P<op>aten(?:::|\.)\w+)",
        r"\b(?P<op>(?:prims|torchvision|onnx|prim|quantized|higher_order|_caffe2)::(?!\w*_\d+\b)\w+)",
        r"\b_?(?P<op>aten_[a-z]\w+?)(?:_(?:onnx|scalar|tensor|dim|complex|bool|int))*\b(?!\s*=[^=]|\.\w+\s*=[^=])",
    )
)
#: what stands around the name of an operator of ONNX that is a word of a sentence, too
_ONNX_NAMED = re.compile(
    r"\b(?:[Ll]ayers?|[Nn]odes?): (?P<kind>[A-Z][A-Za-z0-9]*)_"
    r"|(?:[\[('\"/]|(?<!prim)::|parse|import|\b(?:ONNX|onnx)[ .]|\bI[A-Z]\w*Layer "
    r"|\b(?:[Oo]ps?|[Oo]perators?|[Oo]perations?|[Nn]odes?|[Ll]ayers?|[Kk]ernels?(?: for)?|type):? )"
    r"(?P<op>(?!I[A-Z]\w*Layer)[A-Z]\w*?)(?:_\d+|Base)?\b(?!-| folding)"
    r"|\b(?P<before>[A-Z]\w*?)(?:_\d+)?(?= (?:[Nn]odes?|[Ll]ayers?|ops?|operators?|kernels?|not|is not) ?\b)"
    r"|\b(?P<alone>(?:[A-Z][a-z]+){2,}[A-Z]*|[A-Z]+[a-z]*[A-Z]\w*?)(?:_\d+)?\b",
    re.ASCII,
)
_NO_OPERATOR = frozenset("onnx onnxruntime model node graph torch the operator op type none version of for "
                         "loop_body default prim::constant prim::param prim::return assertion "
                         "modelproto graphproto nodeproto tensor this plugin fallbackpluginimporter "
                         "exporting converter inputs shuffle elementwise".split())  # fmt: skip
_INPUT = re.compile(r"input: \S+")
_TOKEN = re.compile(r"[A-Za-z_][\w:.]*\w")
#: the name of a node, which each file has its own
_NODE_NAME = re.compile(
    r"(?<=\bnode )\([^()]{0,200}\)|(?<=\bname:)'[^']*'|(?<=\bname: )'[^']*'"
    r"|(?<=\bnode name: )[^\s):,]+|(?<=\bin node:)[^\s:]+(?: operator [^\s:]*)?|(?<=\bin node, \()\"[^\"]*\"",
    re.IGNORECASE,
)
#: the owner of a method in an error of Python about a call
_OWNER = re.compile(r"\b(?:[A-Za-z_]\w*\.)+(?=\w+\(\) (?:missing|takes|got) )")
#: a node with what it takes and gives
_NODE = re.compile(r"\bIn Node, \(.*\) ?,")
#: the name of what a node is given
_VALUE_NAME = re.compile(r"(?<=\binput parameter )(?:\([^()]{0,200}\)|\[…\])")
#: what differs between equal failures and is in a signature
_DIFFERING = (
    (_RUNTIME, ""),
    (_OWNER, ""),
    (_NODE, "In Node, …"),
    (_NODE_NAME, "…"),
    (_VALUE_NAME, "…"),
    (_INPUT, "input: …"),
)
#: what is left out of a text, and what stands for it
_LEFT_OUT = ((_OUTER_NODE, ""), (_ADVICE, "\n"), (_NODE_DUMP, "\n"), (_CAUSED_BY, " "), (_FRAME, "\n"), (_GRAPH, "\n"))
#: where no sentence names an operator: a function of torch, and any word, the number of a node left out
_OF_TORCH = re.compile(
    r"\b(?:torch|nn|F|functional|[Tt]ensor)\.(?!(?:onnx|jit|export|fx|_dynamo)\b)(?:\w+\.)*(?!Size\b)(\w+)"
)
_WORD = re.compile(r"\b_?[A-Za-z]\w{2,}?(?=(?:_output)?(?:_\d+)?\b)")
#: operators that are words of a sentence, too: only what names a function of torch names them
_PLAIN_WORDS = frozenset(
    "abs add all and any append bool cast cat clone compress constant copy data detach empty equal exp expand fill "
    "flat flip float floor full gather identity index int item less linear list log loop max mean min mode mul neg "
    "norm not one ones optional pad pop prod range real repeat resize round scan select shape sign size slice sort "
    "split squeeze sub sum tensor to trace unique var view where zero zeros".split()
)


@dataclass(frozen=True)
class Reason:
    """One exception of a text: its type's name, and its words without graphs, frames and advice."""

    kind: str
    text: str

    @property
    def is_warning(self) -> bool:
        """Whether it is a warning."""
        return self.kind.endswith("Warning")

    @cached_property
    def line(self) -> str:
        """The first line of the words."""
        return next((line.strip() for line in self.text.splitlines() if line.strip()), "")

    @cached_property
    def bare_line(self) -> str:
        """The first line without the names of nodes and values."""
        return _strip_names(self.line)

    @cached_property
    def pattern(self) -> str:
        """The first line as :func:`make_pattern` has it."""
        return make_pattern(self.line)


@dataclass(frozen=True)
class ErrorEvidence:
    """The evidence in an error text. ``reasons`` has the innermost cause first; ``operators`` are those that the text
    names, the one that fails first, as they are written.
    """

    reasons: tuple[Reason, ...]
    operators: tuple[str, ...]

    @property
    def operator(self) -> str:
        """The operator that fails; empty where the text names none."""
        return self.operators[0] if self.operators else ""

    @property
    def is_of_exporter(self) -> bool:
        """Whether an exporter gave the error of an operator; one of ONNX has one error for several causes."""
        return "::" in self.operator or any(_OF_EXPORTER.search(reason.line) for reason in self.reasons)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the first lines of all reasons, in lower case."""
        return split_words("\n".join(f"{reason.kind} {reason.line}" for reason in self.reasons))


@lru_cache(maxsize=1 << 15)
def make_pattern(line: str) -> str:
    """Return a line without names, numbers, shapes and advice: the same for all failures of one kind.

    The line of a row's signature and of an error text have the same pattern.
    """
    line = make_signature("", "", _strip_names(line)).split("|", 2)[-1].rstrip(". ")
    found = (match for sentence in _SENTENCES if (match := sentence.search(line)))
    named = next((match for match in found if not match["op"].startswith(_HELPERS[1:])), None)
    if named is None:
        return line
    return f"{line[: named.start('op')].rstrip(_QUOTE)}'…'{line[named.end('op') :].lstrip(_QUOTE)}"


def _strip_names(line: str) -> str:
    """Return a line without advice and the names of nodes and values, which each file has its own."""
    line = _ADVICE.sub("", line)
    for pattern, instead in _DIFFERING:
        line = pattern.sub(instead, line)
    return line.rstrip(". ")


def split_words(text: str) -> frozenset[str]:
    """Return the words of a text, in lower case: a function or type is one word."""
    return frozenset(token.casefold() for token in _TOKEN.findall(text))


def read_error(text: str) -> ErrorEvidence:
    """Read an error text as it was pasted; an empty one gives no evidence."""
    whole = _clean_text(text)
    cleaned = whole
    for pattern, instead in _LEFT_OUT:
        cleaned = pattern.sub(instead, cleaned)
    reasons = _split_reasons(cleaned)
    telling = [reason for reason in reasons if not _WRAPPERS.search(reason.line)] or reasons
    return ErrorEvidence(tuple(telling), tuple(_find_operators(whole, cleaned, telling, reasons)))


def read_names(text: str, known: frozenset[str]) -> tuple[str, ...]:
    """Return the names in a text whose operator keys are ``known``: functions of torch, names of code, other words."""
    plain = _clean_text(text)
    words = (word for word in _WORD.findall(plain) if word.casefold() not in _PLAIN_WORDS and not is_dtype(word))
    of_code = sorted(words, key=lambda word: not ("_" in word or any(map(str.isupper, word[1:]))))
    every = (*_OF_TORCH.findall(plain), *of_code)
    return tuple(_group_by_key(spell_operator(name) for name in every if operator_key(name) in known).values())


def _clean_text(text: str) -> str:
    """Return a text without colors and typeset quotes; of a very long one its begin and end."""
    text = _BROKEN_LINE.sub("", _ANSI.sub("", text)).translate(_QUOTES)
    return text if len(text) <= 2 * LONGEST else f"{text[:LONGEST]}\n{text[-LONGEST:]}"


def _split_reasons(text: str) -> list[Reason]:
    """Return all exceptions of a text, the innermost first; the whole text where it names no exception."""
    marks = list(_RAISED.finditer(text))
    found = []
    for mark, end in zip(marks, [*(mark.start() for mark in marks[1:]), len(text)], strict=bool(marks)):
        words = text[mark.end() : end].strip()[:_REASON]
        found.append(Reason(mark["quoted"] or mark["plain"] or "", _trim(words)))
    found = list(dict.fromkeys(reason for reason in found if reason.text))
    if not found and text.strip():
        lines = [line.strip() for line in text.splitlines()]
        found = [Reason("", ("\n".join(line for line in lines if _WRONG.search(line)) or text.strip())[:_REASON])]
    # a kept text has its outermost exception first; Python's traceback and torch's summary have it last
    if "\ncaused by " in text or (_TRACE_END in text and _DIRECT not in text):
        found = found[::-1]
    # errors before warnings
    return sorted(found, key=lambda reason: reason.is_warning)[:_MOST_REASONS]


def _trim(words: str) -> str:
    """Return words without the connection to the next exception."""
    for tie in _TIES:
        words = words.split(tie)[0]
    runtime = _RUNTIME.search(words)
    return (words[runtime.start() :] if runtime else words).strip().strip("│|").strip()


def _find_operators(whole: str, cleaned: str, telling: Sequence[Reason], reasons: Iterable[Reason]) -> list[str]:
    """Return the named operators, those of the innermost reasons first, then those whose symbolic raised."""
    found = [op for reason in telling for op in _find_named(f"{reason.kind}: {reason.text}")]
    frames = [match["op"] for match in _SYMBOLIC.finditer(whole)]
    found += [op for op in reversed(frames) if not op.startswith(_HELPERS)]
    found += [op for reason in reasons if reason not in telling for op in _find_named(f"{reason.kind}: {reason.text}")]
    by_key = _group_by_key(found) or _group_by_key(_find_named(cleaned)) or _group_by_key(_find_onnx_named(cleaned))
    return list(by_key.values())


def _group_by_key(found: Iterable[str]) -> dict[str, str]:
    """Return the operators among the names, each once, by its key."""
    by_key: dict[str, str] = {}
    for op in found:
        key = operator_key(op)
        if key and key not in _NO_OPERATOR:
            by_key.setdefault(key, op)
    return by_key


def _find_named(text: str) -> Iterator[str]:
    every = (match["op"] for sentence in _SENTENCES for match in sentence.finditer(text))
    return (spell_operator(op) for op in every if not op.startswith(_HELPERS[1:]))


def _find_onnx_named(text: str) -> Iterator[str]:
    """Yield operators of ONNX and other programs by their own names, where no sentence names one."""
    found = (match["kind"] or match["op"] or match["before"] or match["alone"] for match in _ONNX_NAMED.finditer(text))
    return (op for op in found if op in read_onnx_operators())


@lru_cache(maxsize=1)
def read_onnx_operators() -> frozenset[str]:
    """Return the operators of ONNX, and the layers of other programs, by name (``cases/onnx_operators.txt``)."""
    lines = home.packaged_list("onnx_operators.txt").splitlines()
    return frozenset(name for line in lines if not line.startswith("#") for name in line.split())


@lru_cache(maxsize=1)
def read_torch_operators() -> frozenset[str]:
    """Return the keys of all operators of torch (``cases/torch_operators.txt``)."""
    lines = home.packaged_list("torch_operators.txt").splitlines()
    return operator_keys(line for line in lines if not line.startswith("#"))


@lru_cache(maxsize=1)
def list_operator_keys() -> frozenset[str]:
    """Return the keys of all operators of torch and ONNX."""
    return read_torch_operators() | operator_keys(read_onnx_operators())


def spell_operator(op: str) -> str:
    """Return torch's operators as ``aten::cross``, ONNX's as they are."""
    if "::" in op:
        namespace, _, name = op.partition("::")
        return f"{namespace or 'aten'}::{name}"
    if ":" in op:
        return op.rpartition(":")[2] if op.startswith("ai.onnx") else op.replace(":", "::")
    if "." in op:
        namespace, *names = op.split(".")
        return f"{namespace}::{names[0]}"
    namespaced = _NAMESPACED.match(op)
    if namespaced:
        return f"{namespaced['namespace']}::{namespaced['name']}"
    return op if op[:1].isupper() else f"aten::{op}"
