"""The words in which authors speak of an export, and the operators that they name."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator

from caniexport.scan import backends
from caniexport.scan.normal import operator_of

#: words of an export in a comment
EXPORT = re.compile(
    r"(?:equivalent (?:of|to)|same as|instead of|replacement (?:of|for)|alternative to|mimics?) [`'\"]?(?:torch|nn|F)\."
    r"|\bexport(?:able|ing|ed)\b|(?:not|n't|can|cannot) (?:be )?export|export[- ](?:friendly|compat|mode)"
    r"|(?:for|during|when|in|model|to) export\b|\bexport (?:does|do|is|fails?|can|will|needs?|requires?)\b"
    r"|onnx|opset|torchscript|torch\.?jit|\bjit\b|torch\.export|\btrac(?:ing|ed|eable|er)\b|torch\.trace|jit\.trace",
    re.IGNORECASE,
)
#: what a comment on a workaround has
COMPLAINT = re.compile(
    r"support|instead|avoid|work-? ?a?round|cannot|can not|\bnot\b|n't|replac|rewrit|equivalent|compatib|friendly"
    r"|issue|\bbug|fail|error|custom|fix|hack|requir|needed|need to|problem|explicit|constant|convenience|\bfor onnx"
    r"|allow|enable|convert|correct|\bmatch|\bno\b|without|missing|recorded"
    r"|hard-?cod|trick|doesnt|prefer|differen|wrong|export",
    re.IGNORECASE,
)
#: what a sentence has that tells of something that fails, or of what takes its place
AT_FAULT = re.compile(
    r"\bnot\b|n't|cannot|\bno\b|support|instead|rather than|in ?place of|replac|re-?implement|rewrit"
    r"|equivalent|work-?\s?a?rounds?|avoid|\bfail|error|\bbug|limitation|compatib|friendly|without|alternative|mimic"
    r"|same as|\bhack|\btrick|\bissue|problem|broken|custom|explicit|prefer|differen|wrong|need|requir|\ballow"
    r"|\benabl|exportable",
    re.IGNORECASE,
)
#: of these what only something that fails has by itself: an operator that is named in the same sentence is at fault
HARD = re.compile(
    r"(?:not|n't) (?:\w+ ){0,2}(?:support|export|handle|compatib|implement|allow|work|possible|friendly|trace)"
    r"|(?:not|n't) (?:be )?(?:convert|us)ed|can ?not|can't|unsupported|incompatib"
    r"|to be supported|\bfails?\b|\bfailed|\berror|\bbugg?y?\b|\bbreaks?\b|broken|\bissues?\b|problematic|reject"
    r"|\bcrash|\bbakes?\b|\bmismatch|\bwrong (?:result|value|output)|to match (?:py)?torch"
    r"|\bno (?:onnx )?(?:lowering|symbolic|rule|support|equivalent)|\bunbacked\b|data-?dependent|graph ?break",
    re.IGNORECASE,
)
#: what names an exporter, and not only an export
_EXPORTER = re.compile(
    r"onnx|torch\.export|jit\.trace|export(?:ed|able)? (?:graph|program)|\btrac(?:ing|eable)\b",
    re.IGNORECASE,
)
#: what operators are called
_OPERATION = re.compile(r"\b(?:op|operator|operation|node)s?\b", re.IGNORECASE)
#: what compilers do not do, and what is wrong with what they make
_OF_COMPILERS = re.compile(
    r"support|convert|compil|\blower|export|trac(?:e|ing)|allow|accuracy|\bissue|\bbug|crash|unbacked|data-?dependent",
    re.IGNORECASE,
)
#: a word within a sentence that is written as a node of a graph is: ``Slice``
_NODE_NAME = re.compile(r"(?<=[a-z,-] )[A-Z][A-Za-z]+\b")
_WORKAROUND = re.compile(r"work-? ?a?rounds?\b", re.IGNORECASE)
SENTENCE = re.compile(r"(?<=[.!])\s|\n\s*\n")
STRONG = re.compile(
    r"onnx|opset|\bort\b|\btrac(?:ing|ed|eable)\b|\bexport(?:s|able|ing|ed)?\b|torch\.jit\.trace", re.IGNORECASE
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
        _NAME + r"(?: (?:op|operator|operation|function|method|call|layer|is|are|was|does|do|which|should|must|may))*"
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
#: words that are operators where they are said to fail
_FAILING = re.compile(
    r"\b(?P<name>unbind|un?squeeze|expand|chunk|softmax|nonzero|clamp|flip|roll|scatter|interpolate|quantile|tile|split"
    r"|masked_?fill|repeat|matmul|einsum)(?: (?:op|operator|operation|function))?"
    r" (?:breaks|fails|is not|isn't|is un|does not|doesn't|cannot|can't|not)\b",
    re.IGNORECASE,
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
_CODE = re.compile(
    r"`+~?([\w.:]+)[^`]*`+|((?:torch|nn|F|np|aten|Tensor)[.:][\w.:]+)|(\.?[A-Za-z_]\w*)(?=\()|"
    r"(?:operator|op|operators|instead of|replacement (?:for|of)|replace|replaces|of using|use of|using)"
    r" (?:the |a |an )?[`'\"]?([A-Za-z_]\w*)"
)
#: what is written to a slice is copied there
_SLICES_ASSIGNED = re.compile(r"\b(?:strided )?slice[ -]assign\w*", re.IGNORECASE)
#: what authors call operators otherwise
_OTHER_NAMES = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), operator_of(operator))
    for pattern, operator in (
        (r"\b(?:fused|flash|sdpa?)[ _-]?att(?:entio)?n|\bsdpa\b", "scaled_dot_product_attention"),
        (r"^(?!.*bicubic).*\banti-?alias", "_upsample_bilinear2d_aa"),
        (r"bicubic.*\banti-?alias|\banti-?alias.*bicubic", "_upsample_bicubic2d_aa"),
        (r"\btorch\.Generator\b", "rand"),
        (r"multi-?head ?att", "_native_multi_head_attention"),
        (r"\bautograd[. ]?functions?\b|custom autograd", "prim::PythonOp"),
        (r"\bin-?place (?:\w+ )?(?:with|of|by|to|on) (?:a )?slic", "copy_"),
        (r"\b(?:bool(?:ean)?|mask(?:ed)?) (?:mask )?(?:index(?:ing)?|assign\w*)", "index_put"),
    )
)
PLAIN_WORD = re.compile(r"[A-Za-z_]\w{2,}")
QUOTED_COMMENT = re.compile(r"^\s*\\?#.*$", re.MULTILINE)
TRACING = re.compile(r"\btrac(?:ing|ed|eable)\b", re.IGNORECASE)
_COMPILING = re.compile(r"torch[._]compile|\bcompil|dynamo|inductor|cuda ?graph|vmap", re.IGNORECASE)
#: operators that say nothing when they are named
_EVERYWHERE = frozenset(
    "to int bool float size item append shape list forward trace add mul both if loop constant".split()
)


def is_on_export(said: str) -> bool:
    """Whether a text has a word on an export; of one on compiling, tracing is none."""
    words = {word.lower() for word in STRONG.findall(said)}
    if _COMPILING.search(said):
        words = {word for word in words if not word.startswith("trac")}
    return bool(words)


def speaks_of_export(lines: Iterable[str]) -> bool:
    """Whether any of these lines has a word on an export."""
    return any(STRONG.search(line) for line in lines)


def blames_runtime(said: str) -> bool:
    """Whether a comment says that something fails in another runtime, or is there because of one."""
    return bool(HARD.search(said) or _WORKAROUND.search(said)) and bool(backends.of_text(said))


def names_exporter(said: str) -> bool:
    """Whether a text names an exporter, or that a graph is traced, and no export of any kind."""
    return bool(_EXPORTER.search(said)) and is_on_export(said)


def blames_operation(said: str) -> bool:
    """Whether any of a text's sentences says that an operation, whichever, fails."""
    return any(HARD.search(part) and _OPERATION.search(part) for part in SENTENCE.split(said))


