"""Baking: values, branches and sizes that tracing turns into constants, by accident or on purpose."""

import math

import numpy as np
import torch

from caniexport import Case, f32, fix, values


class TracerItemBakesValue(Case):
    """Tensor.item() in forward: tracing keeps the first input's value as a constant."""

    id = "tracer-item-bakes-value"
    sources = ("seed:002",)
    aten_ops = ("aten::item", "aten::mul")
    onnx_ops = ("Mul", "Constant")
    inputs = ((f32(6),), (f32(6),), (f32(6),))

    def forward(self, x):
        return x * x[0].item()

    @fix("rewrite", "keep the value as a tensor: x * x[0]", documented=False)
    def without_item(self, x):
        return x * x[0]

    script_first = fix(
        "export-option",
        "use torch.jit.script before the export; item stays an operator",
        exporter="torchscript-script",
        documented=False,
    )


class TracerIteratingTensorBakes(Case):
    """torch.Tensor(list(x)): tracing keeps the first input's elements as constants."""

    sources = ("seed:002",)
    aten_ops = ("aten::unbind", "prim::Constant")
    onnx_ops = ("Constant",)
    inputs = ((f32(6),), (f32(6),))

    def forward(self, x):
        return torch.Tensor(list(x))

    @fix("rewrite", "stack the elements instead of building a new tensor", documented=False)
    def unbind_stack(self, x):
        return torch.stack(x.unbind(0))

    @fix(
        "rewrite",
        "stack the elements, with a dynamic length; the element count is still that of the traced input",
        dynamic={"x": {0: "n"}},
        inputs=((f32(6),), (f32(9),)),
        caution=True,
        documented=False,
    )
    def unbind_stack_dynamic(self, x):
        return torch.stack(x.unbind(0))

    @fix(
        "rewrite",
        "use the whole tensor instead of its elements, with a dynamic length",
        dynamic={"x": {0: "n"}},
        documented=False,
    )
    def whole_tensor(self, x):
        return x.clone()


