"""Multi-scale deformable attention: an extension's kernel, its pure torch form, and what tracing keeps of it.

Shapes: value (N, S, M, D) with S the pixels of all levels, locations (N, Q, M, L, P, 2) in [0, 1],
weights (N, Q, M, L, P); the result is (N, Q, M * D).
"""

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix, values

#: two levels, 4 x 4 and 2 x 2 pixels
LEVELS = values([[4, 4], [2, 2]], "int64")
#: heads 2, channels 3, queries 3, levels 2, points 2
VALUE = f32(1, 20, 2, 3)
LOCATIONS = f32(1, 3, 2, 2, 2, 2, low=-0.1, high=1.1)
WEIGHTS = f32(1, 3, 2, 2, 2, low=0.0, high=1.0)


def by_grid_sample(im, grid):
    """Sample ``im`` (B, D, H, W) at ``grid`` (B, Q, P, 2) in [-1, 1]; return (B, D, Q, P)."""
    return F.grid_sample(im, grid, mode="bilinear", padding_mode="zeros", align_corners=False)


def by_gather(im, grid):
    """Do the same with floor and gather; a mask replaces the zeros around the image."""
    b, d, h, w = im.shape
    x = (((grid[:, :, :, 0] + 1) * w - 1) / 2).reshape(b, -1)
    y = (((grid[:, :, :, 1] + 1) * h - 1) / 2).reshape(b, -1)
    x0, y0 = torch.floor(x), torch.floor(y)
    total = 0
    for right in (0, 1):
        for down in (0, 1):
            ix, iy = x0 + right, y0 + down
            inside = ((ix >= 0) & (ix <= w - 1) & (iy >= 0) & (iy <= h - 1)).to(im.dtype)
            weight = (1 - (x - ix).abs()) * (1 - (y - iy).abs()) * inside
            index = ((iy * w + ix) * inside).long().unsqueeze(1).repeat(1, d, 1)
            total = total + torch.gather(im.reshape(b, d, -1), 2, index) * weight.unsqueeze(1)
    return total.reshape(b, d, grid.shape[1], grid.shape[2])


def attend(value, levels, locations, weights, sample):
    """Deformable attention with ``levels`` (pairs of height and width) and the sampling function ``sample``."""
    n, _, heads, channels = value.shape
    queries, points = locations.shape[1], locations.shape[4]
    parts = value.split([height * width for height, width in levels], dim=1)
    total = 0
    for level, (height, width) in enumerate(levels):
        # (N, HW, M, D) -> (N * M, D, H, W)
        im = parts[level].permute(0, 2, 3, 1).reshape(n * heads, channels, height, width)
        # (N, Q, M, P, 2) -> (N * M, Q, P, 2)
        grid = (2 * locations[:, :, :, level] - 1).transpose(1, 2).reshape(n * heads, queries, points, 2)
        scale = weights[:, :, :, level].transpose(1, 2).reshape(n * heads, 1, queries, points)
        total = total + (sample(im, grid) * scale).sum(-1)
    # (N * M, D, Q) -> (N, Q, M * D)
    return total.reshape(n, heads * channels, queries).transpose(1, 2)


def attend_by_offsets(value, levels, locations, weights):
    """Deformable attention that computes with the sizes only: a pixel's index is offset + row * width + column."""
    n, _, heads, channels = value.shape
    queries, count, points = locations.shape[1], locations.shape[3], locations.shape[4]
    area = levels[:, 0] * levels[:, 1]
    offset = (torch.cumsum(area, 0) - area).to(value.dtype).reshape(1, 1, 1, -1, 1)
    height = levels[:, 0].to(value.dtype).reshape(1, 1, 1, -1, 1)
    width = levels[:, 1].to(value.dtype).reshape(1, 1, 1, -1, 1)
    x, y = locations[..., 0] * width - 0.5, locations[..., 1] * height - 0.5
    x0, y0 = torch.floor(x), torch.floor(y)
    # (N, S, M, D) -> (N, M, D, S)
    pixels = value.permute(0, 2, 3, 1)
    total = 0
    for right in (0, 1):
        for down in (0, 1):
            ix, iy = x0 + right, y0 + down
            inside = ((ix >= 0) & (ix <= width - 1) & (iy >= 0) & (iy <= height - 1)).to(value.dtype)
            scale = (1 - (x - ix).abs()) * (1 - (y - iy).abs()) * inside * weights
            index = ((offset + iy * width + ix) * inside).long()
            # (N, Q, M, L, P) -> (N, M, D, Q * L * P)
            flat = index.transpose(1, 2).reshape(n, heads, 1, -1).repeat(1, 1, channels, 1)
            found = torch.gather(pixels, 3, flat).reshape(n, heads, channels, queries, count * points)
            total = total + (found * scale.transpose(1, 2).reshape(n, heads, 1, queries, count * points)).sum(-1)
    return total.reshape(n, heads * channels, queries).transpose(1, 2)


def kernel(*tensors):
    """Replaces an extension's kernel: no tracer sees how the values are computed, because they pass through numpy."""
    copies = [torch.from_numpy(item.detach().numpy().copy()) for item in tensors]
    return torch.from_numpy(attend(*copies, by_gather).numpy().copy())


class Untraceable(torch.autograd.Function):
    """The kernel as an extension wraps it."""

    @staticmethod
    def forward(ctx, value, levels, locations, weights):
        return kernel(value, levels, locations, weights)


