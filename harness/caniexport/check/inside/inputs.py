"""Make further inputs of a model from those given.

Runs inside an environment: Python 3.7 and numpy.
"""

from __future__ import annotations

import itertools
from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence, Tuple

#: arguments of one call
Arguments = Tuple[Any, ...]
#: the description of a made input set, and the set
Named = Tuple[str, Arguments]
#: by position of an argument, its dynamic axes and their labels
Axes = Mapping[int, Mapping[int, str]]
#: most distinct values of a constant array, and how far they are moved to test rounding
_FEW, _NUDGE = 2, 1e-6
#: the largest size tried for a number in the code, and the most elements of such a tensor
_LARGEST_SIZE, _MOST_ELEMENTS = 4096, 1 << 24
#: sets of inputs that cross a number in the code
_MOST_SIDES = 6
_Change = Callable[[Any, int], Any]


def make_inputs(
    given: Arguments, axes: Axes, names: Sequence[str], numbers: Sequence[float] = ()
) -> Iterator[List[Named]]:
    """Yield lists of alternative input sets, the most useful first; of each list, one accepted set is enough.

    ``numbers`` are those in the model's code.
    """
    yield [("other values of the same range", _map_arrays(given, _draw_values))]
    yield [("the same rows in another order", _map_arrays(given, _reorder))]
    yield from _change_sizes(given, axes, names)
    yield [("integers that are all the same", _map_arrays(given, _repeat_integer))]
    yield [("negative integers", _map_arrays(given, _count_from_end))]
    yield [("integers of which every other one is negative", _map_arrays(given, _alternate_integers))]
    yield [("values with the opposite sign", _map_arrays(given, _negate))]
    yield [("values of which every other one has the opposite sign", _map_arrays(given, _alternate_values))]
    yield [("values ten times as large", _map_arrays(given, _enlarge))]
    yield [("two values only, so that many tie", _map_arrays(given, _make_ties))]
    yield [("zeros", _map_arrays(given, _make_zeros))]
    yield [(_describe_flags(given, "flags that are all set", "ones throughout"), _map_arrays(given, _set_flags))]
    yield [(_describe_flags(given, "flags of which none is set", "zeros throughout"), _map_arrays(given, _clear_flags))]
    yield from _change_numbers(given, names)
    sides = itertools.chain(_cross_numbers(given, names, numbers), _sizes_near_numbers(given, axes, names, numbers))
    yield from ([side] for side in itertools.islice(sides, _MOST_SIDES))


def to_double(given: Arguments) -> Arguments:
    """Return the inputs in double precision."""
    import numpy as np

    found: Arguments = _map_arrays(given, lambda item, _: item.astype("float64") if item.dtype == np.float32 else item)
    return found


def nudge_constants(inputs: Arguments, given: Arguments) -> Arguments:
    """Add noise to the constant arrays: a millionth of the largest value given for each."""
    import numpy as np

    sizes = iter([float(np.abs(item).max()) for item in _arrays(given)])
    moved = [_is_constant(item) for item in _arrays(inputs)]
    if not any(moved):
        return inputs
    steps = iter([size * _NUDGE * is_moved for size, is_moved in zip(sizes, moved)])
    found: Arguments = _map_arrays(
        inputs, lambda item, seed: _add_noise(item, seed, next(steps)) if item.dtype == np.float32 else item
    )
    return found


def _is_constant(item: Any) -> bool:
    """Whether an array has at most two distinct values."""
    import numpy as np

    return bool(item.size > _FEW) and len(np.unique(item)) <= _FEW


def _arrays(inputs: Arguments) -> List[Any]:
    return [item for item in leaf_values(inputs) if getattr(item, "dtype", None) == "float32" and item.size]


def _add_noise(item: Any, seed: int, size: float) -> Any:
    import numpy as np

    return (item + np.random.RandomState(seed).uniform(-size, size, item.shape)).astype("float32")


def is_different(given: Arguments, other: Arguments) -> bool:
    """Whether two sets of inputs differ in any value or shape."""
    import numpy as np

    left, right = list(leaf_values(given)), list(leaf_values(other))
    return len(left) != len(right) or not all(
        np.array_equal(one, two) and np.shape(one) == np.shape(two) for one, two in zip(left, right)
    )


def leaf_values(item: Any) -> Iterator[Any]:
    """Yield the leaves of a nest of lists, tuples and dictionaries."""
    if isinstance(item, (list, tuple)):
        for part in item:
            yield from leaf_values(part)
    elif isinstance(item, dict):
        yield from leaf_values(list(item.values()))
    else:
        yield item


def _map_arrays(item: Any, change: _Change, seed: int = 0) -> Any:
    """Apply ``change`` to every array of a nest, with another seed for each.

    An array without axes stays an array, where numpy would return a scalar.
    """
    import numpy as np

    if isinstance(item, (list, tuple)):
        return type(item)([_map_arrays(part, change, seed * 31 + position + 1) for position, part in enumerate(item)])
    if isinstance(item, dict):
        return {
            key: _map_arrays(part, change, seed * 31 + position + 1)
            for position, (key, part) in enumerate(item.items())
        }
    return np.asarray(change(item, seed)) if hasattr(item, "dtype") and item.size else item


