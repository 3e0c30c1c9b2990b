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
from caniexport.check.inside.inputs import is_different, leaf_values, make_inputs
from caniexport.check.inside.trial import PATIENCE, Trial, describe_type, find_random_outputs, run_eager, set_eval_mode

#: the environment variable with the path of the notes about a factory
NOTES = "CANIEXPORT_MODEL_NOTES"
#: the description of the factory's own input sets
GIVEN = "as given"
_Axes = Dict[str, Dict[int, str]]


class WrongFactory(Exception):
    """The factory gives something that cannot be exported; no release would change that."""


class FactoryRaised(Exception):
    """The factory raised; its cause is the exception."""


class ModelNotImported(Exception):
    """The file or module of the factory cannot be imported in this environment; its cause is the exception."""


class FactoryResult(NamedTuple):
    """A module and its input sets as numpy arrays; ``given`` of them are the factory's own.

    ``descriptions`` has one for each set, ``refused`` those of sets that the module does not accept; ``axes`` are the
    dynamic ones. ``is_rough``: rounding alone moves its outputs by more than the tolerance; ``keeps_state``: a second
    call on the same inputs gives other values; ``reads_values``: it turns tensor values into Python numbers;
    ``random_outputs``: the positions of outputs that depend on random numbers.
    """

    module: Any
    sets: List[Tuple[Any, ...]]
    given: int
    names: Tuple[str, ...]
    descriptions: List[str]
    refused: List[str]
    axes: _Axes
    is_rough: bool
    keeps_state: bool
    reads_values: bool
    random_outputs: Set[int]


