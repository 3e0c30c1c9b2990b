"""Trying a module in eager: which inputs it takes, and whether rounding or chance decides what it gives.

Runs inside an environment: Python 3.7.
"""

from __future__ import annotations

import copy
import signal
import time
from contextlib import contextmanager, nullcontext
from typing import Any, Callable, Iterator, List, Optional, Set, Tuple

from caniexport.check.inside.inputs import nudged, widened

#: processor seconds in eager for trying further inputs
PATIENCE = 1.5
#: how many times as long as the inputs given other inputs may take: a loop may never end for another value
_MOST_TIMES = 4
#: numbers in the parameters of a module that is not copied in double precision
_LARGE = 1 << 27
#: how far outputs may move by a change of the last digit if it is rounding
_FAR = 1e-2
#: share of the tolerance that rounding may use up
_PART = 0.25
#: the methods by which a tensor's value becomes a number of Python's
_READERS = ("__bool__", "__int__", "__float__", "__index__", "item", "tolist", "numpy")
#: numbers of a module's source that are tried, and the largest of them
_MOST_NUMBERS, _LARGEST = 8, 1e6


class NeverEnds(Exception):
    """A call takes many times as long as with the inputs given."""


class Trial:
    """Runs a module in eager on inputs that nobody gave, to see whether they can tell anything about a file of it."""

    def __init__(self, copied: Callable[[], Any], given: Tuple[Any, ...]) -> None:
        self._module = evaluated(copied())
        self.seconds = 0.0
        self._inputs = given
        self._given: Optional[List[Any]] = None
        #: what its output has in it that is no array of numbers
        self.no_array = ""
        #: whether a second call on the given inputs gives other values than the first
        self.goes_on = False
        #: whether it makes numbers of Python's of the values of tensors
        self.reads = False
        #: numbers in its code, with which it may compare a value or a size
        self.numbers: List[float] = own_numbers(self._module)
        try:
            reads: List[str] = []
            self._given = self._outputs(self._module, given, _noted_reads(reads))
            self._longest = PATIENCE / 4 + _MOST_TIMES * self.seconds
            self.reads = bool(reads)
            if self.seconds < 3 * PATIENCE and self._is_other_again(given, self._given):
                self._module, self.goes_on = evaluated(copied()), True
        except Exception as error:  # the measurement says it
            self._words = _first_line(error)
        others = [kind_of(item.reshape(-1)[0]) for item in self._given or () if item.dtype.kind == "O" and item.size]
        if others:
            self.no_array, self._given = others[0], None
        self._wide = self._in_double() if self.seconds < PATIENCE / 4 else None
        self._moved: Any = None
        #: whether rounding alone moves the outputs of the given inputs by as much as two files may differ
        self.is_rough = self._given is not None and self._rounds(given, self._given)

    def problem(self, inputs: Tuple[Any, ...]) -> str:
        """Why these inputs are none for the module; empty where it takes them."""
        import numpy as np

        if self._given is None:
            return self._words
        try:
            with _at_most(self._longest):
                found = self._outputs(self._module, inputs)
        except Exception as error:
            return _first_line(error)
        if len(found) != len(self._given):
            return "another number of outputs"
        finite = all(np.isfinite(item).all() for item in self._given if item.dtype.kind in "fc")
        if finite and not all(np.isfinite(item).all() for item in found if item.dtype.kind in "fc"):
            return "infinite values, or none at all"
        rounds = not self.is_rough and (self._rounds(inputs, found) or self._is_nudged(inputs, found))
        return "rounding decides its outputs" if rounds else ""

    def _is_other_again(self, given: Tuple[Any, ...], outputs: List[Any]) -> bool:
        """Whether the same inputs give other values again, or none."""
        first = self.seconds
        try:
            again = self._outputs(self._module, given)
        except Exception:  # what it kept of the first call is in its way
            return True
        # what it imports and prepares at its first call says nothing of the others
        self.seconds = self.seconds - first if first > PATIENCE / 4 else first
        return len(again) != len(outputs) or _differs(outputs, again)

    def _is_nudged(self, inputs: Tuple[Any, ...], outputs: List[Any]) -> bool:
        """Whether the least change of the inputs moves the outputs a little, as where a variance is all but zero.

        One that moves them far (another branch, another order) is what a file may be wrong about.
        """
        others = nudged(inputs, self._inputs)
        if others is inputs:
            return False
        # what only passes its inputs on, times a large number, moves as far as they do
        return 1e-5 * _largest(outputs) < _farthest(outputs, self._outputs(self._module, others)) < _FAR

    def _in_double(self) -> Any:
        """The module with twice the precision; ``None`` where it cannot have it, or is large."""
        try:
            size = sum(item.numel() for item in self._module.parameters())
            return copy.deepcopy(self._module).double() if size < _LARGE else None
        except Exception:  # then nothing is known of its rounding
            return None

    def _rounds(self, inputs: Tuple[Any, ...], outputs: List[Any]) -> bool:
        """Whether outputs move by a good part of the tolerance when every number has twice the precision.

        Where the module does not run so: when every weight is moved as far as rounding may move it.
        """
        if self._wide is not None:
            try:
                wide = self._outputs(self._wide, widened(inputs))
                return _differs(outputs, [item.astype(other.dtype) for item, other in zip(wide, outputs)])
            except Exception:  # a constant of single precision within it, for one
                self._wide, self._moved = None, self._with_moved_weights()
        if self._moved is None:
            return False
        moved = self._outputs(self._moved, inputs)
        return _differs(outputs, moved) and _farthest(outputs, moved) < _FAR

    def _with_moved_weights(self) -> Any:
        """The module with every weight moved by its last digit, in a direction that is drawn."""
        import torch

        module, draws = copy.deepcopy(self._module), torch.Generator().manual_seed(0)
        with torch.no_grad():
            for weight in module.parameters():
                if weight.dtype in (torch.float32, torch.float16, torch.bfloat16):
                    moved = 1 + torch.finfo(weight.dtype).eps * (2 * torch.rand(weight.shape, generator=draws) - 1)
                    weight.copy_(weight.float() * moved)
        return module

    def _outputs(self, module: Any, inputs: Tuple[Any, ...], around: Any = None) -> List[Any]:
        module = copy.deepcopy(module) if self.goes_on else module
        started = time.process_time()
        found = outputs_of(module, inputs, around=around)
        self.seconds += time.process_time() - started
        return found


