"""Masks: reading, writing, filling and scattering with masks, adding masks, and where a condition holds."""

import torch

from caniexport import Case, boolean, f16, f32, fix, values

CAUSAL = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]


INFINITE = float("-inf")


class MaskedScatterBroadcastMask(Case):
    """masked_scatter with a one-column mask: dynamo reads the wrong source values.

    The values are taken as if the source had one column too.
    """

    sources = ("pytorch/pytorch#186146", "microsoft/onnxscript#2929")
    aten_ops = ("aten::masked_scatter",)
    onnx_ops = ("ScatterND", "NonZero", "ScatterElements")
    inputs = (
        (f32(1, 4, 3), values([[True, True, False, False]], "bool"), f32(2, 3)),
        (f32(1, 4, 3), values([[False, True, False, True]], "bool"), f32(2, 3)),
        (f32(1, 6, 3), values([[False, True, False, False, False, True]], "bool"), f32(2, 3)),
    )
    dynamic = {"x": {1: "length"}, "mask": {1: "length"}}

    def forward(self, x, mask, source):
        return x.masked_scatter(mask.unsqueeze(-1), source)

    trace = fix("export-option", "export with dynamo=False", exporter="torchscript-trace")

    @fix("rewrite", "expand the mask first")
    def mask_expanded(self, x, mask, source):
        return x.masked_scatter(mask.unsqueeze(-1).expand_as(x), source)

    @fix("rewrite", "pick the source row by a running count, then use where")
    def row_by_count(self, x, mask, source):
        row = (torch.cumsum(mask.long(), 1) - 1).clamp(min=0)
        return torch.where(mask.unsqueeze(-1), source[row], x)


class _NonzeroNode(torch.autograd.Function):
    """Write NonZero for torch.nonzero."""

    @staticmethod
    def symbolic(g, x):
        return g.op("NonZero", x)

    @staticmethod
    def forward(ctx, x):
        return torch.nonzero(x)


class _NonzeroTransposed(torch.autograd.Function):
    """Write NonZero and a Transpose: one row for each element, as in torch."""

    @staticmethod
    def symbolic(g, x):
        return g.op("Transpose", g.op("NonZero", x), perm_i=[1, 0])

    @staticmethod
    def forward(ctx, x):
        return torch.nonzero(x)


class NonzeroNodeLayout(Case):
    """torch.nonzero as a custom NonZero node: the output is transposed.

    ONNX has a row for each axis, torch one for each element.
    """

    sources = ("pytorch/pytorch#18047",)
    aten_ops = ("aten::nonzero",)
    onnx_ops = ("NonZero", "Transpose")
    exporters = ("torchscript-trace",)
    inputs = (
        (values([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]),),
        (values([[0.0, 0.0, 0.0], [0.0, 3.0, 4.0]]),),
        (values([[0.0, 0.0], [0.0, 0.0]]),),
    )
    dynamic = {"x": {1: "width"}}

    def forward(self, x):
        return _NonzeroNode.apply(x)

    @fix("custom-symbolic", "add a Transpose after NonZero")
    def transposed(self, x):
        return _NonzeroTransposed.apply(x)

    @fix("rewrite", "use torch.nonzero itself", documented=False)
    def torch_nonzero(self, x):
        return torch.nonzero(x)


class CausalMaskByProduct(Case):
    """triu as a product with a mask: -inf * 0 is NaN, in eager already."""

    sources = ("huggingface/transformers#9738", "pytorch/pytorch#32968", "huggingface/transformers#9737")
    aten_ops = ("aten::triu", "aten::mul")
    onnx_ops = ("Mul", "Trilu", "Where")
    inputs = (
        (f32(4, 4), values(CAUSAL)),
        (values([[1.0, INFINITE, INFINITE, INFINITE]] * 4), values(CAUSAL)),
    )

    def forward(self, x, mask):
        return x * mask

    def reference(self, x, _mask):
        return torch.tril(x)

    @fix("rewrite", "use where instead of the product", documented=False)
    def where(self, x, mask):
        return torch.where(mask > 0.5, x, torch.zeros_like(x))

    @fix("raise-opset", "use torch.tril at opset 14", opset=14, documented=False)
    def tril(self, x, mask):
        return torch.tril(x) + 0 * mask


