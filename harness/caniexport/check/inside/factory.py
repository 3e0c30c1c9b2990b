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

import numpy as np

from caniexport.check.inside.facts import file_facts
from caniexport.check.inside.inputs import is_different, leaf_values, make_inputs
from caniexport.check.inside.trial import PATIENCE, Trial, describe_type, find_random_outputs, run_eager, set_eval_mode

#: the environment variable with the path of the notes about a factory
NOTES = "CANIEXPORT_MODEL_NOTES"
#: the description of the factory's own input sets
GIVEN = "as given"
_PLAIN = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_Axes = Dict[str, Dict[int, str]]


class WrongFactory(Exception):
    """The factory gives something that cannot be exported; no release would change that."""


class FactoryRaised(Exception):
    """The factory raised; its cause is the exception."""


class ModelNotImported(Exception):
    """The file or module of the factory cannot be imported in this environment; its cause is the exception."""


class FactoryResult(NamedTuple):
    """A module and its input sets as numpy arrays, the user's own first.

    ``random_outputs`` are the positions of outputs that depend on random numbers; ``notes`` are those of
    :class:`caniexport.check.measure.ModelNotes`.
    """

    module: Any
    sets: List[Tuple[Any, ...]]
    names: Tuple[str, ...]
    random_outputs: Set[int]
    notes: Dict[str, Any]


