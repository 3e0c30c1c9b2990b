"""onnxscript's version converter, which dynamo's export uses."""

from __future__ import annotations

from typing import Any

from caniexport.runner.adapters.base import Given
from caniexport.runner.adapters.tool import OPSETS, Tool


class OnnxScriptConverter(Tool):
    """``onnxscript.version_converter.convert_version`` to the opset asked for, with onnx's own where it has no rule."""

    name = "onnxscript-converter"
    packages = ("onnxscript",)
    modules = ("onnxscript.version_converter",)
    providers = OPSETS

    def change(self, model: Any, given: Given) -> Any:  # noqa: ARG002  # it needs the model alone
        """Raises what onnxscript raises."""
        from onnxscript import ir, version_converter

        # of a ModelProto it changes the graph and leaves the opset as it was (onnxscript 0.7.2)
        changed = ir.from_proto(model)
        version_converter.convert_version(changed, self.asked_opset, fallback=True)
        return ir.to_proto(changed)


ADAPTER = OnnxScriptConverter
