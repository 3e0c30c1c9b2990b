"""onnx's version converter."""

from __future__ import annotations

from typing import Any

from caniexport.runner.adapters.base import Given
from caniexport.runner.adapters.tool import OPSETS, Tool


class OnnxConverter(Tool):
    """``onnx.version_converter.convert_version`` to the opset asked for."""

    name = "onnx-converter"
    packages = ("onnx",)
    modules = ("onnx.version_converter",)
    providers = OPSETS

    def change(self, model: Any, given: Given) -> Any:  # noqa: ARG002  # it needs the model alone
        """Raises what onnx raises."""
        from onnx import version_converter

        return version_converter.convert_version(model, self.asked_opset)


ADAPTER = OnnxConverter
