"""Interpolation: where Resize's coordinates, rounding and coefficients part from torch's."""

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix

TENS = (f32(1, 2, 10, 10, low=0.0, high=9.0), f32(1, 2, 10, 10), f32(3, 2, 10, 10))


def resize_as(**attributes):
    """Surgery that sets these attributes of every Resize."""

    def surgery(model):
        import onnx

        for node in model.graph.node:
            if node.op_type == "Resize":
                kept = [item for item in node.attribute if item.name not in attributes]
                del node.attribute[:]
                node.attribute.extend(kept + [onnx.helper.make_attribute(*item) for item in attributes.items()])
        return model

    return surgery


class InterpolateBilinearToOnePixel(Case):
    """Bilinear interpolate to 1 by 1: pytorch_half_pixel reads the first pixel, torch the middle."""

    sources = ("pytorch/pytorch#183523", "pytorch/pytorch#79361", "onnx/onnx#4276")
    aten_ops = ("aten::upsample_bilinear2d",)
    onnx_ops = ("Resize",)
    inputs = tuple((item,) for item in TENS)
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return F.interpolate(x, size=(1, 1), mode="bilinear", align_corners=False)

    half_pixel = fix(
        "graph-surgery",
        "coordinate_transformation_mode half_pixel, which has no case of its own for one pixel",
        surgery=resize_as(coordinate_transformation_mode="half_pixel"),
    )

    @fix("rewrite", "the mean of the four middle pixels")
    def mean_of_middle(self, x):
        return x[:, :, 4:6, 4:6].mean((2, 3), keepdim=True)


class InterpolateBilinearToTwoPixels(InterpolateBilinearToOnePixel):
    """Bilinear interpolate to 2 by 2, beside 1 by 1: both coordinate modes agree here."""

    def forward(self, x):
        return F.interpolate(x, size=(2, 2), mode="bilinear", align_corners=False)

    @fix("rewrite", "the mean of the four middle pixels of each quarter", documented=False)
    def mean_of_middle(self, x):
        rows = torch.cat([x[:, :, 2:3], x[:, :, 7:8]], dim=2)
        return torch.cat([rows[:, :, :, 2:3], rows[:, :, :, 7:8]], dim=3)


class _NearestByNode(torch.autograd.Function):
    """nearest as a Resize by hand: half_pixel coordinates, halves rounded up."""

    @staticmethod
    def symbolic(g, x):
        empty = g.op("Constant", value_t=torch.tensor([], dtype=torch.float32))
        scales = g.op("Constant", value_t=torch.tensor([1.0, 1.0, 64 / 26.0, 64 / 26.0]))
        return g.op(
            "Resize",
            x,
            empty,
            scales,
            mode_s="nearest",
            coordinate_transformation_mode_s="half_pixel",
            nearest_mode_s="round_prefer_ceil",
        )

    @staticmethod
    def forward(ctx, x):
        return F.interpolate(x, size=(64, 64), mode="nearest")


