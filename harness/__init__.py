"""caniexport: the measured compatibility matrix of PyTorch -> ONNX -> runtime.

Two halves live here. ``harness.worker`` runs inside a measured environment (Python 3.7+, standard
library, pytest, numpy, torch, onnx, onnxruntime only). Everything else answers questions on a current
Python. They share the case model and the row.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from harness.api import (
        cells,
        check_model,
        claimed,
        compare_datasets,
        history,
        open_dataset,
        plan,
        policy,
        scan_source,
        table,
        upgrade,
        why,
        workarounds,
    )

__version__ = "0.1.0"

__all__ = [
    "cells",
    "check_model",
    "claimed",
    "compare_datasets",
    "history",
    "open_dataset",
    "plan",
    "policy",
    "scan_source",
    "table",
    "upgrade",
    "why",
    "workarounds",
]


def __getattr__(name: str) -> Any:
    """The functions of :mod:`harness.api`, imported when one is asked for: the worker's half has no use for them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("harness.api"), name)
