"""Cases that are whole models: an entry of a table names package, class, settings and inputs; weights are our own.

An entry is built inside the measured environment by :mod:`caniexport.worker.architectures`, at a small size, without
a download. Its first input set is exported; the others have other values and other lengths along each axis::

    BATCH, LENGTH = Axis("batch", 2, 3), Axis("length", 7, 11)
    Architecture("bert", "transformers", "BertModel", {"hidden_size": 32}, {"input_ids": ids(BATCH, LENGTH)})
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Type, Union

from caniexport.model.case import PLAIN, Case, Fix
from caniexport.model.releases import Release
from caniexport.model.status import Exporter, FixKind
from caniexport.model.tensors import Spec, values

#: the corpus of these cases
MODELS = "models"
#: the opsets asked for: the newest that torch 1.13 traces to, and the one that dynamo writes
_ASKED = {Exporter.TRACE.value: 17, Exporter.DYNAMO.value: 18, Exporter.DEFAULT.value: None}
#: the forms beside the plain one, and what they do
STATIC, EAGER_ATTENTION, OWN_EXPORT = "static", "eager_attention", "own_export"


class Axis:
    """A dynamic axis: its name, and its size in each input set, the exported one first."""

    def __init__(self, name: str, *sizes: int) -> None:
        self.name = name
        self.sizes = sizes

    @property
    def first(self) -> int:
        """Its size in the input set that is exported."""
        return self.sizes[0]

    @property
    def second(self) -> int:
        """Its size in the input set after that."""
        return self.sizes[1]


#: sizes of a tensor; an :class:`Axis` is dynamic
Sizes = Sequence[Union[int, Axis]]


class Input(NamedTuple):
    """A tensor of a model; ``make`` gives it from its sizes."""

    sizes: Sizes
    make: Callable[[Tuple[int, ...]], Spec]

    def of(self, which: int) -> Spec:
        """The tensor in an input set; the first is 0."""
        return self.make(tuple(size.sizes[which] if isinstance(size, Axis) else size for size in self.sizes))

    @property
    def dynamic(self) -> Dict[int, str]:
        """Names of its dynamic axes."""
        return {at: size.name for at, size in enumerate(self.sizes) if isinstance(size, Axis)}


def ids(*sizes: Union[int, Axis], low: int = 3, below: int = 99) -> Input:
    """Token ids in ``low .. below - 1``; smaller ones are padding and ends in most models."""
    return Input(sizes, lambda shape: Spec("int64", shape, low, below))


def floats(*sizes: Union[int, Axis], low: float = -1.0, high: float = 1.0) -> Input:
    """Images, sounds, states."""
    return Input(sizes, lambda shape: Spec("float32", shape, low, high))


def mask(*sizes: Union[int, Axis], dtype: str = "int64") -> Input:
    """Ones over ``[batch, length]``, two zeros at the end of the last row: of ones alone a mask is traced away."""
    return Input(sizes, lambda shape: _padded(shape, dtype))


def zeros(*sizes: Union[int, Axis], dtype: str = "int64") -> Input:
    """Zeros: token types, for one."""
    return Input(sizes, lambda shape: values(_filled(shape, 0), dtype))


def fixed(data: Any, dtype: str = "int64") -> Input:
    """The same values in all input sets."""
    return Input((), lambda _: values(data, dtype))


class Architecture(NamedTuple):
    """An entry of the table.

    id        short: ``bert``; the case is ``transformers-bert``
    package   whose it is: a builder of :mod:`caniexport.worker.architectures`
    name      class or function of the package
    settings  of its configuration, or keyword arguments
    inputs    by argument, in order
    call      how ``forward`` takes them: ``keywords``, ``positions``, or ``images`` (a list of the images of a batch)
    rtol      relative tolerance; the absolute one is a tenth of it, at least, or of the largest value
    source    where a failure of it is described
    """

    id: str
    package: str
    name: str
    settings: Dict[str, Any]
    inputs: Dict[str, Input]
    call: str = "keywords"
    rtol: float = 1e-3
    source: Tuple[str, ...] = ()


class Worker(NamedTuple):
    """What builds models inside a measured environment: :mod:`caniexport.worker.architectures`.

    code   the hash of it
    build  the model of an entry, with weights; ``load`` imports its class
    fixes  the forms of an entry that only its package has
    """

    code: str
    build: Callable[..., Any]
    load: Callable[[Architecture], Any]
    fixes: Callable[[Architecture], Dict[str, Fix]]


class ArchitectureCase(Case):
    """A model as a case."""

    corpus = MODELS
    fills_parameters = False
    by_largest = True
    exporters = tuple(_ASKED)
    architecture: Architecture
    worker: Worker

    @classmethod
    def setup(cls, module: Any) -> None:  # type: ignore[override]  # it is the table's entry that is put on the module
        """Build the model, with weights."""
        module.model = cls.worker.build(cls.architecture)

    @classmethod
    def load(cls) -> None:
        """Import its class once, before a process is forked for the cells."""
        cls.worker.load(cls.architecture)

    @classmethod
    def hash_of(cls, variant: str) -> str:
        """Names what is measured: the entry with all input sets, and the code that builds it."""
        entry = cls.architecture
        count = count_sets(entry.inputs)
        sets = [{name: repr(item.of(which)) for name, item in entry.inputs.items()} for which in range(count)]
        parts = (cls.case_id(), variant, cls.worker.code, repr(entry._replace(inputs={}, source=())), repr(sets))
        return hashlib.sha256("\n".join(parts).encode("utf-8")).hexdigest()[:16]

    @classmethod
    def code_of(cls, variant: str) -> str:
        """What is built, and how it is called, for a person."""
        entry = cls.architecture
        settings = "".join("\n    {}={!r},".format(*item) for item in entry.settings.items())
        count = count_sets(entry.inputs)
        inputs = "".join(
            "\n# {}: {}".format(name, ", then ".join(repr(item.of(which)) for which in range(count)))
            for name, item in entry.inputs.items()
        )
        return "# {}\n{}.{}({})\n{}".format(variant, entry.package, entry.name, settings and settings + "\n", inputs)

    @classmethod
    def asks(cls, variant: str, release: Release, exporter: str) -> Tuple[Optional[int], ...]:
        """One opset of each exporter, the same in every release."""
        if (variant == OWN_EXPORT) != (exporter == Exporter.DEFAULT.value) and variant != PLAIN:
            return ()
        opset = _ASKED[exporter]
        return tuple(item for item in release.opsets(exporter) if item == opset)


def make_cases(table: Sequence[Architecture], module: str, worker: Worker) -> Dict[str, Type[ArchitectureCase]]:
    """The cases of a table by the name of their class; ``module`` is the name of the case file."""
    found: Dict[str, Type[ArchitectureCase]] = {}
    for entry in table:
        name = "{}-{}".format(entry.package, entry.id)
        static = tuple(tuple(item.of(0) for item in entry.inputs.values()) for _ in (0, 1))
        members = {
            **make_members(entry, name, module, worker),
            "forward": _write_forward(list(entry.inputs), entry.call),
            STATIC: Fix(FixKind.EXPORT_OPTION.value, "no dynamic axes", dynamic={}, inputs=static),
            **worker.fixes(entry),
        }
        add_case(found, name, ArchitectureCase, members)
    return found


def make_members(entry: Architecture, name: str, module: str, worker: Worker) -> Dict[str, Any]:
    """The members of an entry's case without ``forward`` and fixes."""
    return {
        "__doc__": "{} of {}.".format(entry.name, entry.package),
        "__module__": module,
        "id": name,
        "sources": entry.source or ("pypi:" + entry.package,),
        "inputs": make_sets(entry.inputs),
        "dynamic": {key: item.dynamic for key, item in entry.inputs.items() if item.dynamic},
        "rtol": entry.rtol,
        "atol": entry.rtol / 10,
        "architecture": entry,
        "worker": worker,
    }


