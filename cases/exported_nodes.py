"""The nodes that an operator becomes: one, several, or none because no symbolic is known."""

from contextlib import contextmanager

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix, values


@contextmanager
def registered(name, rule, opset):
    """Register a symbolic (``"::name"`` is torch's own domain) for one export."""
    torch.onnx.register_custom_op_symbolic(name, rule, opset or 9)
    yield
    unregister = getattr(torch.onnx, "unregister_custom_op_symbolic", None)
    if unregister is not None:
        unregister(name, opset or 9)


class ExportOneNode(Case):
    """torch.relu, which has an ONNX counterpart: exports as one node."""

    sources = ("seed:001", "seed:002")
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu",)
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.relu(x)


class ExportSeveralNodes(Case):
    """F.hardswish, which ONNX lacks until opset 14: exports as several nodes."""

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

    def forward(self, x):
        return F.hardswish(x)

    @fix("rewrite", "write it with clamp and mul", documented=False)
    def composed(self, x):
        return x * torch.clamp(x + 3.0, 0.0, 6.0) / 6.0


class ExportNoRule(Case):
    """torch.expm1: no TorchScript symbolic."""

    sources = ("seed:001", "seed:002")
    aten_ops = ("aten::expm1",)
    onnx_ops = ("Exp", "Sub")
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.expm1(x)

    @fix("rewrite", "use exp(x) - 1; loses digits near zero")
    def composed(self, x):
        return torch.exp(x) - 1.0

    custom_symbolic = fix(
        "custom-symbolic",
        "register a symbolic of Exp and Sub",
        patch=lambda opset: registered("::expm1", expm1_rule, opset),
    )


def expm1_rule(g, x):
    """exp(x) - 1, in float32."""
    return g.op("Sub", g.op("Exp", x), g.op("Constant", value_t=torch.tensor(1.0)))
