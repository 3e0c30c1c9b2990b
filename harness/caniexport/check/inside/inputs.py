"""Further inputs of a model, made from those given: what one example hides shows where another one differs in its way.

Runs inside an environment: Python 3.7 and numpy.
"""

from __future__ import annotations

import itertools
from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence, Tuple

#: arguments of one call
Arguments = Tuple[Any, ...]
#: what tells a set of inputs from the given one, and the set
Named = Tuple[str, Arguments]
#: by position of an argument: its axes that vary, and the label of each
Axes = Mapping[int, Mapping[int, str]]
#: values that are hardly any, and how far they are moved to see what rounding would do
_FEW, _NUDGE = 2, 1e-6
#: the largest size that is tried for a number in the code, and the most elements of a tensor that has it
_LARGEST_SIZE, _MOST_ELEMENTS = 4096, 1 << 24
#: sets of inputs on another side of a number in the code
_MOST_SIDES = 6
_Change = Callable[[Any, int], Any]


def further_inputs(
    given: Arguments, axes: Axes, names: Sequence[str], numbers: Sequence[float] = ()
) -> Iterator[List[Named]]:
    """Sets of inputs to run beside the given ones, the most telling first; ``numbers`` stand in the model's code.

    Each list has alternatives: of these the first that the model takes is enough.
    """
    yield [("other values of the same range", _changed(given, _drawn))]
    yield [("the same rows in another order", _changed(given, _turned))]
    yield from _other_sizes(given, axes, names)
    yield [("integers that are all the same", _changed(given, _repeated))]
    yield [("negative integers", _changed(given, _below_zero))]
    yield [("integers of which every other one is negative", _changed(given, _alternating_integers))]
    yield [("values with the opposite sign", _changed(given, _negated))]
    yield [("values of which every other one has the opposite sign", _changed(given, _alternating_values))]
    yield [("values ten times as large", _changed(given, _enlarged))]
    yield [("two values only, so that many tie", _changed(given, _tied))]
    yield [("zeros", _changed(given, _zeroed))]
    yield [(_told(given, "flags that are all set", "ones throughout"), _changed(given, _all_set))]
    yield [(_told(given, "flags of which none is set", "zeros throughout"), _changed(given, _none_set))]
    yield from _other_numbers(given, names)
    sides = itertools.chain(_other_sides(given, names, numbers), _sizes_around(given, axes, names, numbers))
    yield from ([side] for side in itertools.islice(sides, _MOST_SIDES))


def widened(given: Arguments) -> Arguments:
    """The same inputs with twice the precision."""
    import numpy as np

    found: Arguments = _changed(given, lambda item, _: item.astype("float64") if item.dtype == np.float32 else item)
    return found


def nudged(inputs: Arguments, given: Arguments) -> Arguments:
    """Inputs of hardly any different values, each of those moved by a millionth of the largest given for it; others as
    they are.
    """
    import numpy as np

    sizes = iter([float(np.abs(item).max()) for item in _arrays(given)])
    moved = [_is_constant(item) for item in _arrays(inputs)]
    if not any(moved):
        return inputs
    steps = iter([size * _NUDGE * is_moved for size, is_moved in zip(sizes, moved)])
    found: Arguments = _changed(
        inputs, lambda item, seed: _noisy(item, seed, next(steps)) if item.dtype == np.float32 else item
    )
    return found


def _is_constant(item: Any) -> bool:
    """Whether hardly any of many values differ."""
    import numpy as np

    return bool(item.size > _FEW) and len(np.unique(item)) <= _FEW


def _arrays(inputs: Arguments) -> List[Any]:
    return [item for item in _parts(inputs) if getattr(item, "dtype", None) == "float32" and item.size]


def _noisy(item: Any, seed: int, size: float) -> Any:
    import numpy as np

    return (item + np.random.RandomState(seed).uniform(-size, size, item.shape)).astype("float32")


def different(given: Arguments, other: Arguments) -> bool:
    """Whether two sets of inputs differ in any value or shape."""
    import numpy as np

    left, right = list(_parts(given)), list(_parts(other))
    return len(left) != len(right) or not all(
        np.array_equal(one, two) and np.shape(one) == np.shape(two) for one, two in zip(left, right)
    )


def _parts(item: Any) -> Iterator[Any]:
    """The arrays and numbers in a nest."""
    if isinstance(item, (list, tuple)):
        for part in item:
            yield from _parts(part)
    elif isinstance(item, dict):
        yield from _parts(list(item.values()))
    else:
        yield item


def _changed(item: Any, change: _Change, seed: int = 0) -> Any:
    """A nest with every array changed; ``change`` is told a number that is another one for each array.

    An array without axes stays one: numpy calculates a number of its own from it, which is no input of a file.
    """
    import numpy as np

    if isinstance(item, (list, tuple)):
        return type(item)([_changed(part, change, seed * 31 + place + 1) for place, part in enumerate(item)])
    if isinstance(item, dict):
        return {key: _changed(part, change, seed * 31 + place + 1) for place, (key, part) in enumerate(item.items())}
    return np.asarray(change(item, seed)) if hasattr(item, "dtype") and item.size else item


