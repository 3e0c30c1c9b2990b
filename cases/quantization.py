"""Fake quantization and quantization of exported models."""

import torch

from caniexport import Case, f16, f32, fix


class _FakeQuantise(Case):
    onnx_ops = ("QuantizeLinear", "DequantizeLinear")
    inputs = ((f32(2, 3),), (f32(2, 3, low=-3.0, high=3.0),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}


class FakeQuantisePerChannel(_FakeQuantise):
    """Per-channel fake quantization: the TorchScript exporter needs opset 13.

    QuantizeLinear has an axis since opset 13.
    """

    sources = (
        "pytorch/pytorch#52430",
        "pytorch/pytorch#42835",
        "intel/neural-compressor#819",
        "NVIDIA-AI-IOT/yolo_deepstream#31",
        "NVIDIA/TensorRT#1580",
        "NVIDIA/TensorRT#1763",
    )
    aten_ops = ("aten::fake_quantize_per_channel_affine",)
    needs_torch = ">=1.10"

    def forward(self, x):
        scale, zero = torch.tensor([0.1, 0.2, 0.05]), torch.tensor([0, 3, -2], dtype=torch.int32)
        return torch.fake_quantize_per_channel_affine(x, scale, zero, 1, -128, 127)

    opset_13 = fix("raise-opset", "export at opset 13", opset=13, documented=False)

    @fix("rewrite", "use an int64 zero point, as torch up to 1.9 did", caution=True)
    def int64_zero_point(self, x):
        scale, zero = torch.tensor([0.1, 0.2, 0.05]), torch.tensor([0, 3, -2], dtype=torch.int64)
        return torch.fake_quantize_per_channel_affine(x, scale, zero, 1, -128, 127)

    @fix(
        "rewrite",
        "quantize per tensor, with one scale for all channels; different values",
        changes_values=True,
        documented=False,
    )
    def per_tensor(self, x):
        return torch.fake_quantize_per_tensor_affine(x, 0.2, 0, -128, 127)


class FakeQuantiseTensorParameters(_FakeQuantise):
    """Fake quantization with tensor scale and zero point: no dynamo translation."""

    sources = ("pytorch/pytorch#167063",)
    aten_ops = ("aten::fake_quantize_per_tensor_affine",)
    needs_torch = ">=1.10"

    def setup(self):
        self.register_buffer("scale", torch.tensor([0.1]))
        self.register_buffer("zero", torch.tensor([0], dtype=torch.int32))

    def forward(self, x):
        return torch.fake_quantize_per_tensor_affine(x, self.scale, self.zero, -128, 127)

    @fix("rewrite", "pass scale and zero point as Python numbers", documented=False)
    def python_numbers(self, x):
        return torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127)

    torchscript = fix("export-option", "export with dynamo=False", exporter="torchscript-trace", documented=False)


class FakeQuantiseHalf(_FakeQuantise):
    """Fake quantization of float16: QuantizeLinear accepts it from opset 19 on."""

    sources = ("pytorch/pytorch#107023",)
    aten_ops = ("aten::fake_quantize_per_tensor_affine",)
    needs_torch = ">=1.13"
    inputs = ((f16(2, 3),), (f16(2, 3),), (f16(4, 3),))

    def forward(self, x):
        return torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127)

    opset_19 = fix(
        "raise-opset", "export at opset 19; the scale stays float32, which does not match", opset=19, caution=True
    )

    @fix("rewrite", "quantize in float32", documented=False)
    def float32_inside(self, x):
        return torch.fake_quantize_per_tensor_affine(x.float(), 0.1, 0, -128, 127).half()


class FakeQuantiseLearnable(_FakeQuantise):
    """Fake quantization with a learned scale has no ONNX translation."""

    sources = ("ModelTC/MQBench#183",)
    aten_ops = ("aten::_fake_quantize_learnable_per_tensor_affine",)
    needs_torch = ">=1.7"

    def setup(self):
        self.register_buffer("scale", torch.tensor([0.1]))
        self.register_buffer("zero", torch.tensor([0.0]))

    def forward(self, x):
        return torch._fake_quantize_learnable_per_tensor_affine(x, self.scale, self.zero, -128, 127, 1.0)

    @fix("module-swap", "use fake quantization with the learned numbers, fixed", documented=False)
    def fixed(self, x):
        return torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127)


def value_info(model):
    """Tell whether the stored shapes agree with inferred ones, and how many weights have a stored shape."""
    import onnx

    try:
        onnx.shape_inference.infer_shapes(model, strict_mode=True)
        is_consistent = True
    except onnx.shape_inference.InferenceError:
        is_consistent = False
    weights = {item.name for item in model.graph.initializer}
    return {
        "value_info_consistent": is_consistent,
        "weights_in_value_info": sum(item.name in weights for item in model.graph.value_info),
    }


def without_value_info(model):
    """Graph surgery: remove the shapes of inner values."""
    del model.graph.value_info[:]
    return model


class _ThenQuantizeDynamic(Case):
    sources = ("microsoft/onnxruntime#25890",)
    needs_torch = ">=2.5"  # the first release that stores value_info of weights
    dynamic = {"x": {0: "batch"}}
    facts = staticmethod(value_info)

    remove_value_info = fix("graph-surgery", "delete value_info from the exported model", surgery=without_value_info)
    trace = fix("export-option", "export with dynamo=False", exporter="torchscript-trace", documented=False)


class LinearThenQuantizeDynamic(_ThenQuantizeDynamic):
    """Linear by dynamo, then quantize_dynamic: onnxruntime 1.22-1.28 rejects shapes.

    The exported model is right and runs. Its value_info has the shape of the weight, too; quantize_dynamic
    transposes the weight and keeps that shape. The case measures the content of the exported model, not the
    quantization.
    """

    aten_ops = ("aten::linear",)
    onnx_ops = ("Gemm",)
    inputs = ((f32(2, 4),), (f32(2, 4),), (f32(5, 4),))

    def setup(self):
        self.linear = torch.nn.Linear(4, 6)

    def forward(self, x):
        return self.linear(x)


class Conv2dThenQuantizeDynamic(_ThenQuantizeDynamic):
    """Conv2d by dynamo, then quantize_dynamic: the weight is unchanged.

    Its value_info has the shape of the weight, too.
    """

    id = "conv2d-then-quantize-dynamic"
    aten_ops = ("aten::conv2d",)
    onnx_ops = ("Conv",)
    inputs = ((f32(1, 2, 5, 5),), (f32(1, 2, 5, 5),), (f32(3, 2, 5, 5),))

    def setup(self):
        self.conv = torch.nn.Conv2d(2, 3, 3)

    def forward(self, x):
        return self.conv(x)
