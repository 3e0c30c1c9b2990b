"""Bitwise and logical operators: integers taken for truth values, and operands of one element."""

import torch

from caniexport import Case, boolean, fix, i64, values

BITS = 8


def bit(x, place):
    """One bit of small non-negative integers, by arithmetic that every opset has."""
    return torch.floor(x.float() / 2**place) - 2 * torch.floor(x.float() / 2 ** (place + 1))


class _Bitwise(Case):
    sources = ("pytorch/pytorch#64042", "pytorch/pytorch#64581")
    inputs = (
        (values([12, 1, 0], "int64"), values([10, 1, 0], "int64")),
        (values([12, 5, 255], "int64"), values([3, 4, 170], "int64")),
        (i64(4, high=256), i64(4, high=256)),
    )
    dynamic = {"a": {0: "n"}, "b": {0: "n"}}

    dynamo = fix("export-option", "the torch.export based exporter", exporter="dynamo")


class XorOfIntegers(_Bitwise):
    """a ^ b of integers exported as a Xor of truth values."""

    aten_ops = ("aten::bitwise_xor",)
    onnx_ops = ("Xor", "BitwiseXor")

    def forward(self, a, b):
        return a ^ b

    @fix("rewrite", "bit by bit, with sums and differences")
    def by_arithmetic(self, a, b):
        return sum((bit(a, i) - bit(b, i)).abs() * 2**i for i in range(BITS)).long()


class AndOfIntegers(_Bitwise):
    """a & b of integers exported as an And of truth values."""

    aten_ops = ("aten::bitwise_and",)
    onnx_ops = ("And", "BitwiseAnd")

    def forward(self, a, b):
        return a & b

    @fix("rewrite", "bit by bit, with products")
    def by_arithmetic(self, a, b):
        return sum(bit(a, i) * bit(b, i) * 2**i for i in range(BITS)).long()


class OrOfIntegers(_Bitwise):
    """a | b of integers exported as an Or of truth values."""

    aten_ops = ("aten::bitwise_or",)
    onnx_ops = ("Or", "BitwiseOr")

    def forward(self, a, b):
        return a | b

    @fix("rewrite", "bit by bit, with sums and products")
    def by_arithmetic(self, a, b):
        return sum((bit(a, i) + bit(b, i) - bit(a, i) * bit(b, i)) * 2**i for i in range(BITS)).long()


class _LogicalXor(Case):
    sources = ("microsoft/onnxruntime#8880", "pytorch/pytorch#60179", "microsoft/onnxruntime#11000")
    aten_ops = ("aten::logical_xor",)
    onnx_ops = ("Xor",)
    needs_torch = ">=1.5"

    def forward(self, x, y):
        return torch.logical_xor(x, y)

    @fix("rewrite", "x != y", documented=False)
    def not_equal(self, x, y):
        return x != y


class LogicalXorOneElement(_LogicalXor):
    """torch.logical_xor of one element with one element: ONNX Runtime 1.8 answers with the wrong truth value."""

    inputs = (
        (values([False], "bool"), values([False], "bool")),
        (values([True], "bool"), values([False], "bool")),
        (values([True], "bool"), values([True], "bool")),
        (values([True, False], "bool"), values([False], "bool")),
    )
    dynamic = {"x": {0: "n"}}


class LogicalXorBroadcast(_LogicalXor):
    """torch.logical_xor of (2, 1, 1, 1) with (3, 4, 5): a broadcast on both sides."""

    inputs = ((boolean(2, 1, 1, 1), boolean(3, 4, 5)), (boolean(2, 1, 1, 1), boolean(3, 4, 5)))
