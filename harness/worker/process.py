"""What a process knows of its own memory and its own state."""

from __future__ import annotations

import os
import sys
from itertools import chain
from typing import Any, Dict, List

from harness.worker.registrations import Registrations, registered, tables_of_symbolics


def limit_memory(megabytes: int) -> None:
    """Limit what this process may allocate beyond what it has; an allocation above fails like a full machine's."""
    import resource

    have = 0
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            have = next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmData"))
    except (OSError, StopIteration):
        pass
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    try:
        # the soft limit alone: the next batch sets its own
        resource.setrlimit(resource.RLIMIT_DATA, (have + megabytes * 1024 * 1024, hard))
    except (ValueError, OSError):
        pass  # a platform without this limit; the supervisor watches the resident size as well
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


_first_size: List[int] = []


def grown() -> int:
    """MiB of memory this process has gained since it asked first; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[5])
    except (OSError, ValueError, IndexError):
        return 0
    size = pages * os.sysconf("SC_PAGE_SIZE") // (1024 * 1024)
    if not _first_size:
        _first_size.append(size)
    return size - _first_size[0]


_Fingerprint = Dict[str, int]


class Watch:
    """Whether this process is still what it was when the watch began.

    After most cells every watched name is bound to the very object it was bound to before: seeing that takes a tenth of
    a fingerprint. Only where something has moved, a counter or a name that came and went, are fingerprints compared.
    """

    def __init__(self) -> None:
        self._before = _fingerprint()
        self._seen = _bound()

    def is_changed(self) -> bool:
        """Whether a cell has left something behind."""
        bound = _bound()
        if _are_same(bound, self._seen) and _settings() == self._settings():
            return False
        if _differ(self._before, _fingerprint()):
            return True
        self._seen = bound
        return False

    def _settings(self) -> int:
        return self._before["settings"]


class State:
    """What a process was before its first cell, for all the cells that it works through."""

    def __init__(self) -> None:
        self._modules = 0

    def begin(self) -> None:
        """Take it as it is now; known already where it was kept and nothing has been imported since."""
        if len(sys.modules) != self._modules:
            self._watch, self._registrations = Watch(), Registrations.now()
            self._modules = len(sys.modules)

    def is_kept(self) -> bool:
        """Whether it is still that, once the symbolics that a cell left registered are taken back."""
        if not self._watch.is_changed():
            return True
        self._registrations.restore()
        return not self._watch.is_changed()


def _fingerprint() -> _Fingerprint:
    """What a cell could change in its process and leave to the next one, by the name of what holds it.

    Looks at what the names of the exporter's modules and of the classes every module uses are bound to (a monkeypatch),
    at the tables of symbolics, and at process-wide settings. Sets: taking a patch back may leave the same names in
    another order.
    """
    found = {
        holder.__name__: hash(frozenset([(name, id(value)) for name, value in vars(holder).items() if callable(value)]))
        for holder in _watched()
    }
    found.update(registry=registered(), settings=_settings())
    return found


def _differ(before: _Fingerprint, now: _Fingerprint) -> bool:
    """Whether something that was there is another thing now; a module imported since then has changed nothing."""
    return any(now.get(name) != value for name, value in before.items())


def _bound() -> List[Any]:
    """Everything that the watched modules and classes and the tables of symbolics hold now, in their order."""
    holders = [vars(holder) for holder in _watched()] + tables_of_symbolics()
    return list(chain.from_iterable([holder.values() for holder in holders]))


def _are_same(now: List[Any], before: List[Any]) -> bool:
    try:
        # item by item, the very same object first, which is the quick way to find nothing
        return now == before
    except Exception:
        return False  # what compares in a way of its own has taken another's place


_holders: List[Any] = []
_holders_of = 0
_PREFIXES = ("torch.onnx", "torch.jit", "torch.nn.functional")
_MODULES = ("torch", "numpy")


def _watched() -> List[Any]:
    """Modules and classes whose names are looked at; ``sys.modules`` is gone through only when it grew."""
    global _holders_of
    if len(sys.modules) != _holders_of:
        _holders_of = len(sys.modules)
        modules = [item for name, item in list(sys.modules.items()) if item and _is_watched(name)]
        torch = sys.modules.get("torch")
        classes = [getattr(torch, "Tensor", None), getattr(getattr(torch, "nn", None), "Module", None)]
        _holders[:] = modules + [item for item in classes if item is not None]
    return _holders


def _is_watched(name: str) -> bool:
    return name in _MODULES or name.startswith(_PREFIXES)


def _settings() -> int:
    torch = sys.modules.get("torch")
    asked = ("get_default_dtype", "is_grad_enabled", "get_num_threads", "are_deterministic_algorithms_enabled")
    of_torch = tuple(getattr(torch, name)() for name in asked if hasattr(torch, name))
    return hash((of_torch, os.getcwd(), frozenset(os.environ.items())))
