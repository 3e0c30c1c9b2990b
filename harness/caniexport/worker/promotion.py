"""Type promotion: a binary operator with a tensor and a Python number on either side, and with tensors of two dtypes.

Torch's own database has tensors of one dtype, and numbers of the tensor's kind alone.
"""

from __future__ import annotations

import functools
import operator
from typing import Any, Callable, Dict, List, Tuple

from caniexport.worker.operators import ModuleCall, make_call
from caniexport.worker.opinfo import CallSample

_NUMBERS = {"int": 2, "float": 1.5, "bool": True}
_DTYPES = ("float32", "float16", "bfloat16", "int64", "int32", "uint8", "bool")
_BITWISE = ("and", "or", "xor", "lshift", "rshift")
_OF_PYTHON = {
    "and": operator.and_,
    "or": operator.or_,
    **{name: getattr(operator, name) for name in "add sub mul truediv floordiv mod pow".split()},
    **{name: getattr(operator, name) for name in "eq ne lt le gt ge xor lshift rshift".split()},
}
_OF_TORCH = ("maximum", "minimum", "fmod", "atan2")
#: every operator that is measured
NAMES = (*_OF_PYTHON, *_OF_TORCH)
_LEFT, _RIGHT, WITH = "left", "right", "with"
#: in which order the second tensor, and the second input set, have their values
_VALUES = ((1, 2, 3, 4, 5, 6), (6, 4, 2, 5, 3, 1))


def calls(name: str) -> Dict[str, List[str]]:
    """The calls of an operator by dtype: ``float-left`` (the number is on the left), ``with-int64``."""
    dtypes = [dtype for dtype in _DTYPES if name not in _BITWISE or "float" not in dtype]
    numbers = [number for number in _NUMBERS if name not in _BITWISE or number != "float"]
    sides = () if name in _OF_TORCH else (_LEFT, _RIGHT)
    return {
        dtype: ["{}-{}".format(number, side) for number in numbers for side in sides]
        + ["{}-{}".format(WITH, other) for other in dtypes if other != dtype]
        for dtype in dtypes
    }


@functools.lru_cache(maxsize=4)
def call(name: str, dtype: str, which: str, form: str) -> ModuleCall:
    """The call as a module; raises :class:`caniexport.worker.operators.NoModule` where torch refuses it."""
    sets = [CallSample(_arguments(dtype, which, form, at), {}) for at in range(len(_VALUES))]
    return make_call(_function(name), sets)


def _function(name: str) -> Callable[..., Any]:
    import torch

    found: Callable[..., Any] = _OF_PYTHON.get(name) or getattr(torch, name)
    return found


def _arguments(dtype: str, which: str, form: str, at: int) -> Tuple[Any, ...]:
    tensor = _tensor(dtype, at)
    if which == WITH:
        return tensor, _tensor(form, 1 - at)
    return (_NUMBERS[which], tensor) if form == _LEFT else (tensor, _NUMBERS[which])


def _tensor(dtype: str, at: int) -> Any:
    import torch

    found = torch.tensor(_VALUES[at]).reshape(2, 3)
    return found % 2 == 0 if dtype == "bool" else found.to(getattr(torch, dtype))
