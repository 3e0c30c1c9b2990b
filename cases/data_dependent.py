"""The dynamo exporter's ranges of sizes and its guards: what torch.export refuses, and how it is told."""

import math

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix, values


def sizes(argument, axis, *arguments, **options):
    """dynamic_shapes with one ``torch.export.Dim``; other arguments stay static."""

    def shapes():
        axes = {argument: {axis: torch.export.Dim("size", **options)}}
        axes.update(dict.fromkeys(arguments))
        return {"dynamic_shapes": axes}

    return shapes


def automatic(argument, axis):
    """dynamic_shapes that leave it to torch.export whether the axis is dynamic."""
    return lambda: {"dynamic_shapes": {argument: {axis: torch.export.Dim.AUTO}}}


class _Dynamo(Case):
    exporters = ("dynamo",)
    needs_torch = ">=2.5"


class DimOfBatchOne(_Dynamo):
    """A dynamic batch with an example of batch 1: torch.export takes 1 for a constant."""

    sources = (
        "pytorch/pytorch#133653",
        "pytorch/pytorch#151582",
        "pytorch/pytorch#121038",
        "pytorch/pytorch#134137",
        "pytorch/pytorch#140011",
    )
    aten_ops = ("aten::mul",)
    onnx_ops = ("Mul",)
    inputs = ((f32(1, 4),), (f32(1, 4),), (f32(3, 4),))
    dynamic = {"x": {0: "batch"}}
    export = staticmethod(sizes("x", 0))

    def forward(self, x):
        return x * 2.0

    batch_2 = fix(
        "export-option", "an example of batch 2", inputs=((f32(2, 4),), (f32(1, 4),), (f32(3, 4),)), documented=False
    )
    dim_auto = fix(
        "export-option",
        "Dim.AUTO: the batch silently becomes static",
        export=automatic("x", 0),
        caution=True,
        documented=False,
    )