class HalfMaskAddedToScores(Case):
    """Smallest float16 added as a mask: the sum overflows to -inf and softmax is NaN.

    This happens where every key is masked. float32 scores, or where instead of the sum, avoid it.
    """

    sources = (
        "huggingface/transformers#17306",
        "NVIDIA-NeMo/Automodel#2658",
        "huggingface/transformers#17468",
    )
    aten_ops = ("aten::add", "aten::softmax")
    onnx_ops = ("Softmax", "Add", "Where")
    needs_torch = ">=1.8"
    inputs = (
        (f16(2, 4), values([[1, 1, 0, 0], [1, 0, 0, 0]], "float16")),
        (f16(2, 4, low=-40.0, high=-20.0), values([[1, 1, 0, 0], [0, 0, 0, 0]], "float16")),
    )

    def forward(self, scores, keep):
        # softmax in float32: older releases have no float16 softmax on the CPU
        return torch.softmax((scores + (1 - keep) * -65504.0).float(), -1)

    def reference(self, scores, keep):
        lowest = torch.full_like(scores, -65504.0)
        return torch.softmax(torch.where(keep > 0.5, scores, lowest).float(), -1)

    @fix("rewrite", "use where(mask, scores, smallest) instead of the sum")
    def where(self, scores, keep):
        lowest = torch.full_like(scores, -65504.0)
        return torch.softmax(torch.where(keep > 0.5, scores, lowest).float(), -1)

    @fix(
        "rewrite",
        "convert scores to float32 before adding the mask; a fully masked row is no longer uniform",
        changes_values=True,
    )
    def scores_in_float(self, scores, keep):
        return torch.softmax(scores.float() + (1 - keep.float()) * -65504.0, -1)


class FullyMaskedRow(Case):
    """Softmax over a row masked with -inf only: NaN, which never compares as close."""

    sources = ("huggingface/transformers#17468",)
    aten_ops = ("aten::masked_fill", "aten::softmax")
    onnx_ops = ("Where", "Softmax")
    inputs = (
        (f32(2, 4), values([[True, True, False, False], [True, False, False, False]], "bool")),
        (f32(2, 4), values([[True, True, False, False], [False, False, False, False]], "bool")),
    )
    needs_torch = ">=1.2"

    def forward(self, scores, keep):
        return torch.softmax(scores.masked_fill(~keep, INFINITE), -1)

    @fix("rewrite", "use a large negative number instead of -inf; a fully masked row is uniform", changes_values=True)
    def finite_mask(self, scores, keep):
        return torch.softmax(scores.masked_fill(~keep, -1e9), -1)


class BoolIndexPut(Case):
    """mask[other] = True on a bool tensor: ScatterND rejects bool."""

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

    @fix("rewrite", "use logical_or, as the written value is True", documented=False)
    def logical_or(self, mask, other):
        return torch.logical_or(mask, other)

    @fix("rewrite", "use torch.where; onnxruntime has no Where for bool", caution=True, documented=False)
    def where(self, mask, other):
        return torch.where(other, torch.ones_like(mask), mask)

    @fix("rewrite", "use masked_fill; it also needs a Where for bool", caution=True, documented=False)
    def masked_fill(self, mask, other):
        return mask.masked_fill(other, True)


class MaskZeroFill(Case):
    """x[mask] = 0: dynamo_export writes a ScatterElements that onnxruntime rejects."""

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

    @fix("rewrite", "use masked_fill", documented=False)
    def masked_fill(self, x, mask):
        return x.masked_fill(mask, 0)

    @fix("rewrite", "use torch.where", documented=False)
    def where(self, x, mask):
        return torch.where(mask, torch.zeros_like(x), x)


