"""Resizing images: interpolate, Upsample and Resize; coordinates, rounding and coefficients that differ."""

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix, values


def resize_nodes(model):
    """Return the attributes of every Resize and Upsample node, and the origin of each input."""
    made = {name: node.op_type for node in model.graph.node for name in node.output}
    made.update({item.name: "initializer" for item in model.graph.initializer})
    made.update({item.name: "graph input" for item in model.graph.input if item.name not in made})
    found = []
    for node in model.graph.node:
        if node.op_type not in ("Resize", "Upsample"):
            continue
        noted = {"op": node.op_type, "inputs": [made.get(name, "") for name in node.input]}
        for item in node.attribute:
            if item.name == "scales":
                continue
            noted[item.name] = item.s.decode() if item.s else round(item.f, 4) if item.type == 1 else item.i
        found.append(noted)
    return {"resize": found}


def coordinates(model):
    """Return mode, coordinate transformation and rounding of every Resize, in graph order."""
    names = ("mode", "coordinate_transformation_mode", "nearest_mode")
    nodes = resize_nodes(model)["resize"]
    return {
        "coordinates": [" ".join(str(node[name]) for name in names if name in node) for node in nodes],
        "cubic_coeff_a": sorted({node["cubic_coeff_a"] for node in nodes if "cubic_coeff_a" in node}),
    }


class BicubicByScales(torch.autograd.Function):
    """Bicubic resizing with a symbolic that feeds the scales to Resize's third input.

    The scales vector is (N, C, H, W).
    """

    @staticmethod
    def symbolic(g, x, scales):
        roi = g.op("Constant", value_t=torch.tensor([], dtype=torch.float32))
        return g.op(
            "Resize",
            x,
            roi,
            scales,
            mode_s="cubic",
            coordinate_transformation_mode_s="pytorch_half_pixel",
            cubic_coeff_a_f=-0.75,
            nearest_mode_s="floor",
        )

    @staticmethod
    def forward(ctx, x, scales):
        height, width = scales.tolist()[-2:]
        return F.interpolate(x, scale_factor=(height, width), mode="bicubic", align_corners=False)


class InterpolateBicubicNeedsOpset11(Case):
    """F.interpolate(mode="bicubic") has no TorchScript symbolic below opset 11."""

    id = "interpolate-bicubic-needs-opset-11"
    sources = ("seed:001", "seed:002")
    aten_ops = ("aten::upsample_bicubic2d",)
    onnx_ops = ("Resize",)
    inputs = ((f32(1, 2, 4, 5),), (f32(1, 2, 4, 5),), (f32(1, 2, 6, 7),))
    dynamic = {"x": {2: "height", 3: "width"}}
    facts = staticmethod(coordinates)

    def forward(self, x):
        return F.interpolate(x, scale_factor=2.0, mode="bicubic", align_corners=False)

    opset_11 = fix("raise-opset", "export at opset 11 or later", opset=11)


class ResizeBicubicAttributeMap(Case):
    """F.interpolate: how its arguments map to Resize's attributes.

    Coordinates, coefficient, rounding and sizes. Four outputs: bicubic without and with align_corners, bilinear,
    nearest.
    """

    sources = ("seed:001", "seed:002")
    aten_ops = ("aten::upsample_bicubic2d", "aten::upsample_bilinear2d", "aten::upsample_nearest2d")
    onnx_ops = ("Resize",)
    inputs = ((f32(1, 2, 4, 5),), (f32(1, 2, 4, 5),), (f32(1, 2, 6, 7),))
    dynamic = {"x": {2: "height", 3: "width"}}
    facts = staticmethod(coordinates)

    def forward(self, x):
        return (
            F.interpolate(x, scale_factor=2.0, mode="bicubic", align_corners=False),
            F.interpolate(x, scale_factor=2.0, mode="bicubic", align_corners=True),
            F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False),
            F.interpolate(x, scale_factor=2.0, mode="nearest"),
        )

    opset_11 = fix("raise-opset", "export at opset 11 or later", opset=11)