@contextmanager
def _noted_reads(found: List[str]) -> Iterator[None]:
    """Note the methods by which values of tensors are read into Python meanwhile."""
    import torch

    # those that the class inherits are put back by removing them
    kept = {name: vars(torch.Tensor).get(name) for name in _READERS if hasattr(torch.Tensor, name)}

    def noting(name: str, method: Any) -> Any:
        def note(*args: Any, **keywords: Any) -> Any:
            found.append(name)
            return method(*args, **keywords)

        return note

    for name in kept:
        setattr(torch.Tensor, name, noting(name, getattr(torch.Tensor, name)))
    try:
        yield
    finally:
        for name, method in kept.items():
            if method is None:
                delattr(torch.Tensor, name)
            else:
                setattr(torch.Tensor, name, method)


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raises :class:`NeverEnds` in what has not ended after so much processor time, where it can be interrupted."""

    def stop(*_: Any) -> None:
        raise NeverEnds("it goes round and round")

    try:
        before = signal.signal(signal.SIGPROF, stop)
    except ValueError:  # not in the main thread
        yield
        return
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def own_numbers(module: Any) -> List[float]:
    """Numbers that a module may compare values with: those in its own code and on itself, the least common first."""
    every = module.modules() if hasattr(module, "modules") else [module]
    parts = [part for part in every if not type(part).__module__.startswith("torch.")]
    found = {item for part in parts for item in vars(part).values() if _is_number(item)}
    for part in parts:
        for function in (vars(type(part)).get("forward"), *vars(type(part)).values()):
            if hasattr(function, "__code__"):
                found |= set(_numbers_of(function.__code__, function.__globals__))
    sizes = {abs(item) for item in found if 0 < abs(item) <= _LARGEST}
    # 1, 2 and 3 are tried of themselves, and stand for axes mostly
    return sorted(sizes, key=lambda item: (item in (1, 2, 3), -item))[:_MOST_NUMBERS]


def _numbers_of(code: Any, names: Any) -> Iterator[float]:
    for item in (*code.co_consts, *(names.get(name) for name in code.co_names)):
        if _is_number(item):
            yield item
        elif hasattr(item, "co_consts"):
            for number in _numbers_of(item, names):
                yield number


def _is_number(item: Any) -> bool:
    return isinstance(item, (int, float)) and not isinstance(item, bool)


def outputs_of(module: Any, inputs: Tuple[Any, ...], seed: int = 0, around: Any = None) -> List[Any]:
    """What a module gives in eager; ``around`` is a context that its call alone is in."""
    import torch

    from caniexport.worker.subject import flatten_output, to_tensors

    arguments = [to_tensors(item) for item in inputs]
    torch.manual_seed(seed)
    with torch.no_grad(), around or nullcontext():
        found = module(*arguments)
    return list(flatten_output(found))


def drawn_outputs(copied: Callable[[], Any], inputs: Tuple[Any, ...]) -> Set[int]:
    """The places of the outputs that random numbers decide: another seed changes them."""
    import torch

    try:
        module = _begun(copied, inputs)
        torch.manual_seed(0)
        before = torch.get_rng_state()
        first = outputs_of(module, inputs)
        if torch.equal(before, torch.get_rng_state()):
            return set()
        other = outputs_of(_begun(copied, inputs), inputs, seed=1)
    except Exception:  # the measurement says it
        return set()
    return {place for place, pair in enumerate(zip(first, other)) if _differs(*([item] for item in pair))}


def _begun(copied: Callable[[], Any], inputs: Tuple[Any, ...]) -> Any:
    """A module whose weights are there: a lazy one draws them when it is first called."""
    module = evaluated(copied())
    if any(hasattr(weight, "materialize") for weight in module.parameters()):
        outputs_of(module, inputs)
    return module


def _differs(outputs: List[Any], others: List[Any]) -> bool:
    """Whether outputs differ by a good part of the tolerance."""
    from caniexport.worker.compare import compare

    return bool(compare(outputs, others, _PART * 1e-4, _PART * 1e-5, "by rounding").problem)


def _farthest(outputs: List[Any], others: List[Any]) -> float:
    """How far numbers moved; infinite where a shape changed, or what is no number."""
    import numpy as np

    pairs = [(one, two) for one, two in zip(outputs, others) if one.shape != two.shape or (one != two).any()]
    if any(one.shape != two.shape or one.dtype.kind != "f" for one, two in pairs):
        return float("inf")
    return max([float(np.abs(one - two).max()) for one, two in pairs] or [0.0])


def _largest(outputs: List[Any]) -> float:
    """The largest number among the outputs, at least 1."""
    import numpy as np

    return max([1.0, *(float(np.abs(item).max()) for item in outputs if item.dtype.kind == "f" and item.size)])


def _first_line(error: BaseException) -> str:
    return (str(error).strip().split("\n") or [""])[0][:120] or type(error).__name__


def evaluated(module: Any) -> Any:
    """The module in evaluation mode, also where its own ``train`` returns nothing."""
    module.eval()
    return module


def kind_of(item: Any) -> str:
    """What a thing is, in words."""
    return "None" if item is None else "something of type {}".format(type(item).__name__)
