"""NVIDIA's plugin of TensorRT for RTX, which needs a GPU."""

from __future__ import annotations

from caniexport.runner.adapters.plugin import Plugin


class OnnxRuntimeEpTensorRtRtx(Plugin):
    """Its first device, with its own options."""

    name = "onnxruntime-ep-nv-tensorrt-rtx"
    packages = ("onnxruntime-ep-nv-tensorrt-rtx",)


ADAPTER = OnnxRuntimeEpTensorRtRtx
