"""What an error text says: the reasons in it, the operators that they name, the words that tell it from others.

A text is read as people paste it: one line, a whole traceback, a wrapped report with its summary, a runtime's log.
Left out is what every such text has: frames, dumped graphs, advice («Next steps»), notes on more logging.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from caniexport import home
from caniexport.model.messages import signature
from caniexport.operators import operator_key

#: characters of a text that are looked at, at each end
LONGEST = 20_000
#: characters of a reason that are looked at
_REASON = 1500
_MOST_REASONS = 12
#: words of a line that can be told from others
LEAST_WORDS = 3

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
_RUNTIME = re.compile(r"\[ONNXRuntimeError\] : \d+ : (?P<kind>\w+) : ")
#: the name of an exception that stands alone
_BARE_KIND = re.compile(rf"^[\s`'\"]*(?:[\w]+\.)*(?P<kind>{_KIND})[\s`'\".:!]*$")
#: the name of one that stands in another's words
_INNER_KIND = re.compile(r"\[(?P<kind>\w+Error)\]")
#: an exception that only says that another one happened
_WRAPPERS = re.compile(
    r"Failed to (?:convert the exported program|export the model (?:with|to)|decompose the FX graph|run the exported)"
    r"|Error when translating node|Generating SARIF report|This is step \d/\d|Translation errors:"
    r"|Exporting model (?:exist|exit) |An error occurred while|backend='\w+' raised"
    r"|Failed to translate node|^Error (?:when calling function|calling operator|constructing node)"
)
#: sentences that stand before many causes
_BEFORE_CAUSES = frozenset(("this is an invalid model",))
_FRAME = re.compile(
    r'^[ \t]*(?:File "[^"\n]*", line \d+.*|\S+\.(?:py|cpp|cc|h)\(\d+\): .*|frame #\d+: .*|#\d+ +0x.*|\^+|~+\^*~*)'
    r"[ \t]*$",
    re.MULTILINE,
)
_GRAPH = re.compile(r"^[ \t*>]*(?:graph\(|%[^\s,:]+ : |return \(|block\d+\(|-> \(|\}).*\n?", re.MULTILINE)
#: what a value's node takes and gives
_NODE_DUMP = re.compile(r"^[ \t]*Inputs:\s*\n\s*#0: .*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
#: an operator that a line of code only asks for
_ASKED_FOR = re.compile(r"[!=]= ?['\"]\w+::\w+['\"]")
#: what a log puts before each of its lines
_LOG_PREFIX = re.compile(r"^\[?[VIWEF]\d{4} [\d:.]+ +(?:\d+ +)?[\w./-]+:\d+\]", re.MULTILINE)
_CAUSED_BY = re.compile(
    r"\s*\[Caused by the value .*?(?:TorchScript graph\.|$)(?: The containing node has kind '[^']*'\.\])?", re.DOTALL
)
#: nodes that only hold the one that failed
_OUTER_NODE = re.compile(
    r"Non-zero status code returned while running \w+ node\. Name:'[^']*' Status Message: (?=Non-zero status code)"
)
#: where ONNX Runtime refuses a file; each version writes it in its own way
_OF_MODEL = re.compile(
    r"(?:(?:Load model from [^\n]{1,200}? failed|Failed to load model with error):\s*)?"
    r"\S*model\.cc:\d+\s+onnxruntime::Model::Model\([^)]*\)\s*"
)
#: from here on a text only advises
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
#: a C++ program that ends with an exception tells it behind this
_WRONG = re.compile(
    r"error|fail|unsupported|cannot|could not|invalid|assert|exception|not (?:a|in|sup|imp|reg)", re.IGNORECASE
)
_WHAT = re.compile(r"terminate called after throwing an instance of '[^']*'\s*what\(\):\s*")
#: the line of code that raises, where the paste ends before the error itself
_RAISING = re.compile(
    r"^\s*raise (?:\w+\.)*(?P<kind>\w+)\(\s*f?(?:\"(?P<double>[^\"\n]+)|'(?P<single>[^'\n]+))", re.MULTILINE
)
#: a line that a log marks as a note or a warning
_LOGGED = re.compile(r"^(?:[WI]\d{4} [\d:.]+ |[\d-]+ [\d:.]+ \[[VIW]:onnxruntime:).*$", re.MULTILINE)
#: the number that a text in other words has
_NUMBER = "NUMBER"
#: what older releases say, and a paste without its first line; what is missing then, and the words that are measured
_OTHER_WORDS = (
    (
        re.compile(
            r"have been specialized and CANNOT be dynamic"
            r"|Not all values of .{1,200}?(?:are valid because|satisfy the generated guard)"
        ),
        "Constraints violated",
        "UserError: Constraints violated (size)! For more information, run with TORCH_LOGS=+dynamic",
    ),
    (
        re.compile(r"\bindex: ?\d Got: ?\d+ Expected: ?\d+"),
        "Got invalid dimensions",
        "InvalidArgument: Got invalid dimensions for input: x for the following indices",
    ),
    (
        re.compile(r"Constraints violated \("),
        "Not all values",
        "UserError: Constraints violated (size)! For more information, run with TORCH_LOGS=+dynamic",
    ),
    (
        re.compile(r"The following call raised this error:|\bsym_node\.py\", line \d+, in guard_\w+"),
        "data-dependent",
        "GuardOnDataDependentSymNode: Could not guard on data-dependent expression",
    ),
    (
        re.compile(r"Mutating module attribute (?:\w+ )?during export|\bmutate attribute \w+"),
        "is mutated in the forward method",
        "RuntimeError: Constant buffer is mutated in the forward method. Pls register it as buffer",
    ),
    (
        re.compile(r"\bis_causal\b[^\n]{0,40}\b[Tt]ensor\b[^\n]{0,20}\bbool\b"),
        "argument 'is_causal' must be bool",
        "TypeError: scaled_dot_product_attention(): argument 'is_causal' must be bool, not Tensor",
    ),
    (
        re.compile(
            r"unsupported model IR version\b(?!:? ?\d+,? max supported IR version:? ?\d)(?::? ?(\d+))?", re.IGNORECASE
        ),
        "Unsupported model IR version: N",
        "InvalidArgument: Unsupported model IR version: NUMBER, max supported IR version: N",
    ),
    # what a strict trace says of what a model returns, and one without strictness in older releases
    (
        re.compile(r"Encountering a dict at the output of the tracer|Dictionary inputs to traced functions must have"),
        "but got dict",
        "RuntimeError: Only tuples, lists and Variables supported as JIT inputs, but got dict",
    ),
    # what other libraries of C++ say of a key that a map has not
    (
        re.compile(r"_Map_base::at\b|invalid unordered_map<K, T> key"),
        "unordered_map::at",
        "IndexError: unordered_map::at",
    ),
)
#: a text of two bytes a letter, shown as one of one: a blank behind each letter
_SPACED = re.compile(r"(?:[^\n] ){0,9}(?:[A-Za-z] |  (?=[A-Za-z:] )){8}(?:[^\n] )*[^\n ]?")
_BEHIND_IT = re.compile(r"(.) ")
#: that a release refuses an opset, in a user's words and in torch's
_REFUSED = re.compile(
    r"(?:n't|\bnot|\bun|\bnot yet) ?support(?:s|ed|ing)?:? (?:the )?(?:ONNX )?opt?set(?:[_ ]version)?[ =:]*\d"
    r"|\bopset(?:[_ ]version)?[ =:]*\d[^\n]{0,120}\bunsupported (?:opset )?version\b"
    r"|(?:^|[^\w\s,][ \t]*|\n[ \t]*)(?:ONNX )?opset(?: version)? \d+ is(?:n't| not) (?:yet )?supported"
    r"|\bopset(?: version)? \d+ (?:is )?only supported\b|\bhighest opset version supported is \d",
    re.IGNORECASE,
)
#: words of the sentences that name operators, which people misspell by a letter
_SPELLED = ("operator", "operators", "exporting", "supported", "unsupported", "implemented", "registered")
_REFUSAL = "Unsupported ONNX opset version"


def misspelt(word: str) -> re.Pattern[str]:
    """Words that one letter, or two that changed places, tell from a word; its first and its last are right."""
    last = len(word) - 1
    found = [f"{word[:at]}[a-z]?{word[at + 1 :]}" for at in range(1, last)]
    found += [f"{word[:at]}[a-z]{word[at:]}" for at in range(1, last + 1)]
    found += [f"{word[:at]}{word[at + 1]}{word[at]}{word[at + 2 :]}" for at in range(1, last - 1)]
    return re.compile(rf"\b(?!{word}\b)(?:{'|'.join(found)})\b")


_MISSPELT = (
    *((misspelt(word), word) for word in _SPELLED),
    (re.compile(r"(?<=export )python(?= operator)"), "Python"),
)
#: where a name stands beside letters that no name has, without a gap, and how a page marks a name as one
_NO_GAP = re.compile(
    r"(?<=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])(?=[A-Za-z_])|(?<=[A-Za-z0-9_])(?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])"
)
_MARKED = re.compile(r"\*\*(?=\w+\*\*)|(?<=\w)\*\*(?!\w)")
#: what no word is, and what no gap is: bytes that were printed, an emptied log
_BLOB = re.compile(r"(\S{400})\S+|(\s)\s{199,}")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
#: a line that was broken for its length, and quotes as a text processor sets them
_BROKEN_LINE = re.compile(r"\\\n\s*")
_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d`", "''\"\"'")
_TRACE_END = re.compile(r"During handling of the above exception")
_DIRECT = "The above exception was the direct cause"
#: what only ties one exception to the next
_TIES = (_DIRECT, "During handling of the above", "\ncaused by", "⬆", "Traceback (most recent call last)")
#: the function of a frame in torch's symbolic files, which is called as its operator is
_SHOWN_LINE = re.compile(
    r"(?:Warning: [^\n]*\n|following call raised this error:\n\s*File [^\n]*\n"
    r"|[Ff]rom user code:\s*(?:\n[ \t]*File [^\n]*\n(?!\s*File )[^\n]+(?=\n[ \t]*File ))*\n[ \t]*File [^\n]*\n)"
    r"(?!\s*File )(?P<code>[ \t]+[^\n]+)"
)
_CALL = re.compile(r"\btorch(?:\.\w+)*\.(?P<function>\w+)\(|\.(?P<method>\w+)\(|\[[^\]]*:[^\]]*\]")
_SYMBOLIC = re.compile(
    r"(?:symbolic_(?:opset\d+|helper|caffe2)|onnx[/\\]symbolic)\."
    r'(?:py(?:", line \d+,? in |\(\d+\): )|(?!py\b))(?P<op>\w+)'
)
_REFERENCE = re.compile(
    r'torch/(?:_refs|_decomp|_meta_registrations)[\w/]*\.py(?:", line \d+, in |:\d+ in )(?:meta_)?(?P<op>[a-z]\w+?)'
    r"(?:_(?:Tensor|Scalar|default)\w*)?\b"
)
_TORCHLIB = re.compile(r'torch_lib[/\\]ops[/\\]\w+\.py", line \d+, in (?P<op>\w+)')
_NOT_OPERATORS = frozenset(
    "wrapper symbolic_fn _onnx_unsupported _unimplemented _onnx_opset_unsupported _onnx_opset_unsupported_detailed "
    "_parse_arg _get_const _maybe_get_const _unpack_list _interpolate_helper symbolic helper inner decorated "
    "_get_tensor_sizes _op_with_optional_float_cast args_have_same_dtype check_training_mode _wrapper "
    "_block_list_in_opset _apply_params fn call_function _is_value".split()
)

_QUOTE = "'\" "
_NAMESPACED = re.compile(r"(?P<namespace>aten|prims?|torchvision)_(?P<name>\w+)$")
_HELPERS = ("_", "get_", "check_", "is_", "args_")

_OP = r"(?P<op>[A-Za-z_][\w]*(?:(?:::|\.)\w+)*)"
#: sentences that name the operator which fails, the most telling first
_RULES = tuple(
    re.compile(text, re.DOTALL | re.ASCII)
    for text in (
        r"OpOverload(?:Packet)?\(op='(?P<op>[\w.]+)'",
        r"Unsupported FX nodes: \{'call_\w+': \['" + _OP,
        r"\b(?P<op>(?!support\b)\w+(?:::\w+)?)'? (?:support )?to ONNX opset version",
        r"(?:Cannot find|No) (?:symbolic|ONNX function|operator overload)[^\n]{0,30}? (?:for|of) '?" + _OP,
        r"Exporting (?:the|to) operator '?(?P<op>(?:\w*::)?\w+)'? to\b",
        r"(?:ONNX export failed on|with unrecognized namespace) (?:ATen operator |RNN/GRU/)?"
        r"(?P<op>(?!an )\w+(?:(?:::|\.)\w+)*)",
        r"(?<!\w)(?P<op>[Aa]daptive pool(?:ing)?)\b",
        r"ONNX export of (?:operator )?'?(?:(?:torch|nn|functional|F)\.)*(?P<op>(?:\w+::)?\w+)",
        r"Couldn't export (?:Python )?operator (?P<op>[\w:]+)",
        r"Couldn't export (?P<op>\w+) function",
        r"when tracing in-place operator (?P<op>\w+)",
        r"(?:UnsupportedOperator|DynamicOutputShape|DataDependentOutput)Exception(?:'>)?: (?P<op>\w+\.\w+)",
        r"Error when translating node .{0,300}?target=(?:torch\.ops\.)?(?P<op>\w+\.\w+)",
        r"(?:Unknown|unsupported) builtin(?: op)?:? (?P<op>\w+(?:::|\.)[\w.]*\w)",
        r"(?:No ONNX function found for|call_function target:) <(?:built-in )?function (?P<op>\w+)",
        r"\b(?P<op>(?:aten|prims|torchvision)_\w+)\(\) (?:takes|got|missing)",
        r"\b(?P<op>[a-z]\w*)\(\): (?:argument '|Expected )",
        r"operation_type='(?P<op>[A-Z]\w+)'",
        r"\b(?P<op>[a-z]\w*)_shape_inference\.hpp",
        r"find plugin:? (?P<op>\w+)",
        r'In Node, \("[^"]*", (?P<op>\w+)',
        r"\bof type (?P<op>[A-Z]\w+)\.",
        r"NOT_SUPPORTED_OP: \[ ?(?P<op>\w+)",
        r"['\"]onnx\.(?P<op>[A-Z]\w+)['\"]",
        r"\b(?P<op>[A-Z]\w+): (?:Type|Version) mismatch\b",
        r"\b(?P<op>[A-Z]\w+) mode \w+ for node\b",
        r"\badapt_(?P<op>[a-z]\w*?)_\d+_\d+\b",
        r"[Ll]ayer with '?(?P<op>[A-Z]\w+)'? [Tt]ype\b",
        r"\b(?P<op>[a-z]\w*_\w+) is deprecated, and will be removed",
        r"\bAdapter (?:(?:To|From|For Current) Version \$\d+ )?[Ff]or (?P<op>(?!Current )[A-Z]\w+)",
        r"\b(?P<op>[A-Z]\w+)(?: version \d+)? is not implemented",
        r"\b(?P<op>[A-Z]\w+) was a removed\b",
        r"(?:of|in|for) node '?\(?(?:[^()\s']*/)?(?P<op>[A-Z][A-Za-z]+)(?:_\d+)?[)']",
        r"KeyError: '(?P<op>_?[a-z]\w*_\w+)'",
        r"(?:translate|[Uu]nsupported|[Uu]nknown|[Uu]nrecognized) op(?:erator)?:? '?(?P<op>[A-Z]\w+)",
        r"\bsymbolic for (?P<op>\w+)",
        r"\b(?P<op>[a-z]\w*?)(?:_vml|_impl|_kernel|_out|_frame|_cpu|_cuda|_mps|_template|_channels_last)*_?[\"']?"
        r" not implemented for '",
        r"[\"'](?P<op>[A-Z]\w+?)(?:Kernel)?Impl[\"'] not implemented for '",
        r"for argument '\w+' of node '(?P<op>\w+)'",
        r"\bkernel for (?:\w+\.)*(?P<op>[A-Z]\w+)\(\d",
        r"in method wrapper_+(?:[A-Z]+_+)?(?P<op>[a-z]\w*?)\)",
        r"(?:node number \d+|Layer\* \d+\)) \[(?P<op>\w+)(?:\]| ->)",
        r"while checking arguments for (?:cudnn_|miopen_|thnn_|mkldnn_)?(?P<op>[a-z]\w*?)(?:_(?:forward|backward))?\b",
        r"Converting Node Type (?P<op>[A-Z]\w+)(?!.*Converting Node Type)",
        r"'(?:tfl?|onnx|torch|tosa|stablehlo|mhlo)\.(?P<op>[\w.]+)' op\b",
        r"not supported(?: yet)?,? including:? ['\"]?(?P<op>[A-Za-z_]\w+)",
        r"Assertion failed: [^\n]{0,200}?\"(?P<op>[A-Z]\w+) ",
        r"Failed to export a node '.{0,200}? = (?P<op>\w+::\w+)\(",
        r"(?:Fatal error: )?(?P<op>[\w.]+:\w+)\(-?\d*\) is not a registered",
        r"\b(?P<op>_?[A-Za-z]\w+) is not a registered function/op",
        r"(?:unregistered|Python function call) [`'](?P<op>\w+)",
        r"No such operator \w+ ?:: ?(?P<op>\w+)",
        r"[Oo]ccurred when translating (?P<op>\w+)",
        r"\bfrom operator: (?P<op>\w+::\w+)",
        r"of operator \((?P<op>[A-Z]\w+)\) in node",
        r"Could not find an implementation for (?:the node )?(?:[^\s:(]*:)?(?P<op>[A-Z]\w*)\s?\(\d+\)",
        r"(?:while running|executing) (?P<op>[A-Z]\w+) node",
        r"while running Node: (?:[\w/]*/)?(?P<op>[A-Za-z]\w*?)(?:_\d+)?\s",
        r"variable length with (?P<op>[A-Z]\w+)",
        r"op_?type: ?\"?(?:_?aten_)?(?P<op>(?<=aten_)\w+|[A-Z]\w*)",
        r"(?:\(|function |error: ?)import(?P<op>[A-Z]\w+)",
        r"\b(?:Op|OpType|Optype|op_type)\b:? ?\(?\"?(?P<op>[A-Z]\w+)\)?",
        r"No (?:Op|[Ss]chema) registered for '?(?P<op>\w+)",
        r"No importer registered for op: (?P<op>\w+)",
        r"UNSUPPORTED_NODE: (?!Assertion)(?P<op>[A-Z]\w+)",
        r"(?:does not support|[Uu]nsupported|not supported)[^\n]{0,40}? (?:ONNX )?op(?:erator|eration|type)?s?:? '?\"?"
        r"(?P<op>(?:[a-z]\w*\.)*[A-Z]\w+)",
        r"Unimplemented\((?P<op>[A-Z]\w+)\)",
        r"(?:While executing|Failed running) %?\w+ : .{0,80}?call_\w+\[target=(?:torch\.)?(?:ops\.)?"
        r"(?P<op>[\w.]+)",
        r"Failed running call_(?:function|method) (?:<(?:built-in method |function |built-in function )?)?(?P<op>\w+)",
        r"\b(?P<op>aten(?:::|\.)\w+)",
        r"\btorch\.operator:? ['\"]?(?P<op>onnx\.[A-Z]\w+)",
        r"<function _symbolic_(?P<op>[a-z]\w+)\.<locals>",
        r"\b(?P<op>(?:prims|torchvision|onnx|prim|quantized|higher_order|_caffe2)::(?!\w*_\d+\b)\w+)",
        r"torch\.ops\.(?P<op>\w+\.\w+)",
        # a variable of a frame's line is none
        r"\b_?(?P<op>aten_[a-z]\w+?)(?:_(?:onnx|scalar|tensor|dim|complex|bool|int))*\b(?!\s*=[^=]|\.\w+\s*=[^=])",
    )
)
#: how tools tell which operator they mean: a quoted name behind the word
_QUOTED_OPERATOR = re.compile(r"\bop(?:erator|eration|_type)?s?:? ['\"](?P<op>[A-Za-z_][\w.:]*)['\"]", re.ASCII)
#: names behind «not supported», one after the other or each on its own line
_LISTS = re.compile(
    r"(?:\b(?:[Oo]ps|[Oo]perators|[Oo]perations|[Ll]ayers|[Nn]odes)\b[^\n:]{0,40}"
    r"\b(?:(?:not |un)(?:yet )?(?:supported|implemented|registered|available|found)|missing)\b"
    r"|\b(?:[Uu]n|[Nn]ot |[Mm]issing |[Uu]nknown )(?:yet )?(?:supported|implemented|registered)?[^\n:]{0,25}"
    r"\b(?:ops|operators|operations|layers|nodes)\b)[^\n:]{0,40}(?P<names>"
    r"(?::[ \t]*[\[({]*['\"]?[A-Za-z_][\w.:]*['\"]?(?:[ \t]*,[ \t]*['\"]?[A-Za-z_][\w.:]*['\"]?)*[\])}.]*(?=\n|$))?"
    r"(?::?[ \t]*(?:\n[-*=>\d.)\t ]*['\"\[(]*[A-Za-z_][\w.:]*['\"\]),:]*[-=\t ]*(?:[(:x ]*\d+[)x]?)?(?=\n|$))+)?)",
    re.ASCII,
)
_LISTED = re.compile(r"(?<![\w.:])[A-Za-z_]\w+(?:(?:::?|\.)\w+)*", re.ASCII)
#: how tools tell which attribute they mean
_ATTRIBUTE = re.compile(
    r"\b[Aa]ttr(?:s|ibutes?)?\b(?:\.\w+)?(?: not \w+)?[\s:(\[]*['\"]?(?P<name>[a-z]\w+)"
    r"|\b(?P<before>[a-z]\w+)['\"]? attr(?:ibute)?\b",
    re.ASCII,
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
#: a file of a program's own code that is called as the operator that it holds
_ONNX_FILE = re.compile(r"[/\\](?:\w*Operator)?(?P<op>[A-Z][A-Za-z]*?)(?:Onnx|ONNX)?\.(?:cpp|cc|cu)\b", re.ASCII)
#: programs beside torch and ONNX Runtime, by what only their errors have
_TOOLS = (
    ("TensorRT", re.compile(r"TensorRT|\[TRT\]|trtexec|onnx2trt|ModelImporter\.cpp|UNSUPPORTED_NODE|polygraphy")),
    ("OpenCV", re.compile(r"\bcv2\b|OpenCV|opencv|cv::dnn")),
    ("OpenVINO", re.compile(r"openvino|OpenVINO|Model Optimizer|\bngraph|FakeQuantize is not")),
    ("Core ML", re.compile(r"coremltools|PyTorch convert function for op|\bmlmodel|MIL Ops")),
    ("onnx2torch", re.compile(r"onnx2torch|OperationDescription\(")),
    ("onnx2tf", re.compile(r"onnx2tf|onnx_tf|tflite", re.IGNORECASE)),
    ("ncnn", re.compile(r"ncnn|not supported yet!$", re.MULTILINE)),
    ("tract", re.compile(r"\btract\b")),
    ("TVM", re.compile(r"\btvm\b|\brelay\.frontend")),
    ("RKNN", re.compile(r"rknn", re.IGNORECASE)),
)
_NO_OPERATOR = frozenset("onnx onnxruntime model node graph torch the operator op type none version of for "
                         "loop_body default prim::constant prim::param prim::return assertion "
                         "modelproto graphproto nodeproto tensor this plugin fallbackpluginimporter "
                         "exporting converter inputs shuffle elementwise".split())  # fmt: skip
_INPUT = re.compile(r"input: \S+")
#: parts of a line that say something by themselves
_CLAUSES = re.compile(r"[:.;,] |\n|(?<=data-dependent expression) ")
_LEAST_CLAUSE, _CLAUSE_WORDS = 24, 4
_TOKEN = re.compile(r"[A-Za-z_][\w:.]*\w")
#: words that say something together only: an axis, a version, two types
_AXIS = re.compile(r"\bindex: +\d\b|\bmodel IR version: +\d+\b|tensor\(\w+\) and tensor\(\w+\)")
#: the number of a symbol that torch.export gives to a size or a value (``u0``, ``s77``)
_SYMBOL = re.compile(r"(?<=\b[su])\d+\b")
#: whose method it is, and which arguments it lacks, in what Python says of a call
_OWNER = re.compile(r"\b(?:[A-Za-z_]\w*\.)+(?=\w+\(\) (?:missing|takes|got) )")
_ARGUMENTS = re.compile(r"(?<=\bmissing )\d+ (?=required \w[\w-]* arguments?)|(?<=required positional argument)s?: .*")
#: which file and which node an error of shapes is of, and how a parser's log marks its lines
_BEFORE = re.compile(
    r"^Load model from .{1,200}? failed: ?|^Node:\S* Output:\S* (?=\[ShapeInferenceError\])"
    r"|^(?:(?:\[(?:TRT|TensorRT|E|\d\d/\d\d/\d{4}-[\d:]+)\]|ERROR:)\s*)+"
)
#: the name of a node, which each file has its own
_NODE_NAME = re.compile(
    r"(?<=\bnode )\([^()]{0,200}\)|(?<=\bname:)'[^']*'|(?<=\bname: )'[^']*'"
    r"|(?<=\bnode name: )[^\s):,]+|(?<=\bin node:)[^\s:]+(?: operator [^\s:]*)?|(?<=\bin node, \()\"[^\"]*\"",
    re.IGNORECASE,
)
#: the name of what a node is given; left out beside the types alone, which tell such errors apart
_VALUE_NAME = re.compile(r"(?<=\binput parameter )\([^()]{0,200}\)")
_QUOTED = re.compile(r"-?\b\d+(?:\.\d+)*\b|0x[0-9a-f…]+|%\S+")


@dataclass(frozen=True)
class Reason:
    """One exception of a text: its type's name, and its words without graphs, frames and advice."""

    kind: str
    text: str

    @property
    def warns(self) -> bool:
        """Whether it is a warning."""
        return self.kind.endswith("Warning")

    @cached_property
    def tells(self) -> bool:
        """Whether the first line has enough words to be told from others."""
        return len(split_words(self.line)) >= LEAST_WORDS

    @cached_property
    def line(self) -> str:
        """The first line of the words."""
        return next((line.strip() for line in self.text.splitlines() if line.strip()), "")

    @cached_property
    def _said(self) -> str:
        """The first line without the runtime's own code and without the operator's name, which releases spell anew."""
        line, named = self._bare, self._naming
        if named is None:
            return line
        return f"{line[: named.start('op')].rstrip(_QUOTE)} operator {line[named.end('op') :].lstrip(_QUOTE)}"

    @cached_property
    def _bare(self) -> str:
        return _BEFORE.sub("", _ARGUMENTS.sub("", _OWNER.sub("", _SYMBOL.sub("N", _RUNTIME.sub("", self.line)))))

    @cached_property
    def _naming(self) -> re.Match[str] | None:
        found = (match for rule in _RULES if (match := rule.search(self._bare)))
        return next((match for match in found if not match["op"].startswith(_HELPERS[1:])), None)

    @property
    def names_operator(self) -> bool:
        """Whether the first line names an operator."""
        return self._naming is not None

    @cached_property
    def pattern(self) -> str:
        """The first line without names, numbers and shapes: the same for all failures of one kind."""
        line = _INPUT.sub("input: …", _NODE_NAME.sub("…", self._said))
        return signature("", "", line).split("|", 2)[-1].rstrip(". ")

    @cached_property
    def begins(self) -> str:
        """The first line up to the name of its operator, without names and numbers; empty where it names none."""
        before = self._bare[: self._naming.start("op")] if self._naming else ""
        return signature("", "", before.rstrip(_QUOTE)).split("|", 2)[-1]

    @cached_property
    def clauses(self) -> frozenset[str]:
        """The parts of the pattern that say something by themselves."""
        return clauses_of(self.pattern)

    @cached_property
    def exact(self) -> str:
        """The first line with its names but for those of nodes and values, without numbers and addresses."""
        without = _VALUE_NAME.sub("…", _NODE_NAME.sub("…", self._said))
        return " ".join(_QUOTED.sub("N", without).split()).rstrip(". ")[:300].casefold()


