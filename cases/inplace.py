"""Writing in place: through slices, views, lists and buffers."""

from typing import List

import torch
from torch import Tensor

from caniexport import Case, f32, fix, values


class SliceAssignToRepeat(Case):
    """a = x.repeat(3, 2); a[:2] = x * 2: the assignment is missing from the file."""

    sources = ("pytorch/pytorch#19948",)
    aten_ops = ("aten::repeat", "aten::copy_")
    onnx_ops = ("Tile", "ScatterND", "Concat")
    inputs = ((f32(2, 4),), (f32(2, 4),))

    def forward(self, x):
        a = x.repeat(3, 2)
        a[:2] = torch.cat([x, x], 1) * 2
        return a

    @fix("rewrite", "the rows joined instead of assigned")
    def joined(self, x):
        return torch.cat([torch.cat([x, x], 1) * 2, x.repeat(3, 2)[2:]], 0)

    newer_torch = fix("version-upgrade", "a newer torch", torch=">=1.2")


class AddThroughSelectedView(Case):
    """view = y[1, ...]; view += 2: the view is a Gather, its sum never reaches y."""

    sources = ("pytorch/pytorch#122290", "pytorch/pytorch#80271")
    aten_ops = ("aten::select", "aten::add_")
    onnx_ops = ("Gather", "Add", "ScatterND")
    inputs = ((f32(3, 4),), (f32(3, 4),), (f32(3, 5),))
    dynamic = {"x": {1: "width"}}

    def forward(self, x):
        y = x.clone()
        view = y[1, ...]
        view += 2
        return y

    dynamo = fix("export-option", "the torch.export based exporter", exporter="dynamo")

    @fix("rewrite", "y[1] = y[1] + 2")
    def assigned(self, x):
        y = x.clone()
        y[1] = y[1] + 2
        return y

    @fix("rewrite", "y[1, ...] += 2, without a name for the view")
    def indexed_directly(self, x):
        y = x.clone()
        y[1, ...] += 2
        return y

    @fix("rewrite", "y + 2 in one row: a mask times 2")
    def mask_added(self, x):
        return x + (torch.arange(3) == 1).to(x.dtype).unsqueeze(1) * 2


class AddThroughSlicedView(AddThroughSelectedView):
    """view = y[:, 1:3]; view.mul_(2): the view is a Slice, its product never reaches y."""

    aten_ops = ("aten::slice", "aten::mul_")
    onnx_ops = ("Slice", "Mul", "ScatterND")
    inputs = ((f32(3, 4),), (f32(3, 4),), (f32(5, 4),))
    dynamic = {"x": {0: "rows"}}

    def forward(self, x):
        y = x.clone()
        view = y[:, 1:3]
        view.mul_(2)
        return y

    @fix("rewrite", "y[:, 1:3] = y[:, 1:3] * 2")
    def assigned(self, x):
        y = x.clone()
        y[:, 1:3] = y[:, 1:3] * 2
        return y

    @fix("rewrite", "y[:, 1:3] *= 2, without a name for the view")
    def indexed_directly(self, x):
        y = x.clone()
        y[:, 1:3] *= 2
        return y

    @fix("rewrite", "a vector of factors")
    def mask_added(self, x):
        return x * torch.tensor([1.0, 2.0, 2.0, 1.0])


def powers(x: Tensor, n: Tensor) -> Tensor:
    """x, x squared, and so on, n of them, collected in a list."""
    found: List[Tensor] = []
    y = x
    for _ in range(int(n)):
        found.append(y)
        y = y * x
    return torch.stack(found)


class AppendInScriptedLoop(Case):
    """A list appended to in a scripted loop, stacked afterwards."""

    sources = ("pytorch/pytorch#39362",)
    aten_ops = ("aten::append", "prim::Loop")
    onnx_ops = ("Loop", "SequenceInsert", "ConcatFromSequence")
    needs_torch = ">=1.5"
    exporters = ("torchscript-trace", "torchscript-script")
    inputs = ((f32(3), values(2, "int64")), (f32(3), values(2, "int64")), (f32(3), values(5, "int64")))

    def setup(self):
        # not where the file is imported: what a release cannot script would take every other case with it
        self.powers = torch.jit.script(powers)

    def forward(self, x, n):
        return self.powers(x, n)

    @fix("rewrite", "powers of a fixed number, the first n of them", documented=False)
    def fixed_number(self, x, n):
        return torch.stack([x, x**2, x**3, x**4, x**5]).index_select(0, torch.arange(n))

    @fix("rewrite", "one product along a table of repetitions", documented=False)
    def by_exponents(self, x, n):
        return x.unsqueeze(0) ** (torch.arange(n) + 1).unsqueeze(1).to(x.dtype)


class SizeIncreasedInPlace(Case):
    """A traced size is increased in place, and the size itself changes with it."""

    sources = ("https://docs.pytorch.org/docs/stable/onnx_torchscript.html",)
    aten_ops = ("aten::size", "aten::add_")
    onnx_ops = ("Shape", "Add")
    inputs = ((f32(2, 4),), (f32(2, 4),), (f32(2, 6),))
    dynamic = {"x": {1: "length"}}

    def forward(self, x):
        length = x.shape[1]
        longer = length
        longer += 2
        return torch.zeros(longer), x * length

    @fix("rewrite", "longer = length + 2")
    def out_of_place(self, x):
        length = x.shape[1]
        longer = length + 2
        return torch.zeros(longer), x * length


