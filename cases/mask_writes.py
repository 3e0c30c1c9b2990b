"""Writing through masks and tensors of indices, and asking where a condition holds."""

import torch

from caniexport import Case, boolean, f32, fix, values


class BoolIndexPut(Case):
    """mask[mask != c] = 1 of a boolean mask: ScatterND takes no bool."""

    sources = ("pytorch/pytorch#34054", "pytorch/pytorch#53507", "pytorch/pytorch#54863")
    aten_ops = ("aten::index_put_",)
    onnx_ops = ("ScatterND", "Where")
    needs_torch = ">=1.2"
    inputs = ((boolean(3, 4), boolean(3, 4)), (boolean(3, 4), boolean(3, 4)), (boolean(5, 4), boolean(5, 4)))
    dynamic = {"mask": {0: "batch"}, "other": {0: "batch"}}

    def forward(self, mask, other):
        mask = mask.clone()
        mask[other] = True
        return mask

    @fix("rewrite", "logical_or: what is written is True", documented=False)
    def logical_or(self, mask, other):
        return torch.logical_or(mask, other)

    @fix("rewrite", "torch.where: onnxruntime has no Where of bools", caution=True, documented=False)
    def where(self, mask, other):
        return torch.where(other, torch.ones_like(mask), mask)

    @fix("rewrite", "masked_fill: a Where of bools, too", caution=True, documented=False)
    def masked_fill(self, mask, other):
        return mask.masked_fill(other, True)


class MaskZeroFill(Case):
    """x[mask] = 0: dynamo_export writes a ScatterElements that the runtime refuses."""

    sources = ("pytorch/pytorch#126856",)
    aten_ops = ("aten::index_put_",)
    onnx_ops = ("ScatterElements", "Where")
    inputs = ((f32(3, 4), boolean(3, 4)), (f32(3, 4), boolean(3, 4)), (f32(5, 4), boolean(5, 4)))
    dynamic = {"x": {0: "batch"}, "mask": {0: "batch"}}
    needs_torch = ">=1.2"

    def forward(self, x, mask):
        x = x.clone()
        x[mask] = 0
        return x

    @fix("rewrite", "masked_fill", documented=False)
    def masked_fill(self, x, mask):
        return x.masked_fill(mask, 0)

    @fix("rewrite", "torch.where", documented=False)
    def where(self, x, mask):
        return torch.where(mask, torch.zeros_like(x), x)


class IndexPutMaskAndColumn(Case):
    """r[mask, 0] = values[mask]: a mask and a column number on the left."""

    sources = ("pytorch/pytorch#159295",)
    aten_ops = ("aten::index_put_",)
    onnx_ops = ("ScatterND", "Reshape")
    needs_torch = ">=1.2"
    inputs = (
        (f32(4, 2), f32(4), values([True, False, True, False], "bool")),
        (f32(4, 2), f32(4), values([True, True, True, False], "bool")),
        (f32(4, 2), f32(4), values([False, False, False, True], "bool")),
    )

    def forward(self, r, column, mask):
        r = r.clone()
        r[mask, 0] = column[mask]
        return r

    @fix("rewrite", "torch.where on the column, stacked with the other one", documented=False)
    def where_and_stack(self, r, column, mask):
        return torch.stack([torch.where(mask, column, r[:, 0]), r[:, 1]], dim=1)


class IndexPutMaskOfRows(Case):
    """x[mask] = v, a tensor of rows, with a mask of fewer dimensions than x."""

    sources = ("pytorch/pytorch#92862",)
    aten_ops = ("aten::index_put_",)
    onnx_ops = ("ScatterND", "NonZero")
    needs_torch = ">=1.2"
    inputs = (
        (f32(3, 4), values([True, False, True], "bool"), f32(2, 4)),
        (f32(3, 4), values([False, True, True], "bool"), f32(2, 4)),
        (f32(5, 4), values([True, True, False, False, True], "bool"), f32(3, 4)),
    )
    dynamic = {"x": {0: "rows"}, "mask": {0: "rows"}, "v": {0: "picked"}}

    def forward(self, x, mask, v):
        x = x.clone()
        x[mask] = v
        return x

    @fix("rewrite", "torch.where with the mask unsqueezed, the rows put at their places first", documented=False)
    def where(self, x, mask, v):
        place = (torch.cumsum(mask.to(torch.int64), 0) - 1).clamp(min=0)
        return torch.where(mask[:, None], v[place], x)


class WhereCondition(Case):
    """torch.where(condition) alone: the indices, one tensor an axis."""

    sources = ("pytorch/pytorch#140710", "pytorch/pytorch#27959", "pytorch/pytorch#49817", "pytorch/pytorch#47421")
    aten_ops = ("aten::where", "aten::nonzero_numpy")
    onnx_ops = ("NonZero",)
    inputs = ((f32(3, 4),), (f32(3, 4),), (f32(5, 4),))
    dynamic = {"x": {0: "rows"}}

    def forward(self, x):
        rows, columns = torch.where(x > 0)
        return rows, columns

    @fix("rewrite", "torch.nonzero(as_tuple=True)", documented=False)
    def nonzero_tuple(self, x):
        rows, columns = torch.nonzero(x > 0, as_tuple=True)
        return rows, columns

    @fix("rewrite", "torch.nonzero, its columns taken apart", documented=False)
    def nonzero_unbound(self, x):
        rows, columns = torch.nonzero(x > 0).unbind(1)
        return rows, columns


class MaskedSelectNoRule(Case):
    """torch.masked_select has no rule in torch 1.2 and 1.3."""

    sources = ("pytorch/pytorch#26034", "pytorch/pytorch#27959")
    aten_ops = ("aten::masked_select",)
    onnx_ops = ("NonZero", "GatherND")
    needs_torch = ">=1.2"
    inputs = ((f32(3, 4), boolean(3, 4)), (f32(3, 4), boolean(3, 4)), (f32(5, 4), boolean(5, 4)))
    dynamic = {"x": {0: "rows"}, "mask": {0: "rows"}}

    def forward(self, x, mask):
        return torch.masked_select(x, mask)

    @fix("rewrite", "index with the true places", documented=False)
    def true_places(self, x, mask):
        rows, columns = mask.nonzero().unbind(1)
        return x[rows, columns]

    @fix("rewrite", "the flattened values at the true places", documented=False)
    def flattened(self, x, mask):
        return x.reshape(-1)[mask.reshape(-1).nonzero().squeeze(1)]