@dataclass(frozen=True)
class ErrorEvidence:
    """What an error text says. ``reasons`` has the innermost cause first; ``kinds`` are all exceptions named;
    ``operators`` are those that the text names, the one that fails first, as they are written; ``called`` are names
    that the user's own lines call, where the text shows the line that failed or was warned of. ``tool`` is the program
    beside torch and ONNX Runtime that the error is of; empty where none is seen. ``beside`` are further operators that
    it names, of which nothing says that they fail.
    """

    reasons: tuple[Reason, ...]
    kinds: tuple[str, ...]
    operators: tuple[str, ...]
    called: tuple[str, ...] = ()
    tool: str = ""
    beside: tuple[str, ...] = ()

    @property
    def operator(self) -> str:
        """The operator that fails; empty where the text names none."""
        return self.operators[0] if self.operators else ""

    @cached_property
    def patterns(self) -> str:
        """All reasons' patterns, one a line, in lower case."""
        return "\n".join(reason.pattern for reason in self.reasons).casefold()

    @cached_property
    def clauses(self) -> frozenset[str]:
        """The parts of all reasons that say something by themselves."""
        return frozenset(clause for reason in self.reasons for clause in reason.clauses)

    @property
    def is_prose(self) -> bool:
        """Whether the text names no exception: somebody tells of a failure in words of their own."""
        return bool(self.reasons) and not any(reason.kind for reason in self.reasons)

    @property
    def only_named(self) -> bool:
        """Whether the text is the name of an exception and nothing else."""
        return bool(self.kinds) and not any(reason.text for reason in self.reasons)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of all reasons, in lower case."""
        return split_words("\n".join(f"{reason.kind} {reason.text}" for reason in self.reasons))


@lru_cache(maxsize=100_000)
def clauses_of(pattern: str) -> frozenset[str]:
    """The parts of a pattern that say something by themselves."""
    return frozenset(filter(speaks_alone, (part.strip().casefold() for part in _CLAUSES.split(pattern))))


def speaks_alone(words: str) -> bool:
    """Whether a part of a line says something by itself."""
    return (
        words.casefold() not in _BEFORE_CAUSES and len(words) >= _LEAST_CLAUSE and len(words.split()) >= _CLAUSE_WORDS
    )


def split_words(text: str) -> frozenset[str]:
    """The words of a text, in lower case: a function or type is one word, and so are an axis and a version."""
    axes = (" ".join(axis.split()) for axis in _AXIS.findall(text))
    return frozenset((*(token.casefold() for token in _TOKEN.findall(text)), *axes))


def only_wraps(words: str) -> bool:
    """Whether words only say that another exception happened."""
    return bool(_WRAPPERS.search(words))


def reads_as_error(text: str) -> bool:
    """Whether a text reads like an error rather than like a name: it has several words, or is an exception's name."""
    return len(text.split()) > 1 or is_kind(text)


