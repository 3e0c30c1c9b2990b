"""The comparison's short way: outputs that agree, which are most, without the arrays that tell where others do not.

The result is that of :func:`caniexport.worker.compare.compare` to the last bit, or there is none and that one is asked.
"""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from caniexport.worker import compare

_FLOAT32_MAX = float(np.finfo("float32").max)
#: as in compare.py: magnitudes below this count as this in a relative error
_SMALLEST = 1e-6


def agreed(
    expected: Sequence[Any], actual: Sequence[Any], rtol: Optional[float], atol: Optional[float]
) -> Optional[compare.Difference]:
    """The comparison of two lists of arrays that agree; ``None`` where they do not, or where that is not plain."""
    if len(expected) != len(actual) or not expected:
        return None
    parts: List[compare.Difference] = []
    for want, got in zip(expected, actual):
        if not isinstance(got, np.ndarray) or want.dtype != got.dtype or want.shape != got.shape:
            return None
        limits = compare.tolerance(str(want.dtype), rtol, atol)
        errors = _errors(want, got, *limits)
        if errors is None:
            return None
        parts.append(compare.Difference("", errors[0], errors[1], *limits))
    return parts[0] if len(parts) == 1 else compare.worst(parts)


def _errors(want: Any, got: Any, rtol: float, atol: float) -> Optional[Tuple[float, float]]:
    """The largest absolute and relative error of numbers that are within the tolerance."""
    if want.dtype.kind in "biufc" and (want == got).all():
        return 0.0, 0.0
    if want.dtype.kind != "f":
        return None
    left = want.astype(np.float64)
    with np.errstate(all="ignore"):
        error = np.abs(left - got)
        largest = float(error.max())
        if not largest < np.inf:
            return None  # something is not finite
        magnitude = np.abs(left)
        if not (error <= atol + rtol * magnitude).all():
            return None
        relative = float((error / np.maximum(magnitude, _SMALLEST)).max())
    return largest, min(relative, _FLOAT32_MAX)
