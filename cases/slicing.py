"""Slices, flips, rolls, diagonals, triangles, coordinate grids and manual pads."""

import torch
import torch.nn.functional as F

from caniexport import Case, boolean, f32, fix


class DiagNoRule(Case):
    """torch.diag of a vector has no TorchScript symbolic."""

    sources = ("pytorch/pytorch#98205",)
    aten_ops = ("aten::diag",)
    onnx_ops = ("EyeLike", "Mul")
    inputs = ((f32(4),), (f32(4),))

    def forward(self, x):
        return torch.diag(x)

    @fix("rewrite", "multiply a column by an identity matrix", documented=False)
    def times_eye(self, x):
        return x[:, None] * torch.eye(4)


class DiagonalScripted(Case):
    """torch.diagonal in a scripted module: no symbolic where the rank is unknown."""

    sources = ("pytorch/pytorch#67113",)
    aten_ops = ("aten::diagonal",)
    onnx_ops = ("Gather", "Slice")
    inputs = ((f32(4, 4),), (f32(4, 4),))
    exporters = ("torchscript-script", "torchscript-trace", "dynamo", "default")

    def forward(self, x):
        return torch.diagonal(x)

    @fix("rewrite", "take every fifth of the flattened values", documented=False)
    def strided(self, x):
        return x.flatten()[::5]


class TraceNoRule(Case):
    """torch.trace, the sum of a diagonal, has no TorchScript symbolic."""

    sources = ("pytorch/pytorch#67113",)
    aten_ops = ("aten::trace",)
    onnx_ops = ("Mul", "ReduceSum")
    inputs = ((f32(4, 4),), (f32(4, 4),))

    def forward(self, x):
        return torch.trace(x)

    @fix("rewrite", "multiply by an identity matrix and sum", documented=False)
    def times_eye(self, x):
        return (x * torch.eye(4)).sum((-2, -1))


class MeshgridNoRule(Case):
    """torch.meshgrid has no TorchScript symbolic before torch 1.4."""

    sources = ("pytorch/pytorch#27507", "pytorch/pytorch#31705")
    aten_ops = ("aten::meshgrid",)
    onnx_ops = ("Expand", "Reshape")
    inputs = ((f32(3), f32(4)), (f32(3), f32(4)), (f32(5), f32(2)))
    dynamic = {"y": {0: "height"}, "x": {0: "width"}}

    def forward(self, y, x):
        rows, columns = torch.meshgrid(y, x)
        return rows, columns

    @fix("rewrite", "use view and expand", documented=False)
    def view_expand(self, y, x):
        height, width = y.size(0), x.size(0)
        return y.view(-1, 1).expand(height, width), x.view(1, -1).expand(height, width)


class MeshgridIndexingXy(Case):
    """torch.meshgrid(indexing="xy"): TorchScript export fails before torch 2.2.

    Height and width differ.
    """

    sources = ("pytorch/pytorch#128494",)
    aten_ops = ("aten::meshgrid",)
    onnx_ops = ("Expand", "Reshape", "Transpose")
    needs_torch = ">=1.10"
    inputs = ((f32(3), f32(4)), (f32(3), f32(4)), (f32(5), f32(2)))
    dynamic = {"x": {0: "width"}, "y": {0: "height"}}

    def forward(self, x, y):
        columns, rows = torch.meshgrid(x, y, indexing="xy")
        return columns, rows

    @fix("rewrite", "use indexing='ij' with the arguments and the outputs swapped", documented=False)
    def swapped_ij(self, x, y):
        rows, columns = torch.meshgrid(y, x, indexing="ij")
        return columns, rows


