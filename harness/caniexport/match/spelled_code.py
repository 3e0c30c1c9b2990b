"""Code in a question, spelled as the operators that it calls: ``x[mask] = v`` as ``index_put``, ``a // b`` as
``aten::floor_divide``, ``torch.exp(x + 1)`` as ``torch.exp``.

Variables and numbers go: no case is about them. ``pages/site/spelled_code.js`` spells code alike, with the expressions
below.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from caniexport.match.code_phrases import PHRASES
from caniexport.match.mentions import ENGLISH, every_operator
from caniexport.operators import DTYPE_WORDS, operator_key

_BRANCH = re.compile(r"\b(?:el)?if\s+(?P<given>[^:?\n]*(?:[(\[<>]|==|!=)[^:?\n]*):")
#: a method of what a comparison gives, and a shape that is not indexed
_COMPARED = re.compile(r"\([^()\n]*(?:[<>]|[=!]=)[^()\n]*\)\.(?P<method>\w+)\(")
_SHAPE = re.compile(r"(?<![\w.=])[a-z_]\w*\.shape\b(?![\w\[(])")
#: a variable that is given the result of code
_GIVEN = re.compile(
    r"(?<![\w.])(?!(?:opset|torch|mode|dim)\b)[A-Za-z_]\w{0,7}\s=\s(?:\d[\d.]*\s*[-+*/]\s*)?(?=[\w.]*[(\[])"
)
_OF_SIZE, _OF_VALUE = re.compile(r"\.(?:shape|size|dim)\b|\blen\("), re.compile(r"\w\(|[<>]|[!=]=")
_INSIDE = r"(?:[^\[\]\n]|\[[^\[\]\n]*\])*"
#: what is written to by an index, with the value where that is a name or a number
_WRITTEN = re.compile(
    rf"(?<![\w.])(?P<base>[A-Za-z_][\w.]*)\[(?P<index>{_INSIDE})\]\s*(?://|\*\*|[-+*/|&^])?=(?!=)"
    r"\s*(?P<value>[\w.-]+(?![\w.(\[]))?"
)
#: an index whose parts are numbers, slices or nothing else
_PLAIN_INDEX = re.compile(r"^(?:\s*(?:-?\d+|\.\.\.|None|[^,\[\]]*:[^,\[\]]*)\s*(?:,|$))+$")
_READ = re.compile(rf"(?<![\w.])(?P<base>[a-z_][\w.]*)\[(?P<index>{_INSIDE})\]")
#: by what an index is known, with the words for it
_INDICES = (
    (re.compile(r"mask|[<>=]"), "torch.masked_select mask"),
    (re.compile(r"(?:^|,)\s*(?!None\b)(?:[A-Za-z_]\w[\w.]*|torch\.tensor\b[^,]*)\s*(?:,|$)"), "aten::index"),
    (re.compile(r":\s*-\d"), "negative step slice"),
    (re.compile(r":"), "aten::slice"),
    (re.compile(r"\bNone\b"), "aten::unsqueeze"),
    (re.compile(r"[A-Za-z]"), "aten::index"),
    (re.compile(r"\d"), "aten::select"),
)
_HAS_SIZE = re.compile(r"\.(?:shape|size)\b|(?<![\w.=])size\b(?!=)")
_SIZES = re.compile(r"(?:^|\.)(?:shape|size)\b(?!\.)")
#: a call whose arguments have no further call, and values in brackets among them
_CALL = re.compile(r"(?<![\w.])(?P<name>[A-Za-z_][\w.]*)\((?P<given>[^()\n]*)\)")
_GROUP = re.compile(r"(?<=[=,(])\s*\([\w\s,.*+/:-]*\)")
_PROSE = re.compile(r"[A-Za-z]+\s+[A-Za-z]{2,}|[\u2019?;]")
#: what Python makes of a size or a value, and a method of any tensor
_OF_PYTHON = re.compile(r"^(?:int|float|bool|len|round|range|print|isinstance|min|max|str|math\.\w+)$")
_NUMBERS = frozenset(("int", "float"))
_METHOD = re.compile(
    r"^(?!torch\.|torchvision\.|self\.|nn\.|np\.|math\.|onnx|ort\.|ops\.|aten)[a-z_]\w*\.(?P<method>\w+)$"
)
#: brackets of calls that are read, in which a keyword stays
_OPEN, _SHUT = "\u27e8", "\u27e9"
_COMMA = re.compile(rf",(?![^{_OPEN}{_SHUT}]*{_SHUT})")
#: what stays of an argument: a keyword, a type of tensors, a word in quotes, and what is called in it
_STAYS = re.compile(
    rf"^(?:[A-Za-z_]\w*=(?!=).+|(?:torch\.)?(?:{'|'.join(map(re.escape, DTYPE_WORDS))})|['\"][\w-]+['\"])$"
)
_CALLED = re.compile(
    rf"(?<![\w.])(?:(?:torch|torchvision|F|nn)\.[\w.]+|aten::\w+)(?:{_OPEN}[^{_OPEN}{_SHUT}]*{_SHUT})?|(?<=\.)item\b"
)
#: signs that no sentence has, and what they may stand between
_NO_PROSE = (r"\^", r"\|")
_ANY = r"[A-Za-z_]\w*(?:\.\w+)*"
_OPERAND = r"(?:[A-Za-z]+\d|[A-Za-z]|[A-Za-z_]\w*\.[\w.]+|[a-z]+_\w+)"
_SECOND = rf"(?:{_OPERAND}|-?\d[\d.]*|(?!(?:by|of|to|is|on|in|at|or|and|with|for|are|not|as)\b)[a-z]\w{{0,3}})"
_SIGNED = (
    ("//", "floor_divide"),
    (r"\*\*", "pow"),
    ("%", "remainder"),
    ("@", "matmul"),
    ("&=", "__iand__"),
    (r"\|=", "__ior__"),
    (r"\+=", "add_"),
    (r"\*=", "mul_"),
    ("&", "bitwise_and"),
    (r"\|", "bitwise_or"),
    (r"\^", "bitwise_xor"),
)
#: those of them that a sentence has, too
_SIGNED_APART = ((r"\+", "add"), ("-", "sub"), (r"\*", "mul"), ("/", "div"))
_COMPARING = (("==", "eq"), ("!=", "ne"), (">=", "ge"), ("<=", "le"), (">", "gt"), ("<", "lt"))
#: what stands between two tensors, with the operator that it is
_SIGNS = tuple(
    (
        re.compile(
            rf"(?<![\w./:])(?P<one>{_OPERAND if sign not in _NO_PROSE else _ANY})\s*{sign}"
            rf"\s*(?P<two>{_SECOND if sign not in _NO_PROSE else _ANY})(?![\w./])"
        ),
        f"aten::{name}",
    )
    for sign, name in _SIGNED
)
#: signs that a sentence has, too: between single letters alone, apart from both
_APART = r"(?:[A-Za-z]|[A-Za-z]+\d)"
_SIGNS_APART = tuple(
    (re.compile(rf"(?<![\w./:-]){_APART}\s+{sign}\s+(?:{_APART}|-?\d[\d.]*)(?![\w./(\[])"), f"aten::{name}")
    for sign, name in _SIGNED_APART
)
#: a tensor of which the type is said (``int64 tensor``, ``bool_mask``, ``x.half()``), beside a sign: the types stay
_TYPE = r"(?:float\d*|half|bf16|bfloat16|fp\d\d|double|u?int\d*|long|bool(?:ean)?)"
_METHODS = r"half|double|bfloat16|long|bool|int|float|byte|short"
_OTHER_SIDE = rf"(?:-?\d[\d.]*|True|False|{_OPERAND})"


def _typed(name: str) -> str:
    tensor = rf"(?P<{name}>{_TYPE})(?:_\w+|\s+(?:tensors?|masks?|x)\b)"
    return rf"(?:{tensor}|[A-Za-z_]\w*\.(?P<{name}_cast>{_METHODS})\(\))"


_TYPED_SIGNS = tuple(
    (re.compile(rf"(?<![\w./:\[]){sides}(?![\w./])"), f"aten::{name}")
    for signed, gap in ((_SIGNED, r"\s*"), ((*_SIGNED_APART, *_COMPARING), r"\s+"))
    for sign, name in signed
    for sides in (
        rf"{_typed('first')}{gap}{sign}{gap}(?:{_typed('second')}|{_OTHER_SIDE})",
        rf"{_OTHER_SIDE}{gap}{sign}{gap}{_typed('second')}",
    )
)
#: the last cast of a tensor before something else is done with it, and a tensor of a type as an argument
_CAST = re.compile(
    rf"(?<![\w.])(?P<base>[A-Za-z_]\w*)(?:\.(?:{_METHODS})\(\))*\.(?:(?P<method>{_METHODS})\(\)"
    rf"|(?:to|type)\((?:dtype=)?torch\.(?P<type>{'|'.join(DTYPE_WORDS)})\))(?:\.(?=[a-z])|(?P<end>\s*(?=[,)])))"
)
_TYPE_GIVEN = re.compile(rf"(?<=[(,])\s*(?P<type>{'|'.join(DTYPE_WORDS)})\s+[a-z]\w*(?=\s*[,)])")
_NOT = re.compile(r"(?<![\w~/.])~(?P<one>[a-z]\w*)(?![/\w])")
#: the name of a variable, which may stand elsewhere in a question
_VARIABLE = re.compile(r"(?<![\w.:='\"])(?!dim\b|int\b)[a-z]\w{0,2}(?![\w.:(='\"])")
#: rounds of calls in calls that are looked at, and characters of the longest text that is
_DEEPEST, _LONGEST = 6, 1500


def spell_code(text: str) -> str:
    """A question with the names of operators in the place of its code; what is no code stays as it is, and so does a
    text that is too long for a question.
    """
    if len(text) > _LONGEST:
        return text
    variables: set[str] = set()

    def replace(pattern: re.Pattern[str], spell: str | Callable[[re.Match[str]], str]) -> None:
        nonlocal text

        def drop(found: re.Match[str]) -> str:
            words = spell if isinstance(spell, str) else spell(found)
            if words != found[0]:
                variables.update(item[0] for item in _VARIABLE.finditer(found[0]))
            return words

        text = pattern.sub(drop, text)

    replace(_BRANCH, _spell_branch)
    for sign, operator in _TYPED_SIGNS:
        replace(sign, partial(_spell_typed, operator))
    replace(_CAST, _spell_cast)
    replace(_TYPE_GIVEN, lambda found: found["type"])
    for phrase, words in PHRASES:
        replace(phrase, f" {words} ")
    replace(_GIVEN, " ")
    replace(_COMPARED, lambda found: f" bool x.{found['method']}(")
    replace(_SHAPE, " size ")
    replace(_WRITTEN, lambda found: " aten::copy_ " if _PLAIN_INDEX.search(found["index"]) else " index_put ")
    for _ in range(_DEEPEST):
        replace(_GROUP, "0")
        replace(_CALL, _spell_call)
    replace(_READ, _spell_index)
    for sign, operator in (*_SIGNS, *_SIGNS_APART):
        replace(sign, f" {operator} ")
    replace(_NOT, lambda found: f" aten::bitwise_not {'mask' if 'mask' in found['one'] else ''} ")
    text = _VARIABLE.sub(lambda found: "" if found[0] in variables else found[0], text)
    return text.replace(_OPEN, "(").replace(_SHUT, ")")


def _spell_typed(operator: str, found: re.Match[str]) -> str:
    """An operator behind the types of its tensors that are said."""
    said = found.groupdict()
    types = (said.get(name) for name in ("first", "first_cast", "second", "second_cast"))
    return f" {' '.join(filter(None, types))} {operator} "


def _spell_cast(found: re.Match[str]) -> str:
    """The type before the tensor with which something else is done, or in the place of an argument."""
    dtype = found["method"] or found["type"]
    return dtype if found["end"] is not None else f" {dtype} {found['base']}."


def _spell_branch(found: re.Match[str]) -> str:
    if _OF_SIZE.search(found["given"]):
        return " branch-on-size "
    return " branch-on-value " if _OF_VALUE.search(found["given"]) else found[0]


def _spell_call(found: re.Match[str]) -> str:
    """The name of a function with its keywords, and behind it what its arguments call."""
    given = found["given"]
    if _PROSE.search(given):
        return found[0]
    if _OF_PYTHON.search(found["name"]):
        if found["name"] in _NUMBERS and _HAS_SIZE.search(given):
            return " python number "
        is_size = found["name"] == "len" or _HAS_SIZE.search(given)
        return " size " if is_size else " ".join(item[0] for item in _CALLED.finditer(given))
    parts = [part.strip() for part in _COMMA.split(given)]
    stays = ",".join(part for part in parts if _STAYS.search(part))
    others = ["python number"] if "python number" in given else []
    others += [item[0] for part in parts if not _STAYS.search(part) for item in _CALLED.finditer(part)]
    size = ["size"] if _HAS_SIZE.search(given) else []
    return " ".join((_spell_name(found["name"]) + (f"{_OPEN}{stays}{_SHUT}" if stays else ""), *others, *size))


def _spell_name(name: str) -> str:
    """A method of any tensor (``logits.masked_fill``) as one of ``x``, each of several that are called in a row; what
    is an English word, too, as torch's function.
    """
    if name in ENGLISH and operator_key(name) in every_operator():
        return f"torch.{name}"
    of_any, *methods = name.split(".")
    if methods == ["size"]:
        return "size"
    if of_any == "x" and len(methods) > 1:
        return " ".join(f"x.{method}" for method in methods)
    found = _METHOD.search(name)
    return f"x.{found['method']}" if found and operator_key(found["method"]) in every_operator() else name


def _spell_index(found: re.Match[str]) -> str:
    """What reads by an index: the operator, behind a function whose result is read."""
    if _SIZES.search(found["base"].rpartition(".")[2]):
        return " size "
    words = next((words for pattern, words in _INDICES if pattern.search(found["index"])), "")
    item = " item" if ".item" in found["index"] else ""
    base = found["base"] if "." in found["base"] else ""
    return f" {base} {words}{item} " if words else found[0]
