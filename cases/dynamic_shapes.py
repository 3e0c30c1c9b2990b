"""Dynamic shapes: which axes accept another size, what declares them, and examples of one element or none."""

import torch

from caniexport import Case, f32, fix


class _ThreeFiles(Case):
    sources = ("seed:002",)
    aten_ops = ("aten::conv2d",)
    onnx_ops = ("Conv",)
    output_names = ("out",)

    def setup(self):
        self.conv = torch.nn.Conv2d(3, 3, 3)

    def forward(self, x):
        return self.conv(x)

    axis_0 = fix(
        "export-option",
        "declare the batch axis dynamic",
        dynamic={"x": {0: "batch"}, "out": {0: "batch"}},
    )
    axes_2_3 = fix(
        "export-option",
        "declare height and width dynamic",
        dynamic={"x": {2: "height", 3: "width"}, "out": {2: "height", 3: "width"}},
    )


class DynamicAxesOriginInput(_ThreeFiles):
    """Conv2d, input of the exported shape: works whatever axes are dynamic."""

    inputs = ((f32(1, 3, 10, 10),), (f32(1, 3, 10, 10),))


class DynamicAxesBatch2Input(_ThreeFiles):
    """Conv2d, input with another batch size: fails unless axis 0 is dynamic."""

    id = "dynamic-axes-batch-2-input"
    inputs = ((f32(1, 3, 10, 10),), (f32(2, 3, 10, 10),))

    axes_2_3 = fix(
        "export-option",
        "declare height and width dynamic; does not help a batch of two",
        dynamic={"x": {2: "height", 3: "width"}, "out": {2: "height", 3: "width"}},
        caution=True,
    )


class DynamicAxesSize20Input(_ThreeFiles):
    """Conv2d, larger input than exported: fails unless axes 2 and 3 are dynamic."""

    id = "dynamic-axes-size-20-input"
    inputs = ((f32(1, 3, 10, 10),), (f32(1, 3, 20, 20),))


def input_dims(model):
    """Return the dimensions of the ONNX file's first input: names where dynamic, sizes where not."""
    shape = model.graph.input[0].type.tensor_type.shape
    return {"dims": [dim.dim_param or dim.dim_value for dim in shape.dim]}


class DynamicAxesListFormWarns(Case):
    """dynamic_axes as a list of axes: the exporter warns and generates the names."""

    sources = ("seed:002",)
    aten_ops = ("aten::conv2d",)
    onnx_ops = ("Conv",)
    inputs = ((f32(2, 3, 10, 10),), (f32(4, 3, 12, 14),))
    dynamic = {"x": [0, 2, 3]}
    facts = staticmethod(input_dims)

    def setup(self):
        self.conv = torch.nn.Conv2d(3, 3, 3)

    def forward(self, x):
        return self.conv(x)

    named_axes = fix(
        "export-option",
        "name every dynamic axis in a dictionary",
        dynamic={"x": {0: "batch", 2: "height", 3: "width"}},
    )


class FullyConvDynamicHw(Case):
    """Fully convolutional network: its static export accepts only one image size.

    In torch the network accepts any image size.
    """

    sources = ("seed:002",)
    aten_ops = ("aten::conv2d", "aten::relu")
    onnx_ops = ("Conv", "Relu")
    inputs = ((f32(1, 3, 8, 8),), (f32(1, 3, 11, 9),))

    def setup(self):
        self.first = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.second = torch.nn.Conv2d(4, 2, 3, stride=2)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))

    dynamic_hw = fix("export-option", "declare height and width dynamic", dynamic={"x": {2: "height", 3: "width"}})


class FlattenLinearDynamicHw(Case):
    """Dynamic height and width before Flatten and Linear: torch accepts one size only.

    The counterpart of fully-conv-dynamic-hw: dynamic axes cannot make an ONNX file accept more than its module accepts.
    """

    sources = ("seed:002",)
    aten_ops = ("aten::conv2d", "aten::flatten", "aten::linear")
    onnx_ops = ("Conv", "Flatten", "Gemm")
    inputs = ((f32(1, 3, 8, 8),), (f32(1, 3, 11, 9),))
    dynamic = {"x": {2: "height", 3: "width"}}

    def setup(self):
        self.conv = torch.nn.Conv2d(3, 2, 3)
        self.linear = torch.nn.Linear(72, 3)

    def forward(self, x):
        return self.linear(self.conv(x).flatten(1))


