"""Slices and pads by hand: where they end, and how far they reflect."""

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix


def backwards(end):
    """A Slice from the last element to ``end`` in steps of -1, in the place of a flip."""

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
    """A Slice by hand with steps of -1 and end 0: the first element is left out."""

    sources = ("onnx/onnx#3737",)
    aten_ops = ("aten::flip",)
    onnx_ops = ("Slice",)
    exporters = ("torchscript-trace",)
    inputs = ((f32(4),), (f32(4),), (f32(6),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return _ToZero.apply(x)

    @fix("graph-surgery", "the smallest integer as the end")
    def smallest_integer(self, x):
        return _ToSmallest.apply(x)

    @fix("rewrite", "torch's own flip", documented=False)
    def flip(self, x):
        return torch.flip(x, [0])


class SliceBackwardsToMinusOne(SliceBackwardsToZero):
    """A Slice by hand with steps of -1 and end -1: -1 is the last element, so nothing is left."""

    def forward(self, x):
        return _ToMinusOne.apply(x)


class _ReflectFour(torch.autograd.Function):
    """Four on each side, reflected as often as it takes."""

    @staticmethod
    def symbolic(g, x):
        return g.op("Pad", x, g.op("Constant", value_t=torch.tensor([0, 4, 0, 4])), mode_s="reflect")

    @staticmethod
    def forward(ctx, x):
        period = 2 * (x.shape[1] - 1)
        place = torch.remainder(torch.arange(-4, x.shape[1] + 4), period)
        return x[:, torch.where(place < x.shape[1], place, period - place)]


class ReflectPadLargerThanInput(Case):
    """A Pad by hand that reflects more than there is: reflected again, or filled with zeros.

    torch itself refuses such a pad; a dynamic axis can still become that short. ONNX Runtime 1.19.2 leaves what lies
    beyond the first reflection unwritten: it holds what the memory held before, zeros in a fresh process (300 runs of
    one session on one input gave 102 different outputs), so how far a cell is off says nothing, and one may even be
    right. 1.31.1 refuses the pad.
    """

    sources = ("microsoft/onnxruntime#8265", "microsoft/onnxruntime#23878", "onnx/onnx#6735")
    aten_ops = ("aten::reflection_pad1d",)
    onnx_ops = ("Pad",)
    exporters = ("torchscript-trace",)
    inputs = ((f32(2, 6),), (f32(2, 5),), (f32(2, 3),))
    dynamic = {"x": {1: "length"}}

    def forward(self, x):
        return _ReflectFour.apply(x)

    @fix("rewrite", "several pads of two, each reflected at the pad before: another function", caution=True)
    def several_pads(self, x):
        x = F.pad(x.unsqueeze(0), (2, 2), mode="reflect")
        return F.pad(x, (2, 2), mode="reflect").squeeze(0)

    @fix("rewrite", "columns picked by a reflected index", documented=False)
    def picked_by_index(self, x):
        last = x.shape[1] - 1
        # a few periods added: an integer remainder of negative numbers has a fault of its own
        place = torch.remainder(torch.arange(x.shape[1] + 8) + 8 * last - 4, 2 * last)
        return x[:, last - torch.abs(place - last)]
