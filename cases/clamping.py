"""Clamping, choosing the smaller, casting: types of integers."""

import torch

from caniexport import Case, Claim, fix, values

INTEGERS = (
    (values([[0, 1, 20, -3]], "int64"),),
    (values([[2**24 + 1, 5, -(2**24) - 1, 9]], "int64"),),
    (values([[3, 4, 5, 6], [30, 40, 50, 60]], "int64"),),
)


class MinWithFullLike(Case):
    """torch.min(x, torch.full_like(x, 10)) of integers: the output is a float."""

    records = ("min-full-like-int64-becomes-float",)
    sources = ("pytorch/pytorch#99788",)
    aten_ops = ("aten::minimum", "aten::full_like")
    onnx_ops = ("Min", "Cast")
    inputs = INTEGERS
    dynamic = {"x": {0: "rows"}}
    claims = (
        Claim(
            "pytorch/pytorch#99788",
            "the type is float",
            torch="==2.1.*",
            opset=">=12",
            status=("mismatch", "fail"),
            finding="So it was in nightlies from 28 March 2023 on. 2.1 as released keeps the integer.",
            why_not="version-misattributed",
        ),
        Claim("pytorch/pytorch#99788", "2.0 is right", torch="==2.0.*", opset=">=12", status="pass"),
    )

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

    records = ("clip-tensor-minmax-float-only", "clip-int-trt-wrong")
    sources = ("pytorch/pytorch#70584", "onnx/onnx-tensorrt#788")
    aten_ops = ("aten::clamp",)
    onnx_ops = ("Clip", "Cast", "Min", "Max")
    # no dynamic axis: with one the cast is left out, and the checker refuses a Clip of int64 (1.10 to 2.15)
    inputs = INTEGERS[:2]
    claims = (
        Claim(
            "pytorch/pytorch#70584",
            "cast to float below opset 12",
            record="clip-tensor-minmax-float-only",
            torch=">=1.11,<1.13",
            opset="9-11",
            status="mismatch",
        ),
        Claim(
            "pytorch/pytorch#70584",
            "right from opset 12 on",
            record="clip-tensor-minmax-float-only",
            torch=">=1.11",
            opset=">=12",
            status="pass",
        ),
        Claim(
            "onnx/onnx-tensorrt#788",
            "TensorRT reads the limit as zero",
            record="clip-int-trt-wrong",
            opset="9-10",
            status="mismatch",
            needs="tensorrt",
        ),
    )

    def forward(self, x):
        return torch.clamp(x, -(2**25), 2**25)

    opset_12 = fix("raise-opset", "export at opset 12, whose Clip takes integers", opset=12)

    @fix("rewrite", "where, twice", documented=False)
    def where(self, x):
        x = torch.where(x > 2**25, torch.full_like(x, 2**25, dtype=x.dtype), x)
        return torch.where(x < -(2**25), torch.full_like(x, -(2**25), dtype=x.dtype), x)


class CastNegativeFloatToUnsigned(Case):
    """A cast of negative floats to uint32: counted from the top on the CPU, zero on CUDA."""

    records = ("cast-float-negative-uint32-cuda",)
    sources = ("microsoft/onnxruntime#25207",)
    aten_ops = ("aten::to",)
    onnx_ops = ("Cast",)
    needs_torch = ">=2.3"
    inputs = ((values([0.5, 1.5, 7.0, 100.0]),), (values([-1.0, -0.5, 0.5, 1.5]),))
    claims = (
        Claim("microsoft/onnxruntime#25207", "the CPU counts from the top", exporter="dynamo", opset=18, status="pass"),
        Claim("microsoft/onnxruntime#25207", "zero on CUDA", exporter="dynamo", status="mismatch", needs="cuda"),
    )

    def forward(self, x):
        return x.to(torch.uint32)

    @fix("rewrite", "clamp(min=0) before the cast: other values", changes_values=True, documented=False)
    def clamped(self, x):
        return torch.clamp(x, min=0).to(torch.uint32)

    @fix("rewrite", "cast to int64 first", documented=False)
    def by_int64(self, x):
        return x.to(torch.int64).to(torch.uint32)
