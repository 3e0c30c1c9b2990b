"""Trying a module in eager: which inputs it takes, whether rounding decides what it gives, which way it goes.

A part of the case file that ``caniexport check`` writes, run inside an environment: Python 3.7.
"""

from __future__ import annotations

import copy
import time
from typing import Any, Callable, List, Optional, Tuple

from caniexport.check.other_ways import Route, Walk, own_numbers
from caniexport.check.second_inputs import nudged, widened

#: seconds in eager for trying further inputs
PATIENCE = 1.5
#: sets of inputs that take another way through the model's code, and of these such as only go round more or less often
_MOST_WAYS, _MOST_ROUNDS = 6, 2
#: how many times as long as those given other inputs may go round in the model's own code
_MOST_TIMES = 4
#: numbers in the parameters of a module that is not copied in double precision
_LARGE = 1 << 27
#: how far outputs may move by a change of the last digit if it is rounding
_FAR = 1e-2
#: share of the tolerance that rounding may use up
_PART = 0.25


class Trial:
    """Runs a module in eager on inputs that nobody gave, to see whether they can tell anything about a file of it."""

    def __init__(self, copied: Callable[[], Any], given: Tuple[Any, ...]) -> None:
        self._module = evaluated(copied())
        self.seconds = 0.0
        self._given: Optional[List[Any]]
        self._inputs, self._given = given, None
        #: what its output has in it that is no array of numbers
        self.no_array = ""
        #: whether a second call on the given inputs gives other values than the first
        self.goes_on = False
        #: whether it makes numbers of Python's of the values of tensors, and whether one can decide which way it takes
        self.reads = self.decides = False
        #: numbers that it may compare a value with
        self.numbers: List[float] = []
        self._ways: List[Route] = []
        self._more = self._more_rounds = 0
        try:
            walk = Walk()
            self._given = self._outputs(self._module, given, walk)
            #: seconds for which other inputs may go their way
            self._longest = PATIENCE / 4 + _MOST_TIMES * self.seconds
            self.reads = walk.read
            self.decides = walk.read or any(isinstance(item, (int, float)) for item in given)
            self._ways.append(walk.way)
            if self.seconds < 3 * PATIENCE and self._is_other_again(given, self._given):
                self._module, self.goes_on = evaluated(copied()), True
            self.numbers = own_numbers(self._module, walk)
        except Exception as error:  # the measurement says it
            self._words = _first_line(error)
        others = [kind_of(item.reshape(-1)[0]) for item in self._given or () if item.dtype.kind == "O" and item.size]
        if others:
            self.no_array, self._given = others[0], None
        is_quick = self._given is not None and self.seconds < PATIENCE / 4
        #: the operators that it calls, empty where that is not known
        self.operators = self._called(given) if is_quick else []
        self._wide = self._in_double() if self.seconds < PATIENCE / 4 else None
        self._moved: Any = None
        #: whether rounding alone moves the outputs of the given inputs by as much as two files may differ
        self.is_rough = self._given is not None and self._rounds(given, self._given)

    def problem(self, inputs: Tuple[Any, ...]) -> str:
        """Why these inputs are none for the module; empty where it takes them."""
        import numpy as np

        if self._given is None:
            return self._words
        walk = Walk(self._longest) if self.decides else None
        try:
            found = self._outputs(self._module, inputs, walk)
        except Exception as error:
            return _first_line(error)
        self._ways += [walk.way] if walk is not None else []
        if len(found) != len(self._given):
            return "another number of outputs"
        finite = all(np.isfinite(item).all() for item in self._given if item.dtype.kind in "fc")
        if finite and not all(np.isfinite(item).all() for item in found if item.dtype.kind in "fc"):
            return "infinite values, or none at all"
        rounds = not self.is_rough and (self._rounds(inputs, found) or self._is_nudged(inputs, found))
        return "rounding decides its outputs" if rounds else ""

    @property
    def has_all_ways(self) -> bool:
        """Whether enough sets of inputs were found that take another way."""
        return self._more >= _MOST_WAYS

    def takes_another_way(self, inputs: Tuple[Any, ...], *, counts_rounds: bool = True) -> bool:
        """Whether the module takes these inputs, and goes another way through its code than on any before; with
        ``counts_rounds`` a loop that goes round another number of times is one.
        """
        walk = Walk(self._longest)
        try:
            self._outputs(self._module, inputs, walk)
        except Exception:  # they are none for it
            return False
        is_new = all(walk.way.passed != way.passed for way in self._ways)
        goes_round = (
            counts_rounds
            and all(walk.way.rounds != way.rounds for way in self._ways)
            and self._more_rounds < _MOST_ROUNDS
        )
        if not (is_new or goes_round) or self.problem(inputs):
            return False
        self._more, self._more_rounds = self._more + 1, self._more_rounds + (not is_new)
        return True

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

    def _called(self, given: Tuple[Any, ...]) -> List[str]:
        try:
            return called_operators(copy.deepcopy(self._module) if self.goes_on else self._module, given)
        except Exception:  # a torch that has no such modes, or a module that does not run in them
            return []

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

    def _outputs(self, module: Any, inputs: Tuple[Any, ...], walk: Optional[Walk] = None) -> List[Any]:
        module = copy.deepcopy(module) if self.goes_on else module
        started = time.process_time()
        found = outputs_of(module, inputs, walk)
        self.seconds += time.process_time() - started
        return found


def outputs_of(module: Any, inputs: Tuple[Any, ...], walk: Optional[Walk] = None, seed: int = 0) -> List[Any]:
    """What a module gives in eager; ``walk`` follows it."""
    import torch

    from caniexport.worker.subject import flatten, tensors

    arguments = [tensors(item) for item in inputs]
    torch.manual_seed(seed)
    with torch.no_grad():
        if walk is None:
            return list(flatten(module(*arguments)))
        with walk:
            found = module(*arguments)
    return list(flatten(found))


def drawn_outputs(copied: Callable[[], Any], inputs: Tuple[Any, ...]) -> List[int]:
    """The places of the outputs that random numbers decide: another seed changes them."""
    import torch

    try:
        module = _begun(copied, inputs)
        torch.manual_seed(0)
        before = torch.get_rng_state()
        first = outputs_of(module, inputs)
        if torch.equal(before, torch.get_rng_state()):
            return []
        other = outputs_of(_begun(copied, inputs), inputs, seed=1)
    except Exception:  # the measurement says it
        return []
    return [place for place, pair in enumerate(zip(first, other)) if _differs(*([item] for item in pair))]


def _begun(copied: Callable[[], Any], inputs: Tuple[Any, ...]) -> Any:
    """A module whose weights are there: a lazy one draws them when it is first called."""
    module = evaluated(copied())
    if any(hasattr(weight, "materialize") for weight in module.parameters()):
        outputs_of(module, inputs)
    return module


def called_operators(module: Any, inputs: Tuple[Any, ...]) -> List[str]:
    """The operators that a module calls in eager, both as Python calls them and as they arrive at aten."""
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    found = set()

    class Functions(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, _: Any, args: Any = (), keywords: Any = None) -> Any:
            found.add(function.__name__)
            return function(*args, **(keywords or {}))

    class Dispatched(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, _: Any, args: Any = (), keywords: Any = None) -> Any:
            found.add(function._schema.name)
            return function(*args, **(keywords or {}))

    with Functions(), Dispatched():
        outputs_of(module, inputs)
    return sorted(found)


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
