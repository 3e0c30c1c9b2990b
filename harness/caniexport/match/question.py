"""A question in words, taken apart: the setting that it names, what it asks for, and the words that are left.

Nothing of a dataset is known here. ``pages/site/match.js`` reads a question alike, with the expressions below.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from caniexport import versions
from caniexport.match.mentions import ENGLISH, every_operator
from caniexport.match.spelled_code import spell_code
from caniexport.operators import DTYPE_WORDS, operator_key

#: what a question may ask for
Intention = Literal["", "upgrade", "workarounds", "matrix", "alerts"]

_NAME = r"(?<![\w.:/-])"
_VERSION = r"\d{1,2}\.\d{1,3}(?:\.\d{1,3})?(?:\.?(?:dev|rc)\d+)?(?:\+\w+)?"
_END = r"(?![\w-]|\.\w)"
_SIGN = r"[\s=:<>~v-]*"
_TORCH = rf"(?:{_NAME}(?:py)?torch(?:\s+(?:version|release))?{_SIGN}|{_NAME}v?(?=[1-9]))"
#: packages beside torch, whose versions are not torch's
_OTHER = re.compile(
    rf"{_NAME}(?:onnx-?_?script|onnx-?_?ir|onnx|numpy|protobuf|python|py|torch-?_?vision|torch-?_?audio|transformers"
    rf"|lightning|cuda|cudnn|rocm|ir(?:\s+version)?)(?:\s+version)?{_SIGN}(?:{_VERSION}|\d{{1,2}}){_END}",
    re.IGNORECASE,
)
_RUNTIME = re.compile(
    rf"{_NAME}(?P<name>onnx\s?runtime|ort|openvino|tensorrt-rtx|tensorrt|tract)(?:-gpu)?(?:\s+version)?{_SIGN}"
    rf"(?P<version>\d{{1,4}}\.\d{{1,3}}(?:\.\d{{1,3}})?){_END}",
    re.IGNORECASE,
)
#: a runtime without a release, of those that ran files by themselves
_RUNTIME_ALONE = re.compile(rf"{_NAME}(?P<name>openvino|tensorrt-rtx|tract){_END}", re.IGNORECASE)
_OPSET = re.compile(
    r"(?<![\w-])(?:onnx\s+)?(?:target[_ ])?opset(?:[_ ]?versions?|s)?\s*[=:]*\s*(?P<least>>=)?\s*(?P<low>\d{1,2})"
    r"(?:\s*(?:\.\.\.?|-|\u2013|to)\s*(?:opset\s*)?(?P<high>\d{1,2}))?(?![\w-]|\.\w)",
    re.IGNORECASE,
)
#: an opset that is only a number, behind a release: «on 2.8 at 18»
_BARE_OPSET = re.compile(
    r"(?<![\w-])at\s+(?P<low>[7-9]|[12]\d)(?=\s*(?:$|[?!,;)]|\.(?!\d)|(?:with|by|using|and|for)\b))", re.IGNORECASE
)
#: an exporter that is not meant, with those that are left
_ALL_BUT = (
    r"(?:everything|anything|all|every\s+exporter)\s+(?:but|besides|except(?:\s+for)?|excluding|apart\s+from)\s+"
    r"(?:the\s+)?"
)
_NO = (
    r"(?:without|w/o|not(?:\s+(?:using|with|by|via|on|under|through|for))?|no|except(?:\s+for)?|but\s+not|other\s+than"
    r"|away\s+from|instead\s+of|rather\s+than|never)\s+(?:using\s+|by\s+|with\s+)?(?:the\s+)?"
)
#: «no TorchScript rule» leaves no exporter out
_IS_NO_RULE = r"(?![-\w]|\.\w|\s+(?:rule|support|symbolic|function))"
_NO_DYNAMO = re.compile(
    rf"{_NAME}(?:{_NO}(?:torch)?dynamo(?:\s+exporter)?{_IS_NO_RULE}|{_ALL_BUT}(?:torch)?dynamo{_END}"
    rf"|(?:torch)?dynamo(?:\s+exporter)?\s+(?:is\s+)?(?:turned\s+|switched\s+)?(?:off|disabled)\b)",
    re.IGNORECASE,
)
_NO_TORCHSCRIPT = re.compile(
    rf"{_NAME}(?:{_NO}(?:torch\s?script|(?:legacy|old)\s+exporter|(?:torch\.)?jit\.(?:trace|script)){_IS_NO_RULE}"
    rf"|{_ALL_BUT}torch\s?script{_END})",
    re.IGNORECASE,
)
_NO_TRACE = re.compile(
    rf"{_NAME}(?:{_NO}trac(?:e|ed|ing){_IS_NO_RULE}|{_ALL_BUT}trac(?:e|ed|ing){_END})", re.IGNORECASE
)
_NO_SCRIPT = re.compile(
    rf"{_NAME}(?:{_NO}script(?:ed|ing)?{_IS_NO_RULE}|{_ALL_BUT}script(?:ed|ing)?{_END})", re.IGNORECASE
)
_DYNAMO = re.compile(
    rf"{_NAME}(?:dynamo\s*[=:]\s*true|dynamo_export|torch\.export|(?:torch)?dynamo|new(?:er)?\s+exporter){_END}",
    re.IGNORECASE,
)
_BY_DEFAULT = re.compile(rf"{_NAME}(?:the\s+)?default\s+(?:exporter|export(?!\s+call)|call){_END}", re.IGNORECASE)
_SWITCH = re.compile(rf"{_NAME}dynamo\s*[=:]\s*(?:true|false){_END}", re.IGNORECASE)
_TRACE = re.compile(
    rf"{_NAME}(?:dynamo\s*[=:]\s*false|torchscript-trace|(?:torch\.)?jit\.trace|trac(?:e|ed|ing)){_END}", re.IGNORECASE
)
_SCRIPT = re.compile(rf"{_NAME}(?:torchscript-script|(?:torch\.)?jit\.script|script(?:ed|ing)?){_END}", re.IGNORECASE)
_TORCHSCRIPT = re.compile(rf"{_NAME}(?:torch\s?script|(?:legacy|old)\s+exporter|legacy){_END}", re.IGNORECASE)
#: from one release to another, each of which may be named as torch's
_MOVE = re.compile(
    rf"{_TORCH}(?P<low>{_VERSION})\s*(?:to|->|\u2192|=>|into|until|towards)\s*{_TORCH}(?P<high>{_VERSION}){_END}",
    re.IGNORECASE,
)
_RANGE = re.compile(
    rf"{_TORCH}(?P<low>{_VERSION})\s*(?:\.\.\.?|\u2026|\u2013|-)\s*{_TORCH}?(?P<high>{_VERSION}){_END}", re.IGNORECASE
)
_TO_NEWEST = re.compile(
    rf"{_TORCH}(?P<one>{_VERSION})\s*(?:to|->|\u2192|=>)\s*(?:the\s+)?(?:newest|latest){_END}", re.IGNORECASE
)
#: the releases before one, and after one
_BEFORE = re.compile(
    rf"{_NAME}(?:before|below|prior\s+to|older\s+than|earlier\s+than)\s+{_TORCH}(?P<one>{_VERSION}){_END}"
    rf"|{_NAME}(?:py)?torch\s*<(?!=)\s*(?P<two>{_VERSION}){_END}",
    re.IGNORECASE,
)
_AFTER = re.compile(
    rf"{_NAME}(?:after|above|newer\s+than|later\s+than)\s+{_TORCH}(?P<one>{_VERSION}){_END}", re.IGNORECASE
)
_FROM = re.compile(rf"{_NAME}(?:from|have|currently\s+on)\s+{_TORCH}(?P<one>{_VERSION}){_END}", re.IGNORECASE)
_TO = re.compile(
    rf"{_NAME}(?:(?:mov|upgrad|updat|migrat|downgrad|switch)(?:e|es|ing)?|go|going|bump)\s+(?:to|onto)\s+{_TORCH}"
    rf"(?P<one>{_VERSION}){_END}",
    re.IGNORECASE,
)
_NAMED_RELEASE = re.compile(
    rf"{_NAME}(?:py)?torch(?:\s+(?:version|release))?{_SIGN}(?P<one>{_VERSION}){_END}", re.IGNORECASE
)
_BARE_RELEASE = re.compile(
    rf"{_NAME}(?<!=)v?(?P<one>[1-9]\.\d{{1,2}}(?:\.\d{{1,2}})?(?:\+\w+)?){_END}(?!\s*(?:[GMK]i?B|%|m?s|seconds|x)\b)",
    re.IGNORECASE,
)
_UPGRADE = re.compile(
    rf"{_NAME}(?:(?:upgrad|downgrad|migrat)(?:e|es|ed|ing)?|updat(?:e|es|ed|ing)(?=\s+(?:to|from|my|our|the|(?:py)?torch|v?\d))"
    rf"|mov(?:e|ing)(?:\s+to)?|bump|which\s+(?:py)?torch){_END}",
    re.IGNORECASE,
)
#: a number that is no release, behind the name of what has it or what is computed with it
_NUMBERS = re.compile(
    rf"(?:{_NAME}(?P<kind>\w*(?:factor|scale|ratio|rate|eps|epsilon|alpha|beta|momentum|threshold|dropout))\s+(?:of\s+)?"
    rf"|(?:\b(?:divid|multipl|mod)\w*\s+(?:\S+\s+){{0,3}}by|//|%|\*)\s*-?)\d+\.\d+(?![\w.])",
    re.IGNORECASE,
)
#: what asks for a release by what it broke
_ALERTS = re.compile(
    rf"{_NAME}(?:which|what)\s+(?:(?:py)?torch\s+)?(?:release|version)s?\s+(?:has\s+|have\s+|had\s+|did\s+)?"
    rf"(?:break|breaks|broke|broken)(?:\s+(?:the\s+)?(?:most|more|many|worst))?(?:\s+(?:things?|cases|operators))?{_END}",
    re.IGNORECASE,
)
#: what is asked of the release that is moved to
_BREAKS = re.compile(
    rf"{_NAME}(?:break(?:s|ing)?|broke|(?:what(?:['\u2019]s|\s+is|\s+has|\s+was|\s+did)?|anything)\s+(?:chang(?:e|ed|es)|new)){_END}",
    re.IGNORECASE,
)
_WORKAROUNDS = re.compile(
    rf"{_NAME}(?:work-?\s?arounds?|(?:drop|remove|delete|keep)(?:\s+(?:my|the|our|this|that|these|those|it|them)|\s*\?)|(?:it|this|that|they|(?:the|my|our|this|that)\s+\w+)\s+go|be\s+(?:removed|dropped|deleted)|(?:safe|ok|okay|possible)\s+to\s+(?:remove|drop|delete)|need\s+(?:it|them)|fix(?:es)?|still\s+(?:be\s+)?(?:needs?|needed|required|necessary|have\s+to)"
    rf"|needed|necessary|required|obsolete|need\s+(?:my|our|the|this)|again|revert|und(?:o|one)|get\s+rid\s+of|come\s+back|put\s+\S+\s+back|move\s+(?:it\s+)?(?:back|in\s+again)|go\s+back(?!\s+to\s+(?:(?:py)?torch(?!\.)\b|v?\d|version))){_END}",
    re.IGNORECASE,
)
#: what was so, or is so now: of several releases the newest is then the one that is asked about
_PAST = re.compile(
    rf"{_NAME}(?:now|nowadays|today|meanwhile|dat(?:es?|ed|ing)|since|was|were|did(?:n['\u2019]t)?|fail(?:s|ed|ing)?|broke(?:n)?|fell"
    rf"|used\s+to|introduced|added|written|wrote|originally|back\s+(?:then|on|in|at)){_END}",
    re.IGNORECASE,
)
#: what asks for fixes, and not whether one is needed
_LISTS = re.compile(rf"{_NAME}(?:which|what)\s+(?:\w+\s+)?(?:work-?\s?arounds?|fix(?:es)?){_END}", re.IGNORECASE)
_SETTING = (
    r"(?:the\s+)?(?:(?P<opset>opset)|dynamo|trac(?:e|ing)|script(?:ing)?|torchscript)\w*"
    r"(?:\s*=\s*\w+|\s+\d+|\s+exporter)?"
)
#: an exporter or an opset that is itself asked about, and no place where something else is
_NEED_SETTING = (
    re.compile(
        rf"{_NAME}need\s+(?:to\s+)?(?:(?:set|use|pass|keep)\s+|export\s+(?:it\s+)?(?:at|with|by)\s+|stay\s+(?:at|on)\s+)?"
        rf"{_SETTING}",
        re.IGNORECASE,
    ),
    re.compile(rf"^\W*(?:is|are)\s+{_SETTING}\s+(?:still\s+)?(?:needed|required|necessary){_END}", re.IGNORECASE),
    re.compile(
        rf"{_NAME}(?:min(?:imum|imal)?|lowest|smallest|least|oldest|which|what)\s+(?P<opset>opset)(?:\s+version)?\s+(?:is\s+|it\s+)?"
        rf"(?:needed|needs|required|requires|necessary){_END}",
        re.IGNORECASE,
    ),
)
_MATRIX = re.compile(
    rf"{_NAME}(?:table|(?<!triangular\s)matrix|compatibility|overview|csv|spreadsheet|download){_END}", re.IGNORECASE
)
#: what an error says of itself, and not of another release; a question that has it begins as one, or ends as one
_COMPLAINS = re.compile(
    rf"{_NAME}(?<!used\sto\s)(?:(?:not|un)[ -]?(?:supported|implemented|available)|fail(?:s|ed|ure)?|could\s+not"
    rf"|couldn['\u2019]t|cannot|\w*error|expected|missing|regression|unrecognized|unknown|invalid){_END}",
    re.IGNORECASE,
)
#: «where» that asks, and is not the operator
_WHERE = re.compile(r"^\W*where(?=\s+(?:do|does|did|is|are|can|could|may|will|would)\b)", re.IGNORECASE)
_ASKS = re.compile(
    r"^\W*(?:is|are|does|do|did|can|could|may|will|why|which|what|when|where|how|since|should(?=\s+(?:we|i)\b))\b"
    r"(?!['\u2019])|\?\s*$",
    re.IGNORECASE,
)
#: a sentence of a text that asks
_ASKING = re.compile(
    r"\?(?=\s|$)|^(?:is|are|does|do|can|could|may|which|what|how)\b"
    r"|\b(?:should|shall|can|could|do|must|may)\s+(?:we|i)\b",
    re.IGNORECASE,
)
#: characters of the longest question
_LONGEST = 1500
#: words of a query that is about the function of torch that it begins with, and no line of an error
SHORT = 10
#: signs that a line of an error has, and a few words have not
OF_A_LINE = re.compile(r":\s|[\n'\"\[]|\w['\u2019]t\b")
#: a few words that ask whether something fails, and no line of an error, which has a colon
_SHORT_ASKED = re.compile(r"^[^\n:?]{1,60}\?\s*$")
_FUNCTION = re.compile(r"^\s*(?:torch(?:\.nn(?:\.functional)?)?|F|nn)\.(?!onnx\b|export\b|jit\b)[A-Za-z_]\w*(?![\w.:])")
#: what sentences have and lists of names do not
_PROSE = re.compile(
    r"\b(?:the|an?|is|are|was|we|our|my|i|you|it|its|does|do|can|should|used|that|this|has|have)\b", re.IGNORECASE
)
#: how people call a provider of a runtime
PROVIDERS = {
    "cuda": "cuda", "gpu": "cuda", "gpus": "cuda", "nvidia": "cuda", "cudaexecutionprovider": "cuda",
    "onnxruntime-gpu": "cuda", "ort-gpu": "cuda", "openvinoexecutionprovider": "openvino", "openvino ep": "openvino",
    "openvino execution provider": "openvino", "openvino provider": "openvino",
}  # fmt: skip
PROVIDER = re.compile(rf"{_NAME}(?:{'|'.join(PROVIDERS)})(?![\w:-])", re.IGNORECASE)
#: runtimes and converters that no file was run on
_ELSEWHERE = re.compile(
    rf"{_NAME}(?:tensorrt(?:-rtx)?|trt|core\s?ml|directml|onnxruntime-?web|ort-?web|webgpu|wasm|ncnn|rknn|tvm|tflite|qnn"
    rf"|mnn|hailo|opencv(?:\s+dnn)?|snpe)(?![\w:-])",
    re.IGNORECASE,
)
_MISMATCH = "mismatch"
#: what asks for operators, not for cases
OPERATORS = re.compile(r"\b(?:operators?|ops)\b", re.IGNORECASE)
#: what asks for wrong values, which no error tells of, and what is said beside it
_WRONG = re.compile(
    rf"{_NAME}(?:disagree\w*|wrong\s+(?:values?|results?|numbers?|outputs?)|silent(?:ly)?|mismatch(?:es)?|differs?){_END}",
    re.IGNORECASE,
)
_BESIDE_WRONG = re.compile(rf"{_NAME}(?:onnx\s?runtime|ort|eager|gives?|computes?|wrong|with){_END}", re.IGNORECASE)
#: words of a sentence that no case is looked for by
_FILLING = frozenset(
    "a about an and any are as at be but by can case cases could do does export exported exporter exporting exports "
    "for from give go have how i if in into is it its know may me model my need needs not now of on onnx op operator "
    "opset or our please pytorch release releases should show since still support supported supports that the their "
    "there this to today torch under use used uses using version versions want was we what when which will with work "
    "working works would yet you your tell list whether happens i'm im am vs versus compared "
    "cpu newest latest highest why fail fails failing opsets "
    "operators ops currently some all every between choose choosing pick decide better recommended safe safely than "
    "then only just also run runs running code team help think needing "
    "has made years ago onnxruntime ort team plain wants torch.onnx.export "
    "remove drop delete keep call called calling calls failure failures problem problems colleague "
    "exportable convertible possible "
    "ok okay fine did by unsupported breaks break breaking broke better best worse than many much "
    "so because since therefore own custom gave gives given more rather instead very other otherwise first done "
    "explicitly failed errors come comes out got pr comment review "
    "manual manually replaced replace replaces replacing implementation "
    "wrote written write symbolic compute computed through good enough said rewritten hand-written changed turned "
    "moved swapped switched converted taken had assignment "
    "forward right match matches pass passes passing time "
    "no us over stay must up off except away natively back think thinking way everywhere writes "
    "produce produces get gets after before can't cannot couldn't doesn't don't isn't aren't won't "
    "wouldn't didn't wasn't wrongly rounded takes take while default lowest missing regression regressions".split()
)
#: what somebody calls a file or a model of theirs, which no case is about
_OWN = re.compile(rf"{_NAME}(?:my|our)\s+(?:own\s+)?(?P<kind>\w+\s+)??(?:file|model|network)s?{_END}", re.IGNORECASE)
#: a number of axes, with what has them
_AXES = re.compile(rf"{_NAME}(?P<axes>\d)[- ]?d(?:imensional)?(?:\s+(?:input|tensor)s?)?{_END}", re.IGNORECASE)
#: what is asked of every file, and is no word of a case
_RIGHT = re.compile(
    rf"{_NAME}(?:(?:right|correct|exact)\s+(?:values?|results?|numbers?|outputs?)|roll(?:s|ed)?\s+(?:our|my|their|its)\s+own"
    rf"|hand-?rolled){_END}",
    re.IGNORECASE,
)
#: an argument by its name: a switch or a name in quotes anywhere, any other value in a call
_ARGUMENTS = (
    re.compile(
        r"(?<![\w.])(?P<name>[a-z_]\w*)=(?:(?P<switch>True|False|None)\b|'(?P<one>[\w-]+)'|\"(?P<two>[\w-]+)\""
        r"|(?P<bare>[a-z]\w{2,}(?:-\w+)*)(?![\w.(-]))"
    ),
    re.compile(r"(?<=[(,])\s*(?P<name>[a-z_]\w*)=(?!=)[^\s,()=]+(?:\([^()]*\))?"),
)
#: what is given by its place: a word in quotes, and a type of tensors
_BY_PLACE = re.compile(
    rf"(?<=[(,])\s*(?:'(?P<one>[A-Za-z][\w-]*)'|\"(?P<two>[A-Za-z][\w-]*)\"|(?P<dtype>{'|'.join(DTYPE_WORDS)}))"
    r"(?=\s*[,)])"
)
#: arguments of the export itself
_OF_EXPORT = frozenset(
    "f dynamic_axes dynamic_shapes input_names output_names opset_version dynamo verbose report optimize verify "
    "external_data export_params target_opset".split()
)
#: where a clause ends
_UNTIL = (
    r"(?=[,;?!()]|\.(?:\s|$)|$"
    r"|\b(?:because|since|when|if|so|on|in|at|for|still|can|could|is|are|do|does|may|should|was)\b)"
)
_CLAUSE = rf"(?P<fix>[^,;?!()]*?){_UNTIL}"
#: what stands in the place of something else: by what that is replaced, what is used instead of it, or for its sake
_FIX_PARTS = (
    re.compile(
        r"\b(?:replac|swap|re-?writ|re-?wrote|decompos|chang|turn|unroll|implement|writ|wrote|hand-?writ|comput|made|done|express|mov|switch|took|take)"
        rf"\w*\b(?:\([^()]*(?:\([^()]*\)[^()]*)?\)|[^,;?!.(]|\.(?=\w))*?\b(?:by|with|as|to|into|from|via|through|using|in|for)\s{_CLAUSE}",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?:^|[,;:?!.(]\s*|\bbecause\b)(?P<fix>[^,;:?!()]*?)(?<!back )(?<!again )"
        r"\b(?:instead\s+of|in\s+place\s+of|rather\s+than)\b",
        re.IGNORECASE,
    ),
    re.compile(rf"\bso\s+(?:we|i)\s{_CLAUSE}", re.IGNORECASE),
    re.compile(rf"\b(?:back|again)\s+(?:instead\s+of|in\s+place\s+of|rather\s+than)\s{_CLAUSE}", re.IGNORECASE),
    re.compile(
        rf"(?<=[\w)\]`])\s+(?:->|=>|\u2192)\s+(?!v?\d|(?:py)?torch[\s=]*v?\d|opset|newest|latest){_CLAUSE}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:needs?|drop|remove|delete|keep|without)\s+(?:the|our|my|an?|this|that)\s{_CLAUSE}", re.IGNORECASE
    ),
    re.compile(r"\s\((?P<fix>(?!torch|nn\.|F\.)[^()]+)\)"),
)
#: those of them that tell of a replacement, which somebody made
_REPLACING = _FIX_PARTS[:5]
#: somebody who made it, or that it was made
OWNER = re.compile(
    rf"{_NAME}(?:we|i|our|my|replaced|re-?written|re-?wrote|swapped|decomposed|unrolled|hand-?written"
    rf"|expanded\s+(?:by\s+hand|manually)){_END}",
    re.IGNORECASE,
)
_SIGNS = frozenset(
    ("", "-", "=", "==", "!=", "&", "|", "/", "//", "*", "**", "+", "%", "<", ">", "->", "=>", "\u2192", "\u2013")
)
#: what stands behind a name: that it possesses something («topk's k»), and how it is called
_BEHIND = re.compile(r"['\u2019]s$|(?<=\w)\([^%]*$")
_OUTER = "?!,;:()[]{}\"'`\u201c\u201d\u2018\u2019"


@dataclass(frozen=True)
class AskedQuestion:
    """What a query asks. ``releases`` are torch's as written: of a move where from and where to, each may be empty;
    «before torch 2.1» is ``<2.1``, «after 2.6» ``>2.6``.

    ``kind`` says how they are meant: each for itself, as a range, or as a move. ``named`` is whether a part of a
    setting was named as such: a number or a word alone may be meant otherwise. ``others`` are versions that are not
    looked at, ``status`` how the cells end that are asked for, ``to_opset`` the opset behind a move where it is another
    one. ``listed`` is whether the words are a list, each meant for itself, ``own`` whether they speak of somebody's own
    file or model, ``fix`` the fix that they mean (``cross/stack_rewrite``).
    """

    words: str
    asks: Intention = ""
    kind: Literal["each", "range", "move"] = "each"
    releases: tuple[str, ...] = ()
    opset: str = ""
    exporter: str = ""
    runtime: str = ""
    named: bool = False
    others: tuple[str, ...] = ()
    status: str = ""
    to_opset: str = ""
    listed: bool = False
    own: bool = False
    fix: str = ""

    @property
    def searched(self) -> str:
        """The words as they are looked for elsewhere."""
        if self.fix:
            return self.fix
        return ", ".join(self.words.split()) if self.listed else self.words


class _Text:
    """A query of which parts are taken out one after the other."""

    def __init__(self, text: str) -> None:
        self.left = text

    def take(self, pattern: re.Pattern[str]) -> list[re.Match[str]]:
        """Every place of an expression; they are no longer there afterwards."""
        found = list(pattern.finditer(self.left))
        if found:
            self.left = pattern.sub(_kept, self.left)
        return found


def _kept(found: re.Match[str]) -> str:
    """What stays of a place: the kind of a model of somebody's own."""
    return f" {found.groupdict().get('kind') or ''} "


