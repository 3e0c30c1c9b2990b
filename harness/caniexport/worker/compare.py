"""Comparing a runtime's outputs with eager ones: count, dtype, shape, values. Pure; numpy only."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

#: (rtol, atol) by dtype of the expected output: torch.testing's, with float32 widened to what one
#: reordered sum of a few dozen terms costs
TOLERANCES: Dict[str, Tuple[float, float]] = {
    "float16": (1e-2, 1e-3),
    "bfloat16": (2e-2, 1e-2),
    "float32": (1e-4, 1e-5),
    "float64": (1e-6, 1e-8),
    "complex64": (1e-4, 1e-5),
    "complex128": (1e-6, 1e-8),
}
#: magnitudes below this count as this in a relative error
_SMALLEST = 1e-6


class Difference(NamedTuple):
    """What a comparison found; ``problem`` is empty where the outputs agree."""

    problem: str
    max_abs: float
    max_rel: float
    rtol: float
    atol: float


def choose_tolerance(dtype: str, rtol: Optional[float], atol: Optional[float]) -> Tuple[float, float]:
    """Relative and absolute tolerance for an output of ``dtype``; integers and booleans are exact."""
    base = TOLERANCES.get(dtype, (0.0, 0.0))
    exact = dtype not in TOLERANCES
    return (
        base[0] if rtol is None or exact else rtol,
        base[1] if atol is None or exact else atol,
    )


def compare(
    expected: Sequence[Any],
    actual: Sequence[Any],
    rtol: Optional[float],
    atol: Optional[float],
    who: str,
    values: bool = True,
    by_largest: bool = False,
    quanta: Sequence[float] = (),
) -> Difference:
    """Compare two lists of arrays; ``who`` names the side that is judged (``onnxruntime``).

    Without ``values`` only count, dtype and shape are compared: those of random operators differ every time.
    ``by_largest`` allows an absolute error of a tenth of rtol of the largest value: what is left of a sum whose terms
    cancel out is as exact as these terms. ``quanta`` widens the absolute tolerance of each output by one step of its
    quantization: the last bit before it may decide to which step a value is rounded.
    """
    if len(expected) != len(actual):
        problem = "{} output(s) expected, {} gave {}".format(len(expected), who, len(actual))
        return Difference(problem, 0.0, 0.0, *choose_tolerance("float32", rtol, atol))
    quanta = quanta if len(quanta) == len(expected) else [0.0] * len(expected)
    parts = [
        _compare_one("output {}".format(i), want, got, rtol, atol, who, values, by_largest, quanta[i])
        for i, (want, got) in enumerate(zip(expected, actual))
    ]
    return _merge_differences(parts) if parts else Difference("", 0.0, 0.0, 0.0, 0.0)


def find_borrowed_outputs(outputs: Sequence[Any], feeds: Mapping[str, Any]) -> List[str]:
    """Which outputs are the memory of an input that they do not keep alive, one line each.

    ONNX Runtime hands an input out so where an output has its name (pytorch/pytorch#167848). The values are right as
    long as the caller keeps the input, as a measuring process does; once it is freed they are whatever lies there.
    """
    return [
        "output {}: it is the memory of input {}, and goes with it".format(position, name)
        for position, output in enumerate(outputs)
        for name, array in feeds.items()
        if _is_borrowed(output, array)
    ]


def _is_borrowed(output: Any, array: Any) -> bool:
    import numpy as np

    both = isinstance(output, np.ndarray) and isinstance(array, np.ndarray)
    if not both or not output.size or not np.may_share_memory(output, array):
        return False
    return not any(item is owner for item in _find_owners(output) for owner in _find_owners(array))


def _find_owners(array: Any) -> List[Any]:
    """An array and what it keeps alive."""
    found = []
    while array is not None:
        found.append(array)
        array = getattr(array, "base", None)
    return found


def compare_sets(sets: Iterable[Tuple[Sequence[Any], Sequence[Any]]], *settings: Any, **more: Any) -> Difference:
    """As :func:`compare` of the expected and actual outputs of each input set; problems have the set's number."""
    parts = [compare(want, got, *settings, **more) for want, got in sets]
    lines = [
        "input set {}, {}".format(index, line)
        for index, part in enumerate(parts)
        for line in part.problem.split("\n")
        if part.problem
    ]
    return _merge_differences(parts)._replace(problem="\n".join(lines))


def _merge_differences(parts: Sequence[Difference]) -> Difference:
    """Several comparisons as one: all problems, the largest errors, the widest tolerances."""
    return Difference(
        "\n".join(part.problem for part in parts if part.problem),
        max(part.max_abs for part in parts),
        max(part.max_rel for part in parts),
        max(part.rtol for part in parts),
        max(part.atol for part in parts),
    )


def _compare_one(
    name: str,
    want: Any,
    got: Any,
    rtol: Optional[float],
    atol: Optional[float],
    who: str,
    values: bool,
    by_largest: bool,
    quantum: float,
) -> Difference:
    import numpy as np

    want, got = np.asarray(want), np.asarray(got)
    rtol_used, atol_used = choose_tolerance(str(want.dtype), rtol, atol)
    atol_used += quantum
    problems: List[str] = []
    if want.dtype != got.dtype:
        problems.append("{}: dtype {} expected, {} gave {}".format(name, want.dtype, who, got.dtype))
    if want.shape != got.shape:
        problems.append("{}: shape {} expected, {} gave {}".format(name, list(want.shape), who, list(got.shape)))
        return Difference("\n".join(problems), 0.0, 0.0, rtol_used, atol_used)
    if want.size == 0 or not values:
        return Difference("\n".join(problems), 0.0, 0.0, rtol_used, atol_used)
    if by_largest:
        atol_used = max(atol_used, rtol_used / 10 * _find_largest(want))
    error, relative, bad = _compute_errors(want, got, rtol_used, atol_used)
    if bad.any():
        problems.append(_describe_values(name, want, got, error, bad, who))
    return Difference("\n".join(problems), float(error.max()), float(relative.max()), rtol_used, atol_used)


def _find_largest(want: Any) -> float:
    """The largest magnitude among the finite values."""
    import numpy as np

    with np.errstate(all="ignore"):
        magnitude = np.abs(want.astype(np.complex128 if np.iscomplexobj(want) else np.float64))
    return float(np.max(np.where(np.isfinite(magnitude), magnitude, 0.0)))


def _compute_errors(want: Any, got: Any, rtol: float, atol: float) -> Tuple[Any, Any, Any]:
    """Absolute and relative error and which values are out of tolerance; equal infinities and NaNs agree."""
    import numpy as np

    wide = np.complex128 if np.iscomplexobj(want) else np.float64
    with np.errstate(all="ignore"):
        left, right = want.astype(wide), got.astype(wide)
        same = (want == got) | (np.isnan(left) & np.isnan(right))
        error = np.where(same, 0.0, np.abs(left - right))
        magnitude = np.abs(left)
        # not finite on one side only: as wrong as can be
        error = np.where(np.isfinite(error), error, np.finfo("float32").max)
        bad = ~same & ~(error <= atol + rtol * np.where(np.isfinite(magnitude), magnitude, 0.0))
        relative = error / np.maximum(np.where(np.isfinite(magnitude), magnitude, 1.0), _SMALLEST)
    return error, np.minimum(relative, np.finfo("float32").max), bad


def _describe_values(name: str, want: Any, got: Any, error: Any, bad: Any, who: str) -> str:
    import numpy as np

    at = np.unravel_index(int(np.argmax(np.where(bad, error, -1.0))), want.shape)
    where = "[" + ", ".join(str(int(part)) for part in at) + "]"
    return "{}: {} of {} values differ, most at {}: expected {!s}, {} gave {!s}".format(
        name, int(bad.sum()), want.size, where, want[at], who, got[at]
    )