class NegativeStepSlice(Case):
    """x[::-1]: torch itself rejects a negative step."""

    sources = ("pytorch/pytorch#35295", "pytorch/pytorch#42798")
    aten_ops = ("aten::flip",)
    onnx_ops = ("Slice",)
    inputs = ((f32(4, 2),), (f32(4, 2),), (f32(6, 2),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return x[::-1]

    def reference(self, x):
        return torch.flip(x, [0])

    @fix("rewrite", "use torch.flip", documented=False)
    def flip(self, x):
        return torch.flip(x, [0])

    @fix("rewrite", "index with a descending arange; Range is silently empty", caution=True, documented=False)
    def descending_index(self, x):
        return x[torch.arange(x.size(0) - 1, -1, -1)]


class RollByHalfTheSize(Case):
    """torch.roll by half of a dynamic size: wrong values for another size."""

    sources = ("pytorch/pytorch#128324",)
    aten_ops = ("aten::roll",)
    onnx_ops = ("Slice", "Concat")
    inputs = ((f32(2, 6),), (f32(2, 6),), (f32(2, 9),))
    dynamic = {"x": {1: "length"}}

    def forward(self, x):
        return torch.roll(x, -int(x.size(1) / 2), dims=1)

    @fix("rewrite", "concatenate two slices at size // 2", documented=False)
    def two_slices(self, x):
        half = x.size(1) // 2
        return torch.cat([x[:, half:], x[:, :half]], dim=1)


class TrilNoRule(Case):
    """torch.tril and torch.triu have no symbolic before torch 1.10 or opset 14."""

    sources = ("pytorch/pytorch#34129", "huggingface/optimum#1331")
    aten_ops = ("aten::tril", "aten::triu")
    onnx_ops = ("Trilu",)
    inputs = ((f32(2, 4, 4),), (f32(2, 4, 4),), (f32(3, 4, 4),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.tril(x), torch.triu(x, 1)

    opset_14 = fix("raise-opset", "export at opset 14, which has Trilu", opset=14, documented=False)

    @fix("rewrite", "multiply by a mask of compared positions", documented=False)
    def times_mask(self, x):
        rows, columns = torch.arange(4)[:, None], torch.arange(4)[None]
        return x * (rows >= columns).to(x.dtype), x * (rows < columns).to(x.dtype)


class TrilOfBools(Case):
    """torch.tril of a bool mask: onnxruntime had no Trilu kernel for bool."""

    sources = (
        "microsoft/onnxruntime#9494",
        "microsoft/onnxruntime#16189",
        "microsoft/onnxruntime#20917",
        "baudm/parseq#142",
        "lucidrains/x-transformers#161",
    )
    aten_ops = ("aten::tril",)
    onnx_ops = ("Trilu",)
    inputs = ((boolean(2, 4, 4),), (boolean(2, 4, 4),), (boolean(3, 4, 4),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.tril(x)

    @fix("rewrite", "use tril of the mask as float32")
    def as_float(self, x):
        return torch.tril(x.float()) > 0

    @fix("rewrite", "combine by & with a mask of compared positions")
    def and_positions(self, x):
        return x & (torch.arange(4)[:, None] >= torch.arange(4)[None])


def backwards(end):
    """Return a function that writes a Slice from the last element to ``end`` with step -1, for a flip."""

    class Backwards(torch.autograd.Function):
        @staticmethod
        def symbolic(g, x):
            parts = [torch.tensor([number]) for number in (-1, end, 0, -1)]
            return g.op("Slice", x, *[g.op("Constant", value_t=part) for part in parts])

        @staticmethod
        def forward(ctx, x):
            return torch.flip(x, [0])

    return Backwards


_ToZero, _ToMinusOne, _ToSmallest = backwards(0), backwards(-1), backwards(-(2**31))


class SliceBackwardsToZero(Case):
    """Custom Slice with step -1 and end 0: the first element is missing."""

    sources = ("onnx/onnx#3737",)
    aten_ops = ("aten::flip",)
    onnx_ops = ("Slice",)
    exporters = ("torchscript-trace",)
    inputs = ((f32(4),), (f32(4),), (f32(6),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return _ToZero.apply(x)

    @fix("graph-surgery", "use the smallest integer as the end")
    def smallest_integer(self, x):
        return _ToSmallest.apply(x)

    @fix("rewrite", "use torch.flip itself", documented=False)
    def flip(self, x):
        return torch.flip(x, [0])


class SliceBackwardsToMinusOne(SliceBackwardsToZero):
    """Custom Slice with step -1 and end -1: the output is empty.

    -1 means the last element.
    """

    def forward(self, x):
        return _ToMinusOne.apply(x)


class _ReflectFour(torch.autograd.Function):
    """Reflect four values on each side, as often as needed."""

    @staticmethod
    def symbolic(g, x):
        return g.op("Pad", x, g.op("Constant", value_t=torch.tensor([0, 4, 0, 4])), mode_s="reflect")

    @staticmethod
    def forward(ctx, x):
        period = 2 * (x.shape[1] - 1)
        place = torch.remainder(torch.arange(-4, x.shape[1] + 4), period)
        return x[:, torch.where(place < x.shape[1], place, period - place)]


class ReflectPadLargerThanInput(Case):
    """Custom reflect Pad larger than the input: wrong values or an error.

    torch itself rejects such a pad, but a dynamic axis can still become that short. ONNX Runtime 1.19.2 leaves the
    values beyond the first reflection unwritten. They hold old memory, zeros in a fresh process: 300 runs of one
    session on one input gave 102 different outputs. The size of the error therefore says nothing, and a cell may
    even be right. 1.31.1 rejects the pad.
    """

    sources = ("microsoft/onnxruntime#8265", "microsoft/onnxruntime#23878", "onnx/onnx#6735")
    aten_ops = ("aten::reflection_pad1d",)
    onnx_ops = ("Pad",)
    exporters = ("torchscript-trace",)
    inputs = ((f32(2, 6),), (f32(2, 5),), (f32(2, 3),))
    dynamic = {"x": {1: "length"}}

    def forward(self, x):
        return _ReflectFour.apply(x)

    @fix("rewrite", "use several pads of two, each reflected at the previous pad; different values", caution=True)
    def several_pads(self, x):
        x = F.pad(x.unsqueeze(0), (2, 2), mode="reflect")
        return F.pad(x, (2, 2), mode="reflect").squeeze(0)

    @fix("rewrite", "pick columns by a reflected index", documented=False)
    def picked_by_index(self, x):
        last = x.shape[1] - 1
        # a few periods added: an integer remainder of negative numbers has a fault of its own
        place = torch.remainder(torch.arange(x.shape[1] + 8) + 8 * last - 4, 2 * last)
        return x[:, last - torch.abs(place - last)]


class FlipOpset9(Case):
    """torch.flip has no TorchScript symbolic below opset 10."""

    id = "flip-opset-9"
    sources = ("voldemortX/pytorch-auto-drive#97",)
    aten_ops = ("aten::flip",)
    onnx_ops = ("Slice",)
    inputs = ((f32(2, 4, 3),), (f32(2, 4, 3),), (f32(2, 6, 3),))
    dynamic = {"x": {1: "length"}}

    def forward(self, x):
        return torch.flip(x, [1])

    opset_10 = fix("raise-opset", "export at opset 10", opset=10)

    @fix("rewrite", "select the rows by a descending index", documented=False)
    def index_backwards(self, x):
        return x.index_select(1, x.size(1) - 1 - torch.arange(x.size(1)))
