"""Activations, scripted ones too, and autograd functions that stand for them."""

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
    """F.hardsigmoid; ONNX's HardSigmoid has a slope of 0.2 unless told, torch's is 1/6."""

    sources = ("pytorch/pytorch#54316",)
    aten_ops = ("aten::hardsigmoid",)
    onnx_ops = ("HardSigmoid", "Clip")
    needs_torch = ">=1.5"

    def forward(self, x):
        return F.hardsigmoid(x)

    @fix("rewrite", "F.relu6(x + 3) / 6", documented=False)
    def relu6(self, x):
        return F.relu6(x + 3.0) / 6.0


class HardswishNoRule(_Activation):
    """F.hardswish has no rule in torch 1.6 and 1.7."""

    sources = ("pytorch/pytorch#43665", "ultralytics/yolov5#831", "ultralytics/yolov5#1559")
    aten_ops = ("aten::hardswish",)
    onnx_ops = ("HardSwish", "HardSigmoid", "Mul")
    needs_torch = ">=1.6"

    def forward(self, x):
        return F.hardswish(x)

    @fix("module-swap", "x * F.hardtanh(x + 3, 0, 6) / 6")
    def hardtanh(self, x):
        return x * F.hardtanh(x + 3.0, 0.0, 6.0) / 6.0


class GeluOpset20(_Activation):
    """F.gelu at opset 20, which has Gelu: the TorchScript exporter writes its formula."""

    id = "gelu-opset-20"
    sources = ("pytorch/pytorch#105299", "pytorch/pytorch#128772")
    aten_ops = ("aten::gelu",)
    onnx_ops = ("Gelu", "Erf")

    def forward(self, x):
        return F.gelu(x)

    dynamo = fix("export-option", "the dynamo exporter at opset 20", exporter="dynamo", opset=20, documented=False)


class GeluTanhOpset20(_Activation):
    """F.gelu(approximate="tanh"), which differs from the exact one by 1.5e-4 at -1."""

    id = "gelu-tanh-opset-20"
    sources = ("pytorch/pytorch#105299", "pytorch/pytorch#128772")
    aten_ops = ("aten::gelu",)
    onnx_ops = ("Gelu", "Tanh")
    needs_torch = ">=1.12"

    def forward(self, x):
        return F.gelu(x, approximate="tanh")

    dynamo = fix("export-option", "the dynamo exporter at opset 20", exporter="dynamo", opset=20, documented=False)


class Swish(torch.autograd.Function):
    """A swish that saves memory in training."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)


class SwishWithSymbolic(Swish):
    """The same with a rule of its own."""

    @staticmethod
    def symbolic(g, x):
        return g.op("Mul", x, g.op("Sigmoid", x))


class SwishAutogradFunction(_Activation):
    """A memory-saving swish as an autograd function: a Python operator that has no rule."""

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

    @fix("autograd-function", "the function with a symbolic")
    def with_symbolic(self, x):
        return SwishWithSymbolic.apply(x)

    @fix("rewrite", "x * torch.sigmoid(x)", documented=False)
    def product(self, x):
        return x * torch.sigmoid(x)


class CheckpointInForward(_Activation):
    """torch.utils.checkpoint of a layer in forward: a Python operator that has no rule."""

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

    @fix("rewrite", "call the layer itself", documented=False)
    def called(self, x):
        return self.linear(x)

    not_inlined = fix(
        "export-option",
        "autograd_inlining=False, from torch 2.1 on: 2.13 refuses the function then, and exports it without",
        export={"autograd_inlining": False},
        documented=False,
    )


class ScriptedRelu6Twice(Case):
    """Two equal ReLU6 of one tensor, scripted: one is optimised away, said to be a wrong result."""

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

    trace = fix("export-option", "trace instead of script", exporter="torchscript-trace", documented=False)

    @fix("rewrite", "the second half copied from the first", documented=False)
    def copied(self, x):
        clipped = self.first(x)
        return torch.cat([self.relu(x), clipped, clipped])


class SiluNoRule(_Activation):
    """F.silu has no rule in torch 1.7."""

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

    @fix("module-swap", "x * torch.sigmoid(x)")
    def times_sigmoid(self, x):
        return x * torch.sigmoid(x)

    newer_torch = fix("version-upgrade", "torch 1.8 and later", torch=">=1.8")
