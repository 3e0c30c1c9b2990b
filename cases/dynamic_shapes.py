"""Dynamic shapes: which axes a file takes at another size, what declares them, and examples of one element or none."""

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
    """The input has the exported shape: every file takes it, whatever axes are dynamic."""

    inputs = ((f32(1, 3, 10, 10),), (f32(1, 3, 10, 10),))


class DynamicAxesBatch2Input(_ThreeFiles):
    """The input has another batch size than the exported one: refused unless axis 0 is dynamic."""

    id = "dynamic-axes-batch-2-input"
    inputs = ((f32(1, 3, 10, 10),), (f32(2, 3, 10, 10),))

    axes_2_3 = fix(
        "export-option",
        "declare height and width dynamic: of no help for a batch of two",
        dynamic={"x": {2: "height", 3: "width"}, "out": {2: "height", 3: "width"}},
        caution=True,
    )


class DynamicAxesSize20Input(_ThreeFiles):
    """The input is larger than the exported one: refused unless axes 2 and 3 are dynamic."""

    id = "dynamic-axes-size-20-input"
    inputs = ((f32(1, 3, 10, 10),), (f32(1, 3, 20, 20),))


def input_dims(model):
    """The dimensions of the file's first input: names where dynamic, sizes where not."""
    shape = model.graph.input[0].type.tensor_type.shape
    return {"dims": [dim.dim_param or dim.dim_value for dim in shape.dim]}


class DynamicAxesListFormWarns(Case):
    """dynamic_axes as a list of axes: the exporter warns and makes up the names."""

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
        "give every dynamic axis its name in a dictionary",
        dynamic={"x": {0: "batch", 2: "height", 3: "width"}},
    )


class FullyConvDynamicHw(Case):
    """A fully convolutional net takes any image size in torch; its static export takes one."""

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
    """Dynamic height and width before Flatten and Linear: torch itself takes one size only.

    The twin of fully-conv-dynamic-hw: dynamic axes cannot give a file a freedom that the module does not have.
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
    """Each input's shape as the file declares it: numbers, and names where it is dynamic."""
    shapes = {item.name: item.type.tensor_type.shape.dim for item in model.graph.input}
    return {"inputs": {name: [dim.dim_param or dim.dim_value for dim in dims] for name, dims in shapes.items()}}


class DynamicAxesOfALaterInput(Case):
    """dynamic_axes that name the second input only: the bare call of 2.13 and later frees the first one instead.

    Its conversion of dynamic_axes to dynamic_shapes keeps the order of the dictionary and loses the names.
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
    """dynamic_axes on sizes that the code fixes: the default export takes them on every release."""

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

    torchscript = fix("export-option", "dynamo=False", export={"dynamo": False}, documented=False)


class DynamicBatchFromExampleOfOne(Case):
    """A batch said to be dynamic, exported with one: the size is specialised to one."""

    sources = ("pytorch/tutorials#3400",)
    aten_ops = ("aten::reshape",)
    onnx_ops = ("Reshape",)
    inputs = ((f32(1, 3, 4),), (f32(2, 3, 4),), (f32(3, 3, 4),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return x.reshape(x.shape[0], -1) * 2

    example_of_two = fix(
        "export-option",
        "an example of two",
        inputs=((f32(2, 3, 4),), (f32(1, 3, 4),), (f32(3, 3, 4),)),
    )


class BroadcastFromExampleOfOne(DynamicBatchFromExampleOfOne):
    """Two dynamic batches, both one in the example: equal sizes are taken for a broadcast."""

    aten_ops = ("aten::add",)
    onnx_ops = ("Add",)
    inputs = ((f32(1, 3), f32(1, 3)), (f32(2, 3), f32(2, 3)), (f32(3, 3), f32(3, 3)))
    dynamic = {"x": {0: "batch"}, "y": {0: "batch"}}

    def forward(self, x, y):
        return x + y

    example_of_two = fix(
        "export-option",
        "an example of two",
        inputs=((f32(2, 3), f32(2, 3)), (f32(1, 3), f32(1, 3)), (f32(3, 3), f32(3, 3))),
    )


class EmptyExampleBatch(DynamicBatchFromExampleOfOne):
    """A batch said to be dynamic, exported with none: the size is specialised to zero."""

    inputs = ((f32(0, 3, 4),), (f32(2, 3, 4),), (f32(1, 3, 4),))

    def forward(self, x):
        return x.reshape(x.shape[0], 12) * 2


class LinearToOneSqueezed(Case):
    """A linear layer to one value, squeezed: shapes {n, 1} and {n}, said not to merge in a dynamo export."""

    sources = ("ArgoHA/D-FINE-seg#40",)
    aten_ops = ("aten::linear", "aten::squeeze")
    onnx_ops = ("Gemm", "Squeeze")
    inputs = ((f32(12, 4),), (f32(12, 4),), (f32(5, 4),))
    dynamic = {"x": {0: "n"}}

    def setup(self):
        self.linear = torch.nn.Linear(4, 1)

    def forward(self, x):
        return self.linear(x).squeeze(-1)

    trace = fix("export-option", "the TorchScript exporter", exporter="torchscript-trace")
