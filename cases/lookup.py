"""Looking up values: counting, bucketing, one-hot, embedding bags, unique values."""

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix, i32, i64, values


class BincountNoRule(Case):
    """torch.bincount has no TorchScript symbolic."""

    sources = ("AILab-CVC/YOLO-World#536",)
    aten_ops = ("aten::bincount",)
    onnx_ops = ("ScatterElements", "Equal", "ReduceSum")
    inputs = (
        (values([0, 1, 1, 3, 4], "int64"),),
        (values([4, 4, 4, 0, 2], "int64"),),
        (values([2, 2, 0, 1, 3, 3, 4], "int64"),),
    )
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return torch.bincount(x, minlength=5)

    @fix(
        "rewrite",
        "use scatter_add of ones into zeros; below opset 16 equal indices overwrite each other",
        caution=True,
        documented=False,
    )
    def scatter_add(self, x):
        return torch.zeros(5, dtype=torch.int64).scatter_add(0, x, torch.ones_like(x))

    @fix("rewrite", "compare with every bin and sum", documented=False)
    def compare_and_sum(self, x):
        return (x[:, None] == torch.arange(5)).long().sum(0)


class _Bucketize(Case):
    aten_ops = ("aten::bucketize",)
    onnx_ops = ("GreaterOrEqual", "ReduceSum")
    needs_torch = ">=1.6"
    inputs = (
        (f32(2, 5, high=4.0),),
        (values([[0.0, 1.0, 2.0, 3.0, 1.5], [-1.0, 3.5, 0.5, 2.0, 1.0]]),),
        (f32(3, 5, high=4.0),),
    )
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        self.register_buffer("boundaries", torch.tensor([0.0, 1.0, 2.0, 3.0]))


class BucketizeNoRule(_Bucketize):
    """torch.bucketize has no TorchScript symbolic before torch 1.12.

    Values equal to a boundary belong to the bucket below it.
    """

    sources = ("pytorch/pytorch#75413", "onnx/onnx#3930", "pytorch/pytorch#148098")

    def forward(self, x):
        return torch.bucketize(x, self.boundaries)

    @fix("rewrite", "count the boundaries below each value", documented=False)
    def count_below(self, x):
        return (x.unsqueeze(-1) > self.boundaries).long().sum(-1)


class BucketizeRight(_Bucketize):
    """torch.bucketize(right=True) has no TorchScript symbolic before torch 1.12.

    Values equal to a boundary belong to the bucket above it.
    """

    sources = ("pytorch/pytorch#75413", "onnx/onnx#3930", "pytorch/pytorch#148098")

    def forward(self, x):
        return torch.bucketize(x, self.boundaries, right=True)

    @fix("rewrite", "count the boundaries that are not above each value", documented=False)
    def count_up_to(self, x):
        return (x.unsqueeze(-1) >= self.boundaries).long().sum(-1)


class HistcNoRule(Case):
    """torch.histc has no TorchScript symbolic.

    A value on the upper edge belongs to the last bin.
    """

    sources = ("pytorch/pytorch#74032",)
    aten_ops = ("aten::histc",)
    onnx_ops = ("Equal", "ReduceSum")
    inputs = (
        (values([0.1, 0.3, 0.6, 0.9, 0.9]),),
        (values([0.0, 0.25, 0.5, 1.0, 1.0]),),
        (values([1.0, 0.75, 0.74, 2.0, -1.0, 0.1]),),
    )
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return torch.histc(x, bins=4, min=0.0, max=1.0)

    @fix("rewrite", "compute the bin of each value within the range, compare with every bin and sum", documented=False)
    def compare_and_sum(self, x):
        inside = ((x >= 0.0) & (x <= 1.0)).float()
        bins = torch.clamp(torch.floor(x * 4), max=3.0)
        return ((bins[:, None] == torch.arange(4).float()).float() * inside[:, None]).sum(0)