def read_question(query: str) -> AskedQuestion | None:
    """What a query asks in words; ``None`` where it has nothing but words to look for."""
    written, query = query, spell_code(query)
    if len(query.split()) == 1 and not any(sign.isdigit() for sign in query):
        return AskedQuestion("", "matrix") if OPERATORS.fullmatch(query.strip()) else None
    only_complains = _COMPLAINS.search(query) and not _ASKS.search(query)
    if only_complains and not OPERATORS.search(query):
        return None
    text = _Text(query)
    is_own = bool(text.take(_OWN))
    text.take(_NUMBERS)
    runtime = _runtimes(text, query)
    others = [" ".join(item[0].split()) for item in text.take(_OTHER)]
    opsets = [_opset(item) for item in text.take(_OPSET)]
    is_switched = bool(_SWITCH.search(text.left))
    exporter = _exporter(text)
    # by dynamo=True axes are measured as dynamic_shapes, and as dynamic_axes by the default call alone
    exporter = _BY_ANY_DYNAMO if exporter == "dynamo" and "dynamic_axes" in query else exporter
    is_of_release = bool(text.take(_ALERTS))
    kind, releases, named = _releases(text, query)
    if releases and not opsets:
        opsets = [item["low"] for item in text.take(_BARE_OPSET)]
    text.take(_WHERE)
    status = _MISMATCH if _ASKS.search(query) and text.take(_WRONG) else ""
    if status:
        text.take(_BESIDE_WRONG)
    asks = _intention(text, kind, releases) or ("matrix" if status else "")
    if not asks and releases and _is_replaced(query):
        asks = "workarounds"
    opsets = _newest_first(opsets) if (asks, kind) == ("workarounds", "each") else opsets
    words = _words(text.left)
    # of an operator it is asked where it works
    asks = "alerts" if is_of_release and not (words or releases) else asks
    needed = next(filter(None, (each.search(query) for each in _NEED_SETTING)), None)
    if needed and asks == "workarounds":
        asks = ""
    if needed and not needed["opset"]:
        exporter = ""
    if asks == "matrix" and kind == "move":
        kind = "range"
    given = AskedQuestion(
        words, asks, kind, releases, "".join(opsets[:1]), exporter,
        "".join(runtime[:1]), bool(named or opsets or runtime or is_switched), tuple(others), status,
        "".join(opsets[1:2]) if kind == "move" else "", own=is_own,
    )  # fmt: skip
    is_setting = given.named or given.releases
    is_provider = PROVIDER.search(query)
    is_looked_for = given.words and (is_provider or not _COMPLAINS.search(query) or bool(_SHORT_ASKED.search(written)))
    is_listed = given.exporter and not given.words and OPERATORS.search(query)
    if only_complains:
        return given if is_listed else None
    is_elsewhere = bool(_ELSEWHERE.search(query)) and len(written.split()) <= SHORT
    asks_of_words = bool(_ASKS.search(query) or needed) or is_elsewhere or _is_short_question(written, query, exporter)
    is_asked = is_listed or (is_looked_for and (is_provider or asks_of_words))
    return given if is_setting or given.asks or is_asked else None


