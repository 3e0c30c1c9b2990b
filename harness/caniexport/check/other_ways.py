"""Inputs that take another way through a model's own code: what a tracer decides once, other values decide otherwise.

Nothing but a run tells whether a value decides a branch. Many values are run in eager, where that is cheap, and the
instructions that Python passes are counted; those that pass others than every set before are worth a file's run.

A part of the case file that ``caniexport check`` writes, run inside an environment: Python 3.7 and numpy.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from typing import Any, Dict, FrozenSet, Iterator, List, NamedTuple, Sequence, Set, Tuple

from caniexport.check.second_inputs import Named

#: the methods by which a tensor's value becomes a number of Python's
_READERS = ("__bool__", "__int__", "__float__", "__index__", "item", "tolist", "numpy")
#: numbers of a module's source that are tried, and the largest of them
_MOST_NUMBERS, _LARGEST = 8, 1e6
#: an index of an instruction, and how often it was passed
_Passed = Tuple[Tuple[int, int], int]


class Route(NamedTuple):
    """The instructions of a module's own code that a call passes; ``rounds`` has how often, too."""

    passed: FrozenSet[Tuple[int, int]]
    rounds: FrozenSet[_Passed]


class NeverEnds(Exception):
    """A call goes round and round: a loop whose end comes of a value may never end for another one."""


class Walk:
    """Follows a call while it is entered: which way it takes, the numbers in the code on it, and whether the value of a
    tensor is ``read`` into Python. After ``seconds`` it raises :class:`NeverEnds` within the module's own code.
    """

    def __init__(self, seconds: float = float("inf")) -> None:
        import numpy as np
        import torch

        self._until = time.process_time() + seconds
        self.read = False
        self.numbers: Set[float] = set()
        self._counts: Dict[Tuple[int, int], int] = Counter()
        self._known: Dict[int, bool] = {}
        self._others = tuple(os.path.dirname(str(item.__file__)) + os.sep for item in (torch, np))
        self._python = os.path.dirname(os.__file__) + os.sep
        self._before: Any = None
        self._kept: Dict[str, Any] = {}

    def __enter__(self) -> Walk:
        import torch

        for name in _READERS:
            if hasattr(torch.Tensor, name):
                self._kept[name] = torch.Tensor.__dict__.get(name)
                setattr(torch.Tensor, name, self._noting(getattr(torch.Tensor, name)))
        self._before = sys.gettrace()
        sys.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        import torch

        sys.settrace(self._before)
        for name, method in self._kept.items():
            if method is None:
                delattr(torch.Tensor, name)
            else:
                setattr(torch.Tensor, name, method)

    @property
    def way(self) -> Route:
        """The way that was taken."""
        return Route(frozenset(self._counts), frozenset(self._counts.items()))

    def _noting(self, method: Any) -> Any:
        def noting(*args: Any, **keywords: Any) -> Any:
            self.read = True
            return method(*args, **keywords)

        return noting

    def _called(self, frame: Any, _: str, __: Any) -> Any:
        code = frame.f_code
        if id(code) not in self._known:
            self._known[id(code)] = self._is_own(code.co_filename)
            if self._known[id(code)]:
                named = (frame.f_globals.get(name) for name in code.co_names)
                self.numbers |= {item for item in (*code.co_consts, *named) if _is_number(item)}
        if not self._known[id(code)]:
            return None
        # of an `if` in one line the line says nothing
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._passes

    def _passes(self, frame: Any, event: str, _: Any) -> Any:
        if event == "opcode":
            self._counts[id(frame.f_code), frame.f_lasti] += 1
            if time.process_time() > self._until:
                raise NeverEnds("it goes round and round")
        return self._passes

    def _is_own(self, file: str) -> bool:
        if file.startswith(("<frozen", *self._others)):
            return False
        return "site-packages" in file or not file.startswith(self._python)


def own_numbers(module: Any, walk: Walk) -> List[float]:
    """Numbers that a module may compare values with: those in its code and on itself, the least common ones first."""
    every = module.modules() if hasattr(module, "modules") else [module]
    parts = [part for part in every if not type(part).__module__.startswith("torch.")]
    kept = {item for part in parts for item in vars(part).values() if _is_number(item)}
    found = {abs(item) for item in walk.numbers | kept if 0 < abs(item) <= _LARGEST}
    # 1, 2 and 3 are tried of themselves, and stand for axes mostly
    return sorted(found, key=lambda item: (item in (1, 2, 3), -item))[:_MOST_NUMBERS]


def _is_number(item: Any) -> bool:
    return isinstance(item, (int, float)) and not isinstance(item, bool)


def other_values(given: Tuple[Any, ...], names: Sequence[str], numbers: Sequence[float]) -> Iterator[Named]:
    """The inputs with one argument that has other values: small ones, negative ones, and those around ``numbers``."""
    for place, item in enumerate(given):
        for words, other in _others_of(item, numbers):
            yield "{} {}".format(names[place], words), (*given[:place], other, *given[place + 1 :])


def _others_of(item: Any, numbers: Sequence[float]) -> Iterator[Tuple[str, Any]]:
    import numpy as np

    array = np.asarray(item) if _is_number(item) else item
    kind = getattr(getattr(array, "dtype", None), "kind", "")
    if not kind or not array.size:
        return
    if kind == "f" and array.size > 1:
        yield from _scaled(array, numbers)
    values = {"b": _flags, "i": _integers, "u": _integers, "f": _floats}.get(kind, _none)(array, numbers)
    for value in dict.fromkeys(values):
        other = np.full_like(array, value)
        if _is_number(item):
            yield "= {} instead of {}".format(value, item), type(item)(value)
        elif array.size == 1:
            yield "= {} instead of {}".format(value, array.reshape(-1)[0]), other
        else:
            yield "= {} throughout".format(value), other


def _none(*_: Any) -> List[Any]:
    return []


def _flags(*_: Any) -> List[Any]:
    return [True, False]


def _integers(array: Any, numbers: Sequence[float]) -> List[Any]:
    import numpy as np

    large = int(array.max())
    near = [int(number) + step for number in numbers for step in (0, 1, -1)]
    found = [large + 1, 0, 1, 2, 3, -1, *near, 2 * large + 1, 10 * large + 10, *(-number for number in near)]
    limits = np.iinfo(array.dtype)
    return [value for value in found if limits.min <= value <= limits.max]


def _floats(array: Any, numbers: Sequence[float]) -> List[Any]:
    around = [value for number in numbers for value in (2.0 * number, 0.5 * number, -2.0 * number)]
    return [*around, 0.0, 1.0, -1.0, float(2 * array.max() + 1)]


def _scaled(array: Any, numbers: Sequence[float]) -> Iterator[Tuple[str, Any]]:
    """The same values, so much larger or smaller that the largest of them is on another side of a number."""
    import numpy as np

    largest = float(np.abs(array).max())
    for wanted in [size for number in numbers for size in (2.0 * number, 0.5 * number)] if largest else ():
        yield "scaled to {} at most".format(wanted), (array * (wanted / largest)).astype(array.dtype)
