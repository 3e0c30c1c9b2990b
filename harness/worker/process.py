"""What a process knows of its own end and of its own state."""

from __future__ import annotations

import ctypes
import signal
import sys
from typing import Tuple


def die_with_parent() -> None:
    """On Linux, end when the parent ends: a killed run must leave nothing running behind it. Elsewhere, nothing."""
    if sys.platform.startswith("linux"):
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def fingerprint() -> Tuple[int, ...]:
    """Changes when something in ``torch.onnx`` is replaced (a monkeypatch) or a custom symbolic is registered.

    Looks at what the names of the exporter's modules are bound to, and at the size of the table of custom symbolics.
    """
    found = []
    for name, module in list(sys.modules.items()):
        if name.startswith(("torch.onnx", "torch.jit")) and module is not None:
            found.append(hash(tuple(id(value) for key, value in vars(module).items() if callable(value))))
    return tuple(found) + _registered()


def _registered() -> Tuple[int, ...]:
    """How many symbolics are registered by hand, in the registries of 1.0 to 2.15."""
    counts = []
    for name in ("torch.onnx._internal.registration", "torch.onnx._internal.torchscript_exporter.registration"):
        registry = getattr(sys.modules.get(name), "registry", None)
        groups = getattr(registry, "_registry", {})
        counts.append(sum(len(getattr(group, "_functions", ())) for group in groups.values()))
    old = getattr(sys.modules.get("torch.onnx.symbolic_registry"), "_registry", {})
    counts.append(sum(len(table) for (domain, _), table in old.items() if domain not in ("", "prim", "quantized")))
    return tuple(counts)