class Factory:
    """``MODULE:FACTORY`` or ``FILE.py:FACTORY``, called when the measurement first needs it and then kept.

    ``axes`` are those that the user named dynamic; ``further``: make more input sets than those given.
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
        self._result: Optional[FactoryResult] = None

    @property
    def axes(self) -> _Axes:
        """The dynamic axes: those named and, after the call of the factory, those in which its sets differ."""
        return self._axes if self._result is None else self._result.axes

    @property
    def are_inputs(self) -> bool:
        """Whether each argument is one input of the file: no ``None``, no container of several tensors."""
        return self._result is None or all(_is_one_input(item) for item in self._result.sets[0])

    def result(self) -> FactoryResult:
        """Call the factory once, and return its checked result."""
        if self._result is None:
            self._result = self._call()
            self._write_notes(self._result)
        return self._result

    def replace_module(self, case: Any) -> None:
        """Make ``case.eval()`` return a copy of the user's module, which the harness then exports."""
        module = self._copy(self.result().module)
        object.__setattr__(case, "eval", lambda: set_eval_mode(module))

    def facts(self, model: Any, rtol: Optional[float], atol: Optional[float]) -> Dict[str, Any]:
        """Return the facts of an exported file (:mod:`caniexport.check.inside.facts`)."""
        result = self.result()
        found = file_facts(model, result.names, result.sets, result.given, self._outputs, (rtol, atol))
        return {**found, "drawn": sorted(result.random_outputs)} if result.random_outputs else found

    def _outputs(self, inputs: Tuple[Any, ...]) -> List[Any]:
        """Run a copy of the module in eager."""
        return run_eager(set_eval_mode(self._copy(self.result().module)), inputs)

    def _write_notes(self, result: FactoryResult) -> None:
        """Write the notes about the model, if the environment variable has a path."""
        path = os.environ.get(NOTES)
        if not path:
            return
        notes = {
            "module": type(getattr(result.module, "adapted", result.module)).__name__,
            "given": result.given,
            "sets": result.descriptions,
            "refused": result.refused,
            "axes": result.axes,
            "is_rough": result.is_rough,
            "keeps_state": result.keeps_state,
            "reads_values": result.reads_values,
            "asked": self._axes,
        }
        part = "{}.{}".format(path, os.getpid())
        with open(part, "w", encoding="utf-8") as file:
            json.dump(notes, file)
        os.replace(part, path)

    def _copy(self, module: Any) -> Any:
        """Copy a module, because a forward may change its own buffers."""
        try:
            return copy.deepcopy(module)
        except Exception:  # a computed weight or a handle cannot be copied: call the factory again
            return self._module_and_sets(self._call_factory())[0]

    def _call(self) -> FactoryResult:
        module, given = self._module_and_sets(self._call_factory())
        names = _argument_names(module, len(given[0]))
        sets = [self._arrays(number, item) for number, item in enumerate(given, start=1)]
        axes = self._find_varying_axes(names, sets)
        descriptions = [GIVEN] + ["{}, set {}".format(GIVEN, number) for number in range(2, len(sets) + 1)]
        refused: List[str] = []
        count, is_rough, keeps_state, reads = len(sets), False, False, True
        if self._further:
            trial = Trial(lambda: self._copy(module), sets[0])
            if trial.unusable_output:
                raise WrongFactory(
                    "the module of {} returns {}: it must return tensors, numbers, None, or tuples, lists and dicts "
                    "of them".format(self.label, trial.unusable_output)
                )
            is_rough, keeps_state, reads = trial.is_rough, trial.keeps_state, trial.reads_values
            for accepted, text, other in self._try_inputs(trial, sets[0], axes, names):
                (descriptions if accepted else refused).append(text)
                sets += [other] if accepted else []
        random_outputs = find_random_outputs(lambda: self._copy(module), sets[0])
        is_rough = is_rough and not random_outputs  # other precision draws other numbers
        if len(sets) == 1:
            # the harness runs two at least
            sets, descriptions, count = sets * 2, descriptions * 2, 2
        sets[0] = _restore_aliases(given[0], sets[0])
        return FactoryResult(
            module, sets, count, names, descriptions, refused, axes, is_rough, keeps_state, reads, random_outputs
        )

    def _try_inputs(
        self, trial: Trial, given: Tuple[Any, ...], axes: _Axes, names: Tuple[str, ...]
    ) -> Iterator[Tuple[bool, str, Tuple[Any, ...]]]:
        """Yield made input sets with their descriptions, and whether the module accepts them in eager."""
        placed = {position: axes[name] for position, name in enumerate(names) if name in axes}
        seen = [given]
        compares = trial.reads_values or placed or any(isinstance(item, (int, float)) for item in given)
        numbers = trial.numbers if compares else []
        for number, alternatives in enumerate(make_inputs(given, placed, names, numbers)):
            if number and trial.seconds > PATIENCE:
                yield False, "others were not tried: the model is too slow", given
                return
            problem = ""
            for text, other in alternatives:
                if not all(is_different(one, other) for one in seen):
                    continue
                problem = trial.find_problem(other)
                if not problem:
                    seen.append(other)
                    yield True, describe_change(text, given, other, names), other
                    break
            if problem:
                yield False, "{} ({})".format(alternatives[-1][0], problem), given

    def _find_varying_axes(self, names: Tuple[str, ...], sets: List[Tuple[Any, ...]]) -> _Axes:
        """The named axes, and those in which the given sets differ."""
        found = {name: dict(axes) for name, axes in self._axes.items()}
        for position, name in enumerate(names):
            shapes = [item[position].shape for item in sets if hasattr(item[position], "shape")]
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

    def _call_factory(self) -> Any:
        import numpy as np
        import torch

        function = self._find_function()
        if isinstance(function, torch.nn.Module):
            raise WrongFactory("{} is a module: name a function that returns (module, inputs)".format(self.label))
        if not callable(function):
            raise WrongFactory(
                "{} is {}: name a function that returns (module, inputs)".format(self.label, describe_type(function))
            )
        # random weights must be the same in every process
        torch.manual_seed(0)
        np.random.seed(0)
        random.seed(0)
        before = os.getcwd()
        os.chdir(self._folders[-1])  # checkpoints are relative to the user's directory
        try:
            return function()
        except Exception as error:
            raise FactoryRaised("{} raised".format(self.label)) from error
        finally:
            os.chdir(before)

    def _find_function(self) -> Any:
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
            raise WrongFactory("{} returned the module alone: return (module, inputs)".format(self.label))
        if not isinstance(made, (tuple, list)):
            raise WrongFactory("{} returned {}: return (module, inputs)".format(self.label, describe_type(made)))
        if len(made) not in (2, 3) or (len(made) == 3 and not isinstance(made[2], dict)):
            raise WrongFactory("{} returned {} things: return (module, inputs)".format(self.label, len(made)))
        module, inputs = made[:2]
        if not isinstance(module, torch.nn.Module):
            raise WrongFactory(
                "{} returned {} as its module: return a torch.nn.Module".format(self.label, describe_type(module))
            )
        keywords = made[2] if len(made) == 3 else {}
        calls = [_split_call(module, item, keywords) for item in (inputs if isinstance(inputs, list) else [inputs])]
        if not calls or not all(args or given for args, given in calls):
            raise WrongFactory("{} returned no inputs: return a tuple of tensors".format(self.label))
        module, sets = self._make_positional(module, calls)
        return _make_names_readable(module, len(sets[0])), sets

    def _make_positional(
        self, module: Any, calls: List[Tuple[Tuple[Any, ...], Dict[str, Any]]]
    ) -> Tuple[Any, List[Tuple[Any, ...]]]:
        """Return the calls with positional arguments only, and an adapter around the module if it needs keywords."""
        if not any(keywords for _, keywords in calls):
            return module, [args for args, _ in calls]
        found = []
        for args, keywords in calls:
            try:
                found.append(_bind_arguments(module, args, keywords))
            except TypeError as error:
                raise WrongFactory("{}: the inputs do not fit forward: {}".format(self.label, error)) from None
        if all(item is not None for item in found):
            return module, [item for item in found if item is not None]
        names = list(calls[0][1])
        if any(list(keywords) != names or len(args) != len(calls[0][0]) for args, keywords in calls):
            raise WrongFactory("{}: every set of inputs must name the same arguments".format(self.label))
        positional = ["input_{}".format(number) for number in range(len(calls[0][0]))]
        return _make_adapter(module, positional, names), [args + tuple(given.values()) for args, given in calls]

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
        opened = _take_apart(item)
        if opened is not None:
            parts, rebuild = opened
            arrays = [self._array(part, where) for part in parts]
            return _make_packed_type(rebuild)(arrays) if any(True for _ in _leaves(arrays)) else item
        raise WrongFactory(
            "{} of {} is {}: give tensors, numbers, None, or tuples, lists, dicts and dataclasses of them".format(
                where, self.label, describe_type(item)
            )
        )