class KernelOfOwnDomain(torch.autograd.Function):
    """The same with a symbolic: one node, for which the runtime needs a kernel."""

    @staticmethod
    def symbolic(g, value, levels, locations, weights):
        return g.op("caniexport.demo::DeformableAttention", value, levels, locations, weights)

    @staticmethod
    def forward(ctx, value, levels, locations, weights):
        return kernel(value, levels, locations, weights)


def traced_first(module, inputs):
    """Run torch.jit.trace before the export, with its check of a second run on other values."""
    others = tuple(item * 0.5 if item.dtype.is_floating_point else item for item in inputs)
    return torch.jit.trace(module, inputs, check_trace=True, check_inputs=[others])


class DeformAttnUntraceable(Case):
    """Deformable attention in an extension's kernel: it cannot be traced."""

    sources = ("seed:004",)
    aten_ops = ("prim::PythonOp", "aten::grid_sampler")
    onnx_ops = ("GridSample",)
    needs_torch = ">=1.3"
    exporters = ("torchscript-trace", "dynamo", "default")
    inputs = ((VALUE, LEVELS, LOCATIONS, WEIGHTS), (VALUE, LEVELS, LOCATIONS, WEIGHTS))

    def forward(self, value, levels, locations, weights):
        return Untraceable.apply(value, levels, locations, weights)

    @fix(
        "rewrite",
        "call the kernel without its Function; the traced values stay constant",
        caution=True,
        documented=False,
    )
    def called_directly(self, value, levels, locations, weights):
        return kernel(value, levels, locations, weights) + 0.0

    @fix(
        "export-option",
        "use torch.jit.trace first; its check on other values finds what was not traced",
        caution=True,
        documented=False,
        prepare=traced_first,
    )
    def called_directly_traced_first(self, value, levels, locations, weights):
        return kernel(value, levels, locations, weights) + 0.0

    @fix("rewrite", "use pure torch with grid_sample; needs opset 16")
    def pure_torch(self, value, levels, locations, weights):
        return attend(value, levels, locations, weights, by_grid_sample)

    @fix("rewrite", "use pure torch with sampling by gather; needs opset 11")
    def pure_torch_by_gather(self, value, levels, locations, weights):
        return attend(value, levels, locations, weights, by_gather)

    @fix("autograd-function", "add a symbolic with a node of a custom domain; the runtime needs a kernel", caution=True)
    def own_node(self, value, levels, locations, weights):
        return KernelOfOwnDomain.apply(value, levels, locations, weights)


class DeformAttnPurePytorch(Case):
    """Deformable attention in pure torch: exports only where grid_sample does."""

    sources = ("seed:004",)
    aten_ops = ("aten::grid_sampler", "aten::split_with_sizes")
    onnx_ops = ("GridSample", "Split")
    needs_torch = ">=1.3"
    exporters = ("torchscript-trace", "dynamo", "default")
    inputs = (
        (VALUE, LOCATIONS, WEIGHTS),
        (VALUE, LOCATIONS, WEIGHTS),
        (VALUE, f32(1, 5, 2, 2, 2, 2, low=-0.1, high=1.1), f32(1, 5, 2, 2, 2, low=0.0, high=1.0)),
    )
    # value is named too: torch 2.9 and later assign the axes to the inputs in this order, whatever their names are
    dynamic = {"value": {}, "locations": {1: "queries"}, "weights": {1: "queries"}}

    def forward(self, value, locations, weights):
        return attend(value, ((4, 4), (2, 2)), locations, weights, by_grid_sample)

    opset_16 = fix("raise-opset", "use torch 1.12 or later and opset 16 or later", opset=16)

    @fix("rewrite", "sample by gather instead of grid_sample")
    def sampling_by_gather(self, value, locations, weights):
        return attend(value, ((4, 4), (2, 2)), locations, weights, by_gather)


class DeformAttnSpatialShapesBaked(Case):
    """Iteration over level sizes from an input: reported to keep those of the export.

    The third input set has levels of 2 x 8 and 4 x 1 pixels instead of 4 x 4 and 2 x 2.
    """

    sources = ("seed:004",)
    aten_ops = ("aten::split_with_sizes", "aten::unbind")
    onnx_ops = ("Split", "Constant")
    needs_torch = ">=1.3"
    exporters = ("torchscript-trace", "dynamo", "default")
    inputs = (
        (VALUE, LEVELS, LOCATIONS, WEIGHTS),
        (VALUE, LEVELS, LOCATIONS, WEIGHTS),
        (VALUE, values([[2, 8], [4, 1]], "int64"), LOCATIONS, WEIGHTS),
    )

    def forward(self, value, levels, locations, weights):
        return attend(value, levels, locations, weights, by_gather)

    @fix("rewrite", "use Python numbers as sizes; one ONNX file for each set of sizes, wrong for others", caution=True)
    def python_sizes(self, value, levels, locations, weights):
        # levels * 0 keeps the input in the ONNX file
        return attend(value, ((4, 4), (2, 2)), locations, weights, by_gather) + (levels * 0).sum()

    @fix("rewrite", "index into the whole value instead of split and reshape", documented=False)
    def index_into_whole(self, value, levels, locations, weights):
        return attend_by_offsets(value, levels, locations, weights)
