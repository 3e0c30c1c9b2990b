"""Resizing images: interpolate, Upsample and Resize."""

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix, values


def resize_nodes(model):
    """What every Resize and Upsample node of the file says, and where its size comes from."""
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
    """Mode, coordinate transformation and rounding of every Resize, in the order of the file."""
    names = ("mode", "coordinate_transformation_mode", "nearest_mode")
    nodes = resize_nodes(model)["resize"]
    return {
        "coordinates": [" ".join(str(node[name]) for name in names if name in node) for node in nodes],
        "cubic_coeff_a": sorted({node["cubic_coeff_a"] for node in nodes if "cubic_coeff_a" in node}),
    }


class BicubicByScales(torch.autograd.Function):
    """Bicubic resizing whose rule feeds the scales vector (N, C, H, W) to the third input of Resize."""

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
    """Bicubic interpolate has no ONNX form below opset 11."""

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
    """How interpolate's arguments land on Resize: coordinates, coefficient, rounding, sizes.

    Four outputs: bicubic without and with align_corners, bilinear, nearest.
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
    """A scale factor computed from an input is written into the file as a constant.

    The first input set asks for a factor of 3, the others for 2 and 4.
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
        # some fixes take the factor as a vector of scales
        return F.interpolate(x, scale_factor=factor[-1].item(), mode="bicubic", align_corners=False)

    @fix("autograd-function", "an own rule that feeds Resize's scales, made from the factor")
    def scales_from_factor(self, x, factor):
        return BicubicByScales.apply(x, torch.cat([torch.ones_like(factor), torch.ones_like(factor), factor, factor]))

    @fix(
        "autograd-function",
        "an own rule that feeds Resize's scales, which are an input of the module",
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
        "a scales vector without the entries for batch and channels: eager takes it, the runtime does not",
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

    @fix("rewrite", "an output size computed from the traced shape and the factor, passed as size=", documented=False)
    def size_from_shape(self, x, factor):
        height, width = x.shape[2] * factor, x.shape[3] * factor
        return F.interpolate(x, size=[height.long()[0], width.long()[0]], mode="bicubic", align_corners=False)

    @fix(
        "export-option",
        "script the module instead of tracing it: the scales get another rank",
        exporter="torchscript-script",
        caution=True,
        documented=False,
    )
    def scripted(self, x, factor):
        return F.interpolate(x, scale_factor=[float(factor), float(factor)], mode="bicubic", align_corners=False)


class InterpolateDynamicScalesAutogradFunction(Case):
    """Resize fed by a scales input follows its factors for height and width, whole or not."""

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
