"""Torch's own database of operators (``op_db``): its entries, and which of an entry's sample inputs are measured.

The database lies in torch's test code, which imports packages that no measured environment has; they are stood in for,
since nothing that is used here needs them. Samples are drawn with a fixed seed, so that a release gives the same ones
in every process. Of an entry's samples in a dtype up to three are taken, each by what it shows (:data:`SAMPLES`).
"""

from __future__ import annotations

import functools
import importlib
import random
import sys
import types
import unittest
import warnings
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

#: which samples are taken: the plainest, one of another shape, the one with the most arguments
SAMPLES = ("plain", "shape", "arguments")
#: dtypes that are asked for, where the entry declares them
DTYPES = ("float32", "float16", "bfloat16", "int64", "int32", "uint8", "bool", "complex64")
#: samples looked at of an entry in a dtype: a few entries have thousands
_LOOKED_AT = 200
#: the seeds of the two input sets
_SEEDS = (11, 23)
#: elements that all tensors of a sample may have together
_MOST_ELEMENTS = 1 << 20


class CallSample(NamedTuple):
    """Arguments of one call, torch's own objects. ``tensors`` are the leaves that are tensors, in order."""

    arguments: Tuple[Any, ...]
    keywords: Dict[str, Any]

    @property
    def tensors(self) -> List[Any]:
        """The tensors among the arguments, those of lists and dictionaries too."""
        return list(tensors_of((self.arguments, self.keywords)))

    def filled(self, tensors: Sequence[Any]) -> "CallSample":
        """The same call with other tensors."""
        left = iter(tensors)
        return CallSample(_filled(self.arguments, left), _filled(self.keywords, left))

    def text(self) -> str:
        """The arguments as a person writes them: ``f32[2, 3], 1, keepdim=True``."""
        words = [_text(item) for item in self.arguments]
        return ", ".join(words + ["{}={}".format(name, _text(item)) for name, item in self.keywords.items()])


@functools.lru_cache(maxsize=None)
def entries() -> Dict[str, Any]:
    """The entries of the installed torch by name: ``add``, ``div.floor_rounding``; in the order of the database."""
    found: Dict[str, Any] = {}
    for entry in _database():
        found.setdefault(entry_name(entry), entry)
    return found


def entry_name(entry: Any) -> str:
    """The name of an entry with that of its test."""
    return ".".join(filter(None, (entry.name, entry.variant_test_name)))


def declared(entry: Any) -> List[str]:
    """The dtypes that an entry says it takes on a CPU."""
    import torch

    taken = {str(item).split(".")[-1] for item in _cpu_dtypes(entry)}
    return [name for name in DTYPES if name in taken and hasattr(torch, name)]


def samples(name: str, dtype: str) -> Dict[str, Tuple[CallSample, CallSample]]:
    """Of each sample that is measured its call with two sets of values."""
    drawn = [_drawn(name, dtype, seed) for seed in _SEEDS]
    return {
        which: (drawn[0][place], _second(drawn[0][place], drawn[1], place))
        for which, place in _chosen(drawn[0]).items()
    }


def _second(first: CallSample, others: Sequence[CallSample], place: int) -> CallSample:
    """The sample's call with other values: those of the second draw, where its tensors are alike."""
    if place < len(others) and _text(first.tensors) == _text(others[place].tensors):
        return first.filled(others[place].tensors)
    return first