def _is_short_question(written: str, query: str, exporter: str) -> bool:
    """Whether a few words are about the function that they begin with, are code, or name an operator beside an
    exporter.
    """
    is_code = written != query
    is_named = bool(_FUNCTION.search(written)) or (is_code and bool(exporter))
    is_known = is_named or is_code or (bool(exporter) and _names_operator(query))
    return is_known and len(written.split()) <= SHORT and (is_named or not OF_A_LINE.search(written))


def _names_operator(query: str) -> bool:
    words = (word.strip(_OUTER) for word in query.split())
    return any(operator_key(word) in every_operator() for word in words if word and word not in ENGLISH)


def _newest_first(opsets: list[str]) -> list[str]:
    """The opset that a fix is asked for, and behind it those at which it was written."""
    return sorted(opsets, key=int, reverse=True) if all(opset.isdigit() for opset in opsets) else opsets


def is_sentence(query: str) -> bool:
    """Whether a query is a question by its form, whose filling words no case is looked for by."""
    return bool(_ASKS.search(query)) and not _COMPLAINS.search(query)


def elsewhere_named(query: str) -> str:
    """A runtime or converter, named in a query, that no file was run on; empty where none is."""
    found = _ELSEWHERE.search(query)
    return found[0] if found else ""


def has_sentence(query: str) -> bool:
    """Whether a text is a sentence, whose words need not be names."""
    return bool(_PROSE.search(query) or _ASKING.search(query))


