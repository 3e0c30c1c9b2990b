"""Fake and real quantisation."""

import torch

from caniexport import Case, f16, f32, fix


class _FakeQuantise(Case):
    onnx_ops = ("QuantizeLinear", "DequantizeLinear")
    inputs = ((f32(2, 3),), (f32(2, 3, low=-3.0, high=3.0),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}


class FakeQuantisePerChannel(_FakeQuantise):
    """Fake quantisation per channel needs opset 13, where QuantizeLinear got its axis."""

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

    @fix("rewrite", "the zero point as torch up to 1.9 had it: int64", caution=True)
    def int64_zero_point(self, x):
        scale, zero = torch.tensor([0.1, 0.2, 0.05]), torch.tensor([0, 3, -2], dtype=torch.int64)
        return torch.fake_quantize_per_channel_affine(x, scale, zero, 1, -128, 127)

    @fix("rewrite", "per tensor: one scale for all channels, other values", changes_values=True, documented=False)
    def per_tensor(self, x):
        return torch.fake_quantize_per_tensor_affine(x, 0.2, 0, -128, 127)


class FakeQuantiseTensorParameters(_FakeQuantise):
    """Fake quantisation whose scale and zero point are tensors."""

    sources = ("pytorch/pytorch#167063",)
    aten_ops = ("aten::fake_quantize_per_tensor_affine",)
    needs_torch = ">=1.10"

    def setup(self):
        self.register_buffer("scale", torch.tensor([0.1]))
        self.register_buffer("zero", torch.tensor([0], dtype=torch.int32))

    def forward(self, x):
        return torch.fake_quantize_per_tensor_affine(x, self.scale, self.zero, -128, 127)

    @fix("rewrite", "scale and zero point as Python numbers", documented=False)
    def python_numbers(self, x):
        return torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127)

    torchscript = fix("export-option", "the TorchScript exporter", exporter="torchscript-trace", documented=False)


class FakeQuantiseHalf(_FakeQuantise):
    """Fake quantisation of half precision: QuantizeLinear takes it from opset 19 on."""

    sources = ("pytorch/pytorch#107023",)
    aten_ops = ("aten::fake_quantize_per_tensor_affine",)
    needs_torch = ">=1.13"
    inputs = ((f16(2, 3),), (f16(2, 3),), (f16(4, 3),))

    def forward(self, x):
        return torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127)

    opset_19 = fix(
        "raise-opset", "export at opset 19: the scale stays float32, which does not fit", opset=19, caution=True
    )

    @fix("rewrite", "in float32", documented=False)
    def float32_inside(self, x):
        return torch.fake_quantize_per_tensor_affine(x.float(), 0.1, 0, -128, 127).half()


class FakeQuantiseLearnable(_FakeQuantise):
    """Fake quantisation with a scale that is learnt has no rule."""

    sources = ("ModelTC/MQBench#183",)
    aten_ops = ("aten::_fake_quantize_learnable_per_tensor_affine",)
    needs_torch = ">=1.7"

    def setup(self):
        self.register_buffer("scale", torch.tensor([0.1]))
        self.register_buffer("zero", torch.tensor([0.0]))

    def forward(self, x):
        return torch._fake_quantize_learnable_per_tensor_affine(x, self.scale, self.zero, -128, 127, 1.0)

    @fix("module-swap", "fake quantisation with the learnt numbers, fixed", documented=False)
    def fixed(self, x):
        return torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127)