def is_kind(text: str) -> bool:
    """Whether a text is an exception's name and nothing else."""
    return bool(_BARE_KIND.match(text))


def read_error(text: str) -> ErrorEvidence:
    """Read an error text as it was pasted; an empty one gives no evidence."""
    narrow = _SPACED.sub(lambda run: _BEHIND_IT.sub(r"\1", run[0]), _ANSI.sub("", text))
    whole = _measured_words(both_ends(_BROKEN_LINE.sub("", narrow).translate(_QUOTES)))
    cleaned = _clean(whole)
    reasons = _reasons(cleaned)
    inner = (match["kind"] for reason in reasons for match in _INNER_KIND.finditer(reason.text))
    kinds = tuple(dict.fromkeys((*(reason.kind for reason in reasons if reason.kind), *inner)))
    telling = [reason for reason in reasons if not only_wraps(reason.line)] or reasons
    operators, called = tuple(_operators(whole, telling, reasons)), tuple(_called(whole))
    tool = next((name for name, pattern in _TOOLS if pattern.search(whole)), "")
    return ErrorEvidence(tuple(telling), kinds, operators, called, tool)


def _measured_words(text: str) -> str:
    """A text, and behind it the measured words for what it says in others."""
    found = ((pattern.search(text), words) for pattern, known, words in _OTHER_WORDS if known not in text)
    told = (words.replace(_NUMBER, (*match.groups(), "N")[0] or "N") for match, words in found if match)
    return "\n".join((text, *told))


