"""In-place writes: through slices, views, lists and buffers."""

from typing import List

import torch
from torch import Tensor

from caniexport import Case, f32, fix, values


class SliceAssignToRepeat(Case):
    """Slice assignment to x.repeat(3, 2): the exported model lacks the assignment."""

    sources = ("pytorch/pytorch#19948",)
    aten_ops = ("aten::repeat", "aten::copy_")
    onnx_ops = ("Tile", "ScatterND", "Concat")
    inputs = ((f32(2, 4),), (f32(2, 4),))

    def forward(self, x):
        a = x.repeat(3, 2)
        a[:2] = torch.cat([x, x], 1) * 2
        return a

    @fix("rewrite", "concatenate the rows instead of assigning them")
    def joined(self, x):
        return torch.cat([torch.cat([x, x], 1) * 2, x.repeat(3, 2)[2:]], 0)

    newer_torch = fix("version-upgrade", "use a newer torch", torch=">=1.2")


class AddThroughSelectedView(Case):
    """In-place add to a view y[1, ...]: TorchScript loses the sum.

    The view exports as a Gather; its sum never reaches y.
    """

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

    dynamo = fix("export-option", "export with dynamo=True", exporter="dynamo")

    @fix("rewrite", "write y[1] = y[1] + 2")
    def assigned(self, x):
        y = x.clone()
        y[1] = y[1] + 2
        return y

    @fix("rewrite", "write y[1, ...] += 2, without a variable for the view")
    def indexed_directly(self, x):
        y = x.clone()
        y[1, ...] += 2
        return y

    @fix("rewrite", "add a mask of that row, times 2")
    def mask_added(self, x):
        return x + (torch.arange(3) == 1).to(x.dtype).unsqueeze(1) * 2


class AddThroughSlicedView(AddThroughSelectedView):
    """mul_ on a view y[:, 1:3]: TorchScript loses the product.

    The view exports as a Slice; its product never reaches y.
    """

    aten_ops = ("aten::slice", "aten::mul_")
    onnx_ops = ("Slice", "Mul", "ScatterND")
    inputs = ((f32(3, 4),), (f32(3, 4),), (f32(5, 4),))
    dynamic = {"x": {0: "rows"}}

    def forward(self, x):
        y = x.clone()
        view = y[:, 1:3]
        view.mul_(2)
        return y

    @fix("rewrite", "write y[:, 1:3] = y[:, 1:3] * 2")
    def assigned(self, x):
        y = x.clone()
        y[:, 1:3] = y[:, 1:3] * 2
        return y

    @fix("rewrite", "write y[:, 1:3] *= 2, without a variable for the view")
    def indexed_directly(self, x):
        y = x.clone()
        y[:, 1:3] *= 2
        return y

    @fix("rewrite", "multiply by a vector of factors")
    def mask_added(self, x):
        return x * torch.tensor([1.0, 2.0, 2.0, 1.0])


def powers(x: Tensor, n: Tensor) -> Tensor:
    """Stack the first ``n`` powers of ``x``, collected in a list."""
    found: List[Tensor] = []
    y = x
    for _ in range(int(n)):
        found.append(y)
        y = y * x
    return torch.stack(found)


class AppendInScriptedLoop(Case):
    """list.append in a scripted loop: fails at export before torch 1.9.

    torch.stack then joins the list.
    """

    sources = ("pytorch/pytorch#39362",)
    aten_ops = ("aten::append", "prim::Loop")
    onnx_ops = ("Loop", "SequenceInsert", "ConcatFromSequence")
    needs_torch = ">=1.5"
    exporters = ("torchscript-trace", "torchscript-script")
    inputs = ((f32(3), values(2, "int64")), (f32(3), values(2, "int64")), (f32(3), values(5, "int64")))

    def setup(self):
        # scripted here, not at import: a release that cannot script it would lose every case of the file
        self.powers = torch.jit.script(powers)

    def forward(self, x, n):
        return self.powers(x, n)

    @fix("rewrite", "compute a fixed number of powers and select the first n", documented=False)
    def fixed_number(self, x, n):
        return torch.stack([x, x**2, x**3, x**4, x**5]).index_select(0, torch.arange(n))

    @fix("rewrite", "use one power of a range of exponents", documented=False)
    def by_exponents(self, x, n):
        return x.unsqueeze(0) ** (torch.arange(n) + 1).unsqueeze(1).to(x.dtype)


