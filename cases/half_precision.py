"""Half precision and bfloat16: values that fewer kernels take."""

import torch
import torch.nn.functional as F

from caniexport import Case, Claim, boolean, f16, f32, fix

NO_KERNEL = "NOT_IMPLEMENTED"


class Conv2dHalfOnCpu(Case):
    """A half precision convolution cannot be traced on a CPU: eager itself has no kernel."""

    id = "conv2d-half-on-cpu"
    records = ("half-export-on-cpu-conv",)
    sources = ("pytorch/pytorch#34127", "pytorch/pytorch#121958", "microsoft/onnxruntime#17681")
    aten_ops = ("aten::conv2d",)
    onnx_ops = ("Conv",)
    inputs = ((f16(1, 2, 5, 5),), (f16(1, 2, 5, 5),))
    claims = (
        Claim(
            "pytorch/pytorch#34127",
            "unfolded2d_copy is not implemented for Half on a CPU",
            torch="==1.4.*",
            status="fail",
            message="not implemented for 'Half'",
        ),
        Claim(
            "microsoft/onnxruntime#17681",
            "slow_conv2d_cpu is not implemented for Half",
            torch="==2.0.*",
            status="fail",
            message="not implemented for 'Half'",
        ),
    )

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

    records = ("where-python-scalar-double",)
    sources = ("pytorch/pytorch#118733",)
    aten_ops = ("aten::where",)
    onnx_ops = ("Where", "Cast", "Constant")
    needs_torch = ">=1.12"
    inputs = ((boolean(2, 5), f16(2, 5)), (boolean(2, 5), f16(2, 5)), (boolean(3, 5), f16(3, 5)))
    dynamic = {"mask": {0: "batch"}, "x": {0: "batch"}}
    claims = (
        Claim(
            "pytorch/pytorch#118733",
            "the constant is a double beside a half",
            torch="==2.2.*",
            opset=">=9",
            status="fail",
        ),
    )

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
    records = ("bfloat16-matmul-no-cpu-kernel", "bfloat16-full-export-runtime", "bfloat16-input-not-feedable")
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
    claims = (
        Claim(
            "microsoft/onnxruntime#26311",
            "no kernel for MatMul of bfloat16 on a CPU (October 2025), while the checker passes",
            record="bfloat16-matmul-no-cpu-kernel",
            torch="==2.8.*",
            opset="17-20",
            status="fail",
            stage="load",
            message=NO_KERNEL,
        ),
        Claim(
            "pytorch/pytorch#143643",
            "the file of a bfloat16 model cannot be loaded (December 2024)",
            record="bfloat16-full-export-runtime",
            torch="==2.5.*",
            opset=17,
            status="fail",
            stage="load",
        ),
    )

    def setup(self):
        self.weight = torch.nn.Parameter(torch.zeros(4, 3))

    def forward(self, x):
        return (x.to(torch.bfloat16) @ self.weight.to(torch.bfloat16)).float()

    @fix("rewrite", "float32 for that product")
    def float32(self, x):
        return x @ self.weight


class LayerNormUnderAutocast(Case):
    """A linear layer and a layer norm exported under autocast to bfloat16."""

    records = ("layernorm-autocast-no-cpu-kernel",)
    sources = ("microsoft/onnxruntime#13556",)
    aten_ops = ("aten::linear", "aten::layer_norm")
    onnx_ops = ("LayerNormalization", "Cast")
    needs_torch = ">=1.10"
    inputs = ((f32(2, 4),), (f32(2, 4),))
    rtol = 5e-2
    atol = 5e-2
    claims = (
        Claim(
            "microsoft/onnxruntime#13556",
            "the file of an autocast model has no CPU kernel",
            torch="==1.13.*",
            opset=17,
            status="fail",
        ),
    )

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

    records = ("float16-cpu-kernel-missing-sub",)
    sources = ("microsoft/onnxruntime#3735",)
    aten_ops = ("aten::sub",)
    onnx_ops = ("Sub",)
    inputs = ((f16(2, 4), f16(2, 4)), (f16(2, 4), f16(2, 4)), (f16(3, 4), f16(3, 4)))
    dynamic = {"x": {0: "batch"}, "y": {0: "batch"}}
    claims = (
        Claim(
            "microsoft/onnxruntime#3735",
            "the CPU has no half kernel for Sub (onnxruntime 1.2)",
            torch="==1.5.*",
            opset=">=9",
            status="fail",
            stage="load",
            message="kernel",
            finding="Later runtimes run it in float32 with casts of their own.",
        ),
    )

    def forward(self, x, y):
        return x - y

    @fix("rewrite", "subtract in float32, casts at both ends", documented=False)
    def float32_inside(self, x, y):
        return (x.float() - y.float()).half()
