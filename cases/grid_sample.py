"""Sampling an image at the points of a grid: grid_sample, its modes, and what manual replacements leave out."""

from contextlib import contextmanager

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix, values

#: points inside, on the border and outside of the image
POINTS = values([[[[-1.3, -1.2], [-1.0, 0.9], [0.1, 0.3]], [[1.0, 1.0], [1.25, -0.4], [-0.55, 1.3]]]])


def corner(im, ix, iy):
    """Return pixels (N, C, P) at whole coordinates (N, P) of ``im`` (N, C, H, W); zero outside of it.

    The mask also maps an index outside of the image to pixel 0, so no limit is needed.
    """
    n, c, h, w = im.shape
    inside = ((ix >= 0) & (ix <= w - 1) & (iy >= 0) & (iy <= h - 1)).to(im.dtype)
    index = ((iy * w + ix) * inside).long().unsqueeze(1).repeat(1, c, 1)
    return torch.gather(im.reshape(n, c, -1), 2, index) * inside.unsqueeze(1)


def sample_at(im, x, y):
    """Return bilinear values (N, C, P) at pixel coordinates (N, P); zero outside of the image."""
    x0, y0 = torch.floor(x), torch.floor(y)
    right, down = (x - x0).unsqueeze(1), (y - y0).unsqueeze(1)
    upper = corner(im, x0, y0) * (1 - right) + corner(im, x0 + 1, y0) * right
    lower = corner(im, x0, y0 + 1) * (1 - right) + corner(im, x0 + 1, y0 + 1) * right
    return upper * (1 - down) + lower * down


def to_pixels(position, size: int, align_corners: bool):
    """Convert coordinates in [-1, 1] to pixel coordinates along an axis of ``size`` pixels."""
    if align_corners:
        return (position + 1) / 2 * (size - 1)
    return ((position + 1) * size - 1) / 2


def bilinear_by_gather(im, grid, align_corners: bool):
    """grid_sample with mode bilinear and padding zeros, made of floor and gather."""
    x = to_pixels(grid[:, :, :, 0], im.shape[3], align_corners).reshape(grid.shape[0], -1)
    y = to_pixels(grid[:, :, :, 1], im.shape[2], align_corners).reshape(grid.shape[0], -1)
    return sample_at(im, x, y).reshape(im.shape[0], im.shape[1], grid.shape[1], grid.shape[2])


@contextmanager
def plugin_node(opset):
    """Register a symbolic that maps grid_sampler to a node of a custom domain; the runtime needs a kernel."""

    def rule(g, im, grid, *_attributes):
        return g.op("caniexport.demo::GridSample", im, grid)

    torch.onnx.register_custom_op_symbolic("::grid_sampler", rule, opset or 9)
    yield
    unregister = getattr(torch.onnx, "unregister_custom_op_symbolic", None)
    if unregister is not None:
        unregister("::grid_sampler", opset or 9)


def sampling_attributes(model):
    """Return the attributes of every GridSample, in the order of the file: mode, padding_mode, align_corners."""
    found = []
    for node in model.graph.node:
        if node.op_type == "GridSample":
            noted = {item.name: item.s.decode() if item.s else item.i for item in node.attribute}
            found.append("{mode} {padding_mode} {align_corners}".format(**noted) if len(noted) == 3 else str(noted))
    return {"grid_sample": found}


