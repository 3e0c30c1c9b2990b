"""Empty inputs, for which sizes are guessed, and parts whose sizes are not constant."""

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix, values


class ConcatOfNoRows(Case):
    """torch.cat of an empty 1-D tensor and rows: invalid Concat before torch 2.0.

    A level without detections gives such an empty tensor.
    """

    sources = ("microsoft/onnxruntime#8020", "microsoft/onnxruntime#4641", "microsoft/onnxruntime#681")
    aten_ops = ("aten::cat",)
    onnx_ops = ("Concat",)
    inputs = ((f32(3, 4),), (f32(3, 4),), (f32(5, 4),))
    dynamic = {"x": {0: "rows"}}

    def forward(self, x):
        return torch.cat([torch.empty(0), x])

    @fix("rewrite", "use an empty tensor with the same number of columns", documented=False)
    def no_rows(self, x):
        return torch.cat([torch.empty(0, 4), x])


class MaxOfNoBoxes(Case):
    """boxes.max() with no boxes: the reduction over nothing fails or is wrong."""

    sources = ("pytorch/vision#2251", "pytorch/vision#2380")
    aten_ops = ("aten::max",)
    onnx_ops = ("ReduceMax",)
    inputs = ((f32(3, 4, low=0.0),), (f32(3, 4, low=0.0),), (f32(0, 4),))
    dynamic = {"boxes": {0: "boxes"}}

    def forward(self, boxes):
        return boxes.max() if boxes.size(0) else torch.zeros(())

    def reference(self, boxes):
        return torch.cat([boxes, torch.zeros(1, 4)]).max()

    @fix("rewrite", "append a row of zeros before the maximum", documented=False)
    def row_of_zeros(self, boxes):
        return torch.cat([boxes, torch.zeros(1, 4)]).max()


class ReshapeOfNoElements(Case):
    """x.reshape(1, n, 1, -1) of no elements: the -1 cannot be inferred."""

    sources = ("open-mmlab/mmdeploy#2695", "pytorch/vision#8899")
    aten_ops = ("aten::reshape",)
    onnx_ops = ("Reshape",)
    inputs = ((f32(3, 4),), (f32(3, 4),), (f32(0, 4),))
    dynamic = {"x": {0: "rows"}}

    def forward(self, x):
        rows = x.size(0)
        return x.reshape(1, rows, 1, -1) if rows else x.reshape(1, 0, 1, 4)

    @fix("rewrite", "pass the last size", documented=False)
    def last_size(self, x):
        return x.reshape(1, x.size(0), 1, 4)


class AddNothing(Case):
    """x + y of one element and none: shape inference broadcasts 1 with 0."""

    sources = ("pytorch/pytorch#86789",)
    aten_ops = ("aten::add",)
    onnx_ops = ("Add",)
    inputs = ((f32(1), f32(0)), (f32(1, low=2.0, high=3.0), f32(0)))

    def forward(self, x, y):
        return x + y

    some_elements = fix(
        "export-option",
        "use an example that has elements, with a dynamic size",
        inputs=((f32(1), f32(3)), (f32(1), f32(3)), (f32(1), f32(0))),
        dynamic={"y": {0: "count"}},
        documented=False,
    )