def mended(text: str) -> str:
    """A text whose misspelt words are right, whose names stand alone and whose blobs are cut, and behind it torch's own
    words where it says in others that an opset is refused.
    """
    text = _MARKED.sub("'", _NO_GAP.sub(" ", _BLOB.sub(r"\1\2", text)))
    for pattern, word in _MISSPELT:
        text = pattern.sub(word, text)
    return f"{text}\nValueError: {_REFUSAL}: N" if _REFUSAL not in text and _REFUSED.search(text) else text


def both_ends(text: str) -> str:
    """A text, of one that is very long its two ends."""
    return text if len(text) <= 2 * LONGEST else f"{text[:LONGEST]}\n{text[-LONGEST:]}"


def without_advice(text: str) -> str:
    """A text without what only advises."""
    return _ADVICE.sub("", text).rstrip(" .")


def _clean(text: str) -> str:
    text = _WHAT.sub("\nException: ", text)
    text = _OF_MODEL.sub("", _OUTER_NODE.sub("", text))
    for pattern in (_LOG_PREFIX, _ADVICE, _NODE_DUMP, _CAUSED_BY, _FRAME, _GRAPH, _ASKED_FOR):
        text = pattern.sub("\n" if pattern is not _CAUSED_BY else " ", text)
    return text


