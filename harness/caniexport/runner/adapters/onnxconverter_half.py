"""onnxconverter-common's conversion to float16."""

from __future__ import annotations

from typing import Any

from caniexport.runner.adapters.base import Given
from caniexport.runner.adapters.tool import FLOAT16, Tool


class OnnxConverterHalf(Tool):
    """``convert_float_to_float16`` with inputs and outputs as they are."""

    name = "onnxconverter-half"
    packages = ("onnxconverter-common",)
    modules = ("onnxconverter_common.float16",)
    may_change = FLOAT16

    def change(self, model: Any, given: Given) -> Any:  # noqa: ARG002  # it needs the model alone
        """Raises what onnxconverter-common raises."""
        from onnxconverter_common import float16

        return float16.convert_float_to_float16(model, keep_io_types=True)


ADAPTER = OnnxConverterHalf
