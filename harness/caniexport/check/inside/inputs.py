"""Make further inputs of a model from those given.

Runs inside an environment: Python 3.7 and numpy.
"""

from __future__ import annotations

import itertools
from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence, Tuple

import numpy as np

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
#: changes an array; the number is another one for each array
_Change = Callable[[Any, int], Any]


def make_inputs(
    given: Arguments, axes: Axes, names: Sequence[str], numbers: Sequence[float] = ()
) -> Iterator[List[Named]]:
    """Yield lists of alternative input sets, the most useful first; of each list, one accepted set is enough.

    ``numbers`` are those in the model's code.
    """
    yield from ([(text, _map_arrays(given, change))] for text, change in _NEAR)
    yield from _change_sizes(given, axes, names)
    yield from ([(text, _map_arrays(given, change))] for text, change in _FAR)
    yield from _change_numbers(given, names)
    sides = itertools.chain(_cross_numbers(given, names, numbers), _sizes_near_numbers(given, axes, names, numbers))
    yield from ([side] for side in itertools.islice(sides, _MOST_SIDES))


def to_double(given: Arguments) -> Arguments:
    """Return the inputs in double precision."""
    return _map_floats(given, lambda item, _: item.astype("float64"))


def nudge_constants(inputs: Arguments, given: Arguments) -> Arguments:
    """Add noise to the constant arrays: a millionth of the largest value given for each."""
    largest = [float(np.abs(item).max()) for item in _floats(given)]
    moved = [bool(item.size > _FEW) and len(np.unique(item)) <= _FEW for item in _floats(inputs)]
    if not any(moved):
        return inputs
    steps = iter([size * _NUDGE * is_moved for size, is_moved in zip(largest, moved)])

    def add_noise(item: Any, seed: int) -> Any:
        size = next(steps)
        return (item + np.random.RandomState(seed).uniform(-size, size, item.shape)).astype("float32")

    return _map_floats(inputs, add_noise)


def _floats(inputs: Arguments) -> List[Any]:
    return [item for item in leaf_values(inputs) if getattr(item, "dtype", None) == "float32" and item.size]


def _map_floats(inputs: Arguments, change: _Change) -> Arguments:
    found: Arguments = _map_arrays(inputs, lambda item, seed: change(item, seed) if item.dtype == np.float32 else item)
    return found


def is_different(given: Arguments, other: Arguments) -> bool:
    """Whether two sets of inputs differ in any value or shape."""
    left, right = list(leaf_values(given)), list(leaf_values(other))
    return len(left) != len(right) or not all(
        np.array_equal(one, two) and np.shape(one) == np.shape(two) for one, two in zip(left, right)
    )


def leaf_values(item: Any) -> Iterator[Any]:
    """Yield the leaves of a nest of lists, tuples and dictionaries."""
    if isinstance(item, (list, tuple, dict)):
        for part in item.values() if isinstance(item, dict) else item:
            yield from leaf_values(part)
    else:
        yield item


def _map_arrays(item: Any, change: _Change, seed: int = 0) -> Any:
    """Apply ``change`` to every array of a nest, with another seed for each.

    An array without axes stays an array, where numpy would return a scalar.
    """
    if isinstance(item, (list, tuple)):
        return type(item)([_map_arrays(part, change, seed * 31 + position + 1) for position, part in enumerate(item)])
    if isinstance(item, dict):
        return dict(zip(item, _map_arrays(list(item.values()), change, seed)))
    return np.asarray(change(item, seed)) if hasattr(item, "dtype") and item.size else item


def _draw_values(item: Any, seed: int) -> Any:
    """Draw random values from the range of those given; flags stay flags, boxes are reordered."""
    stream = np.random.RandomState(seed)
    if _is_flags(item):
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
    if item.dtype.kind == "f" and (item == item.reshape(-1)[:1]).all():
        return np.random.RandomState(seed).uniform(size=item.shape).astype(item.dtype)
    turned = (np.roll(item, 1, axis) for axis in range(item.ndim))
    return next((other for other in turned if not np.array_equal(other, item)), item.copy())


def _repeat_integer(item: Any, _: int) -> Any:
    return np.full_like(item, item.reshape(-1)[0]) if item.dtype.kind in "iu" and not _is_flags(item) else item


def _count_from_end(item: Any, _: int) -> Any:
    """Turn indices into negative ones, which are valid if those given are."""
    return -1 - item if item.dtype.kind == "i" and not _is_flags(item) else item


def _scale(factor: int) -> _Change:
    return lambda item, _: (item * factor).astype(item.dtype) if item.dtype.kind in "fc" and _is_free(item) else item


def _alternate(change: _Change) -> _Change:
    """Change every other value; in neighboring arguments the others."""

    def alternate(item: Any, seed: int) -> Any:
        is_even = (np.arange(item.size).reshape(item.shape) + seed) % 2 == 0
        return np.where(is_even, item, change(item, seed)).astype(item.dtype)

    return alternate


