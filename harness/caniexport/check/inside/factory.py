"""A user's own model as a case, inside an environment.

The factory is called in the environment that measures, never before: its imports and its errors are those of that
release. What is exported is the module it returns, with its own weights; around it is a module only where its forward
has arguments that can be given by keyword alone. Python 3.7.
"""

from __future__ import annotations

import copy
import dataclasses
import importlib
import importlib.util
import inspect
import json
import linecache
import os
import random
import re
import sys
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from caniexport.check.inside.facts import file_facts
from caniexport.check.inside.inputs import different, further_inputs
from caniexport.check.inside.trial import PATIENCE, Trial, drawn_outputs, evaluated, kind_of, outputs_of

#: names the file that says what was made of a factory
NOTES = "CANIEXPORT_MODEL_NOTES"
#: the words of the input sets that are the factory's own
GIVEN = "as given"
_Axes = Dict[str, Dict[int, str]]


class WrongFactory(Exception):
    """The factory gives something that cannot be exported; no release would change that."""


class FactoryRaised(Exception):
    """The factory raised; its cause is the exception."""


class ModelNotImported(Exception):
    """The file or module of the factory cannot be imported in this environment; its cause is the exception."""


class Made(NamedTuple):
    """A module and its input sets as numpy arrays; ``given`` of them are the factory's own.

    ``words`` tell each set from the first, ``refused`` those that the module itself does not take; ``axes`` vary.
    ``is_rough`` says that rounding alone moves its outputs by as much as two files may differ, ``goes_on`` that a
    second call on the same inputs gives other values: forward changes what it keeps, ``reads`` that it makes a number
    of Python's of a tensor's value. ``drawn`` are the places of outputs that random numbers decide.
    """

    module: Any
    sets: List[Tuple[Any, ...]]
    given: int
    names: Tuple[str, ...]
    words: List[str]
    refused: List[str]
    axes: _Axes
    is_rough: bool
    goes_on: bool
    reads: bool
    drawn: Set[int]


