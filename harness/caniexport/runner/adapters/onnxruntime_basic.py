"""A file as it is, at onnxruntime's basic level of optimization: what only works so, a fusion breaks."""

from __future__ import annotations

from typing import Any

from caniexport.runner.adapters.base import Given
from caniexport.runner.adapters.tool import Tool


class OnnxRuntimeBasic(Tool):
    """``graph_optimization_level`` basic; the untouched file beside it is at the level of every session, all."""

    name = "onnxruntime-basic"
    packages = ("onnxruntime",)
    session_options = (("graph_optimization_level", 1),)

    def change(self, model: Any, given: Given) -> Any:  # noqa: ARG002  # it needs the model alone
        """The model itself."""
        return model


ADAPTER = OnnxRuntimeBasic
