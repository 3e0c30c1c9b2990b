"""expand, repeat and repeat_interleave with sizes that are not known in advance."""

import torch

from caniexport import Case, f32, fix, i64, values


class ExpandAsConstant(Case):
    """constant.expand_as(x): TorchScript fails at another width in torch 1.10 to 2.0."""

    sources = ("pytorch/pytorch#95961",)
    aten_ops = ("aten::expand_as",)
    onnx_ops = ("Expand",)
    inputs = ((f32(3, 4),), (f32(3, 4),), (f32(3, 7),))
    dynamic = {"x": {1: "width"}}

    def forward(self, x):
        return torch.tensor([[1.0], [2.0], [3.0]]).expand_as(x)

    @fix("rewrite", "add zeros of the input's shape to the constant", documented=False)
    def plus_zeros(self, x):
        return torch.tensor([[1.0], [2.0], [3.0]]) + torch.zeros_like(x)


class ExpandToInputSize(Case):
    """positions.expand(input_ids.size()): reported to keep the example's shape."""

    sources = ("pytorch/pytorch#87677",)
    aten_ops = ("aten::expand", "aten::size")
    onnx_ops = ("Expand", "Shape")
    inputs = ((i64(2, 5),), (i64(2, 5),), (i64(4, 5),))
    dynamic = {"ids": {0: "batch"}}

    def setup(self):
        self.register_buffer("positions", torch.arange(5).unsqueeze(0))

    def forward(self, ids):
        return ids + self.positions.expand(ids.size())

    @fix("rewrite", "repeat along the batch", documented=False)
    def repeat(self, ids):
        return ids + self.positions.repeat(ids.size(0), 1)

    @fix("rewrite", "let the addition broadcast", documented=False)
    def broadcast(self, ids):
        return ids + self.positions