class SizeIncreasedInPlace(Case):
    """In-place add to a traced size also changes the original size."""

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

    @fix("rewrite", "write longer = length + 2")
    def out_of_place(self, x):
        length = x.shape[1]
        longer = length + 2
        return torch.zeros(longer), x * length


class FillIntegerTensor(Case):
    """fill_ on an integer tensor: the filled tensor gets the wrong dtype."""

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

    @fix("rewrite", "use full_like with an explicit dtype")
    def full_like(self, x):
        return torch.full_like(x, 3, dtype=x.dtype) + x

    newer_torch = fix("version-upgrade", "use torch 1.10 or newer", torch=">=1.10")


class FillPartOfIntegerTensor(FillIntegerTensor):
    """fill_ on a slice of an integer tensor: the wrong dtype."""

    def forward(self, x):
        y = x.clone()
        y[:, 0].fill_(3)
        return y

    @fix("rewrite", "concatenate the filled column with the other columns")
    def full_like(self, x):
        return torch.cat([torch.full_like(x[:, :1], 3, dtype=x.dtype), x[:, 1:]], 1)


class CacheWrittenAtPosition(Case):
    """Cache written in place at input positions: wrong or failing on older torch.

    The model returns the cache that it wrote.
    """

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

    dynamo = fix("export-option", "export with dynamo=True", exporter="dynamo")

    @fix("rewrite", "concatenate the cache before, the new part and the cache after")
    def joined(self, cache, new, places):
        return torch.cat([cache[:, : places[0]], new, cache[:, places[1] + 1 :]], dim=1)


class RunningTotalInBuffer(Case):
    """In-place add to a buffer: the exported model loses the state between runs.

    Eager keeps the total from call to call. Each run of the exported model starts from the value that the buffer
    held after the export's own call. ``before`` is the total of the earlier calls; only the workaround reads it.
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

    @fix("rewrite", "pass the state as an input and return it as an output")
    def state_passed(self, x, before):
        return before + x


class SliceCopiedInto(Case):
    """copy_ into a slice x[:, 1:]: wrong values or a failed export on older torch."""

    sources = ("pytorch/pytorch#161263", "pytorch/pytorch#53046")
    aten_ops = ("aten::copy_", "aten::slice")
    onnx_ops = ("ScatterND", "Slice", "Concat")
    inputs = ((f32(2, 4), f32(2, 3)), (f32(2, 4), f32(2, 3)), (f32(3, 6), f32(3, 5)))
    dynamic = {"x": {0: "batch", 1: "length"}, "y": {0: "batch", 1: "shorter"}}

    def forward(self, x, y):
        x = x.clone()
        x[:, 1:].copy_(y)
        return x

    @fix("rewrite", "assign instead: x[:, 1:] = y", documented=False)
    def assigned(self, x, y):
        x = x.clone()
        x[:, 1:] = y
        return x

    @fix("rewrite", "concatenate the parts", documented=False)
    def concatenated(self, x, y):
        return torch.cat([x[:, :1], y], 1)


class SliceScatterOpenEnd(Case):
    """torch.slice_scatter without start or end: dynamo writes an unnamed input."""

    sources = ("microsoft/onnxscript#3006", "microsoft/onnxscript#2372")
    aten_ops = ("aten::slice_scatter",)
    onnx_ops = ("ScatterND", "Slice")
    needs_torch = ">=2.0"
    inputs = ((f32(2, 4), f32(2, 3)), (f32(2, 4), f32(2, 3)), (f32(5, 4), f32(5, 3)))
    dynamic = {"x": {0: "batch"}, "y": {0: "batch"}}

    def forward(self, x, y):
        return torch.slice_scatter(x, y, 1, end=3)

    @fix("rewrite", "pass both bounds", documented=False)
    def both_bounds(self, x, y):
        return torch.slice_scatter(x, y, 1, 0, 3)

    @fix("rewrite", "concatenate the parts", documented=False)
    def concatenated(self, x, y):
        return torch.cat([y, x[:, 3:]], 1)
