"""What one side of a branch calls and the other does without: the operators that a branch is there to leave out."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence

from caniexport.scan.normal import dotted, operator_of
from caniexport.scan.wording import in_name, last_name, named_in

Side = Sequence[ast.AST]

#: operators that every model calls: one of them less on a side says nothing
_COMMON = frozenset(
    "to size item reshape transpose permute squeeze unsqueeze cat stack add sub mul div neg pow exp sqrt zeros ones "
    "empty tensor arange append clone copy detach contiguous float int linear conv2d batchnorm relu sigmoid gelu silu "
    "dropout embedding layernorm matmul sum mean max min abs not and or eq ne lt gt le ge where softmax log_softmax "
    "index slice select split chunk expand repeat broadcast_to expandas gather full fulllike rand masked_fill clamp "
    "argmax all any round trace mode constant pad if loop listconstruct liftfresh".split()
)
#: of these what says nothing even where it is the only one
_SAYS_NOTHING = frozenset(
    "to size reshape transpose permute unsqueeze cat stack add sub mul neg zeros ones empty tensor arange append clone "
    "detach contiguous float int linear conv2d batchnorm relu sigmoid dropout embedding matmul trace mode constant if "
    "loop listconstruct liftfresh".split()
)
#: what only hands on a value to Python, which an export must not do
_TO_PYTHON = frozenset({"item"})
#: calls and arguments that give another type, and arguments that old exporters do not take
_CASTS = frozenset("float double half long int bool to type type_as".split())
_ARGUMENTS = frozenset("dtype antialias scale_factor stable include_self generator ceil_mode".split())
#: what masks are called
_MASK = re.compile(r"mask|(?:^|_)keep(?:$|_)|valid", re.IGNORECASE)
#: functions of Python with an operator's name
_OF_PYTHON = frozenset("min max sum abs round any all int float len range list zip".split())
#: lines of a branch of which it tells what the other side has not
LONG = 20
#: operators of which a function's name has the name for no other reason
_CLEAR = frozenset("softmax matmul interpolate einsum gelu".split())
#: rare operators above which one side is another algorithm
_FEW = 3
#: the operators of ``F.interpolate`` by its mode
_RESIZED = {
    "bilinear": "upsamplebilinear2d", "linear": "upsamplebilinear2d", "trilinear": "upsamplebilinear2d",
    "bicubic": "upsamplebicubic2d", "area": "adaptiveavgpool2d", "nearest": "upsamplenearest2d",
}  # fmt: skip


def left_out(ours: Side, other: Side, known: Collection[str], *, rare_only: bool = False) -> tuple[str, ...]:
    """The operators that the other side calls and ours does without, rare ones first; none where ours only leaves, or
    is another algorithm. ``rare_only``: none that every model calls, either.
    """
    if _applies_a_function(ours):
        return ()  # a node of its own is told by the rule of that function
    here, there = list(_operators(ours)), list(_operators(other))
    missing = [op for op in dict.fromkeys(there) if op in known and op not in here]
    own = own_left_out(ours, other, known) or _switched_off(ours, known)
    if own and not set(missing) - _COMMON:
        return own
    if not _computes(ours):
        return tuple(op for op in missing if op in _TO_PYTHON)
    rare = [op for op in missing if op not in _COMMON]
    if rare:
        return tuple(rare) if len(rare) <= _FEW else ()
    common = [op for op in missing if op not in _SAYS_NOTHING]
    if common or rare_only:
        return tuple(common) if len(common) == 1 and not rare_only else ()
    both = [op for op in dict.fromkeys(there) if op in known and op in here and op not in _SAYS_NOTHING]
    return tuple(both) if len(both) == 1 and not missing and _types(ours) != _types(other) else ()


def calculates(side: Side, known: Collection[str]) -> bool:
    """Whether a side calls an operator."""
    return any(op in known for op in _operators(side))


def own_left_out(ours: Side, other: Side, known: Collection[str]) -> tuple[str, ...]:
    """The operator that the other side has by a function of its own, and ours by torch or by another function:
    ``fused_softmax(x)`` and ``torch.softmax(x)``.
    """
    mine, theirs = _own_functions(ours, known), _own_functions(other, known)
    here = {op for name in mine for op in _words_of(name, known)} | set(_operators(ours))
    both = {op for name in theirs - mine for op in _words_of(name, known)} & here
    return tuple(both) if len(both) == 1 else ()


def _words_of(name: str, known: Collection[str]) -> set[str]:
    """The operators in a name, and what is no word of English by itself."""
    return {*in_name(known, name), *_CLEAR.intersection(name.lower().split("_")) & set(known)}


def _own_functions(side: Side, known: Collection[str]) -> set[str]:
    """The names of functions that a side calls and that are no operators."""
    calls = (item for node in side for item in ast.walk(node) if isinstance(item, ast.Call))
    return {name for call in calls for name in [last_name(call.func)] if name and operator_of(name) not in known}


def _switched_off(side: Side, known: Collection[str]) -> tuple[str, ...]:
    """The operator that a side switches off: ``use_flash_attention = False``."""
    made = (item for node in side for item in ast.walk(node) if isinstance(item, ast.Assign))
    off = (item.targets[0] for item in made if isinstance(item.value, ast.Constant) and item.value.value is False)
    found = {op for target in off for op in named_in(known, last_name(target).replace("_", " "), ())}  # type: ignore[arg-type]
    return tuple(found) if len(found) == 1 else ()


def given_to(call: ast.Call, known: Collection[str]) -> tuple[str, ...]:
    """The operator of a call one of whose arguments a branch chooses."""
    operator = operator_called(call)
    return (operator,) if operator in known and operator not in _SAYS_NOTHING else ()


def operator_called(call: ast.Call) -> str:
    """The operator that a call is of; of ``F.interpolate`` that of its mode, of ``F.unfold`` that of images."""
    path = dotted(call.func) or (call.func.attr if isinstance(call.func, ast.Attribute) else "")
    if path.rpartition(".")[2] == "checkpoint":
        return "prim::pythonop"
    operator = operator_of(path) if path else ""
    if operator == "interpolate":
        given = next((word.value for word in call.keywords if word.arg == "mode"), None)
        resized = _RESIZED.get(str(given.value) if isinstance(given, ast.Constant) else "nearest", operator)
        return resized + "aa" * any(word.arg == "antialias" for word in call.keywords)
    return "im2col" if operator == "unfold" and path.startswith(("F.", "nn.", "torch.nn.")) else operator


def _operators(side: Side) -> Iterator[str]:
    for node in side:
        for item in ast.walk(node):
            if isinstance(item, ast.Call) and getattr(item.func, "id", "") not in _OF_PYTHON:
                yield operator_called(item)
            elif isinstance(item, ast.Subscript) and isinstance(item.ctx, ast.Store) and _is_slice(item.slice):
                yield "copy"
            elif isinstance(item, ast.Subscript) and _is_mask(item.slice):
                yield "index"


def _applies_a_function(side: Side) -> bool:
    """Whether a side applies an autograd function: ``Own.apply(x)``."""
    calls = (dotted(item.func) for node in side for item in ast.walk(node) if isinstance(item, ast.Call))
    return any(path.endswith(".apply") and path.split(".")[-2][:1].isupper() for path in calls)


def _types(side: Side) -> set[str]:
    """The casts of a side, and the arguments that an exporter may not take."""
    calls = [item for node in side for item in ast.walk(node) if isinstance(item, ast.Call)]
    names = {call.func.attr for call in calls if isinstance(call.func, ast.Attribute)}
    return names & _CASTS | {word.arg or "" for call in calls for word in call.keywords} & _ARGUMENTS


def _is_slice(index: ast.expr) -> bool:
    """Whether an index takes a slice, as lists of Python are not written to."""
    return any(isinstance(item, ast.Slice) for item in getattr(index, "elts", [index]))


def _is_mask(index: ast.expr) -> bool:
    """Whether an index chooses by a mask: ``x[x > 0]``, ``x[keep]``."""
    return isinstance(index, ast.Compare) or bool(_MASK.search(getattr(index, "id", "")))


def _computes(side: Side) -> bool:
    """Whether a side calculates anything, and does not only hand on what is there."""
    kinds = (ast.Call, ast.BinOp, ast.Subscript, ast.Compare)
    return any(isinstance(item, kinds) for node in side for item in ast.walk(node))