def is_long_question(query: str) -> bool:
    """Whether a text as long as an error's asks about releases or workarounds, and complains of nothing."""
    question = (
        read_question(query) if len(query) <= _LONGEST and (_ASKING.search(query) or _is_replaced(query)) else None
    )
    if question is None or not (_ASKING.search(query) or question.releases):
        return False
    # what fails is the reason of a workaround
    if _COMPLAINS.search(query):
        return question.asks == "workarounds" and bool(question.releases) and "\n" not in query
    return bool(question.releases or (question.asks and "\n" not in query))


def read_release(text: str) -> str:
    """The release of torch that a text names as such; empty where it names none, or several."""
    named = {item["one"] for item in _NAMED_RELEASE.finditer(text)}
    return named.pop() if len(named) == 1 else ""


def read_plain(query: str) -> AskedQuestion | None:
    """A query as nothing but words, without those that fill a sentence; ``None`` for what complains as errors do."""
    words = "" if _COMPLAINS.search(query) else _words(spell_code(query))
    return AskedQuestion(words) if words else None


def read_fix_parts(query: str) -> frozenset[str]:
    """The words of what a question says is used in the place of something else, as :func:`read_question` has them."""
    found = (item["fix"] for pattern in _FIX_PARTS for item in pattern.finditer(spell_code(query)))
    return frozenset(word for part in found for word in _words(part).split())


