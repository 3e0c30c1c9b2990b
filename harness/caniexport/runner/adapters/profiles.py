"""Optimisation profiles for TensorRT: what a file leaves open, it is told beforehand, from the bundle's own inputs."""

from __future__ import annotations

from typing import Any, List, NamedTuple, Sequence

import numpy as np

#: smallest, best and largest size of an open dimension, where no input has one outside: a file that is exported with
#: open dimensions is meant for more sizes than those of its inputs
_SIZES = (1, 2, 16)


class ProfileRange(NamedTuple):
    """Sizes or values of one input, in the order in which a profile takes them."""

    smallest: List[int]
    best: List[int]
    largest: List[int]


def choose_sizes(shape: Sequence[int], seen: Sequence[Sequence[int]]) -> ProfileRange:
    """Return a size for each axis of an input: smallest, best and largest. The best is that of the first input set.

    ``shape`` is the file's, -1 where an axis is open; ``seen`` are the shapes in the bundle's input sets.
    """
    found = []
    for axis, extent in enumerate(shape):
        here = [one[axis] for one in seen if len(one) == len(shape)]
        found.append(_choose_range(here) if extent == -1 else (extent,) * 3)
    return ProfileRange(*([int(axis[place]) for axis in found] for place in range(3)))


def choose_values(arrays: Sequence[Any]) -> ProfileRange:
    """Return the smallest, first and largest of each value of an integer input, over the arrays of its input sets."""
    flat = np.stack([np.asarray(array).reshape(-1) for array in arrays]).astype("int64")
    return ProfileRange(flat.min(axis=0).tolist(), flat[0].tolist(), flat.max(axis=0).tolist())


def _choose_range(here: Sequence[int]) -> Sequence[int]:
    smallest, best, largest = _SIZES
    return (min([smallest, *here]), here[0] if here else best, max([largest, *here]))
