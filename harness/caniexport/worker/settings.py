"""Process-wide settings that a case could change and leave to the next one, as one value to compare.

Read after every cell, so each costs a microsecond or less. Functions are taken once, before any case has run.
"""

from __future__ import annotations

import gc
import locale
import logging
import os
import signal
import sys
import tempfile
import threading
import warnings
from typing import Any, Callable, Iterator, List, NamedTuple, Tuple

#: descriptors that may be open beside those that were open when a process began
_SPARE_DESCRIPTORS = 32
_TINY, _ONE = 5e-324, 1.0
_OF_TORCH = (
    "get_default_dtype get_default_device is_grad_enabled is_inference_mode_enabled is_anomaly_enabled "
    "is_autocast_enabled get_num_threads are_deterministic_algorithms_enabled "
    "is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled get_float32_matmul_precision"
).split()
_OF_TORCH_C = (
    "_len_torch_function_stack _len_torch_dispatch_stack _get_tracing_state _get_mkldnn_enabled _get_nnpack_enabled "
    "_get_flash_sdp_enabled _get_math_sdp_enabled _get_mem_efficient_sdp_enabled _get_graph_executor_optimize"
).split()
try:
    import fcntl
    import resource
except ImportError:  # Windows: there nothing is forked
    _LIMITS: List[int] = []
else:
    _LIMITS = sorted({getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")})


class Reader(NamedTuple):
    """Reads the settings of this process; made before its first cell."""

    getters: Tuple[Callable[[], Any], ...]
    descriptors: Tuple[int, ...]
    most: int

    @classmethod
    def now(cls) -> "Reader":
        """With the functions that are there now, for the descriptors that are open now."""
        opened = tuple(_descriptors())
        return cls(tuple(_getters()), opened, len(opened) + _SPARE_DESCRIPTORS)

    def read(self) -> Tuple[Any, ...]:
        """Their values; equal where none has changed."""
        return (
            tuple([getter() for getter in self.getters]),
            tuple([_flags(number) for number in self.descriptors]),
            len(_descriptors()) > self.most,
            _TINY * _ONE == 0.0,
        )


def _getters() -> Iterator[Callable[[], Any]]:
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    for holder, names in ((torch, _OF_TORCH), (getattr(torch, "_C", None), _OF_TORCH_C)):
        yield from [getattr(holder, name) for name in names if hasattr(holder, name)]
    for name in ("geterr", "geterrcall"):
        if hasattr(numpy, name):
            yield getattr(numpy, name)
    yield from (os.getcwd, _environment, _umask, _interpreter, _imports, _written_to, _locale, _texts, _tolerances)
    # the first call looks for a folder; from then on it is what was found
    yield tempfile.gettempdir
    if _LIMITS:
        yield from (_limits, _signals)


def _environment() -> Any:
    return frozenset(os.environ.items())


def _umask() -> int:
    found = _set_umask(0o077)
    _set_umask(found)
    return found


def _limits() -> Any:
    """All limits but the soft one that is set anew for every batch."""
    return tuple([_getrlimit(number)[number == _DATA :] for number in _LIMITS])


def data_limit() -> int:
    """What this process may allocate (RLIMIT_DATA), in bytes; 0 where there is no such limit."""
    return _getrlimit(_DATA)[0] if _LIMITS else 0


def _signals() -> Any:
    return (
        tuple([_getsignal(number) for number in _SIGNALS]),
        tuple(_sigmask(signal.SIG_BLOCK, ())),
        _getitimer(signal.ITIMER_REAL)[0] > 0,
    )


def _interpreter() -> Any:
    return (
        sys.getrecursionlimit(),
        sys.getswitchinterval(),
        sys.gettrace(),
        sys.getprofile(),
        gc.isenabled(),
        gc.get_threshold(),
        len(sys._current_frames()),
        threading.excepthook if hasattr(threading, "excepthook") else None,
    )


def _imports() -> Any:
    return tuple(sys.path), tuple(map(id, sys.meta_path)), tuple(map(id, sys.path_hooks))


def _written_to() -> Any:
    return id(sys.stdout), id(sys.stderr), getattr(sys.stdout, "closed", None), getattr(sys.stderr, "closed", None)


def _locale() -> str:
    return _setlocale(locale.LC_ALL)


def _texts() -> Any:
    """What makes a warning an error, and whether log lines are told at all."""
    return tuple([item for item in warnings.filters if item[0] == "error"]), logging.root.manager.disable


def _tolerances() -> Any:
    return tuple(getattr(sys.modules.get("caniexport.worker.compare"), "TOLERANCES", {}).items())


def compiled() -> int:
    """How much TorchScript has compiled: what it keeps decides whether another module compiles."""
    recursive = sys.modules.get("torch.jit._recursive")
    types = getattr(getattr(recursive, "concrete_type_store", None), "type_store", ())
    functions = getattr(sys.modules.get("torch.jit._state"), "_jit_caching_layer", ())
    return len(types) + len(functions)


def _flags(descriptor: int) -> int:
    try:
        return _fcntl(descriptor, _GETFL)
    except OSError:
        return -1


def _descriptors() -> List[int]:
    try:
        return sorted(map(int, _listdir("/proc/self/fd")))
    except OSError:
        return []


_listdir, _set_umask, _getsignal, _setlocale = os.listdir, os.umask, signal.getsignal, locale.setlocale
_SIGNALS = [
    getattr(signal, "SIG" + name)
    for name in "HUP INT QUIT ILL ABRT BUS FPE USR1 SEGV USR2 PIPE ALRM TERM CHLD VTALRM PROF WINCH".split()
    if hasattr(signal, "SIG" + name)
]
if _LIMITS:
    _fcntl, _GETFL, _getrlimit, _DATA = fcntl.fcntl, fcntl.F_GETFL, resource.getrlimit, resource.RLIMIT_DATA
    _sigmask, _getitimer = signal.pthread_sigmask, signal.getitimer
