"""Scattering with a reduction."""

import torch

from caniexport import Case, f32, fix, i64, values


class ScatterReduceMaxOfMatrix(Case):
    """scatter_reduce(amax) of a matrix: the source is taken for flat, and the maxima are others."""

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

    dynamo = fix("export-option", "the torch.export based exporter", exporter="dynamo")

    @fix("rewrite", "flattened: rows times their width plus the column")
    def flattened(self, x, index, source):
        place = (index * 2 + torch.arange(2)).reshape(-1)
        return torch.scatter_reduce(x.reshape(-1), 0, place, source.reshape(-1), reduce="amax").reshape(2, 2)

    @fix("rewrite", "the largest over a comparison of every place with every index", documented=False)
    def by_comparison(self, x, index, source):
        chosen = torch.arange(2).reshape(2, 1, 1) == index.unsqueeze(0)
        lowest = torch.full((2, 2, 2), -(2**31), dtype=torch.int64)
        found = torch.where(chosen, source.unsqueeze(0).expand(2, 2, 2), lowest)
        return torch.max(x, found.max(1)[0])


class IndexPutAccumulateDuplicates(Case):
    """index_put with accumulate and an index that comes twice: both values are added, or the last one only."""

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

    @fix("rewrite", "a product with a one-hot matrix, added")
    def one_hot_product(self, x, index, new):
        positive = torch.where(index < 0, index + 4, index)
        one_hot = (torch.arange(4).unsqueeze(1) == positive.unsqueeze(0)).to(x.dtype)
        return x + torch.matmul(one_hot, new)

    @fix("rewrite", "scatter_add", documented=False)
    def scatter_add(self, x, index, new):
        return x.scatter_add(0, torch.where(index < 0, index + 4, index), new)


class ScatterAddDuplicates(Case):
    """scatter_add with an index that comes twice: below opset 16 the values are summed up before, or lost."""

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

    @fix("rewrite", "a product with a one-hot matrix, added", documented=False)
    def one_hot_product(self, x, index, new):
        one_hot = (torch.arange(4).unsqueeze(1) == index.unsqueeze(0)).to(x.dtype)
        return x + torch.matmul(one_hot, new)


class ScatterIntoZerosOfKnownSize(Case):
    """scatter into zeros made from a size of the input: a constant where the size is not dynamic."""

    sources = ("microsoft/onnxruntime#4898",)
    aten_ops = ("aten::zeros", "aten::scatter")
    onnx_ops = ("ConstantOfShape", "ScatterElements")
    inputs = ((i64(2, 3, high=3), f32(2, 3)), (i64(2, 3, high=3), f32(2, 3)), (i64(4, 3, high=3), f32(4, 3)))

    def forward(self, index, source):
        zeros = torch.zeros(index.size(0), 3)
        return zeros.scatter(1, index, source)

    dynamic_batch = fix(
        "export-option",
        "the batch named a dynamic axis",
        dynamic={"index": {0: "batch"}, "source": {0: "batch"}},
        documented=False,
    )

    @fix(
        "rewrite",
        "zeros_like of the source, with a dynamic batch",
        dynamic={"index": {0: "batch"}, "source": {0: "batch"}},
        documented=False,
    )
    def zeros_like(self, index, source):
        return torch.zeros_like(source).scatter(1, index, source)
