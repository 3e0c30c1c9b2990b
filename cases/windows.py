"""Sliding windows: unfold and fold, kernels made in the graph, named padding and circular padding."""

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix


class FoldOpset12(Case):
    """F.fold has no TorchScript symbolic below opset 18, which has Col2Im."""

    id = "fold-opset-12"
    sources = ("pytorch/pytorch#41423", "pytorch/pytorch#105134")
    aten_ops = ("aten::col2im",)
    onnx_ops = ("Col2Im", "ConvTranspose")
    inputs = ((f32(2, 4, 9),), (f32(2, 4, 9),), (f32(3, 4, 9),))
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        self.register_buffer("one_hot", torch.eye(4).reshape(4, 1, 2, 2))

    def forward(self, x):
        return F.fold(x, (4, 4), (2, 2))

    opset_18 = fix("raise-opset", "export at opset 18, which has Col2Im", opset=18, documented=False)

    @fix("rewrite", "use a transposed convolution with one-hot kernels", documented=False)
    def transposed_convolution(self, x):
        return F.conv_transpose2d(x.reshape(-1, 4, 3, 3), self.one_hot)


class UnfoldImages(Case):
    """F.unfold of images has no TorchScript symbolic below opset 11 or torch 1.5."""

    sources = ("pytorch/pytorch#22862", "pytorch/pytorch#29706", "pytorch/pytorch#81871")
    aten_ops = ("aten::im2col",)
    onnx_ops = ("Gather", "Pad", "Reshape")
    inputs = ((f32(2, 2, 4, 4),), (f32(2, 2, 4, 4),), (f32(3, 2, 5, 6),))
    dynamic = {"x": {0: "batch", 2: "height", 3: "width"}}

    def setup(self):
        self.register_buffer("one_hot", torch.eye(8).reshape(8, 2, 2, 2))

    def forward(self, x):
        return F.unfold(x, (2, 2))

    opset_11 = fix("raise-opset", "export at opset 11", opset=11, documented=False)

    @fix("rewrite", "use a convolution with one-hot kernels", documented=False)
    def convolution(self, x):
        return F.conv2d(x, self.one_hot).flatten(2)


class TensorUnfoldDynamic(Case):
    """x.unfold(-1, 4, 2) along a dynamic axis: TorchScript export fails.

    Another length has another number of windows.
    """

    sources = ("pytorch/pytorch#57086",)
    aten_ops = ("aten::unfold",)
    onnx_ops = ("Loop", "Slice", "Concat")
    inputs = ((f32(2, 8),), (f32(2, 8),), (f32(2, 12),))
    dynamic = {"x": {1: "length"}}

    def forward(self, x):
        return x.unfold(-1, 4, 2)

    opset_12 = fix("raise-opset", "export at opset 12, which uses a Loop", opset=12, documented=False)

    @fix("rewrite", "gather with a grid of positions", documented=False)
    def gathered(self, x):
        starts = torch.arange(0, x.size(1) - 3, 2)
        return x[:, starts[:, None] + torch.arange(4)[None]]

    static_axis = fix(
        "export-option",
        "keep the axis static, with one length only; a negative axis then silently transposes the windows",
        dynamic={"x": {0: "batch"}},
        inputs=((f32(2, 8),), (f32(2, 8),), (f32(3, 8),)),
        caution=True,
        documented=False,
    )


class ConvKernelMadeInForward(Case):
    """conv2d with a kernel computed in forward and reshaped: kernel of unknown shape."""

    sources = ("pytorch/pytorch#98497", "f-dangel/unfoldNd#29")
    aten_ops = ("aten::conv2d",)
    onnx_ops = ("Conv",)
    inputs = ((f32(2, 2, 5, 5), f32(3, 2)), (f32(2, 2, 5, 5), f32(3, 2)), (f32(4, 2, 5, 5), f32(6, 2)))
    dynamic = {"x": {0: "batch"}, "style": {0: "filters"}}

    def setup(self):
        self.weight = torch.nn.Parameter(torch.zeros(2, 3, 3))

    def forward(self, x, style):
        return F.conv2d(x, (self.weight * style[:, :, None, None]).reshape(-1, 2, 3, 3))

    @fix("rewrite", "use the kernel without a reshape, which hides the size of one axis", documented=False)
    def without_reshape(self, x, style):
        return F.conv2d(x, self.weight * style[:, :, None, None])

    @fix("rewrite", "multiply windows by the kernel as a matrix", documented=False)
    def by_windows(self, x, style):
        kernel = (self.weight * style[:, :, None, None]).reshape(-1, 18)
        return torch.matmul(kernel, F.unfold(x, (3, 3))).reshape(x.size(0), -1, 3, 3)

    dynamo = fix("export-option", "export with dynamo=True", exporter="dynamo", documented=False)


