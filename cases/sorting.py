"""Sorting and the largest values: sort, argsort, topk, kthvalue, quantile."""

import torch

from caniexport import Case, f32, fix, values


class TopkInt64(Case):
    """topk of int64 values: TopK accepts only floats below opset 11."""

    id = "topk-int64"
    sources = ("microsoft/onnxruntime#3239", "onnx/onnx#2663")
    aten_ops = ("aten::topk",)
    onnx_ops = ("TopK",)
    inputs = (
        (values([[3, 9, 1, 7], [40, 2, 60, 8]], "int64"),),
        (values([[-3, -9, 0, 16777217], [5, 4, 3, 2]], "int64"),),
        (values([[1, 2, 3, 4], [8, 7, 6, 5], [0, -1, 9, 3]], "int64"),),
    )
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.topk(x, 2)

    opset_11 = fix("raise-opset", "export at opset 11", opset=11)

    @fix("rewrite", "use topk of the values as float32; exact up to 2**24", caution=True, documented=False)
    def as_float(self, x):
        largest, order = torch.topk(x.float(), 2)
        return largest.long(), order


class TopkLargerThanSize(Case):
    """topk(min(k, n)) traced with n > k: a later input with fewer values fails."""

    sources = ("pytorch/pytorch#71695",)
    aten_ops = ("aten::topk", "aten::size")
    onnx_ops = ("TopK",)
    inputs = ((f32(8),), (f32(8),), (f32(3),))
    dynamic = {"x": {0: "candidates"}}

    def forward(self, x):
        return torch.topk(x, min(5, x.size(0)))[0]

    @fix("rewrite", "compute the minimum of k and n with tensors, which tracing follows", documented=False)
    def tensor_minimum(self, x):
        count = torch.min(torch.cat((torch.tensor([5]), torch._shape_as_tensor(x)[0:1])))
        return torch.topk(x, count)[0]

    @fix("rewrite", "sort all and slice the first five", documented=False)
    def sort_and_slice(self, x):
        return torch.sort(x, descending=True)[0][:5]


class SortStableFalse(Case):
    """torch.sort(x, stable=False): the symbolic reads the keyword as out."""

    sources = ("pytorch/pytorch#95613",)
    aten_ops = ("aten::sort",)
    onnx_ops = ("TopK",)
    needs_torch = ">=1.9"
    inputs = ((f32(2, 5),), (f32(2, 5),), (f32(3, 5),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.sort(x, stable=False)

    @fix("rewrite", "use torch.sort without the keyword", documented=False)
    def without_stable(self, x):
        return torch.sort(x)


class SortStableTrue(Case):
    """torch.sort(x, stable=True) of equal keys: no symbolic for the overload.

    TopK does not define the order of ties.
    """

    sources = ("microsoft/onnxscript#3053", "pytorch/pytorch#127831", "pytorch/pytorch#95613")
    aten_ops = ("aten::sort",)
    onnx_ops = ("TopK",)
    needs_torch = ">=1.9"
    inputs = (
        (values([[3, 1, 2, 5], [4, 9, 6, 7]]),),
        (values([[2, 1, 2, 1], [0, 0, 0, 0]]),),
        (values([[1, 1, 1, 0], [5, 5, 4, 4], [2, 3, 2, 3]]),),
    )
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.sort(x, stable=True)

    @fix("rewrite", "use torch.sort without the keyword", documented=False)
    def without_stable(self, x):
        return torch.sort(x)

    torchscript = fix("export-option", "export with dynamo=False", exporter="torchscript-trace", documented=False)


class ArgsortNoRule(Case):
    """Tensor.argsort has no TorchScript symbolic before torch 1.13."""

    sources = ("pytorch/pytorch#33412", "onnx/onnx#3519", "pytorch/vision#3426")
    aten_ops = ("aten::argsort",)
    onnx_ops = ("TopK",)
    inputs = ((f32(2, 5),), (f32(2, 5),), (f32(3, 5),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return x.argsort()

    @fix("rewrite", "use x.sort()[1]")
    def sort_indices(self, x):
        return x.sort()[1]

    @fix("rewrite", "use topk of all values, smallest first", documented=False)
    def topk_all(self, x):
        return torch.topk(x, 5, largest=False)[1]


class SortMissing(Case):
    """torch.sort has no symbolic in torch 1.0, nor at opset 11 in torch 1.3."""

    sources = ("pytorch/pytorch#17519", "onnx/onnx#2663")
    aten_ops = ("aten::sort",)
    onnx_ops = ("TopK",)
    inputs = ((f32(2, 4),), (f32(2, 4),), (f32(3, 4),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.sort(x, dim=-1, descending=True)

    @fix("rewrite", "use topk of all values", documented=False)
    def topk_all(self, x):
        return torch.topk(x, 4, dim=-1)


class KthvalueNoRule(Case):
    """torch.kthvalue has no ONNX translation."""

    sources = ("onnx/onnx#3586",)
    aten_ops = ("aten::kthvalue",)
    onnx_ops = ("TopK",)
    inputs = ((f32(2, 7),), (f32(2, 7),), (f32(3, 7),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.kthvalue(x, 3)[0]

    @fix("rewrite", "take the last of the k smallest values", documented=False)
    def last_of_topk(self, x):
        return torch.topk(x, 3, largest=False)[0][..., -1]

    @fix("rewrite", "take the k-th of the sorted values", documented=False)
    def of_sorted(self, x):
        return torch.sort(x)[0][..., 2]


class ModeNoRule(Case):
    """torch.mode, the most frequent value, has no ONNX translation."""

    sources = ("pytorch/pytorch#79601",)
    aten_ops = ("aten::mode",)
    onnx_ops = ("ArgMax", "ReduceSum")
    inputs = (
        (values([[1, 2, 2, 3], [4, 4, 0, 4]], "int64"),),
        (values([[3, 3, 1, 1], [0, 1, 2, 3]], "int64"),),
        (values([[2, 2, 0, 0], [1, 4, 1, 4], [3, 0, 3, 0]], "int64"),),
    )
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.mode(x)[0]

    @fix("rewrite", "count each value below 5 and take the first of the largest counts", documented=False)
    def counted(self, x):
        return (x.unsqueeze(-1) == torch.arange(5)).long().sum(1).float().argmax(-1)


class QuantileNoRule(Case):
    """torch.quantile has no TorchScript symbolic."""

    sources = ("onnx/onnx#3905",)
    aten_ops = ("aten::quantile",)
    onnx_ops = ("TopK",)
    needs_torch = ">=1.7"
    inputs = ((f32(2, 6),), (f32(2, 6),), (f32(4, 6),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.quantile(x, 0.25, dim=1)

    @fix("rewrite", "sort and interpolate between the neighbors (position 1.25 of 6)", documented=False)
    def between_neighbours(self, x):
        ordered = torch.sort(x, dim=1)[0]
        return ordered[:, 1] * 0.75 + ordered[:, 2] * 0.25


class TopkOfATensorK(Case):
    """topk with k from the input's size: TensorRT rejects the computed K."""

    sources = ("open-mmlab/mmdeploy#2149",)
    aten_ops = ("aten::topk", "aten::size")
    onnx_ops = ("TopK", "Shape")
    inputs = ((f32(6),), (f32(6),), (f32(9),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return torch.topk(x, x.size(0))[0]

    @fix(
        "rewrite",
        "use a fixed number of values; different results where the input is longer",
        changes_values=True,
        documented=False,
    )
    def fixed_k(self, x):
        return torch.topk(x, 6)[0]