class TracerBakingUsedOnPurpose(Case):
    """Tensor.shape in forward: a static ONNX file keeps Shape and Gather nodes.

    int() around every size is a known trick to turn them into constants. With dynamic axes it is a trap: only the
    traced size gives correct results.
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
        "put int() around every size; export static and run at that size only",
        dynamic={},
        inputs=((f32(2, 3, 4),), (f32(2, 3, 4),)),
    )
    def baked_static(self, x):
        return x.reshape(int(x.shape[0]) * int(x.shape[1]), int(x.shape[2]))

    @fix(
        "rewrite",
        "put int() around every size, with the axes declared dynamic; correct only at the traced size",
        caution=True,
    )
    def baked_dynamic(self, x):
        return x.reshape(int(x.shape[0]) * int(x.shape[1]), int(x.shape[2]))


class TrtGatherOnShapeTensor(Case):
    """x.size()[1:]: the Gather nodes on a shape are rejected by old TensorRT parsers."""

    sources = ("seed:003",)
    aten_ops = ("aten::size", "aten::slice")
    onnx_ops = ("Shape", "Slice", "Gather")
    inputs = ((f32(1, 3, 8, 8),), (f32(1, 3, 8, 8),), (f32(1, 3, 12, 12),))
    dynamic = {"x": {2: "height", 3: "width"}}

    def forward(self, x):
        size = x.size()[1:]
        return x.reshape(size[0], size[1] * size[2])

    @fix("rewrite", "avoid sizes: flatten from the axes that remain")
    def without_sizes(self, x):
        return x.squeeze(0).flatten(1)

    @fix("rewrite", "use torch.tensor(x.shape)[1:]; keeps the traced size", caution=True)
    def sizes_as_tensor(self, x):
        size = torch.tensor(x.shape)[1:]
        return x.reshape(int(size[0]), int(size[1]) * int(size[2]))


class TrtShapeFixBakesSize(Case):
    """torch.tensor(x.shape), advised for TensorRT: silently keeps the traced size."""

    sources = ("seed:003",)
    aten_ops = ("aten::size", "aten::tensor")
    onnx_ops = ("Shape", "Constant")
    inputs = ((f32(3, 8, 8),), (f32(3, 8, 8),), (f32(3, 12, 12),))
    dynamic = {"x": {1: "height", 2: "width"}}

    def forward(self, x):
        size = torch.tensor(x.shape)[1:]
        return x * size[0].to(torch.float32)

    @fix("rewrite", "keep the size as a separate scalar: x.shape[1]", documented=False)
    def scalar_size(self, x):
        return x * x.shape[1]


DOCUMENT = "https://docs.pytorch.org/docs/stable/onnx_torchscript.html"


class PythonMaxOfTensors(Case):
    """x / max(x.max(), limit): tracing keeps the branch that the example input takes."""

    sources = ("onnx/onnx#2836",)
    aten_ops = ("aten::max", "prim::If")
    onnx_ops = ("ReduceMax", "Max", "Clip")
    inputs = (
        (values([1.0, 2.0, 4.0]),),
        (values([0.001, 0.002, 0.004]),),
        (values([-1.0, -2.0, -4.0]),),
    )

    def forward(self, x):
        return x / max(torch.max(x), 0.5)

    @fix("rewrite", "use torch.clamp(min=limit)")
    def clamp(self, x):
        return x / torch.clamp(torch.max(x), min=0.5)

    script_first = fix(
        "export-option",
        "use torch.jit.script; the branch becomes an If",
        exporter="torchscript-script",
        documented=False,
    )


class BranchOnValue(Case):
    """if x.sum() > 0: tracing keeps only the branch that the example input takes."""

    sources = ("pytorch/pytorch#60712",)
    aten_ops = ("prim::If",)
    onnx_ops = ("If", "Where")
    inputs = ((f32(3, low=1.0, high=2.0),), (f32(3, low=-2.0, high=-1.0),))

    def forward(self, x):
        return x * 2 if x.sum() > 0 else x - 1

    script_first = fix("rewrite", "use torch.jit.script; the branch becomes an If", exporter="torchscript-script")

    @fix("rewrite", "use torch.where instead of the branch")
    def where(self, x):
        return torch.where(x.sum() > 0, x * 2, x - 1)

    @fix("rewrite", "use torch.cond with dynamo=True", exporter="dynamo", documented=False)
    def cond(self, x):
        return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))


class TensorOfSizeAsDivisor(Case):
    """scores / torch.tensor(size ** 0.5): tracing keeps the size as a constant."""

    sources = ("huggingface/optimum#552",)
    aten_ops = ("aten::tensor", "aten::div")
    onnx_ops = ("Constant", "Div")
    inputs = ((f32(2, 4),), (f32(2, 4),), (f32(2, 9),))
    dynamic = {"x": {1: "width"}}

    def forward(self, x):
        return x / torch.tensor(float(x.size(-1)) ** 0.5)

    @fix("rewrite", "divide by a Python number; still a constant", caution=True)
    def python_number(self, x):
        return x / math.sqrt(x.size(-1))

    @fix("rewrite", "keep the size and take its square root with ** 0.5", documented=False)
    def power_of_size(self, x):
        return x / x.size(-1) ** 0.5


class ConcatenatedByNumpy(Case):
    """np.concatenate in forward: tracing keeps numpy's result as a constant."""

    sources = (DOCUMENT,)
    aten_ops = ("prim::Constant",)
    onnx_ops = ("Constant", "Concat")
    inputs = ((f32(3), f32(3)), (f32(3), f32(3)))

    def forward(self, x, y):
        return torch.from_numpy(np.concatenate((x.numpy(), y.numpy()))) * 2

    @fix("rewrite", "use torch.cat")
    def cat(self, x, y):
        return torch.cat((x, y)) * 2


class ReshapeToItem(Case):
    """x.reshape(y.item(), -1): tracing keeps the row count of the first y."""

    sources = (DOCUMENT,)
    aten_ops = ("aten::item", "aten::reshape")
    onnx_ops = ("Reshape",)
    inputs = ((f32(12), values(3, "int64")), (f32(12), values(4, "int64")), (f32(12), values(2, "int64")))

    def forward(self, x, y):
        return x.reshape(y.item(), -1)

    @fix("rewrite", "use x.reshape(y, -1), with the tensor")
    def tensor_itself(self, x, y):
        return x.reshape(y, -1)


class DataAttribute(Case):
    """Tensor.data in forward: traced with wrong values; x.detach() is recommended."""

    sources = (DOCUMENT,)
    aten_ops = ("aten::detach",)
    onnx_ops = ("Mul",)
    inputs = ((f32(2, 3),), (f32(2, 3),))

    def forward(self, x):
        y = x.data
        return y * y + x

    @fix("rewrite", "use x.detach()")
    def detach(self, x):
        y = x.detach()
        return y * y + x


class StringChoosesBranch(Case):
    """String argument that chooses a branch: the ONNX file keeps the example's branch.

    The string is not an input of the ONNX file.
    """

    sources = (DOCUMENT,)
    aten_ops = ("prim::Constant",)
    onnx_ops = ("Mul", "Add")
    exporters = ("torchscript-trace", "dynamo", "default")
    named = False
    inputs = ((f32(3), "double"), (f32(3), "more"))

    def forward(self, x, mode):
        return x * 2 if mode == "double" else x + 1

    @fix(
        "rewrite",
        "choose with a tensor and torch.where",
        inputs=((f32(3), values(True, "bool")), (f32(3), values(False, "bool"))),
        changes_values=True,
        documented=False,
    )
    def chosen_by_tensor(self, x, mode):
        return torch.where(mode, x * 2, x + 1)


