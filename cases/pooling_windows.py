"""Pooling: windows that reach over the border, and the indices of what a window picks."""

import torch
import torch.nn.functional as F

from caniexport import Case, Claim, f32, fix, values

SIXTEEN = [[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0], [13.0, 14.0, 15.0, 16.0]]]]
#: where the four largest of a plane of 4 by 4 lay, as torch counts: in the plane
PLACES = [[[0, 3], [13, 10]], [[5, 2], [8, 15]], [[1, 6], [12, 11]]]


class AvgPoolCeilModeCutWindow(Case):
    """avg_pool2d(3, 2, ceil_mode=True): the last window is cut by the border, and divided by its full size.

    torch averages what lies inside (7.5 in the second column of 1 to 16); a runtime that divides by nine gives 5.
    """

    records = ("avgpool-ceil-dropped-torch-2-0", "avgpool-ceil-ort-fixed-from-opset-19-only")
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
    claims = (
        Claim(
            "pytorch/pytorch#99424",
            "torch 2.0 writes no ceil_mode, and the output still has the expected shape",
            record="avgpool-ceil-dropped-torch-2-0",
            torch="==2.0.*",
            opset=">=10",
            status="pass",
        ),
        Claim(
            "microsoft/onnxruntime#16752",
            "the cut window is divided by the full kernel",
            record="avgpool-ceil-ort-fixed-from-opset-19-only",
            opset="10-18",
            status="mismatch",
            finding="So in onnxruntime 1.23.2 (1.12 and 1.13), which fuses the file's Pad into the pool and counts it. "
            "1.19.2 does not fuse them, and 1.31.1 (from torch 2.1 on) divides by what lies inside.",
        ),
        Claim(
            "microsoft/onnxruntime#16752",
            "right from opset 19 on",
            record="avgpool-ceil-ort-fixed-from-opset-19-only",
            torch=">=2.1",
            exporter="",
            opset=">=19",
            status="pass",
        ),
    )

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

    records = ("avgpool-ceil-skip-last-window", "avgpool-ceil-nan-row", "avgpool-ceil-shape-differs-opset-10")
    sources = ("pytorch/pytorch#71549", "pytorch/pytorch#131272", "pytorch/pytorch#87892", "onnx/onnx#4958")
    aten_ops = ("aten::avg_pool2d",)
    onnx_ops = ("AveragePool", "Pad")
    inputs = ((f32(1, 2, 2, 2),), (f32(1, 2, 2, 2, low=2.0, high=5.0),), (f32(3, 2, 2, 2),))
    dynamic = {"x": {0: "batch"}}
    claims = (
        Claim(
            "pytorch/pytorch#71549",
            "the output is one larger than torch's",
            record="avgpool-ceil-shape-differs-opset-10",
            torch="==1.10.*",
            opset=">=10",
            status="mismatch",
        ),
        Claim(
            "pytorch/pytorch#87892",
            "torch 2.0 writes no ceil_mode, which is right here",
            record="avgpool-ceil-skip-last-window",
            torch="==2.0.*",
            opset=">=10",
            status="pass",
        ),
        Claim(
            "pytorch/pytorch#131272",
            "torch 2.1 writes it again",
            record="avgpool-ceil-skip-last-window",
            torch=">=2.1,<2.5",
            opset=">=10",
            status="mismatch",
            finding="It does, to this day. The same files are one larger on onnxruntime up to 1.20.1 and right from "
            "1.21.1 on; here they ran on 1.31.1.",
            why_not="hidden-by-newer",
            runtime="onnxruntime>=1.14,<1.21",
        ),
    )

    def forward(self, x):
        return F.avg_pool2d(x, 3, 3, padding=1, ceil_mode=True)

    @fix("rewrite", "pad by hand, pool without ceil_mode")
    def pad_then_floor(self, x):
        return F.avg_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 3)