class ResizeNearestHalfPixel(Case):
    """A Resize of one's own, nearest with half_pixel and round_prefer_ceil, is one pixel off torch's nearest."""

    sources = ("microsoft/onnxruntime#28085", "microsoft/onnxruntime#28310")
    aten_ops = ("aten::upsample_nearest2d",)
    onnx_ops = ("Resize",)
    needs_torch = ">=1.3"
    exporters = ("torchscript-trace",)
    inputs = ((f32(1, 1, 26, 26),), (f32(1, 1, 26, 26, low=2.0, high=5.0),))

    def forward(self, x):
        return _NearestByNode.apply(x)

    asymmetric_floor = fix(
        "graph-surgery",
        "asymmetric coordinates, rounded down: what torch's own export writes, and one pixel off, too",
        surgery=resize_as(coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
        caution=True,
    )

    @fix("rewrite", "rows and columns picked by index", documented=False)
    def picked_by_index(self, x):
        place = torch.floor(torch.arange(64).double() * 26 / 64).long()
        return x.index_select(2, place).index_select(3, place)


class InterpolateNearestInexactRatio(Case):
    """interpolate(mode="nearest") from 26 to 64: Resize divides by a rounded scale and picks the pixel before."""

    sources = ("microsoft/onnxruntime#28085", "microsoft/onnxruntime#28310")
    aten_ops = ("aten::upsample_nearest2d",)
    onnx_ops = ("Resize",)
    inputs = ((f32(1, 1, 26, 26),), (f32(1, 1, 26, 26, low=2.0, high=5.0),))

    def forward(self, x):
        return F.interpolate(x, size=(64, 64), mode="nearest")

    @fix("rewrite", "rows and columns picked by index", documented=False)
    def picked_by_index(self, x):
        place = torch.floor(torch.arange(64).double() * 26 / 64).long()
        return x.index_select(2, place).index_select(3, place)


class NearestExact(Case):
    """interpolate(mode="nearest-exact"): half_pixel coordinates, the mode that such a Resize is equal to."""

    sources = ("microsoft/onnxruntime#28085", "microsoft/onnxruntime#28310")
    aten_ops = ("aten::upsample_nearest2d",)
    onnx_ops = ("Resize",)
    needs_torch = ">=1.11"
    inputs = ((f32(1, 1, 26, 26),), (f32(1, 1, 26, 26, low=2.0, high=5.0),))

    def forward(self, x):
        return F.interpolate(x, size=(64, 64), mode="nearest-exact")

    @fix("rewrite", "rows and columns picked by index", documented=False)
    def picked_by_index(self, x):
        place = torch.floor((torch.arange(64).double() + 0.5) * 26 / 64).long()
        return x.index_select(2, place).index_select(3, place)


class _Antialiased(Case):
    sources = (
        "microsoft/onnxscript#1259",
        "microsoft/onnxscript#2916",
        "microsoft/onnxruntime#25264",
        "microsoft/onnxruntime#25265",
    )
    aten_ops = ("aten::_upsample_bicubic2d_aa",)
    onnx_ops = ("Resize",)
    needs_torch = ">=1.11"
    inputs = tuple((item,) for item in TENS)
    dynamic = {"x": {0: "batch"}}

    exclude_outside = fix(
        "graph-surgery",
        "exclude_outside=1: weights outside the image are left out, as torch leaves them out",
        surgery=resize_as(exclude_outside=1),
        documented=False,
    )
    newer_onnxscript = fix("version-upgrade", "an onnxscript of May 2026 or later", torch=">=2.12")


class InterpolateBicubicAntialias(_Antialiased):
    """Bicubic interpolate with antialias=True: Resize's antialias takes in what lies outside."""

    sources = (
        *_Antialiased.sources,
        "pytorch/vision#6806",
        "pytorch/pytorch#119232",
        "pytorch/pytorch#121623",
        "xiuqhou/Salience-DETR#17",
    )

    def forward(self, x):
        return F.interpolate(x, size=(4, 4), mode="bicubic", align_corners=False, antialias=True)

    @fix("rewrite", "antialias=False: other values", changes_values=True)
    def without_antialias(self, x):
        return F.interpolate(x, size=(4, 4), mode="bicubic", align_corners=False)


class InterpolateBilinearAntialias(_Antialiased):
    """Bilinear interpolate with antialias=True: Resize's antialias takes in what lies outside."""

    aten_ops = ("aten::_upsample_bilinear2d_aa",)

    def forward(self, x):
        return F.interpolate(x, size=(4, 4), mode="bilinear", align_corners=False, antialias=True)

    @fix("rewrite", "antialias=False: other values", changes_values=True)
    def without_antialias(self, x):
        return F.interpolate(x, size=(4, 4), mode="bilinear", align_corners=False)


class InterpolateBicubicAntialiasAlignCorners(_Antialiased):
    """Bicubic interpolate with antialias=True and align_corners=True: differs after the fix, too."""

    def forward(self, x):
        return F.interpolate(x, size=(4, 4), mode="bicubic", align_corners=True, antialias=True)

    exclude_outside = fix(
        "graph-surgery",
        "exclude_outside=1: weights outside the image are left out; not enough here",
        surgery=resize_as(exclude_outside=1),
        caution=True,
        documented=False,
    )

    @fix("rewrite", "antialias=False: other values", changes_values=True)
    def without_antialias(self, x):
        return F.interpolate(x, size=(4, 4), mode="bicubic", align_corners=True)


class _CubicByNode(torch.autograd.Function):
    """bicubic as a Resize by hand, with the coefficient of another library."""

    @staticmethod
    def symbolic(g, x):
        empty = g.op("Constant", value_t=torch.tensor([], dtype=torch.float32))
        scales = g.op("Constant", value_t=torch.tensor([1.0, 1.0, 2.0, 2.0]))
        return g.op(
            "Resize",
            x,
            empty,
            scales,
            mode_s="cubic",
            coordinate_transformation_mode_s="half_pixel",
            cubic_coeff_a_f=-0.5,
        )

    @staticmethod
    def forward(ctx, x):
        return F.interpolate(x, scale_factor=2.0, mode="bicubic", align_corners=False)


class ResizeCubicCoefficientHalf(Case):
    """A cubic Resize of one's own with cubic_coeff_a=-0.5: torch's bicubic has -0.75."""

    sources = ("microsoft/onnxruntime#28292",)
    aten_ops = ("aten::upsample_bicubic2d",)
    onnx_ops = ("Resize",)
    needs_torch = ">=1.3"
    exporters = ("torchscript-trace",)
    inputs = ((f32(1, 2, 5, 5),), (f32(1, 2, 5, 5),))

    def forward(self, x):
        return _CubicByNode.apply(x)

    torch_coefficient = fix(
        "graph-surgery", "cubic_coeff_a=-0.75, ONNX's default and torch's", surgery=resize_as(cubic_coeff_a=-0.75)
    )

    @fix("rewrite", "torch's own bicubic, without the node by hand", documented=False)
    def torch_bicubic(self, x):
        return F.interpolate(x, scale_factor=2.0, mode="bicubic", align_corners=False)
