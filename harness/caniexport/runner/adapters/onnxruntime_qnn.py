"""Qualcomm's plugin. Without an NPU its library emulates the HTP on the processor."""

from __future__ import annotations

from typing import Any, Dict

from caniexport.runner.adapters.plugin import Plugin
from caniexport.runner.adapters.tool import FLOAT16


class OnnxRuntimeQnn(Plugin):
    """The HTP backend, which computes float32 in float16."""

    name = "onnxruntime-qnn"
    packages = ("onnxruntime-qnn",)
    may_change = FLOAT16

    def choose_options(self, module: Any) -> Dict[str, str]:
        """The package has one backend on Linux."""
        return {"backend_path": module.get_qnn_htp_path()}


ADAPTER = OnnxRuntimeQnn
