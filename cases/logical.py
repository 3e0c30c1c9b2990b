"""Booleans: not, or, xor, comparisons of masks, infinities."""

import torch

from caniexport import Case, boolean, fix, i64, values


class _OneMask(Case):
    needs_torch = ">=1.2"
    inputs = ((boolean(2, 5),), (boolean(2, 5),), (boolean(4, 5),))
    dynamic = {"x": {0: "batch"}}


class _TwoMasks(Case):
    needs_torch = ">=1.5"
    inputs = ((boolean(2, 5), boolean(2, 5)), (boolean(2, 5), boolean(2, 5)), (boolean(4, 5), boolean(4, 5)))
    dynamic = {"x": {0: "batch"}, "y": {0: "batch"}}


class NotOfMask(_OneMask):
    """~mask has no rule in torch 1.2."""

    sources = ("pytorch/pytorch#25805",)
    aten_ops = ("aten::bitwise_not",)
    onnx_ops = ("Not",)

    def forward(self, x):
        return ~x

    @fix("rewrite", "compare with False as a tensor")
    def equals_false(self, x):
        return x == torch.as_tensor(False)

    @fix("rewrite", "torch.logical_not", documented=False)
    def logical_not(self, x):
        return torch.logical_not(x)


class MaskEqualsZero(_OneMask):
    """mask == 0: a boolean compared with an integer."""

    sources = ("pytorch/pytorch#25805",)
    aten_ops = ("aten::eq",)
    onnx_ops = ("Equal", "Not")

    def forward(self, x):
        return x == 0

    @fix("rewrite", "compare with False as a tensor")
    def equals_false(self, x):
        return x == torch.as_tensor(False)

    @fix("rewrite", "~mask", documented=False)
    def inverted(self, x):
        return ~x


class LogicalNotOpset9(_OneMask):
    """torch.logical_not has no rule before torch 2.0."""

    id = "logical-not-opset-9"
    sources = ("pytorch/pytorch#95154",)
    aten_ops = ("aten::logical_not",)
    onnx_ops = ("Not",)

    def forward(self, x):
        return torch.logical_not(x)

    @fix("rewrite", "~mask", documented=False)
    def inverted(self, x):
        return ~x

    @fix("rewrite", "compare with False", documented=False)
    def equals_false(self, x):
        return x == False  # noqa: E712  # the rewrite that is documented


class LogicalOrNoRule(_TwoMasks):
    """torch.logical_or and logical_and have no rule in torch 1.7."""

    sources = ("pytorch/pytorch#49518",)
    aten_ops = ("aten::logical_or", "aten::logical_and")
    onnx_ops = ("Or", "And")

    def forward(self, x, y):
        return torch.logical_or(x, y), torch.logical_and(x, y)

    @fix("rewrite", "| and & of the masks", documented=False)
    def operators(self, x, y):
        return x | y, x & y


class XorNoRule(_TwoMasks):
    """x ^ y of masks has no rule before torch 1.10."""

    sources = ("pytorch/pytorch#61113", "pytorch/pytorch#64042")
    aten_ops = ("aten::__xor__",)
    onnx_ops = ("Xor",)

    def forward(self, x, y):
        return x ^ y

    @fix("rewrite", "torch.logical_xor", documented=False)
    def logical_xor(self, x, y):
        return torch.logical_xor(x, y)

    @fix("rewrite", "not equal", documented=False)
    def not_equal(self, x, y):
        return x != y


class AndOfMasks(_TwoMasks):
    """mask & mask: dynamo_export's early BitwiseAnd takes no bool."""

    sources = ("microsoft/onnxscript#907",)
    aten_ops = ("aten::bitwise_and",)
    onnx_ops = ("BitwiseAnd", "And")

    def forward(self, x, y):
        return x & y

    @fix("rewrite", "torch.logical_and", documented=False)
    def logical_and(self, x, y):
        return torch.logical_and(x, y)


class NotOfIntegers(Case):
    """~x of integers: the TorchScript exporter takes booleans only."""

    sources = ("tracel-ai/burn#1714", "onnx/onnx#5497")
    aten_ops = ("aten::bitwise_not",)
    onnx_ops = ("BitwiseNot",)
    needs_torch = ">=1.2"
    inputs = ((i64(2, 5),), (values([[-1, -2, 0, 7, 255], [1, 2, 3, 4, -1000]], "int64"),), (i64(4, 5),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return ~x

    @fix("rewrite", "-x - 1", documented=False)
    def minus_one(self, x):
        return -x - 1

    opset_18 = fix("raise-opset", "export at opset 18, which has BitwiseNot", opset=18, documented=False)


class IsinfNoRule(Case):
    """torch.isinf needs opset 10, and torch 1.9."""

    sources = ("pytorch/pytorch#53328", "pytorch/pytorch#54007")
    aten_ops = ("aten::isinf",)
    onnx_ops = ("IsInf", "Abs", "Equal")
    inputs = (
        (values([[0.0, 1.0, float("inf")], [2.0, -3.0, float("-inf")]]),),
        (values([[float("nan"), 1.0, 2.0], [float("inf"), float("inf"), 0.0]]),),
        (values([[float("-inf"), 5.0, 3e38]]),),
    )
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.isinf(x)

    opset_10 = fix("raise-opset", "export at opset 10, which has IsInf", opset=10, documented=False)

    @fix("rewrite", "compare the magnitude with infinity", documented=False)
    def compare(self, x):
        return x.abs() == float("inf")


class CountOfMask(_OneMask):
    """The number of true values in each row: ReduceSum takes no bool."""

    sources = ("microsoft/onnxruntime#13681",)
    aten_ops = ("aten::sum",)
    onnx_ops = ("ReduceSum", "Cast")

    def forward(self, x):
        return x.sum(1)

    @fix("rewrite", "count as float32", documented=False)
    def as_float(self, x):
        return x.float().sum(1).long()
