"""The conversion to float16 that onnxruntime brings."""

from __future__ import annotations

from typing import Any

from caniexport.runner.adapters.base import Given
from caniexport.runner.adapters.tool import FLOAT16, Tool


class OnnxRuntimeHalf(Tool):
    """``convert_float_to_float16`` of ``onnxruntime.transformers`` with inputs and outputs as they are."""

    name = "onnxruntime-half"
    packages = ("onnxruntime",)
    modules = ("onnxruntime.transformers.float16",)
    may_change = FLOAT16

    def change(self, model: Any, given: Given) -> Any:  # noqa: ARG002  # it needs the model alone
        """Raises what onnxruntime raises."""
        from onnxruntime.transformers import float16

        return float16.convert_float_to_float16(model, keep_io_types=True)


ADAPTER = OnnxRuntimeHalf