class NegativeValuesInIndex(Case):
    """x[index] with negative index values: documented as unsupported."""

    sources = (DOCUMENT,)
    aten_ops = ("aten::index",)
    onnx_ops = ("Gather", "GatherND")
    inputs = (
        (f32(4, 3), values([[1, 2], [3, 0]], "int64")),
        (f32(4, 3), values([[1, 2], [-1, 0]], "int64")),
        (f32(6, 3), values([[-1, -2], [-6, 5]], "int64")),
    )
    dynamic = {"x": {0: "rows"}}

    def forward(self, x, index):
        return x[index]

    @fix("rewrite", "make the indices non-negative first: torch.where(i < 0, i + n, i)", documented=False)
    def made_positive(self, x, index):
        return x[torch.where(index < 0, index + x.size(0), index)]


class PairOfIndexTensorsNegative(NegativeValuesInIndex):
    """x[rows, columns] with negative index values: TorchScript gives wrong values.

    Both index tensors have negative values. The two become one GatherND.
    """

    inputs = (
        (f32(4, 3), values([1, 2], "int64"), values([0, 1], "int64")),
        (f32(4, 3), values([-1, 2], "int64"), values([-3, 2], "int64")),
        (f32(6, 3), values([-1, -6], "int64"), values([-1, 1], "int64")),
    )

    def forward(self, x, rows, columns):
        return x[rows, columns]

    @fix("rewrite", "make the indices non-negative first: torch.where(i < 0, i + n, i)", documented=False)
    def made_positive(self, x, rows, columns):
        rows = torch.where(rows < 0, rows + x.size(0), rows)
        return x[rows, torch.where(columns < 0, columns + x.size(1), columns)]


class ArangeOfTensorOfSize(Case):
    """torch.arange(torch.tensor(x.shape[3])): the dynamic width becomes a constant."""

    sources = ("pytorch/pytorch#26127",)
    aten_ops = ("aten::arange",)
    onnx_ops = ("Range",)
    inputs = ((f32(1, 1, 2, 4),), (f32(1, 1, 2, 4),), (f32(1, 1, 2, 6),))
    dynamic = {"x": {3: "width"}}

    def forward(self, x):
        return x + torch.arange(torch.tensor(x.shape[3])).to(x.dtype)

    @fix("rewrite", "use the size directly, without torch.tensor", documented=False)
    def size_itself(self, x):
        return x + torch.arange(x.shape[3]).to(x.dtype)

    @fix("rewrite", "use a cumulative sum of ones", documented=False)
    def running_count(self, x):
        return x + torch.cumsum(torch.ones_like(x), 3) - 1


class IndexListOfTracedSize(Case):
    """torch.tensor of index lists built from a traced size: becomes a constant.

    The pairs i < j are listed for the first input's size.
    """

    sources = ("facebookresearch/dlrm#124",)
    aten_ops = ("aten::tensor", "prim::Constant")
    onnx_ops = ("Constant", "GatherND")
    inputs = ((f32(2, 3, 3),), (f32(2, 3, 3),), (f32(4, 3, 3),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        size = x.shape[1]
        rows = torch.tensor([i for i in range(size) for j in range(i)])
        columns = torch.tensor([j for i in range(size) for j in range(i)])
        return x[:, rows, columns]

    @fix("rewrite", "build the index in advance, as a buffer")
    def index_in_advance(self, x):
        return x[:, self.rows, self.columns]

    def setup(self):
        self.register_buffer("rows", torch.tensor([1, 2, 2]))
        self.register_buffer("columns", torch.tensor([0, 0, 1]))


class IndexListOfDynamicSize(IndexListOfTracedSize):
    """torch.tensor of index lists built from a dynamic size: wrong for larger inputs.

    The pairs i < j are listed for the first input's size. A larger input gets the pairs of the first.
    """

    inputs = ((f32(2, 3, 3),), (f32(2, 3, 3),), (f32(2, 4, 4),))
    dynamic = {"x": {1: "features", 2: "features_again"}}

    @fix("rewrite", "build the index in advance, as a buffer; for one size only", caution=True)
    def index_in_advance(self, x):
        return x[:, self.rows, self.columns]

    @fix("rewrite", "find the pairs with torch.nonzero in a triangle of ones", documented=False)
    def pairs_of_triangle(self, x):
        pairs = torch.nonzero(torch.tril(torch.ones_like(x[0]), -1))
        return x[:, pairs[:, 0], pairs[:, 1]]