class ExpandMinusOne(Case):
    """x.expand(-1, 3, 3, 1): the -1 is written into the shape of the ONNX file."""

    sources = ("pytorch/pytorch#32926", "microsoft/onnxruntime#1840", "microsoft/onnxruntime#7072")
    aten_ops = ("aten::expand",)
    onnx_ops = ("Expand",)
    inputs = ((f32(2, 1, 1, 1),), (f32(2, 1, 1, 1),), (f32(6, 1, 1, 1),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return x.expand(-1, 3, 3, 1)

    @fix("rewrite", "use the size instead of -1", documented=False)
    def explicit_size(self, x):
        return x.expand(x.size(0), 3, 3, 1)


class _RepeatInterleave(Case):
    aten_ops = ("aten::repeat_interleave",)
    onnx_ops = ("Loop", "Tile", "Expand")
    needs_torch = ">=1.1"


class RepeatInterleaveWithoutDim(_RepeatInterleave):
    """x.repeat_interleave(2) without dim, dynamic shape: TorchScript export fails."""

    sources = ("pytorch/pytorch#100429", "pytorch/pytorch#100575")
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return x.repeat_interleave(2)

    @fix("rewrite", "flatten and pass dim", documented=False)
    def named_axis(self, x):
        return x.flatten().repeat_interleave(2, dim=0)

    @fix("rewrite", "add an axis, expand it and reshape", documented=False)
    def expand_reshape(self, x):
        return x.unsqueeze(-1).expand(x.size(0), 3, 2).reshape(-1)


class RepeatInterleaveManyNodes(_RepeatInterleave):
    """x.repeat_interleave(2, dim=-1) of a static shape: exports hundreds of nodes."""

    sources = ("pytorch/pytorch#100438",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    facts = staticmethod(lambda model: {"more_than_20_nodes": len(model.graph.node) > 20})

    def forward(self, x):
        return x.repeat_interleave(2, dim=-1)

    @fix("rewrite", "add an axis, expand it and reshape", documented=False)
    def expand_reshape(self, x):
        return x.unsqueeze(-1).expand(2, 3, 2).reshape(2, 6)


class RepeatInterleaveBySize(_RepeatInterleave):
    """repeat_interleave with a size as count: TorchScript fails before torch 1.12."""

    sources = ("pytorch/pytorch#62936",)
    inputs = ((f32(1, 3), f32(2, 4)), (f32(1, 3), f32(2, 4)), (f32(1, 3), f32(5, 4)))
    dynamic = {"y": {0: "count"}}

    def forward(self, x, y):
        return x.repeat_interleave(y.size(0), dim=0) + y[:, :1]

    @fix("rewrite", "use expand", documented=False)
    def expand(self, x, y):
        return x.expand(y.size(0), 3) + y[:, :1]

    opset_13 = fix("raise-opset", "export at opset 13", opset=13, documented=False)


class RepeatInterleaveByTensor(_RepeatInterleave):
    """repeat_interleave with a tensor of counts: TorchScript needs opset 13.

    There is one count per row.
    """

    sources = ("pytorch/pytorch#73071", "pytorch/pytorch#58733")
    inputs = (
        (f32(3, 2), values([1, 2, 3], "int64")),
        (f32(3, 2), values([3, 0, 2], "int64")),
        (f32(4, 2), values([2, 2, 1, 1], "int64")),
    )
    dynamic = {"x": {0: "rows"}, "counts": {0: "rows"}}

    def forward(self, x, counts):
        return x.repeat_interleave(counts, dim=0)

    opset_13 = fix("raise-opset", "export at opset 13", opset=13, documented=False)

    @fix("rewrite", "index with the number of cumulative sums that each position has passed", documented=False)
    def index_by_running_sum(self, x, counts):
        ends = counts.cumsum(0)
        places = torch.arange(int(ends[-1])) if not torch.jit.is_tracing() else torch.arange(ends[-1])
        return x[(places[:, None] >= ends[None]).long().sum(1)]


class SliceAssignDynamic(Case):
    """bias[:, 1:, 0] = t, dynamic shape: the value is expanded to the example's shape."""

    sources = ("pytorch/pytorch#107841",)
    aten_ops = ("aten::copy_", "aten::slice")
    onnx_ops = ("Expand", "ScatterND")
    inputs = ((f32(2, 4, 4), f32(1, 1)), (f32(2, 4, 4), f32(1, 1)), (f32(3, 6, 6), f32(1, 1)))
    dynamic = {"bias": {0: "batch", 1: "rows", 2: "columns"}}

    def forward(self, bias, t):
        bias = bias.clone()
        bias[:, 1:, 0] = t
        return bias

    @fix("rewrite", "concatenate the parts", documented=False)
    def concatenated(self, bias, t):
        column = t.unsqueeze(0).expand(bias.size(0), bias.size(1) - 1, 1)
        below = torch.cat([column, bias[:, 1:, 1:]], dim=2)
        return torch.cat([bias[:, :1], below], dim=1)


class BroadcastToNoRule(Case):
    """x.broadcast_to(shape): no TorchScript symbolic before torch 2.1."""

    sources = ("pytorch/pytorch#92678", "pytorch/pytorch#101768", "AXERA-TECH/OWLVIT-ONNX-AX650-CPP#1")
    aten_ops = ("aten::broadcast_to",)
    onnx_ops = ("Expand",)
    needs_torch = ">=1.8"
    inputs = ((f32(1, 4), f32(3, 4)), (f32(1, 4), f32(3, 4)), (f32(1, 4), f32(5, 4)))
    dynamic = {"like": {0: "batch"}}

    def forward(self, x, like):
        return x.broadcast_to(like.shape)

    @fix("rewrite", "use expand", documented=False)
    def expand(self, x, like):
        return x.expand(like.shape)

    @fix("rewrite", "add zeros of that shape", documented=False)
    def plus_zeros(self, x, like):
        return x + torch.zeros_like(like)


class BroadcastTensorsNoRule(Case):
    """torch.broadcast_tensors: no TorchScript symbolic before torch 1.10."""

    sources = ("pytorch/pytorch#69073", "onnx/onnx#3339")
    aten_ops = ("aten::broadcast_tensors",)
    onnx_ops = ("Expand",)
    inputs = ((f32(1, 4), f32(3, 1)), (f32(1, 4), f32(3, 1)), (f32(1, 4), f32(5, 1)))
    dynamic = {"y": {0: "batch"}}

    def forward(self, x, y):
        x, y = torch.broadcast_tensors(x, y)
        return torch.cat([x, y], 1)

    @fix("rewrite", "add zeros of the other's shape to each", documented=False)
    def plus_zeros(self, x, y):
        return torch.cat([x + torch.zeros_like(y), y + torch.zeros_like(x)], 1)


class RepeatInterleaveOfVector(_RepeatInterleave):
    """x.repeat_interleave(3, dim=0) of a vector: reported to add an axis."""

    sources = ("microsoft/onnxscript#2936", "microsoft/onnxscript#2932")
    inputs = ((f32(4),), (f32(4),), (f32(6),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return x.repeat_interleave(3, dim=0)

    @fix("rewrite", "add an axis, expand it and flatten", documented=False)
    def expanded(self, x):
        return x.unsqueeze(1).expand(x.size(0), 3).reshape(-1)


class RepeatInterleaveOutputSize(_RepeatInterleave):
    """repeat_interleave(output_size=...): reported as unknown to dynamo."""

    sources = ("microsoft/onnxscript#2691", "microsoft/onnxscript#2687")
    needs_torch = ">=1.11"
    inputs = ((f32(2, 4),), (f32(2, 4),), (f32(5, 4),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return x.repeat_interleave(2, dim=1, output_size=8)

    @fix("rewrite", "leave output_size out", documented=False)
    def without_output_size(self, x):
        return x.repeat_interleave(2, dim=1)