def _draw_values(item: Any, seed: int) -> Any:
    """Draw random values from the range of those given; flags stay flags, boxes are reordered."""
    import numpy as np

    stream = np.random.RandomState(seed)
    if item.dtype.kind == "b" or _is_flags(item):
        return stream.randint(0, 2, size=item.shape).astype(item.dtype)
    if item.dtype.kind in "iu":
        return stream.randint(int(item.min()), int(item.max()) + 1, size=item.shape).astype(item.dtype)
    if not _is_free(item):
        return _reorder(item, seed)
    low, high = float(item.min()), float(item.max())
    return stream.uniform(low, high if high > low else low + 1, size=item.shape).astype(item.dtype)


def _reorder(item: Any, seed: int) -> Any:
    """Roll whole slices, so that the four numbers of a box stay together.

    An array of one floating point value (zeros, ones) gets values between 0 and 1.
    """
    import numpy as np

    if item.dtype.kind == "f" and (item == item.reshape(-1)[:1]).all():
        return np.random.RandomState(seed).uniform(size=item.shape).astype(item.dtype)
    turned = (np.roll(item, 1, axis) for axis in range(item.ndim))
    return next((other for other in turned if not np.array_equal(other, item)), item.copy())


def _repeat_integer(item: Any, _: int) -> Any:
    import numpy as np

    return np.full_like(item, item.reshape(-1)[0]) if item.dtype.kind in "iu" and not _is_flags(item) else item


def _count_from_end(item: Any, _: int) -> Any:
    """Turn indices into negative ones, which are valid if those given are."""
    return -1 - item if item.dtype.kind == "i" and not _is_flags(item) else item


def _negate(item: Any, _: int) -> Any:
    return -item if item.dtype.kind in "fc" and _is_free(item) else item


def _enlarge(item: Any, _: int) -> Any:
    return (item * 10).astype(item.dtype) if item.dtype.kind in "fc" and _is_free(item) else item


def _alternate_integers(item: Any, seed: int) -> Any:
    """Make every other integer negative; in neighboring arguments the others."""
    return _alternate(item, _count_from_end(item, seed), seed)


def _alternate_values(item: Any, seed: int) -> Any:
    return _alternate(item, _negate(item, seed), seed)


def _alternate(item: Any, other: Any, seed: int) -> Any:
    import numpy as np

    positions = np.arange(item.size).reshape(item.shape)
    return np.where((positions + seed) % 2 == 0, item, other).astype(item.dtype)


def _make_ties(item: Any, _: int) -> Any:
    import numpy as np

    if item.dtype.kind != "f" or not _is_free(item):
        return item
    middle = np.median(item)
    return np.where(item > middle, item.max(), item.min()).astype(item.dtype)


def _make_zeros(item: Any, _: int) -> Any:
    import numpy as np

    return np.zeros_like(item) if _is_free(item) else item


def _set_flags(item: Any, _: int) -> Any:
    import numpy as np

    return np.ones_like(item) if item.dtype.kind == "b" or _is_flags(item) else item


def _clear_flags(item: Any, _: int) -> Any:
    import numpy as np

    return np.zeros_like(item) if item.dtype.kind == "b" or _is_flags(item) else item


def _describe_flags(given: Arguments, flags: str, numbers: str) -> str:
    """Return ``flags``, or ``numbers`` if all possible flags are floats of one value."""
    import numpy as np

    arrays = [item for item in leaf_values(given) if hasattr(item, "dtype") and item.size]
    taken = [item for item in arrays if item.dtype.kind == "b" or _is_flags(item)]
    is_numbers = all(item.dtype.kind == "f" and len(np.unique(item)) == 1 for item in taken)
    return numbers if taken and is_numbers else flags


def _is_flags(item: Any) -> bool:
    """Whether a numeric array has only zeros and ones, as masks have."""
    return item.dtype.kind in "iuf" and item.size > 1 and bool(((item == 0) | (item == 1)).all())


def _is_free(item: Any) -> bool:
    """Whether an array may get any value: no mask, no boxes, no infinities.

    All ones or all zeros count as values, not as a mask.
    """
    import numpy as np

    if item.dtype.kind not in "fc":
        return bool(item.dtype.kind != "b")
    is_finite = bool(np.isfinite(item).all())
    is_mask = _is_flags(item) and len(np.unique(item)) > 1
    return is_finite and not is_mask and not _is_boxes(item)


def _is_boxes(item: Any) -> bool:
    """Whether an array looks like boxes: rows of four numbers, the last two at least the first two."""
    if item.ndim < 2 or item.shape[-1] != 4 or item.size < 8:
        return False
    return bool((item[..., :2] <= item[..., 2:]).all())


