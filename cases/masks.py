"""Masks: what is filled, scattered or added by one."""

import torch

from caniexport import Case, f16, f32, fix, values

CAUSAL = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
INFINITE = float("-inf")


class MaskedScatterBroadcastMask(Case):
    """masked_scatter with a mask of one column: values are taken from the source as if it were as narrow."""

    sources = ("pytorch/pytorch#186146",)
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

    trace = fix("export-option", "the TorchScript exporter", exporter="torchscript-trace")

    @fix("rewrite", "the mask expanded first")
    def mask_expanded(self, x, mask, source):
        return x.masked_scatter(mask.unsqueeze(-1).expand_as(x), source)

    @fix("rewrite", "the row of the source by a running count, and where")
    def row_by_count(self, x, mask, source):
        row = (torch.cumsum(mask.long(), 1) - 1).clamp(min=0)
        return torch.where(mask.unsqueeze(-1), source[row], x)


class _NonzeroNode(torch.autograd.Function):
    """NonZero taken for torch.nonzero."""

    @staticmethod
    def symbolic(g, x):
        return g.op("NonZero", x)

    @staticmethod
    def forward(ctx, x):
        return torch.nonzero(x)


class _NonzeroTransposed(torch.autograd.Function):
    """NonZero, transposed: one row an element, as torch has it."""

    @staticmethod
    def symbolic(g, x):
        return g.op("Transpose", g.op("NonZero", x), perm_i=[1, 0])

    @staticmethod
    def forward(ctx, x):
        return torch.nonzero(x)


class NonzeroNodeLayout(Case):
    """A NonZero node by hand for torch.nonzero: ONNX has a row for each axis, torch one for each element."""

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

    @fix("custom-symbolic", "a Transpose behind NonZero")
    def transposed(self, x):
        return _NonzeroTransposed.apply(x)

    @fix("rewrite", "torch's own nonzero", documented=False)
    def torch_nonzero(self, x):
        return torch.nonzero(x)


class CausalMaskByProduct(Case):
    """triu written as a product with a mask: -inf times zero is NaN, in eager already."""

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

    @fix("rewrite", "where in place of the product", documented=False)
    def where(self, x, mask):
        return torch.where(mask > 0.5, x, torch.zeros_like(x))

    @fix("raise-opset", "torch's own tril at opset 14", opset=14, documented=False)
    def tril(self, x, mask):
        return torch.tril(x) + 0 * mask


class HalfMaskAddedToScores(Case):
    """The smallest half float added as a mask to half scores below zero: the sum is -inf, its softmax NaN.

    Where every key is masked; float32 scores, or where in place of the sum, have no such row.
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
        # softmax in float32: eager has none for half floats on the CPU in older releases
        return torch.softmax((scores + (1 - keep) * -65504.0).float(), -1)

    def reference(self, scores, keep):
        lowest = torch.full_like(scores, -65504.0)
        return torch.softmax(torch.where(keep > 0.5, scores, lowest).float(), -1)

    @fix("rewrite", "where(mask, scores, smallest) in place of the sum")
    def where(self, scores, keep):
        lowest = torch.full_like(scores, -65504.0)
        return torch.softmax(torch.where(keep > 0.5, scores, lowest).float(), -1)

    @fix(
        "rewrite",
        "scores in float32 before the mask is added: a row where every key is masked is no longer uniform",
        changes_values=True,
    )
    def scores_in_float(self, scores, keep):
        return torch.softmax(scores.float() + (1 - keep.float()) * -65504.0, -1)


class FullyMaskedRow(Case):
    """A softmax over a row masked with -inf throughout is NaN, and NaN is never close to NaN for a comparison."""

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

    @fix("rewrite", "a large negative number in place of -inf: a fully masked row is uniform", changes_values=True)
    def finite_mask(self, scores, keep):
        return torch.softmax(scores.masked_fill(~keep, -1e9), -1)
