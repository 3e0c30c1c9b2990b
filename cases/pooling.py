"""Pooling: given output sizes, windows over the border, and indices of the chosen values."""

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix, values


def averaging(size, bins):
    """Return a (bins, size) matrix that averages the bins of adaptive pooling.

    Bin ``i`` starts at ``floor(i*size/bins)``.
    """
    rows = torch.zeros(bins, size)
    for i in range(bins):
        start, end = i * size // bins, -(-(i + 1) * size // bins)
        rows[i, start:end] = 1.0 / (end - start)
    return rows


class AdaptiveAvgPool2dNonFactor(Case):
    """AdaptiveAvgPool2d to a size that is not a factor: TorchScript rejects it."""

    id = "adaptive-avg-pool2d-non-factor"
    sources = ("seed:003", "microsoft/onnxruntime#23190", "pytorch/pytorch#109370")
    aten_ops = ("aten::adaptive_avg_pool2d", "aten::avg_pool2d")
    onnx_ops = ("AveragePool", "MatMul", "ATen")
    inputs = ((f32(2, 3, 7, 7),), (f32(2, 3, 7, 7, low=2.0, high=5.0),), (f32(4, 3, 7, 7),))
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        self.register_buffer("rows", averaging(7, 3))

    def forward(self, x):
        return F.adaptive_avg_pool2d(x, (3, 3))

    @fix("module-swap", "use AvgPool2d with stride floor(in/out) and kernel in - (out-1)*stride; right for 7 to 3")
    def stride_kernel_formula(self, x):
        return F.avg_pool2d(x, kernel_size=3, stride=2)

    aten_fallback = fix(
        "export-option",
        "pass operator_export_type=ONNX_ATEN_FALLBACK; no ONNX runtime has the exported operator",
        export=lambda: {"operator_export_type": torch.onnx.OperatorExportTypes.ONNX_ATEN_FALLBACK},
        caution=True,
    )

    @fix("rewrite", "average with a fixed matrix on both sides", documented=False)
    def matrix_product(self, x):
        return torch.matmul(torch.matmul(self.rows, x), self.rows.t())

    @fix("rewrite", "resize to 9 by 9 first; different values", changes_values=True, documented=False)
    def resize_to_multiple(self, x):
        return F.avg_pool2d(F.interpolate(x, size=(9, 9), mode="nearest"), kernel_size=3)

    @fix("rewrite", "pad to 9 by 9 first; different values", changes_values=True, documented=False)
    def pad_to_multiple(self, x):
        return F.avg_pool2d(F.pad(x, (1, 1, 1, 1)), kernel_size=3)

    @fix(
        "runtime-option",
        "pad to 9 by 9 and disable optimization; ONNX Runtime up to 1.20 fuses the padding without counting it",
        session={"graph_optimization_level": 0},
        changes_values=True,
        documented=False,
    )
    def pad_without_optimisation(self, x):
        return F.avg_pool2d(F.pad(x, (1, 1, 1, 1)), kernel_size=3)


def averaging_of_size(size: int, bins: int):
    """Return what :func:`averaging` does, for a size known at run time, without integer division."""
    places = torch.arange(size).float()
    bin_of_row = torch.arange(bins).float().unsqueeze(1)
    # place >= floor(bin * size / bins), and place < ceil((bin + 1) * size / bins)
    behind_start = ((places + 1.0) * bins > bin_of_row * size).float()
    before_end = (places * bins < (bin_of_row + 1.0) * size).float()
    inside = behind_start * before_end
    return inside / inside.sum(dim=1, keepdim=True)


class AdaptiveAvgPool2dDynamicSize(Case):
    """AdaptiveAvgPool2d to 3 by 3 with a dynamic size: windows of the example's size.

    Another size gives another number of bins, or bins at other positions, without an error.
    """

    id = "adaptive-avg-pool2d-dynamic-size"
    sources = ("pytorch/pytorch#74034", "pytorch/pytorch#42653")
    aten_ops = ("aten::adaptive_avg_pool2d", "aten::avg_pool2d")
    onnx_ops = ("AveragePool",)
    inputs = ((f32(2, 3, 6, 9),), (f32(2, 3, 6, 9),), (f32(2, 3, 9, 12),), (f32(2, 3, 7, 8),), (f32(2, 3, 11, 10),))
    dynamic = {"x": {2: "height", 3: "width"}}

    def forward(self, x):
        return F.adaptive_avg_pool2d(x, (3, 3))

    @fix("rewrite", "average with matrices built from the size, on both sides", documented=False)
    def matrices_of_size(self, x):
        rows, columns = averaging_of_size(x.shape[2], 3), averaging_of_size(x.shape[3], 3)
        return torch.matmul(torch.matmul(rows, x), columns.t())


