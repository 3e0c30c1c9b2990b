"""Vector geometry: cross products."""

from contextlib import contextmanager

import torch

from caniexport import Case, f32, fix


def components(x0, x1, x2, y0, y1, y2):
    """The three components of a cross product, from the components of its factors."""
    return x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0


@contextmanager
def cross_symbolic(opset):
    """A rule for aten::cross with an explicit dim, out of Slice, Mul, Sub and Concat."""
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
    """torch.cross before a convolution is refused: the TorchScript exporter has no rule for it."""

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

    @fix("rewrite", "three slice products, stacked on the dim they were taken from")
    def stack_rewrite(self, x, y):
        x0, x1, x2 = x[:, 0], x[:, 1], x[:, 2]
        y0, y1, y2 = y[:, 0], y[:, 1], y[:, 2]
        return self.conv(torch.stack((x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0), dim=1))

    custom_symbolic = fix(
        "custom-symbolic",
        "a rule of one's own for aten::cross and aten::linalg_cross",
        patch=cross_symbolic,
        documented=False,
    )

    newer_torch = fix("version-upgrade", "torch 1.12 and later have a rule for cross", torch=">=1.12", documented=False)

    @fix(
        "rewrite", "two components exchanged: wrong, and caught by factors that differ", caution=True, documented=False
    )
    def exchanged_components(self, x, y):
        first, second, third = components(x[:, 0], x[:, 1], x[:, 2], y[:, 0], y[:, 1], y[:, 2])
        return self.conv(torch.stack((second, first, third), dim=1))


class CrossSelfIsZeroDegenerateTest(Case):
    """A demo that feeds torch.cross one tensor twice gives zeros: every wrong rewrite passes.

    The same exchanged components are a mismatch in cross-no-symbolic, where the two factors differ.
    """

    sources = ("seed:000",)
    aten_ops = ("aten::cross", "aten::linalg_cross")
    inputs = ((f32(2, 3, 5, 5),), (f32(2, 3, 5, 5),), (f32(3, 3, 5, 5),))
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        self.conv = torch.nn.Conv2d(3, 4, 3)

    def forward(self, x):
        return self.conv(torch.cross(x, x, dim=1))

    @fix("rewrite", "three slice products, stacked on the dim they were taken from")
    def stack_rewrite(self, x):
        parts = components(x[:, 0], x[:, 1], x[:, 2], x[:, 0], x[:, 1], x[:, 2])
        return self.conv(torch.stack(parts, dim=1))

    @fix("rewrite", "two components exchanged: wrong, and passes all the same", caution=True, documented=False)
    def exchanged_components(self, x):
        first, second, third = components(x[:, 0], x[:, 1], x[:, 2], x[:, 0], x[:, 1], x[:, 2])
        return self.conv(torch.stack((second, first, third), dim=1))


class CrossDefaultDimFirstSize3(Case):
    """torch.cross without dim takes the first axis of size 3: a batch of 3 changes the axis."""

    sources = ("seed:000",)
    aten_ops = ("aten::cross", "aten::linalg_cross")
    inputs = ((f32(2, 3, 4, 4), f32(2, 3, 4, 4)), (f32(3, 3, 4, 4), f32(3, 3, 4, 4)))
    dynamic = {"x": {0: "batch"}, "y": {0: "batch"}}

    def forward(self, x, y):
        return torch.cross(x, y)

    @fix("rewrite", "say dim (differs from the failing form where the batch is 3)", changes_values=True)
    def explicit_dim(self, x, y):
        return torch.cross(x, y, dim=1)

    @fix("rewrite", "slice products on an explicit dim, where cross has no rule", changes_values=True)
    def stack_rewrite(self, x, y):
        return torch.stack(components(x[:, 0], x[:, 1], x[:, 2], y[:, 0], y[:, 1], y[:, 2]), dim=1)

    @fix(
        "rewrite",
        "torch.linalg.cross (1.11 and later), whose default is the last dim",
        changes_values=True,
        documented=False,
    )
    def linalg_cross(self, x, y):
        return torch.linalg.cross(x, y, dim=1)


class CrossRewriteDimArgumentHalfApplied(Case):
    """A cross rewrite that stacks on dim but slices on 1 is wrong for dim=2, without an error."""

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

    @fix("rewrite", "only the stack honours dim; the slices stay on axis 1", caution=True)
    def stack_on_dim_only(self, x, y):
        return torch.stack(components(x[:, 0], x[:, 1], x[:, 2], y[:, 0], y[:, 1], y[:, 2]), dim=2)

    @fix("rewrite", "slices taken on the stacked dim, with select", documented=False)
    def select_on_dim(self, x, y):
        x0, x1, x2 = x.select(2, 0), x.select(2, 1), x.select(2, 2)
        y0, y1, y2 = y.select(2, 0), y.select(2, 1), y.select(2, 2)
        return torch.stack(components(x0, x1, x2, y0, y1, y2), dim=2)

    @fix("rewrite", "slices taken on the stacked dim, with unbind", documented=False)
    def unbind_on_dim(self, x, y):
        x0, x1, x2 = x.unbind(2)
        y0, y1, y2 = y.unbind(2)
        return torch.stack(components(x0, x1, x2, y0, y1, y2), dim=2)


class CrossRewriteRejectsRankBroadcast(Case):
    """A cross rewrite that asserts equal ranks refuses a vector that torch.cross broadcasts.

    torch 1.12 broadcasts over ranks; 1.10 broadcasts nothing, and later releases sizes only.
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

    @fix("rewrite", "slices on the last dim, after asserting that the ranks are equal", caution=True)
    def assert_equal_ranks(self, x, y):
        assert x.dim() == y.dim()
        parts = components(x[..., 0], x[..., 1], x[..., 2], y[..., 0], y[..., 1], y[..., 2])
        return torch.stack(parts, dim=-1)

    @fix("rewrite", "expand the vector to the other's shape first, then slice", documented=False)
    def expand_then_slice(self, x, y):
        y = y.expand_as(x)
        parts = components(x[..., 0], x[..., 1], x[..., 2], y[..., 0], y[..., 1], y[..., 2])
        return torch.stack(parts, dim=-1)

    @fix("rewrite", "broadcast_tensors first, then slice", documented=False)
    def broadcast_then_slice(self, x, y):
        x, y = torch.broadcast_tensors(x, y)
        parts = components(x[..., 0], x[..., 1], x[..., 2], y[..., 0], y[..., 1], y[..., 2])
        return torch.stack(parts, dim=-1)