class InterpolateScaleFactorBaked(Case):
    """F.interpolate with a scale_factor from an input: exported as a constant.

    The first input set uses a factor of 3, the others 2 and 4.
    """

    sources = ("seed:001", "seed:002")
    aten_ops = ("aten::upsample_bicubic2d", "aten::item")
    onnx_ops = ("Resize",)
    inputs = (
        (f32(1, 2, 4, 5), values([3.0])),
        (f32(1, 2, 4, 5), values([2.0])),
        (f32(1, 2, 5, 4), values([4.0])),
    )
    dynamic = {"x": {2: "height", 3: "width"}}
    facts = staticmethod(resize_nodes)

    def forward(self, x, factor):
        return F.interpolate(x, scale_factor=factor.item(), mode="bicubic", align_corners=False)

    def reference(self, x, factor):
        # some workarounds take the factor as a vector of scales
        return F.interpolate(x, scale_factor=factor[-1].item(), mode="bicubic", align_corners=False)

    @fix("autograd-function", "use a custom symbolic that feeds Resize's scales, computed from the factor")
    def scales_from_factor(self, x, factor):
        return BicubicByScales.apply(x, torch.cat([torch.ones_like(factor), torch.ones_like(factor), factor, factor]))

    @fix(
        "autograd-function",
        "use a custom symbolic that feeds Resize's scales, passed as an input of the module",
        inputs=(
            (f32(1, 2, 4, 5), values([1.0, 1.0, 3.0, 3.0])),
            (f32(1, 2, 4, 5), values([1.0, 1.0, 2.0, 2.0])),
            (f32(1, 2, 5, 4), values([1.0, 1.0, 4.0, 4.0])),
        ),
    )
    def scales_input(self, x, scales):
        return BicubicByScales.apply(x, scales)

    @fix(
        "autograd-function",
        "use a scales vector without batch and channels; works in eager, not in the runtime",
        inputs=(
            (f32(1, 2, 4, 5), values([3.0, 3.0])),
            (f32(1, 2, 4, 5), values([2.0, 2.0])),
            (f32(1, 2, 5, 4), values([4.0, 4.0])),
        ),
        caution=True,
        documented=False,
    )
    def scales_of_wrong_length(self, x, scales):
        return BicubicByScales.apply(x, scales)

    @fix(
        "rewrite",
        "compute the output size from the traced shape and the factor, and pass it as size=",
        documented=False,
    )
    def size_from_shape(self, x, factor):
        height, width = x.shape[2] * factor, x.shape[3] * factor
        return F.interpolate(x, size=[height.long()[0], width.long()[0]], mode="bicubic", align_corners=False)

    @fix(
        "export-option",
        "script the module instead of tracing it; the scales get another rank",
        exporter="torchscript-script",
        caution=True,
        documented=False,
    )
    def scripted(self, x, factor):
        return F.interpolate(x, scale_factor=[float(factor), float(factor)], mode="bicubic", align_corners=False)


class InterpolateDynamicScalesAutogradFunction(Case):
    """Resize with a scales input: follows the factors for height and width.

    The factors may be fractional.
    """

    sources = ("seed:001",)
    aten_ops = ("prim::PythonOp",)
    onnx_ops = ("Resize",)
    exporters = ("torchscript-trace", "default")
    inputs = (
        (f32(1, 2, 4, 6), values([1.0, 1.0, 2.0, 1.5])),
        (f32(1, 2, 4, 6), values([1.0, 1.0, 1.5, 2.0])),
        (f32(1, 2, 5, 7), values([1.0, 1.0, 1.5, 1.5])),
    )
    dynamic = {"x": {2: "height", 3: "width"}}
    facts = staticmethod(resize_nodes)

    def forward(self, x, scales):
        return BicubicByScales.apply(x, scales)


TENS = (f32(1, 2, 10, 10, low=0.0, high=9.0), f32(1, 2, 10, 10), f32(3, 2, 10, 10))


def resize_as(**attributes):
    """Graph surgery: set these attributes of every Resize."""

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
    """Bilinear interpolate to 1 by 1: pytorch_half_pixel reads the first pixel.

    torch reads the middle.
    """

    sources = ("pytorch/pytorch#183523", "pytorch/pytorch#79361", "onnx/onnx#4276", "microsoft/onnxscript#2918")
    aten_ops = ("aten::upsample_bilinear2d",)
    onnx_ops = ("Resize",)
    inputs = tuple((item,) for item in TENS)
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return F.interpolate(x, size=(1, 1), mode="bilinear", align_corners=False)

    half_pixel = fix(
        "graph-surgery",
        "use coordinate_transformation_mode half_pixel, which has no special case for one pixel",
        surgery=resize_as(coordinate_transformation_mode="half_pixel"),
    )

    @fix("rewrite", "take the mean of the four middle pixels")
    def mean_of_middle(self, x):
        return x[:, :, 4:6, 4:6].mean((2, 3), keepdim=True)


class InterpolateBilinearToTwoPixels(InterpolateBilinearToOnePixel):
    """Bilinear interpolate to 2 by 2: both coordinate modes agree, unlike at 1 by 1."""

    def forward(self, x):
        return F.interpolate(x, size=(2, 2), mode="bilinear", align_corners=False)

    @fix("rewrite", "take the mean of the four middle pixels of each quarter", documented=False)
    def mean_of_middle(self, x):
        rows = torch.cat([x[:, :, 2:3], x[:, :, 7:8]], dim=2)
        return torch.cat([rows[:, :, :, 2:3], rows[:, :, :, 7:8]], dim=3)