class Factory:
    """``MODULE:FACTORY`` or ``FILE.py:FACTORY``, called when the measurement first needs it and then kept.

    ``axes`` are those asked to vary; ``further`` says whether input sets are made beside those given.
    """

    def __init__(
        self,
        module: str,
        file: str,
        name: str,
        folders: Sequence[str],
        axes: Optional[_Axes] = None,
        further: bool = True,
    ) -> None:
        self.label = "{}:{}".format(file or module, name)
        self._module = module
        self._file = file
        self._name = name
        self._folders = folders
        self._axes = axes or {}
        self._further = further
        self._made: Optional[Made] = None

    @property
    def axes(self) -> _Axes:
        """The axes that vary: those asked for, and once the factory was called those in which its sets differ."""
        return self._axes if self._made is None else self._made.axes

    @property
    def are_inputs(self) -> bool:
        """Whether each argument is one input of the file, once the factory was called: none is ``None``, or holds
        several tensors.
        """
        return self._made is None or all(_is_one_input(item) for item in self._made.sets[0])

    def made(self) -> Made:
        """What the factory gave, checked."""
        if self._made is None:
            self._made = self._call()
            self._note(self._made)
        return self._made

    def put_on(self, case: Any) -> None:
        """Let the harness, which asks a case's module for its evaluation mode, have the user's module instead."""
        module = self._copy(self.made().module)
        object.__setattr__(case, "eval", lambda: evaluated(module))

    def facts(self, model: Any, rtol: Optional[float], atol: Optional[float]) -> Dict[str, Any]:
        """What is noted of a file of the module: see :mod:`caniexport.check.inside.facts`."""
        made = self.made()
        found = file_facts(model, made.names, made.sets, made.given, self._outputs, (rtol, atol))
        return {**found, "drawn": sorted(made.drawn)} if made.drawn else found

    def _outputs(self, inputs: Tuple[Any, ...]) -> List[Any]:
        """What the module gives for inputs in eager."""
        return outputs_of(evaluated(self._copy(self.made().module)), inputs)

    def _note(self, made: Made) -> None:
        """Write down what answers say about the model."""
        path = os.environ.get(NOTES)
        if not path:
            return
        notes = {
            "module": type(getattr(made.module, "adapted", made.module)).__name__,
            "given": made.given,
            "sets": made.words,
            "refused": made.refused,
            "axes": made.axes,
            "is_rough": made.is_rough,
            "goes_on": made.goes_on,
            "reads": made.reads,
            "asked": self._axes,
        }
        part = "{}.{}".format(path, os.getpid())
        with open(part, "w", encoding="utf-8") as file:
            json.dump(notes, file)
        os.replace(part, path)

    def _copy(self, module: Any) -> Any:
        """A module for one use: a forward may change its own buffers."""
        try:
            return copy.deepcopy(module)
        except Exception:  # what cannot be copied (a weight that is computed, a handle) is made once more
            return self._module_and_sets(self._called())[0]

    def _call(self) -> Made:
        module, given = self._module_and_sets(self._called())
        names = _argument_names(module, len(given[0]))
        sets = [self._arrays(number, item) for number, item in enumerate(given, start=1)]
        axes = self._varying(names, sets)
        words = [GIVEN] + ["{}, set {}".format(GIVEN, number) for number in range(2, len(sets) + 1)]
        refused: List[str] = []
        count, is_rough, goes_on, reads = len(sets), False, False, True
        if self._further:
            trial = Trial(lambda: self._copy(module), sets[0])
            if trial.no_array:
                raise WrongFactory(
                    "the module of {} returns {}; tensors, numbers, None, and tuples, lists and dictionaries of them "
                    "are wanted".format(self.label, trial.no_array)
                )
            is_rough, goes_on, reads = trial.is_rough, trial.goes_on, trial.reads
            for accepted, text, other in self._tried(trial, sets[0], axes, names):
                (words if accepted else refused).append(text)
                sets += [other] if accepted else []
        drawn = drawn_outputs(lambda: self._copy(module), sets[0])
        is_rough = is_rough and not drawn  # other precision draws other numbers
        if len(sets) == 1:
            # the harness runs two at least
            sets, words, count = sets * 2, words * 2, 2
        sets[0] = _with_aliases(given[0], sets[0])
        return Made(module, sets, count, names, words, refused, axes, is_rough, goes_on, reads, drawn)

    def _tried(
        self, trial: Trial, given: Tuple[Any, ...], axes: _Axes, names: Tuple[str, ...]
    ) -> Iterator[Tuple[bool, str, Tuple[Any, ...]]]:
        """Further inputs, and whether the module takes them in eager."""
        placed = {place: axes[name] for place, name in enumerate(names) if name in axes}
        seen = [given]
        compares = trial.reads or placed or any(isinstance(item, (int, float)) for item in given)
        numbers = trial.numbers if compares else []
        for number, alternatives in enumerate(further_inputs(given, placed, names, numbers)):
            if number and trial.seconds > PATIENCE:
                yield False, "others were not tried: the model takes its time", given
                return
            problem = ""
            for text, other in alternatives:
                if not all(different(one, other) for one in seen):
                    continue
                problem = trial.problem(other)
                if not problem:
                    seen.append(other)
                    yield True, with_changed(text, given, other, names), other
                    break
            if problem:
                yield False, "{} ({})".format(alternatives[-1][0], problem), given

    def _varying(self, names: Tuple[str, ...], sets: List[Tuple[Any, ...]]) -> _Axes:
        """The axes asked for, and those in which the given sets differ."""
        found = {name: dict(axes) for name, axes in self._axes.items()}
        for place, name in enumerate(names):
            shapes = [item[place].shape for item in sets if hasattr(item[place], "shape")]
            if len(shapes) < len(sets):
                continue
            if len({len(shape) for shape in shapes}) > 1:
                raise WrongFactory(
                    "{} of {} has {} axes in one set of inputs and {} in another: one file cannot take both".format(
                        name, self.label, *sorted({len(shape) for shape in shapes})
                    )
                )
            for axis, size in enumerate(shapes[0]):
                if any(shape[axis] != size for shape in shapes):
                    found.setdefault(name, {}).setdefault(axis, "{}_{}".format(name, axis))
        return found

    def _called(self) -> Any:
        import numpy as np
        import torch

        function = self._function()
        if isinstance(function, torch.nn.Module):
            raise WrongFactory("{} is a module; a function that returns (module, inputs) is wanted".format(self.label))
        if not callable(function):
            raise WrongFactory(
                "{} is {}; a function that returns (module, inputs) is wanted".format(self.label, kind_of(function))
            )
        # weights that are drawn are the same in every process of one environment
        torch.manual_seed(0)
        np.random.seed(0)
        random.seed(0)
        before = os.getcwd()
        os.chdir(self._folders[-1])  # a checkpoint lies where the user is
        try:
            return function()
        except Exception as error:
            raise FactoryRaised("{} raised".format(self.label)) from error
        finally:
            os.chdir(before)

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

    def _module_and_sets(self, made: Any) -> Tuple[Any, List[Tuple[Any, ...]]]:
        import torch

        if isinstance(made, torch.nn.Module):
            raise WrongFactory("{} returned the module alone; (module, inputs) is wanted".format(self.label))
        if not isinstance(made, (tuple, list)):
            raise WrongFactory("{} returned {}; (module, inputs) is wanted".format(self.label, kind_of(made)))
        if len(made) not in (2, 3) or (len(made) == 3 and not isinstance(made[2], dict)):
            raise WrongFactory("{} returned {} things; (module, inputs) is wanted".format(self.label, len(made)))
        module, inputs = made[:2]
        if not isinstance(module, torch.nn.Module):
            raise WrongFactory(
                "{} returned {} as its module; a torch.nn.Module is wanted".format(self.label, kind_of(module))
            )
        keywords = made[2] if len(made) == 3 else {}
        calls = [_call_of(module, item, keywords) for item in (inputs if isinstance(inputs, list) else [inputs])]
        if not calls or not all(args or given for args, given in calls):
            raise WrongFactory("{} returned no inputs; a tuple of tensors is wanted".format(self.label))
        module, sets = self._positional(module, calls)
        return _with_readable_names(module, len(sets[0])), sets

    def _positional(
        self, module: Any, calls: List[Tuple[Tuple[Any, ...], Dict[str, Any]]]
    ) -> Tuple[Any, List[Tuple[Any, ...]]]:
        """The calls with every argument in its position; around the module another one where it has none."""
        if not any(keywords for _, keywords in calls):
            return module, [args for args, _ in calls]
        found = []
        for args, keywords in calls:
            try:
                found.append(_bound(module, args, keywords))
            except TypeError as error:
                raise WrongFactory("{}: the inputs do not fit forward: {}".format(self.label, error)) from None
        if all(item is not None for item in found):
            return module, [item for item in found if item is not None]
        names = list(calls[0][1])
        if any(list(keywords) != names or len(args) != len(calls[0][0]) for args, keywords in calls):
            raise WrongFactory("{}: every set of inputs must name the same arguments".format(self.label))
        places = ["input_{}".format(number) for number in range(len(calls[0][0]))]
        return _adapter(module, places, names), [args + tuple(given.values()) for args, given in calls]

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
        if type(item) is dict:
            return {key: self._array(part, where) for key, part in item.items()}
        if type(item) in (list, tuple):
            return type(item)([self._array(part, where) for part in item])
        opened = _opened(item)
        if opened is not None:
            parts, rebuild = opened
            arrays = [self._array(part, where) for part in parts]
            return _packed(rebuild)(arrays) if any(True for _ in _leaves(arrays)) else item
        raise WrongFactory(
            "{} of {} is {}; tensors, numbers, None, and tuples, lists, dictionaries and dataclasses of them are "
            "wanted".format(where, self.label, kind_of(item))
        )


