"""Scattering: with a reduction, with duplicates, index_add and max_unpool."""

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix, i64, values


class ScatterReduceMaxOfMatrix(Case):
    """scatter_reduce(amax) of a matrix: reported as wrong, equal where measured.

    The report says that TorchScript flattens the source.
    """

    sources = ("pytorch/pytorch#152419",)
    aten_ops = ("aten::scatter_reduce",)
    onnx_ops = ("ScatterElements", "If", "Reshape")
    needs_torch = ">=1.12"
    inputs = (
        (values([[0, 0], [0, 0]], "int64"), values([[0, 1], [0, 1]], "int64"), values([[1, 2], [3, 4]], "int64")),
        (values([[9, 0], [0, 9]], "int64"), values([[1, 1], [0, 1]], "int64"), values([[5, 6], [7, 8]], "int64")),
        (values([[0, 0], [0, 0]], "int64"), values([[0, 0], [1, 1]], "int64"), values([[-1, -2], [3, 4]], "int64")),
    )

    def forward(self, x, index, source):
        return torch.scatter_reduce(x, 0, index, source, reduce="amax")

    dynamo = fix("export-option", "export with dynamo=True", exporter="dynamo")

    @fix("rewrite", "flatten: row times width plus column")
    def flattened(self, x, index, source):
        place = (index * 2 + torch.arange(2)).reshape(-1)
        return torch.scatter_reduce(x.reshape(-1), 0, place, source.reshape(-1), reduce="amax").reshape(2, 2)

    @fix("rewrite", "take the maximum over a comparison of every position with every index", documented=False)
    def by_comparison(self, x, index, source):
        chosen = torch.arange(2).reshape(2, 1, 1) == index.unsqueeze(0)
        lowest = torch.full((2, 2, 2), -(2**31), dtype=torch.int64)
        found = torch.where(chosen, source.unsqueeze(0).expand(2, 2, 2), lowest)
        return torch.max(x, found.max(1)[0])


class IndexPutAccumulateDuplicates(Case):
    """index_put(accumulate=True) with a repeated index: only the last value is added."""

    sources = ("onnx/onnx-tensorrt#957",)
    aten_ops = ("aten::index_put",)
    onnx_ops = ("ScatterND",)
    inputs = (
        (f32(4), values([0, 2], "int64"), f32(2)),
        (f32(4), values([1, 1], "int64"), f32(2)),
        (f32(4), values([3, -1], "int64"), f32(2)),
    )

    def forward(self, x, index, new):
        return x.index_put((index,), new, accumulate=True)

    opset_16 = fix("raise-opset", "export at opset 16, whose ScatterND adds", opset=16, documented=False)

    @fix("rewrite", "add a product with a one-hot matrix")
    def one_hot_product(self, x, index, new):
        positive = torch.where(index < 0, index + 4, index)
        one_hot = (torch.arange(4).unsqueeze(1) == positive.unsqueeze(0)).to(x.dtype)
        return x + torch.matmul(one_hot, new)

    @fix("rewrite", "use scatter_add", documented=False)
    def scatter_add(self, x, index, new):
        return x.scatter_add(0, torch.where(index < 0, index + 4, index), new)


class ScatterAddDuplicates(Case):
    """scatter_add with a repeated index: values are lost below opset 16.

    Some exporters sum the values beforehand.
    """

    sources = ("caniexport",)
    aten_ops = ("aten::scatter_add",)
    onnx_ops = ("ScatterElements",)
    inputs = (
        (f32(4), values([0, 2], "int64"), f32(2)),
        (f32(4), values([1, 1], "int64"), f32(2)),
        (f32(4), values([3, 0], "int64"), f32(2)),
    )

    def forward(self, x, index, new):
        return x.scatter_add(0, index, new)

    opset_16 = fix("raise-opset", "export at opset 16, whose ScatterElements adds", opset=16, documented=False)

    @fix("rewrite", "add a product with a one-hot matrix", documented=False)
    def one_hot_product(self, x, index, new):
        one_hot = (torch.arange(4).unsqueeze(1) == index.unsqueeze(0)).to(x.dtype)
        return x + torch.matmul(one_hot, new)


