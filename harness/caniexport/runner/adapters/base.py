"""What a runtime's adapter is: the contract between the runner and the runtimes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from caniexport.model.status import Stage


class Unavailable(Exception):
    """The runtime cannot be used here at all: not installed, not importable, no device, two packages in one folder.

    ``stage`` is ``resolve`` or ``import``; of a plugin that is there ``load`` (onnxruntime does not take it) or
    ``place`` (it has no device). Its text becomes the one row that stands for all bundles.
    """

    def __init__(self, stage: Stage, text: str) -> None:
        super().__init__(text)
        self.stage = stage


class Refused(Exception):
    """The runtime has not the provider asked for: status ``unsupported`` and not ``fail``."""


class Running(NamedTuple):
    """What started.

    version  of the runtime, as its package reports it
    device   ``cpu``, or the GPU's name
    facts    go into every row and say how the runtime computes (``{"tf32": "off"}``)
    """

    version: str
    device: str = "cpu"
    facts: Mapping[str, Any] = {}  # a default that nobody changes


class Given(NamedTuple):
    """What an adapter loads.

    model    the serialised file
    options  onnxruntime's session options; a runtime that has none ignores them
    inputs   by input set: the arrays in the order of the file's inputs, ``None`` for one that numpy cannot hold. Some
             runtimes need sizes and values before they build
    """

    model: bytes
    options: Mapping[str, Any] = {}  # a default that nobody changes
    inputs: Sequence[Sequence[Any]] = ()


class AdapterSession:
    """A loaded model. Adapters make a subclass, and may set these in the first :meth:`run`.

    input_names  in the order of the file's inputs
    degraded     what is not as asked, in words (nodes on another provider); empty for nothing
    absent       why nothing runs on the provider asked for, in words; empty where something does
    placement    number of nodes by provider, where it is known
    facts        go into the row
    """

    input_names: Sequence[str] = ()
    degraded: str = ""
    absent: str = ""
    placement: Mapping[str, int] = {}
    facts: Mapping[str, Any] = {}

    def run(self, feeds: Dict[str, Any]) -> List[Any]:
        """Run one input set: arrays by input name in, a list of arrays in the order of the model's outputs out.

        Whatever it raises becomes the error of the row.
        """
        raise NotImplementedError


class Adapter(ABC):
    """A runtime with one of its providers. Made before the runtime is imported, in each process anew.

    name       as in the column ``runtime``
    providers  what the column ``provider`` may have; the first is the default
    packages   distributions that it may come from; one that is installed gives the version where it does not start
    computes   False where the runtime only reads models (parse, build): no values are compared
    may_change  share of the largest value of an output of floats by which it may differ: what a lossy tool promises
    """

    name: str = ""
    providers: Tuple[str, ...] = ("cpu",)
    packages: Tuple[str, ...] = ()
    computes: bool = True
    may_change: float = 0.0

    def __init__(self, provider: str) -> None:
        self.provider = provider

    @abstractmethod
    def start(self) -> Running:
        """Import the runtime and look for the device. Raises :class:`Unavailable`."""

    @abstractmethod
    def load(self, given: Given, announce: Callable[[Stage], None]) -> AdapterSession:
        """Return a session for a model, on one thread. Whatever it raises becomes the error of the row.

        Call ``announce`` with each stage after ``load`` before it begins (``parse``, ``build``, ``place``).
        """

    @property
    def limits_memory(self) -> bool:
        """Whether its processes get a memory limit: a GPU's runtime reserves address space by the hundred gigabytes."""
        return self.provider == "cpu"

    def reason(self, text: str) -> str:  # noqa: ARG002  # most runtimes say it first
        """The words of an error's text that say why, for its signature; empty where they are its first line."""
        return ""

    def still_works(self) -> bool:
        """Whether the device can be used after a failure: some failures make every later call in the process fail."""
        return True

    def beside(self) -> Optional["Adapter"]:
        """The same runtime's CPU provider, in this process and started: outputs are held against its outputs too.

        ``None`` where this is the CPU, or where the runtime has no other provider.
        """
        return None
