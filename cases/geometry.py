"""Vector geometry: cross products."""

from contextlib import contextmanager

import torch

from caniexport import Case, f32, fix


def components(x0, x1, x2, y0, y1, y2):
    """Return the three components of a cross product, from the components of its factors."""
    return x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0


@contextmanager
def cross_symbolic(opset):
    """Register a symbolic for aten::cross with an explicit dim, made of Slice, Mul, Sub and Concat."""
    from torch.onnx import register_custom_op_symbolic, symbolic_helper

    def part(g, x, dim, i):
        if opset is not None and opset < 10:
            return g.op("Slice", x, axes_i=[dim], starts_i=[i], ends_i=[i + 1])
        start, end, axis = (g.op("Constant", value_t=torch.tensor([v])) for v in (i, i + 1, dim))
        return g.op("Slice", x, start, end, axis)

    def term(g, x, y, dim, i, j):
        return g.op(
            "Sub",
            g.op("Mul", part(g, x, dim, i), part(g, y, dim, j)),
            g.op("Mul", part(g, x, dim, j), part(g, y, dim, i)),
        )

    def cross(g, x, y, dim):
        dim = symbolic_helper._parse_arg(dim, "i")
        return g.op("Concat", *[term(g, x, y, dim, i, j) for i, j in ((1, 2), (2, 0), (0, 1))], axis_i=dim)

    # "::cross" rather than "aten::cross": torch before 1.12 refuses the domain aten by name
    for name in ("::cross", "::linalg_cross"):
        register_custom_op_symbolic(name, cross, opset or 9)
    yield
    unregister = getattr(torch.onnx, "unregister_custom_op_symbolic", None)
    for name in ("::cross", "::linalg_cross") if unregister is not None else ():
        unregister(name, opset or 9)


class CrossNoSymbolic(Case):
    """torch.cross: no TorchScript symbolic before torch 1.12.

    The case calls it before a convolution.
    """

    sources = ("seed:000", "onnx/onnx#2683")
    aten_ops = ("aten::cross", "aten::linalg_cross")
    onnx_ops = ("Slice", "Gather", "Mul", "Sub", "Concat", "Unsqueeze")
    inputs = (
        (f32(2, 3, 5, 5), f32(2, 3, 5, 5)),
        (f32(2, 3, 5, 5), f32(2, 3, 5, 5)),
        (f32(3, 3, 5, 5), f32(3, 3, 5, 5)),
    )
    dynamic = {"x": {0: "batch"}, "y": {0: "batch"}}

    def setup(self):
        self.conv = torch.nn.Conv2d(3, 4, 3)

    def forward(self, x, y):
        return self.conv(torch.cross(x, y, dim=1))

    @fix("rewrite", "stack three slice products on the dim of the slices")
    def stack_rewrite(self, x, y):
        x0, x1, x2 = x[:, 0], x[:, 1], x[:, 2]
        y0, y1, y2 = y[:, 0], y[:, 1], y[:, 2]
        return self.conv(torch.stack((x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0), dim=1))

    custom_symbolic = fix(
        "custom-symbolic",
        "register a symbolic for aten::cross and aten::linalg_cross",
        patch=cross_symbolic,
        documented=False,
    )

    newer_torch = fix(
        "version-upgrade",
        "upgrade to torch 1.12 or later, which has a symbolic for cross",
        torch=">=1.12",
        documented=False,
    )

    @fix(
        "rewrite", "exchange two components; wrong, and detected by factors that differ", caution=True, documented=False
    )
    def exchanged_components(self, x, y):
        first, second, third = components(x[:, 0], x[:, 1], x[:, 2], y[:, 0], y[:, 1], y[:, 2])
        return self.conv(torch.stack((second, first, third), dim=1))


class CrossSelfIsZeroDegenerateTest(Case):
    """torch.cross of a tensor with itself is zero: no wrong rewrite is detected.

    A demo does this. The same exchanged components are a mismatch in cross-no-symbolic, where the two factors differ.
    """

    sources = ("seed:000",)
    aten_ops = ("aten::cross", "aten::linalg_cross")
    inputs = ((f32(2, 3, 5, 5),), (f32(2, 3, 5, 5),), (f32(3, 3, 5, 5),))
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        self.conv = torch.nn.Conv2d(3, 4, 3)

    def forward(self, x):
        return self.conv(torch.cross(x, x, dim=1))

    @fix("rewrite", "stack three slice products on the dim of the slices")
    def stack_rewrite(self, x):
        parts = components(x[:, 0], x[:, 1], x[:, 2], x[:, 0], x[:, 1], x[:, 2])
        return self.conv(torch.stack(parts, dim=1))

    @fix("rewrite", "exchange two components; wrong, but works in this demo", caution=True, documented=False)
    def exchanged_components(self, x):
        first, second, third = components(x[:, 0], x[:, 1], x[:, 2], x[:, 0], x[:, 1], x[:, 2])
        return self.conv(torch.stack((second, first, third), dim=1))