class MaxPoolCeilModeWindowInPadding(Case):
    """max_pool2d(3, 3, padding=1, ceil_mode=True) on 2 by 2: torch skips the window that starts in the padding.

    ONNX's formula keeps it: one row and column more, with the smallest float as their maximum.
    """

    records = ("maxpool-ceil-last-window-shape", "avgpool-ceil-nan-row")
    sources = ("pytorch/pytorch#113074", "pytorch/pytorch#106270", "onnx/onnx#4958")
    aten_ops = ("aten::max_pool2d",)
    onnx_ops = ("MaxPool",)
    inputs = ((f32(1, 2, 2, 2),), (f32(1, 2, 2, 2, low=-5.0, high=-2.0),), (f32(3, 2, 2, 2),))
    dynamic = {"x": {0: "batch"}}
    claims = (
        Claim(
            "pytorch/pytorch#106270",
            "the output is one larger than torch's",
            record="maxpool-ceil-last-window-shape",
            torch=">=2.0,<2.2",
            opset=">=10",
            status="mismatch",
            finding="So in onnxruntime 1.19.2 (torch 1.9 and 1.10); 1.23.2, beside torch 2.0 here, gives torch's size.",
            why_not="hidden-by-newer",
            runtime="onnxruntime>=1.14,<1.21",
        ),
    )

    def forward(self, x):
        return F.max_pool2d(x, 3, 3, padding=1, ceil_mode=True)

    @fix("rewrite", "pad with the smallest float by hand, pool without ceil_mode", documented=False)
    def pad_then_floor(self, x):
        return F.max_pool2d(F.pad(x, (1, 1, 1, 1), value=-3.4e38), 3, 3)


class AvgPoolCountsItsPadding(Case):
    """avg_pool2d with padding counts the padded zeros, which ONNX's AveragePool by default does not."""

    records = ("count-include-pad-ignored-1-0rc",)
    sources = ("pytorch/pytorch#13934",)
    aten_ops = ("aten::avg_pool2d",)
    onnx_ops = ("AveragePool", "Pad")
    inputs = ((f32(1, 2, 4, 4),), (f32(1, 2, 4, 4, low=2.0, high=5.0),), (f32(3, 2, 4, 4),))
    dynamic = {"x": {0: "batch"}}
    claims = (Claim("pytorch/pytorch#13934", "counted from torch 1.0 on", torch=">=1.0,<1.5", opset=9, status="pass"),)

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

    records = ("maxpool-indices-per-channel-offset",)
    sources = ("pytorch/pytorch#16455", "microsoft/onnxscript#560")
    aten_ops = ("aten::max_pool2d_with_indices",)
    onnx_ops = ("MaxPool", "Sub")
    inputs = ((f32(1, 1, 4, 4),), (f32(2, 3, 4, 4),), (f32(3, 2, 4, 4),))
    dynamic = {"x": {0: "batch", 1: "channels"}}
    claims = (
        Claim(
            "pytorch/pytorch#16455",
            "torch subtracts the offset of the plane from 1.1 on",
            torch=">=1.2",
            opset=">=9",
            status="pass",
        ),
    )

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

    records = ("max-unpool-index-semantics",)
    sources = ("pytorch/pytorch#25088", "pytorch/pytorch#41833")
    aten_ops = ("prim::PythonOp",)
    onnx_ops = ("MaxUnpool",)
    exporters = ("torchscript-trace",)
    inputs = (
        (f32(1, 3, 2, 2), values([PLACES], "int64")),
        (f32(1, 3, 2, 2, low=2.0, high=5.0), values([PLACES[::-1]], "int64")),
    )
    claims = (
        Claim(
            "pytorch/pytorch#41833",
            "a rule that passes the indices on misplaces values",
            opset=">=9",
            status="mismatch",
        ),
    )

    def forward(self, x, indices):
        return _Unpool.apply(x, indices)

    @fix("rewrite", "the offset of each plane added to its indices")
    def plane_offsets(self, x, indices):
        return _UnpoolOfWhole.apply(x, indices + (torch.arange(3) * 16).reshape(1, 3, 1, 1))

    @fix("rewrite", "scatter into planes of zeros", documented=False)
    def scatter(self, x, indices):
        return unpooled(x, indices)
