"""Try a module in eager: which inputs it accepts, and whether rounding or random numbers decide its outputs.

Runs inside an environment: Python 3.7.
"""

from __future__ import annotations

import copy
import signal
import time
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any, Callable, Iterator, List, Optional, Set, Tuple
from unittest import mock

import numpy as np

from caniexport.check.inside.inputs import nudge_constants, to_double

#: processor seconds in eager for trying further inputs
PATIENCE = 1.5
#: other inputs may take this many times as long as those given, because a loop may never end
_MOST_TIMES = 4
#: a module with more parameters gets no copy in double precision
_LARGE = 1 << 27
#: the largest change of outputs that counts as rounding
_FAR = 1e-2
#: share of the tolerance that rounding may use up
_PART = 0.25
#: the methods that turn a tensor's value into a Python number
_READERS = ("__bool__", "__int__", "__float__", "__index__", "item", "tolist", "numpy")
#: most numbers of a module's source that are tried, and the largest
_MOST_NUMBERS, _LARGEST = 8, 1e6


class TimeLimitExceeded(Exception):
    """A call takes many times as long as with the given inputs."""


class Trial:
    """Runs a module in eager on made inputs, to find those that can show wrong values of its file."""

    def __init__(self, copied: Callable[[], Any], given: Tuple[Any, ...]) -> None:
        self._module = set_eval_mode(copied())
        self.seconds = 0.0
        self._inputs = given
        self._given: Optional[List[Any]] = None
        #: the kind of an output that is no array of numbers, or empty
        self.unusable_output = ""
        #: whether a second call on the same inputs gives other values
        self.keeps_state = False
        #: whether it turns tensor values into Python numbers
        self.reads_values = False
        #: numbers in its code, which it may compare with a value or a size
        self.numbers: List[float] = find_numbers(self._module)
        try:
            reads: List[str] = []
            self._given = self._outputs(self._module, given, _record_reads(reads))
            self._longest = PATIENCE / 4 + _MOST_TIMES * self.seconds
            self.reads_values = bool(reads)
            if self.seconds < 3 * PATIENCE and self._changes_on_second_call(given, self._given):
                self._module, self.keeps_state = set_eval_mode(copied()), True
        except Exception as error:  # the measurement reports it
            self._words = _first_line(error)
        for item in self._given or ():
            if item.dtype.kind == "O" and item.size:
                self.unusable_output, self._given = describe_type(item.reshape(-1)[0]), None
        self._wide = self._make_double() if self.seconds < PATIENCE / 4 else None
        self._moved: Any = None  # in place of the copy in double precision
        #: whether rounding alone moves the outputs of the given inputs by more than the tolerance
        self.is_rough = self._given is not None and self._is_rounding(given, self._given)

    def find_problem(self, inputs: Tuple[Any, ...]) -> str:
        """Return why the module cannot be tested with these inputs; empty if it can."""
        if self._given is None:
            return self._words
        try:
            with _limit_time(self._longest):
                found = self._outputs(self._module, inputs)
        except Exception as error:
            return _first_line(error)
        if len(found) != len(self._given):
            return "another number of outputs"
        if _is_finite(self._given) and not _is_finite(found):
            return "infinite values, or none at all"
        rounds = not self.is_rough and (self._is_rounding(inputs, found) or self._moves_when_nudged(inputs, found))
        return "rounding decides its outputs" if rounds else ""

    def _changes_on_second_call(self, given: Tuple[Any, ...], outputs: List[Any]) -> bool:
        """Whether a second call on the same inputs gives other values or fails."""
        first = self.seconds
        try:
            again = self._outputs(self._module, given)
        except Exception:  # its state after the first call breaks the second
            return True
        # the first call includes imports and preparation
        self.seconds = self.seconds - first if first > PATIENCE / 4 else first
        return len(again) != len(outputs) or _differs(outputs, again)

    def _moves_when_nudged(self, inputs: Tuple[Any, ...], outputs: List[Any]) -> bool:
        """Whether a tiny change of the inputs moves the outputs a little, as with a variance near zero.

        A change that moves them far (another branch, another order) is worth testing.
        """
        others = nudge_constants(inputs, self._inputs)
        if others is inputs:
            return False
        # outputs that only scale their inputs do not count
        return 1e-5 * _largest(outputs) < _farthest(outputs, self._outputs(self._module, others)) < _FAR

    def _make_double(self) -> Any:
        """Return a copy in double precision; ``None`` if the module is large or cannot be converted."""
        try:
            size = sum(item.numel() for item in self._module.parameters())
            return copy.deepcopy(self._module).double() if size < _LARGE else None
        except Exception:  # its rounding stays unknown
            return None

    def _is_rounding(self, inputs: Tuple[Any, ...], outputs: List[Any]) -> bool:
        """Whether double precision moves the outputs by a good part of the tolerance.

        If the module does not run in double precision, its weights are moved by their last digit instead.
        """
        if self._wide is not None:
            try:
                wide = self._outputs(self._wide, to_double(inputs))
                return _differs(outputs, [item.astype(other.dtype) for item, other in zip(wide, outputs)])
            except Exception:  # for example a constant of single precision
                self._wide, self._moved = None, self._move_weights()
        if self._moved is None:
            return False
        moved = self._outputs(self._moved, inputs)
        return _differs(outputs, moved) and _farthest(outputs, moved) < _FAR

    def _move_weights(self) -> Any:
        """Return a copy with every weight moved by its last digit, up or down at random."""
        import torch

        module, draws = copy.deepcopy(self._module), torch.Generator().manual_seed(0)
        with torch.no_grad():
            for weight in module.parameters():
                if weight.dtype in (torch.float32, torch.float16, torch.bfloat16):
                    moved = 1 + torch.finfo(weight.dtype).eps * (2 * torch.rand(weight.shape, generator=draws) - 1)
                    weight.copy_(weight.float() * moved)
        return module

    def _outputs(self, module: Any, inputs: Tuple[Any, ...], around: Any = None) -> List[Any]:
        module = copy.deepcopy(module) if self.keeps_state else module
        started = time.process_time()
        found = run_eager(module, inputs, around=around)
        self.seconds += time.process_time() - started
        return found