class GridSamplerUnsupportedOpset11(Case):
    """F.grid_sample: TorchScript needs torch 1.12 and opset 16.

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

    opset_16 = fix("raise-opset", "use torch 1.12 or later and opset 16 or later", opset=16)

    newer_torch = fix("version-upgrade", "upgrade to torch 1.12, which has the symbolic (for opset 16)", torch=">=1.12")

    @fix("rewrite", "sample bilinearly with zeros around, using floor and gather")
    def gather_rewrite(self, im, grid):
        return bilinear_by_gather(im, grid, False), bilinear_by_gather(im, grid, True)

    plugin_node = fix(
        "custom-symbolic",
        "write a node of a custom domain; the runtime needs a kernel",
        patch=plugin_node,
        caution=True,
        documented=False,
    )


class GridSampleOpset16Supported(Case):
    """F.grid_sample(mode="bilinear"): the attributes of GridSample.

    Six outputs: three paddings, each with align_corners off and on.
    """

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
    """F.grid_sample(mode="nearest"): the attributes of GridSample.

    Six outputs: three paddings, each with align_corners off and on.
    """

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
    """F.grid_sample(mode="bicubic"): the attributes of GridSample.

    Six outputs: three paddings, each with align_corners off and on.
    """

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


#: coordinates slightly beyond both borders
BEYOND = 1.4


def cubic_weights(offset):
    """Return the weights of the four neighbors, with torch's coefficient of -0.75."""
    a = -0.75
    found = []
    for distance in (offset + 1, offset, 1 - offset, 2 - offset):
        near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
        far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
        found.append(torch.where(distance <= 1, near, far))
    return found


def bicubic_by_gather(x, grid, inside):
    """Weigh sixteen neighbors of each point; ``inside`` converts coordinates to indices and returns which count."""
    batch, channels, height, width = x.shape
    column = ((grid[..., 0] + 1) * width - 1) / 2
    row = ((grid[..., 1] + 1) * height - 1) / 2
    left, top = torch.floor(column), torch.floor(row)
    across, down = cubic_weights(column - left), cubic_weights(row - top)
    flat = x.reshape(batch, channels, height * width)
    total = torch.zeros_like(x[:, :, :1, :1])
    for i in range(4):
        for j in range(4):
            rows, row_counts = inside(top + (i - 1), height)
            columns, column_counts = inside(left + (j - 1), width)
            place = (rows * width + columns).reshape(batch, 1, -1).expand(-1, channels, -1)
            picked = flat.gather(2, place).reshape(batch, channels, grid.shape[1], grid.shape[2])
            weight = down[i] * across[j] * row_counts * column_counts
            total = total + picked * weight.unsqueeze(1)
    return total


def zero_outside(place, size):
    counts = ((place >= 0) & (place <= size - 1)).to(place.dtype)
    return place.clamp(0, size - 1).long(), counts


def border(place, size):
    return place.clamp(0, size - 1).long(), torch.ones_like(place)


class _Bicubic(Case):
    sources = ("microsoft/onnxscript#562", "microsoft/onnxruntime#10607")
    aten_ops = ("aten::grid_sampler",)
    onnx_ops = ("GridSample",)
    inputs = (
        (f32(1, 2, 5, 6), f32(1, 3, 4, 2, low=-0.5, high=0.5)),
        (f32(1, 2, 5, 6), f32(1, 3, 4, 2, low=-BEYOND, high=BEYOND)),
        (f32(2, 2, 5, 6), f32(2, 3, 4, 2, low=-1.05, high=1.05)),
    )
    dynamic = {"x": {0: "batch"}, "grid": {0: "batch"}}
    needs_torch = ">=1.8"


class GridSampleBicubicZeros(_Bicubic):
    """F.grid_sample bicubic, zeros padding: the cubic kernel is reported to differ.

    The runtime has its own kernel; torch has its own coefficient.
    """

    def forward(self, x, grid):
        return F.grid_sample(x, grid, mode="bicubic", padding_mode="zeros", align_corners=False)

    @fix("rewrite", "use bilinear; values differ", changes_values=True)
    def bilinear(self, x, grid):
        return F.grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=False)

    @fix("rewrite", "gather sixteen neighbors, with torch's coefficient")
    def gathered(self, x, grid):
        return bicubic_by_gather(x, grid, zero_outside)


