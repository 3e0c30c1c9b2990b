"""Bits and booleans: not, or, xor, shifts, comparisons of masks, integers used as booleans, infinities."""

from contextlib import contextmanager

import torch

from caniexport import Case, boolean, fix, i64, u8, values


class _OneMask(Case):
    needs_torch = ">=1.2"
    inputs = ((boolean(2, 5),), (boolean(2, 5),), (boolean(4, 5),))
    dynamic = {"x": {0: "batch"}}


class _TwoMasks(Case):
    needs_torch = ">=1.5"
    inputs = ((boolean(2, 5), boolean(2, 5)), (boolean(2, 5), boolean(2, 5)), (boolean(4, 5), boolean(4, 5)))
    dynamic = {"x": {0: "batch"}, "y": {0: "batch"}}


class NotOfMask(_OneMask):
    """~mask has no TorchScript symbolic before torch 1.5."""

    sources = ("pytorch/pytorch#25805",)
    aten_ops = ("aten::bitwise_not",)
    onnx_ops = ("Not",)

    def forward(self, x):
        return ~x

    @fix("rewrite", "compare with False as a tensor")
    def equals_false(self, x):
        return x == torch.as_tensor(False)

    @fix("rewrite", "use torch.logical_not", documented=False)
    def logical_not(self, x):
        return torch.logical_not(x)


class MaskEqualsZero(_OneMask):
    """mask == 0: the exported model compares a bool with an integer."""

    sources = ("pytorch/pytorch#25805",)
    aten_ops = ("aten::eq",)
    onnx_ops = ("Equal", "Not")

    def forward(self, x):
        return x == 0

    @fix("rewrite", "compare with False as a tensor")
    def equals_false(self, x):
        return x == torch.as_tensor(False)

    @fix("rewrite", "use ~mask", documented=False)
    def inverted(self, x):
        return ~x


class LogicalNotOpset9(_OneMask):
    """torch.logical_not has no TorchScript symbolic before torch 2.1."""

    id = "logical-not-opset-9"
    sources = ("pytorch/pytorch#95154",)
    aten_ops = ("aten::logical_not",)
    onnx_ops = ("Not",)

    def forward(self, x):
        return torch.logical_not(x)

    @fix("rewrite", "use ~mask", documented=False)
    def inverted(self, x):
        return ~x

    @fix("rewrite", "compare with False", documented=False)
    def equals_false(self, x):
        return x == False  # noqa: E712  # the rewrite that is documented


class LogicalOrNoRule(_TwoMasks):
    """torch.logical_or and logical_and have no TorchScript symbolic before torch 1.8."""

    sources = ("pytorch/pytorch#49518",)
    aten_ops = ("aten::logical_or", "aten::logical_and")
    onnx_ops = ("Or", "And")

    def forward(self, x, y):
        return torch.logical_or(x, y), torch.logical_and(x, y)

    @fix("rewrite", "use | and & of the masks", documented=False)
    def operators(self, x, y):
        return x | y, x & y


class XorNoRule(_TwoMasks):
    """x ^ y of masks has no TorchScript symbolic before torch 1.11."""

    sources = ("pytorch/pytorch#61113", "pytorch/pytorch#64042")
    aten_ops = ("aten::__xor__",)
    onnx_ops = ("Xor",)

    def forward(self, x, y):
        return x ^ y

    @fix("rewrite", "use torch.logical_xor", documented=False)
    def logical_xor(self, x, y):
        return torch.logical_xor(x, y)

    @fix("rewrite", "use x != y", documented=False)
    def not_equal(self, x, y):
        return x != y


class AndOfMasks(_TwoMasks):
    """mask & mask: early dynamo_export writes BitwiseAnd, which rejects bool."""

    sources = ("microsoft/onnxscript#907",)
    aten_ops = ("aten::bitwise_and",)
    onnx_ops = ("BitwiseAnd", "And")

    def forward(self, x, y):
        return x & y

    @fix("rewrite", "use torch.logical_and", documented=False)
    def logical_and(self, x, y):
        return torch.logical_and(x, y)


