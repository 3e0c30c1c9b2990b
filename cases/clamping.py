"""Clamping, choosing the smaller, casting: types of integers."""

import torch

from caniexport import Case, fix, values

INTEGERS = (
    (values([[0, 1, 20, -3]], "int64"),),
    (values([[2**24 + 1, 5, -(2**24) - 1, 9]], "int64"),),
    (values([[3, 4, 5, 6], [30, 40, 50, 60]], "int64"),),
)


class MinWithFullLike(Case):
    """torch.min(x, torch.full_like(x, 10)) of integers: the output is a float."""

    sources = ("pytorch/pytorch#99788",)
    aten_ops = ("aten::minimum", "aten::full_like")
    onnx_ops = ("Min", "Cast")
    inputs = INTEGERS
    dynamic = {"x": {0: "rows"}}

    def forward(self, x):
        return torch.min(x, torch.full_like(x, 10))

    @fix("rewrite", "clamp(max=10)")
    def clamp(self, x):
        return torch.clamp(x, max=10)

    @fix("rewrite", "full_like with the type named")
    def type_named(self, x):
        return torch.min(x, torch.full_like(x, 10, dtype=x.dtype))


class ClampLargeIntegers(Case):
    """clamp of integers above 2**24: a cast to float and back loses their last digits."""

    sources = ("pytorch/pytorch#70584", "onnx/onnx-tensorrt#788")
    aten_ops = ("aten::clamp",)
    onnx_ops = ("Clip", "Cast", "Min", "Max")
    # no dynamic axis: with one the cast is left out, and the checker refuses a Clip of int64 (1.10 to 2.15)
    inputs = INTEGERS[:2]

    def forward(self, x):
        return torch.clamp(x, -(2**25), 2**25)

    opset_12 = fix("raise-opset", "export at opset 12, whose Clip takes integers", opset=12)

    @fix("rewrite", "where, twice", documented=False)
    def where(self, x):
        x = torch.where(x > 2**25, torch.full_like(x, 2**25, dtype=x.dtype), x)
        return torch.where(x < -(2**25), torch.full_like(x, -(2**25), dtype=x.dtype), x)


class CastNegativeFloatToUnsigned(Case):
    """A cast of negative floats to uint32: counted from the top on the CPU, zero on CUDA."""

    sources = ("microsoft/onnxruntime#25207",)
    aten_ops = ("aten::to",)
    onnx_ops = ("Cast",)
    needs_torch = ">=2.3"
    inputs = ((values([0.5, 1.5, 7.0, 100.0]),), (values([-1.0, -0.5, 0.5, 1.5]),))

    def forward(self, x):
        return x.to(torch.uint32)

    @fix("rewrite", "clamp(min=0) before the cast: other values", changes_values=True, documented=False)
    def clamped(self, x):
        return torch.clamp(x, min=0).to(torch.uint32)

    @fix("rewrite", "cast to int64 first", documented=False)
    def by_int64(self, x):
        return x.to(torch.int64).to(torch.uint32)