class GridSampleBicubicBorder(_Bicubic):
    """F.grid_sample bicubic, border padding: the cubic kernel is reported to differ.

    The coordinates are clamped before or after the neighbors are read.
    """

    def forward(self, x, grid):
        return F.grid_sample(x, grid, mode="bicubic", padding_mode="border", align_corners=False)

    @fix("rewrite", "use bilinear; values differ", changes_values=True)
    def bilinear(self, x, grid):
        return F.grid_sample(x, grid, mode="bilinear", padding_mode="border", align_corners=False)

    @fix("rewrite", "gather sixteen neighbors, with torch's coefficient")
    def gathered(self, x, grid):
        return bicubic_by_gather(x, grid, border)


class GridSampleBicubicReflection(_Bicubic):
    """F.grid_sample bicubic, reflection: the cubic kernel is reported to differ.

    The coordinates are reflected before or after the neighbors are read.
    """

    def forward(self, x, grid):
        return F.grid_sample(x, grid, mode="bicubic", padding_mode="reflection", align_corners=False)

    @fix("rewrite", "use bilinear; values differ", changes_values=True)
    def bilinear(self, x, grid):
        return F.grid_sample(x, grid, mode="bilinear", padding_mode="reflection", align_corners=False)


class GridSampleReflectionOnePixel(Case):
    """F.grid_sample with reflection on one row: the period of the reflection is zero."""

    sources = ("microsoft/onnxruntime#27639",)
    aten_ops = ("aten::grid_sampler",)
    onnx_ops = ("GridSample",)
    needs_torch = ">=1.3"
    inputs = (
        (f32(1, 2, 1, 4), f32(1, 3, 3, 2, low=-0.5, high=0.5)),
        (f32(1, 2, 1, 4), f32(1, 3, 3, 2, low=-BEYOND, high=BEYOND)),
    )

    def forward(self, x, grid):
        return F.grid_sample(x, grid, padding_mode="reflection", align_corners=True)

    @fix("rewrite", "repeat the border; equal on one row, different values along it", changes_values=True)
    def border(self, x, grid):
        return F.grid_sample(x, grid, padding_mode="border", align_corners=True)


def to_border(position, size: int):
    """Move pixel coordinates onto the image; no limit of a clamp depends on the size."""
    position = position.clamp(min=0)
    return (size - 1) - ((size - 1) - position).clamp(min=0)


def reflected(position, size: int):
    """Reflect pixel coordinates at the outer edges of the first and last pixel (align_corners=False)."""
    beyond = (position + 0.5).abs()
    turns = torch.floor(beyond / size)
    rest = beyond - turns * size
    odd = turns - 2 * torch.floor(turns / 2)
    return to_border(rest + odd * (size - 2 * rest) - 0.5, size)


def limited(index, last):
    """Limit indices to 0 .. last; the limit is a separate tensor, a constant of the trace."""
    index = torch.where(index < 0, torch.tensor(0), index)
    return torch.where(index > last, torch.tensor(last), index)


def sample_within_limits(im, grid, h, w):
    """grid_sample with mode bilinear and padding zeros on a padded image, its indices limited to ``h`` and ``w``."""
    n, c = im.shape[0], im.shape[1]
    x = to_pixels(grid[:, :, :, 0], w, False).reshape(n, -1)
    y = to_pixels(grid[:, :, :, 1], h, False).reshape(n, -1)
    x0, y0 = torch.floor(x), torch.floor(y)
    # one row and column of zeros around, so that every index outside of the image reads a zero
    padded = F.pad(im, [1, 1, 1, 1]).reshape(n, c, -1)
    total = 0
    for right in (0, 1):
        for down in (0, 1):
            column = limited(x0.long() + right + 1, w + 1)
            row = limited(y0.long() + down + 1, h + 1)
            weight = (1 - (x - x0 - right).abs()) * (1 - (y - y0 - down).abs())
            index = (row * (w + 2) + column).unsqueeze(1).repeat(1, c, 1)
            total = total + torch.gather(padded, 2, index) * weight.unsqueeze(1)
    return total.reshape(n, c, grid.shape[1], grid.shape[2])