@functools.lru_cache(maxsize=2)
def _drawn(name: str, dtype: str, seed: int) -> List[CallSample]:
    import torch

    entry = entries()[name]
    with _seeded(seed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # not by ``entry.sample_inputs``, which sets a seed of its own before each sample from 2.3 on
        made = entry.sample_inputs_func(entry, "cpu", getattr(torch, dtype), False)
        return [_sample(item) for _, item in zip(range(_LOOKED_AT), made)]


def _sample(item: Any) -> CallSample:
    return CallSample((item.input,) + tuple(item.args), dict(item.kwargs))


def _chosen(drawn: Sequence[CallSample]) -> Dict[str, int]:
    """Which samples are measured: what it shows, and its place among those drawn."""
    looks = [_Look(item, place) for place, item in enumerate(drawn)]
    looks = [item for item in looks if item.tensors > 0 and item.elements <= _MOST_ELEMENTS]
    if not looks:
        return {}
    plain = min(looks, key=lambda item: (*item.faults, len(item.constants), item.broadcasts, item.place))
    found = {SAMPLES[0]: plain.place}
    others = [item for item in looks if item.shapes != plain.shapes]
    if others:
        shape = min(others, key=lambda item: (*item.faults, len(item.constants), not item.broadcasts, item.place))
        found[SAMPLES[1]] = shape.place
    rest = [item for item in looks if item.constants != plain.constants and item.place not in found.values()]
    if rest:
        found[SAMPLES[2]] = min(rest, key=lambda item: (*item.faults, -len(item.constants), item.place)).place
    return found


class _Look:
    """What choosing a sample looks at."""

    def __init__(self, sample: CallSample, place: int) -> None:
        found = sample.tensors
        self.place = place
        self.tensors = len(found)
        self.shapes = tuple(tuple(item.shape) for item in found)
        self.elements = sum(item.numel() for item in found)
        #: a sample without elements, or of numbers alone, shows least
        self.faults = (any(item.numel() == 0 for item in found), any(item.dim() == 0 for item in found))
        self.broadcasts = len(set(self.shapes)) > 1
        constants = [item for item in sample.arguments if not list(tensors_of(item))]
        self.constants = tuple(map(_text, constants)) + tuple(
            "{}={}".format(name, _text(item)) for name, item in sample.keywords.items() if not list(tensors_of(item))
        )


def tensors_of(item: Any) -> Iterator[Any]:
    """The tensors in a value: of lists, tuples and dictionaries too, in order."""
    import torch

    if isinstance(item, torch.Tensor):
        yield item
    elif isinstance(item, (list, tuple)):
        for part in item:
            yield from tensors_of(part)
    elif isinstance(item, dict):
        for part in item.values():
            yield from tensors_of(part)


def _filled(item: Any, left: Iterator[Any]) -> Any:
    import torch

    if isinstance(item, torch.Tensor):
        return next(left)
    if isinstance(item, (list, tuple)):
        parts = [_filled(part, left) for part in item]
        return type(item)(*parts) if hasattr(item, "_fields") else type(item)(parts)
    if isinstance(item, dict):
        return {key: _filled(part, left) for key, part in item.items()}
    return item


#: dtypes as they are written in a sample's text
_SHORT = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c"}


def _text(item: Any) -> str:
    import torch

    if isinstance(item, torch.Tensor):
        name = str(item.dtype).split(".")[-1]
        bare = name.rstrip("0123456789")
        return "{}{}".format(_SHORT.get(bare, bare) + name[len(bare) :], list(item.shape))
    if isinstance(item, (list, tuple)) and type(item) in (list, tuple):
        words = ", ".join(map(_text, item))
        return "[{}]".format(words) if isinstance(item, list) else "({})".format(words)
    if isinstance(item, dict):
        return "{{{}}}".format(", ".join("{!r}: {}".format(key, _text(part)) for key, part in item.items()))
    if callable(item):
        return str(getattr(item, "__name__", type(item).__name__))
    return str(item) if isinstance(item, (torch.dtype, torch.device)) else repr(item)[:60]


def _cpu_dtypes(entry: Any) -> Any:
    taken = getattr(entry, "dtypes", None)
    own = getattr(entry, "dtypesIfCPU", None)
    return own if own is not None else taken or ()


def _database() -> Sequence[Any]:
    """``op_db``, as far as this release has it."""
    with _stood_in():
        module = importlib.import_module("torch.testing._internal.common_methods_invocations")
    import torch

    # it forbids what every other process may do
    torch.backends.__allow_nonbracketed_mutation_flag = True
    _leave_seeds_alone()
    found: Sequence[Any] = module.op_db
    return found


def _leave_seeds_alone() -> None:
    """Random operators of the database set a seed within their call, which no model does."""
    for name, module in list(sys.modules.items()):
        if name.startswith("torch.testing._internal") and hasattr(module, "wrapper_set_seed"):
            vars(module)["wrapper_set_seed"] = _called


def _called(function: Any, *arguments: Any, **keywords: Any) -> Any:
    return function(*arguments, **keywords)


@contextmanager
def _stood_in() -> Iterator[None]:
    """Torch's test code reads the command line, and imports test tools that it needs to run tests alone."""
    arguments, sys.argv = sys.argv, sys.argv[:1]
    importlib.import_module("distutils.version") if sys.version_info < (3, 12) else None
    try:
        _stand_in("expecttest", TestCase=unittest.TestCase, ACCEPT=False, assert_expected_inline=None)
        # torchgen, which 1.13 and 2.0 go through, makes classes of them
        _stand_in("yaml", SafeLoader=type("SafeLoader", (), {}), SafeDumper=type("SafeDumper", (), {}))
        yield
    finally:
        sys.argv = arguments


def _stand_in(name: str, **members: Any) -> None:
    """An empty module of this name, where there is none."""
    try:
        importlib.import_module(name)
    except ImportError:
        module = types.ModuleType(name)
        vars(module).update(members)
        sys.modules[name] = module


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Random numbers that begin with this seed, and afterwards are what they were."""
    import numpy as np
    import torch

    states = (torch.get_rng_state(), np.random.get_state(), random.getstate())
    torch.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)
    try:
        yield
    finally:
        torch.set_rng_state(states[0])
        np.random.set_state(states[1])
        random.setstate(states[2])
