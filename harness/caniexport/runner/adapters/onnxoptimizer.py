"""onnxoptimizer: the passes that once were onnx's own."""

from __future__ import annotations

from typing import Any

from caniexport.runner.adapters.base import Given
from caniexport.runner.adapters.tool import Tool


class OnnxOptimizer(Tool):
    """``onnxoptimizer.optimize`` with its default passes."""

    name = "onnxoptimizer"
    packages = ("onnxoptimizer",)
    modules = ("onnxoptimizer",)

    def change(self, model: Any, given: Given) -> Any:  # noqa: ARG002  # it needs the model alone
        """Raises what onnxoptimizer raises."""
        import onnxoptimizer

        return onnxoptimizer.optimize(model)


ADAPTER = OnnxOptimizer
