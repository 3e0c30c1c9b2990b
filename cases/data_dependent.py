"""Size ranges and guards of the dynamo exporter: what torch.export rejects, and how to declare it."""

import math

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix, values


def sizes(argument, axis, *arguments, **options):
    """Return dynamic_shapes with one ``torch.export.Dim``; other arguments stay static."""

    def shapes():
        axes = {argument: {axis: torch.export.Dim("size", **options)}}
        axes.update(dict.fromkeys(arguments))
        return {"dynamic_shapes": axes}

    return shapes


def automatic(argument, axis):
    """Return dynamic_shapes that let torch.export decide whether the axis is dynamic."""
    return lambda: {"dynamic_shapes": {argument: {axis: torch.export.Dim.AUTO}}}


class _Dynamo(Case):
    exporters = ("dynamo",)
    needs_torch = ">=2.5"


class DimOfBatchOne(_Dynamo):
    """Dim with an example of batch 1: torch.export makes the batch a constant."""

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
        "export-option",
        "use an example of batch 2",
        inputs=((f32(2, 4),), (f32(1, 4),), (f32(3, 4),)),
        documented=False,
    )
    dim_auto = fix(
        "export-option",
        "use Dim.AUTO; the batch silently becomes static",
        export=automatic("x", 0),
        caution=True,
        documented=False,
    )


class DimFixedByReshape(_Dynamo):
    """Dim with a branch on one batch size: other batch sizes fail."""

    sources = ("pytorch/pytorch#121038", "pytorch/pytorch#134137", "pytorch/pytorch#140011")
    aten_ops = ("aten::reshape",)
    onnx_ops = ("Reshape",)
    inputs = ((f32(6, 4),), (f32(6, 4),), (f32(9, 4),))
    dynamic = {"x": {0: "batch"}}
    export = staticmethod(sizes("x", 0))

    def forward(self, x):
        return x.reshape(int(x.shape[0]) // 3, 3, 4) if x.shape[0] == 6 else x.reshape(-1, 3, 4)

    @fix("rewrite", "remove the branch on the size", documented=False)
    def without_branch(self, x):
        return x.reshape(-1, 3, 4)

    dim_auto = fix(
        "export-option",
        "use Dim.AUTO; the batch silently becomes static",
        export=automatic("x", 0),
        caution=True,
        documented=False,
    )


class DimBranchOnSizeOne(_Dynamo):
    """Dim with a branch on batch 1: the branch is dropped.

    It is kept only where the range of the Dim excludes 1.
    """

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
        "use Dim('batch', min=2); no batch is then 1",
        export=sizes("x", 0, min=2),
        inputs=((f32(3, 4),), (f32(5, 4),)),
        documented=False,
    )
    dim_auto = fix("export-option", "use Dim.AUTO", export=automatic("x", 0), caution=True, documented=False)

    @fix("rewrite", "use torch.where on the size", documented=False)
    def where(self, x):
        ones = torch.ones_like(x)
        return x * torch.where(ones[:, :1].sum(0) == 1, 2.0, 3.0)


class DimExampleAtTheMinimum(_Dynamo):
    """Dim whose minimum is the size of the example: reported as a violated constraint."""

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
        "use an example inside the range",
        inputs=((f32(5, 3),), (f32(4, 3),), (f32(6, 3),)),
        documented=False,
    )


class ViewOfOneDynamicDim(_Dynamo):
    """x.view(x.size(1), -1) with only the first axis dynamic: torch.export rejects it."""

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
        "make all three axes dynamic",
        export=lambda: {
            "dynamic_shapes": {
                "x": {0: torch.export.Dim("a"), 1: torch.export.Dim("b"), 2: torch.export.Dim("c")},
            }
        },
    )


class DimOfEvenHeight(_Dynamo):
    """Dim for a height that must be even: a plain Dim does not express it.

    The code halves and doubles the height.
    """

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
        "use 2 * Dim('half'), a multiple of 2",
        export=lambda: {"dynamic_shapes": {"x": {2: 2 * torch.export.Dim("half")}}},
    )


class DynamicShapesOfAnotherName(_Dynamo):
    """dynamic_shapes with a key that is not an argument of forward: dynamo fails."""

    sources = ("pytorch/pytorch#166001",)
    aten_ops = ("aten::mul",)
    onnx_ops = ("Mul",)
    inputs = ((f32(2, 4),), (f32(2, 4),), (f32(3, 4),))
    dynamic = {"x": {0: "batch"}}
    export = staticmethod(sizes("input", 0))

    def forward(self, x):
        return x * 2.0 - 1.0

    forwards_name = fix("export-option", "use the name of forward's argument", export=sizes("x", 0))


class GuardOnItem(Case):
    """Branch on Tensor.item(): dynamo cannot guard on it, tracing keeps one branch.

    The branch depends on the sign of the number.
    """

    sources = ("pytorch/pytorch#143222", "pytorch/pytorch#153955")
    aten_ops = ("aten::item",)
    onnx_ops = ("Where",)
    inputs = ((f32(4), values(2, "int64")), (f32(4), values(5, "int64")), (f32(4), values(-3, "int64")))

    def forward(self, x, n):
        number = n.item()
        return x - 1.0 if number < 0 else x + number

    @fix(
        "rewrite",
        "call torch._check that it is not negative; correct where it never is",
        inputs=((f32(4), values(2, "int64")), (f32(4), values(5, "int64")), (f32(4), values(0, "int64"))),
        documented=False,
    )
    def checked(self, x, n):
        number = n.item()
        torch._check(number >= 0)
        return x - 1.0 if number < 0 else x + number

    @fix("rewrite", "use torch.where on the tensor", documented=False)
    def where(self, x, n):
        return torch.where(n < 0, x - 1.0, x + n)


