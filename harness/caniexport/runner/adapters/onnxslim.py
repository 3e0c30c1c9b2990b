"""onnxslim: folds constants, removes and fuses nodes."""

from __future__ import annotations

from typing import Any

from caniexport.runner.adapters.base import Given
from caniexport.runner.adapters.tool import Tool


class OnnxSlim(Tool):
    """``onnxslim.slim`` with its defaults."""

    name = "onnxslim"
    packages = ("onnxslim",)
    modules = ("onnxslim",)

    def change(self, model: Any, given: Given) -> Any:  # noqa: ARG002  # it needs the model alone
        """Raises what onnxslim raises."""
        import onnxslim

        return onnxslim.slim(model)


ADAPTER = OnnxSlim
