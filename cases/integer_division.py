"""Division with remainder: how quotients are rounded, and how large they may be."""

import torch

from caniexport import Case, f32, fix, values

BY = [3, -3, 2, -2]


class _FourSigns(Case):
    """Dividends and divisors of both signs; the example input has positive ones only."""

    inputs = (
        (values([[7, 8, 9, 10]], "int64"), values([3, 3, 2, 2], "int64")),
        (values([[7, 7, 7, 7], [-7, -7, -7, -7]], "int64"), values(BY, "int64")),
        (values([[-8, 8, -1, 1], [6, -6, 0, 0], [1, 2, -3, -4]], "int64"), values(BY, "int64")),
    )
    dynamic = {"a": {0: "rows"}}


class _FourSignsOfFloats(Case):
    """The same as floats."""

    inputs = (
        (values([[7.5, 8.0, 9.25, 10.0]]), values([3.0, 3.0, 2.0, 2.5])),
        (values([[7.5, 7.5, 7.5, 7.5], [-7.5, -7.5, -7.5, -7.5]]), values([3.0, -3.0, 2.0, -2.0])),
        (values([[-8.25, 8.25, -0.5, 0.5]]), values([3.0, -3.0, 2.0, -2.0])),
    )
    dynamic = {"a": {0: "rows"}}


class RemainderNegativeInteger(_FourSigns):
    """torch.remainder of negative integers: Div truncates, so the sign is wrong."""

    sources = ("pytorch/pytorch#64230", "pytorch/pytorch#60179")
    aten_ops = ("aten::remainder",)
    onnx_ops = ("Mod", "Div", "Mul", "Sub")

    def forward(self, a, b):
        return torch.remainder(a, b)

    @fix("rewrite", "compute a - floor(a / b) * b, with the quotient as a float")
    def floor_of_quotient(self, a, b):
        return a - torch.floor(a.double() / b.double()).long() * b

    @fix("rewrite", "use fmod and add the divisor where the signs differ", documented=False)
    def fmod_corrected(self, a, b):
        rest = torch.fmod(a, b)
        return rest + b * ((rest != 0) & ((rest < 0) != (b < 0))).long()

    newer_torch = fix("version-upgrade", "use torch 1.10 or newer", torch=">=1.10")


class RemainderNegativeFloat(_FourSignsOfFloats):
    """torch.remainder of negative floats: Mod with fmod=1 uses the dividend's sign.

    torch.remainder takes the sign of the divisor.
    """

    sources = ("pytorch/pytorch#64230", "pytorch/pytorch#60179")
    aten_ops = ("aten::remainder",)
    onnx_ops = ("Mod", "Floor", "Div", "Mul", "Sub")

    def forward(self, a, b):
        return torch.remainder(a, b)

    @fix("rewrite", "compute a - floor(a / b) * b")
    def floor_of_quotient(self, a, b):
        return a - torch.floor(a / b) * b

    newer_torch = fix("version-upgrade", "use torch 1.10 or newer", torch=">=1.10")


class FloorDivideNegativeInteger(_FourSigns):
    """torch.floor_divide of negative integers: TorchScript writes a truncating Div.

    torch itself truncated before 1.13; the exported model is compared with the torch that wrote it.
    """

    sources = ("pytorch/pytorch#78442", "pytorch/pytorch#45161", "pytorch/pytorch#86146")
    aten_ops = ("aten::floor_divide", "aten::div")
    onnx_ops = ("Div", "Floor", "Xor", "Mod")
    needs_torch = ">=1.5"

    def forward(self, a, b):
        return torch.floor_divide(a, b)

    @fix("rewrite", "use div with rounding_mode='floor' on floats, then cast; exact up to 2**24")
    def rounding_mode_on_floats(self, a, b):
        return torch.div(a.float(), b.float(), rounding_mode="floor").long()

    @fix("rewrite", "subtract the remainder first, so that nothing is rounded", documented=False)
    def without_remainder(self, a, b):
        return torch.floor_divide(a - torch.remainder(a, b), b)

    newer_torch = fix("version-upgrade", "use torch 2.0 or newer", torch=">=2.0")


class FloorDivideNegativeFloat(_FourSignsOfFloats):
    """a // b of negative floats: TorchScript truncates where torch floors."""

    sources = ("pytorch/pytorch#78442", "pytorch/pytorch#45161", "pytorch/pytorch#86146")
    aten_ops = ("aten::floor_divide", "aten::div")
    onnx_ops = ("Div", "Floor")
    needs_torch = ">=1.5"

    def forward(self, a, b):
        return a // b

    @fix("rewrite", "use div with rounding_mode='floor'")
    def rounding_mode(self, a, b):
        return torch.div(a, b, rounding_mode="floor")

    @fix("rewrite", "take the floor of the quotient", documented=False)
    def floor_of_quotient(self, a, b):
        return torch.floor(a / b)

    newer_torch = fix("version-upgrade", "use torch 2.0 or newer", torch=">=2.0")


class TruncatedDivisionNegativeInteger(_FourSigns):
    """torch.div(rounding_mode='trunc') of negative integers: ONNX left Div undefined.

    The division is one Div. ONNX Runtime truncates; ONNX's own reference evaluator floors.
    """

    sources = ("onnx/onnx#4016", "onnx/onnx#7570", "onnx/onnx#8461", "microsoft/onnxruntime#26997")
    aten_ops = ("aten::div",)
    onnx_ops = ("Div",)
    needs_torch = ">=1.8"

    def forward(self, a, b):
        return torch.div(a, b, rounding_mode="trunc")

    @fix("rewrite", "divide as floats, then round towards zero; exact up to 2**53")
    def divide_floats(self, a, b):
        quotient = a.double() / b.double()
        return torch.where(quotient < 0, torch.ceil(quotient), torch.floor(quotient)).long()

    @fix("rewrite", "divide the magnitudes, then restore the sign")
    def divide_magnitudes(self, a, b):
        return torch.div(a.abs(), b.abs(), rounding_mode="trunc") * torch.sign(a) * torch.sign(b)


