"""Upsampling by nearest and bilinear interpolation, and what TensorRT imports of it."""

import torch.nn.functional as F

from caniexport import Case, f32, fix


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


class UpsampleBilinearAlignCornersOpset9(Case):
    """Bilinear interpolate with align_corners=True is refused below opset 11."""

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

    @fix("rewrite", "align_corners=False (other values)", changes_values=True, caution=True, documented=False)
    def no_align_corners(self, x):
        return (
            F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False),
            F.interpolate(x, scale_factor=1.5, mode="bilinear", align_corners=False),
        )


class UpsampleOpset9SilentMismatch(Case):
    """Bilinear interpolate at opset 9 and 10 exports with a warning and gives shifted values."""

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
    """Nearest interpolate below opset 11, said not to match torch either."""

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
    """TensorRT 6 refuses bilinear Upsample; nearest instead imports, and changes the values."""

    sources = ("seed:003",)
    aten_ops = ("aten::upsample_bilinear2d", "aten::upsample_nearest2d")
    onnx_ops = ("Upsample", "Resize")
    # nothing dynamic: before torch 1.11 a dynamic axis beside size= is an error of its own below opset 11
    inputs = ((f32(1, 2, 4, 4),), (f32(1, 2, 4, 4),))

    def forward(self, x):
        return F.interpolate(x, size=(8, 8), mode="bilinear", align_corners=False)

    opset_11 = fix("raise-opset", "export at opset 11 or later, whose Resize says how it maps coordinates", opset=11)

    @fix(
        "rewrite",
        "nearest instead of bilinear: other values, to be accepted or trained for",
        changes_values=True,
        caution=True,
    )
    def nearest(self, x):
        return F.interpolate(x, size=(8, 8), mode="nearest")

    @fix("rewrite", "nearest taken for an equal of bilinear: it is none", caution=True)
    def nearest_as_if_equal(self, x):
        return F.interpolate(x, size=(8, 8), mode="nearest")
