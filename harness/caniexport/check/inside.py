"""A user's own model as a case: a part of the case file that ``caniexport check`` writes, run inside an environment.

The factory is called in the environment that measures, never before: its imports and its errors are those of that
release. What is exported is the module it returns, with its own weights; nothing is wrapped around it.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import inspect
import random
import sys
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple


class WrongFactory(Exception):
    """The factory gives something that cannot be exported; no release would change that."""


class FactoryRaised(Exception):
    """The factory raised; its cause is the exception."""


class ModelNotImported(Exception):
    """The file or module of the factory cannot be imported in this environment; its cause is the exception."""


class Made(NamedTuple):
    """A module and its input sets as numpy arrays; ``given`` of them are the factory's own."""

    module: Any
    sets: List[Tuple[Any, ...]]
    given: int
    names: Tuple[str, ...]


class Factory:
    """``MODULE:FACTORY`` or ``FILE.py:FACTORY``, called when the measurement first needs it and then kept.

    ``source`` is a hash of the file it is in: another source is another case.
    """

    def __init__(self, module: str, file: str, name: str, folders: Sequence[str], source: str) -> None:
        self.label = "{}:{}".format(file or module, name)
        self._module = module
        self._file = file
        self._name = name
        self._folders = folders
        self._source = source
        self._made: Optional[Made] = None

    def made(self) -> Made:
        """What the factory gave, checked."""
        if self._made is None:
            self._made = self._call()
        return self._made

    def put_on(self, case: Any) -> None:
        """Let the harness, which asks a case's module for its evaluation mode, have the user's module instead."""
        module = self._copy()
        object.__setattr__(case, "eval", lambda: _evaluated(module))

    def facts(self) -> Dict[str, Any]:
        """What answers say about the model."""
        made = self.made()
        return {"module": type(made.module).__name__, "given_sets": made.given}

    def _copy(self) -> Any:
        """A module for one use: a forward may change its own buffers."""
        made = self.made()
        try:
            return copy.deepcopy(made.module)
        except Exception:  # what cannot be copied (a weight that is computed, a handle) is made once more
            return self._call().module

    def _call(self) -> Made:
        import numpy as np
        import torch

        function = self._function()
        if isinstance(function, torch.nn.Module):
            raise WrongFactory("{} is a module; a function that returns (module, inputs) is wanted".format(self.label))
        if not callable(function):
            raise WrongFactory(
                "{} is {}; a function that returns (module, inputs) is wanted".format(self.label, _kind(function))
            )
        # weights that are drawn are the same in every process of one environment
        torch.manual_seed(0)
        np.random.seed(0)
        random.seed(0)
        try:
            made = function()
        except Exception as error:
            raise FactoryRaised("{} raised".format(self.label)) from error
        return self._checked(made)

    def _function(self) -> Any:
        for folder in reversed(self._folders):
            if folder not in sys.path:
                sys.path.insert(0, folder)
        try:
            found = self._import()
        except Exception as error:
            raise ModelNotImported("{} cannot be imported".format(self._file or self._module)) from error
        for part in self._name.split("."):
            if not hasattr(found, part):
                raise WrongFactory("{} has no {}".format(self._file or self._module, self._name))
            found = getattr(found, part)
        return found

    def _import(self) -> Any:
        if not self._file:
            return importlib.import_module(self._module)
        if self._module in sys.modules:
            return sys.modules[self._module]
        spec = importlib.util.spec_from_file_location(self._module, self._file)
        if spec is None or spec.loader is None:
            raise ImportError("not a Python file")
        module = importlib.util.module_from_spec(spec)
        # pickled checkpoints and dataclasses look their module up
        sys.modules[self._module] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[self._module]
            raise
        return module

    def _checked(self, made: Any) -> Made:
        import torch

        if isinstance(made, torch.nn.Module):
            raise WrongFactory("{} returned the module alone; (module, inputs) is wanted".format(self.label))
        if not isinstance(made, (tuple, list)):
            raise WrongFactory("{} returned {}; (module, inputs) is wanted".format(self.label, _kind(made)))
        if len(made) != 2:
            raise WrongFactory("{} returned {} things; (module, inputs) is wanted".format(self.label, len(made)))
        module, inputs = made
        if not isinstance(module, torch.nn.Module):
            raise WrongFactory(
                "{} returned {} as its module; a torch.nn.Module is wanted".format(self.label, _kind(module))
            )
        sets = [self._arrays(number, item) for number, item in enumerate(self._sets(inputs))]
        given = len(sets)
        if given == 1:
            sets.append(tuple(_other(item) for item in sets[0]))
        return Made(module, sets, given, _argument_names(module, len(sets[0])))

    def _sets(self, inputs: Any) -> List[Tuple[Any, ...]]:
        """A tuple is one set of arguments, a list several sets; a tensor alone is the only argument."""
        sets = inputs if isinstance(inputs, list) else [inputs]
        sets = [item if isinstance(item, tuple) else (item,) for item in sets]
        if not sets or not all(sets):
            raise WrongFactory("{} returned no inputs; a tuple of tensors is wanted".format(self.label))
        return sets

    def _arrays(self, number: int, inputs: Tuple[Any, ...]) -> Tuple[Any, ...]:
        found = tuple(self._array(item, "input {} of set {}".format(at, number)) for at, item in enumerate(inputs))
        if not any(True for _ in _leaves(found)):
            raise WrongFactory("set {} of the inputs of {} has no tensor".format(number, self.label))
        return found

    def _array(self, item: Any, where: str) -> Any:
        import numpy as np
        import torch

        if torch.is_tensor(item):
            try:
                return np.array(item.detach().cpu().numpy() if hasattr(item, "detach") else item.numpy())
            except (TypeError, RuntimeError) as error:
                raise WrongFactory(
                    "{} of {}: numpy cannot hold it, so no runtime can be fed it ({})".format(where, self.label, error)
                ) from None
        if isinstance(item, np.ndarray) or item is None or isinstance(item, (bool, int, float)):
            return item
        if isinstance(item, dict):
            return {key: self._array(part, where) for key, part in item.items()}
        if type(item) in (list, tuple):
            return type(item)([self._array(part, where) for part in item])
        raise WrongFactory(
            "{} of {} is {}; tensors, numbers, None, and tuples, lists and dictionaries of them are wanted".format(
                where, self.label, _kind(item)
            )
        )