class ScatterIntoZerosOfKnownSize(Case):
    """scatter into torch.zeros of an input size: constant unless the size is dynamic."""

    sources = ("microsoft/onnxruntime#4898",)
    aten_ops = ("aten::zeros", "aten::scatter")
    onnx_ops = ("ConstantOfShape", "ScatterElements")
    inputs = ((i64(2, 3, high=3), f32(2, 3)), (i64(2, 3, high=3), f32(2, 3)), (i64(4, 3, high=3), f32(4, 3)))

    def forward(self, index, source):
        zeros = torch.zeros(index.size(0), 3)
        return zeros.scatter(1, index, source)

    dynamic_batch = fix(
        "export-option",
        "name the batch as a dynamic axis",
        dynamic={"index": {0: "batch"}, "source": {0: "batch"}},
        documented=False,
    )

    @fix(
        "rewrite",
        "use zeros_like of the source, with a dynamic batch",
        dynamic={"index": {0: "batch"}, "source": {0: "batch"}},
        documented=False,
    )
    def zeros_like(self, index, source):
        return torch.zeros_like(source).scatter(1, index, source)


class _ScatterReduce(Case):
    aten_ops = ("aten::scatter_reduce",)
    onnx_ops = ("ScatterElements",)
    needs_torch = ">=1.12"
    inputs = (
        (f32(4), values([0, 1, 3], "int64"), f32(3)),
        (f32(4), values([2, 2, 2], "int64"), f32(3)),
        (f32(4), values([1, 0, 1, 0, 1], "int64"), f32(5)),
    )
    dynamic = {"index": {0: "count"}, "values": {0: "count"}}


class ScatterReduceMean(_ScatterReduce):
    """scatter_reduce(mean): ONNX ScatterElements has no mean."""

    sources = ("pytorch/pytorch#101535", "pytorch/pytorch#84260")

    def forward(self, x, index, values):
        return x.scatter_reduce(0, index, values, reduce="mean", include_self=False)

    def reference(self, x, index, values):
        chosen = (torch.arange(4)[:, None] == index[None]).to(x.dtype)
        counts, sums = chosen.sum(1), (chosen * values[None]).sum(1)
        return torch.where(counts > 0, sums / counts.clamp(min=1.0), x)

    @fix("rewrite", "divide the sum by the count, from a comparison with every position", documented=False)
    def compared(self, x, index, values):
        chosen = (torch.arange(4)[:, None] == index[None]).to(x.dtype)
        counts, sums = chosen.sum(1), (chosen * values[None]).sum(1)
        return torch.where(counts > 0, sums / counts.clamp(min=1.0), x)

    @fix("rewrite", "divide the sum by the count, from two scatter_add; right from opset 16 on", documented=False)
    def two_scatter_adds(self, x, index, values):
        sums = torch.zeros_like(x).scatter_add(0, index, values)
        counts = torch.zeros_like(x).scatter_add(0, index, torch.ones_like(values))
        return torch.where(counts > 0, sums / counts.clamp(min=1.0), x)


class ScatterReduceWithoutSelf(_ScatterReduce):
    """scatter_reduce(include_self=False): not supported by the TorchScript exporter.

    The replaced values do not count.
    """

    sources = (
        "pytorch/pytorch#106373",
        "onnx/onnx#5100",
        "pyg-team/pytorch_geometric#8415",
        "microsoft/onnxscript#2090",
    )

    def forward(self, x, index, values):
        return x.scatter_reduce(0, index, values, reduce="amax", include_self=False)

    @fix("rewrite", "scatter into the smallest number, and keep the old values elsewhere", documented=False)
    def neutral_destination(self, x, index, values):
        least = torch.full_like(x, -3.0e38)
        largest = least.scatter_reduce(0, index, values, reduce="amax", include_self=True)
        return torch.where(largest > least, largest, x)

    dynamo = fix("export-option", "export with dynamo=True", exporter="dynamo", documented=False)


