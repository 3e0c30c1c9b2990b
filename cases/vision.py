"""Operators of image models: sampling grids, volumes, area resizing, pooling, in-place channel writes."""

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix


def base_grid(height, width, align_corners):
    """Return the points of the untransformed grid with a one each, ``[height * width, 3]``."""
    ys = torch.linspace(-1, 1, height) if align_corners else (torch.arange(height).float() * 2 + 1) / height - 1
    xs = torch.linspace(-1, 1, width) if align_corners else (torch.arange(width).float() * 2 + 1) / width - 1
    columns = xs.unsqueeze(0).repeat(height, 1)
    rows = ys.unsqueeze(1).repeat(1, width)
    return torch.stack([columns, rows, torch.ones(height, width)], dim=2).reshape(-1, 3)


class _AffineGrid(Case):
    sources = ("pytorch/pytorch#67320", "pytorch/pytorch#30563", "pytorch/pytorch#96449", "onnx/onnx#3825")
    aten_ops = ("aten::affine_grid_generator",)
    onnx_ops = ("AffineGrid", "MatMul")
    needs_torch = ">=1.3"
    inputs = ((f32(2, 2, 3),), (f32(2, 2, 3),), (f32(3, 2, 3),))
    dynamic = {"theta": {0: "batch"}}
    dynamo = fix("export-option", "export with dynamo=True", exporter="dynamo", documented=False)
    opset_20 = fix("raise-opset", "export at opset 20, which has AffineGrid", opset=20, documented=False)


class AffineGrid(_AffineGrid):
    """F.affine_grid has no TorchScript symbolic below opset 20 or torch 2.4.

    The grid has 3 by 4 points.
    """

    def setup(self):
        self.register_buffer("base", base_grid(3, 4, False))

    def forward(self, theta):
        return F.affine_grid(theta, [theta.size(0), 1, 3, 4], align_corners=False)

    @fix("rewrite", "multiply the base grid by the transposed matrix", documented=False)
    def base_times_theta(self, theta):
        return torch.matmul(self.base, theta.transpose(1, 2)).reshape(-1, 3, 4, 2)


class AffineGridAlignCorners(_AffineGrid):
    """F.affine_grid(align_corners=True): no TorchScript symbolic below opset 20.

    torch 2.4 has the first symbolic.
    """

    def setup(self):
        self.register_buffer("base", base_grid(3, 4, True))

    def forward(self, theta):
        return F.affine_grid(theta, [theta.size(0), 1, 3, 4], align_corners=True)

    @fix("rewrite", "multiply the base grid by the transposed matrix", documented=False)
    def base_times_theta(self, theta):
        return torch.matmul(self.base, theta.transpose(1, 2)).reshape(-1, 3, 4, 2)


class GridSampleVolume(Case):
    """F.grid_sample of a volume: the TorchScript exporter rejects it below opset 20.

    torch 1.12 exports a model that older runtimes reject.
    """

    sources = (
        "pytorch/pytorch#92209",
        "microsoft/onnxruntime#16581",
        "onnx/onnx#5411",
        "pytorch/pytorch#100790",
        "warmshao/FasterLivePortrait#95",
    )
    aten_ops = ("aten::grid_sampler",)
    onnx_ops = ("GridSample",)
    needs_torch = ">=1.3"
    inputs = (
        (f32(1, 2, 3, 4, 5), f32(1, 2, 2, 3, 3)),
        (f32(1, 2, 3, 4, 5), f32(1, 2, 2, 3, 3, low=-1.5, high=1.5)),
        (f32(2, 2, 3, 4, 5), f32(2, 2, 2, 3, 3)),
    )
    dynamic = {"x": {0: "batch"}, "grid": {0: "batch"}}

    def forward(self, x, grid):
        return F.grid_sample(x, grid, align_corners=True)

    opset_20 = fix("raise-opset", "export at opset 20, whose GridSample accepts volumes", opset=20, documented=False)


class InterpolateArea(Case):
    """F.interpolate(mode="area") is adaptive pooling: TorchScript rejects it.

    ONNX has no adaptive pooling.
    """

    sources = ("pytorch/pytorch#41009",)
    aten_ops = ("aten::adaptive_avg_pool2d",)
    onnx_ops = ("AveragePool",)
    inputs = ((f32(2, 3, 7, 7),), (f32(2, 3, 7, 7),), (f32(3, 3, 7, 7),))
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        # 7 in 3: places 0-3, 2-5 and 4-7
        rows = [[1, 1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1, 1]]
        self.register_buffer("rows", torch.tensor(rows).float() / 3.0)

    def forward(self, x):
        return F.interpolate(x, size=(3, 3), mode="area")

    @fix("rewrite", "average with a fixed matrix on both sides", documented=False)
    def matrices(self, x):
        return torch.matmul(torch.matmul(self.rows, x), self.rows.t())


class InterpolateAreaOfMultiple(Case):
    """F.interpolate(mode="area") to a third of the size: exports as one AveragePool."""

    sources = ("pytorch/pytorch#41009",)
    aten_ops = ("aten::adaptive_avg_pool2d",)
    onnx_ops = ("AveragePool",)
    inputs = ((f32(2, 3, 6, 9),), (f32(2, 3, 6, 9),), (f32(3, 3, 6, 9),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return F.interpolate(x, size=(2, 3), mode="area")

    @fix("rewrite", "use F.avg_pool2d, as the size is a multiple", documented=False)
    def avg_pool(self, x):
        return F.avg_pool2d(x, 3)


class AvgPoolCeilModeDynamic(Case):
    """F.avg_pool2d(ceil_mode=True) of a dynamic size: fails in torch 2.0."""

    sources = ("pytorch/pytorch#101397",)
    aten_ops = ("aten::avg_pool2d",)
    onnx_ops = ("AveragePool",)
    inputs = ((f32(1, 2, 5, 5),), (f32(1, 2, 5, 5),), (f32(1, 2, 8, 7),))
    dynamic = {"x": {2: "height", 3: "width"}}

    def forward(self, x):
        return F.avg_pool2d(x, 2, ceil_mode=True)

    static_size = fix(
        "export-option",
        "keep height and width static",
        dynamic={"x": {0: "batch"}},
        inputs=((f32(1, 2, 5, 5),), (f32(1, 2, 5, 5),), (f32(3, 2, 5, 5),)),
        documented=False,
    )


class ChannelsWrittenInPlace(Case):
    """In-place write x[:, 2:4] = exp(x[:, 2:4]) * stride: wrong before torch 1.8.

    Box decoders write boxes this way.
    """

    sources = ("pytorch/pytorch#74801",)
    aten_ops = ("aten::copy_", "aten::exp")
    onnx_ops = ("ScatterND", "Slice")
    inputs = ((f32(2, 5, 3),), (f32(2, 5, 3),), (f32(4, 5, 3),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        x = x.clone()
        x[:, 2:4] = torch.exp(x[:, 2:4]) * 8.0
        return x

    @fix("rewrite", "concatenate the channels before, the new ones and those after", documented=False)
    def concatenated(self, x):
        return torch.cat((x[:, :2], torch.exp(x[:, 2:4]) * 8.0, x[:, 4:]), 1)

    dynamo = fix("export-option", "export with dynamo=True", exporter="dynamo", documented=False)