def _drawn(item: Any, seed: int) -> Any:
    """Values drawn from the range of those given; flags stay flags, and boxes another order of themselves."""
    import numpy as np

    stream = np.random.RandomState(seed)
    if item.dtype.kind == "b" or _is_flags(item):
        return stream.randint(0, 2, size=item.shape).astype(item.dtype)
    if item.dtype.kind in "iu":
        return stream.randint(int(item.min()), int(item.max()) + 1, size=item.shape).astype(item.dtype)
    if not _is_free(item):
        return _turned(item, seed)
    low, high = float(item.min()), float(item.max())
    return stream.uniform(low, high if high > low else low + 1, size=item.shape).astype(item.dtype)


def _turned(item: Any, seed: int) -> Any:
    """Whole slices in another order, so that what belongs together stays together: the four numbers of a box.

    An array of one floating point value throughout (zeros, ones) gets values between 0 and 1.
    """
    import numpy as np

    if item.dtype.kind == "f" and (item == item.reshape(-1)[:1]).all():
        return np.random.RandomState(seed).uniform(size=item.shape).astype(item.dtype)
    turned = (np.roll(item, 1, axis) for axis in range(item.ndim))
    return next((other for other in turned if not np.array_equal(other, item)), item.copy())


def _repeated(item: Any, _: int) -> Any:
    import numpy as np

    return np.full_like(item, item.reshape(-1)[0]) if item.dtype.kind in "iu" and not _is_flags(item) else item


def _below_zero(item: Any, _: int) -> Any:
    """As indices these count from the end, and name something wherever those given do."""
    return -1 - item if item.dtype.kind == "i" and not _is_flags(item) else item


def _negated(item: Any, _: int) -> Any:
    return -item if item.dtype.kind in "fc" and _is_free(item) else item


def _enlarged(item: Any, _: int) -> Any:
    return (item * 10).astype(item.dtype) if item.dtype.kind in "fc" and _is_free(item) else item


def _alternating_integers(item: Any, seed: int) -> Any:
    """In two arguments side by side the other ones, so that signs differ wherever the two meet."""
    return _alternating(item, _below_zero(item, seed), seed)


def _alternating_values(item: Any, seed: int) -> Any:
    return _alternating(item, _negated(item, seed), seed)


def _alternating(item: Any, other: Any, seed: int) -> Any:
    import numpy as np

    places = np.arange(item.size).reshape(item.shape)
    return np.where((places + seed) % 2 == 0, item, other).astype(item.dtype)


def _tied(item: Any, _: int) -> Any:
    import numpy as np

    if item.dtype.kind != "f" or not _is_free(item):
        return item
    middle = np.median(item)
    return np.where(item > middle, item.max(), item.min()).astype(item.dtype)


def _zeroed(item: Any, _: int) -> Any:
    import numpy as np

    return np.zeros_like(item) if _is_free(item) else item


def _all_set(item: Any, _: int) -> Any:
    import numpy as np

    return np.ones_like(item) if item.dtype.kind == "b" or _is_flags(item) else item


def _none_set(item: Any, _: int) -> Any:
    import numpy as np

    return np.zeros_like(item) if item.dtype.kind == "b" or _is_flags(item) else item


def _told(given: Arguments, flags: str, numbers: str) -> str:
    """What is said of flags; of ``numbers`` where all that may be flags are floats of one value throughout."""
    import numpy as np

    arrays = [item for item in _parts(given) if hasattr(item, "dtype") and item.size]
    taken = [item for item in arrays if item.dtype.kind == "b" or _is_flags(item)]
    is_numbers = all(item.dtype.kind == "f" and len(np.unique(item)) == 1 for item in taken)
    return numbers if taken and is_numbers else flags


def _is_flags(item: Any) -> bool:
    """Whether a numeric array has zeros and ones alone, as masks do."""
    return item.dtype.kind in "iuf" and item.size > 1 and bool(((item == 0) | (item == 1)).all())


def _is_free(item: Any) -> bool:
    """Whether any value may stand anywhere: in masks, boxes, and what holds infinities it may not.

    Floats that are all ones are a first example of values as often as a mask, as those that are all zeros are.
    """
    import numpy as np

    if item.dtype.kind not in "fc":
        return bool(item.dtype.kind != "b")
    is_finite = bool(np.isfinite(item).all())
    is_mask = _is_flags(item) and len(np.unique(item)) > 1
    return is_finite and not is_mask and not _is_boxes(item)


def _is_boxes(item: Any) -> bool:
    """Whether every row of several has four numbers, of which the last two are at least the first two."""
    if item.ndim < 2 or item.shape[-1] != 4 or item.size < 8:
        return False
    return bool((item[..., :2] <= item[..., 2:]).all())


