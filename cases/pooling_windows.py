"""Pooling: windows that reach over the border, and the indices of what a window picks."""

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix, values

SIXTEEN = [[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0], [13.0, 14.0, 15.0, 16.0]]]]
#: where the four largest of a plane of 4 by 4 lay, as torch counts: in the plane
PLACES = [[[0, 3], [13, 10]], [[5, 2], [8, 15]], [[1, 6], [12, 11]]]


class AvgPoolCeilModeCutWindow(Case):
    """avg_pool2d(3, 2, ceil_mode=True): the last window is cut by the border, and divided by its full size.

    torch averages what lies inside (7.5 in the second column of 1 to 16); a runtime that divides by nine gives 5.
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

    opset_19 = fix("raise-opset", "export at opset 19, whose AveragePool ONNX Runtime has right", opset=19)

    @fix("rewrite", "pad to the exact size, and divide by how much of each window lies inside", documented=False)
    def pad_and_correct(self, x):
        inside = F.avg_pool2d(F.pad(torch.ones_like(x), (0, 1, 0, 1)), 3, 2)
        return F.avg_pool2d(F.pad(x, (0, 1, 0, 1)), 3, 2) / inside

    @fix("rewrite", "pad to the exact size: zeros are counted", caution=True)
    def pad_to_exact_size(self, x):
        return F.avg_pool2d(F.pad(x, (0, 1, 0, 1)), 3, 2)

    newer_torch = fix("version-upgrade", "torch 2.1 and later write ceil_mode again", torch=">=2.1")


class AvgPoolCeilModeWindowInPadding(Case):
    """avg_pool2d(3, 3, padding=1, ceil_mode=True) on 2 by 2: torch skips the window that starts in the padding.

    ONNX's formula keeps it: one row and column more, whose average over nothing is NaN or zero.
    """

    sources = ("pytorch/pytorch#71549", "pytorch/pytorch#131272", "pytorch/pytorch#87892", "onnx/onnx#4958")
    aten_ops = ("aten::avg_pool2d",)
    onnx_ops = ("AveragePool", "Pad")
    inputs = ((f32(1, 2, 2, 2),), (f32(1, 2, 2, 2, low=2.0, high=5.0),), (f32(3, 2, 2, 2),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return F.avg_pool2d(x, 3, 3, padding=1, ceil_mode=True)

    @fix("rewrite", "pad by hand, pool without ceil_mode")
    def pad_then_floor(self, x):
        return F.avg_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 3)


class MaxPoolCeilModeWindowInPadding(Case):
    """max_pool2d(3, 3, padding=1, ceil_mode=True) on 2 by 2: torch skips the window that starts in the padding.

    ONNX's formula keeps it: one row and column more, with the smallest float as their maximum.
    """

    sources = ("pytorch/pytorch#113074", "pytorch/pytorch#106270", "onnx/onnx#4958")
    aten_ops = ("aten::max_pool2d",)
    onnx_ops = ("MaxPool",)
    inputs = ((f32(1, 2, 2, 2),), (f32(1, 2, 2, 2, low=-5.0, high=-2.0),), (f32(3, 2, 2, 2),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return F.max_pool2d(x, 3, 3, padding=1, ceil_mode=True)

    @fix("rewrite", "pad with the smallest float by hand, pool without ceil_mode", documented=False)
    def pad_then_floor(self, x):
        return F.max_pool2d(F.pad(x, (1, 1, 1, 1), value=-3.4e38), 3, 3)


class AvgPoolCountsItsPadding(Case):
    """avg_pool2d with padding counts the padded zeros, which ONNX's AveragePool by default does not."""

    sources = ("pytorch/pytorch#13934",)
    aten_ops = ("aten::avg_pool2d",)
    onnx_ops = ("AveragePool", "Pad")
    inputs = ((f32(1, 2, 4, 4),), (f32(1, 2, 4, 4, low=2.0, high=5.0),), (f32(3, 2, 4, 4),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return F.avg_pool2d(x, 3, 1, padding=1)

    @fix("rewrite", "pad by hand, pool without padding")
    def pad_by_hand(self, x):
        return F.avg_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 1)

    unoptimised = fix(
        "runtime-option",
        "run unoptimised: ONNX Runtime 1.20 and before fuse a Pad into the pool and do not count it",
        session={"graph_optimization_level": 0},
        documented=False,
    )


class MaxPoolIndicesPerPlane(Case):
    """max_pool2d with return_indices: torch counts in the plane, ONNX over batch and channels too."""

    sources = ("pytorch/pytorch#16455", "microsoft/onnxscript#560")
    aten_ops = ("aten::max_pool2d_with_indices",)
    onnx_ops = ("MaxPool", "Sub")
    inputs = ((f32(1, 1, 4, 4),), (f32(2, 3, 4, 4),), (f32(3, 2, 4, 4),))
    dynamic = {"x": {0: "batch", 1: "channels"}}

    def forward(self, x):
        return F.max_pool2d(x, 2, return_indices=True)

    @fix("rewrite", "what remains of the indices by the size of a plane", documented=False)
    def modulo_plane(self, x):
        pooled, indices = F.max_pool2d(x, 2, return_indices=True)
        return pooled, torch.remainder(indices, 16)


class MaxPoolIndicesStaticPlanes(MaxPoolIndicesPerPlane):
    """max_pool2d with return_indices, two images of three channels: indices of each plane from zero."""

    inputs = ((f32(2, 3, 4, 4),), (f32(2, 3, 4, 4),))
    dynamic = {}


def unpooled(x, indices):
    """max_unpool2d(x, indices, 2) to planes of 4 by 4; torch's own cannot be traced in 2.13."""
    shape = x.shape[0], x.shape[1], 16
    flat = torch.zeros(shape).scatter(2, indices.reshape(shape[0], shape[1], 4), x.reshape(shape[0], shape[1], 4))
    return flat.reshape(shape[0], shape[1], 4, 4)


class _Unpool(torch.autograd.Function):
    """MaxUnpool on the indices as they are given."""

    @staticmethod
    def symbolic(g, x, indices):
        return g.op("MaxUnpool", x, indices, kernel_shape_i=[2, 2], strides_i=[2, 2])

    @staticmethod
    def forward(ctx, x, indices):
        return unpooled(x, indices)


class _UnpoolOfWhole(torch.autograd.Function):
    """MaxUnpool on indices that count over the whole tensor, as ONNX has them."""

    @staticmethod
    def symbolic(g, x, indices):
        return g.op("MaxUnpool", x, indices, kernel_shape_i=[2, 2], strides_i=[2, 2])

    @staticmethod
    def forward(ctx, x, indices):
        return unpooled(x, torch.remainder(indices, 16))


class MaxUnpoolIndicesPerPlane(Case):
    """MaxUnpool fed with torch's indices: they count in the plane, ONNX's over the whole tensor.

    All values land in the first plane.
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

    @fix("rewrite", "the offset of each plane added to its indices")
    def plane_offsets(self, x, indices):
        return _UnpoolOfWhole.apply(x, indices + (torch.arange(3) * 16).reshape(1, 3, 1, 1))

    @fix("rewrite", "scatter into planes of zeros", documented=False)
    def scatter(self, x, indices):
        return unpooled(x, indices)