class BilinearGridSampleShapeBaked(Case):
    """grid_sample by hand, torch.tensor limits: torch 1.3 keeps the exported size."""

    sources = ("seed:004",)
    aten_ops = ("aten::size", "aten::where", "aten::gather", "aten::pad")
    onnx_ops = ("Constant", "Where", "GatherElements", "Pad")
    needs_torch = ">=1.3"
    exporters = ("torchscript-trace", "dynamo", "default")
    inputs = (
        (f32(1, 2, 4, 4), POINTS),
        (f32(1, 2, 4, 4), f32(1, 2, 3, 2, low=-1.3, high=1.3)),
        (f32(1, 2, 8, 8), values([[[[0.9, 0.9], [-0.3, 0.8], [0.6, 0.2]], [[0.7, -0.7], [1.2, 0.1], [0.95, 0.5]]]])),
    )
    dynamic = {"im": {2: "height", 3: "width"}}

    def forward(self, im, grid):
        return sample_within_limits(im, grid, im.shape[2], im.shape[3])

    def reference(self, im, grid):
        return F.grid_sample(im, grid, mode="bilinear", padding_mode="zeros", align_corners=False)

    @fix("rewrite", "use a mask of the points inside, so that no limit is needed", documented=False)
    def mask_instead_of_limits(self, im, grid):
        return bilinear_by_gather(im, grid, False)

    @fix(
        "rewrite",
        "pass the sizes through int(); they stay those of the exported image",
        caution=True,
        documented=False,
    )
    def sizes_through_int(self, im, grid):
        return sample_within_limits(im, grid, int(im.shape[2]), int(im.shape[3]))

    static_size = fix(
        "export-option", "declare no dynamic size; other sizes are rejected, not wrong", dynamic={}, caution=True
    )


class BilinearGridSampleNoBorderReflection(Case):
    """grid_sample replacement for zeros: silently wrong for other paddings and modes.

    Three outputs: bilinear with border, bilinear with reflection, nearest with zeros.
    """

    sources = ("seed:004",)
    aten_ops = ("aten::grid_sampler", "aten::gather")
    onnx_ops = ("GridSample", "GatherElements")
    needs_torch = ">=1.3"
    inputs = (
        (f32(1, 2, 4, 5), POINTS),
        (f32(1, 2, 4, 5), f32(1, 2, 3, 2, low=-1.3, high=1.3)),
        (f32(1, 2, 6, 3), f32(1, 4, 2, 2, low=-1.3, high=1.3)),
    )
    dynamic = {"im": {2: "height", 3: "width"}, "grid": {1: "rows", 2: "columns"}}

    def forward(self, im, grid):
        return (
            F.grid_sample(im, grid, mode="bilinear", padding_mode="border", align_corners=False),
            F.grid_sample(im, grid, mode="bilinear", padding_mode="reflection", align_corners=False),
            F.grid_sample(im, grid, mode="nearest", padding_mode="zeros", align_corners=False),
        )

    @fix("rewrite", "use bilinear sampling with zeros for all three outputs", caution=True)
    def zeros_replacement(self, im, grid):
        sampled = bilinear_by_gather(im, grid, False)
        return sampled, sampled, sampled

    opset_16 = fix("raise-opset", "use torch 1.12 or later and opset 16 or later", opset=16)

    @fix(
        "rewrite",
        "apply the matching index calculation before the gather: border, reflection, rounding",
        documented=False,
    )
    def index_rules(self, im, grid):
        n, c, h, w = im.shape
        x = to_pixels(grid[:, :, :, 0], w, False).reshape(n, -1)
        y = to_pixels(grid[:, :, :, 1], h, False).reshape(n, -1)
        rows, columns = grid.shape[1], grid.shape[2]
        return (
            sample_at(im, to_border(x, w), to_border(y, h)).reshape(n, c, rows, columns),
            sample_at(im, reflected(x, w), reflected(y, h)).reshape(n, c, rows, columns),
            corner(im, torch.round(x), torch.round(y)).reshape(n, c, rows, columns),
        )
