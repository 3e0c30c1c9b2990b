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
        case,
        cells,
        changes,
        check_model,
        claims,
        compare_datasets,
        declared,
        explain_error,
        known_failure,
        op,
        open,
        runtimes,
        scan_source,
        table,
        upgrade,
        workaround,
    )
    from caniexport.model.case import Case, EnvironmentCase, environment_fix, fix
    from caniexport.model.errors import CaniexportError, StoreError, UnknownName
    from caniexport.model.tensors import boolean, f16, f32, f64, i32, i64, u8, values
    from caniexport.store import Dataset

__version__ = "0.1.0"

__all__ = [
    "CaniexportError",
    "Case",
    "Dataset",
    "EnvironmentCase",
    "StoreError",
    "UnknownName",
    "boolean",
    "case",
    "cells",
    "changes",
    "check_model",
    "claims",
    "compare_datasets",
    "declared",
    "environment_fix",
    "explain_error",
    "f16",
    "f32",
    "f64",
    "fix",
    "i32",
    "i64",
    "known_failure",
    "op",
    "open",
    "runtimes",
    "scan_source",
    "table",
    "u8",
    "upgrade",
    "values",
    "workaround",
]

#: the module of every public name that is not an answer
_MODULES = {
    **dict.fromkeys(("Case", "EnvironmentCase", "environment_fix", "fix"), "model.case"),
    **dict.fromkeys(("boolean", "f16", "f32", "f64", "i32", "i64", "u8", "values"), "model.tensors"),
    **dict.fromkeys(("CaniexportError", "StoreError", "UnknownName"), "model.errors"),
    "Dataset": "store",
}


def __getattr__(name: str) -> Any:
    """A public name, imported when it is asked for: a measured environment cannot import the answers."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("caniexport." + _MODULES.get(name, "api")), name)
