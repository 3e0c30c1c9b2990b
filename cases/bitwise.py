"""Bit shifts."""

from contextlib import contextmanager

import torch

from caniexport import Case, fix, u8, values

_UINT32 = 12
_INT32 = 6


@contextmanager
def unsigned_shift(opset):
    """Rules that shift int32 as uint32, a type that BitShift knows and the exporter's type inference does not."""

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
    """Shifts of negative int32 values: ONNX's BitShift is for unsigned types only.

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
        # torch 1.3 shifts negative values wrongly itself
        return x * 4, torch.floor(x.to(torch.float64) / 2).to(torch.int32)

    @fix("rewrite", "multiply and floor-divide by a power of two; exact up to 2**24", documented=False)
    def multiply_floor_divide(self, x):
        return x * 4, torch.floor(x.to(torch.float32) / 2).to(torch.int32)

    unsigned_bitshift = fix(
        "custom-symbolic",
        "shift as uint32, which would be wrong for negative values shifted right",
        patch=unsigned_shift,
        caution=True,
        documented=False,
    )


class BitshiftUint8(Case):
    """x << 2 and x >> 1 of uint8: a BitShift node since opset 11.

    The dynamo exporter has been seen to answer int8 (torch 2.13).
    """

    id = "bitshift-uint8"
    sources = ("seed:002",)
    aten_ops = ("aten::__lshift__", "aten::__rshift__")
    onnx_ops = ("BitShift",)
    inputs = ((u8(2, 6, high=64),), (values([[0, 1, 2, 3, 127, 128], [129, 200, 252, 253, 254, 255]], "uint8"),))

    def forward(self, x):
        return x << 2, x >> 1

    opset_11 = fix("raise-opset", "export at opset 11, which has BitShift", opset=11)
