"""Batch norms that the dynamo exporter fuses into the preceding layer, and the biases that it mixes up."""

import torch

from caniexport import Case, f32, fix


def with_statistics(norm, shift):
    """Return the layer with running statistics that are not the defaults and differ for each ``shift``."""
    with torch.no_grad():
        norm.running_mean.copy_(torch.arange(norm.num_features).to(norm.running_mean.dtype) + shift)
        norm.running_var.copy_(torch.arange(norm.num_features).to(norm.running_var.dtype) + 1.0)
    return norm


class _TwoBranches(Case):
    sources = ("pytorch/pytorch#174042",)
    aten_ops = ("aten::linear", "aten::batch_norm")
    onnx_ops = ("Gemm", "MatMul", "BatchNormalization")
    inputs = ((f32(2, 4),), (f32(2, 4),), (f32(5, 4),))
    dynamic = {"x": {0: "batch"}}

    trace = fix("export-option", "export with dynamo=False", exporter="torchscript-trace", documented=False)
    not_optimised = fix(
        "export-option", "pass optimize=False; nothing is fused", export={"optimize": False}, documented=False
    )


class TwoLinearsWithBatchNorm(_TwoBranches):
    """Two nn.Linear without bias, each with a batch norm: fused biases share a name.

    Both layers read one tensor.
    """

    def setup(self):
        self.first, self.second = torch.nn.Linear(4, 3, bias=False), torch.nn.Linear(4, 3, bias=False)
        self.norm, self.other = with_statistics(torch.nn.BatchNorm1d(3), 0), with_statistics(torch.nn.BatchNorm1d(3), 5)

    def forward(self, x):
        x = torch.relu(x)
        return self.norm(self.first(x)), self.other(self.second(x))

    @fix("rewrite", "add a zero before one of them")
    def zero_added(self, x):
        x = torch.relu(x)
        return self.norm(self.first(x)), self.other(self.second(x + 0.0))


class TwoLinearsOfTwoSizes(TwoLinearsWithBatchNorm):
    """Two nn.Linear of different sizes, each with a batch norm: biases share a name.

    Both layers read one tensor.
    """

    def setup(self):
        self.first, self.second = torch.nn.Linear(4, 3, bias=False), torch.nn.Linear(4, 6, bias=False)
        self.norm, self.other = with_statistics(torch.nn.BatchNorm1d(3), 0), with_statistics(torch.nn.BatchNorm1d(6), 5)


class _TwoConvolutions(_TwoBranches):
    sources = ("pytorch/pytorch#166797", "pytorch/pytorch#168224", "pytorch/pytorch#169178")
    aten_ops = ("aten::conv2d", "aten::batch_norm")
    onnx_ops = ("Conv", "BatchNormalization")
    inputs = ((f32(1, 2, 4, 4),), (f32(1, 2, 4, 4),), (f32(3, 2, 4, 4),))

    def forward(self, x):
        x = torch.relu(x)
        return self.norm(self.first(x)), self.other(self.second(x))

    @fix("rewrite", "add a zero before one of them", documented=False)
    def zero_added(self, x):
        x = torch.relu(x)
        return self.norm(self.first(x)), self.other(self.second(x + 0.0))


class TwoConvolutionsWithBatchNorm(_TwoConvolutions):
    """Two nn.Conv2d on one tensor, each with a batch norm: one gets the other's bias.

    A residual block does this.
    """

    def setup(self):
        self.first, self.second = torch.nn.Conv2d(2, 3, 1, bias=False), torch.nn.Conv2d(2, 3, 1, bias=False)
        self.norm, self.other = with_statistics(torch.nn.BatchNorm2d(3), 0), with_statistics(torch.nn.BatchNorm2d(3), 5)


class TwoConvolutionsOfTwoSizes(_TwoConvolutions):
    """Two nn.Conv2d with different channels, each with a batch norm: wrong bias size.

    Both read one tensor, as where a ResNet widens.
    """

    def setup(self):
        self.first, self.second = torch.nn.Conv2d(2, 3, 1, bias=False), torch.nn.Conv2d(2, 6, 1, bias=False)
        self.norm, self.other = with_statistics(torch.nn.BatchNorm2d(3), 0), with_statistics(torch.nn.BatchNorm2d(6), 5)


class ConvolutionUsedTwice(Case):
    """nn.Conv2d and batch norm called twice: the fused weight keeps the shared name.

    Both calls use the same weight.
    """

    sources = ("microsoft/onnxscript#2883",)
    aten_ops = ("aten::conv2d", "aten::batch_norm")
    onnx_ops = ("Conv", "BatchNormalization")
    inputs = ((f32(1, 2, 4, 4),), (f32(1, 2, 4, 4),), (f32(3, 2, 4, 4),))
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        self.conv = torch.nn.Conv2d(1, 3, 3, padding=1)
        self.norm = with_statistics(torch.nn.BatchNorm2d(3), 1)

    def forward(self, x):
        return self.norm(self.conv(x[:, :1])) + self.norm(self.conv(x[:, 1:]))

    trace = fix("export-option", "export with dynamo=False", exporter="torchscript-trace", documented=False)
    not_optimised = fix("export-option", "pass optimize=False; nothing is fused", export={"optimize": False})


class TransposedConvolutionInGroups(Case):
    """ConvTranspose2d in groups, then a batch norm: fused as if there were one group."""

    sources = ("microsoft/onnxscript#2879", "microsoft/onnxscript#2867")
    aten_ops = ("aten::conv_transpose2d", "aten::batch_norm")
    onnx_ops = ("ConvTranspose", "BatchNormalization")
    inputs = ((f32(1, 4, 3, 3),), (f32(1, 4, 3, 3),), (f32(2, 4, 3, 3),))
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        self.conv = torch.nn.ConvTranspose2d(4, 6, 2, groups=2)
        self.norm = with_statistics(torch.nn.BatchNorm2d(6), 1)

    def forward(self, x):
        return self.norm(self.conv(x))

    trace = fix("export-option", "export with dynamo=False", exporter="torchscript-trace", documented=False)
    not_optimised = fix(
        "export-option", "pass optimize=False; nothing is fused", export={"optimize": False}, documented=False
    )