def _reasons(text: str) -> list[Reason]:
    """All exceptions of a text, the innermost first; the whole text where it names no exception."""
    bare = _BARE_KIND.match(text.strip())
    if bare:
        return [Reason(bare["kind"], "")]
    marks = list(_RAISED.finditer(text))
    found = []
    for mark, end in zip(marks, [*(mark.start() for mark in marks[1:]), len(text)], strict=bool(marks)):
        words = text[mark.end() : end].strip()[:_REASON]
        found.append(Reason(mark["quoted"] or mark["plain"] or "", _trimmed(words)))
    found = list(dict.fromkeys(reason for reason in found if reason.text))
    if not found:
        raising = ((match["kind"], match["double"] or match["single"]) for match in _RAISING.finditer(text))
        found = [Reason(kind, words.strip()) for kind, words in raising][-1:]
    if not found:
        found = [Reason("", _complaints(text)[:_REASON])] if text.strip() else []
    return _innermost_first(text, found)[:_MOST_REASONS]


def _complaints(text: str) -> str:
    """The lines of a log that tell of something wrong; all where none does."""
    lines = [line.strip() for line in text.splitlines()]
    return "\n".join(line for line in lines if _WRONG.search(line)) or text.strip()


def _trimmed(words: str) -> str:
    """Without what only ties one exception to the next."""
    for end in _TIES:
        words = words.split(end)[0]
    runtime = _RUNTIME.search(words)
    return (words[runtime.start() :] if runtime else words).strip().strip("│|").strip()


