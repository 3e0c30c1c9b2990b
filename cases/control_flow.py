"""Control flow: what tracing unrolls or writes down, and what scripting keeps as a Loop."""

import torch

from caniexport import Case, Claim, f32, fix, values


def traced(module, inputs):
    return torch.jit.trace(module, inputs)


UNROLLED = "1.10 and later freeze n into a constant first and unroll the scripted loop too: no Loop node is written"


class _ConvLoop(Case):
    sources = ("seed:002",)
    records = ("trace-loop-unrolls-n2-n3", "script-loop-becomes-loop-node", "export-traced-module-equals-direct")
    aten_ops = ("aten::conv2d", "prim::Loop")
    onnx_ops = ("Conv", "Loop")
    inputs = ((f32(1, 3, 10, 10),), (f32(1, 3, 10, 10),))

    def forward(self, x):
        for _ in range(self.n):
            x = self.conv(x)
        return x

    script_first = fix(
        "export-option",
        "torch.jit.script before the export keeps the loop as one Loop node",
        exporter="torchscript-script",
    )
    trace_first = fix(
        "export-option",
        "torch.jit.trace before the export writes the same nodes as the direct export",
        prepare=traced,
    )


class TraceLoopUnrollsN2(_ConvLoop):
    """A Python loop of two convolutions is traced into two Conv nodes."""

    id = "trace-loop-unrolls-n2"
    claims = (
        Claim(
            "seed:002",
            "traced, the loop is unrolled: one convolution for each of the two rounds",
            record="trace-loop-unrolls-n2-n3",
            status="pass",
            opset=">=9",
            ops={"Conv": 2, "Loop": 0},
        ),
        Claim(
            "seed:002",
            "tracing the module oneself is the same as exporting it directly",
            record="export-traced-module-equals-direct",
            variant="trace_first",
            status="pass",
            opset=">=9",
            ops={"Conv": 2, "Loop": 0},
        ),
        Claim(
            "seed:002",
            "scripted, the loop is a Loop node and the file has the same structure for every n",
            record="script-loop-becomes-loop-node",
            variant="script_first",
            status="pass",
            opset=">=9",
            ops={"Conv": 1, "Loop": 1},
            finding=UNROLLED,
        ),
    )

    def setup(self):
        self.n = 2
        self.conv = torch.nn.Conv2d(3, 3, 3)


class TraceLoopUnrollsN3(_ConvLoop):
    """A Python loop of three convolutions is traced into three Conv nodes."""

    id = "trace-loop-unrolls-n3"
    claims = (
        Claim(
            "seed:002",
            "traced, the loop is unrolled: another n gives another graph",
            record="trace-loop-unrolls-n2-n3",
            status="pass",
            opset=">=9",
            ops={"Conv": 3, "Loop": 0},
        ),
        Claim(
            "seed:002",
            "tracing the module oneself is the same as exporting it directly",
            record="export-traced-module-equals-direct",
            variant="trace_first",
            status="pass",
            opset=">=9",
            ops={"Conv": 3, "Loop": 0},
        ),
        Claim(
            "seed:002",
            "scripted, the loop is a Loop node and the file has the same structure for every n",
            record="script-loop-becomes-loop-node",
            variant="script_first",
            status="pass",
            opset=">=9",
            ops={"Conv": 1, "Loop": 1},
            finding=UNROLLED,
        ),
    )

    def setup(self):
        self.n = 3
        self.conv = torch.nn.Conv2d(3, 3, 3)


class TraceTensorTripCountBaked(Case):
    """The number of rounds of a loop is an input: tracing writes the first one into the file.

    The export only warns (Converting a tensor to a Python integer); the file answers every other count wrongly.
    """

    records = ("trace-tensor-trip-count-baked", "loop-trt-ep-differs")
    sources = ("seed:002", "microsoft/onnxruntime#13894")
    aten_ops = ("aten::Int", "prim::Loop")
    onnx_ops = ("Loop",)
    inputs = (
        (f32(2, 3), values(2, "int64")),
        (f32(2, 3), values(3, "int64")),
        (f32(2, 3), values(5, "int64")),
    )
    claims = (
        Claim(
            "seed:002",
            "tracing runs the model once and cannot record control flow, so another count gives a wrong answer",
            record="trace-tensor-trip-count-baked",
            status="mismatch",
            stage="compare",
        ),
        Claim(
            "seed:002",
            "scripting records the control flow correctly",
            record="trace-tensor-trip-count-baked",
            variant="script_first",
            status="pass",
            opset=">=9",
        ),
        Claim(
            "microsoft/onnxruntime#13894",
            "a Loop gives other values in ONNX Runtime's TensorRT provider than on the CPU",
            record="loop-trt-ep-differs",
            variant="script_first",
            torch=">=1.13,<2.1",
            opset=">=9",
            status="mismatch",
            needs="tensorrt",
        ),
    )

    def forward(self, x, n):
        for _ in range(int(n)):
            x = x * 1.5 + 0.25
        return x

    script_first = fix(
        "export-option",
        "torch.jit.script before the export keeps the count as an input of a Loop node",
        exporter="torchscript-script",
    )

    @fix("rewrite", "torch's while_loop operator with the dynamo exporter", exporter="dynamo", documented=False)
    def while_loop(self, x, n):
        from torch._higher_order_ops.while_loop import while_loop

        def before_last(i, _):
            return i < n

        def one_round(i, y):
            return i + 1, y * 1.5 + 0.25

        return while_loop(before_last, one_round, (torch.zeros_like(n), x))[1]