def describe_change(text: str, given: Tuple[Any, ...], other: Tuple[Any, ...], names: Sequence[str]) -> str:
    """Add the names of the changed arguments, unless all changed or are named: ``no flag set (mask)``."""
    changed = [name for name, one, two in zip(names, given, other) if is_different((one,), (two,))]
    is_named = len(changed) == len(names) or any(name in re.split(r"[^0-9A-Za-z_]", text) for name in changed)
    return text if is_named else "{} ({})".format(text, ", ".join(changed))


def _split_call(module: Any, item: Any, keywords: Dict[str, Any]) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    """Return positional and keyword arguments; a dictionary of forward's argument names is keywords."""
    if isinstance(item, tuple) and type(item) is tuple:
        return item, dict(keywords)
    if isinstance(item, Mapping) and item and set(item) <= _parameter_names(module):
        return (), dict(item, **keywords)
    return (item,), dict(keywords)


def _parameter_names(module: Any) -> Any:
    try:
        return set(inspect.signature(module.forward).parameters)
    except (TypeError, ValueError):
        return set()


def _bind_arguments(module: Any, args: Tuple[Any, ...], keywords: Dict[str, Any]) -> Optional[Tuple[Any, ...]]:
    """All arguments as positional ones; ``None`` if one has no position or follows a missing one."""
    signature = inspect.signature(module.forward)
    given = signature.bind(*args, **keywords).arguments
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    placed = [name for name, item in signature.parameters.items() if item.kind in plain]
    if any(name not in placed for name in given):
        return None
    wanted = placed[: len(given)]
    return tuple(given[name] for name in wanted) if set(wanted) == set(given) else None


def _make_names_readable(module: Any, count: int) -> Any:
    """Return the module, in an adapter if the harness cannot read the argument names of its class.

    It cannot if ``self`` has another name, forward has ``*args``, or forward is an attribute of the instance.
    """
    from caniexport.worker.exporters import find_argument_names

    try:
        found = tuple(find_argument_names(type(module).forward, count))
    except (AttributeError, TypeError, ValueError):  # a scripted module has none
        return module
    names = _argument_names(module, count)
    return module if found == names else _make_adapter(module, names, ())