class ConvPaddingSame(Case):
    """nn.Conv2d(padding="same"): no TorchScript symbolic before torch 2.1.

    One kernel is odd, one even.
    """

    sources = ("pytorch/pytorch#68880", "onnx/onnx#3534", "aselsan-research-imaging-team/flight-net#3")
    aten_ops = ("aten::_convolution_mode",)
    onnx_ops = ("Conv", "Pad")
    needs_torch = ">=1.9"
    inputs = ((f32(1, 2, 6, 6),), (f32(1, 2, 6, 6),), (f32(2, 2, 6, 6),))
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        self.odd = torch.nn.Parameter(torch.zeros(3, 2, 3, 3))
        self.even = torch.nn.Parameter(torch.zeros(2, 3, 4, 4))

    def forward(self, x):
        return F.conv2d(F.conv2d(x, self.odd, padding="same"), self.even, padding="same")

    @fix("rewrite", "use padding in numbers: 1 around, then 1 before and 2 after", documented=False)
    def in_numbers(self, x):
        return F.conv2d(F.pad(F.conv2d(x, self.odd, padding=1), (1, 2, 1, 2)), self.even)


class CircularPadOneSide(Case):
    """F.pad(mode="circular") of a dynamic axis: wrong or failing on torch 1.12 to 2.0."""

    sources = ("pytorch/pytorch#108401", "pytorch/vision#7541", "pytorch/pytorch#95229", "onnx/onnx#4768")
    aten_ops = ("aten::pad",)
    onnx_ops = ("Slice", "Concat", "Pad")
    needs_torch = ">=1.5"
    inputs = ((f32(1, 2, 4, 5),), (f32(1, 2, 4, 5),), (f32(1, 2, 6, 3),))
    dynamic = {"x": {2: "height", 3: "width"}}

    def forward(self, x):
        return F.pad(x, (1, 1, 0, 0), mode="circular")

    @fix("rewrite", "concatenate the last column, all columns and the first column")
    def concatenated(self, x):
        return torch.cat([x[..., -1:], x, x[..., :1]], -1)


class CircularConvDynamic(Case):
    """Circular conv2d padding, dynamic size: wrong or failing on torch 1.12 to 2.0."""

    sources = ("pytorch/vision#7541",)
    aten_ops = ("aten::pad", "aten::conv2d")
    onnx_ops = ("Slice", "Concat", "Conv")
    needs_torch = ">=1.5"
    inputs = ((f32(1, 2, 5, 5),), (f32(1, 2, 5, 5),), (f32(1, 2, 4, 7),))
    dynamic = {"x": {2: "height", 3: "width"}}

    def setup(self):
        self.first = torch.nn.Conv2d(2, 3, 3, padding=1, padding_mode="circular")
        self.second = torch.nn.Conv2d(3, 2, 3, padding=1, padding_mode="circular")

    def forward(self, x):
        return self.second(self.first(x))

    @fix("rewrite", "concatenate slices as the padding", documented=False)
    def concatenated(self, x):
        x = torch.cat([x[..., -1:], x, x[..., :1]], -1)
        x = F.conv2d(torch.cat([x[:, :, -1:], x, x[:, :, :1]], 2), self.first.weight, self.first.bias)
        x = torch.cat([x[..., -1:], x, x[..., :1]], -1)
        return F.conv2d(torch.cat([x[:, :, -1:], x, x[:, :, :1]], 2), self.second.weight, self.second.bias)
