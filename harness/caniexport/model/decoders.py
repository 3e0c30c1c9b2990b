"""Cases that are decoders with a cache of keys and values: one file is to do the prefill and every step after it.

What the module takes and gives are plain tensors; the cache is made of them inside. The first input set, which is
exported, has no size of 0 or 1; the others do, or have other lengths.
"""

from __future__ import annotations

from typing import Dict, Optional, Tuple, Union

from caniexport.model.architectures import ArchitectureCase, Axis, Input, floats, ids
from caniexport.model.releases import Release
from caniexport.model.status import Exporter
from caniexport.model.tensors import Spec, values

#: what the names of these cases begin with
DECODING = "decoding-"
#: how a decoder is called: with a cache that grows by each token, or with one of :data:`SLOTS` that is written into
DYNAMIC_CACHE, STATIC_CACHE = "dynamic_cache", "static_cache"
SLOTS = 16
#: three tokens after four, a step after seven, a step after eleven in another batch, and the prefill
BATCH, LENGTH, PAST = Axis("batch", 2, 2, 3, 2), Axis("length", 3, 1, 1, 7), Axis("past", 4, 7, 11, 0)
TOTAL = Axis("total", *(length + past for length, past in zip(LENGTH.sizes, PAST.sizes)))
#: the forms of decoders only
ATTENTION_OP, EXPORTABLE_MODULE = "attention_op", "torch_exportable_module"
_TRACED, _WRITTEN = (17,), (18, 20, 23, 24)
#: the opsets that have an operator Attention
_ATTENTION_OPSETS = (23, 24)


class DecoderCase(ArchitectureCase):
    """A decoder as a case: by dynamo at each opset that changes it, by trace at one."""

    exporters = (Exporter.TRACE.value, Exporter.DYNAMO.value)

    @classmethod
    def asks(cls, variant: str, release: Release, exporter: str) -> Tuple[Optional[int], ...]:
        """Some opsets of each exporter, the same in every release."""
        asked: Tuple[int, ...] = _TRACED if exporter == Exporter.TRACE.value else _WRITTEN
        if variant == ATTENTION_OP:
            asked = _ATTENTION_OPSETS if exporter == Exporter.DYNAMO.value else ()
        return tuple(item for item in release.opsets(exporter) if item in asked)


class Positions(Input):
    """Where the tokens of an input set are: after those of the past."""

    def of(self, which: int) -> Spec:
        """The tensor in an input set; the first is 0."""
        return values(list(range(PAST.sizes[which], TOTAL.sizes[which])), "int64")


def make_inputs(
    cache: str, layers: int, heads: int, size: int, batch: Union[int, Axis] = BATCH, padded: bool = True
) -> Dict[str, Input]:
    """The inputs of a decoder of so many layers, with so many heads of keys and values of this size."""
    found = {"input_ids": ids(batch, LENGTH), "attention_mask": Input((batch, TOTAL), _hide_two if padded else _ones)}
    if cache == STATIC_CACHE:
        found["cache_position"] = Positions((LENGTH,), _ones)
    held = PAST if cache == DYNAMIC_CACHE else SLOTS
    for layer in range(layers):
        found["key_{}".format(layer)] = floats(batch, heads, held, size)
        found["value_{}".format(layer)] = floats(batch, heads, held, size)
    return found


def _ones(shape: Tuple[int, ...]) -> Spec:
    return values([[1] * shape[1] for _ in range(shape[0])], "int64")


def _hide_two(shape: Tuple[int, ...]) -> Spec:
    """Ones, and zeros at the second and third token of the last row: before any token there is one that it sees."""
    rows = [[1] * shape[1] for _ in range(shape[0])]
    rows[-1][1:3] = [0, 0]
    return values(rows, "int64")