class CrossDefaultDimFirstSize3(Case):
    """torch.cross without dim: a batch of 3 changes the axis.

    The first axis of size 3 is used.
    """

    sources = ("seed:000",)
    aten_ops = ("aten::cross", "aten::linalg_cross")
    inputs = ((f32(2, 3, 4, 4), f32(2, 3, 4, 4)), (f32(3, 3, 4, 4), f32(3, 3, 4, 4)))
    dynamic = {"x": {0: "batch"}, "y": {0: "batch"}}

    def forward(self, x, y):
        return torch.cross(x, y)

    @fix("rewrite", "pass dim; differs from the original code where the batch is 3", changes_values=True)
    def explicit_dim(self, x, y):
        return torch.cross(x, y, dim=1)

    @fix("rewrite", "write slice products on an explicit dim, where cross has no symbolic", changes_values=True)
    def stack_rewrite(self, x, y):
        return torch.stack(components(x[:, 0], x[:, 1], x[:, 2], y[:, 0], y[:, 1], y[:, 2]), dim=1)

    @fix(
        "rewrite",
        "use torch.linalg.cross, whose default is the last dim; needs torch 1.11",
        changes_values=True,
        documented=False,
    )
    def linalg_cross(self, x, y):
        return torch.linalg.cross(x, y, dim=1)


class CrossRewriteDimArgumentHalfApplied(Case):
    """torch.cross rewrite that stacks on dim but slices on 1: wrong for dim=2.

    It gives no error.
    """

    sources = ("seed:000",)
    aten_ops = ("aten::cross", "aten::linalg_cross")
    onnx_ops = ("Slice", "Gather", "Mul", "Sub", "Concat", "Unsqueeze")
    inputs = (
        (f32(2, 3, 3, 5), f32(2, 3, 3, 5)),
        (f32(2, 3, 3, 5), f32(2, 3, 3, 5)),
        (f32(4, 3, 3, 5), f32(4, 3, 3, 5)),
    )
    dynamic = {"x": {0: "batch"}, "y": {0: "batch"}}

    def forward(self, x, y):
        return torch.cross(x, y, dim=2)

    @fix("rewrite", "stack on dim, but slice on axis 1", caution=True)
    def stack_on_dim_only(self, x, y):
        return torch.stack(components(x[:, 0], x[:, 1], x[:, 2], y[:, 0], y[:, 1], y[:, 2]), dim=2)

    @fix("rewrite", "slice on the stacked dim, with select", documented=False)
    def select_on_dim(self, x, y):
        x0, x1, x2 = x.select(2, 0), x.select(2, 1), x.select(2, 2)
        y0, y1, y2 = y.select(2, 0), y.select(2, 1), y.select(2, 2)
        return torch.stack(components(x0, x1, x2, y0, y1, y2), dim=2)

    @fix("rewrite", "slice on the stacked dim, with unbind", documented=False)
    def unbind_on_dim(self, x, y):
        x0, x1, x2 = x.unbind(2)
        y0, y1, y2 = y.unbind(2)
        return torch.stack(components(x0, x1, x2, y0, y1, y2), dim=2)


class CrossRewriteRejectsRankBroadcast(Case):
    """torch.cross rewrite that asserts equal ranks: rejects a vector to broadcast.

    torch 1.12 broadcasts over ranks. 1.10 broadcasts nothing, and later releases broadcast sizes only.
    """

    sources = ("seed:000",)
    aten_ops = ("aten::cross", "aten::linalg_cross")
    inputs = ((f32(2, 4, 3), f32(3)), (f32(2, 4, 3), f32(3)), (f32(5, 4, 3), f32(3)))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x, y):
        return torch.cross(x, y, dim=-1)

    def reference(self, x, y):
        x0, x1, x2 = x[..., 0], x[..., 1], x[..., 2]
        return torch.stack((x1 * y[2] - x2 * y[1], x2 * y[0] - x0 * y[2], x0 * y[1] - x1 * y[0]), dim=-1)

    @fix("rewrite", "slice on the last dim, after asserting equal ranks", caution=True)
    def assert_equal_ranks(self, x, y):
        assert x.dim() == y.dim()
        parts = components(x[..., 0], x[..., 1], x[..., 2], y[..., 0], y[..., 1], y[..., 2])
        return torch.stack(parts, dim=-1)

    @fix("rewrite", "expand the vector to the other's shape, then slice", documented=False)
    def expand_then_slice(self, x, y):
        y = y.expand_as(x)
        parts = components(x[..., 0], x[..., 1], x[..., 2], y[..., 0], y[..., 1], y[..., 2])
        return torch.stack(parts, dim=-1)

    @fix("rewrite", "use broadcast_tensors, then slice", documented=False)
    def broadcast_then_slice(self, x, y):
        x, y = torch.broadcast_tensors(x, y)
        parts = components(x[..., 0], x[..., 1], x[..., 2], y[..., 0], y[..., 1], y[..., 2])
        return torch.stack(parts, dim=-1)