def blames_compiler(said: str) -> bool:
    """Whether any of a text's sentences tells of a failure that is a compiler's, and not of what code cannot do."""
    return any(HARD.search(part) and _OF_COMPILERS.search(part) for part in SENTENCE.split(said))


def in_name(known: Collection[str], name: str) -> Iterator[str]:
    """The operators in a function's name, the longest first."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    parts: list[str] = [part for part in spaced.split("_") if part]
    for size in range(min(4, len(parts)), 0, -1):
        for start in range(len(parts) - size + 1):
            word = "_".join(parts[start : start + size])
            operator = operator_of(word)
            if operator in known and word not in _ENGLISH and (size > 1 or operator not in _ENGLISH):
                parts[start : start + size] = [""] * size
                yield operator


def avoided_in(known: frozenset[str], said: str) -> frozenset[str]:
    """The operators of which a text says that they fail, or that something takes their place."""
    said = _UNDONE.sub(" ", _without_equals(_SLICES_ASSIGNED.sub("`copy_`", said)))
    found = (match for pattern in _AVOIDED for match in pattern.finditer(said))
    told = {match["name"] for match in found if match["code"] != match["name"] or match["name"].lower() not in _ENGLISH}
    told |= {match["name"] for match in _FAILING.finditer(said)}
    return frozenset(map(operator_of, told)) & known - _EVERYWHERE


def blamed_in(known: frozenset[str], sentences: Iterable[str]) -> frozenset[str]:
    """The operators in those of these sentences that tell of a failure."""
    said = _without_equals(" ".join(filter(HARD.search, sentences)))
    return named_in(known, said, ()) | frozenset(map(operator_of, _NODE_NAME.findall(said))) & known - _EVERYWHERE


def named_in(known: frozenset[str], said: str, quoted: Iterable[str]) -> frozenset[str]:
    """The operators that a text names: by a word that is no English, or written as code."""
    said = _UNDONE.sub(" ", _SLICES_ASSIGNED.sub("`copy_`", said))
    words = PLAIN_WORD.findall(said)
    found = {operator_of(word) for word in words if word.lower() not in _ENGLISH}
    lower = [word.lower() for word in words]
    found |= {operator_of("_".join(lower[start : start + 2])) for start in range(len(lower) - 1)}
    found |= {operator_of("_".join(lower[start : start + 3])) for start in range(len(lower) - 2)}
    found |= {operator for sign, operator in _OTHER_NAMES if sign.search(said)}
    found |= {operator_of(match["name"]) for match in _FAILING.finditer(said)}
    for groups in _CODE.findall(said):
        found |= {operator_of(word.strip(".")) for word in groups if word.strip(".")}
    for line in quoted:
        found |= {operator_of(last_name(node.func)) for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Call)}
    return frozenset(found & known) - _EVERYWHERE


def _without_equals(said: str) -> str:
    """A text without the operators of which one takes the place of another that is the same to the scan: ``view`` for
    ``flatten``.
    """
    return _SWAPPED.sub(lambda seen: " " if operator_of(seen["used"]) == operator_of(seen["name"]) else seen[0], said)


def at_fault(said: str) -> str:
    """The sentences on an export that tell of something that fails, or of what takes its place."""
    return " ".join(filter(_tells_of_fault, SENTENCE.split(said)))


def _tells_of_fault(part: str) -> bool:
    return bool(EXPORT.search(part) and AT_FAULT.search(part))


def telling_part(said: str) -> str:
    """Of what an author says the sentences on an export, where they name anything; otherwise all of it."""
    sentences = re.split(r"(?<=[.!?;])\s+", said)
    telling = " ".join(sentence for sentence in sentences if STRONG.search(sentence))
    return telling if _CODE.search(telling) else said


def is_code(line: str) -> bool:
    """Whether a comment's line is code: an assignment or a call."""
    if "(" not in line or not line.rstrip().endswith((")", "]")):
        return False
    try:
        (node,) = ast.parse(line.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return isinstance(node, ast.Assign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))


def last_name(node: ast.AST) -> str:
    """``c`` of ``a.b.c``; empty for what is no name."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