def _innermost_first(text: str, found: list[Reason]) -> list[Reason]:
    """A kept text has its outermost exception first; Python's traceback and torch's summary have it last."""
    if "\ncaused by " in text or (_TRACE_END.search(text) and _DIRECT not in text):
        found = found[::-1]
    # what stopped it before what was only warned of
    return sorted(found, key=lambda reason: reason.warns)


def _operators(whole: str, telling: Sequence[Reason], reasons: Iterable[Reason]) -> list[str]:
    """Operators named, those of the innermost reasons first, then those whose symbolic function raised."""
    found: list[str] = []
    for reason in telling:
        found += _named(f"{reason.kind}: {reason.text}")
    for pattern in (_SYMBOLIC, _TORCHLIB, _REFERENCE):
        frames = [match["op"] for match in pattern.finditer(whole)]
        named = (op for op in reversed(frames) if op not in _NOT_OPERATORS and not op.startswith(_HELPERS))
        found += [spelled(op) if _NAMESPACED.match(op) else op for op in named]
    for reason in (reason for reason in reasons if reason not in telling):
        found += _named(f"{reason.kind}: {reason.text}")
    by_key = _by_key(found)
    if not by_key:
        cleaned = _clean(_LOGGED.sub("", whole) if any(reason.kind for reason in telling) else whole)
        found = [*_listed(cleaned), *_quoted(cleaned), *_onnx_named(cleaned)]
        by_key = _by_key(_named(cleaned)) or _by_key(found)
    return list(by_key.values())


