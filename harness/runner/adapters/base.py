"""What a runtime's adapter is: the contract between the runner and the runtimes."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Sequence, Tuple

from harness.worker.status import Stage


class Unavailable(Exception):
    """The runtime cannot be used here at all: not installed, not importable, no device, two packages in one folder.

    ``stage`` is ``resolve`` or ``import``. Its text becomes the one row that stands for all bundles.
    """

    def __init__(self, stage: Stage, text: str) -> None:
        super().__init__(text)
        self.stage = stage


class Refused(Exception):
    """The runtime has not the provider asked for: status ``unsupported`` and not ``fail``."""


class Running(NamedTuple):
    """What started: the runtime's version as its package reports it, and the device's name (``cpu``, or the GPU's)."""

    version: str
    device: str = "cpu"


class Session:
    """A loaded model. Adapters make a subclass.

    ``degraded`` says in words what is not as asked (nodes on another provider); empty where all is. ``absent`` says
    that nothing runs on the provider asked for. ``placement`` has the number of nodes per provider, where it is known.
    They may be set in the first :meth:`run`.
    """

    input_names: Sequence[str] = ()
    degraded: str = ""
    absent: str = ""
    placement: Mapping[str, int] = {}

    def run(self, feeds: Dict[str, Any]) -> List[Any]:
        """Numpy arrays by input name in, numpy arrays in the order of the model's outputs out; raises what it will."""
        raise NotImplementedError


class Adapter:
    """A runtime with one of its providers. Made before the runtime is imported, in each process anew.

    name       as in the column ``runtime``
    providers  what the column ``provider`` may have; the first is the default
    packages   distributions that it may come from; one that is installed gives the version where it does not start
    computes   False where the runtime only reads models (parse, build): no values are compared
    """

    name: str = ""
    providers: Tuple[str, ...] = ("cpu",)
    packages: Tuple[str, ...] = ()
    computes: bool = True

    def __init__(self, provider: str) -> None:
        self.provider = provider

    def start(self) -> Running:
        """Import the runtime and look for the device. Raises :class:`Unavailable`."""
        raise NotImplementedError

    def load(self, model: bytes, options: Mapping[str, Any], announce: Callable[[Stage], None]) -> Session:
        """A session for a serialised model, on one thread. What it raises is the row's content.

        ``announce`` is told each stage after ``load`` before it begins (``parse``, ``build``, ``place``). ``options``
        are onnxruntime's session options; a runtime that has none ignores them.
        """
        raise NotImplementedError
