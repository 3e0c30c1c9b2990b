"""What a process knows of its own end, its memory and its own state."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Any, List, Tuple


def die_with_parent() -> None:
    """On Linux, end when the parent ends: a killed run must leave nothing running behind it. Elsewhere, nothing."""
    if sys.platform.startswith("linux"):
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


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


def fingerprint() -> Tuple[int, ...]:
    """Changes when something in ``torch.onnx`` is replaced (a monkeypatch), a custom symbolic is registered, or a
    process-wide setting of torch is changed.

    Looks at what the names of the exporter's modules are bound to, and at the tables of symbolics.
    """
    bound = [hash(tuple([id(value) for value in vars(module).values() if callable(value)])) for module in _watched()]
    return tuple(bound) + _registered() + _settings()


_modules: List[Any] = []
_modules_of = 0


def _watched() -> List[Any]:
    """The modules whose names are looked at; going through all of ``sys.modules`` is worth it only when it grew."""
    global _modules_of
    if len(sys.modules) != _modules_of:
        _modules_of = len(sys.modules)
        prefixes = ("torch.onnx", "torch.jit", "torch.nn.functional")
        _modules[:] = [item for name, item in list(sys.modules.items()) if name.startswith(prefixes) and item]
    return _modules


def _settings() -> Tuple[int, ...]:
    torch = sys.modules.get("torch")
    if torch is None:
        return ()
    asked = ("get_default_dtype", "is_grad_enabled", "get_num_threads", "are_deterministic_algorithms_enabled")
    return tuple(hash(getattr(torch, name)()) for name in asked if hasattr(torch, name))


def _registered() -> Tuple[int, ...]:
    """The symbolics that are registered, whoever did it, in the registries of 1.2 to 2.15."""
    found: List[int] = []
    for name in ("torch.onnx._internal.registration", "torch.onnx._internal.torchscript_exporter.registration"):
        registry = getattr(sys.modules.get(name), "registry", None)
        groups = getattr(registry, "_registry", {})
        # unregistering the last function of a group leaves it empty, and the exporter then fails with other words
        found.append(len(groups))
        for group in groups.values():
            found += map(id, getattr(getattr(group, "_functions", None), "_merged", {}).values())
    old = getattr(sys.modules.get("torch.onnx.symbolic_registry"), "_registry", {})
    for table in list(old.values()):
        found += map(id, table.values())
    return (hash(tuple(found)),)
