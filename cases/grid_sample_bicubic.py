"""grid_sample with bicubic interpolation, and with reflection where there is one pixel only."""

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix

#: coordinates a little beyond both borders
BEYOND = 1.4


def cubic_weights(offset):
    """Weights of the four neighbours, with torch's coefficient of -0.75."""
    a = -0.75
    found = []
    for distance in (offset + 1, offset, 1 - offset, 2 - offset):
        near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
        far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
        found.append(torch.where(distance <= 1, near, far))
    return found


def bicubic_by_gather(x, grid, inside):
    """Sixteen neighbours of each point, weighted; ``inside`` makes indices of coordinates and says which count."""
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
    """grid_sample(mode="bicubic"), zeros outside: the runtime's kernel against torch's coefficient."""

    def forward(self, x, grid):
        return F.grid_sample(x, grid, mode="bicubic", padding_mode="zeros", align_corners=False)

    @fix("rewrite", "bilinear: other values", changes_values=True)
    def bilinear(self, x, grid):
        return F.grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=False)

    @fix("rewrite", "sixteen neighbours gathered, with torch's coefficient")
    def gathered(self, x, grid):
        return bicubic_by_gather(x, grid, zero_outside)


class GridSampleBicubicBorder(_Bicubic):
    """grid_sample(mode="bicubic"), the border repeated: clamped before or after the neighbours are taken."""

    def forward(self, x, grid):
        return F.grid_sample(x, grid, mode="bicubic", padding_mode="border", align_corners=False)

    @fix("rewrite", "bilinear: other values", changes_values=True)
    def bilinear(self, x, grid):
        return F.grid_sample(x, grid, mode="bilinear", padding_mode="border", align_corners=False)

    @fix("rewrite", "sixteen neighbours gathered, with torch's coefficient")
    def gathered(self, x, grid):
        return bicubic_by_gather(x, grid, border)


class GridSampleBicubicReflection(_Bicubic):
    """grid_sample(mode="bicubic"), reflected at the border: reflected before or after the neighbours are taken."""

    def forward(self, x, grid):
        return F.grid_sample(x, grid, mode="bicubic", padding_mode="reflection", align_corners=False)

    @fix("rewrite", "bilinear: other values", changes_values=True)
    def bilinear(self, x, grid):
        return F.grid_sample(x, grid, mode="bilinear", padding_mode="reflection", align_corners=False)


class GridSampleReflectionOnePixel(Case):
    """grid_sample with reflection on one row of pixels: the period of the reflection is nothing."""

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

    @fix("rewrite", "the border repeated: the same on one row, other values along it", changes_values=True)
    def border(self, x, grid):
        return F.grid_sample(x, grid, padding_mode="border", align_corners=True)
