"""Sampling an image at the points of a grid: grid_sample and its replacements."""

from contextlib import contextmanager

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix, values

#: points inside, on the border and outside of the image
POINTS = values([[[[-1.3, -1.2], [-1.0, 0.9], [0.1, 0.3]], [[1.0, 1.0], [1.25, -0.4], [-0.55, 1.3]]]])


def corner(im, ix, iy):
    """Pixels (N, C, P) at whole coordinates (N, P) of ``im`` (N, C, H, W); zero outside of it.

    The mask also brings an index outside of the image to pixel 0, so no limit is clamped to.
    """
    n, c, h, w = im.shape
    inside = ((ix >= 0) & (ix <= w - 1) & (iy >= 0) & (iy <= h - 1)).to(im.dtype)
    index = ((iy * w + ix) * inside).long().unsqueeze(1).repeat(1, c, 1)
    return torch.gather(im.reshape(n, c, -1), 2, index) * inside.unsqueeze(1)


def sample_at(im, x, y):
    """Bilinear values (N, C, P) at pixel coordinates (N, P); zero outside of the image."""
    x0, y0 = torch.floor(x), torch.floor(y)
    right, down = (x - x0).unsqueeze(1), (y - y0).unsqueeze(1)
    upper = corner(im, x0, y0) * (1 - right) + corner(im, x0 + 1, y0) * right
    lower = corner(im, x0, y0 + 1) * (1 - right) + corner(im, x0 + 1, y0 + 1) * right
    return upper * (1 - down) + lower * down


def to_pixels(position, size: int, align_corners: bool):
    """Coordinates in [-1, 1] as pixel coordinates along an axis of ``size`` pixels."""
    if align_corners:
        return (position + 1) / 2 * (size - 1)
    return ((position + 1) * size - 1) / 2


def bilinear_by_gather(im, grid, align_corners: bool):
    """grid_sample with mode bilinear and padding zeros, out of floor and gather."""
    x = to_pixels(grid[:, :, :, 0], im.shape[3], align_corners).reshape(grid.shape[0], -1)
    y = to_pixels(grid[:, :, :, 1], im.shape[2], align_corners).reshape(grid.shape[0], -1)
    return sample_at(im, x, y).reshape(im.shape[0], im.shape[1], grid.shape[1], grid.shape[2])


@contextmanager
def plugin_node(opset):
    """A rule that maps grid_sampler to a node of an own domain, for a runtime that brings a kernel."""

    def rule(g, im, grid, *_attributes):
        return g.op("caniexport.demo::GridSample", im, grid)

    torch.onnx.register_custom_op_symbolic("::grid_sampler", rule, opset or 9)
    yield
    unregister = getattr(torch.onnx, "unregister_custom_op_symbolic", None)
    if unregister is not None:
        unregister("::grid_sampler", opset or 9)


def sampling_attributes(model):
    """Attributes of every GridSample, in the order of the file: mode, padding_mode, align_corners."""
    found = []
    for node in model.graph.node:
        if node.op_type == "GridSample":
            noted = {item.name: item.s.decode() if item.s else item.i for item in node.attribute}
            found.append("{mode} {padding_mode} {align_corners}".format(**noted) if len(noted) == 3 else str(noted))
    return {"grid_sample": found}


class GridSamplerUnsupportedOpset11(Case):
    """grid_sample has no ONNX form below opset 16, and no rule before torch 1.12.

    Two outputs: align_corners off and on, with zeros around the image.
    """

    id = "grid-sampler-unsupported-opset-11"
    sources = ("seed:004", "microsoft/onnxruntime#10232")
    aten_ops = ("aten::grid_sampler", "aten::gather", "aten::floor")
    onnx_ops = ("GridSample", "GatherElements", "Floor", "Where", "Pad")
    needs_torch = ">=1.3"
    inputs = (
        (f32(1, 2, 4, 5), POINTS),
        (f32(1, 2, 4, 5), f32(1, 2, 3, 2, low=-1.3, high=1.3)),
        (f32(1, 2, 6, 3), f32(1, 4, 2, 2, low=-1.3, high=1.3)),
    )
    dynamic = {"im": {2: "height", 3: "width"}, "grid": {1: "rows", 2: "columns"}}

    def forward(self, im, grid):
        return (
            F.grid_sample(im, grid, mode="bilinear", padding_mode="zeros", align_corners=False),
            F.grid_sample(im, grid, mode="bilinear", padding_mode="zeros", align_corners=True),
        )

    opset_16 = fix("raise-opset", "torch 1.12 or later at opset 16 or later", opset=16)

    newer_torch = fix("version-upgrade", "torch 1.12 has the rule (for opset 16)", torch=">=1.12")

    @fix("rewrite", "bilinear sampling with zeros around, out of floor and gather")
    def gather_rewrite(self, im, grid):
        return bilinear_by_gather(im, grid, False), bilinear_by_gather(im, grid, True)

    plugin_node = fix(
        "custom-symbolic",
        "a node of an own domain, for a runtime that brings a kernel",
        patch=plugin_node,
        caution=True,
        documented=False,
    )