class ScatterMultiply(Case):
    """x.scatter(dim, index, src, reduce="multiply"): the symbolic lacks the keyword."""

    sources = ("pytorch/pytorch#86684",)
    aten_ops = ("aten::scatter",)
    onnx_ops = ("ScatterElements",)
    needs_torch = ">=1.12"
    inputs = (
        (f32(4), values([0, 1, 3], "int64"), f32(3)),
        (f32(4), values([3, 0, 2], "int64"), f32(3)),
        (f32(4), values([1, 2], "int64"), f32(2)),
    )
    dynamic = {"index": {0: "count"}, "factors": {0: "count"}}

    def forward(self, x, index, factors):
        return x.scatter(0, index, factors, reduce="multiply")

    @fix("rewrite", "gather, multiply and scatter; for indices that occur once", documented=False)
    def gathered(self, x, index, factors):
        return x.scatter(0, index, x.gather(0, index) * factors)


class IndexAddNoRule(Case):
    """index_add has no symbolic in torch 1.8; later a repeated index loses values.

    The symbolics of torch 1.12 to 2.13 write a scatter that adds only one of the two rows.
    """

    sources = ("pytorch/pytorch#57964",)
    aten_ops = ("aten::index_add",)
    onnx_ops = ("ScatterElements", "ScatterND")
    inputs = (
        (f32(4, 3), values([0, 2], "int64"), f32(2, 3)),
        (f32(4, 3), values([1, 1], "int64"), f32(2, 3)),
        (f32(4, 3), values([3, 3], "int64"), f32(2, 3)),
    )

    def forward(self, x, index, rows):
        return x.index_add(0, index, rows)

    @fix(
        "rewrite",
        "use scatter_add with the index expanded; below opset 16 a repeated index adds once",
        caution=True,
        documented=False,
    )
    def scatter_add(self, x, index, rows):
        return x.scatter_add(0, index.unsqueeze(1).expand(2, 3), rows)

    @fix("rewrite", "multiply by the matrix of index and position", documented=False)
    def matrix(self, x, index, rows):
        places = (torch.arange(4)[:, None] == index[None]).float()
        return x + torch.matmul(places, rows)


class ScatterIndexLargerThanData(Case):
    """scatter_add with an index longer than the data along another axis.

    The old Scatter accepted it.
    """

    sources = ("microsoft/onnxruntime#4853",)
    aten_ops = ("aten::scatter",)
    onnx_ops = ("ScatterElements", "Scatter")
    inputs = (
        (f32(4, 2), values([[0, 1], [2, 3], [1, 0], [3, 2], [2, 1]], "int64"), f32(5, 2)),
        (f32(4, 2), values([[3, 3], [2, 2], [1, 1], [0, 0], [0, 1]], "int64"), f32(5, 2)),
    )

    def forward(self, x, index, src):
        return torch.zeros_like(x).scatter_add(0, index, src)

    @fix("rewrite", "multiply by the matrix of index and position, column by column", documented=False)
    def matrix(self, x, index, src):
        places = (torch.arange(4)[:, None, None] == index[None]).float()
        return torch.zeros_like(x) + (places * src[None]).sum(1)


class MaxUnpoolNoRule(Case):
    """F.max_unpool2d has no TorchScript symbolic."""

    sources = ("pytorch/pytorch#85388", "pytorch/pytorch#43367", "pytorch/pytorch#25088", "onnx/onnx#3138")
    aten_ops = ("aten::max_unpool2d",)
    onnx_ops = ("MaxUnpool", "ScatterElements")
    inputs = ((f32(2, 3, 4, 4),), (f32(2, 3, 4, 4),), (f32(5, 3, 4, 4),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        pooled, places = F.max_pool2d(x, 2, return_indices=True)
        return F.max_unpool2d(pooled, places, 2)

    @fix("rewrite", "scatter into zeros by the flat positions", documented=False)
    def scattered(self, x):
        pooled, places = F.max_pool2d(x, 2, return_indices=True)
        flat = torch.zeros_like(x).reshape(-1, 3, 16)
        return flat.scatter(2, places.reshape(-1, 3, 4), pooled.reshape(-1, 3, 4)).reshape(-1, 3, 4, 4)