def with_changed(text: str, given: Tuple[Any, ...], other: Tuple[Any, ...], names: Sequence[str]) -> str:
    """``flags of which none is set (mask)``: with the arguments that are others, where these are not all of them."""
    changed = [name for name, one, two in zip(names, given, other) if different((one,), (two,))]
    is_told = len(changed) == len(names) or any(name in re.split(r"[^0-9A-Za-z_]", text) for name in changed)
    return text if is_told else "{} ({})".format(text, ", ".join(changed))


def _call_of(module: Any, item: Any, keywords: Dict[str, Any]) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    """Arguments by position and by name: a dictionary whose keys are arguments of forward gives them by name."""
    if isinstance(item, tuple) and type(item) is tuple:
        return item, dict(keywords)
    if isinstance(item, Mapping) and item and set(item) <= _parameters(module):
        return (), dict(item, **keywords)
    return (item,), dict(keywords)


def _parameters(module: Any) -> Any:
    try:
        return set(inspect.signature(module.forward).parameters)
    except (TypeError, ValueError):
        return set()


def _bound(module: Any, args: Tuple[Any, ...], keywords: Dict[str, Any]) -> Optional[Tuple[Any, ...]]:
    """Every argument in its position; ``None`` where one has no position, or follows one that is left out."""
    signature = inspect.signature(module.forward)
    given = signature.bind(*args, **keywords).arguments
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    placed = [name for name, item in signature.parameters.items() if item.kind in plain]
    if any(name not in placed for name in given):
        return None
    wanted = placed[: len(given)]
    return tuple(given[name] for name in wanted) if set(wanted) == set(given) else None


def _with_readable_names(module: Any, count: int) -> Any:
    """The module, where the harness reads the names of its arguments from its class; else another module around it.

    It does not where ``self`` has another name, where forward takes any number of arguments, or was put on the module.
    """
    from caniexport.worker.exporters import find_argument_names

    try:
        found = tuple(find_argument_names(type(module).forward, count))
    except (AttributeError, TypeError, ValueError):  # a scripted module has none
        return module
    names = _argument_names(module, count)
    return module if found == names else _adapter(module, names, ())


