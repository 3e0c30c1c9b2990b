"""Which nodes an operator becomes: one, several, or none because no rule is known."""

from contextlib import contextmanager

import torch
import torch.nn.functional as F

from caniexport import Case, Claim, f32, fix, values


@contextmanager
def registered(name, rule, opset):
    """Register a symbolic (``"::name"`` is torch's own domain) for one export."""
    torch.onnx.register_custom_op_symbolic(name, rule, opset or 9)
    yield
    unregister = getattr(torch.onnx, "unregister_custom_op_symbolic", None)
    if unregister is not None:
        unregister(name, opset or 9)


class ExportOneNode(Case):
    """An operator with an ONNX counterpart becomes one node."""

    records = ("export-three-mapping-outcomes",)
    sources = ("seed:001", "seed:002")
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu",)
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}
    claims = (
        Claim(
            "seed:001",
            "one to one",
            record="export-three-mapping-outcomes",
            status="pass",
            opset=">=9",
            ops={"Relu": 1},
        ),
    )

    def forward(self, x):
        return torch.relu(x)


class ExportSeveralNodes(Case):
    """An operator that ONNX lacks becomes several nodes: hardswish, until opset 14."""

    records = ("export-three-mapping-outcomes",)
    sources = ("seed:001", "seed:002")
    aten_ops = ("aten::hardswish",)
    onnx_ops = ("HardSwish", "Mul", "Clip", "Add", "Div", "HardSigmoid")
    needs_torch = ">=1.6"
    inputs = (
        (values([-4.0, -3.0, -1.0, 0.5, 3.0, 5.0]),),
        (values([-2.9, 2.9, 0.0, 1.0, -6.0, 6.0]),),
        (f32(9, low=-4.0, high=4.0),),
    )
    dynamic = {"x": {0: "length"}}
    claims = (
        Claim(
            "seed:001",
            "one operator becomes several nodes where ONNX has none for it",
            opset="9-13",
            torch=">=1.8",
            record="export-three-mapping-outcomes",
            status="pass",
            ops={"Mul": 1},
        ),
        Claim(
            "catalogue",
            "from opset 14 it is one node",
            opset=">=14",
            torch=">=1.10",
            record="export-three-mapping-outcomes",
            status="pass",
            ops={"HardSwish": 1},
        ),
    )

    def forward(self, x):
        return F.hardswish(x)

    @fix("rewrite", "the same out of clamp and mul", documented=False)
    def composed(self, x):
        return x * torch.clamp(x + 3.0, 0.0, 6.0) / 6.0


class ExportNoRule(Case):
    """An operator that nobody wrote a rule for is refused: torch.expm1."""

    records = ("export-three-mapping-outcomes",)
    sources = ("seed:001", "seed:002")
    aten_ops = ("aten::expm1",)
    onnx_ops = ("Exp", "Sub")
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}
    claims = (
        Claim(
            "seed:001",
            "no rule, no file",
            record="export-three-mapping-outcomes",
            status="fail",
            stage="export",
            opset="9-17",
        ),
        Claim(
            "seed:001",
            "a rule is what is missing",
            record="export-three-mapping-outcomes",
            opset="9-17",
            variant="custom_symbolic",
            status="pass",
        ),
        Claim(
            "seed:001",
            "and so are operators that have one",
            record="export-three-mapping-outcomes",
            opset="9-17",
            variant="composed",
            status="pass",
        ),
    )

    def forward(self, x):
        return torch.expm1(x)

    @fix("rewrite", "exp(x) - 1 (loses digits near zero)")
    def composed(self, x):
        return torch.exp(x) - 1.0

    custom_symbolic = fix(
        "custom-symbolic", "a rule of Exp and Sub", patch=lambda opset: registered("::expm1", expm1_rule, opset)
    )


def expm1_rule(g, x):
    """exp(x) - 1, in float32."""
    return g.op("Sub", g.op("Exp", x), g.op("Constant", value_t=torch.tensor(1.0)))