class _NearestByNode(torch.autograd.Function):
    """Write nearest as a custom Resize: half_pixel coordinates, halves rounded up."""

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
    """Custom Resize, nearest with half_pixel and round_prefer_ceil: one pixel off.

    The values differ from torch's nearest.
    """

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
        "use asymmetric coordinates rounded down, as torch's own export does; also one pixel off",
        surgery=resize_as(coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
        caution=True,
    )

    @fix("rewrite", "pick rows and columns by index", documented=False)
    def picked_by_index(self, x):
        place = torch.floor(torch.arange(64).double() * 26 / 64).long()
        return x.index_select(2, place).index_select(3, place)


class InterpolateNearestInexactRatio(Case):
    """F.interpolate(mode="nearest") from 26 to 64: Resize picks the pixel before.

    Resize divides by a rounded scale.
    """

    sources = ("microsoft/onnxruntime#28085", "microsoft/onnxruntime#28310")
    aten_ops = ("aten::upsample_nearest2d",)
    onnx_ops = ("Resize",)
    inputs = ((f32(1, 1, 26, 26),), (f32(1, 1, 26, 26, low=2.0, high=5.0),))

    def forward(self, x):
        return F.interpolate(x, size=(64, 64), mode="nearest")

    @fix("rewrite", "pick rows and columns by index", documented=False)
    def picked_by_index(self, x):
        place = torch.floor(torch.arange(64).double() * 26 / 64).long()
        return x.index_select(2, place).index_select(3, place)


class NearestExact(Case):
    """F.interpolate(mode="nearest-exact"): equals Resize with half_pixel coordinates."""

    sources = ("microsoft/onnxruntime#28085", "microsoft/onnxruntime#28310")
    aten_ops = ("aten::upsample_nearest2d",)
    onnx_ops = ("Resize",)
    needs_torch = ">=1.11"
    inputs = ((f32(1, 1, 26, 26),), (f32(1, 1, 26, 26, low=2.0, high=5.0),))

    def forward(self, x):
        return F.interpolate(x, size=(64, 64), mode="nearest-exact")

    @fix("rewrite", "pick rows and columns by index", documented=False)
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
        "set exclude_outside=1, which ignores weights outside the image as torch does",
        surgery=resize_as(exclude_outside=1),
        documented=False,
    )
    newer_onnxscript = fix("version-upgrade", "use onnxscript of May 2026 or newer", torch=">=2.12")


class InterpolateBicubicAntialias(_Antialiased):
    """Bicubic interpolate with antialias=True: Resize includes pixels outside."""

    sources = (
        *_Antialiased.sources,
        "pytorch/vision#6806",
        "pytorch/pytorch#119232",
        "pytorch/pytorch#121623",
        "xiuqhou/Salience-DETR#17",
    )

    def forward(self, x):
        return F.interpolate(x, size=(4, 4), mode="bicubic", align_corners=False, antialias=True)

    @fix("rewrite", "use antialias=False; different values", changes_values=True)
    def without_antialias(self, x):
        return F.interpolate(x, size=(4, 4), mode="bicubic", align_corners=False)


class InterpolateBilinearAntialias(_Antialiased):
    """Bilinear interpolate with antialias=True: Resize includes pixels outside."""

    aten_ops = ("aten::_upsample_bilinear2d_aa",)

    def forward(self, x):
        return F.interpolate(x, size=(4, 4), mode="bilinear", align_corners=False, antialias=True)

    @fix("rewrite", "use antialias=False; different values", changes_values=True)
    def without_antialias(self, x):
        return F.interpolate(x, size=(4, 4), mode="bilinear", align_corners=False)


class InterpolateBicubicAntialiasAlignCorners(_Antialiased):
    """Bicubic interpolate, antialias and align_corners=True: wrong after the fix too."""

    def forward(self, x):
        return F.interpolate(x, size=(4, 4), mode="bicubic", align_corners=True, antialias=True)

    exclude_outside = fix(
        "graph-surgery",
        "set exclude_outside=1, which ignores weights outside the image; not enough here",
        surgery=resize_as(exclude_outside=1),
        caution=True,
        documented=False,
    )

    @fix("rewrite", "use antialias=False; different values", changes_values=True)
    def without_antialias(self, x):
        return F.interpolate(x, size=(4, 4), mode="bicubic", align_corners=True)


