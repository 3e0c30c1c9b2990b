"""Names in a text that may be operators', where no sentence says which fails: in its code, its files, its nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from caniexport.answers.select import torch_operators
from caniexport.match.evidence import ErrorEvidence, both_ends, node_names
from caniexport.operators import operator_keys

#: words of plain English that are operators' names, too
ENGLISH = frozenset(
    "abs add all any cast clamp clear clip compress constant copy count data delete device empty equal expand extend "
    "fill find fix flip float format full gather get greater identity if index insert int item items join keys less "
    "lift like linear list loop lower max maximum mean min minimum mode narrow negative normal not ones optional "
    "outer owner pad pop positive print product put random range real remove rename repeat replace reverse round save "
    "scan scatter seed select set shape shrink sign size slice sort sorted split square squeeze stack stride strip "
    "sub sum "
    "take title to trace unique update upper values version view wait warn where zero zeros".split()
)
#: those of them that say what is computed, beside another operator too
COMPUTING = frozenset(
    "abs clamp clip fill flip gather max maximum mean min minimum narrow outer pad product repeat round scatter slice "
    "sort split square squeeze stack sub sum unique".split()
)
#: a function of torch
OF_TORCH = re.compile(
    r"\b(?:torch|nn|F|functional|[Tt]ensor)\.(?!(?:jit|onnx|export|fx|_dynamo|sparse|nested|masked|distributions|ao)\.|geometric\b)(?:\w+\.)*(?!Size\b)(\w+)"
)
#: a word of code that no word of a sentence is (GLU, fft_rfftn)
CODE_WORD = re.compile(r"(?<![\w./\\])(?:[A-Z]{3,}|[a-z]\w*_\w+)(?![\w.=])")
#: what something «does not support», functions that are called, files of a library's own code, and nodes (``lstm_3``)
_IN_CODE = (
    re.compile(
        r"\b([A-Za-z]\w+)(?: \(\w+\))? (?:(?:does|do|is|are|can) ?(?:currently )?(?:not|n't|n.t)|cannot|not|un|is only)"
        r" ?(?:yet |be )*(?:support|implement|convert|export|compatible)"
    ),
    re.compile(r"\btorch\.((?:fft|linalg|special)\.\w+)"),
    OF_TORCH,
    re.compile(r"<(?:built-in )?(?:function|method) (\w+)"),
    re.compile(r"\b(?:onnx|aten)::(\w+)"),
    re.compile(r"^[^\w\n]*(?:ERROR[^\w\n]+)?([A-Z]\w+) \(\d+\)[ \t]*$", re.MULTILINE),
    re.compile(
        r"\b(?!(?:[Aa](?:ll|ny|nd)|[Oo](?:r|ne)|[Nn]ot?|[Ii]f|[Ww]here)\b)"
        r"([A-Za-z]\w+)(?= (?:ops?|operators?|layers?|nodes?)\b)"
    ),
    re.compile(r"\b(\w+_)\(\)"),
    re.compile(r"\berror in (\w+):"),
    re.compile(r"\b(\w+): list index out of range"),
    re.compile(r"\bopset ?\d+ (\w+)"),
    re.compile(r"['`](?!(?:Tensor|Size|size|shape)\b)(\w+)['`]"),
    re.compile(r"\b(?!ATen\b|[A-Z]+\b)([A-Z]+[a-z]*[A-Z]\w*)\b"),
    re.compile(
        r"(?<![\w.])[a-z]+ (?!(?:Where|Shape|Size|Mean|Sign|Round|Constant|Optional|Tensor)\b)"
        r"([A-Z][a-z]{3,})\b"
    ),
    re.compile(r"\b(?!(?:to|size|dim|shape)\b)(\w+)\(\)(?! (?:got|missing|takes|is|has|from))"),
    re.compile(r"[/\\](\w+)\.(?:cpp|cc|cuh?|hpp)\b"),
    re.compile(r"\bnode \(?'?([a-z]\w*?)_\d+\b"),
    re.compile(r"(?:[/_]|\b)([A-Z][A-Za-z]*)_\d+(?:_output_\d+)?\b"),
    re.compile(r"/([A-Z][A-Za-z]*)_output_\d+\b"),
    re.compile(r"\bonnx_([a-z]\w*)\b"),
    re.compile(r"\w+Ops\.([A-Z]\w+) ?\("),
    re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af] ([A-Z]\w+)(?= [\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])"),
)
#: operators of libraries beside torch: by their library's name, called of its compiled part, said to be one's own, or
#: not to be supported
_OF_EXTENSION = (
    re.compile(
        r"(?<![\w:.])((?!(?:std|at|c10|torch|cv|google|onnx\w*|ort|nv\w+|ngraph|ov|caffe2|absl|pybind11|thrust|boost"
        r"|tensorrt|myelin|i[rR]|ml\w+|llvm|tvm|jit|prims?|aten|\w*map|vector|[A-Z_]\w*)::)[a-z]\w*::[A-Za-z]\w*)(?!\w|::|\()"
    ),
    re.compile(r"(?<![\w.])_C\.([a-z]\w+)\("),
    re.compile(r"(?<![\w.])((?!torch_)\w+_(?:cuda|ext|ops)\.[a-z]\w*)\("),
    re.compile(
        r"(?:\b[Cc]ustom (?:op|operator|layer|kernel)s?:?|オペレータ|算子) ['`]?([A-Z][a-z]\w*[A-Z]\w*|[a-z]\w*_\w+)"
    ),
    re.compile(
        r"\b(?!torch_|onnx|tensor)([a-z]\w*_\w+)\b(?=['`]? (?:(?:ops?|operators?|layers?) )?(?:(?:is|are|can|does|do)"
        r" ?(?:currently )?(?:not|n't)|cannot|un) ?(?:yet |be )*(?:support|implement|convert|export|compatible))"
    ),
)
#: a part of a tensor that is written to
_WRITTEN = re.compile(r"\w\[[^\]\n=]{1,60}\] = ")
#: what a line of code calls, the sizes of tensors left out
_METHOD = re.compile(r"\.(?!(?:to|[Ss]ize|dim|shape)\b)(\w+)\(")
#: the function of torch's in which a traceback ends: that of its last frame
_LAST_FUNCTION = re.compile(r"torch[/\\](?:nn[/\\])?functional\.py\", line \d+, in (\w+)")
_FILE = 'File "'
#: a function with a gradient of its own, as people name theirs
_FUNCTION = re.compile(r"\b[A-Z]\w+Function\b")
#: what torch says of one operator alone, in its sources in C++ (``sentences.txt`` has those in Python)
_SAID_OF = (
    ("is invalid for input of size", "aten::view"),
    ("view size is not compatible with input tensor", "aten::view"),
    ("the expanded size of the tensor", "aten::expand"),
    ("split_with_sizes expects split_sizes to sum exactly", "aten::split"),
    ("stack expects each tensor to be equal size", "aten::stack"),
    ("sizes of tensors must match except in dimension", "aten::cat"),
    ("tensors must have same number of dimensions: got", "aten::cat"),
    ("shapes cannot be multiplied", "aten::matmul"),
    ("expected more than 1 value per channel when training", "aten::batch_norm"),
    ("running_mean should contain", "aten::batch_norm"),
    ("given normalized_shape=", "aten::layer_norm"),
    ("expected number of channels in input to be divisible by num_groups", "aten::group_norm"),
    ("given groups=", "aten::conv2d"),
    ("calculated padded input size per channel", "aten::conv2d"),
    ("selected index k out of range", "aten::topk"),
    ("does not match the length of the desired ordering of dimensions", "aten::permute"),
    ("[shuffle]: ", "Reshape"),
    ("non concat axis dimensions must match", "Concat"),
    ("expect branches to return tensors with same metadata", "higher_order::cond"),
    ("rois in roialign cannot have non-negative size", "torchvision::roi_align"),
    ("padding size should be less than the corresponding input dimension", "aten::reflection_pad2d"),
)


def read_mentions(text: str, evidence: ErrorEvidence) -> tuple[str, ...]:
    """Every name in a text that may be an operator's; methods that are called only where the text has no exception."""
    return tuple(dict.fromkeys(_mentions(both_ends(text), any(reason.kind for reason in evidence.reasons))))


