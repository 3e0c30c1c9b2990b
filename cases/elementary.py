"""Elementary functions: powers, rounding, clamping, angles, hyperbolic functions, logarithms, ranges of numbers."""

import math
from contextlib import contextmanager

import torch

from caniexport import Case, boolean, f32, fix, i64, values


class ArangeHalf(Case):
    """torch.arange in float16 to a dynamic size: Range does not accept float16."""

    sources = ("pytorch/pytorch#148041", "ultralytics/ultralytics#19464", "zhiqwang/yolort#113")
    aten_ops = ("aten::arange",)
    onnx_ops = ("Range", "Cast")
    inputs = ((f32(4),), (f32(4),), (f32(7),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return torch.arange(0, x.size(0), dtype=torch.float16)

    def reference(self, x):
        # up to 1.12, eager has no float16 arange on a CPU
        return torch.arange(0, x.size(0), dtype=torch.float32).to(torch.float16)

    @fix("rewrite", "use a range in float32, cast to float16")
    def cast(self, x):
        return torch.arange(0, x.size(0), dtype=torch.float32).to(torch.float16)

    dynamo = fix("export-option", "export with dynamo=True", exporter="dynamo")


class ArangeOfFloatEnd(Case):
    """torch.arange with a float tensor as its end: ConstantOfShape gets a float."""

    sources = ("pytorch/pytorch#27718",)
    aten_ops = ("aten::arange",)
    onnx_ops = ("ConstantOfShape", "Range")
    inputs = ((f32(4),), (f32(4),), (f32(7),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return torch.arange(torch.as_tensor(x.size(0)).float())

    @fix("rewrite", "use a range of integers, cast to float", documented=False)
    def integers(self, x):
        return torch.arange(x.size(0)).float()

    opset_11 = fix("raise-opset", "export at opset 11, which has Range", opset=11, documented=False)


class ArangeStartWithoutStep(Case):
    """torch.arange(0, n) to a dynamic size: dynamo reported to infer another type."""

    sources = ("microsoft/onnxscript#2924",)
    aten_ops = ("aten::arange",)
    onnx_ops = ("Range",)
    inputs = ((f32(4),), (f32(4),), (f32(7),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return torch.arange(0, x.size(0))

    @fix("rewrite", "pass the step: arange(0, n, 1)", documented=False)
    def step_given(self, x):
        return torch.arange(0, x.size(0), 1)


class ClampInt64(Case):
    """clamp of int64: Clip accepts only floats below opset 12."""

    id = "clamp-int64"
    sources = ("microsoft/onnxruntime#20674", "pytorch/pytorch#70584")
    aten_ops = ("aten::clamp",)
    onnx_ops = ("Clip", "Max")
    inputs = ((i64(2, 4, low=-9),), (i64(2, 4, low=-9),), (values([[-(2**40), 2**40, 16777217, -1]], "int64"),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return x.clamp(min=0)

    opset_13 = fix("raise-opset", "export at opset 13", opset=13, documented=False)

    @fix("rewrite", "clamp as float32; exact up to 2**24", caution=True, documented=False)
    def as_float(self, x):
        return x.float().clamp(min=0).long()

    @fix("rewrite", "use torch.where", documented=False)
    def where(self, x):
        return torch.where(x < 0, torch.zeros_like(x), x)


class RoundOpset10(Case):
    """torch.round: TorchScript needs opset 11.

    torch rounds halves to even.
    """

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

    @fix("rewrite", "use floor(x + 0.5); halves go up instead of to even", caution=True, documented=False)
    def floor_of_half_more(self, x):
        return torch.floor(x + 0.5)


class Atan2NoRule(Case):
    """torch.atan2 in all four quadrants: wrong sign at y = 0 and negative x.

    TorchScript has no symbolic before torch 2.1.
    """

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

    @fix("rewrite", "use atan of the quotient, corrected by quadrant", documented=False)
    def by_quadrant(self, y, x):
        whole = torch.full_like(x, math.pi)
        turn = torch.where(x < 0, torch.where(y < 0, -whole, whole), torch.zeros_like(x))
        upright = torch.where(y < 0, -whole / 2, whole / 2)
        at_zero = torch.where(y.abs() > 0, upright, torch.zeros_like(x))
        safe = torch.where(x.abs() > 0, x, torch.ones_like(x))
        return torch.where(x.abs() > 0, torch.atan(y / safe) + turn, at_zero)


class Log10NoRule(Case):
    """torch.log10: no TorchScript symbolic before torch 1.11."""

    id = "log10-no-rule"
    sources = ("pytorch/pytorch#64754",)
    aten_ops = ("aten::log10",)
    onnx_ops = ("Log", "Div")
    inputs = ((f32(4, low=0.1, high=9.0),), (f32(4, low=0.1, high=900.0),), (values([1.0, 10.0, 1e-5]),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return torch.log10(x)

    @fix("rewrite", "divide the natural logarithm by that of 10", documented=False)
    def natural(self, x):
        return torch.log(x) / math.log(10.0)


class PowOfIntBase(Case):
    """torch.pow(2, x) of a float x: the exponent is cast to the type of the base."""

    sources = ("pytorch/pytorch#52436",)
    aten_ops = ("aten::pow",)
    onnx_ops = ("Pow", "Cast")
    inputs = ((f32(4),), (values([-1.5, 0.5, 2.0, -3.0]),), (f32(6, low=-4.0, high=4.0),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return torch.pow(2, x)

    @fix("rewrite", "use a float base: torch.pow(2.0, x)", documented=False)
    def float_base(self, x):
        return torch.pow(2.0, x)

    @fix("rewrite", "use torch.exp of x times the logarithm of 2", documented=False)
    def exponential(self, x):
        return torch.exp(x * math.log(2.0))


class PowOfFloatBaseIntExponent(Case):
    """2.0 ** x of an int64 x: the output type is reported as a mismatch."""

    sources = ("microsoft/onnxscript#3036",)
    aten_ops = ("aten::pow",)
    onnx_ops = ("Pow", "Cast")
    inputs = ((i64(4, high=6),), (i64(4, low=-3, high=6),), (i64(7, high=6),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return 2.0**x

    without_optimiser = fix(
        "export-option",
        "pass optimize=False, as in the report",
        export={"optimize": False},
        exporter="dynamo",
        caution=True,
    )

    @fix("rewrite", "convert the exponent to float32", documented=False)
    def float_exponent(self, x):
        return 2.0 ** x.float()


class PowOfBoolExponent(Case):
    """2 ** mask of bools: Pow does not accept bool."""

    sources = ("microsoft/onnxscript#3036",)
    aten_ops = ("aten::pow",)
    onnx_ops = ("Pow", "Cast")
    needs_torch = ">=1.5"
    inputs = ((boolean(5),), (boolean(5),), (boolean(8),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return 2**x

    @fix("rewrite", "cast the mask to int64", documented=False)
    def as_int64(self, x):
        return 2 ** x.to(torch.int64)


class PowOfIntegersOpset11(Case):
    """x ** 2 of integers: Pow accepts only floats below opset 12."""

    id = "pow-of-integers-opset-11"
    sources = ("onnx/onnx#2666",)
    aten_ops = ("aten::pow",)
    onnx_ops = ("Pow", "Mul")
    inputs = ((i64(4, low=-9),), (i64(4, low=-9),), (values([-4097, 4097, 3, 0, 1], "int64"),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return x**2

    opset_12 = fix("raise-opset", "export at opset 12, whose Pow accepts integers", opset=12)

    @fix("rewrite", "use x * x", documented=False)
    def product(self, x):
        return x * x


class RemainderOfFloats(Case):
    """torch.remainder of floats: Mod with fmod=0 accepts integers only.

    The inputs include negative values.
    """

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

    @fix("rewrite", "use x - floor(x / y) * y")
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
    """Return the node types outside ONNX's own domain, and the domains that the ONNX file imports."""
    return {
        "foreign": sorted({node.domain + "::" + node.op_type for node in model.graph.node if node.domain}),
        "domains": sorted(item.domain for item in model.opset_import if item.domain),
    }


def asinh_rule(g, x):
    """Asinh is one node from opset 9 on."""
    return g.op("Asinh", x)


class AsinhOpset9(Case):
    """torch.asinh: no TorchScript symbolic although ONNX has Asinh from opset 9 on."""

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
        "custom-symbolic",
        "register a symbolic that writes one Asinh node",
        patch=lambda opset: registered("::asinh", asinh_rule, opset),
    )

    @fix(
        "rewrite",
        "use log(x + sqrt(x * x + 1)); large negative x are lost to cancellation",
        caution=True,
        documented=False,
    )
    def log_rewrite(self, x):
        return torch.log(x + torch.sqrt(x * x + 1))

    @fix("rewrite", "use the logarithm of the magnitude, with the sign restored", documented=False)
    def signed_log_rewrite(self, x):
        magnitude = torch.abs(x)
        # log1p keeps small magnitudes, which log(1 + x) would round away
        return torch.sign(x) * torch.log1p(magnitude + x * x / (1 + torch.sqrt(x * x + 1)))


class LogitNoRule(Case):
    """x.logit(): no TorchScript symbolic before torch 2.1."""

    sources = ("pytorch/pytorch#101969",)
    aten_ops = ("aten::logit",)
    onnx_ops = ("Log", "Div", "Sub")
    needs_torch = ">=1.6"
    inputs = ((f32(2, 4, low=0.1, high=0.9),), (f32(2, 4, low=0.1, high=0.9),), (f32(3, 4, low=0.1, high=0.9),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return x.logit()

    @fix("rewrite", "use log(x / (1 - x))")
    def log_of_quotient(self, x):
        return torch.log(x / (1 - x))


class LogitWithEpsilon(Case):
    """torch.logit(x, eps): no TorchScript symbolic before torch 2.1.

    Detectors undo a sigmoid this way. Values outside eps and 1 - eps are clamped.
    """

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

    @fix("rewrite", "clamp, then use log(x / (1 - x))", documented=False)
    def clamped(self, x):
        x = x.clamp(0.01, 0.99)
        return torch.log(x / (1 - x))