def _adapter(module: Any, places: Sequence[str], names: Sequence[str]) -> Any:
    """A module whose forward hands the first arguments on by position, and those of ``names`` by keyword."""
    import torch

    given = ", ".join([*places, *("{0}={0}".format(name) for name in names)])
    text = "def forward(self, {}):\n    return self.adapted({})\n".format(", ".join([*places, *names]), given)
    # TorchScript's compiler reads the source there
    file = "<adapter of {}>".format(given)
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    made: Dict[str, Any] = {}
    exec(compile(text, file, "exec"), made)
    adapter = type("Adapter", (torch.nn.Module,), {"forward": made["forward"]})()
    adapter.adapted = module
    return adapter


def _opened(item: Any) -> Optional[Tuple[List[Any], Callable[[Sequence[Any]], Any]]]:
    """The parts of a dataclass, a named tuple or another mapping, and how to make it of them again."""
    kind = type(item)
    if isinstance(item, tuple):
        return list(item), lambda parts: kind(*parts)
    if isinstance(item, Mapping):
        keys = list(item)
        return [item[key] for key in keys], lambda parts: kind(dict(zip(keys, parts)))
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        names = [field.name for field in dataclasses.fields(item)]

        def rebuild(parts: Sequence[Any]) -> Any:
            made = copy.copy(item)
            for name, part in zip(names, parts):
                object.__setattr__(made, name, part)
            return made

        return [getattr(item, name) for name in names], rebuild
    return None


def _packed(rebuild: Callable[[Sequence[Any]], Any]) -> Any:
    """A kind of tuple that holds arrays, and becomes the user's own object where it is made of tensors."""

    def new(cls: Any, parts: Any) -> Any:
        found = tuple(parts)
        is_torch = any(hasattr(part, "detach") for part in _everything(found))
        return rebuild(found) if is_torch else tuple.__new__(cls, found)

    return type("Packed", (tuple,), {"__new__": new})


def _everything(item: Any) -> Iterator[Any]:
    if isinstance(item, (list, tuple)):
        for part in item:
            yield from _everything(part)
    elif isinstance(item, dict):
        yield from _everything(list(item.values()))
    else:
        yield item


def _with_aliases(given: Tuple[Any, ...], arrays: Tuple[Any, ...]) -> Tuple[Any, ...]:
    """The arrays, where one tensor was given for several arguments so that they become one tensor again."""
    found = list(arrays)
    for place, item in enumerate(given):
        others = [other for other in range(place + 1, len(given)) if given[other] is item and hasattr(item, "detach")]
        if not others or type(found[place]).__name__ == "Packed":
            continue
        first, again = _one_tensor()
        found[place] = first([arrays[place]])
        for other in others:
            found[other] = again([arrays[other]])
    return tuple(found)


def _one_tensor() -> Tuple[Any, Any]:
    """Two kinds of tuple of one array: made of tensors, the second is what the first became."""
    kept: List[Any] = []

    def first(parts: Sequence[Any]) -> Any:
        kept[:] = parts
        return kept[0]

    return _packed(first), _packed(lambda _: kept[0])


class Sets:
    """The input sets of a factory, not made before they are looked at."""

    def __init__(self, factory: Factory) -> None:
        self._factory = factory

    def __len__(self) -> int:
        # a second one is made where the factory gives one, and nobody asks for more than that before it was called
        return 2

    def __iter__(self) -> Iterator[Tuple[Any, ...]]:
        return iter(self._factory.made().sets)

    def __getitem__(self, index: int) -> Tuple[Any, ...]:
        return self._factory.made().sets[index]


class NamedInputs:
    """Whether the inputs of the file are named as the arguments are: torch gives the names to its inputs one by one,
    also where an argument is ``None`` and thus no input, or a list of tensors and thus several.
    """

    def __init__(self, factory: Factory) -> None:
        self._factory = factory

    def __bool__(self) -> bool:
        return self._factory.are_inputs or bool(self._factory.axes)


class DynamicAxes(Mapping[str, Dict[int, str]]):
    """The dynamic axes of a factory's model, as a case says them; the factory is never called for them."""

    def __init__(self, factory: Factory) -> None:
        self._factory = factory

    def __getitem__(self, name: str) -> Dict[int, str]:
        return self._factory.axes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._factory.axes)

    def __len__(self) -> int:
        return len(self._factory.axes)


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


def _is_one_input(item: Any) -> bool:
    """Whether an argument is a tensor or a number, or holds just one."""
    return item is not None and (not isinstance(item, (list, tuple, dict)) or len(list(_leaves(item))) == 1)


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