def _make_adapter(module: Any, positional: Sequence[str], names: Sequence[str]) -> Any:
    """Return a module whose forward passes the first arguments by position and those of ``names`` by keyword."""
    import torch

    given = ", ".join([*positional, *("{0}={0}".format(name) for name in names)])
    text = "def forward(self, {}):\n    return self.adapted({})\n".format(", ".join([*positional, *names]), given)
    # TorchScript's compiler reads the source there
    file = "<adapter of {}>".format(given)
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    made: Dict[str, Any] = {}
    exec(compile(text, file, "exec"), made)
    adapter = type("Adapter", (torch.nn.Module,), {"forward": made["forward"]})()
    adapter.adapted = module
    return adapter


def _take_apart(item: Any) -> Optional[Tuple[List[Any], Callable[[Sequence[Any]], Any]]]:
    """Return the parts of a dataclass, named tuple or mapping, and a function that rebuilds it from parts."""
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


def _make_packed_type(rebuild: Callable[[Sequence[Any]], Any]) -> Any:
    """Return a tuple type that holds arrays, and that builds the user's own object from tensors."""

    def new(cls: Any, parts: Any) -> Any:
        found = tuple(parts)
        is_torch = any(hasattr(part, "detach") for part in leaf_values(found))
        return rebuild(found) if is_torch else tuple.__new__(cls, found)

    return type("Packed", (tuple,), {"__new__": new})


def _restore_aliases(given: Tuple[Any, ...], arrays: Tuple[Any, ...]) -> Tuple[Any, ...]:
    """Return the arrays so that arguments with one tensor become one tensor again."""
    found = list(arrays)
    for position, item in enumerate(given):
        others = [
            other for other in range(position + 1, len(given)) if given[other] is item and hasattr(item, "detach")
        ]
        if not others or type(found[position]).__name__ == "Packed":
            continue
        first, again = _make_alias_types()
        found[position] = first([arrays[position]])
        for other in others:
            found[other] = again([arrays[other]])
    return tuple(found)


def _make_alias_types() -> Tuple[Any, Any]:
    """Return two tuple types of one array: from tensors, both build the same tensor."""
    kept: List[Any] = []

    def first(parts: Sequence[Any]) -> Any:
        kept[:] = parts
        return kept[0]

    return _make_packed_type(first), _make_packed_type(lambda _: kept[0])


class InputSets:
    """The input sets of a factory, which is called at the first access."""

    def __init__(self, factory: Factory) -> None:
        self._factory = factory

    def __len__(self) -> int:
        # there are at least two, and the harness needs no more before the call
        return 2

    def __iter__(self) -> Iterator[Tuple[Any, ...]]:
        return iter(self._factory.result().sets)

    def __getitem__(self, index: int) -> Tuple[Any, ...]:
        return self._factory.result().sets[index]


class NamedInputs:
    """Whether the file's inputs can be named after the arguments: each argument is exactly one input."""

    def __init__(self, factory: Factory) -> None:
        self._factory = factory

    def __bool__(self) -> bool:
        return self._factory.are_inputs or bool(self._factory.axes)


class DynamicAxes(Mapping[str, Dict[int, str]]):
    """The dynamic axes of a factory's model, in a case's format; reading them does not call the factory."""

    def __init__(self, factory: Factory) -> None:
        self._factory = factory

    def __getitem__(self, name: str) -> Dict[int, str]:
        return self._factory.axes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._factory.axes)

    def __len__(self) -> int:
        return len(self._factory.axes)


class Arguments:
    """A stand-in for a case's ``forward``, with the argument names of the user's forward."""

    __name__ = "forward"

    def __init__(self, factory: Factory) -> None:
        self._factory = factory

    @property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(name, kind) for name in self._factory.result().names])

    def __call__(self, *_: Any) -> Any:
        """Raise: the harness calls the user's module instead."""
        raise TypeError("the module of the factory is called, not this")


def _argument_names(module: Any, count: int) -> Tuple[str, ...]:
    """The names of the first arguments of the module's forward; ``input_0``, … if it has ``*args``."""
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
    """Yield the arrays in a nest of tuples, lists and dictionaries."""
    return (part for part in leaf_values(item) if hasattr(part, "dtype"))