class CeilDivNegatedFloorDiv(Case):
    """-(-a // b), division rounded up: rounded down where // exports as a bare Div."""

    sources = ("onnx/tensorflow-onnx#2174", "rwth-i6/returnn#1328")
    aten_ops = ("aten::floor_divide", "aten::neg")
    onnx_ops = ("Div", "Neg")
    needs_torch = ">=1.13"  # before, // of tensors truncates in eager too
    inputs = (
        (values([6, 8, 10], "int64"), values([3, 4, 5], "int64")),
        (values([7, 9, 1], "int64"), values([3, 4, 5], "int64")),
        (values([1, 2, 3, 4, 5], "int64"), values([2, 2, 2, 2, 2], "int64")),
    )
    dynamic = {"a": {0: "n"}, "b": {0: "n"}}

    def forward(self, a, b):
        return -(-a // b)

    @fix("rewrite", "use (a + b - 1) // b, for positive integers")
    def add_divisor_less_one(self, a, b):
        return (a + b - 1) // b

    @fix("rewrite", "add one to the quotient where a remainder is left", documented=False)
    def one_more_where_it_remains(self, a, b):
        return torch.div(a, b, rounding_mode="trunc") + (torch.remainder(a, b) > 0).long()


class FmodIntegerByFloat(Case):
    """torch.fmod of an integer tensor by 2.5: Mod gets two different dtypes.

    The result is a float.
    """

    sources = ("pytorch/pytorch#48739", "pytorch/pytorch#48278")
    aten_ops = ("aten::fmod",)
    onnx_ops = ("Mod",)
    inputs = ((values([5, 6, 7], "int64"),), (values([-5, -6, -7], "int64"),), (values([0, 1, 2, 3], "int64"),))
    dynamic = {"x": {0: "n"}}

    def forward(self, x):
        return torch.fmod(x, 2.5)

    @fix("rewrite", "convert with x.float() first", documented=False)
    def float_first(self, x):
        return torch.fmod(x.float(), 2.5)


class RemainderIntegerByFloat(FmodIntegerByFloat):
    """torch.remainder of an integer tensor by 2.5: Mod gets two different dtypes.

    The result is a float.
    """

    aten_ops = ("aten::remainder",)
    onnx_ops = ("Mod", "Floor", "Div")

    def forward(self, x):
        return torch.remainder(x, 2.5)

    @fix("rewrite", "convert with x.float() first", documented=False)
    def float_first(self, x):
        return torch.remainder(x.float(), 2.5)


class FloorDivideLargeInteger(Case):
    """a // b of integers above 2**24: a cast to float32 loses the last digits."""

    sources = ("microsoft/onnxscript#2592",)
    aten_ops = ("aten::floor_divide",)
    onnx_ops = ("Cast", "Div", "Floor")
    needs_torch = ">=1.13"
    inputs = (
        (values([8, 9, 10], "int64"), values([1, 2, 3], "int64")),
        (values([2**24 + 1, 2**31 + 1, 2**40 + 3], "int64"), values([1, 1, 2], "int64")),
        (values([-7, 7, -1, 2**25 + 1], "int64"), values([2, -2, 3, 1], "int64")),
    )
    dynamic = {"a": {0: "n"}, "b": {0: "n"}}

    def forward(self, a, b):
        return a // b

    @fix("rewrite", "subtract the remainder first, then divide exactly", documented=False)
    def exact_division(self, a, b):
        return torch.div(a - torch.remainder(a, b), b, rounding_mode="trunc")

    newer_onnxscript = fix("version-upgrade", "use onnxscript of October 2025 or newer", torch=">=2.9")


class TruncLargeFloat(Case):
    """torch.trunc of 1e30: no TorchScript symbolic; a cast to int64 overflows."""

    sources = ("onnx/onnx#4588",)
    aten_ops = ("aten::trunc",)
    onnx_ops = ("Cast",)
    inputs = ((f32(5, low=-9.0, high=9.0),), (values([1e30, -1e30, 3e18, 0.5, -0.5]),))

    def forward(self, x):
        return torch.trunc(x)

    @fix("rewrite", "use ceil where negative, floor elsewhere")
    def ceil_or_floor(self, x):
        return torch.where(x < 0, torch.ceil(x), torch.floor(x))

    @fix("rewrite", "multiply the sign by the floor of the magnitude", documented=False)
    def floor_of_magnitude(self, x):
        return torch.sign(x) * torch.floor(torch.abs(x))


class DivTruncLargeFloat(Case):
    """torch.div(rounding_mode='trunc') of 1e30 by 3: a cast to int64 overflows."""

    sources = ("onnx/onnx#4588",)
    aten_ops = ("aten::div", "aten::trunc")
    onnx_ops = ("Div", "Cast")
    needs_torch = ">=1.8"
    inputs = (
        (values([7.0, -7.0, 9.5]), values([3.0, 2.0, -2.0])),
        (values([1e30, -1e30, 5e18]), values([3.0, 3.0, 0.5])),
    )

    def forward(self, x, y):
        return torch.div(x, y, rounding_mode="trunc")

    @fix("rewrite", "compute where(q < 0, q.ceil(), q.floor()) of the quotient q")
    def ceil_or_floor(self, x, y):
        quotient = x / y
        return torch.where(quotient < 0, quotient.ceil(), quotient.floor())
