"""OpenVINO's plugin: its releases side by side. As a provider of onnxruntime it has one release for each."""

from __future__ import annotations

from typing import Any, Dict

from caniexport.runner.adapters.onnxruntime import OPENVINO_OPTIONS
from caniexport.runner.adapters.plugin import Plugin


class OnnxRuntimeEpOpenVino(Plugin):
    """The CPU, in float32; it takes Intel's alone."""

    name = "onnxruntime-ep-openvino"
    packages = ("onnxruntime-ep-openvino",)

    def choose_options(self, module: Any) -> Dict[str, str]:  # noqa: ARG002  # the same for each release
        """On one thread, in float32."""
        return OPENVINO_OPTIONS


ADAPTER = OnnxRuntimeEpOpenVino