class SliceByItem(Case):
    """x[:n.item()]: tracing keeps the length of the first input."""

    sources = ("pytorch/pytorch#150540", "pytorch/pytorch#131911")
    aten_ops = ("aten::item", "aten::slice")
    onnx_ops = ("Slice",)
    inputs = ((f32(6), values(2, "int64")), (f32(6), values(5, "int64")), (f32(6), values(3, "int64")))

    def forward(self, x, n):
        return x[: n.item()]

    @fix("rewrite", "call torch._check that the length is valid")
    def checked(self, x, n):
        length = n.item()
        torch._check(length >= 0)
        torch._check(length <= x.shape[0])
        return x[:length]

    @fix("rewrite", "use a mask of the positions below n", documented=False)
    def masked(self, x, n):
        return x[torch.arange(6) < n]


class PythonRoundOfSize(Case):
    """round() of a dynamic size: both exporters fail."""

    sources = ("pytorch/pytorch#138852",)
    aten_ops = ("aten::slice",)
    onnx_ops = ("Slice",)
    inputs = ((f32(2, 7),), (f32(2, 8),), (f32(2, 10),))
    dynamic = {"x": {1: "length"}}

    def forward(self, x):
        return x[:, : round(x.shape[1] / 3)]

    @fix("rewrite", "use math.trunc of the third plus one half", documented=False)
    def truncated(self, x):
        return x[:, : math.trunc(x.shape[1] / 3 + 0.5)]

    @fix("rewrite", "use integers only", documented=False)
    def integers(self, x):
        return x[:, : (2 * x.shape[1] + 3) // 6]


def alignment(durations, frames):
    """Return which frames belong to which token: ones for each token's frames, token after token."""
    before = (frames[None, :, None] < torch.cumsum(durations, 1)[:, None, :]).float()
    return before - F.pad(before, (1, 0))[:, :, :-1]


def regulated(x, durations):
    """Repeat each token for its duration; the longest row gives the number of frames."""
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

    trace = fix("export-option", "export with dynamo=False", exporter="torchscript-trace")


class LengthRegulator(_Regulated):
    """torch.arange of summed durations: length regulator of a text-to-speech model."""

    aten_ops = ("aten::arange", "aten::cumsum", "aten::matmul")
    onnx_ops = ("Range", "CumSum", "MatMul")

    def forward(self, x, durations):
        return regulated(x, durations)

    @fix("rewrite", "use a fixed number of frames; the rest is zeros", changes_values=True, documented=False)
    def fixed_frames(self, x, durations):
        return torch.matmul(alignment(durations, torch.arange(16)), x)


class LstmOfDataDependentLength(_Regulated):
    """nn.LSTM over a data-dependent length, as after a length regulator."""

    aten_ops = ("aten::lstm", "aten::arange")
    onnx_ops = ("LSTM", "Range")

    def setup(self):
        self.lstm = torch.nn.LSTM(3, 2, batch_first=True)

    def forward(self, x, durations):
        return self.lstm(regulated(x, durations))[0]

    @fix("rewrite", "use a fixed number of frames; the rest is zeros", changes_values=True, documented=False)
    def fixed_frames(self, x, durations):
        return self.lstm(torch.matmul(alignment(durations, torch.arange(16)), x))[0]


class ChunkOfDataDependentLength(_Regulated):
    """Tensor.chunk(2) of an axis with a data-dependent length."""

    aten_ops = ("aten::chunk", "aten::arange")
    onnx_ops = ("Split", "Slice", "Range")

    def forward(self, x, durations):
        return regulated(x, durations).chunk(2, 1)[1]

    @fix("rewrite", "slice from the middle on", documented=False)
    def sliced(self, x, durations):
        frames = regulated(x, durations)
        return frames[:, (frames.shape[1] + 1) // 2 :]

    @fix("rewrite", "compute only the frames of the second half, with arange", documented=False)
    def second_half(self, x, durations):
        length = durations.sum(1).max()
        return torch.matmul(alignment(durations, torch.arange((length + 1) // 2, length)), x)


class PadOfDataDependentLength(_Regulated):
    """F.pad up to a window, where the data-dependent length is smaller."""

    aten_ops = ("aten::pad", "aten::arange")
    onnx_ops = ("Pad", "Range")

    def forward(self, x, durations):
        frames = regulated(x, durations)
        missing = 8 - frames.shape[1]
        return F.pad(frames, (0, 0, 0, missing)) if missing > 0 else frames

    trace = fix(
        "export-option",
        "export with dynamo=False; tracing keeps only the branch that the example input takes",
        exporter="torchscript-trace",
        caution=True,
        documented=False,
    )

    @fix("rewrite", "use arange with the window as its minimum length", documented=False)
    def window_of_arange(self, x, durations):
        length = durations.sum(1).max().clamp(min=8)
        return torch.matmul(alignment(durations, torch.arange(length)), x)


class SoftmaxOfMaskedValues(Case):
    """torch.softmax of x[mask]: an axis with a data-dependent length."""

    sources = ("caniexport",)
    aten_ops = ("aten::softmax", "aten::index")
    onnx_ops = ("Softmax", "NonZero", "GatherND")
    inputs = ((f32(6),), (f32(6, low=0.5, high=2.0),), (f32(9),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return torch.softmax(x[x > -0.5], 0)

    trace = fix("export-option", "export with dynamo=False", exporter="torchscript-trace", documented=False)

    @fix("rewrite", "apply softmax with -inf where the mask is false, then apply the mask", documented=False)
    def masked_afterwards(self, x):
        kept = x > -0.5
        return torch.softmax(x.masked_fill(~kept, float("-inf")), 0)[kept]
