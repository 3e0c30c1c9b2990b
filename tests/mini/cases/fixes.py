"""One case for each thing that a fix can be: needed, obsolete, broken, harmful, wrong."""

from contextlib import contextmanager

import torch

from caniexport import Case, f32, fix


@contextmanager
def cube_symbolic(opset):
    def cube(graph, x):
        return graph.op("Mul", graph.op("Mul", x, x), x)

    torch.onnx.register_custom_op_symbolic("mini::cube", cube, 7)
    yield
    torch.onnx.unregister_custom_op_symbolic("mini::cube", 7)


@contextmanager
def unknown_operator(opset):
    torch.onnx.register_custom_op_symbolic("mini::cube", lambda graph, x: graph.op("Cube", x), 7)
    yield


class CubeNoSymbolic(Case):
    """TorchScript has no rule for cube; dynamo has one."""

    sources = ("mini:cube",)
    aten_ops = ("mini::cube",)
    inputs = ((f32(3),), (f32(3),))

    def forward(self, x):
        return torch.cube(x)

    @fix("rewrite", "two multiplications")
    def products(self, x):
        return x * x * x

    custom_symbolic = fix("custom-symbolic", "a rule of one's own", patch=cube_symbolic)
    unknown_operator = fix("custom-symbolic", "an operator nobody knows", patch=unknown_operator)
    newer = fix("version-upgrade", "dynamo has a rule", torch=">=92")

    @fix("rewrite", "as documented, and wrong", caution=True)
    def square(self, x):
        return x * x


class FixNotNeeded(Case):
    """A sum that was never refused."""

    sources = ("mini:sum",)
    exporters = ("torchscript-trace", "default")
    inputs = ((f32(3), f32(3)), (f32(3), f32(3)))

    def forward(self, x, y):
        return x + y

    @fix("rewrite", "the same by negatives")
    def negatives(self, x, y):
        return -(-x + -y)


class FixHarmful(Case):
    """Three factors that export, and a shorter form that does not."""

    sources = ("mini:product",)
    inputs = ((f32(3),), (f32(3),))

    def forward(self, x):
        return x * x * x

    @fix("rewrite", "one call", documented=False)
    def shorter(self, x):
        return torch.cube(x)


class FixChangesValues(Case):
    """A fix that is meant to give other values."""

    sources = ("mini:values",)
    exporters = ("torchscript-trace", "default")
    inputs = ((f32(3),), (f32(3),))

    def forward(self, x):
        return torch.bessel(x)

    @fix("module-swap", "another activation", changes_values=True)
    def relu(self, x):
        return torch.relu(x)
