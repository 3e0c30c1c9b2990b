"""Reads and writes through indices: several index tensors, negative indices, bool writes by index."""

import torch

from caniexport import Case, boolean, f32, fix, i64, values


class IndexPutInplaceAssign(Case):
    """data[index] = new_data in place: TorchScript needs opset 11."""

    sources = ("seed:003",)
    aten_ops = ("aten::index_put_", "aten::scatter_")
    onnx_ops = ("ScatterND", "Scatter", "ScatterElements")
    inputs = (
        (f32(4, 5), values([1], "int64"), f32(5)),
        (f32(4, 5), values([3], "int64"), f32(5)),
        (f32(4, 7), values([0], "int64"), f32(7)),
    )
    dynamic = {"data": {1: "width"}, "new_data": {0: "width"}}

    def forward(self, data, index, new_data):
        data[index] = new_data
        return data

    @fix("rewrite", "use scatter_ along the rows, the index expanded over the width; one row only, lost where scripted")
    def scatter(self, data, index, new_data):
        row = new_data.unsqueeze(0)
        data.scatter_(0, index.expand(1, row.size(1)), row)
        return data

    @fix("rewrite", "use scatter, out of place; data keeps its values", documented=False)
    def scatter_out_of_place(self, data, index, new_data):
        row = new_data.unsqueeze(0)
        return data.scatter(0, index.expand(1, row.size(1)), row)

    @fix("rewrite", "use index_copy along the rows", documented=False)
    def index_copy(self, data, index, new_data):
        return data.index_copy(0, index, new_data.unsqueeze(0))

    @fix("rewrite", "use torch.where on a mask of the rows", documented=False)
    def where_on_a_mask(self, data, index, new_data):
        chosen = (torch.arange(4).unsqueeze(1) == index).expand(4, new_data.size(0))
        return torch.where(chosen, new_data.unsqueeze(0).expand(4, new_data.size(0)), data)

    opset_11 = fix("raise-opset", "export at opset 11, which has ScatterND", opset=11, documented=False)


class ScatterRewriteSingleRowOnly(Case):
    """scatter_ rewrite of data[index] = rows: fails in eager with more than one row.

    One input set names a row twice, with equal values: otherwise it is undefined which one is kept.
    """

    sources = ("seed:003",)
    aten_ops = ("aten::index_put_", "aten::scatter_")
    onnx_ops = ("ScatterND", "Scatter", "ScatterElements")
    inputs = (
        (f32(4, 5), values([1, 3], "int64"), f32(2, 5)),
        (f32(4, 5), values([2, 0], "int64"), f32(2, 5)),
        (f32(4, 3), values([2, 2], "int64"), values([[1, 2, 3], [1, 2, 3]])),
    )
    dynamic = {"data": {1: "width"}, "new_data": {1: "width"}}

    def forward(self, data, index, new_data):
        data[index] = new_data
        return data

    @fix("rewrite", "use the rewrite for one row; raises with more rows", caution=True)
    def single_row_scatter(self, data, index, new_data):
        row = new_data.unsqueeze(0)
        data.scatter_(0, index.expand(1, row.size(1)), row)
        return data

    @fix("rewrite", "use the index as a column, expanded over the width", documented=False)
    def general_scatter(self, data, index, new_data):
        return data.scatter(0, index.view(-1, 1).expand(-1, new_data.size(1)), new_data)

    @fix("rewrite", "use the index as a column, expanded with every size given", documented=False)
    def general_scatter_sized(self, data, index, new_data):
        return data.scatter(0, index.view(-1, 1).expand(new_data.size(0), new_data.size(1)), new_data)

    opset_11 = fix("raise-opset", "export at opset 11, which has ScatterND", opset=11, documented=False)


class IndexPutByMatrix(Case):
    """x[i, j] = v with matrices of indices: TorchScript needs opset 11."""

    sources = ("pytorch/pytorch#46349", "https://docs.pytorch.org/docs/stable/onnx_torchscript.html")
    aten_ops = ("aten::index_put_",)
    onnx_ops = ("ScatterND",)
    inputs = (
        (f32(4, 5), values([[0, 1], [2, 3]], "int64"), values([[0, 1], [2, 4]], "int64"), f32(2, 2)),
        (f32(4, 5), values([[3, 2], [1, 0]], "int64"), values([[4, 4], [1, 0]], "int64"), f32(2, 2)),
    )

    def forward(self, x, i, j, v):
        x = x.clone()
        x[i, j] = v
        return x

    @fix("rewrite", "use vectors of indices and values", documented=False)
    def flat_indices(self, x, i, j, v):
        x = x.clone()
        x[i.reshape(-1), j.reshape(-1)] = v.reshape(-1)
        return x

    @fix("rewrite", "use scatter on the flattened data")
    def flat_scatter(self, x, i, j, v):
        places = (i * 5 + j).reshape(-1)
        return x.reshape(-1).scatter(0, places, v.reshape(-1)).reshape(4, 5)


