"""Half precision and bfloat16: values that fewer kernels take."""

import torch
import torch.nn.functional as F

from caniexport import Case, boolean, f16, f32, fix


class Conv2dHalfOnCpu(Case):
    """A half precision convolution cannot be traced on a CPU: eager itself has no kernel."""

    id = "conv2d-half-on-cpu"
    sources = ("pytorch/pytorch#34127", "pytorch/pytorch#121958", "microsoft/onnxruntime#17681")
    aten_ops = ("aten::conv2d",)
    onnx_ops = ("Conv",)
    inputs = ((f16(1, 2, 5, 5),), (f16(1, 2, 5, 5),))

    def setup(self):
        self.conv = torch.nn.Conv2d(2, 3, 3).half()

    def forward(self, x):
        return self.conv(x)

    def reference(self, x):
        return F.conv2d(x.float(), self.conv.weight.float(), self.conv.bias.float()).half()

    @fix("rewrite", "compute in float32, hand the result over in half", documented=False)
    def float32_inside(self, x):
        return F.conv2d(x.float(), self.conv.weight.float(), self.conv.bias.float()).half()


class WherePythonScalarHalf(Case):
    """torch.where(mask, x, 0.0) of a half tensor: the number is a double, or a float, beside it."""

    sources = ("pytorch/pytorch#118733",)
    aten_ops = ("aten::where",)
    onnx_ops = ("Where", "Cast", "Constant")
    needs_torch = ">=1.12"
    inputs = ((boolean(2, 5), f16(2, 5)), (boolean(2, 5), f16(2, 5)), (boolean(3, 5), f16(3, 5)))
    dynamic = {"mask": {0: "batch"}, "x": {0: "batch"}}

    def forward(self, mask, x):
        return torch.where(mask, x, 0.0)

    @fix("rewrite", "the number as a tensor of x's type", documented=False)
    def typed_scalar(self, mask, x):
        return torch.where(mask, x, torch.zeros((), dtype=x.dtype))

    @fix("rewrite", "masked_fill", documented=False)
    def masked_fill(self, mask, x):
        return x.masked_fill(~mask, 0.0)


class Bfloat16Matmul(Case):
    """A bfloat16 matrix product: the runtime has bfloat16 kernels for CUDA only.

    Inputs and outputs are float32, because numpy has no bfloat16 to feed.
    """

    id = "bfloat16-matmul"
    sources = (
        "microsoft/onnxruntime#26311",
        "onnx/onnx#7393",
        "pytorch/pytorch#149646",
        "pytorch/pytorch#143643",
        "pytorch/pytorch#153998",
        "microsoft/onnxscript#1462",
    )
    aten_ops = ("aten::matmul", "aten::to")
    onnx_ops = ("MatMul", "Cast")
    needs_torch = ">=1.8"
    inputs = ((f32(2, 4),), (f32(2, 4),), (f32(3, 4),))
    dynamic = {"x": {0: "batch"}}
    rtol = 2e-2
    atol = 2e-2

    def setup(self):
        self.weight = torch.nn.Parameter(torch.zeros(4, 3))

    def forward(self, x):
        return (x.to(torch.bfloat16) @ self.weight.to(torch.bfloat16)).float()

    @fix("rewrite", "float32 for that product")
    def float32(self, x):
        return x @ self.weight


class LayerNormUnderAutocast(Case):
    """A linear layer and a layer norm exported under autocast to bfloat16."""

    sources = ("microsoft/onnxruntime#13556",)
    aten_ops = ("aten::linear", "aten::layer_norm")
    onnx_ops = ("LayerNormalization", "Cast")
    needs_torch = ">=1.10"
    inputs = ((f32(2, 4),), (f32(2, 4),))
    rtol = 5e-2
    atol = 5e-2

    def setup(self):
        self.linear = torch.nn.Linear(4, 6)
        self.norm = torch.nn.LayerNorm(6)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.norm(self.linear(x)).float()

    @fix("export-option", "export without autocast")
    def without_autocast(self, x):
        return self.norm(self.linear(x))


class HalfSubtraction(Case):
    """A half precision subtraction on the CPU provider."""

    sources = ("microsoft/onnxruntime#3735",)
    aten_ops = ("aten::sub",)
    onnx_ops = ("Sub",)
    inputs = ((f16(2, 4), f16(2, 4)), (f16(2, 4), f16(2, 4)), (f16(3, 4), f16(3, 4)))
    dynamic = {"x": {0: "batch"}, "y": {0: "batch"}}

    def forward(self, x, y):
        return x - y

    @fix("rewrite", "subtract in float32, casts at both ends", documented=False)
    def float32_inside(self, x, y):
        return (x.float() - y.float()).half()