def read_for(query: str, page: Intention) -> AskedQuestion:
    """What a query asks on the page that answers one intention: there a release is a release without more words, and
    from one to another are the ends of a table.
    """
    question = read_question(query) or AskedQuestion(query)
    if page == "matrix" and question.kind == "move" and question.releases[0]:
        return replace(question, asks=page, kind="range")
    return question if question.asks else replace(question, asks=page)


def _runtimes(text: _Text, query: str) -> list[str]:
    """The runtimes that are named, with their releases; without one those that ran files by themselves."""
    found = [f"{_runtime(item['name'])}=={item['version']}" for item in text.take(_RUNTIME)]
    alone = [] if PROVIDER.search(query) else text.take(_RUNTIME_ALONE)
    return [*found, *(item["name"].casefold() for item in alone)]


def _runtime(name: str) -> str:
    folded = name.casefold()
    return "onnxruntime" if folded.startswith("o") and folded != "openvino" else folded


def _opset(found: re.Match[str]) -> str:
    if found["least"]:
        return f">={found['low']}"
    return f"{found['low']}..{found['high']}" if found["high"] else found["low"]


def _exporter(text: _Text) -> str:
    """The exporters that are named, as a setting has them, without those that are not meant."""
    meant = [name for pattern, name in _NOT_MEANT if text.take(pattern)]
    named = [name for pattern, name in _EXPORTERS if text.take(pattern)]
    if not meant or not named:
        return ",".join(dict.fromkeys(named or meant))
    left = [set(_parts_of_name(name)) for name in meant]
    kept = [part for name in named for part in _parts_of_name(name) if all(part in parts for parts in left)]
    return ",".join(dict.fromkeys(kept or named))