class _CubicByNode(torch.autograd.Function):
    """Write bicubic as a custom Resize, with the coefficient of another library."""

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
    """Custom cubic Resize with cubic_coeff_a=-0.5: torch's bicubic uses -0.75."""

    sources = ("microsoft/onnxruntime#28292",)
    aten_ops = ("aten::upsample_bicubic2d",)
    onnx_ops = ("Resize",)
    needs_torch = ">=1.3"
    exporters = ("torchscript-trace",)
    inputs = ((f32(1, 2, 5, 5),), (f32(1, 2, 5, 5),))

    def forward(self, x):
        return _CubicByNode.apply(x)

    torch_coefficient = fix(
        "graph-surgery",
        "use cubic_coeff_a=-0.75, the default of ONNX and of torch",
        surgery=resize_as(cubic_coeff_a=-0.75),
    )

    @fix("rewrite", "use torch's own bicubic instead of the custom node", documented=False)
    def torch_bicubic(self, x):
        return F.interpolate(x, scale_factor=2.0, mode="bicubic", align_corners=False)


class UpsampleBilinearAlignCornersOpset9(Case):
    """Bilinear interpolate with align_corners=True: fails at export below opset 11."""

    id = "upsample-bilinear-align-corners-opset-9"
    sources = ("seed:003",)
    aten_ops = ("aten::upsample_bilinear2d",)
    onnx_ops = ("Upsample", "Resize")
    inputs = ((f32(1, 2, 4, 5),), (f32(1, 2, 4, 5),), (f32(1, 2, 6, 7),))
    dynamic = {"x": {2: "height", 3: "width"}}

    def forward(self, x):
        return (
            F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=True),
            F.interpolate(x, scale_factor=1.5, mode="bilinear", align_corners=True),
        )

    opset_11 = fix("raise-opset", "export at opset 11 or later", opset=11)

    @fix("rewrite", "use align_corners=False; different values", changes_values=True, caution=True, documented=False)
    def no_align_corners(self, x):
        return (
            F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False),
            F.interpolate(x, scale_factor=1.5, mode="bilinear", align_corners=False),
        )


class UpsampleOpset9SilentMismatch(Case):
    """Bilinear interpolate at opset 9 and 10: exports with a warning, values shifted."""

    id = "upsample-opset-9-silent-mismatch"
    sources = ("seed:003", "pytorch/pytorch#27176", "NVIDIA/TensorRT#273", "onnx/onnx-tensorrt#457")
    aten_ops = ("aten::upsample_bilinear2d",)
    onnx_ops = ("Upsample", "Resize")
    inputs = ((f32(1, 2, 4, 5),), (f32(1, 2, 4, 5),), (f32(1, 2, 6, 7),))
    dynamic = {"x": {2: "height", 3: "width"}}
    facts = staticmethod(resize_nodes)

    def forward(self, x):
        return F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)

    opset_11 = fix("raise-opset", "export at opset 11 or later", opset=11)


class UpsampleNearestOpset9(Case):
    """Nearest interpolate below opset 11: reported not to match torch."""

    id = "upsample-nearest-opset-9"
    sources = ("seed:003",)
    aten_ops = ("aten::upsample_nearest2d",)
    onnx_ops = ("Upsample", "Resize")
    inputs = ((f32(1, 2, 4, 6),), (f32(1, 2, 4, 6),), (f32(1, 2, 6, 8),))
    dynamic = {"x": {2: "height", 3: "width"}}

    def forward(self, x):
        return F.interpolate(x, scale_factor=1.5, mode="nearest")

    opset_11 = fix("raise-opset", "export at opset 11 or later", opset=11)


class TrtImportUpsampleBilinear(Case):
    """Bilinear Upsample: TensorRT 6 rejects it; nearest imports with other values."""

    sources = ("seed:003",)
    aten_ops = ("aten::upsample_bilinear2d", "aten::upsample_nearest2d")
    onnx_ops = ("Upsample", "Resize")
    # not dynamic: before torch 1.11 a dynamic axis with size= is a separate error below opset 11
    inputs = ((f32(1, 2, 4, 4),), (f32(1, 2, 4, 4),))

    def forward(self, x):
        return F.interpolate(x, size=(8, 8), mode="bilinear", align_corners=False)

    opset_11 = fix("raise-opset", "export at opset 11 or later, whose Resize defines the coordinate mapping", opset=11)

    @fix(
        "rewrite",
        "use nearest instead of bilinear; different values, to accept or train for",
        changes_values=True,
        caution=True,
    )
    def nearest(self, x):
        return F.interpolate(x, size=(8, 8), mode="nearest")

    @fix("rewrite", "treat nearest as equal to bilinear; it is not", caution=True)
    def nearest_as_if_equal(self, x):
        return F.interpolate(x, size=(8, 8), mode="nearest")
