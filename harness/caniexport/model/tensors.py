"""Inputs of a case as data: small, deterministic on every Python, numpy and torch.

A specification names dtype, shape and range; the values come from ``numpy.random.RandomState`` (its stream is
frozen by numpy's own compatibility promise) seeded by the case and the position, so that the same case has the
same inputs in every environment and two input sets of a case always differ.
"""

from __future__ import annotations

import zlib
from typing import Any, Optional, Tuple

_INTEGERS = ("int8", "int16", "int32", "int64", "uint8")


class Spec:
    """One tensor input: ``dtype``, ``shape`` and where its values come from.

    ``data`` (nested sequence) fixes the values; otherwise they are uniform in ``[low, high)``
    (``[low, high]`` is never reached for floats, ``high`` is exclusive for integers).
    """

    def __init__(
        self,
        dtype: str,
        shape: Tuple[int, ...],
        low: float = -1.0,
        high: float = 1.0,
        data: Optional[Any] = None,
    ) -> None:
        self.dtype = dtype
        self.shape = tuple(shape)
        self.low = low
        self.high = high
        self.data = data

    def __repr__(self) -> str:
        if self.data is not None:
            return "values({!r}, {!r})".format(self.data, self.dtype)
        return "{}{}".format(self.dtype, list(self.shape))

    def array(self, seed: str) -> Any:
        """The values as a numpy array; ``seed`` is any text, the same text gives the same values."""
        import numpy as np

        if self.data is not None:
            return np.array(self.data, dtype=self.dtype)
        stream = np.random.RandomState(zlib.crc32(seed.encode("utf-8")) & 0xFFFFFFFF)
        if self.dtype == "bool":
            return stream.randint(0, 2, size=self.shape).astype("bool")
        if self.dtype in _INTEGERS:
            return stream.randint(int(self.low), int(self.high), size=self.shape).astype(self.dtype)
        return stream.uniform(self.low, self.high, size=self.shape).astype(self.dtype)


def f32(*shape: int, low: float = -1.0, high: float = 1.0) -> Spec:
    """A float32 tensor of ``shape``, uniform in ``[low, high)``."""
    return Spec("float32", shape, low, high)


def f64(*shape: int, low: float = -1.0, high: float = 1.0) -> Spec:
    """A float64 tensor of ``shape``, uniform in ``[low, high)``."""
    return Spec("float64", shape, low, high)


def f16(*shape: int, low: float = -1.0, high: float = 1.0) -> Spec:
    """A float16 tensor of ``shape``, uniform in ``[low, high)``."""
    return Spec("float16", shape, low, high)


def i64(*shape: int, low: int = 0, high: int = 10) -> Spec:
    """An int64 tensor of ``shape``, uniform in ``low .. high - 1``."""
    return Spec("int64", shape, low, high)


def i32(*shape: int, low: int = 0, high: int = 10) -> Spec:
    """An int32 tensor of ``shape``, uniform in ``low .. high - 1``."""
    return Spec("int32", shape, low, high)


def u8(*shape: int, low: int = 0, high: int = 10) -> Spec:
    """A uint8 tensor of ``shape``, uniform in ``low .. high - 1``."""
    return Spec("uint8", shape, low, high)


def boolean(*shape: int) -> Spec:
    """A bool tensor of ``shape``, each value true with probability one half."""
    return Spec("bool", shape)


def values(data: Any, dtype: str = "float32") -> Spec:
    """A tensor with exactly these values (a nested sequence, or a number for a 0-d tensor)."""
    import_shape = _find_shape(data)
    return Spec(dtype, import_shape, data=data)


def _find_shape(data: Any) -> Tuple[int, ...]:
    if isinstance(data, (list, tuple)):
        return (len(data),) + (_find_shape(data[0]) if data else ())
    return ()


def make_values(item: Any, seed: str) -> Any:
    """Turn a nested input (specs, numbers, tuples, lists, dicts, ``None``) into numpy arrays and plain values."""
    if isinstance(item, Spec):
        return item.array(seed)
    if isinstance(item, (list, tuple)):
        return type(item)(make_values(part, "{}.{}".format(seed, i)) for i, part in enumerate(item))
    if isinstance(item, dict):
        return {key: make_values(part, "{}.{}".format(seed, key)) for key, part in item.items()}
    return item