def _parts_of_name(name: str) -> list[str]:
    return ",".join(_SEVERAL.get(part, part) for part in name.split(",")).split(",")


def _is_replaced(query: str) -> bool:
    """Whether somebody says that they used one thing in the place of another."""
    return bool(OWNER.search(query)) and any(each.search(query) for each in _REPLACING)


def _releases(text: _Text, query: str) -> tuple[Literal["each", "range", "move"], tuple[str, ...], bool]:
    """How releases of torch are meant, which, and whether they are surely torch's."""
    for pattern, kind in _BETWEEN:
        if found := text.take(pattern):
            return kind, (found[0]["low"], found[0]["high"]), True
    if before := text.take(_BEFORE):
        return "each", (f"<{before[0]['one'] or before[0]['two']}",), True
    if after := text.take(_AFTER):
        return "each", (f">{after[0]['one']}",), True
    if newest := text.take(_TO_NEWEST):
        return "move", (newest[0]["one"], ""), True
    source, target = ([item["one"] for item in text.take(pattern)] for pattern in (_FROM, _TO))
    named = text.take(_NAMED_RELEASE)
    single = list(dict.fromkeys(item["one"] for item in (*named, *text.take(_BARE_RELEASE))))
    if not target and len(every := [*source, *single]) > 1 and _asks_for_one(text, query):
        return "each", (max(every, key=versions.parse),), bool(source or named)
    is_told = any(each.search(query) for each in (_UPGRADE, _BREAKS, _MATRIX)) or not _ASKS.search(query)
    if source and not (target or single or is_told):
        return "each", tuple(source), True
    if source or target:
        rest = [*single, ""]
        return "move", (source[0] if source else rest[0], target[0] if target else rest[0]), True
    if text.take(_BREAKS) and len(single) == 1 and not _WORKAROUNDS.search(text.left):
        return "move", ("", single[0]), True
    return ("move", (single[0], single[-1]), True) if len(single) > 1 else ("each", tuple(single), bool(named))


