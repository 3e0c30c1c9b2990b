"""Pooling to a given output size."""

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix


def averaging(size, bins):
    """A (bins, size) matrix whose rows average what adaptive pooling averages: ``floor(i*size/bins)`` onwards."""
    rows = torch.zeros(bins, size)
    for i in range(bins):
        start, end = i * size // bins, -(-(i + 1) * size // bins)
        rows[i, start:end] = 1.0 / (end - start)
    return rows


class AdaptiveAvgPool2dNonFactor(Case):
    """AdaptiveAvgPool2d to a size that does not divide the input's: refused by the TorchScript exporter."""

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

    @fix("module-swap", "AvgPool2d with stride floor(in/out) and kernel in - (out-1)*stride; right for 7 to 3")
    def stride_kernel_formula(self, x):
        return F.avg_pool2d(x, kernel_size=3, stride=2)

    aten_fallback = fix(
        "export-option",
        "operator_export_type=ONNX_ATEN_FALLBACK: exports an operator that no ONNX runtime has",
        export=lambda: {"operator_export_type": torch.onnx.OperatorExportTypes.ONNX_ATEN_FALLBACK},
        caution=True,
    )

    @fix("rewrite", "average by a fixed matrix on both sides", documented=False)
    def matrix_product(self, x):
        return torch.matmul(torch.matmul(self.rows, x), self.rows.t())

    @fix("rewrite", "resize to 9 by 9 first: another function, other values", changes_values=True, documented=False)
    def resize_to_multiple(self, x):
        return F.avg_pool2d(F.interpolate(x, size=(9, 9), mode="nearest"), kernel_size=3)

    @fix("rewrite", "pad to 9 by 9 first: another function, other values", changes_values=True, documented=False)
    def pad_to_multiple(self, x):
        return F.avg_pool2d(F.pad(x, (1, 1, 1, 1)), kernel_size=3)

    @fix(
        "runtime-option",
        "pad to 9 by 9, run unoptimised: ONNX Runtime 1.20 and before fuse the padding and do not count it",
        session={"graph_optimization_level": 0},
        changes_values=True,
        documented=False,
    )
    def pad_without_optimisation(self, x):
        return F.avg_pool2d(F.pad(x, (1, 1, 1, 1)), kernel_size=3)


class AdaptiveAvgPool2dFactor(Case):
    """AdaptiveAvgPool2d to a size that divides the input's: an AveragePool with a fixed kernel."""

    id = "adaptive-avg-pool2d-factor"
    sources = ("seed:003",)
    aten_ops = ("aten::adaptive_avg_pool2d",)
    onnx_ops = ("AveragePool",)
    inputs = ((f32(2, 3, 6, 6),), (f32(2, 3, 6, 6, low=2.0, high=5.0),), (f32(4, 3, 6, 6),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return F.adaptive_avg_pool2d(x, (3, 3))

    @fix("module-swap", "AvgPool2d with kernel and stride 2")
    def avg_pool(self, x):
        return F.avg_pool2d(x, kernel_size=2, stride=2)


class AdaptivePoolStrideKernelFormula(Case):
    """Adaptive pooling of 10 to 4: the stride/kernel formula averages other bins and is silently wrong.

    torch's bins of 10 in 4 are 0-3, 2-5, 5-8 and 7-10; the formula's (stride 2, kernel 4) are 0-4, 2-6, 4-8 and 6-10.
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

    @fix("module-swap", "AvgPool2d with stride 2 and kernel 4: other bins, other values", caution=True)
    def stride_kernel_formula(self, x):
        return F.avg_pool2d(x, kernel_size=4, stride=2)

    @fix("rewrite", "average by a fixed matrix on both sides", documented=False)
    def matrix_product(self, x):
        return torch.matmul(torch.matmul(self.rows, x), self.rows.t())

    @fix("rewrite", "the mean of each bin, joined along one side after the other", documented=False)
    def mean_of_each_bin(self, x):
        bands = [x[:, :, 0:3], x[:, :, 2:5], x[:, :, 5:8], x[:, :, 7:10]]
        x = torch.cat([band.mean(2, keepdim=True) for band in bands], dim=2)
        columns = [x[:, :, :, 0:3], x[:, :, :, 2:5], x[:, :, :, 5:8], x[:, :, :, 7:10]]
        return torch.cat([column.mean(3, keepdim=True) for column in columns], dim=3)


class AdaptiveMaxPoolStrideKernelFormula(Case):
    """Adaptive max pooling of 10 to 4: refused as well, and the stride/kernel formula is wrong as well."""

    sources = ("seed:003", "pytorch/pytorch#75383")
    aten_ops = ("aten::adaptive_max_pool2d", "aten::max_pool2d")
    onnx_ops = ("MaxPool", "ReduceMax")
    inputs = ((f32(2, 3, 10, 10),), (f32(2, 3, 10, 10, low=2.0, high=5.0),), (f32(4, 3, 10, 10),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return F.adaptive_max_pool2d(x, (4, 4))

    @fix("module-swap", "MaxPool2d with stride 2 and kernel 4: other bins, other values", caution=True)
    def stride_kernel_formula(self, x):
        return F.max_pool2d(x, kernel_size=4, stride=2)

    @fix("rewrite", "the largest of each bin, joined along one side after the other", documented=False)
    def max_of_each_bin(self, x):
        bands = [x[:, :, 0:3], x[:, :, 2:5], x[:, :, 5:8], x[:, :, 7:10]]
        x = torch.cat([band.max(2, keepdim=True)[0] for band in bands], dim=2)
        columns = [x[:, :, :, 0:3], x[:, :, :, 2:5], x[:, :, :, 5:8], x[:, :, :, 7:10]]
        return torch.cat([column.max(3, keepdim=True)[0] for column in columns], dim=3)


class AdaptiveAvgPool1x1IsGlobal(Case):
    """AdaptiveAvgPool2d to 1 by 1 is exported as GlobalAveragePool, for every input size."""

    id = "adaptive-avg-pool-1x1-is-global"
    sources = ("seed:003",)
    aten_ops = ("aten::adaptive_avg_pool2d",)
    onnx_ops = ("GlobalAveragePool", "ReduceMean")
    inputs = ((f32(2, 3, 7, 7),), (f32(2, 3, 7, 7, low=2.0, high=5.0),), (f32(2, 3, 5, 8),))
    dynamic = {"x": {0: "batch", 2: "height", 3: "width"}}

    def forward(self, x):
        return F.adaptive_avg_pool2d(x, (1, 1))

    @fix("rewrite", "the mean over height and width", documented=False)
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

    @fix("module-swap", "AvgPool2d(kernel_size=(7, 7), stride=(7, 7)): for 7 by 7 maps only")
    def avg_pool_7x7(self, x):
        return self.pool(x)


class AdaptiveAvgPoolFixed7x7SwapAt14x14(AdaptiveAvgPoolFixed7x7Swap):
    """AvgPool2d(7, 7) in place of AdaptiveAvgPool2d(1) on a 14 by 14 map: 2 by 2 instead of 1 by 1."""

    id = "adaptive-avg-pool-fixed-7x7-swap-at-14x14"
    inputs = ((f32(2, 3, 7, 7),), (f32(2, 3, 7, 7, low=2.0, high=5.0),), (f32(2, 3, 14, 14),))
    dynamic = {"x": {0: "batch", 2: "height", 3: "width"}}

    @fix("module-swap", "AvgPool2d(kernel_size=(7, 7), stride=(7, 7)): for 7 by 7 maps only", caution=True)
    def avg_pool_7x7(self, x):
        return self.pool(x)