def make_sets(inputs: Dict[str, Input]) -> Tuple[Tuple[Spec, ...], ...]:
    """The input sets."""
    return tuple(tuple(item.of(which) for item in inputs.values()) for which in range(count_sets(inputs)))


def add_case(found: Dict[str, Any], name: str, base: Type[ArchitectureCase], members: Dict[str, Any]) -> None:
    """Put the case of an entry among those found, by the name of its class."""
    key = re.sub(r"\W", "_", name)
    if key in found:
        raise ValueError("two architectures are {}".format(name))
    found[key] = type(key, (base,), members)


def _write_forward(names: List[str], call: str) -> Callable[..., Any]:
    """A ``forward`` with these arguments, which gives the tensors of the model's output in order."""
    given = ", ".join(names)
    how = {
        "keywords": ", ".join("{0}={0}".format(name) for name in names),
        "positions": given,
        "images": "[item for item in {}]".format(given),
    }
    text = "def forward(self, {}):\n    return tensors(self.model({}))".format(given, how[call])
    space: Dict[str, Any] = {"tensors": collect_tensors}
    exec(text, space)
    forward: Callable[..., Any] = space["forward"]
    return forward


def collect_tensors(output: Any) -> List[Any]:
    """The tensors of an output, nested ones unpacked; what holds a cache of states is left out."""
    if isinstance(output, dict):
        output = list(output.values())
    if isinstance(output, (list, tuple)):
        return [tensor for item in output for tensor in collect_tensors(item)]
    return [output] if hasattr(output, "detach") else []


def count_sets(inputs: Dict[str, Input]) -> int:
    """How many input sets there are: as many as its axes have sizes, two without any."""
    counts = {len(size.sizes) for item in inputs.values() for size in item.sizes if isinstance(size, Axis)} or {2}
    if len(counts) > 1:
        raise ValueError("axes of one model have {} sizes".format(sorted(counts)))
    return counts.pop()


def _padded(shape: Tuple[int, ...], dtype: str) -> Spec:
    rows = [[1] * shape[1] for _ in range(shape[0])]
    rows[-1][-2:] = [0, 0]
    return values(rows, dtype)


def _filled(shape: Tuple[int, ...], value: int) -> Any:
    return [_filled(shape[1:], value) for _ in range(shape[0])] if shape else value
