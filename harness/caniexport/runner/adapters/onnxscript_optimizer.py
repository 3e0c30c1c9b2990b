"""onnxscript's optimizer, which dynamo's export runs too."""

from __future__ import annotations

from typing import Any

from caniexport.runner.adapters.base import Given
from caniexport.runner.adapters.tool import Tool


class OnnxScriptOptimizer(Tool):
    """``onnxscript.optimizer.optimize`` with its defaults."""

    name = "onnxscript-optimizer"
    packages = ("onnxscript",)
    modules = ("onnxscript.optimizer",)

    def change(self, model: Any, given: Given) -> Any:  # noqa: ARG002  # it needs the model alone
        """Raises what onnxscript raises."""
        from onnxscript import optimizer

        return optimizer.optimize(model)


ADAPTER = OnnxScriptOptimizer