class Factory:
    """``MODULE:FACTORY`` or ``FILE.py:FACTORY``, called when the measurement first needs its inputs and then kept.

    It is the sequence of these inputs. ``axes`` are the dynamic axes in a case's format: those that the user named, and
    after the call those in which the given sets differ too. ``further``: make more input sets than those given.
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
        self._asked = axes or {}
        self.axes = {name: dict(labels) for name, labels in self._asked.items()}
        self._further = further
        self._result: Optional[FactoryResult] = None

    def __len__(self) -> int:
        # there are at least two, and the harness needs no more before the call
        return 2

    def __iter__(self) -> Iterator[Tuple[Any, ...]]:
        return iter(self.result().sets)

    def result(self) -> FactoryResult:
        """Call the factory once, and return its checked result."""
        if self._result is None:
            self._result = self._call()
            self._write_notes(self._result.notes)
        return self._result

    def replace_module(self, module: Any, case: Any) -> None:
        """Make ``module.eval()`` return a copy of the user's module, which the harness then exports.

        ``case`` gets its argument names. Its inputs are named after them where each argument is exactly one input: no
        ``None``, no container of several tensors.
        """
        result = self.result()
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        case.forward.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in result.names])
        case.named = bool(self.axes) or all(_is_one_input(item) for item in result.sets[0])
        own = self._copy(result.module)
        object.__setattr__(module, "eval", lambda: set_eval_mode(own))

    def facts(self, model: Any, rtol: Optional[float], atol: Optional[float]) -> Dict[str, Any]:
        """Return the facts of an exported file (:mod:`caniexport.check.inside.facts`)."""
        result = self.result()
        found = file_facts(model, result.names, result.sets, result.notes["given"], self._outputs, (rtol, atol))
        return {**found, "drawn": sorted(result.random_outputs)} if result.random_outputs else found

    def _outputs(self, inputs: Tuple[Any, ...]) -> List[Any]:
        """Run a copy of the module in eager."""
        return run_eager(set_eval_mode(self._copy(self.result().module)), inputs)

    def _write_notes(self, notes: Dict[str, Any]) -> None:
        """Write the notes about the model, if the environment variable has a path."""
        path = os.environ.get(NOTES)
        if path:
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
        self._find_varying_axes(names, sets)
        described = [GIVEN] + ["{}, set {}".format(GIVEN, number) for number in range(2, len(sets) + 1)]
        notes: Dict[str, Any] = {"given": len(sets), "sets": described, "refused": []}
        notes.update(axes=self.axes, asked=self._asked, is_rough=False, keeps_state=False, reads_values=True)
        random_outputs = find_random_outputs(lambda: self._copy(module), sets[0])
        if self._further:
            trial = Trial(lambda: self._copy(module), sets[0])
            if trial.unusable_output:
                raise WrongFactory(
                    "the module of {} returns {}: it must return tensors, numbers, None, or tuples, lists and dicts "
                    "of them".format(self.label, trial.unusable_output)
                )
            # other precision draws other numbers
            notes.update(is_rough=trial.is_rough and not random_outputs)
            notes.update(keeps_state=trial.keeps_state, reads_values=trial.reads_values)
            for accepted, text, other in self._try_inputs(trial, sets[0], names):
                notes["sets" if accepted else "refused"].append(text)
                sets += [other] if accepted else []
        if len(sets) == 1:
            # the harness runs two at least
            sets, described[:], notes["given"] = sets * 2, described * 2, 2
        sets[0] = _restore_aliases(given[0], sets[0])
        return FactoryResult(module, sets, names, random_outputs, notes)

    def _try_inputs(
        self, trial: Trial, given: Tuple[Any, ...], names: Tuple[str, ...]
    ) -> Iterator[Tuple[bool, str, Tuple[Any, ...]]]:
        """Yield made input sets with their descriptions, and whether the module accepts them in eager."""
        placed = {position: self.axes[name] for position, name in enumerate(names) if name in self.axes}
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

    def _find_varying_axes(self, names: Tuple[str, ...], sets: List[Tuple[Any, ...]]) -> None:
        """Add the axes in which the given sets differ to those named."""
        for position, name in enumerate(names):
            shapes = [item[position].shape for item in sets if hasattr(item[position], "shape")]
            if len(shapes) < len(sets):
                continue
            ranks = sorted({len(shape) for shape in shapes})
            if len(ranks) > 1:
                raise WrongFactory(
                    "{} of {} has {} axes in one set of inputs and {} in another: one file cannot take both".format(
                        name, self.label, *ranks
                    )
                )
            for axis, sizes in enumerate(zip(*shapes)):
                if len(set(sizes)) > 1:
                    self.axes.setdefault(name, {}).setdefault(axis, "{}_{}".format(name, axis))

    def _call_factory(self) -> Any:
        import torch

        function = self._find_function()
        if isinstance(function, torch.nn.Module) or not callable(function):
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
    if isinstance(item, Mapping) and item and set(item) <= set(_parameters(module)):
        return (), dict(item, **keywords)
    return (item,), dict(keywords)


def _parameters(module: Any) -> Dict[str, inspect.Parameter]:
    """The parameters of a module's forward; none if it has no signature, as a scripted one."""
    try:
        return dict(inspect.signature(module.forward).parameters)
    except (TypeError, ValueError):
        return {}


def _bind_arguments(module: Any, args: Tuple[Any, ...], keywords: Dict[str, Any]) -> Optional[Tuple[Any, ...]]:
    """All arguments as positional ones; ``None`` if one has no position or follows a missing one."""
    given = inspect.signature(module.forward).bind(*args, **keywords).arguments
    wanted = [name for name, item in _parameters(module).items() if item.kind in _PLAIN][: len(given)]
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


def _argument_names(module: Any, count: int) -> Tuple[str, ...]:
    """The names of the first arguments of the module's forward; ``input_0``, … if it has ``*args``."""
    parameters = list(_parameters(module).values())[:count]
    if len(parameters) == count and all(item.kind in _PLAIN for item in parameters):
        return tuple(item.name for item in parameters)
    return tuple("input_{}".format(index) for index in range(count))


def _is_one_input(item: Any) -> bool:
    """Whether an argument is a tensor or a number, or holds just one."""
    return item is not None and (not isinstance(item, (list, tuple, dict)) or len(list(_leaves(item))) == 1)


def _leaves(item: Any) -> Iterator[Any]:
    """Yield the arrays in a nest of tuples, lists and dictionaries."""
    return (part for part in leaf_values(item) if hasattr(part, "dtype"))