def _by_key(found: Iterable[str]) -> dict[str, str]:
    """What are operators of the names found, each once, by its key."""
    by_key: dict[str, str] = {}
    for op in found:
        key = operator_key(op)
        if key and key not in _NO_OPERATOR:
            by_key.setdefault(key, op)
    return by_key


def _called(text: str) -> Iterator[str]:
    """What the lines call that a text shows as those that failed or were warned of: ``item``, ``slice``."""
    for shown in _SHOWN_LINE.finditer(text):
        for call in _CALL.finditer(shown["code"]):
            yield call["function"] or call["method"] or "slice"


def _named(text: str) -> list[str]:
    every = (match["op"] for rule in _RULES for match in rule.finditer(text))
    found = [spelled(op) for op in every if not op.startswith(_HELPERS[1:])]
    return [*found, "prim::PythonOp"] if "Couldn't export Python operator" in text else found


def _quoted(text: str) -> Iterator[str]:
    return (spelled(match["op"]) for match in _QUOTED_OPERATOR.finditer(text))


def _listed(text: str) -> Iterator[str]:
    return (spelled(name) for found in _LISTS.finditer(text) for name in _LISTED.findall(found["names"]))


def read_attributes(text: str) -> Iterator[str]:
    """The attributes that a text speaks of as such."""
    return (match["name"] or match["before"] for match in _ATTRIBUTE.finditer(text))