class NotOfIntegers(Case):
    """~x of integers: the TorchScript exporter accepts only booleans."""

    sources = ("tracel-ai/burn#1714", "onnx/onnx#5497")
    aten_ops = ("aten::bitwise_not",)
    onnx_ops = ("BitwiseNot",)
    needs_torch = ">=1.2"
    inputs = ((i64(2, 5),), (values([[-1, -2, 0, 7, 255], [1, 2, 3, 4, -1000]], "int64"),), (i64(4, 5),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return ~x

    @fix("rewrite", "use -x - 1", documented=False)
    def minus_one(self, x):
        return -x - 1

    opset_18 = fix("raise-opset", "export at opset 18, which has BitwiseNot", opset=18, documented=False)


class IsinfNoRule(Case):
    """torch.isinf: the TorchScript exporter needs opset 10 and torch 1.9."""

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
    """sum over a bool mask, the count of true values: ReduceSum rejects bool."""

    sources = ("microsoft/onnxruntime#13681",)
    aten_ops = ("aten::sum",)
    onnx_ops = ("ReduceSum", "Cast")

    def forward(self, x):
        return x.sum(1)

    @fix("rewrite", "count as float32", documented=False)
    def as_float(self, x):
        return x.float().sum(1).long()


BITS = 8


def bit(x, place):
    """Return one bit of small non-negative integers, with arithmetic that every opset has."""
    return torch.floor(x.float() / 2**place) - 2 * torch.floor(x.float() / 2 ** (place + 1))


class _Bitwise(Case):
    sources = ("pytorch/pytorch#64042", "pytorch/pytorch#64581")
    inputs = (
        (values([12, 1, 0], "int64"), values([10, 1, 0], "int64")),
        (values([12, 5, 255], "int64"), values([3, 4, 170], "int64")),
        (i64(4, high=256), i64(4, high=256)),
    )
    dynamic = {"a": {0: "n"}, "b": {0: "n"}}

    dynamo = fix("export-option", "export with dynamo=True", exporter="dynamo")


class XorOfIntegers(_Bitwise):
    """a ^ b of integers: TorchScript has no symbolic or rejects non-booleans."""

    aten_ops = ("aten::bitwise_xor",)
    onnx_ops = ("Xor", "BitwiseXor")

    def forward(self, a, b):
        return a ^ b

    @fix("rewrite", "compute bit by bit, with sums and differences")
    def by_arithmetic(self, a, b):
        return sum((bit(a, i) - bit(b, i)).abs() * 2**i for i in range(BITS)).long()


class AndOfIntegers(_Bitwise):
    """a & b of integers: TorchScript writes a boolean And or rejects integers."""

    aten_ops = ("aten::bitwise_and",)
    onnx_ops = ("And", "BitwiseAnd")

    def forward(self, a, b):
        return a & b

    @fix("rewrite", "compute bit by bit, with products")
    def by_arithmetic(self, a, b):
        return sum(bit(a, i) * bit(b, i) * 2**i for i in range(BITS)).long()


class OrOfIntegers(_Bitwise):
    """a | b of integers: TorchScript writes a boolean Or or rejects integers."""

    aten_ops = ("aten::bitwise_or",)
    onnx_ops = ("Or", "BitwiseOr")

    def forward(self, a, b):
        return a | b

    @fix("rewrite", "compute bit by bit, with sums and products")
    def by_arithmetic(self, a, b):
        return sum((bit(a, i) + bit(b, i) - bit(a, i) * bit(b, i)) * 2**i for i in range(BITS)).long()


class _LogicalXor(Case):
    sources = ("microsoft/onnxruntime#8880", "pytorch/pytorch#60179", "microsoft/onnxruntime#11000")
    aten_ops = ("aten::logical_xor",)
    onnx_ops = ("Xor",)
    needs_torch = ">=1.5"

    def forward(self, x, y):
        return torch.logical_xor(x, y)

    @fix("rewrite", "use x != y", documented=False)
    def not_equal(self, x, y):
        return x != y


class LogicalXorOneElement(_LogicalXor):
    """torch.logical_xor of one element each: wrong value in ONNX Runtime 1.8."""

    inputs = (
        (values([False], "bool"), values([False], "bool")),
        (values([True], "bool"), values([False], "bool")),
        (values([True], "bool"), values([True], "bool")),
        (values([True, False], "bool"), values([False], "bool")),
    )
    dynamic = {"x": {0: "n"}}


class LogicalXorBroadcast(_LogicalXor):
    """torch.logical_xor with both inputs broadcast: reported wrong in ONNX Runtime.

    The shapes are (2, 1, 1, 1) and (3, 4, 5).
    """

    inputs = ((boolean(2, 1, 1, 1), boolean(3, 4, 5)), (boolean(2, 1, 1, 1), boolean(3, 4, 5)))


_UINT32 = 12


_INT32 = 6


@contextmanager
def unsigned_shift(opset):
    """Register symbolics that shift int32 as uint32.

    BitShift accepts uint32, the type inference of the exporter does not know it.
    """

    def shift(direction):
        def rule(g, x, bits):
            left = g.op("Cast", x, to_i=_UINT32)
            right = g.op("Cast", bits, to_i=_UINT32)
            return g.op("Cast", g.op("BitShift", left, right, direction_s=direction), to_i=_INT32)

        return rule

    at = opset or 11
    rules = {"::__lshift_": shift("LEFT"), "::__rshift_": shift("RIGHT")}
    for name, rule in rules.items():
        torch.onnx.register_custom_op_symbolic(name, rule, at)
    try:
        yield
    finally:
        for name in rules:
            if hasattr(torch.onnx, "unregister_custom_op_symbolic"):
                torch.onnx.unregister_custom_op_symbolic(name, at)


class BitshiftOpset11(Case):
    """x << 2 and x >> 1 of negative int32: ONNX BitShift accepts only unsigned types.

    torch shifts negative integers arithmetically (-3 >> 1 is -2); a division rounds towards zero (-1).
    """

    id = "bitshift-opset-11"
    sources = ("seed:002",)
    aten_ops = ("aten::__lshift__", "aten::__rshift__")
    onnx_ops = ("BitShift", "Mul", "Div")
    inputs = (
        (values([1, 2, 3, 7, 100, 40001], "int32"),),
        (values([-1, -2, -3, -7, -100, -40001], "int32"),),
    )

    def forward(self, x):
        return x << 2, x >> 1

    def reference(self, x):
        # torch 1.3 itself shifts negative values wrongly
        return x * 4, torch.floor(x.to(torch.float64) / 2).to(torch.int32)

    @fix("rewrite", "multiply and floor-divide by a power of two; exact up to 2**24", documented=False)
    def multiply_floor_divide(self, x):
        return x * 4, torch.floor(x.to(torch.float32) / 2).to(torch.int32)

    unsigned_bitshift = fix(
        "custom-symbolic",
        "shift as uint32; wrong for negative values shifted right",
        patch=unsigned_shift,
        caution=True,
        documented=False,
    )


class BitshiftUint8(Case):
    """x << 2 and x >> 1 of uint8: BitShift needs opset 11.

    The dynamo exporter of torch 2.13 returned int8.
    """

    id = "bitshift-uint8"
    sources = ("seed:002",)
    aten_ops = ("aten::__lshift__", "aten::__rshift__")
    onnx_ops = ("BitShift",)
    inputs = ((u8(2, 6, high=64),), (values([[0, 1, 2, 3, 127, 128], [129, 200, 252, 253, 254, 255]], "uint8"),))

    def forward(self, x):
        return x << 2, x >> 1

    opset_11 = fix("raise-opset", "export at opset 11, which has BitShift", opset=11)


class AndInPlace(_TwoMasks):
    """mask &= other: aten::__iand_ has no TorchScript symbolic."""

    sources = ("pytorch/pytorch#159072", "lix19937/tensorrt-insight#53")
    aten_ops = ("aten::__iand__",)
    onnx_ops = ("And",)

    def forward(self, x, y):
        x = x.clone()
        x &= y
        return x

    @fix("rewrite", "write mask = mask & other")
    def out_of_place(self, x, y):
        return x & y

    dynamo = fix("export-option", "export with dynamo=True", exporter="dynamo", documented=False)


class OrInPlace(_TwoMasks):
    """mask |= other: aten::__ior_ has no TorchScript symbolic."""

    sources = ("huggingface/transformers#31696", "huggingface/optimum#2235")
    aten_ops = ("aten::__ior__",)
    onnx_ops = ("Or",)

    def forward(self, x, y):
        x = x.clone()
        x |= y
        return x

    @fix("rewrite", "write mask = mask | other", documented=False)
    def out_of_place(self, x, y):
        return x | y

    @fix("rewrite", "use mask.bitwise_or_(other)")
    def bitwise_or_in_place(self, x, y):
        x = x.clone()
        x.bitwise_or_(y)
        return x

    dynamo = fix("export-option", "export with dynamo=True", exporter="dynamo", documented=False)