class GridSampleOpset16Supported(Case):
    """GridSample's attribute table, bilinear: three paddings, align_corners off and on."""

    id = "grid-sample-opset-16-supported"
    sources = ("seed:004",)
    aten_ops = ("aten::grid_sampler",)
    onnx_ops = ("GridSample",)
    needs_torch = ">=1.12"
    inputs = ((f32(1, 2, 4, 5), POINTS), (f32(1, 2, 4, 5), f32(1, 2, 3, 2, low=-1.3, high=1.3)))
    facts = staticmethod(sampling_attributes)

    def forward(self, im, grid):
        return (
            F.grid_sample(im, grid, mode="bilinear", padding_mode="zeros", align_corners=False),
            F.grid_sample(im, grid, mode="bilinear", padding_mode="zeros", align_corners=True),
            F.grid_sample(im, grid, mode="bilinear", padding_mode="border", align_corners=False),
            F.grid_sample(im, grid, mode="bilinear", padding_mode="border", align_corners=True),
            F.grid_sample(im, grid, mode="bilinear", padding_mode="reflection", align_corners=False),
            F.grid_sample(im, grid, mode="bilinear", padding_mode="reflection", align_corners=True),
        )

    opset_16 = fix("raise-opset", "export at opset 16 or later", opset=16)


class GridSampleNearest(Case):
    """GridSample's attribute table, nearest: three paddings, align_corners off and on."""

    sources = ("seed:004",)
    aten_ops = ("aten::grid_sampler",)
    onnx_ops = ("GridSample",)
    needs_torch = ">=1.12"
    inputs = ((f32(1, 2, 4, 5), POINTS), (f32(1, 2, 4, 5), f32(1, 2, 3, 2, low=-1.3, high=1.3)))
    facts = staticmethod(sampling_attributes)

    def forward(self, im, grid):
        return (
            F.grid_sample(im, grid, mode="nearest", padding_mode="zeros", align_corners=False),
            F.grid_sample(im, grid, mode="nearest", padding_mode="zeros", align_corners=True),
            F.grid_sample(im, grid, mode="nearest", padding_mode="border", align_corners=False),
            F.grid_sample(im, grid, mode="nearest", padding_mode="border", align_corners=True),
            F.grid_sample(im, grid, mode="nearest", padding_mode="reflection", align_corners=False),
            F.grid_sample(im, grid, mode="nearest", padding_mode="reflection", align_corners=True),
        )

    opset_16 = fix("raise-opset", "export at opset 16 or later", opset=16)


class GridSampleBicubic(Case):
    """GridSample's attribute table, bicubic: three paddings, align_corners off and on."""

    sources = ("seed:004",)
    aten_ops = ("aten::grid_sampler",)
    onnx_ops = ("GridSample",)
    needs_torch = ">=1.12"
    inputs = ((f32(1, 2, 4, 5), POINTS), (f32(1, 2, 4, 5), f32(1, 2, 3, 2, low=-1.3, high=1.3)))
    facts = staticmethod(sampling_attributes)

    def forward(self, im, grid):
        return (
            F.grid_sample(im, grid, mode="bicubic", padding_mode="zeros", align_corners=False),
            F.grid_sample(im, grid, mode="bicubic", padding_mode="zeros", align_corners=True),
            F.grid_sample(im, grid, mode="bicubic", padding_mode="border", align_corners=False),
            F.grid_sample(im, grid, mode="bicubic", padding_mode="border", align_corners=True),
            F.grid_sample(im, grid, mode="bicubic", padding_mode="reflection", align_corners=False),
            F.grid_sample(im, grid, mode="bicubic", padding_mode="reflection", align_corners=True),
        )

    opset_16 = fix("raise-opset", "export at opset 16 or later", opset=16)
