"""caniexport: the measured compatibility matrix of PyTorch -> ONNX -> runtime.

Two halves live here. ``caniexport.model``, ``caniexport.worker`` and ``caniexport.runner`` also run inside a measured
environment (Python 3.7+, standard library, pytest, numpy, torch, onnx, onnxruntime only). Everything else answers
questions on a current Python. They share the case model and the row.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from caniexport.api import (
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
    from caniexport.model.case import Case, Claim, EnvironmentCase, environment_fix, fix
    from caniexport.model.tensors import boolean, f16, f32, f64, i32, i64, u8, values

__version__ = "0.1.0"

#: what case files are written with
_CASE = ("Case", "Claim", "EnvironmentCase", "environment_fix", "fix")
_TENSORS = ("boolean", "f16", "f32", "f64", "i32", "i64", "u8", "values")

__all__ = [
    "Case",
    "Claim",
    "EnvironmentCase",
    "boolean",
    "cells",
    "check_model",
    "claimed",
    "compare_datasets",
    "environment_fix",
    "f16",
    "f32",
    "f64",
    "fix",
    "history",
    "i32",
    "i64",
    "open_dataset",
    "plan",
    "policy",
    "scan_source",
    "table",
    "u8",
    "upgrade",
    "values",
    "why",
    "workarounds",
]


def __getattr__(name: str) -> Any:
    """A public name, imported when it is asked for: neither half has a use for all of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = "model.case" if name in _CASE else "model.tensors" if name in _TENSORS else "api"
    return getattr(import_module("caniexport." + home), name)
