"""Writing through an index."""

import torch

from caniexport import Case, f32, fix, values


class IndexPutInplaceAssign(Case):
    """data[index] = new_data in place: no export below opset 11."""

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

    @fix("rewrite", "scatter_ along the rows, the index expanded over the width; one row only, lost where scripted")
    def scatter(self, data, index, new_data):
        row = new_data.unsqueeze(0)
        data.scatter_(0, index.expand(1, row.size(1)), row)
        return data

    @fix("rewrite", "the same out of place: data is left as it was", documented=False)
    def scatter_out_of_place(self, data, index, new_data):
        row = new_data.unsqueeze(0)
        return data.scatter(0, index.expand(1, row.size(1)), row)

    @fix("rewrite", "index_copy along the rows", documented=False)
    def index_copy(self, data, index, new_data):
        return data.index_copy(0, index, new_data.unsqueeze(0))

    @fix("rewrite", "where on a mask of the rows", documented=False)
    def where_on_a_mask(self, data, index, new_data):
        chosen = (torch.arange(4).unsqueeze(1) == index).expand(4, new_data.size(0))
        return torch.where(chosen, new_data.unsqueeze(0).expand(4, new_data.size(0)), data)

    opset_11 = fix("raise-opset", "export at opset 11, which has ScatterND", opset=11, documented=False)


class ScatterRewriteSingleRowOnly(Case):
    """The scatter_ rewrite of data[index] = rows, with more than one row: it does not even run.

    One input set names a row twice, with equal values: what the last one wins is undefined otherwise.
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

    @fix("rewrite", "the rewrite for one row: raises with more", caution=True)
    def single_row_scatter(self, data, index, new_data):
        row = new_data.unsqueeze(0)
        data.scatter_(0, index.expand(1, row.size(1)), row)
        return data

    @fix("rewrite", "the index as a column, expanded over the width", documented=False)
    def general_scatter(self, data, index, new_data):
        return data.scatter(0, index.view(-1, 1).expand(-1, new_data.size(1)), new_data)

    @fix("rewrite", "the same with every size named", documented=False)
    def general_scatter_sized(self, data, index, new_data):
        return data.scatter(0, index.view(-1, 1).expand(new_data.size(0), new_data.size(1)), new_data)

    opset_11 = fix("raise-opset", "export at opset 11, which has ScatterND", opset=11, documented=False)