def _other_sizes(given: Arguments, axes: Axes, names: Sequence[str]) -> Iterator[List[Named]]:
    """Every axis that varies larger and odd, then 1; the labels one by one where not all can be so at once."""
    sizes = _sizes(given, axes)
    if not sizes:
        return
    ways = [{label: wanted(size) for label, size in sizes.items()} for wanted in (_odd, _double, lambda size: size + 1)]
    ones = [dict.fromkeys(sizes, 1)]
    apart = [[{label: other} for other in (1, _odd(size), _double(size))] for label, size in sizes.items()]
    for each in (ways, ones, *(apart if len(sizes) > 1 else ())):
        found = [_resized(given, axes, names, way) for way in each]
        yield [alternative for words, inputs in found for alternative in ((words, _untied(inputs)), (words, inputs))]


def _sizes_around(given: Arguments, axes: Axes, names: Sequence[str], numbers: Sequence[float]) -> Iterator[Named]:
    """The inputs with one label's size on another side of one of ``numbers``, which the code may compare it with."""
    for label, size in _sizes(given, axes).items():
        for number in numbers:
            other = int(number) + (1 if size <= number else -1)
            named = _resized(given, axes, names, {label: other}) if 0 < other <= _LARGEST_SIZE else ("", given)
            if named[0] and all(item.size * other <= _MOST_ELEMENTS * size for item in _arrays(given)):
                yield named


def _untied(inputs: Arguments) -> Arguments:
    """The same sizes with other numbers where rows were repeated: which of equal ones comes first is no matter of a
    size.
    """
    found: Arguments = _changed(inputs, lambda item, seed: _drawn(item, seed) if item.dtype.kind == "f" else item)
    return found


def _odd(size: int) -> int:
    return 2 * size + 1


def _double(size: int) -> int:
    return 2 * size


def _sizes(given: Arguments, axes: Axes) -> Dict[str, int]:
    """The size of every label."""
    found: Dict[str, int] = {}
    for position, labels in axes.items():
        for axis, label in labels.items():
            if position < len(given) and len(getattr(given[position], "shape", ())) > axis:
                found.setdefault(label, given[position].shape[axis])
    return {label: size for label, size in found.items() if size}


def _resized(given: Arguments, axes: Axes, names: Sequence[str], sizes: Mapping[str, int]) -> Named:
    """The inputs with these sizes: rows are repeated or left out."""
    import numpy as np

    found, words = list(given), []
    for position, labels in axes.items():
        for axis, label in labels.items():
            size = getattr(given[position], "shape", ())[axis : axis + 1] if position < len(given) else ()
            if label in sizes and size and size[0]:
                found[position] = np.take(found[position], np.arange(sizes[label]) % size[0], axis)
                words.append("{}:{} of size {}".format(names[position], axis, sizes[label]))
    return ", ".join(words), tuple(found)


def _other_numbers(given: Arguments, names: Sequence[str]) -> Iterator[List[Named]]:
    """Each number among the arguments larger, then smaller where that is not taken: one of Python's, or an array of one
    integer throughout, from whose range no other one can be drawn.
    """
    for place, item in enumerate(given):
        value = _one_number(item)
        if value is None:
            continue
        others = [value + 1, value - 1] if isinstance(value, int) else [value * 2 + 1]
        words = "{} = {} instead of {}"
        yield [
            (words.format(names[place], other, value), (*given[:place], _filled(item, other), *given[place + 1 :]))
            for other in others
        ]


def _other_sides(given: Arguments, names: Sequence[str], numbers: Sequence[float]) -> Iterator[Named]:
    """The inputs with one argument on another side of a number, with which the code may compare it."""
    import numpy as np

    for (place, item), number in itertools.product(enumerate(given), numbers):
        largest = float(np.abs(item).max()) if getattr(item, "size", 0) and item.dtype.kind in "iuf" else 0.0
        if isinstance(item, bool) or (not largest and not isinstance(item, (int, float))):
            continue
        if hasattr(item, "dtype") and item.dtype.kind == "f" and item.size > 1:
            wanted = number * (2.0 if largest <= number else 0.5)
            words, other = "scaled to {} at most".format(wanted), (item * (wanted / largest)).astype(item.dtype)
        else:
            wanted = int(number) + (1 if (largest or item) <= number else -1)
            words, other = "= {} throughout".format(wanted), _filled(item, wanted)
        yield "{} {}".format(names[place], words), (*given[:place], other, *given[place + 1 :])


def _one_number(item: Any) -> Any:
    """The number that an argument is throughout; ``None`` where it is none."""
    if isinstance(item, (int, float)) and not isinstance(item, bool):
        return item
    is_whole = hasattr(item, "dtype") and item.dtype.kind in "iu" and item.size and not _is_flags(item)
    return int(item.reshape(-1)[0]) if is_whole and (item == item.reshape(-1)[:1]).all() else None


def _filled(item: Any, value: Any) -> Any:
    import numpy as np

    return np.full_like(item, value) if hasattr(item, "dtype") else value
