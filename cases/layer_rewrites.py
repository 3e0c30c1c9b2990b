"""Layers with a known rewrite: RMS norm, softmax over channels, padded running sums, flips and literals."""

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix, i32


class RmsNormNoRule(Case):
    """nn.RMSNorm has no TorchScript symbolic; ONNX has the operator from opset 23 on."""

    sources = ("pytorch/pytorch#159249",)
    aten_ops = ("aten::rms_norm",)
    onnx_ops = ("RMSNormalization", "ReduceMean")
    needs_torch = ">=2.4"
    inputs = ((f32(2, 6),), (f32(2, 6, high=9.0),), (f32(3, 6),))
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        self.norm = torch.nn.RMSNorm(6, eps=1e-5)

    def forward(self, x):
        return self.norm(x)

    @fix("rewrite", "divide x by the root of its mean square, then multiply by the weight", documented=False)
    def by_hand(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.norm.weight

    dynamo = fix("export-option", "export with dynamo=True", exporter="dynamo")


class CumsumOfPaddedInt32(Case):
    """torch.cumsum of padded int32 counts: the output has the wrong dtype."""

    id = "cumsum-of-padded-int32"
    sources = ("pytorch/pytorch#52252",)
    aten_ops = ("aten::constant_pad_nd", "aten::cumsum")
    onnx_ops = ("Pad", "CumSum")
    inputs = ((i32(2, 4),), (i32(2, 4),), (i32(3, 4),))
    dynamic = {"counts": {0: "batch"}}

    def forward(self, counts):
        return torch.cumsum(F.pad(counts, (1, 0), value=0.0), dim=1)[:, None]

    @fix("rewrite", "convert the counts to int64 first", documented=False)
    def int64_first(self, counts):
        return torch.cumsum(F.pad(counts.long(), (1, 0), value=0), dim=1)[:, None]

    @fix("rewrite", "pad with an integer: the dtypes still differ", caution=True, documented=False)
    def integer_padding(self, counts):
        return torch.cumsum(F.pad(counts, (1, 0), value=0), dim=1)[:, None]


class SoftmaxOverChannels(Case):
    """F.softmax over image channels has no symbolic in torch 1.0.

    Below opset 13 the exporter adds two Transpose nodes.
    """

    sources = ("pytorch/pytorch#20643", "pytorch/pytorch#17918", "onnx/onnx#5460")
    aten_ops = ("aten::softmax",)
    onnx_ops = ("Softmax", "Transpose")
    inputs = ((f32(2, 3, 4, 5),), (f32(2, 3, 4, 5),), (f32(3, 3, 4, 5),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return F.softmax(x, dim=1)

    @fix("rewrite", "transpose, softmax over the last axis, transpose back", documented=False)
    def transposed(self, x):
        return F.softmax(x.transpose(1, 3), dim=-1).transpose(1, 3)

    opset_13 = fix("raise-opset", "export at opset 13, whose Softmax accepts any axis", opset=13, documented=False)


class FlipOfScriptedShapes(Case):
    """torch.flip of a tensor of sizes in a scripted function: axis out of range.

    Shape inference assumes a tensor of one axis.
    """

    sources = ("pytorch/pytorch#110693",)
    aten_ops = ("aten::flip",)
    onnx_ops = ("Slice",)
    exporters = ("torchscript-script",)
    needs_torch = ">=1.5"
    inputs = ((f32(3, 2),), (f32(3, 2),), (f32(5, 2),))
    dynamic = {"x": {0: "rows"}}

    def forward(self, x):
        return torch.flip(torch.tensor([[x.size(0), x.size(1)], [x.size(1), x.size(0)]]), [1])

    @fix("rewrite", "write the rows in reverse order and stack them", documented=False)
    def stacked(self, x):
        return torch.stack([torch.tensor([x.size(1), x.size(0)]), torch.tensor([x.size(0), x.size(1)])])

    trace = fix(
        "export-option",
        "trace instead of script: the sizes stay those of the example",
        exporter="torchscript-trace",
        caution=True,
        documented=False,
    )


class TensorLiteralInForward(Case):
    """torch.tensor of numbers in forward: reported to fail at aten::lift_fresh."""

    sources = ("ultralytics/ultralytics#18484",)
    aten_ops = ("aten::lift_fresh", "aten::mul")
    onnx_ops = ("Constant", "Mul")
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        self.register_buffer("scale", torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x):
        return x * torch.tensor([1.0, 2.0, 3.0])

    @fix("rewrite", "register the tensor as a buffer beforehand", documented=False)
    def buffer(self, x):
        return x * self.scale