def _mentions(text: str, has_exception: bool) -> Iterator[str]:
    for pattern in (*_IN_CODE, *(() if has_exception else (_METHOD,))):
        yield from (name.replace(".", "_") for name in pattern.findall(text))
    yield from CODE_WORD.findall(text)
    yield from ("aten::index_put_" for _ in _WRITTEN.findall(text)[:1])
    yield from ("prim::PythonOp" for _ in _FUNCTION.findall(text)[:1])
    yield from _node_in_name().findall(text)
    yield from _LAST_FUNCTION.findall(text[max(text.rfind(_FILE), 0) :])


def read_of_extension(text: str) -> tuple[str, ...]:
    """Operators of libraries beside torch that a text names as such."""
    return tuple(dict.fromkeys(name for pattern in _OF_EXTENSION for name in pattern.findall(both_ends(text))))


def read_said(said: str) -> list[str]:
    """The operators that a text's reasons, in lower case and in one line, speak of without their names."""
    return [op for words, op in _SAID_OF if words in said]


@lru_cache(maxsize=1)
def every_operator() -> frozenset[str]:
    """The keys of all operators that torch has (``cases/torch_operators.txt``), and of ONNX's."""
    return torch_operators() | operator_keys(node_names())


def long_nodes() -> tuple[str, ...]:
    """ONNX's operators whose names have more than one capital, the longest first."""
    names = (name for name in node_names() if len(re.findall("[A-Z]", name)) > 1)
    return tuple(sorted(names, key=lambda name: (-len(name), name)))


@lru_cache(maxsize=1)
def _node_in_name() -> re.Pattern[str]:
    """Such a name, also as part of another one (``LSTMCell``, ``weight_DequantizeLinear``)."""
    return re.compile(rf"(?<![A-Z])(?:{'|'.join(long_nodes())})(?![a-z])")