@contextmanager
def _record_reads(found: List[str]) -> Iterator[None]:
    """Record the calls of methods that turn tensor values into Python numbers."""
    import torch

    def noting(name: str, method: Any) -> Any:
        def note(*args: Any, **keywords: Any) -> Any:
            found.append(name)
            return method(*args, **keywords)

        return note

    with ExitStack() as stack:
        for name in _READERS:
            if hasattr(torch.Tensor, name):
                noted = noting(name, getattr(torch.Tensor, name))
                stack.enter_context(mock.patch.object(torch.Tensor, name, noted))
        yield


@contextmanager
def _limit_time(seconds: float) -> Iterator[None]:
    """Raise :class:`TimeLimitExceeded` after this much processor time, in the main thread."""

    def stop(*_: Any) -> None:
        raise TimeLimitExceeded("time limit exceeded: the loop depends on input values")

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


def find_numbers(module: Any) -> List[float]:
    """Find the numbers in a module's own code and attributes, the least common first."""
    every = module.modules() if hasattr(module, "modules") else [module]
    parts = [part for part in every if not type(part).__module__.startswith("torch.")]
    found = {item for part in parts for item in vars(part).values() if _is_number(item)}
    for part in parts:
        for function in (vars(type(part)).get("forward"), *vars(type(part)).values()):
            if hasattr(function, "__code__"):
                found |= set(_numbers_in(function.__code__, function.__globals__))
    sizes = {abs(item) for item in found if 0 < abs(item) <= _LARGEST}
    # 1, 2 and 3 mostly stand for axes
    return sorted(sizes, key=lambda item: (item in (1, 2, 3), -item))[:_MOST_NUMBERS]


def _numbers_in(code: Any, names: Any) -> Iterator[float]:
    for item in (*code.co_consts, *(names.get(name) for name in code.co_names)):
        if _is_number(item):
            yield item
        elif hasattr(item, "co_consts"):
            yield from _numbers_in(item, names)


def _is_number(item: Any) -> bool:
    return isinstance(item, (int, float)) and not isinstance(item, bool)


def run_eager(module: Any, inputs: Tuple[Any, ...], seed: int = 0, around: Any = None) -> List[Any]:
    """Return the flat outputs of a module in eager; ``around`` is a context for the call."""
    import torch

    from caniexport.worker.subject import flatten_output, to_tensors

    arguments = [to_tensors(item) for item in inputs]
    torch.manual_seed(seed)
    with torch.no_grad(), around or nullcontext():
        found = module(*arguments)
    return list(flatten_output(found))


def find_random_outputs(copied: Callable[[], Any], inputs: Tuple[Any, ...]) -> Set[int]:
    """Return the positions of the outputs that change with the random seed."""
    import torch

    try:
        module = _make_initialized(copied, inputs)
        torch.manual_seed(0)
        before = torch.get_rng_state()
        first = run_eager(module, inputs)
        if torch.equal(before, torch.get_rng_state()):
            return set()
        other = run_eager(_make_initialized(copied, inputs), inputs, seed=1)
    except Exception:  # the measurement reports it
        return set()
    return {position for position, pair in enumerate(zip(first, other)) if _differs(*([item] for item in pair))}


def _make_initialized(copied: Callable[[], Any], inputs: Tuple[Any, ...]) -> Any:
    """Return a module with weights; a lazy one gets them at its first call."""
    module = set_eval_mode(copied())
    if any(hasattr(weight, "materialize") for weight in module.parameters()):
        run_eager(module, inputs)
    return module


def _differs(outputs: List[Any], others: List[Any]) -> bool:
    """Whether outputs differ by a good part of the tolerance."""
    from caniexport.worker.compare import compare

    return bool(compare(outputs, others, _PART * 1e-4, _PART * 1e-5, "by rounding").problem)


def _is_finite(outputs: List[Any]) -> bool:
    return all(np.isfinite(item).all() for item in outputs if item.dtype.kind in "fc")


def _farthest(outputs: List[Any], others: List[Any]) -> float:
    """Return the largest change; infinite if a shape or something other than a number changed."""
    pairs = [(one, two) for one, two in zip(outputs, others) if one.shape != two.shape or (one != two).any()]
    if any(one.shape != two.shape or one.dtype.kind != "f" for one, two in pairs):
        return float("inf")
    return max([float(np.abs(one - two).max()) for one, two in pairs] or [0.0])


def _largest(outputs: List[Any]) -> float:
    """The largest number among the outputs, at least 1."""
    return max([1.0, *(float(np.abs(item).max()) for item in outputs if item.dtype.kind == "f" and item.size)])


def _first_line(error: BaseException) -> str:
    return (str(error).strip().split("\n") or [""])[0][:120] or type(error).__name__


def set_eval_mode(module: Any) -> Any:
    """Set evaluation mode, and return the module even if its own ``train`` returns nothing."""
    module.eval()
    return module


def describe_type(item: Any) -> str:
    """Describe the type of an object."""
    return "None" if item is None else "something of type {}".format(type(item).__name__)
