"""Calls of operators that say where values were (``sort``, ``topk``): no value is twice in their inputs.

Which of equal values comes first is torch's own choice, and every order of them is right.
"""

from __future__ import annotations

import functools
from typing import Any, List

from caniexport.worker import operators, opinfo
from caniexport.worker.operators import ModuleCall, NoModule, make_call
from caniexport.worker.opinfo import CallSample

#: the operators
NAMES = ("argsort", "sort", "topk")
#: dtypes in which few whole numbers are exact: their values are made from bits, of which these are the first
_BITS = {"float16": ("int16", 0x2C00), "bfloat16": ("int16", 0x2C00)}
#: how many different values there are of a dtype
_MOST = {"bool": 2, "uint8": 1 << 8, "float16": 0x5000, "bfloat16": 0x5000}


@functools.lru_cache(maxsize=4)
def call(name: str, dtype: str, which: str, form: str = "") -> ModuleCall:
    """The call of an entry's sample; raises :class:`NoModule` where there is none."""
    found = opinfo.samples(name, dtype)
    if which not in found:
        raise NoModule("it has no such sample")
    if form not in ("", operators.DYNAMIC):
        raise NoModule("this form is measured of what gives one tensor")
    sets = [_distinct(sample, at, dtype) for at, sample in enumerate(found[which])]
    return make_call(opinfo.entries()[name].op, sets, form)


def _distinct(sample: CallSample, at: int, dtype: str) -> CallSample:
    """The sample with other values in the same order, none of them twice; the sets have none in common."""
    tensors: List[Any] = sample.tensors
    if 2 * tensors[0].numel() > _MOST.get(dtype, 1 << 24):
        raise NoModule("its dtype has fewer values than its input: which of equal ones is first is torch's choice")
    return sample.filled([_spread(tensors[0], at, dtype), *tensors[1:]])


def _spread(tensor: Any, at: int, dtype: str) -> Any:
    import torch

    ranks = tensor.flatten().argsort().argsort() * 2 + at
    bits, first = _BITS.get(dtype, ("", 0))
    values = (ranks + first).to(getattr(torch, bits)).view(tensor.dtype) if bits else ranks.to(tensor.dtype)
    return values.reshape(tensor.shape)