class DimFixedByReshape(_Dynamo):
    """A dynamic batch in code that names the size."""

    sources = ("pytorch/pytorch#121038", "pytorch/pytorch#134137", "pytorch/pytorch#140011")
    aten_ops = ("aten::reshape",)
    onnx_ops = ("Reshape",)
    inputs = ((f32(6, 4),), (f32(6, 4),), (f32(9, 4),))
    dynamic = {"x": {0: "batch"}}
    export = staticmethod(sizes("x", 0))

    def forward(self, x):
        return x.reshape(int(x.shape[0]) // 3, 3, 4) if x.shape[0] == 6 else x.reshape(-1, 3, 4)

    @fix("rewrite", "no branch on the size", documented=False)
    def without_branch(self, x):
        return x.reshape(-1, 3, 4)

    dim_auto = fix(
        "export-option",
        "Dim.AUTO: the batch silently becomes static",
        export=automatic("x", 0),
        caution=True,
        documented=False,
    )


class DimBranchOnSizeOne(_Dynamo):
    """Code that treats a batch of 1 apart: its branch is dropped, unless the range of the Dim leaves 1 out."""

    sources = ("ultralytics/ultralytics#20370",)
    aten_ops = ("aten::mul",)
    onnx_ops = ("Mul",)
    inputs = ((f32(3, 4),), (f32(5, 4),), (f32(1, 4),))
    dynamic = {"x": {0: "batch"}}
    export = staticmethod(sizes("x", 0, min=1))

    def forward(self, x):
        return x * 2.0 if x.shape[0] == 1 else x * 3.0

    from_2 = fix(
        "export-option",
        "Dim('batch', min=2), where no batch is 1",
        export=sizes("x", 0, min=2),
        inputs=((f32(3, 4),), (f32(5, 4),)),
        documented=False,
    )
    dim_auto = fix("export-option", "Dim.AUTO", export=automatic("x", 0), caution=True, documented=False)

    @fix("rewrite", "torch.where on the size", documented=False)
    def where(self, x):
        ones = torch.ones_like(x)
        return x * torch.where(ones[:, :1].sum(0) == 1, 2.0, 3.0)


class DimExampleAtTheMinimum(_Dynamo):
    """An example whose size is the least one that its Dim allows."""

    sources = ("pytorch/pytorch#176349",)
    aten_ops = ("aten::cat",)
    onnx_ops = ("Concat",)
    inputs = ((f32(4, 3),), (f32(4, 3),), (f32(6, 3),))
    dynamic = {"x": {0: "length"}}
    export = staticmethod(sizes("x", 0, min=4))

    def forward(self, x):
        return torch.cat([x[4:], x[:4]])

    inside = fix(
        "export-option",
        "an example within the range",
        inputs=((f32(5, 3),), (f32(4, 3),), (f32(6, 3),)),
        documented=False,
    )


class ViewOfOneDynamicDim(_Dynamo):
    """x.view(x.size(1), -1) where only the first axis is dynamic."""

    sources = ("pytorch/pytorch#126607",)
    aten_ops = ("aten::view",)
    onnx_ops = ("Reshape",)
    inputs = ((f32(3, 4, 5),), (f32(3, 4, 5),), (f32(6, 4, 5),))
    dynamic = {"x": {0: "batch"}}
    export = staticmethod(sizes("x", 0))

    def forward(self, x):
        return x.view(x.size(1), -1)

    all_dynamic = fix(
        "export-option",
        "all three axes dynamic",
        export=lambda: {
            "dynamic_shapes": {
                "x": {0: torch.export.Dim("a"), 1: torch.export.Dim("b"), 2: torch.export.Dim("c")},
            }
        },
    )


class DimOfEvenHeight(_Dynamo):
    """A height that the code halves and doubles: it must be even, which a plain Dim does not say."""

    sources = ("pytorch/pytorch#124507",)
    aten_ops = ("aten::add", "aten::max_pool2d")
    onnx_ops = ("Add", "MaxPool", "Resize")
    inputs = ((f32(1, 2, 6, 4),), (f32(1, 2, 6, 4),), (f32(1, 2, 10, 4),))
    dynamic = {"x": {2: "height"}}
    export = staticmethod(sizes("x", 2))

    def forward(self, x):
        return x + F.interpolate(F.max_pool2d(x, 2), scale_factor=2.0, mode="nearest")

    even = fix(
        "export-option",
        "2 * Dim('half'): a multiple of 2",
        export=lambda: {"dynamic_shapes": {"x": {2: 2 * torch.export.Dim("half")}}},
    )


class DynamicShapesOfAnotherName(_Dynamo):
    """dynamic_shapes with a key that is not forward's argument."""

    sources = ("pytorch/pytorch#166001",)
    aten_ops = ("aten::mul",)
    onnx_ops = ("Mul",)
    inputs = ((f32(2, 4),), (f32(2, 4),), (f32(3, 4),))
    dynamic = {"x": {0: "batch"}}
    export = staticmethod(sizes("input", 0))

    def forward(self, x):
        return x * 2.0 - 1.0

    forwards_name = fix("export-option", "the name of forward's argument", export=sizes("x", 0))


class GuardOnItem(Case):
    """A branch on the sign of a number read by item()."""

    sources = ("pytorch/pytorch#143222", "pytorch/pytorch#153955")
    aten_ops = ("aten::item",)
    onnx_ops = ("Where",)
    inputs = ((f32(4), values(2, "int64")), (f32(4), values(5, "int64")), (f32(4), values(-3, "int64")))

    def forward(self, x, n):
        number = n.item()
        return x - 1.0 if number < 0 else x + number

    @fix(
        "rewrite",
        "torch._check that it is not negative, where it never is",
        inputs=((f32(4), values(2, "int64")), (f32(4), values(5, "int64")), (f32(4), values(0, "int64"))),
        documented=False,
    )
    def checked(self, x, n):
        number = n.item()
        torch._check(number >= 0)
        return x - 1.0 if number < 0 else x + number

    @fix("rewrite", "torch.where on the tensor", documented=False)
    def where(self, x, n):
        return torch.where(n < 0, x - 1.0, x + n)


class SliceByItem(Case):
    """x[:n.item()]: a length that the input says."""

    sources = ("pytorch/pytorch#150540", "pytorch/pytorch#131911")
    aten_ops = ("aten::item", "aten::slice")
    onnx_ops = ("Slice",)
    inputs = ((f32(6), values(2, "int64")), (f32(6), values(5, "int64")), (f32(6), values(3, "int64")))

    def forward(self, x, n):
        return x[: n.item()]

    @fix("rewrite", "torch._check that the length is one")
    def checked(self, x, n):
        length = n.item()
        torch._check(length >= 0)
        torch._check(length <= x.shape[0])
        return x[:length]

    @fix("rewrite", "the values whose place is below n", documented=False)
    def masked(self, x, n):
        return x[torch.arange(6) < n]


class PythonRoundOfSize(Case):
    """round() of a size's half, with a dynamic size."""

    sources = ("pytorch/pytorch#138852",)
    aten_ops = ("aten::slice",)
    onnx_ops = ("Slice",)
    inputs = ((f32(2, 7),), (f32(2, 8),), (f32(2, 10),))
    dynamic = {"x": {1: "length"}}

    def forward(self, x):
        return x[:, : round(x.shape[1] / 3)]

    @fix("rewrite", "math.trunc of the third and a half", documented=False)
    def truncated(self, x):
        return x[:, : math.trunc(x.shape[1] / 3 + 0.5)]

    @fix("rewrite", "integers only", documented=False)
    def integers(self, x):
        return x[:, : (2 * x.shape[1] + 3) // 6]


def alignment(durations, frames):
    """Which frames belong to which token: a one for each token's frames, one token after the other."""
    before = (frames[None, :, None] < torch.cumsum(durations, 1)[:, None, :]).float()
    return before - F.pad(before, (1, 0))[:, :, :-1]


def regulated(x, durations):
    """Repeat each token for its duration; the longest row says how many frames there are."""
    frames = torch.arange(durations.sum(1).max())
    return torch.matmul(alignment(durations, frames), x)


class _Regulated(Case):
    sources = ("OHF-Voice/piper1-gpl#148", "OHF-Voice/piper1-gpl#101", "OHF-Voice/piper1-gpl#287")
    inputs = (
        (f32(2, 4, 3), values([[1, 3, 2, 4], [2, 2, 1, 1]], "int64")),
        (f32(2, 4, 3), values([[3, 1, 1, 0], [1, 1, 1, 2]], "int64")),
        (f32(3, 5, 3), values([[2, 1, 1, 1, 3], [5, 2, 1, 3, 1], [1, 1, 1, 1, 2]], "int64")),
    )
    dynamic = {"x": {0: "batch", 1: "tokens"}, "durations": {0: "batch", 1: "tokens"}}

    trace = fix("export-option", "dynamo=False", exporter="torchscript-trace")


class LengthRegulator(_Regulated):
    """arange of summed durations: the length regulator of a text-to-speech model."""

    aten_ops = ("aten::arange", "aten::cumsum", "aten::matmul")
    onnx_ops = ("Range", "CumSum", "MatMul")

    def forward(self, x, durations):
        return regulated(x, durations)

    @fix("rewrite", "a fixed number of frames, the rest zeros", changes_values=True, documented=False)
    def fixed_frames(self, x, durations):
        return torch.matmul(alignment(durations, torch.arange(16)), x)


class LstmOfDataDependentLength(_Regulated):
    """LSTM over a length that the input's values say, as after a length regulator."""

    aten_ops = ("aten::lstm", "aten::arange")
    onnx_ops = ("LSTM", "Range")

    def setup(self):
        self.lstm = torch.nn.LSTM(3, 2, batch_first=True)

    def forward(self, x, durations):
        return self.lstm(regulated(x, durations))[0]

    @fix("rewrite", "a fixed number of frames, the rest zeros", changes_values=True, documented=False)
    def fixed_frames(self, x, durations):
        return self.lstm(torch.matmul(alignment(durations, torch.arange(16)), x))[0]


class ChunkOfDataDependentLength(_Regulated):
    """chunk in two of an axis whose length the input's values say."""

    aten_ops = ("aten::chunk", "aten::arange")
    onnx_ops = ("Split", "Slice", "Range")

    def forward(self, x, durations):
        return regulated(x, durations).chunk(2, 1)[1]

    @fix("rewrite", "a slice from the middle on", documented=False)
    def sliced(self, x, durations):
        frames = regulated(x, durations)
        return frames[:, (frames.shape[1] + 1) // 2 :]

    @fix("rewrite", "only the frames of the second half, by arange", documented=False)
    def second_half(self, x, durations):
        length = durations.sum(1).max()
        return torch.matmul(alignment(durations, torch.arange((length + 1) // 2, length)), x)


class PadOfDataDependentLength(_Regulated):
    """pad up to a window, where the length that the input's values say is below it."""

    aten_ops = ("aten::pad", "aten::arange")
    onnx_ops = ("Pad", "Range")

    def forward(self, x, durations):
        frames = regulated(x, durations)
        missing = 8 - frames.shape[1]
        return F.pad(frames, (0, 0, 0, missing)) if missing > 0 else frames

    trace = fix(
        "export-option",
        "dynamo=False: tracing keeps only the branch that the example takes",
        exporter="torchscript-trace",
        caution=True,
        documented=False,
    )

    @fix("rewrite", "arange up to the window at least", documented=False)
    def window_of_arange(self, x, durations):
        length = durations.sum(1).max().clamp(min=8)
        return torch.matmul(alignment(durations, torch.arange(length)), x)


class SoftmaxOfMaskedValues(Case):
    """softmax of x[mask]: an axis whose length the mask's values say."""

    sources = ("caniexport",)
    aten_ops = ("aten::softmax", "aten::index")
    onnx_ops = ("Softmax", "NonZero", "GatherND")
    inputs = ((f32(6),), (f32(6, low=0.5, high=2.0),), (f32(9),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return torch.softmax(x[x > -0.5], 0)

    trace = fix("export-option", "dynamo=False", exporter="torchscript-trace", documented=False)

    @fix("rewrite", "softmax with -inf where the mask is false, masked afterwards", documented=False)
    def masked_afterwards(self, x):
        kept = x > -0.5
        return torch.softmax(x.masked_fill(~kept, float("-inf")), 0)[kept]