def _asks_for_one(text: _Text, query: str) -> bool:
    """Whether a question about a fix tells of the release where it was written beside the one that it is asked for."""
    asks = bool(_WORKAROUNDS.search(text.left)) and not _LISTS.search(query)
    return asks and (_is_replaced(query) or bool(_PAST.search(query)))


#: those that are left where one is not meant
_NOT_MEANT = (
    (_NO_DYNAMO, "TorchScript"), (_NO_TORCHSCRIPT, "dynamo"), (_NO_TRACE, "script,dynamo"),
    (_NO_SCRIPT, "trace,dynamo"),
)  # fmt: skip
_EXPORTERS = (
    (_BY_DEFAULT, "default"), (_TRACE, "trace"), (_DYNAMO, "dynamo"), (_SCRIPT, "script"),
    (_TORCHSCRIPT, "TorchScript"),
)  # fmt: skip
#: `dynamo=True` beside an argument that the default call alone is given with it
_BY_ANY_DYNAMO = "dynamo,default"
#: a name of several exporters
_SEVERAL = {"TorchScript": "trace,script"}
_BETWEEN: tuple[tuple[re.Pattern[str], Literal["move", "range"]], ...] = ((_MOVE, "move"), (_RANGE, "range"))


def _intention(text: _Text, kind: str, releases: tuple[str, ...]) -> Intention:
    """What is asked for; two releases ask what becomes of one on the other, where they are not the ends of a table."""
    workarounds, upgrade, matrix = (bool(text.take(each)) for each in (_WORKAROUNDS, _UPGRADE, _MATRIX))
    if kind == "move":
        return "matrix" if matrix and not upgrade and releases[0] else "upgrade"
    if workarounds:
        return "workarounds"
    return "upgrade" if upgrade else "matrix" if matrix else ""


