"""Reductions over booleans."""

from contextlib import contextmanager

import torch

from caniexport import Case, fix, values

_INT64 = 7


@contextmanager
def registered(rules, opset):
    """Replace torch's own symbolics of the ``aten`` operators with these names."""
    for name, rule in rules.items():
        register(name, rule, opset or 9)
    yield


def register(name, rule, opset):
    """Replace torch's symbolic of ``aten::name``, in the way that this release supports."""
    try:
        from torch.onnx import symbolic_registry as registry
    except ImportError:
        registry = None
    if registry is not None and hasattr(registry, "register_op"):  # torch 1.2 to 1.12; their public call rejects aten::
        try:
            registry.register_version("", opset)
        except KeyError:  # an opset that this release lacks: the export itself reports it
            return
        registry.register_op(name, rule, "", opset)
    else:
        torch.onnx.register_custom_op_symbolic("aten::" + name, rule, opset)


def rules_with(sum_over, zero):
    """Return symbolics of any and all that compare a count with ``zero``.

    ``sum_over(g, x, axes, keepdim)`` writes the ReduceSum.
    """

    def any_rule(g, x, dim=None, keepdim=None):
        from torch.onnx import symbolic_helper as helper

        axes = None if dim is None else [helper._parse_arg(dim, "i")]
        kept = 0 if keepdim is None else helper._parse_arg(keepdim, "i")
        count = sum_over(g, g.op("Cast", x, to_i=_INT64), axes, kept)
        return g.op("Greater", count, g.op("Constant", value_t=zero))

    def all_rule(g, x, dim=None, keepdim=None):
        return g.op("Not", any_rule(g, g.op("Not", x), dim, keepdim))

    return {"any": any_rule, "all": all_rule}


def through_helper(opset):
    """The documented patch: sum through torch's own helper and compare with a tensor of one zero."""

    def sum_over(g, x, axes, keepdim):
        from torch.onnx import symbolic_helper as helper

        return helper._reducesum_helper(g, x, axes_i=axes, keepdims_i=keepdim)

    return registered(rules_with(sum_over, torch.tensor([0])), opset)


def axes_as_attribute(opset):
    """The same, with the axes always an attribute of ReduceSum; opset 13 has them as an input."""

    def sum_over(g, x, axes, keepdim):
        if axes is None:
            return g.op("ReduceSum", x, keepdims_i=keepdim)
        return g.op("ReduceSum", x, axes_i=axes, keepdims_i=keepdim)

    return registered(rules_with(sum_over, torch.tensor([0])), opset)


def axes_by_opset(opset):
    """Write the axes as this opset has them, without torch's helper, and a zero without dimensions."""

    def sum_over(g, x, axes, keepdim):
        if axes is None:
            return g.op("ReduceSum", x, keepdims_i=keepdim)
        if (opset or 9) < 13:
            return g.op("ReduceSum", x, axes_i=axes, keepdims_i=keepdim)
        return g.op("ReduceSum", x, g.op("Constant", value_t=torch.tensor(axes)), keepdims_i=keepdim)

    return registered(rules_with(sum_over, torch.tensor(0)), opset)


class AnySymbolicArity(Case):
    """torch.any(x, dim) on torch 1.10: the symbolic does not accept dim."""

    needs_torch = ">=1.2"
    sources = ("seed:004",)
    aten_ops = ("aten::any",)
    onnx_ops = ("ReduceSum", "Cast", "Greater")
    inputs = (
        (values([[True, False, True], [False, False, False]], "bool"),),
        (values([[False, False, False], [True, True, True]], "bool"),),
        (values([[False, True, False], [False, False, False], [True, True, True]], "bool"),),
    )
    dynamic = {"x": {0: "rows"}}

    def forward(self, x):
        return torch.any(x, 1)

    patch_any_and_all = fix(
        "custom-symbolic",
        "register symbolics for any and all that accept dim and keepdim and use torch's helper",
        patch=through_helper,
    )
    patch_with_axes_attribute = fix(
        "custom-symbolic",
        "the same with axes as an attribute of ReduceSum at every opset; wrong from 13 on",
        patch=axes_as_attribute,
        caution=True,
        documented=False,
    )
    patch_by_opset = fix(
        "custom-symbolic",
        "the same with axes as an attribute below opset 13 and as an input from 13 on",
        patch=axes_by_opset,
        documented=False,
    )

    @fix("rewrite", "count along the axis and compare with zero", documented=False)
    def count_along_axis(self, x):
        return x.long().sum(1) > 0

    newer_torch = fix(
        "version-upgrade", "use a later release, whose symbolics accept dim", torch=">=1.11", documented=False
    )


class AnyKeepdimSymbolicArity(AnySymbolicArity):
    """torch.any(x, dim, keepdim) on torch 1.10: the symbolic accepts neither."""

    def forward(self, x):
        return torch.any(x, 1, True)

    @fix("rewrite", "count along the axis and compare with zero", documented=False)
    def count_along_axis(self, x):
        return x.long().sum(1, keepdim=True) > 0


class AllSymbolicArity(AnySymbolicArity):
    """torch.all(x, dim) on torch 1.10: the symbolic does not accept dim."""

    aten_ops = ("aten::all",)
    onnx_ops = ("ReduceSum", "Cast", "Greater", "Not")

    def forward(self, x):
        return torch.all(x, 1)

    @fix("rewrite", "check that no value along the axis is false", documented=False)
    def count_along_axis(self, x):
        return (1 - x.long()).sum(1) == 0


class AnyAllWithoutDim(Case):
    """torch.any(x) and torch.all(x) without dim: wrong output shape on torch 1.10."""

    needs_torch = ">=1.2"
    sources = ("seed:004",)
    aten_ops = ("aten::any", "aten::all")
    onnx_ops = ("ReduceSum", "Cast", "Greater", "Not")
    inputs = (
        (values([[True, False, True], [False, False, False]], "bool"),),
        (values([[False, False, False], [False, False, False]], "bool"),),
        (values([[True, True, True], [True, True, True], [True, True, True]], "bool"),),
    )
    dynamic = {"x": {0: "rows"}}

    def forward(self, x):
        return torch.any(x), torch.all(x)

    @fix("rewrite", "count everything and compare with zero", documented=False)
    def count_everything(self, x):
        return x.long().sum() > 0, (1 - x.long()).sum() == 0

    patch_any_and_all = fix(
        "custom-symbolic",
        "register symbolics for any and all that accept dim and keepdim and use torch's helper",
        patch=through_helper,
    )
    patch_by_opset = fix(
        "custom-symbolic",
        "the same with a zero without dimensions; the outputs keep their shape",
        patch=axes_by_opset,
        documented=False,
    )
