"""onnxsim (onnx-simplifier): folds constants and simplifies."""

from __future__ import annotations

from typing import Any

from caniexport.runner.adapters.base import Given
from caniexport.runner.adapters.tool import Tool


class OwnCheckFailed(Exception):
    """onnxsim says of its own file that it does not compute the same."""


class OnnxSim(Tool):
    """``onnxsim.simplify`` with its defaults."""

    name = "onnxsim"
    packages = ("onnxsim",)
    modules = ("onnxsim",)

    def change(self, model: Any, given: Given) -> Any:  # noqa: ARG002  # it needs the model alone
        """Raises what onnxsim raises, and :class:`OwnCheckFailed`."""
        import onnxsim

        changed, agrees = onnxsim.simplify(model)
        if not agrees:
            raise OwnCheckFailed("the check of onnxsim found other values")
        return changed


ADAPTER = OnnxSim
