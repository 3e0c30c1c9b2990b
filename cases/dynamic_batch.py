"""A dynamic axis whose example has one element, or none."""

import torch

from caniexport import Case, f32, fix


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