class OneHotNoRule(Case):
    """F.one_hot has no symbolic before torch 1.5; early runtimes lack a kernel."""

    sources = (
        "pytorch/pytorch#22534",
        "microsoft/onnxruntime#6116",
        "pytorch/pytorch#65940",
        "microsoft/onnxruntime#5825",
    )
    aten_ops = ("aten::one_hot",)
    onnx_ops = ("OneHot", "Equal")
    needs_torch = ">=1.1"
    inputs = ((i64(2, 3, high=5),), (i64(2, 3, high=5),), (i64(4, 3, high=5),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return F.one_hot(x, 5)

    @fix("rewrite", "index the rows of an identity matrix", documented=False)
    def rows_of_eye(self, x):
        return torch.eye(5, dtype=torch.int64)[x]

    @fix("rewrite", "compare with every class", documented=False)
    def compare(self, x):
        return (x[..., None] == torch.arange(5)).long()


class EmbeddingBag2d(Case):
    """nn.EmbeddingBag with a 2-d input: fails or gives wrong values before torch 1.12.

    Each row of the input is a bag.
    """

    id = "embedding-bag-2d"
    sources = ("pytorch/pytorch#41234", "pytorch/pytorch#75621")
    aten_ops = ("aten::embedding_bag",)
    onnx_ops = ("Gather", "Loop")
    inputs = ((i64(2, 3),), (i64(2, 3),), (i64(4, 3),))
    dynamic = {"x": {0: "bags"}}

    def setup(self):
        self.bag = torch.nn.EmbeddingBag(10, 4, mode="sum")

    def forward(self, x):
        return self.bag(x)

    @fix("rewrite", "use an embedding and sum over each bag", documented=False)
    def embedding_sum(self, x):
        return F.embedding(x, self.bag.weight).sum(1)


class EmbeddingBagPerSampleWeights(EmbeddingBag2d):
    """nn.EmbeddingBag with per_sample_weights: fails or wrong before torch 1.12."""

    id = "embedding-bag-per-sample-weights"
    inputs = ((i64(2, 3), f32(2, 3)), (i64(2, 3), f32(2, 3)), (i64(4, 3), f32(4, 3)))
    dynamic = {"x": {0: "bags"}, "weights": {0: "bags"}}

    def forward(self, x, weights):
        return self.bag(x, per_sample_weights=weights)

    @fix("rewrite", "use an embedding, then weight and sum over each bag", documented=False)
    def embedding_sum(self, x, weights):
        return (F.embedding(x, self.bag.weight) * weights.unsqueeze(-1)).sum(1)


class UniqueInt32(Case):
    """torch.unique of int32: onnxruntime has Unique kernels for few types."""

    id = "unique-int32"
    sources = ("microsoft/onnxscript#1547",)
    aten_ops = ("aten::_unique2",)
    onnx_ops = ("Unique",)
    inputs = ((i32(6, high=4),), (i32(6, high=4),), (i32(9, high=4),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return torch.unique(x)

    @fix("rewrite", "take the unique values as int64, then cast back", documented=False)
    def as_int64(self, x):
        return torch.unique(x.long()).to(torch.int32)


class UniqueConsecutiveNoRule(Case):
    """torch.unique_consecutive has no TorchScript symbolic."""

    sources = ("onnx/onnx#3193", "pytorch/pytorch#112718")
    aten_ops = ("aten::unique_consecutive",)
    onnx_ops = ("Compress", "NonZero")
    inputs = (
        (values([1, 1, 2, 2, 3], "int64"),),
        (values([5, 5, 5, 1, 5], "int64"),),
        (values([7, 7, 7], "int64"),),
    )
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return torch.unique_consecutive(x)

    @fix("rewrite", "keep the first value and every value that differs from the previous one", documented=False)
    def changed(self, x):
        return torch.cat([x[:1], x[1:][x[1:] != x[:-1]]])