class IndexPutNotConsecutive(Case):
    """x[i, :, j] = v: TorchScript rejects indexed axes that are not consecutive."""

    sources = ("https://docs.pytorch.org/docs/stable/onnx_torchscript.html",)
    aten_ops = ("aten::index_put_",)
    onnx_ops = ("ScatterND",)
    inputs = (
        (f32(4, 3, 5), values([0, 2], "int64"), values([1, 4], "int64"), f32(2, 3)),
        (f32(4, 3, 5), values([3, 1], "int64"), values([0, 0], "int64"), f32(2, 3)),
    )

    def forward(self, x, i, j, v):
        x = x.clone()
        x[i, :, j] = v
        return x

    @fix("rewrite", "transpose so that the indexed axes are adjacent, write, transpose back")
    def transposed(self, x, i, j, v):
        x = x.transpose(1, 2).clone()
        x[i, j] = v
        return x.transpose(1, 2)


class AdvancedIndexNegative(Case):
    """x[i, j] with negative indices in two tensors: TorchScript fails at run time.

    One of the index tensors of the example has a negative value.
    """

    sources = ("pytorch/pytorch#21716",)
    aten_ops = ("aten::index",)
    onnx_ops = ("Gather", "GatherND")
    inputs = (
        (f32(4, 5), values([0, -1, 2], "int64"), values([1, 4, 3], "int64")),
        (f32(4, 5), values([-4, -2, -3], "int64"), values([-1, -5, 0], "int64")),
        (f32(4, 5), values([-1, 3], "int64"), values([-2, -1], "int64")),
    )
    dynamic = {"i": {0: "count"}, "j": {0: "count"}}

    def forward(self, x, i, j):
        return x[i, j]

    opset_11 = fix("raise-opset", "export at opset 11, with GatherND", opset=11, documented=False)

    @fix("rewrite", "make the indices non-negative", documented=False)
    def non_negative(self, x, i, j):
        return x[i + (i < 0).long() * 4, j + (j < 0).long() * 5]


class GatherNegativeIndex(Case):
    """x[:, -1] and an index tensor with -1: reported as out of bounds."""

    sources = ("microsoft/onnxruntime#1533", "pytorch/pytorch#25273", "NVIDIA/TensorRT#1229")
    aten_ops = ("aten::index", "aten::select")
    onnx_ops = ("Gather",)
    inputs = (
        (f32(2, 4), values([0, -1], "int64")),
        (f32(2, 4), values([-2, 1], "int64")),
        (f32(3, 4), values([-1, -1], "int64")),
    )
    dynamic = {"x": {0: "batch"}}

    def forward(self, x, i):
        return x[:, -1], x[0][i]

    @fix("rewrite", "use indices from the front", documented=False)
    def from_the_front(self, x, i):
        return x[:, x.size(1) - 1], x[0][torch.where(i < 0, i + 4, i)]


class BoolIndexPutByIndices(Case):
    """mask[indices] = True: the runtime rejects the reshape before torch 1.9.

    One boolean is written to several positions.
    """

    sources = ("pytorch/pytorch#53507", "pytorch/pytorch#54863")
    aten_ops = ("aten::index_put_",)
    onnx_ops = ("ScatterND", "Expand")
    needs_torch = ">=1.2"
    inputs = (
        (boolean(6), values([0, 3], "int64")),
        (boolean(6), values([5, 1], "int64")),
        (boolean(6), values([2, 4, 5], "int64")),
    )
    dynamic = {"indices": {0: "count"}}

    def forward(self, mask, indices):
        mask = mask.clone()
        mask[indices] = True
        return mask

    @fix("rewrite", "scatter as many ones as there are indices", documented=False)
    def scatter_ones(self, mask, indices):
        return mask.long().scatter(0, indices, torch.ones_like(indices)) > 0


class IndexFill1d(Case):
    """index_fill_ along the only axis of a vector: TorchScript fails before torch 2.6."""

    id = "index-fill-1d"
    sources = ("pytorch/pytorch#139594",)
    aten_ops = ("aten::index_fill_",)
    onnx_ops = ("ScatterElements",)
    inputs = ((f32(5), i64(2, high=5)), (f32(5), i64(2, high=5)), (f32(5), i64(3, high=5)))
    dynamic = {"index": {0: "count"}}

    def forward(self, x, index):
        return x.index_fill(0, index, -1.0)

    @fix("rewrite", "use torch.where on a mask of the positions", documented=False)
    def where(self, x, index):
        chosen = (torch.arange(5)[:, None] == index[None]).long().sum(1) > 0
        return torch.where(chosen, torch.full_like(x, -1.0), x)
