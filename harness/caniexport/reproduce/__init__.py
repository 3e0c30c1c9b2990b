"""One cell as one file: a script with exact pins that shows it with torch, onnx and onnxruntime alone.

:func:`script` is pure and needs no torch; :func:`reproduction` finds the cell in a dataset first.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caniexport.reproduce.find import Reproduction, reproduction
    from caniexport.reproduce.write import ShownCell, script

__all__ = ["Reproduction", "ShownCell", "reproduction", "script"]

_HOME = {"Reproduction": "find", "reproduction": "find", "ShownCell": "write", "script": "write"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(name)
    return getattr(importlib.import_module(f"caniexport.reproduce.{_HOME[name]}"), name)
