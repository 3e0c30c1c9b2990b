"""Trigonometric and hyperbolic functions that need an opset, or a rule of one's own."""

from contextlib import contextmanager

import torch

from caniexport import Case, f32, fix, values


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