def _onnx_named(text: str) -> Iterator[str]:
    """ONNX's operators, and other programs', by their own names, where no sentence names one."""
    found = (match["kind"] or match["op"] or match["before"] or match["alone"] for match in _ONNX_NAMED.finditer(text))
    files = (match["op"] for match in _ONNX_FILE.finditer(text))
    return (op for op in (*found, *files) if op in node_names())


@lru_cache(maxsize=1)
def node_names() -> frozenset[str]:
    """The operators of ONNX, and the layers of other programs, by their own names (``cases/onnx_operators.txt``)."""
    lines = home.packaged_list("onnx_operators.txt").splitlines()
    return frozenset(name for line in lines if not line.startswith("#") for name in line.split())


def spelled(op: str) -> str:
    """torch's operators as ``aten::cross``, ONNX's as they are, and so everyday words (``adaptive pooling``)."""
    if " " in op:
        return op.casefold()
    if "::" in op:
        namespace, _, name = op.partition("::")
        return f"{namespace or 'aten'}::{name}"
    if ":" in op:
        return op.rpartition(":")[2] if op.startswith(("ai.onnx", "org.pytorch.aten")) else op.replace(":", "::")
    if op.startswith(("torch.", "nn.")):
        return f"aten::{op.rpartition('.')[2]}"
    if "." in op and op.rpartition(".")[2][:1].isupper():
        return "::".join(op.rpartition(".")[::2])
    if "." in op:
        namespace, *names = op.replace(".PyCapsule", "").split(".")
        return f"{namespace}::{names[0]}"
    namespaced = _NAMESPACED.match(op)
    if namespaced:
        return f"{namespaced['namespace']}::{namespaced['name']}"
    return op if op[:1].isupper() else f"aten::{op}"