def _change_sizes(given: Arguments, axes: Axes, names: Sequence[str]) -> Iterator[List[Named]]:
    """Yield sets with larger sizes and size 1 of all dynamic axes, then of each label alone."""
    sizes = _read_sizes(given, axes)
    if not sizes:
        return
    larger = [
        {label: wanted(size) for label, size in sizes.items()} for wanted in (_odd, _double, lambda size: size + 1)
    ]
    ones = [dict.fromkeys(sizes, 1)]
    apart = [[{label: other} for other in (1, _odd(size), _double(size))] for label, size in sizes.items()]
    for each in (larger, ones, *(apart if len(sizes) > 1 else ())):
        found = [_resize(given, axes, names, new) for new in each]
        yield [alternative for text, inputs in found for alternative in ((text, _break_ties(inputs)), (text, inputs))]


def _sizes_near_numbers(
    given: Arguments, axes: Axes, names: Sequence[str], numbers: Sequence[float]
) -> Iterator[Named]:
    """Yield sets in which one label's size crosses one of ``numbers``."""
    for label, size in _read_sizes(given, axes).items():
        for number in numbers:
            other = int(number) + (1 if size <= number else -1)
            named = _resize(given, axes, names, {label: other}) if 0 < other <= _LARGEST_SIZE else ("", given)
            if named[0] and all(item.size * other <= _MOST_ELEMENTS * size for item in _arrays(given)):
                yield named


def _break_ties(inputs: Arguments) -> Arguments:
    """Replace the values of repeated rows, so that no result depends on ties."""
    found: Arguments = _map_arrays(
        inputs, lambda item, seed: _draw_values(item, seed) if item.dtype.kind == "f" else item
    )
    return found


def _odd(size: int) -> int:
    return 2 * size + 1


def _double(size: int) -> int:
    return 2 * size


def _read_sizes(given: Arguments, axes: Axes) -> Dict[str, int]:
    """Return the size of every label."""
    found: Dict[str, int] = {}
    for position, labels in axes.items():
        for axis, label in labels.items():
            if position < len(given) and len(getattr(given[position], "shape", ())) > axis:
                found.setdefault(label, given[position].shape[axis])
    return {label: size for label, size in found.items() if size}


def _resize(given: Arguments, axes: Axes, names: Sequence[str], sizes: Mapping[str, int]) -> Named:
    """Return the inputs with these sizes, by repeating or dropping rows, and a description."""
    import numpy as np

    found, texts = list(given), []
    for position, labels in axes.items():
        for axis, label in labels.items():
            size = getattr(given[position], "shape", ())[axis : axis + 1] if position < len(given) else ()
            if label in sizes and size and size[0]:
                found[position] = np.take(found[position], np.arange(sizes[label]) % size[0], axis)
                texts.append("{}:{} of size {}".format(names[position], axis, sizes[label]))
    return ", ".join(texts), tuple(found)


def _change_numbers(given: Arguments, names: Sequence[str]) -> Iterator[List[Named]]:
    """Yield sets with a larger or smaller number for each Python number or array of one integer."""
    for position, item in enumerate(given):
        value = _constant_number(item)
        if value is None:
            continue
        others = [value + 1, value - 1] if isinstance(value, int) else [value * 2 + 1]
        text = "{} = {} instead of {}"
        yield [
            (
                text.format(names[position], other, value),
                (*given[:position], _fill(item, other), *given[position + 1 :]),
            )
            for other in others
        ]


def _cross_numbers(given: Arguments, names: Sequence[str], numbers: Sequence[float]) -> Iterator[Named]:
    """Yield sets in which the values of one argument cross one of ``numbers``."""
    import numpy as np

    for (position, item), number in itertools.product(enumerate(given), numbers):
        largest = float(np.abs(item).max()) if getattr(item, "size", 0) and item.dtype.kind in "iuf" else 0.0
        if isinstance(item, bool) or (not largest and not isinstance(item, (int, float))):
            continue
        if hasattr(item, "dtype") and item.dtype.kind == "f" and item.size > 1:
            wanted = number * (2.0 if largest <= number else 0.5)
            text, other = "scaled to {} at most".format(wanted), (item * (wanted / largest)).astype(item.dtype)
        else:
            wanted = int(number) + (1 if (largest or item) <= number else -1)
            text, other = "= {} throughout".format(wanted), _fill(item, wanted)
        yield "{} {}".format(names[position], text), (*given[:position], other, *given[position + 1 :])


def _constant_number(item: Any) -> Any:
    """Return the number that an argument consists of, or ``None``."""
    if isinstance(item, (int, float)) and not isinstance(item, bool):
        return item
    is_whole = hasattr(item, "dtype") and item.dtype.kind in "iu" and item.size and not _is_flags(item)
    return int(item.reshape(-1)[0]) if is_whole and (item == item.reshape(-1)[:1]).all() else None


def _fill(item: Any, value: Any) -> Any:
    import numpy as np

    return np.full_like(item, value) if hasattr(item, "dtype") else value