def _words(left: str) -> str:
    """What is to be looked for; an argument of a call as ``stable=true`` or ``proj_size=``, behind the rest."""
    arguments: list[str] = []
    for pattern in _ARGUMENTS:
        arguments += (word for item in pattern.finditer(left) for word in _argument(item))
        left = pattern.sub(" ", left)
    for item in _BY_PLACE.finditer(left):
        arguments += filter(None, item.groups())
    left = _BY_PLACE.sub(" ", left)
    left = _AXES.sub(r" \g<axes>D ", _RIGHT.sub(" ", left))
    every = (_BEHIND.sub("", word.lstrip(f"{_OUTER}.").rstrip(f"{_OUTER}.")) for word in left.split())
    words = [word for word in every if word not in _SIGNS and word.casefold() not in _FILLING]
    return " ".join((*words, *dict.fromkeys(arguments)))


def _argument(found: re.Match[str]) -> list[str]:
    """The word of an argument: what is in quotes, else its name with the value of a switch; none of the export's, and
    of a tensor that is written to its name alone.
    """
    given = found.groupdict()
    if given["name"] in _OF_EXPORT:
        return []
    if given["name"] == "out":
        return ["out="]
    text = given.get("one") or given.get("two") or given.get("bare")
    return [text or f"{given['name']}={(given.get('switch') or '').casefold()}"]
