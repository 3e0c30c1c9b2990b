"""Activations, also scripted, and autograd functions that replace them."""

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix, values


class _Activation(Case):
    inputs = (
        (f32(2, 4, low=-5.0, high=5.0),),
        (values([[-3.0, -1.0, 0.0, 3.0], [4.0, -4.0, 1.0, 2.5]]),),
        (f32(3, 4),),
    )
    dynamic = {"x": {0: "batch"}}


class HardsigmoidNoRule(_Activation):
    """F.hardsigmoid: no TorchScript symbolic before torch 1.9.

    ONNX's HardSigmoid has a default slope of 0.2; torch's slope is 1/6.
    """

    sources = ("pytorch/pytorch#54316",)
    aten_ops = ("aten::hardsigmoid",)
    onnx_ops = ("HardSigmoid", "Clip")
    needs_torch = ">=1.5"

    def forward(self, x):
        return F.hardsigmoid(x)

    @fix("rewrite", "use F.relu6(x + 3) / 6", documented=False)
    def relu6(self, x):
        return F.relu6(x + 3.0) / 6.0


class HardswishNoRule(_Activation):
    """F.hardswish: torch 1.6 and 1.7 have no TorchScript symbolic."""

    sources = ("pytorch/pytorch#43665", "ultralytics/yolov5#831", "ultralytics/yolov5#1559")
    aten_ops = ("aten::hardswish",)
    onnx_ops = ("HardSwish", "HardSigmoid", "Mul")
    needs_torch = ">=1.6"

    def forward(self, x):
        return F.hardswish(x)

    @fix("module-swap", "use x * F.hardtanh(x + 3, 0, 6) / 6")
    def hardtanh(self, x):
        return x * F.hardtanh(x + 3.0, 0.0, 6.0) / 6.0


class GeluOpset20(_Activation):
    """F.gelu at opset 20: TorchScript writes the formula instead of the Gelu node."""

    id = "gelu-opset-20"
    sources = ("pytorch/pytorch#105299", "pytorch/pytorch#128772")
    aten_ops = ("aten::gelu",)
    onnx_ops = ("Gelu", "Erf")

    def forward(self, x):
        return F.gelu(x)

    dynamo = fix("export-option", "export with dynamo=True at opset 20", exporter="dynamo", opset=20, documented=False)


class GeluTanhOpset20(_Activation):
    """F.gelu(approximate="tanh") at opset 20: TorchScript writes the formula.

    The tanh form differs from the exact Gelu by 1.5e-4 at -1.
    """

    id = "gelu-tanh-opset-20"
    sources = ("pytorch/pytorch#105299", "pytorch/pytorch#128772")
    aten_ops = ("aten::gelu",)
    onnx_ops = ("Gelu", "Tanh")
    needs_torch = ">=1.12"

    def forward(self, x):
        return F.gelu(x, approximate="tanh")

    dynamo = fix("export-option", "export with dynamo=True at opset 20", exporter="dynamo", opset=20, documented=False)


class Swish(torch.autograd.Function):
    """A swish that saves memory in training."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)


class SwishWithSymbolic(Swish):
    """The same swish with a symbolic method."""

    @staticmethod
    def symbolic(g, x):
        return g.op("Mul", x, g.op("Sigmoid", x))


class SwishAutogradFunction(_Activation):
    """autograd.Function (swish): TorchScript fails before torch 1.13.

    This swish saves memory in training.
    """

    sources = (
        "pytorch/pytorch#56458",
        "aiff22/MAI-2021-Workshop#4",
        "huggingface/pytorch-image-models#400",
        "huggingface/pytorch-image-models#401",
    )
    aten_ops = ("prim::PythonOp", "aten::sigmoid")
    onnx_ops = ("Sigmoid", "Mul")
    exporters = ("torchscript-trace", "dynamo", "default")

    def forward(self, x):
        return Swish.apply(x)

    @fix("autograd-function", "add a symbolic method to the function")
    def with_symbolic(self, x):
        return SwishWithSymbolic.apply(x)

    @fix("rewrite", "use x * torch.sigmoid(x)", documented=False)
    def product(self, x):
        return x * torch.sigmoid(x)


class CheckpointInForward(_Activation):
    """torch.utils.checkpoint in forward: no TorchScript symbolic for the Python op."""

    sources = (
        "pytorch/pytorch#61813",
        "huggingface/transformers#8442",
        "pytorch/pytorch#101689",
        "pytorch/pytorch#88286",
        "pytorch/pytorch#104067",
    )
    aten_ops = ("prim::PythonOp", "aten::linear")
    onnx_ops = ("Gemm",)
    inputs = ((f32(3, 2),), (f32(3, 2, low=1.0, high=3.0),), (f32(5, 2),))
    exporters = ("torchscript-trace", "dynamo", "default")

    def setup(self):
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x):
        from torch.utils.checkpoint import checkpoint

        return checkpoint(self.linear, x)

    @fix("rewrite", "call the layer directly", documented=False)
    def called(self, x):
        return self.linear(x)

    not_inlined = fix(
        "export-option",
        "pass autograd_inlining=False (torch 2.1+): 2.13 rejects the function with it, exports it without",
        export={"autograd_inlining": False},
        documented=False,
    )


class ScriptedRelu6Twice(Case):
    """nn.ReLU6 twice on one tensor, scripted: one is removed, reported as wrong."""

    sources = ("pytorch/pytorch#88072",)
    aten_ops = ("aten::hardtanh", "aten::relu", "aten::cat")
    onnx_ops = ("Clip", "Relu", "Concat")
    inputs = ((f32(2, 3, low=-9.0, high=9.0),), (f32(2, 3, low=-9.0, high=9.0),), (f32(5, 3, low=-9.0, high=9.0),))
    dynamic = {"x": {0: "rows"}}

    def setup(self):
        self.relu = torch.nn.ReLU()
        self.first = torch.nn.ReLU6()
        self.second = torch.nn.ReLU6()

    def forward(self, x):
        return torch.cat([self.relu(x), self.first(x), self.second(x)])

    trace = fix(
        "export-option",
        "export with torch.jit.trace instead of torch.jit.script",
        exporter="torchscript-trace",
        documented=False,
    )

    @fix("rewrite", "compute the ReLU6 once and use its result twice", documented=False)
    def copied(self, x):
        clipped = self.first(x)
        return torch.cat([self.relu(x), clipped, clipped])


class SiluNoRule(_Activation):
    """F.silu: torch 1.7 has no TorchScript symbolic."""

    sources = (
        "WongKinYiu/yolov7#89",
        "ultralytics/ultralytics#644",
        "TrojanXu/yolov5-tensorrt#47",
        "ultralytics/yolov5#13830",
    )
    aten_ops = ("aten::silu",)
    onnx_ops = ("Sigmoid", "Mul")
    needs_torch = ">=1.7"

    def forward(self, x):
        return F.silu(x)

    @fix("module-swap", "use x * torch.sigmoid(x)")
    def times_sigmoid(self, x):
        return x * torch.sigmoid(x)

    newer_torch = fix("version-upgrade", "upgrade to torch 1.8 or later", torch=">=1.8")
