"""WebGPU's plugin, which needs a GPU with Vulkan."""

from __future__ import annotations

from caniexport.runner.adapters.plugin import Plugin


class OnnxRuntimeEpWebGpu(Plugin):
    """Its first device, with its own options."""

    name = "onnxruntime-ep-webgpu"
    packages = ("onnxruntime-ep-webgpu",)


ADAPTER = OnnxRuntimeEpWebGpu
