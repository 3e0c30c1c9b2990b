"""One cell as one file: a script with exact pins that shows it with torch, onnx and onnxruntime alone.

:func:`script` is pure and needs no torch; :func:`reproduction` finds the cell in a dataset first.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.reproduce.find import Reproduction, reproduction
    from harness.reproduce.write import Shown, script

__all__ = ["Reproduction", "Shown", "reproduction", "script"]

_HOME = {"Reproduction": "find", "reproduction": "find", "Shown": "write", "script": "write"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(name)
    return getattr(importlib.import_module(f"harness.reproduce.{_HOME[name]}"), name)
