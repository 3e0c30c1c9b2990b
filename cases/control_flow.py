"""Control flow: loops that tracing unrolls, values that it keeps as constants, and loops that scripting keeps."""

import torch

from caniexport import Case, f32, fix, values


def traced(module, inputs):
    return torch.jit.trace(module, inputs)


class _ConvLoop(Case):
    sources = ("seed:002",)
    aten_ops = ("aten::conv2d", "prim::Loop")
    onnx_ops = ("Conv", "Loop")
    inputs = ((f32(1, 3, 10, 10),), (f32(1, 3, 10, 10),))

    def forward(self, x):
        for _ in range(self.n):
            x = self.conv(x)
        return x

    script_first = fix(
        "export-option",
        "use torch.jit.script before the export; the loop stays one Loop node",
        exporter="torchscript-script",
    )
    trace_first = fix(
        "export-option",
        "use torch.jit.trace before the export; writes the same nodes as the direct export",
        prepare=traced,
    )


class TraceLoopUnrollsN2(_ConvLoop):
    """Python loop of two convolutions: tracing unrolls it into two Conv nodes."""

    id = "trace-loop-unrolls-n2"

    def setup(self):
        self.n = 2
        self.conv = torch.nn.Conv2d(3, 3, 3)


class TraceLoopUnrollsN3(_ConvLoop):
    """Python loop of three convolutions: tracing unrolls it into three Conv nodes."""

    id = "trace-loop-unrolls-n3"

    def setup(self):
        self.n = 3
        self.conv = torch.nn.Conv2d(3, 3, 3)


class TraceTensorTripCountBaked(Case):
    """Loop count from an input: tracing keeps the first count as a constant.

    The export only warns (Converting a tensor to a Python integer). The ONNX file gives wrong values for every other
    count.
    """

    sources = ("seed:002", "microsoft/onnxruntime#13894")
    aten_ops = ("aten::Int", "prim::Loop")
    onnx_ops = ("Loop",)
    inputs = (
        (f32(2, 3), values(2, "int64")),
        (f32(2, 3), values(3, "int64")),
        (f32(2, 3), values(5, "int64")),
    )

    def forward(self, x, n):
        for _ in range(int(n)):
            x = x * 1.5 + 0.25
        return x

    script_first = fix(
        "export-option",
        "use torch.jit.script before the export; the count stays an input of a Loop node",
        exporter="torchscript-script",
    )

    @fix("rewrite", "use torch's while_loop operator with dynamo=True", exporter="dynamo", documented=False)
    def while_loop(self, x, n):
        from torch._higher_order_ops.while_loop import while_loop

        def before_last(i, _):
            return i < n

        def one_round(i, y):
            return i + 1, y * 1.5 + 0.25

        return while_loop(before_last, one_round, (torch.zeros_like(n), x))[1]


def decayed(carry, item):
    carry = carry * 0.5 + item
    return carry, carry * 2.0


class ScanOperator(Case):
    """torch's scan operator: dynamo writes a Scan node, TorchScript fails.

    TorchScript uses torch.jit.trace, which rejects what scan compiles.
    """

    sources = ("pytorch/pytorch#151327", "pytorch/pytorch#146674")
    aten_ops = ("higher_order::scan",)
    onnx_ops = ("Scan",)
    needs_torch = ">=2.6"
    exporters = ("dynamo", "torchscript-trace", "default")
    inputs = ((f32(3, 4),), (f32(3, 4, low=-2.0, high=2.0),))

    def forward(self, x):
        from torch._higher_order_ops.scan import scan

        return scan(decayed, torch.zeros_like(x[0]), x)

    @fix("rewrite", "use a Python loop over the steps; the ONNX file has one length only", documented=False)
    def unrolled(self, x):
        carry, items = torch.zeros_like(x[0]), []
        for step in x.unbind(0):
            carry, item = decayed(carry, step)
            items.append(item)
        return carry, torch.stack(items)


class WhileLoopOperator(Case):
    """torch's while_loop operator: dynamo writes a Loop node, TorchScript fails."""

    sources = ("pytorch/pytorch#146674",)
    aten_ops = ("higher_order::while_loop",)
    onnx_ops = ("Loop",)
    needs_torch = ">=2.3"
    exporters = ("dynamo", "torchscript-trace", "default")
    inputs = ((f32(2, 3, low=0.1),), (f32(2, 3, low=0.01, high=0.02),), (f32(2, 3, low=8.0, high=9.0),))

    def forward(self, x):
        from torch._higher_order_ops.while_loop import while_loop

        return while_loop(lambda x: x.sum() < 10.0, lambda x: (x * 2.0,), (x,))[0]

    @fix("rewrite", "use torch.where in a fixed number of rounds; correct up to that number", documented=False)
    def fixed_rounds(self, x):
        for _ in range(10):
            x = torch.where(x.sum() < 10.0, x * 2.0, x)
        return x