class Sets:
    """The input sets of a factory, not made before they are looked at."""

    def __init__(self, factory: Factory) -> None:
        self._factory = factory

    def __len__(self) -> int:
        # a second one is made where the factory gives one
        return 2

    def __iter__(self) -> Iterator[Tuple[Any, ...]]:
        return iter(self._factory.made().sets)

    def __getitem__(self, index: int) -> Tuple[Any, ...]:
        return self._factory.made().sets[index]


class Arguments:
    """Stands where a case has its ``forward``: the names of the arguments that the user's own forward takes."""

    __name__ = "forward"

    def __init__(self, factory: Factory) -> None:
        self._factory = factory

    @property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(name, kind) for name in self._factory.made().names])

    def __call__(self, *_: Any) -> Any:
        """Never: the harness is handed the user's module."""
        raise TypeError("the module of the factory is called, not this")


def _evaluated(module: Any) -> Any:
    """The module in evaluation mode, also where its own ``train`` returns nothing."""
    module.eval()
    return module


def _kind(item: Any) -> str:
    return "None" if item is None else "something of type {}".format(type(item).__name__)


def _argument_names(module: Any, count: int) -> Tuple[str, ...]:
    """The names of the first arguments of the module's forward; made up where it takes any number of them."""
    try:
        parameters = list(inspect.signature(module.forward).parameters.values())[:count]
    except (TypeError, ValueError):
        parameters = []
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if len(parameters) == count and all(item.kind in plain for item in parameters):
        return tuple(item.name for item in parameters)
    return tuple("input_{}".format(index) for index in range(count))


def _leaves(item: Any) -> Iterator[Any]:
    """The arrays in a nest of tuples, lists and dictionaries."""
    if isinstance(item, (list, tuple)):
        for part in item:
            yield from _leaves(part)
    elif isinstance(item, dict):
        for part in item.values():
            yield from _leaves(part)
    elif hasattr(item, "dtype"):
        yield item


def _other(item: Any) -> Any:
    """Another input of the same shape: whole slices in another order, so that what belongs together stays together.

    The four numbers of a box are no box in another order. An array of one floating point value throughout (zeros, ones)
    gets values between 0 and 1.
    """
    import numpy as np

    if isinstance(item, (list, tuple)):
        return type(item)([_other(part) for part in item])
    if isinstance(item, dict):
        return {key: _other(part) for key, part in item.items()}
    if not hasattr(item, "dtype") or not item.size:
        return item
    if item.dtype.kind == "f" and (item == item.reshape(-1)[:1]).all():
        return np.random.RandomState(0).uniform(size=item.shape).astype(item.dtype)
    turned = (np.roll(item, 1, axis) for axis in range(item.ndim))
    return next((other for other in turned if not np.array_equal(other, item)), item.copy())
