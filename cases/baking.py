"""Baking: values and sizes that tracing turns into constants of the file, by accident or on purpose."""

import torch

from caniexport import Case, f32, fix


class TracerItemBakesValue(Case):
    """.item() in forward: tracing writes the first input's value into the file."""

    id = "tracer-item-bakes-value"
    sources = ("seed:002",)
    aten_ops = ("aten::item", "aten::mul")
    onnx_ops = ("Mul", "Constant")
    inputs = ((f32(6),), (f32(6),), (f32(6),))

    def forward(self, x):
        return x * x[0].item()

    @fix("rewrite", "leave the value a tensor: x * x[0]", documented=False)
    def without_item(self, x):
        return x * x[0]

    script_first = fix(
        "export-option",
        "torch.jit.script before the export keeps item as an operator",
        exporter="torchscript-script",
        documented=False,
    )


class TracerIteratingTensorBakes(Case):
    """A tensor rebuilt from a Python list of its elements becomes a constant of the traced file."""

    sources = ("seed:002",)
    aten_ops = ("aten::unbind", "prim::Constant")
    onnx_ops = ("Constant",)
    inputs = ((f32(6),), (f32(6),))

    def forward(self, x):
        return torch.Tensor(list(x))

    @fix("rewrite", "stack the elements instead of building a new tensor of them", documented=False)
    def unbind_stack(self, x):
        return torch.stack(x.unbind(0))

    @fix(
        "rewrite",
        "stacked elements with a dynamic length: the number of elements is still that of the traced input",
        dynamic={"x": {0: "n"}},
        inputs=((f32(6),), (f32(9),)),
        caution=True,
        documented=False,
    )
    def unbind_stack_dynamic(self, x):
        return torch.stack(x.unbind(0))

    @fix("rewrite", "say it without elements at all, with a dynamic length", dynamic={"x": {0: "n"}}, documented=False)
    def whole_tensor(self, x):
        return x.clone()


class TracerBakingUsedOnPurpose(Case):
    """Sizes computed in forward leave Shape and Gather nodes in a file meant to be static.

    Baking them with int() is a known trick. Together with dynamic axes it is a trap: only the traced size is right.
    """

    sources = ("seed:002",)
    aten_ops = ("aten::size", "aten::reshape")
    onnx_ops = ("Shape", "Gather", "Reshape")
    inputs = ((f32(2, 3, 4),), (f32(2, 3, 4),), (f32(2, 3, 6),))
    dynamic = {"x": {2: "width"}}

    def forward(self, x):
        return x.reshape(x.shape[0] * x.shape[1], x.shape[2])

    @fix(
        "rewrite",
        "int() around every size, exported static and run at that size only",
        dynamic={},
        inputs=((f32(2, 3, 4),), (f32(2, 3, 4),)),
    )
    def baked_static(self, x):
        return x.reshape(int(x.shape[0]) * int(x.shape[1]), int(x.shape[2]))

    @fix("rewrite", "int() around every size, in a file whose axes are declared dynamic", caution=True)
    def baked_dynamic(self, x):
        return x.reshape(int(x.shape[0]) * int(x.shape[1]), int(x.shape[2]))


class TrtGatherOnShapeTensor(Case):
    """x.size()[1:] writes Gather nodes on a shape, which old TensorRT parsers refuse."""

    sources = ("seed:003",)
    aten_ops = ("aten::size", "aten::slice")
    onnx_ops = ("Shape", "Slice", "Gather")
    inputs = ((f32(1, 3, 8, 8),), (f32(1, 3, 8, 8),), (f32(1, 3, 12, 12),))
    dynamic = {"x": {2: "height", 3: "width"}}

    def forward(self, x):
        size = x.size()[1:]
        return x.reshape(size[0], size[1] * size[2])

    @fix("rewrite", "avoid sizes: flatten from the axes that stay")
    def without_sizes(self, x):
        return x.squeeze(0).flatten(1)

    @fix("rewrite", "torch.tensor(x.shape)[1:], which bakes the traced size", caution=True)
    def sizes_as_tensor(self, x):
        size = torch.tensor(x.shape)[1:]
        return x.reshape(int(size[0]), int(size[1]) * int(size[2]))


class TrtShapeFixBakesSize(Case):
    """torch.tensor(x.shape), advised for TensorRT, silently keeps the traced size."""

    sources = ("seed:003",)
    aten_ops = ("aten::size", "aten::tensor")
    onnx_ops = ("Shape", "Constant")
    inputs = ((f32(3, 8, 8),), (f32(3, 8, 8),), (f32(3, 12, 12),))
    dynamic = {"x": {1: "height", 2: "width"}}

    def forward(self, x):
        size = torch.tensor(x.shape)[1:]
        return x * size[0].to(torch.float32)

    @fix("rewrite", "keep the size a scalar of its own: x.shape[1]", documented=False)
    def scalar_size(self, x):
        return x * x.shape[1]