class AdaptiveAvgPool2dDynamicSizeNonFactor(AdaptiveAvgPool2dDynamicSize):
    """AdaptiveAvgPool2d(3) with a dynamic size that 3 does not divide: wrong bins.

    The bins keep the widths of the example's size. Some other sizes fail instead.
    """

    id = "adaptive-avg-pool2d-dynamic-size-non-factor"
    inputs = ((f32(2, 3, 7, 8),), (f32(2, 3, 7, 8),), (f32(2, 3, 11, 10),), (f32(2, 3, 13, 14),))


class AdaptiveAvgPool2dFactor(Case):
    """AdaptiveAvgPool2d to a factor of the input size: a fixed-kernel AveragePool."""

    id = "adaptive-avg-pool2d-factor"
    sources = ("seed:003",)
    aten_ops = ("aten::adaptive_avg_pool2d",)
    onnx_ops = ("AveragePool",)
    inputs = ((f32(2, 3, 6, 6),), (f32(2, 3, 6, 6, low=2.0, high=5.0),), (f32(4, 3, 6, 6),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return F.adaptive_avg_pool2d(x, (3, 3))

    @fix("module-swap", "use AvgPool2d with kernel and stride 2")
    def avg_pool(self, x):
        return F.avg_pool2d(x, kernel_size=2, stride=2)


class AdaptivePoolStrideKernelFormula(Case):
    """AdaptiveAvgPool2d of 10 to 4: AvgPool2d by the stride/kernel formula is wrong.

    torch's bins of 10 in 4 are 0-3, 2-5, 5-8 and 7-10; the formula's (stride 2, kernel 4) are 0-4, 2-6, 4-8 and
    6-10.
    """

    sources = ("seed:003",)
    aten_ops = ("aten::adaptive_avg_pool2d", "aten::avg_pool2d")
    onnx_ops = ("AveragePool", "MatMul", "ReduceMean")
    inputs = ((f32(2, 3, 10, 10),), (f32(2, 3, 10, 10, low=2.0, high=5.0),), (f32(4, 3, 10, 10),))
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        self.register_buffer("rows", averaging(10, 4))

    def forward(self, x):
        return F.adaptive_avg_pool2d(x, (4, 4))

    @fix("module-swap", "use AvgPool2d with stride 2 and kernel 4; different bins, different values", caution=True)
    def stride_kernel_formula(self, x):
        return F.avg_pool2d(x, kernel_size=4, stride=2)

    @fix("rewrite", "average with a fixed matrix on both sides", documented=False)
    def matrix_product(self, x):
        return torch.matmul(torch.matmul(self.rows, x), self.rows.t())

    @fix("rewrite", "concatenate the mean of each bin, one axis after the other", documented=False)
    def mean_of_each_bin(self, x):
        bands = [x[:, :, 0:3], x[:, :, 2:5], x[:, :, 5:8], x[:, :, 7:10]]
        x = torch.cat([band.mean(2, keepdim=True) for band in bands], dim=2)
        columns = [x[:, :, :, 0:3], x[:, :, :, 2:5], x[:, :, :, 5:8], x[:, :, :, 7:10]]
        return torch.cat([column.mean(3, keepdim=True) for column in columns], dim=3)


class AdaptiveMaxPoolStrideKernelFormula(Case):
    """AdaptiveMaxPool2d of 10 to 4: rejected, and the stride/kernel formula is wrong."""

    sources = ("seed:003", "pytorch/pytorch#75383")
    aten_ops = ("aten::adaptive_max_pool2d", "aten::max_pool2d")
    onnx_ops = ("MaxPool", "ReduceMax")
    inputs = ((f32(2, 3, 10, 10),), (f32(2, 3, 10, 10, low=2.0, high=5.0),), (f32(4, 3, 10, 10),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return F.adaptive_max_pool2d(x, (4, 4))

    @fix("module-swap", "use MaxPool2d with stride 2 and kernel 4; different bins, different values", caution=True)
    def stride_kernel_formula(self, x):
        return F.max_pool2d(x, kernel_size=4, stride=2)

    @fix("rewrite", "concatenate the maximum of each bin, one axis after the other", documented=False)
    def max_of_each_bin(self, x):
        bands = [x[:, :, 0:3], x[:, :, 2:5], x[:, :, 5:8], x[:, :, 7:10]]
        x = torch.cat([band.max(2, keepdim=True)[0] for band in bands], dim=2)
        columns = [x[:, :, :, 0:3], x[:, :, :, 2:5], x[:, :, :, 5:8], x[:, :, :, 7:10]]
        return torch.cat([column.max(3, keepdim=True)[0] for column in columns], dim=3)


class AdaptiveAvgPool1x1IsGlobal(Case):
    """AdaptiveAvgPool2d to 1 by 1: exports as GlobalAveragePool, for every input size."""

    id = "adaptive-avg-pool-1x1-is-global"
    sources = ("seed:003",)
    aten_ops = ("aten::adaptive_avg_pool2d",)
    onnx_ops = ("GlobalAveragePool", "ReduceMean")
    inputs = ((f32(2, 3, 7, 7),), (f32(2, 3, 7, 7, low=2.0, high=5.0),), (f32(2, 3, 5, 8),))
    dynamic = {"x": {0: "batch", 2: "height", 3: "width"}}

    def forward(self, x):
        return F.adaptive_avg_pool2d(x, (1, 1))

    @fix("rewrite", "take the mean over height and width", documented=False)
    def mean_over_sides(self, x):
        return x.mean((2, 3), keepdim=True)


class AdaptiveAvgPoolFixed7x7Swap(Case):
    """AdaptiveAvgPool2d(1) replaced by AvgPool2d(7, 7): equal on 7 by 7 maps."""

    id = "adaptive-avg-pool-fixed-7x7-swap"
    sources = ("seed:003",)
    aten_ops = ("aten::adaptive_avg_pool2d", "aten::avg_pool2d")
    onnx_ops = ("AveragePool",)
    inputs = ((f32(2, 3, 7, 7),), (f32(2, 3, 7, 7, low=2.0, high=5.0),), (f32(4, 3, 7, 7),))
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        self.pool = torch.nn.AvgPool2d(kernel_size=(7, 7), stride=(7, 7), ceil_mode=False)

    def forward(self, x):
        return F.adaptive_avg_pool2d(x, (1, 1))

    @fix("module-swap", "use AvgPool2d(kernel_size=(7, 7), stride=(7, 7)); for 7 by 7 maps only")
    def avg_pool_7x7(self, x):
        return self.pool(x)


class AdaptiveAvgPoolFixed7x7SwapAt14x14(AdaptiveAvgPoolFixed7x7Swap):
    """AvgPool2d(7, 7) instead of AdaptiveAvgPool2d(1) on 14 by 14: a 2 by 2 output."""

    id = "adaptive-avg-pool-fixed-7x7-swap-at-14x14"
    inputs = ((f32(2, 3, 7, 7),), (f32(2, 3, 7, 7, low=2.0, high=5.0),), (f32(2, 3, 14, 14),))
    dynamic = {"x": {0: "batch", 2: "height", 3: "width"}}

    @fix("module-swap", "use AvgPool2d(kernel_size=(7, 7), stride=(7, 7)); for 7 by 7 maps only", caution=True)
    def avg_pool_7x7(self, x):
        return self.pool(x)


SIXTEEN = [[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0], [13.0, 14.0, 15.0, 16.0]]]]


#: positions of the four largest values of a 4 by 4 plane, counted within the plane as in torch
PLACES = [[[0, 3], [13, 10]], [[5, 2], [8, 15]], [[1, 6], [12, 11]]]


class AvgPoolCeilModeCutWindow(Case):
    """avg_pool2d(3, 2, ceil_mode=True): cut last window is divided by its full size.

    torch averages the values inside the border (7.5 in the second column of 1 to 16); a runtime that divides by
    nine gives 5.
    """

    sources = (
        "pytorch/pytorch#99424",
        "pytorch/pytorch#101397",
        "microsoft/onnxruntime#16752",
        "microsoft/onnxscript#754",
    )
    aten_ops = ("aten::avg_pool2d",)
    onnx_ops = ("AveragePool", "Pad")
    inputs = ((values(SIXTEEN),), (f32(1, 1, 4, 4, low=2.0, high=5.0),), (f32(2, 1, 4, 4),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return F.avg_pool2d(x, 3, 2, ceil_mode=True)

    opset_19 = fix("raise-opset", "export at opset 19, whose AveragePool is right in ONNX Runtime", opset=19)

    @fix("rewrite", "pad to the exact size and divide by the share of each window inside", documented=False)
    def pad_and_correct(self, x):
        inside = F.avg_pool2d(F.pad(torch.ones_like(x), (0, 1, 0, 1)), 3, 2)
        return F.avg_pool2d(F.pad(x, (0, 1, 0, 1)), 3, 2) / inside

    @fix("rewrite", "pad to the exact size; the zeros are counted", caution=True)
    def pad_to_exact_size(self, x):
        return F.avg_pool2d(F.pad(x, (0, 1, 0, 1)), 3, 2)

    newer_torch = fix("version-upgrade", "use torch 2.1 or newer, which writes ceil_mode again", torch=">=2.1")


class AvgPoolCeilModeWindowInPadding(Case):
    """avg_pool2d(3, 3, padding=1, ceil_mode=True) on 2 by 2: one extra row and column.

    torch skips the window that starts in the padding. ONNX's formula keeps it; its average over nothing is NaN or
    zero.
    """

    sources = ("pytorch/pytorch#71549", "pytorch/pytorch#131272", "pytorch/pytorch#87892", "onnx/onnx#4958")
    aten_ops = ("aten::avg_pool2d",)
    onnx_ops = ("AveragePool", "Pad")
    inputs = ((f32(1, 2, 2, 2),), (f32(1, 2, 2, 2, low=2.0, high=5.0),), (f32(3, 2, 2, 2),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return F.avg_pool2d(x, 3, 3, padding=1, ceil_mode=True)

    @fix("rewrite", "pad by hand and pool without ceil_mode")
    def pad_then_floor(self, x):
        return F.avg_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 3)


class MaxPoolCeilModeWindowInPadding(Case):
    """max_pool2d(3, 3, padding=1, ceil_mode=True) on 2 by 2: one extra row and column.

    torch skips the window that starts in the padding. ONNX's formula keeps it, with the smallest float as its
    maximum.
    """

    sources = ("pytorch/pytorch#113074", "pytorch/pytorch#106270", "onnx/onnx#4958")
    aten_ops = ("aten::max_pool2d",)
    onnx_ops = ("MaxPool",)
    inputs = ((f32(1, 2, 2, 2),), (f32(1, 2, 2, 2, low=-5.0, high=-2.0),), (f32(3, 2, 2, 2),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return F.max_pool2d(x, 3, 3, padding=1, ceil_mode=True)

    @fix("rewrite", "pad with the smallest float by hand and pool without ceil_mode", documented=False)
    def pad_then_floor(self, x):
        return F.max_pool2d(F.pad(x, (1, 1, 1, 1), value=-3.4e38), 3, 3)


class AvgPoolCountsItsPadding(Case):
    """avg_pool2d with padding counts padded zeros; AveragePool by default does not."""

    sources = ("pytorch/pytorch#13934",)
    aten_ops = ("aten::avg_pool2d",)
    onnx_ops = ("AveragePool", "Pad")
    inputs = ((f32(1, 2, 4, 4),), (f32(1, 2, 4, 4, low=2.0, high=5.0),), (f32(3, 2, 4, 4),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return F.avg_pool2d(x, 3, 1, padding=1)

    @fix("rewrite", "pad by hand and pool without padding")
    def pad_by_hand(self, x):
        return F.avg_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 1)

    unoptimised = fix(
        "runtime-option",
        "disable optimization; ONNX Runtime up to 1.20 fuses a Pad into the pool without counting it",
        session={"graph_optimization_level": 0},
        documented=False,
    )


class MaxPoolIndicesPerPlane(Case):
    """max_pool2d with return_indices: ONNX counts over batch and channels too.

    torch counts within each plane.
    """

    sources = ("pytorch/pytorch#16455", "microsoft/onnxscript#560")
    aten_ops = ("aten::max_pool2d_with_indices",)
    onnx_ops = ("MaxPool", "Sub")
    inputs = ((f32(1, 1, 4, 4),), (f32(2, 3, 4, 4),), (f32(3, 2, 4, 4),))
    dynamic = {"x": {0: "batch", 1: "channels"}}

    def forward(self, x):
        return F.max_pool2d(x, 2, return_indices=True)

    @fix("rewrite", "take the remainder of the indices by the plane size", documented=False)
    def modulo_plane(self, x):
        pooled, indices = F.max_pool2d(x, 2, return_indices=True)
        return pooled, torch.remainder(indices, 16)


class MaxPoolIndicesStaticPlanes(MaxPoolIndicesPerPlane):
    """max_pool2d with return_indices of two images: indices start at 0 in each plane.

    Each image has three channels.
    """

    inputs = ((f32(2, 3, 4, 4),), (f32(2, 3, 4, 4),))
    dynamic = {}


def unpooled(x, indices):
    """Return max_unpool2d(x, indices, 2) on planes of 4 by 4.

    torch 2.13 cannot trace its own.
    """
    shape = x.shape[0], x.shape[1], 16
    flat = torch.zeros(shape).scatter(2, indices.reshape(shape[0], shape[1], 4), x.reshape(shape[0], shape[1], 4))
    return flat.reshape(shape[0], shape[1], 4, 4)


class _Unpool(torch.autograd.Function):
    """Write MaxUnpool on the indices as given."""

    @staticmethod
    def symbolic(g, x, indices):
        return g.op("MaxUnpool", x, indices, kernel_shape_i=[2, 2], strides_i=[2, 2])

    @staticmethod
    def forward(ctx, x, indices):
        return unpooled(x, indices)


class _UnpoolOfWhole(torch.autograd.Function):
    """Write MaxUnpool on indices that count over the whole tensor, as in ONNX."""

    @staticmethod
    def symbolic(g, x, indices):
        return g.op("MaxUnpool", x, indices, kernel_shape_i=[2, 2], strides_i=[2, 2])

    @staticmethod
    def forward(ctx, x, indices):
        return unpooled(x, torch.remainder(indices, 16))


class MaxUnpoolIndicesPerPlane(Case):
    """MaxUnpool with torch's indices: all values land in the first plane.

    torch's indices count within each plane, ONNX's over the whole tensor.
    """

    sources = ("pytorch/pytorch#25088", "pytorch/pytorch#41833")
    aten_ops = ("prim::PythonOp",)
    onnx_ops = ("MaxUnpool",)
    exporters = ("torchscript-trace",)
    inputs = (
        (f32(1, 3, 2, 2), values([PLACES], "int64")),
        (f32(1, 3, 2, 2, low=2.0, high=5.0), values([PLACES[::-1]], "int64")),
    )

    def forward(self, x, indices):
        return _Unpool.apply(x, indices)

    @fix("rewrite", "add the offset of each plane to its indices")
    def plane_offsets(self, x, indices):
        return _UnpoolOfWhole.apply(x, indices + (torch.arange(3) * 16).reshape(1, 3, 1, 1))

    @fix("rewrite", "scatter into planes of zeros", documented=False)
    def scatter(self, x, indices):
        return unpooled(x, indices)


class MaxPoolOfInputSize(Case):
    """F.max_pool2d(x, x.shape[2:]): the kernel size is not constant.

    When tracing, a kernel as large as the input is a tensor.
    """

    sources = ("pytorch/pytorch#35743", "onnx/tutorials#181", "pytorch/pytorch#34743")
    aten_ops = ("aten::max_pool2d", "aten::size")
    onnx_ops = ("MaxPool", "GlobalMaxPool", "ReduceMax")
    inputs = ((f32(2, 3, 6, 4),), (f32(2, 3, 6, 4),), (f32(2, 3, 5, 7),))
    dynamic = {"x": {2: "height", 3: "width"}}

    def forward(self, x):
        return F.max_pool2d(x, x.shape[2:])

    @fix("rewrite", "use F.adaptive_max_pool2d(x, 1)", documented=False)
    def adaptive(self, x):
        return F.adaptive_max_pool2d(x, 1)

    @fix("rewrite", "take the maximum over both axes", documented=False)
    def maximum(self, x):
        return x.max(3, keepdim=True)[0].max(2, keepdim=True)[0]

    @fix("rewrite", "pass the example's size as numbers; right for that size only", caution=True)
    def size_as_numbers(self, x):
        return F.max_pool2d(x, (int(x.shape[2]), int(x.shape[3])))


class AvgPoolWithoutBatch(Case):
    """F.avg_pool2d of one image without a batch axis: AveragePool needs four axes."""

    sources = ("microsoft/onnxscript#2646",)
    aten_ops = ("aten::avg_pool2d",)
    onnx_ops = ("AveragePool", "Unsqueeze")
    inputs = ((f32(3, 4, 4),), (f32(3, 4, 4),), (f32(3, 4, 6),))
    dynamic = {"x": {2: "width"}}

    def forward(self, x):
        return F.avg_pool2d(x, 2)

    @fix("rewrite", "add a batch axis and remove it afterwards", documented=False)
    def batch_of_one(self, x):
        return F.avg_pool2d(x.unsqueeze(0), 2).squeeze(0)
