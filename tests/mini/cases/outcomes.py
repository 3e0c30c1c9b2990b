"""One case for each way in which a cell can end by itself."""

# ruff: noqa: RUF012  # class attributes are declarations

import torch

from caniexport import Case, f32, fix, values


class Passes(Case):
    """A scaled addition with a dynamic batch."""

    sources = ("mini:pass",)
    aten_ops = ("mini::add", "mini::mul")
    inputs = ((f32(2, 3), f32(2, 3)), (f32(4, 3), f32(4, 3)))
    dynamic = {"x": {0: "batch"}, "y": {0: "batch"}}

    def setup(self):
        self.scale = torch.nn.Scale(3)

    def forward(self, x, y):
        return self.scale(x) + y, -x


class FailsInEager(Case):
    """The module refuses its own input."""

    sources = ("mini:eager",)
    exporters = ("torchscript-trace", "default")
    inputs = ((f32(2),), (f32(2),))

    def forward(self, x):
        raise ValueError(f"expected at least 3 features, got {x.shape[0]}")


class FailsAtLoad(Case):
    """The runtime has no kernel for the operator."""

    sources = ("mini:load",)
    exporters = ("torchscript-trace", "default")
    onnx_ops = ("Cos",)
    inputs = ((f32(2),), (f32(2),))

    def forward(self, x):
        return torch.cos(x)


class FailsAtRun(Case):
    """A batch written into the file refuses every other batch."""

    sources = ("mini:run",)
    exporters = ("torchscript-trace", "default")
    inputs = ((f32(2, 3),), (f32(4, 3),))

    def forward(self, x):
        return torch.abs(x)

    dynamic_batch = fix("export-option", "name the axis that changes", dynamic={"x": {0: "batch"}})


class BakedValue(Case):
    """A number taken out of a tensor is written into the trace."""

    sources = ("mini:baked",)
    aten_ops = ("mini::item",)
    inputs = ((values([2.0, 3.0]),), (values([5.0, 7.0]),))

    def forward(self, x):
        return x * x[0].item()

    @fix("rewrite", "keep the number a tensor")
    def keep_tensor(self, x):
        return x * x[0]


class WrongKernel(Case):
    """The runtime rounds halves away from zero when it optimises."""

    sources = ("mini:kernel",)
    onnx_ops = ("Round",)
    inputs = ((values([0.4, 0.5]),), (values([2.5, -2.5]),))

    def forward(self, x):
        return torch.round(x)

    unoptimised = fix("runtime-option", "no graph optimisation", session={"graph_optimization_level": 0})


class NeedsOpsetNine(Case):
    """The operator has a rule from opset 9 on."""

    sources = ("mini:opset",)
    onnx_ops = ("Sign",)
    inputs = ((f32(3),), (f32(3),))

    def forward(self, x):
        return torch.sign(x)

    opset_9 = fix("raise-opset", "export at opset 9", opset=9)