class ReflectPadOfNoImages(Case):
    """F.pad(mode="reflect") of an empty batch: reported as rejected by the runtime."""

    sources = ("microsoft/onnxscript#964",)
    aten_ops = ("aten::reflection_pad2d",)
    onnx_ops = ("Pad",)
    inputs = ((f32(2, 1, 3, 3),), (f32(2, 1, 3, 3),), (f32(0, 1, 3, 3),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return F.pad(x, (1, 1, 1, 1), mode="reflect")

    @fix("rewrite", "slice, flip and concatenate", documented=False)
    def sliced(self, x):
        x = torch.cat([x[..., 1:2], x, x[..., -2:-1]], dim=3)
        return torch.cat([x[:, :, 1:2], x, x[:, :, -2:-1]], dim=2)


class AssignToNothing(Case):
    """x[1:-1] = 0 of two values: TorchScript crashes or fails at the empty slice."""

    sources = ("pytorch/pytorch#110056",)
    aten_ops = ("aten::copy_", "aten::fill_")
    onnx_ops = ("ScatterND",)
    inputs = ((f32(2),), (f32(2),))

    def forward(self, x):
        x = x.clone()
        x[1:-1] = 0
        return x

    @fix("rewrite", "use torch.where on the positions", documented=False)
    def where(self, x):
        places = torch.arange(x.size(0))
        inner = (places >= 1) & (places < x.size(0) - 1)
        return torch.where(inner, torch.zeros_like(x), x)


class SplitBySizesInTensor(Case):
    """torch.split with sizes from a tensor: TorchScript keeps the first sizes."""

    sources = ("pytorch/pytorch#65682", "pytorch/pytorch#33161", "pytorch/pytorch#93264", "onnx/onnx#4782")
    aten_ops = ("aten::split_with_sizes",)
    onnx_ops = ("SplitToSequence", "SequenceAt", "Slice")
    exporters = ("torchscript-trace", "torchscript-script", "dynamo")
    inputs = (
        (f32(6), values([2, 4], "int64")),
        (f32(6), values([5, 1], "int64")),
        (f32(6), values([3, 3], "int64")),
    )

    def forward(self, x, sizes):
        first, second = torch.split(x, [int(sizes[0]), int(sizes[1])])
        return first * 2.0, second * 3.0

    @fix("rewrite", "slice at the first size", documented=False)
    def slices(self, x, sizes):
        return x[: sizes[0]] * 2.0, x[sizes[0] :] * 3.0

    @fix("rewrite", "use a mask of the positions below the first size", documented=False)
    def masked(self, x, sizes):
        first = torch.arange(6) < sizes[0]
        return x[first] * 2.0, x[~first] * 3.0


class ChunkOfDynamicAxis(Case):
    """x.chunk(3) along a dynamic axis: torch.export rejects it."""

    sources = ("pytorch/pytorch#134663", "pytorch/pytorch#42785", "microsoft/onnxscript#2543")
    aten_ops = ("aten::chunk",)
    onnx_ops = ("Split", "SplitToSequence")
    inputs = ((f32(6, 2),), (f32(6, 2),), (f32(9, 2),))
    dynamic = {"x": {0: "rows"}}

    def forward(self, x):
        first, second, third = x.chunk(3)
        return first, second * 2.0, third * 3.0

    @fix("rewrite", "use a view of three parts", documented=False)
    def view(self, x):
        parts = x.reshape(3, -1, 2)
        return parts[0], parts[1] * 2.0, parts[2] * 3.0

    @fix("rewrite", "slice at thirds of the size", documented=False)
    def slices(self, x):
        third = x.size(0) // 3
        return x[:third], x[third : 2 * third] * 2.0, x[2 * third :] * 3.0


class UnbindColumns(Case):
    """x.unbind(1), as in the decomposition of an LSTM: reported as not iterable.

    torchlib's result reportedly could not be iterated over.
    """

    sources = ("microsoft/onnxscript#2719",)
    aten_ops = ("aten::unbind",)
    onnx_ops = ("Split", "Squeeze")
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        first, second, third = x.unbind(1)
        return first + second * third

    @fix("rewrite", "index each column", documented=False)
    def indexed(self, x):
        return x[:, 0] + x[:, 1] * x[:, 2]


class UnbindOneColumn(Case):
    """x.unbind(1) of one column: torchlib's Split reportedly gives no list.

    An LSTM with a sequence of one does this.
    """

    sources = ("microsoft/onnxscript#2719", "pytorch/pytorch#168969")
    aten_ops = ("aten::unbind",)
    onnx_ops = ("Slice", "Split", "Squeeze")
    inputs = ((f32(2, 1),), (f32(2, 1),), (f32(4, 1),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        (only,) = x.unbind(1)
        return only * 2.0

    @fix("rewrite", "index the column", documented=False)
    def indexed(self, x):
        return x[:, 0] * 2.0

    trace = fix("export-option", "export with dynamo=False", exporter="torchscript-trace")


class SplitWithRemainder(Case):
    """torch.split of eight into fives: reported to give two parts of four.

    The parts have five and three elements.
    """

    sources = ("microsoft/onnxscript#2858",)
    aten_ops = ("aten::split",)
    onnx_ops = ("Split", "SplitToSequence")
    inputs = ((f32(2, 8, 3),), (f32(2, 8, 3),), (f32(4, 8, 3),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        first, second = torch.split(x, 5, 1)
        return first, second

    @fix("rewrite", "pass the sizes of the parts", documented=False)
    def sizes_named(self, x):
        first, second = torch.split(x, [5, 3], 1)
        return first, second

    @fix("rewrite", "use two slices", documented=False)
    def slices(self, x):
        return x[:, :5], x[:, 5:]