class IndexPutMaskAndColumn(Case):
    """r[mask, 0] = values[mask]: another number of true values fails at run time."""

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

    @fix("rewrite", "use torch.where on the column and stack it with the other column", documented=False)
    def where_and_stack(self, r, column, mask):
        return torch.stack([torch.where(mask, column, r[:, 0]), r[:, 1]], dim=1)


class IndexPutMaskOfRows(Case):
    """x[mask] = v with a mask of fewer dimensions than x: exported wrongly before 2.0.

    The value v is a tensor of rows.
    """

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

    @fix("rewrite", "place the rows first, then use torch.where with the mask unsqueezed", documented=False)
    def where(self, x, mask, v):
        place = (torch.cumsum(mask.to(torch.int64), 0) - 1).clamp(min=0)
        return torch.where(mask[:, None], v[place], x)


class WhereCondition(Case):
    """torch.where(condition) alone: fails at export before torch 1.7.

    It returns one index tensor per axis.
    """

    sources = ("pytorch/pytorch#140710", "pytorch/pytorch#27959", "pytorch/pytorch#49817", "pytorch/pytorch#47421")
    aten_ops = ("aten::where", "aten::nonzero_numpy")
    onnx_ops = ("NonZero",)
    inputs = ((f32(3, 4),), (f32(3, 4),), (f32(5, 4),))
    dynamic = {"x": {0: "rows"}}

    def forward(self, x):
        rows, columns = torch.where(x > 0)
        return rows, columns

    @fix("rewrite", "use torch.nonzero(as_tuple=True)", documented=False)
    def nonzero_tuple(self, x):
        rows, columns = torch.nonzero(x > 0, as_tuple=True)
        return rows, columns

    @fix("rewrite", "use torch.nonzero and unbind its columns", documented=False)
    def nonzero_unbound(self, x):
        rows, columns = torch.nonzero(x > 0).unbind(1)
        return rows, columns


class MaskedSelectNoRule(Case):
    """torch.masked_select: no symbolic before torch 1.4, no dynamo translation."""

    sources = ("pytorch/pytorch#26034", "pytorch/pytorch#27959")
    aten_ops = ("aten::masked_select",)
    onnx_ops = ("NonZero", "GatherND")
    needs_torch = ">=1.2"
    inputs = ((f32(3, 4), boolean(3, 4)), (f32(3, 4), boolean(3, 4)), (f32(5, 4), boolean(5, 4)))
    dynamic = {"x": {0: "rows"}, "mask": {0: "rows"}}

    def forward(self, x, mask):
        return torch.masked_select(x, mask)

    @fix("rewrite", "index with the positions of the true values", documented=False)
    def true_places(self, x, mask):
        rows, columns = mask.nonzero().unbind(1)
        return x[rows, columns]

    @fix("rewrite", "index the flattened values with the positions of the true values", documented=False)
    def flattened(self, x, mask):
        return x.reshape(-1)[mask.reshape(-1).nonzero().squeeze(1)]


class MaskByVmap(Case):
    """Attention mask built by three nested torch.vmap: TorchScript export fails.

    The mask is causal and masks padding; vmap runs over batch, query and key positions.
    """

    sources = ("pytorch/pytorch#172880",)
    aten_ops = ("aten::index", "aten::le", "aten::__and__")
    onnx_ops = ("GatherND", "LessOrEqual", "And")
    needs_torch = ">=2.0"
    inputs = ((boolean(2, 5),), (boolean(2, 5),), (boolean(3, 7),))
    dynamic = {"kept": {0: "batch", 1: "length"}}

    def forward(self, kept):
        def seen(batch, query, key):
            return (key <= query) & kept[batch, key]

        for axes in ((None, None, 0), (None, 0, None), (0, None, None)):
            seen = torch.vmap(seen, in_dims=axes)
        places = torch.arange(kept.shape[1])
        return seen(torch.arange(kept.shape[0]), places, places)

    @fix("rewrite", "broadcast the positions against each other, without vmap", documented=False)
    def broadcast(self, kept):
        places = torch.arange(kept.shape[1])
        return (places[None, None] <= places[None, :, None]) & kept[:, None]