class FillIntegerTensor(Case):
    """x.fill_(value) of integers: the filled tensor has another type in the file."""

    sources = ("pytorch/pytorch#64233", "pytorch/pytorch#64580")
    aten_ops = ("aten::fill_",)
    onnx_ops = ("ConstantOfShape", "Expand", "Cast")
    inputs = (
        (values([[1, 2], [3, 4]], "int64"),),
        (values([[5, 6], [7, 8]], "int64"),),
        (values([[5, 6], [7, 8], [9, 10]], "int64"),),
    )
    dynamic = {"x": {0: "rows"}}

    def forward(self, x):
        y = x.clone()
        return y.fill_(3) + x

    @fix("rewrite", "full_like with the type named")
    def full_like(self, x):
        return torch.full_like(x, 3, dtype=x.dtype) + x

    newer_torch = fix("version-upgrade", "torch 1.10 and later", torch=">=1.10")


class FillPartOfIntegerTensor(FillIntegerTensor):
    """x[:, 0].fill_(value) of integers: a slice filled in place."""

    def forward(self, x):
        y = x.clone()
        y[:, 0].fill_(3)
        return y

    @fix("rewrite", "the filled column joined with the others")
    def full_like(self, x):
        return torch.cat([torch.full_like(x[:, :1], 3, dtype=x.dtype), x[:, 1:]], 1)


class CacheWrittenAtPosition(Case):
    """A cache written in place at a position that is an input; the model returns what it wrote."""

    sources = ("pytorch/pytorch#135233",)
    aten_ops = ("aten::copy_", "aten::index_put_")
    onnx_ops = ("ScatterND", "Concat")
    inputs = (
        (f32(1, 4, 3), f32(1, 2, 3), values([0, 1], "int64")),
        (f32(1, 4, 3), f32(1, 2, 3), values([2, 3], "int64")),
        (f32(1, 6, 3), f32(1, 2, 3), values([4, 5], "int64")),
    )
    dynamic = {"cache": {1: "length"}}

    def forward(self, cache, new, places):
        written = cache.clone()
        written[:, places] = new
        return written

    dynamo = fix("export-option", "the torch.export based exporter", exporter="dynamo")

    @fix("rewrite", "what comes before, the new part and what comes after, joined")
    def joined(self, cache, new, places):
        return torch.cat([cache[:, : places[0]], new, cache[:, places[1] + 1 :]], dim=1)


class RunningTotalInBuffer(Case):
    """A buffer that forward adds to: eager goes on from call to call, the file begins anew at each run.

    It begins with what the buffer held after the export's own call. ``before`` is the total of the calls before,
    which only the fix reads.
    """

    sources = ("pytorch/pytorch#60828",)
    aten_ops = ("aten::add_",)
    onnx_ops = ("Add",)
    inputs = (
        (values([1.0, 10.0]), values([0.0, 0.0])),
        (values([2.0, 20.0]), values([1.0, 10.0])),
        (values([4.0, 40.0]), values([3.0, 30.0])),
    )

    def setup(self):
        self.register_buffer("total", torch.zeros(2))

    def forward(self, x, before):
        self.total.add_(x)
        return self.total + 0 * before

    def reference(self, x, before):
        return before + x

    @fix("rewrite", "the state as an input and an output")
    def state_passed(self, x, before):
        return before + x


class SliceCopiedInto(Case):
    """x[:, 1:].copy_(y): a slice as the target of a copy."""

    sources = ("pytorch/pytorch#161263", "pytorch/pytorch#53046")
    aten_ops = ("aten::copy_", "aten::slice")
    onnx_ops = ("ScatterND", "Slice", "Concat")
    inputs = ((f32(2, 4), f32(2, 3)), (f32(2, 4), f32(2, 3)), (f32(3, 6), f32(3, 5)))
    dynamic = {"x": {0: "batch", 1: "length"}, "y": {0: "batch", 1: "shorter"}}

    def forward(self, x, y):
        x = x.clone()
        x[:, 1:].copy_(y)
        return x

    @fix("rewrite", "assigned: x[:, 1:] = y", documented=False)
    def assigned(self, x, y):
        x = x.clone()
        x[:, 1:] = y
        return x

    @fix("rewrite", "the parts, concatenated", documented=False)
    def concatenated(self, x, y):
        return torch.cat([x[:, :1], y], 1)


class SliceScatterOpenEnd(Case):
    """torch.slice_scatter without a start or an end: the missing bound becomes an input without a name."""

    sources = ("microsoft/onnxscript#3006", "microsoft/onnxscript#2372")
    aten_ops = ("aten::slice_scatter",)
    onnx_ops = ("ScatterND", "Slice")
    needs_torch = ">=2.0"
    inputs = ((f32(2, 4), f32(2, 3)), (f32(2, 4), f32(2, 3)), (f32(5, 4), f32(5, 3)))
    dynamic = {"x": {0: "batch"}, "y": {0: "batch"}}

    def forward(self, x, y):
        return torch.slice_scatter(x, y, 1, end=3)

    @fix("rewrite", "both bounds given", documented=False)
    def both_bounds(self, x, y):
        return torch.slice_scatter(x, y, 1, 0, 3)

    @fix("rewrite", "the parts, concatenated", documented=False)
    def concatenated(self, x, y):
        return torch.cat([y, x[:, 3:]], 1)