def _make_ties(item: Any, _: int) -> Any:
    if item.dtype.kind != "f" or not _is_free(item):
        return item
    return np.where(item > np.median(item), item.max(), item.min()).astype(item.dtype)


def _make_zeros(item: Any, _: int) -> Any:
    return np.zeros_like(item) if _is_free(item) else item


def _fill_flags(value: int) -> _Change:
    return lambda item, _: np.full_like(item, value) if _is_flags(item) else item


#: changes by their description, before the sizes are changed and after
_NEAR: Sequence[Tuple[str, _Change]] = (
    ("other values of the same range", _draw_values),
    ("the same rows in another order", _reorder),
)
_FAR: Sequence[Tuple[str, _Change]] = (
    ("integers that are all the same", _repeat_integer),
    ("negative integers", _count_from_end),
    ("integers of which every other one is negative", _alternate(_count_from_end)),
    ("values with the opposite sign", _scale(-1)),
    ("values of which every other one has the opposite sign", _alternate(_scale(-1))),
    ("values ten times as large", _scale(10)),
    ("two values only, so that many tie", _make_ties),
    ("zeros", _make_zeros),
    ("ones throughout", _fill_flags(1)),
    ("zeros throughout", _fill_flags(0)),
)


def _is_flags(item: Any) -> bool:
    """Whether an array is of truth values, or has only zeros and ones, as masks have."""
    is_numbers = item.dtype.kind in "iuf" and item.size > 1
    return item.dtype.kind == "b" or (is_numbers and bool(((item == 0) | (item == 1)).all()))


def _is_free(item: Any) -> bool:
    """Whether an array may get any value: no mask, no boxes, no infinities.

    All ones or all zeros count as values, not as a mask.
    """
    if item.dtype.kind not in "fc":
        return bool(item.dtype.kind != "b")
    is_mask = _is_flags(item) and len(np.unique(item)) > 1
    return bool(np.isfinite(item).all()) and not is_mask and not _is_boxes(item)


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
    larger = [{label: size * times + more for label, size in sizes.items()} for times, more in ((2, 1), (2, 0), (1, 1))]
    apart = [[{label: other} for other in (1, 2 * size + 1, 2 * size)] for label, size in sizes.items()]
    for each in (larger, [dict.fromkeys(sizes, 1)], *(apart if len(sizes) > 1 else ())):
        found = [_resize(given, axes, names, new) for new in each]
        yield [alternative for text, inputs in found for alternative in ((text, _break_ties(inputs)), (text, inputs))]


def _sizes_near_numbers(
    given: Arguments, axes: Axes, names: Sequence[str], numbers: Sequence[float]
) -> Iterator[Named]:
    """Yield sets in which one label's size crosses one of ``numbers``."""
    for (label, size), number in itertools.product(_read_sizes(given, axes).items(), numbers):
        other = int(number) + (1 if size <= number else -1)
        is_likely = 0 < other <= _LARGEST_SIZE
        if is_likely and all(item.size * other <= _MOST_ELEMENTS * size for item in _floats(given)):
            yield _resize(given, axes, names, {label: other})


def _break_ties(inputs: Arguments) -> Arguments:
    """Replace the values of repeated rows, so that no result depends on ties."""
    found: Arguments = _map_arrays(
        inputs, lambda item, seed: _draw_values(item, seed) if item.dtype.kind == "f" else item
    )
    return found


def _read_sizes(given: Arguments, axes: Axes) -> Dict[str, int]:
    """Return the size of every label."""
    found: Dict[str, int] = {}
    for position, labels in axes.items():
        for axis, label in labels.items():
            size = getattr(given[position], "shape", ())[axis : axis + 1]
            if size and size[0]:
                found.setdefault(label, size[0])
    return found


def _resize(given: Arguments, axes: Axes, names: Sequence[str], sizes: Mapping[str, int]) -> Named:
    """Return the inputs with these sizes, by repeating or dropping rows, and a description."""
    found, texts = list(given), []
    for position, labels in axes.items():
        for axis, label in labels.items():
            size = getattr(given[position], "shape", ())[axis : axis + 1]
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
            (text.format(names[position], other, value), _put(given, position, _fill(item, other))) for other in others
        ]


def _cross_numbers(given: Arguments, names: Sequence[str], numbers: Sequence[float]) -> Iterator[Named]:
    """Yield sets in which the values of one argument cross one of ``numbers``."""
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
        yield "{} {}".format(names[position], text), _put(given, position, other)


def _constant_number(item: Any) -> Any:
    """Return the number that an argument consists of, or ``None``."""
    if isinstance(item, (int, float)) and not isinstance(item, bool):
        return item
    is_whole = hasattr(item, "dtype") and item.dtype.kind in "iu" and item.size and not _is_flags(item)
    return int(item.reshape(-1)[0]) if is_whole and (item == item.reshape(-1)[:1]).all() else None


def _fill(item: Any, value: Any) -> Any:
    return np.full_like(item, value) if hasattr(item, "dtype") else value


def _put(given: Arguments, position: int, other: Any) -> Arguments:
    return (*given[:position], other, *given[position + 1 :])
