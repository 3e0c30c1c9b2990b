"""Normalisation layers: group norm."""

from contextlib import contextmanager

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix


@contextmanager
def aten_group_norm(opset):
    """A rule that writes group_norm as one ATen node, as torch/onnx/symbolic.py could be made to."""
    try:
        from torch.onnx import symbolic_helper as helper
    except ImportError:  # 1.0 kept everything in one module
        from torch.onnx import symbolic as helper

    @helper.parse_args("v", "i", "v", "v", "f", "i")
    def rule(g, x, num_groups, weight, bias, eps, cudnn_enabled):
        return g.op(
            "ATen",
            x,
            weight,
            bias,
            operator_s="group_norm",
            num_groups_i=num_groups,
            eps_f=eps,
            cudnn_enabled_i=cudnn_enabled,
        )

    register("group_norm", rule, opset or 9)
    yield


def register(name, rule, opset):
    """Put a rule in the place of torch's own for ``aten::name``, in whatever way this release has."""
    try:
        from torch.onnx import symbolic_registry as registry
    except ImportError:
        registry = None
    if registry is not None and hasattr(registry, "register_op"):  # 1.2 to 1.12; their public call refuses aten::
        try:
            registry.register_version("", opset)
        except KeyError:  # an opset this release does not have: the export itself is to say so
            return
        registry.register_op(name, rule, "", opset)
    elif hasattr(torch.onnx, "register_custom_op_symbolic"):
        torch.onnx.register_custom_op_symbolic("aten::" + name, rule, opset)
    else:  # before 1.2 the functions of a module are the rules
        setattr(rules_module(opset), name, rule)


def rules_module(opset):
    """The module of rules that the exporter looks into: 1.0 has one, 1.1 one for opset 9 and one for each later."""
    try:
        from importlib import import_module

        return import_module("torch.onnx.symbolic_opset{}".format(opset))
    except ImportError:
        from torch.onnx import symbolic

        return symbolic


class GroupNormNoSymbolic(Case):
    """nn.GroupNorm has no export rule in torch 1.0, and an ATen node for one in the releases after it.

    The fix of the time, a rule of one's own that emits the same ATen node, lets the export pass; no ONNX runtime has
    that operator, so the file cannot be loaded.
    """

    sources = ("seed:003", "pytorch/pytorch#26753", "pytorch/pytorch#27071")
    aten_ops = ("aten::group_norm",)
    onnx_ops = ("InstanceNormalization", "GroupNormalization", "ATen")
    inputs = ((f32(2, 6, 5, 5),), (f32(2, 6, 5, 5, low=1.0, high=4.0),), (f32(3, 6, 4, 7),))
    dynamic = {"x": {0: "batch", 2: "height", 3: "width"}}

    def setup(self):
        self.norm = torch.nn.GroupNorm(2, 6)
        self.register_buffer("ones", torch.ones(2))
        self.register_buffer("zeros", torch.zeros(2))

    def forward(self, x):
        return self.norm(x)

    aten_symbolic = fix(
        "custom-symbolic",
        "a rule that emits an ATen node: the export passes, no ONNX runtime can load the file",
        patch=aten_group_norm,
        caution=True,
    )

    @fix("rewrite", "one instance norm over the groups, then the affine part", documented=False)
    def instance_norm(self, x):
        grouped = x.reshape(x.size(0), 2, -1)
        # the rule asks for the channels where no weight is given, and a reshape hides them
        grouped = F.instance_norm(grouped, weight=self.ones, bias=self.zeros, eps=self.norm.eps)
        return grouped.reshape(x.size()) * self.norm.weight.reshape(-1, 1, 1) + self.norm.bias.reshape(-1, 1, 1)

    @fix("rewrite", "mean and variance of each group by hand, then the affine part", documented=False)
    def mean_variance(self, x):
        grouped = x.reshape(x.size(0), 2, -1)
        centred = grouped - grouped.mean(2, keepdim=True)
        variance = (centred * centred).mean(2, keepdim=True)
        normed = (centred / torch.sqrt(variance + self.norm.eps)).reshape(x.size())
        return normed * self.norm.weight.reshape(-1, 1, 1) + self.norm.bias.reshape(-1, 1, 1)

    opset_18 = fix(
        "raise-opset", "export at opset 18, which has a GroupNormalization operator", opset=18, documented=False
    )
    opset_21 = fix(
        "raise-opset", "export at opset 21, where GroupNormalization was corrected", opset=21, documented=False
    )
    newer_torch = fix(
        "version-upgrade",
        "torch 1.4 and later decompose group_norm into InstanceNormalization",
        torch=">=1.4",
        documented=False,
    )