def input_shapes(model):
    """Return each input's shape as the ONNX file declares it: numbers, and names where it is dynamic."""
    shapes = {item.name: item.type.tensor_type.shape.dim for item in model.graph.input}
    return {"inputs": {name: [dim.dim_param or dim.dim_value for dim in dims] for name, dims in shapes.items()}}


class DynamicAxesOfALaterInput(Case):
    """dynamic_axes of the second input only: the default call makes the first dynamic.

    From torch 2.13 on. The conversion of dynamic_axes to dynamic_shapes keeps the order of the dictionary and loses the
    names.
    """

    sources = ("caniexport",)
    aten_ops = ("aten::add",)
    onnx_ops = ("Add",)
    inputs = ((f32(1, 3), f32(2, 3)), (f32(1, 3), f32(4, 3)))
    dynamic = {"y": {0: "batch"}}
    facts = staticmethod(input_shapes)

    def forward(self, x, y):
        return x + y

    all_named = fix(
        "export-option",
        "name every input, in the order of forward",
        dynamic={"x": {1: "width"}, "y": {0: "batch", 1: "width"}},
        documented=False,
    )


class DefaultWithDynamicAxesThatCodeFixes(Case):
    """dynamic_axes on sizes that the code fixes: the default export accepts them.

    It does so on every release.
    """

    sources = ("pasteurlabs/tesseract-core#425",)
    aten_ops = ("aten::reshape",)
    onnx_ops = ("Reshape",)
    exporters = ("default",)
    needs_torch = ">=2.5"
    inputs = ((f32(2, 3, 4),), (f32(2, 3, 4),), (f32(4, 3, 2),))
    dynamic = {"x": {0: "batch", 2: "width"}}

    def forward(self, x):
        if x.shape[0] * x.shape[2] != 8:
            raise ValueError("eight values a channel are wanted")
        return x.reshape(2, 12)

    torchscript = fix("export-option", "pass dynamo=False", export={"dynamo": False}, documented=False)


class DynamicBatchFromExampleOfOne(Case):
    """Dynamic batch, example of batch 1: the size is specialized to one."""

    sources = ("pytorch/tutorials#3400",)
    aten_ops = ("aten::reshape",)
    onnx_ops = ("Reshape",)
    inputs = ((f32(1, 3, 4),), (f32(2, 3, 4),), (f32(3, 3, 4),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return x.reshape(x.shape[0], -1) * 2

    example_of_two = fix(
        "export-option",
        "use an example of batch 2",
        inputs=((f32(2, 3, 4),), (f32(1, 3, 4),), (f32(3, 3, 4),)),
    )


class BroadcastFromExampleOfOne(DynamicBatchFromExampleOfOne):
    """x + y with dynamic batches, both 1 in the example: exported as a broadcast.

    Equal sizes are treated as a broadcast.
    """

    aten_ops = ("aten::add",)
    onnx_ops = ("Add",)
    inputs = ((f32(1, 3), f32(1, 3)), (f32(2, 3), f32(2, 3)), (f32(3, 3), f32(3, 3)))
    dynamic = {"x": {0: "batch"}, "y": {0: "batch"}}

    def forward(self, x, y):
        return x + y

    example_of_two = fix(
        "export-option",
        "use an example of batch 2",
        inputs=((f32(2, 3), f32(2, 3)), (f32(1, 3), f32(1, 3)), (f32(3, 3), f32(3, 3))),
    )


class EmptyExampleBatch(DynamicBatchFromExampleOfOne):
    """Dynamic batch, empty example: the size is specialized to zero."""

    inputs = ((f32(0, 3, 4),), (f32(2, 3, 4),), (f32(1, 3, 4),))

    def forward(self, x):
        return x.reshape(x.shape[0], 12) * 2


class LinearToOneSqueezed(Case):
    """nn.Linear to one value, then squeeze: dynamo reported to fail at {n, 1} and {n}.

    The two shapes reportedly do not merge in a dynamo export.
    """

    sources = ("ArgoHA/D-FINE-seg#40",)
    aten_ops = ("aten::linear", "aten::squeeze")
    onnx_ops = ("Gemm", "Squeeze")
    inputs = ((f32(12, 4),), (f32(12, 4),), (f32(5, 4),))
    dynamic = {"x": {0: "n"}}

    def setup(self):
        self.linear = torch.nn.Linear(4, 1)

    def forward(self, x):
        return self.linear(x).squeeze(-1)

    trace = fix("export-option", "export with dynamo=False", exporter="torchscript-trace")
