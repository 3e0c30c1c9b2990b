"""Elementary functions: powers, rounding, clamping, angles, hyperbolic functions, logarithms, ranges of numbers."""

import math
from contextlib import contextmanager

import torch

from caniexport import Case, boolean, f32, fix, i64, values


class ArangeHalf(Case):
    """torch.arange in half precision to a dynamic size: Range takes no half."""

    sources = ("pytorch/pytorch#148041", "ultralytics/ultralytics#19464", "zhiqwang/yolort#113")
    aten_ops = ("aten::arange",)
    onnx_ops = ("Range", "Cast")
    inputs = ((f32(4),), (f32(4),), (f32(7),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return torch.arange(0, x.size(0), dtype=torch.float16)

    def reference(self, x):
        # up to 1.12 eager has no half range on a CPU
        return torch.arange(0, x.size(0), dtype=torch.float32).to(torch.float16)

    @fix("rewrite", "a range in float32, cast to half")
    def cast(self, x):
        return torch.arange(0, x.size(0), dtype=torch.float32).to(torch.float16)

    dynamo = fix("export-option", "the dynamo exporter", exporter="dynamo")


class ArangeOfFloatEnd(Case):
    """torch.arange whose end is a float tensor."""

    sources = ("pytorch/pytorch#27718",)
    aten_ops = ("aten::arange",)
    onnx_ops = ("ConstantOfShape", "Range")
    inputs = ((f32(4),), (f32(4),), (f32(7),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return torch.arange(torch.as_tensor(x.size(0)).float())

    @fix("rewrite", "a range of integers, cast to float", documented=False)
    def integers(self, x):
        return torch.arange(x.size(0)).float()

    opset_11 = fix("raise-opset", "export at opset 11, which has Range", opset=11, documented=False)


class ArangeStartWithoutStep(Case):
    """torch.arange(0, n) to a dynamic size under torch.export."""

    sources = ("microsoft/onnxscript#2924",)
    aten_ops = ("aten::arange",)
    onnx_ops = ("Range",)
    inputs = ((f32(4),), (f32(4),), (f32(7),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return torch.arange(0, x.size(0))

    @fix("rewrite", "the step given: arange(0, n, 1)", documented=False)
    def step_given(self, x):
        return torch.arange(0, x.size(0), 1)


class ClampInt64(Case):
    """clamp of int64: Clip takes floats only below opset 12."""

    id = "clamp-int64"
    sources = ("microsoft/onnxruntime#20674", "pytorch/pytorch#70584")
    aten_ops = ("aten::clamp",)
    onnx_ops = ("Clip", "Max")
    inputs = ((i64(2, 4, low=-9),), (i64(2, 4, low=-9),), (values([[-(2**40), 2**40, 16777217, -1]], "int64"),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return x.clamp(min=0)

    opset_13 = fix("raise-opset", "export at opset 13", opset=13, documented=False)

    @fix("rewrite", "clamp as float32: exact up to 2**24", caution=True, documented=False)
    def as_float(self, x):
        return x.float().clamp(min=0).long()

    @fix("rewrite", "torch.where", documented=False)
    def where(self, x):
        return torch.where(x < 0, torch.zeros_like(x), x)


class RoundOpset10(Case):
    """torch.round needs opset 11; torch rounds halves to even."""

    id = "round-opset-10"
    sources = ("pytorch/pytorch#34290", "pytorch/pytorch#25806", "pytorch/pytorch#32391")
    aten_ops = ("aten::round",)
    onnx_ops = ("Round", "Floor")
    inputs = (
        (values([0.2, 1.7, -0.6]),),
        (values([0.5, 1.5, 2.5]),),
        (values([-0.5, -1.5, 3.5, 4.5]),),
    )
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return torch.round(x)

    opset_11 = fix("raise-opset", "export at opset 11, which has Round", opset=11, documented=False)

    @fix("rewrite", "floor of x and a half: halves go up instead of to even", caution=True, documented=False)
    def floor_of_half_more(self, x):
        return torch.floor(x + 0.5)


class Atan2NoRule(Case):
    """torch.atan2 in all four quadrants."""

    id = "atan2-no-rule"
    sources = ("hova88/PointPillars_MultiHead_40FPS#26",)
    aten_ops = ("aten::atan2",)
    onnx_ops = ("Atan", "Where")
    inputs = (
        (values([1.0, 1.0, -1.0, -1.0]), values([2.0, -2.0, 2.0, -2.0])),
        (values([1.0, -1.0, 0.0, 0.5]), values([0.0, 0.0, -1.0, 3.0])),
        (values([0.0, 2.0, -3.0, -4.0, 0.0]), values([1.0, -1.0, -1.0, 4.0, 2.0])),
    )
    dynamic = {"y": {0: "length"}, "x": {0: "length"}}

    def forward(self, y, x):
        return torch.atan2(y, x)

    @fix("rewrite", "atan of the quotient, corrected by quadrant", documented=False)
    def by_quadrant(self, y, x):
        whole = torch.full_like(x, math.pi)
        turn = torch.where(x < 0, torch.where(y < 0, -whole, whole), torch.zeros_like(x))
        upright = torch.where(y < 0, -whole / 2, whole / 2)
        at_zero = torch.where(y.abs() > 0, upright, torch.zeros_like(x))
        safe = torch.where(x.abs() > 0, x, torch.ones_like(x))
        return torch.where(x.abs() > 0, torch.atan(y / safe) + turn, at_zero)


class Log10NoRule(Case):
    """torch.log10 has no rule before torch 1.11."""

    id = "log10-no-rule"
    sources = ("pytorch/pytorch#64754",)
    aten_ops = ("aten::log10",)
    onnx_ops = ("Log", "Div")
    inputs = ((f32(4, low=0.1, high=9.0),), (f32(4, low=0.1, high=900.0),), (values([1.0, 10.0, 1e-5]),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return torch.log10(x)

    @fix("rewrite", "the natural logarithm over that of 10", documented=False)
    def natural(self, x):
        return torch.log(x) / math.log(10.0)


class PowOfIntBase(Case):
    """torch.pow(2, x) of a float x: the exponent's type is taken from the base."""

    sources = ("pytorch/pytorch#52436",)
    aten_ops = ("aten::pow",)
    onnx_ops = ("Pow", "Cast")
    inputs = ((f32(4),), (values([-1.5, 0.5, 2.0, -3.0]),), (f32(6, low=-4.0, high=4.0),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return torch.pow(2, x)

    @fix("rewrite", "a float base: torch.pow(2.0, x)", documented=False)
    def float_base(self, x):
        return torch.pow(2.0, x)

    @fix("rewrite", "torch.exp of x times the logarithm of 2", documented=False)
    def exponential(self, x):
        return torch.exp(x * math.log(2.0))


class PowOfFloatBaseIntExponent(Case):
    """2.0 ** x of an int64 x."""

    sources = ("microsoft/onnxscript#3036",)
    aten_ops = ("aten::pow",)
    onnx_ops = ("Pow", "Cast")
    inputs = ((i64(4, high=6),), (i64(4, low=-3, high=6),), (i64(7, high=6),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return 2.0**x

    without_optimiser = fix(
        "export-option",
        "optimize=False, with which it was reported",
        export={"optimize": False},
        exporter="dynamo",
        caution=True,
    )

    @fix("rewrite", "the exponent as float32", documented=False)
    def float_exponent(self, x):
        return 2.0 ** x.float()


class PowOfBoolExponent(Case):
    """2 ** mask: Pow takes no bool."""

    sources = ("microsoft/onnxscript#3036",)
    aten_ops = ("aten::pow",)
    onnx_ops = ("Pow", "Cast")
    needs_torch = ">=1.5"
    inputs = ((boolean(5),), (boolean(5),), (boolean(8),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return 2**x

    @fix("rewrite", "the mask as int64", documented=False)
    def as_int64(self, x):
        return 2 ** x.to(torch.int64)


class PowOfIntegersOpset11(Case):
    """A power of integers: Pow takes floats only below opset 12."""

    id = "pow-of-integers-opset-11"
    sources = ("onnx/onnx#2666",)
    aten_ops = ("aten::pow",)
    onnx_ops = ("Pow", "Mul")
    inputs = ((i64(4, low=-9),), (i64(4, low=-9),), (values([-4097, 4097, 3, 0, 1], "int64"),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return x**2

    opset_12 = fix("raise-opset", "export at opset 12, whose Pow takes integers", opset=12)

    @fix("rewrite", "x * x", documented=False)
    def product(self, x):
        return x * x


class RemainderOfFloats(Case):
    """torch.remainder of floats, negative ones too: Mod with fmod=0 takes integers only."""

    sources = ("onnx/onnx#7520", "pytorch/pytorch#24410", "onnx/onnx#6973")
    aten_ops = ("aten::remainder",)
    onnx_ops = ("Mod", "Div", "Floor")
    inputs = (
        (values([5.5, 7.0, 3.25]), values([2.0, 3.0, 1.5])),
        (values([-5.5, 7.0, -3.25]), values([2.0, -3.0, -1.5])),
        (f32(6, low=-9.0, high=9.0), f32(6, low=1.0, high=3.0)),
    )
    dynamic = {"x": {0: "length"}, "y": {0: "length"}}

    def forward(self, x, y):
        return torch.remainder(x, y)

    @fix("rewrite", "x - floor(x / y) * y")
    def floored(self, x, y):
        return x - (x / y).floor() * y


@contextmanager
def registered(name, rule, opset):
    """Register a symbolic (``"::name"`` is torch's own domain) for one export."""
    torch.onnx.register_custom_op_symbolic(name, rule, opset or 9)
    yield
    unregister = getattr(torch.onnx, "unregister_custom_op_symbolic", None)
    if unregister is not None:
        unregister(name, opset or 9)


def foreign_nodes(model):
    """Node types outside ONNX's own domain, and the domains that the file imports."""
    return {
        "foreign": sorted({node.domain + "::" + node.op_type for node in model.graph.node if node.domain}),
        "domains": sorted(item.domain for item in model.opset_import if item.domain),
    }


def asinh_rule(g, x):
    """Asinh is one node from opset 9 on."""
    return g.op("Asinh", x)


class AsinhOpset9(Case):
    """torch.asinh has no rule although ONNX has had Asinh since opset 9."""

    id = "asinh-opset-9"
    sources = ("seed:001", "seed:002")
    aten_ops = ("aten::asinh",)
    onnx_ops = ("Asinh",)
    needs_torch = ">=1.6"
    inputs = (
        (values([-1.0, -0.5, 0.0, 1.0, 1e4]),),
        (values([-1e4, -3.0, -1e-3, 1e-3, 2.0]),),
        (f32(7, low=-5.0, high=5.0),),
    )
    dynamic = {"x": {0: "length"}}
    facts = staticmethod(foreign_nodes)

    def forward(self, x):
        return torch.asinh(x)

    custom_symbolic = fix(
        "custom-symbolic", "one Asinh node", patch=lambda opset: registered("::asinh", asinh_rule, opset)
    )

    @fix("rewrite", "log(x + sqrt(x * x + 1)): cancels for large negative x", caution=True, documented=False)
    def log_rewrite(self, x):
        return torch.log(x + torch.sqrt(x * x + 1))

    @fix("rewrite", "the logarithm of the magnitude, with the sign put back", documented=False)
    def signed_log_rewrite(self, x):
        magnitude = torch.abs(x)
        # log1p's argument keeps small magnitudes, which log(1 + x) would round away
        return torch.sign(x) * torch.log1p(magnitude + x * x / (1 + torch.sqrt(x * x + 1)))


class LogitNoRule(Case):
    """x.logit() has no rule."""

    sources = ("pytorch/pytorch#101969",)
    aten_ops = ("aten::logit",)
    onnx_ops = ("Log", "Div", "Sub")
    needs_torch = ">=1.6"
    inputs = ((f32(2, 4, low=0.1, high=0.9),), (f32(2, 4, low=0.1, high=0.9),), (f32(3, 4, low=0.1, high=0.9),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return x.logit()

    @fix("rewrite", "log(x / (1 - x))")
    def log_of_quotient(self, x):
        return torch.log(x / (1 - x))


class LogitWithEpsilon(Case):
    """torch.logit(x, eps), as detectors undo a sigmoid: outside of eps and 1 - eps it is clamped."""

    sources = ("pytorch/pytorch#101969",)
    aten_ops = ("aten::logit",)
    onnx_ops = ("Log", "Div", "Clip")
    needs_torch = ">=1.6"
    inputs = (
        (f32(2, 4, low=0.1, high=0.9),),
        (values([[0.0, 0.001, 0.5, 1.0], [-1.0, 2.0, 0.999, 0.25]]),),
        (f32(3, 4, low=0.1, high=0.9),),
    )
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.logit(x, eps=0.01)

    @fix("rewrite", "clamped, then log(x / (1 - x))", documented=False)
    def clamped(self, x):
        x = x.clamp(0.01, 0.99)
        return torch.log(x / (1 - x))
