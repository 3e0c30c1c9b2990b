"""Sums, products and extrema along an axis, also cumulative, and their statistics."""

import torch

from caniexport import Case, boolean, f16, f32, fix, values


class CumprodNoRule(Case):
    """torch.cumprod: no ONNX translation.

    The workaround through the logarithm works for positive values only.
    """

    sources = ("pytorch/pytorch#102948",)
    aten_ops = ("aten::cumprod",)
    onnx_ops = ("CumSum", "Log", "Exp")
    inputs = (
        (f32(2, 4, low=0.5, high=2.0),),
        (values([[2.0, -1.0, 3.0, -0.5], [1.0, 0.0, 5.0, 2.0]]),),
        (f32(3, 4),),
    )
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.cumprod(x, dim=1)

    @fix(
        "rewrite",
        "use exp of the cumulative sum of logarithms; NaN for negative values",
        caution=True,
        documented=False,
    )
    def log_sum(self, x):
        return torch.exp(torch.cumsum(torch.log(x), dim=1))

    @fix("rewrite", "stack the products of the first one, two, three and four values", documented=False)
    def stacked_products(self, x):
        first, second, third, fourth = x.unbind(1)
        return torch.stack([first, first * second, first * second * third, first * second * third * fourth], dim=1)


class CumsumOfBools(Case):
    """cumsum of a bool mask: CumSum does not accept bool."""

    sources = ("microsoft/onnxruntime#13681", "pytorch/pytorch#40044")
    aten_ops = ("aten::cumsum",)
    onnx_ops = ("CumSum", "Cast")
    inputs = ((boolean(2, 6),), (boolean(2, 6),), (boolean(4, 6),))
    dynamic = {"mask": {0: "batch"}}

    def forward(self, mask):
        return mask.cumsum(1)

    @fix("rewrite", "cast the mask to int64", documented=False)
    def as_int64(self, mask):
        return mask.long().cumsum(1)


class CumsumOfComparedDynamic(Case):
    """cumsum of ~mask (DETR position encoding): the runtime reportedly rejects CumSum."""

    sources = ("microsoft/onnxruntime#22326",)
    aten_ops = ("aten::cumsum", "aten::bitwise_not")
    onnx_ops = ("CumSum", "Not", "Cast")
    needs_torch = ">=1.2"
    inputs = ((boolean(2, 3, 4),), (boolean(2, 3, 4),), (boolean(3, 5, 6),))
    dynamic = {"mask": {0: "batch", 1: "height", 2: "width"}}

    def forward(self, mask):
        return (~mask).cumsum(1, dtype=torch.float32), (~mask).cumsum(2, dtype=torch.float32)

    @fix("rewrite", "cast to float32 before cumsum", documented=False)
    def cast_first(self, mask):
        kept = (~mask).float()
        return kept.cumsum(1), kept.cumsum(2)


class CumsumOpset9(Case):
    """torch.cumsum: TorchScript needs opset 11."""

    id = "cumsum-opset-9"
    sources = ("pytorch/pytorch#43618",)
    aten_ops = ("aten::cumsum",)
    onnx_ops = ("CumSum", "MatMul")
    inputs = ((f32(2, 5),), (f32(2, 5),), (f32(3, 5),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.cumsum(x, dim=1)

    opset_11 = fix("raise-opset", "export at opset 11", opset=11, documented=False)

    @fix("rewrite", "multiply by an upper triangular matrix of ones", documented=False)
    def triangle(self, x):
        return torch.matmul(x, (torch.arange(5)[:, None] <= torch.arange(5)[None]).float())


class CummaxNoRule(Case):
    """torch.cummax: no ONNX translation."""

    sources = ("open-mmlab/mmcv#1010",)
    aten_ops = ("aten::cummax",)
    onnx_ops = ("Max",)
    needs_torch = ">=1.5"
    inputs = ((f32(2, 4),), (f32(2, 4),), (f32(3, 4),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.cummax(x, 1)[0]

    @fix("rewrite", "stack the maxima of the first one, two, three and four values", documented=False)
    def stacked(self, x):
        return torch.stack([x[:, : i + 1].max(1)[0] for i in range(4)], dim=1)


class StdTwoDimsKeepdim(Case):
    """x.std over two axes with keepdim: dynamo has no function for the decomposition."""

    sources = ("pytorch/pytorch#150446",)
    aten_ops = ("aten::std", "prims::broadcast_in_dim")
    onnx_ops = ("ReduceMean", "Sqrt")
    inputs = ((f32(2, 3, 4),), (f32(2, 3, 4),), (f32(3, 3, 4),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return x.std((1, 2), keepdim=True)

    @fix("rewrite", "use the root of the sum of squared deviations over n - 1", documented=False)
    def squared_deviations(self, x):
        centred = x - x.mean((1, 2), keepdim=True)
        return ((centred * centred).sum((1, 2), keepdim=True) / 11).sqrt()

    @fix("rewrite", "call std without keepdim and restore the axes afterwards", documented=False)
    def unsqueezed(self, x):
        return x.std((1, 2)).unsqueeze(1).unsqueeze(2)


class StdHalf(Case):
    """x.std in float16: TorchScript writes the correction in float32."""

    sources = ("vadimkantorov/convasr#64",)
    aten_ops = ("aten::std",)
    onnx_ops = ("ReduceMean", "Mul", "Sqrt")
    inputs = ((f16(2, 6),), (f16(2, 6),), (f16(3, 6),))
    dynamic = {"x": {0: "batch"}}
    atol = 5e-3

    def forward(self, x):
        return x.std(-1)

    @fix("rewrite", "use the root of the sum of squared deviations over n - 1, in float32")
    def squared_deviations(self, x):
        centred = x.float() - x.float().mean(-1, keepdim=True)
        return ((centred * centred).sum(-1) / 5).sqrt().half()

    @fix("rewrite", "use the root of the mean squared deviation; divides by n, torch by n - 1", caution=True)
    def mean_of_squares(self, x):
        centred = x.float() - x.float().mean(-1, keepdim=True)
        return (centred * centred).mean(-1).sqrt().half()


class StdMeanNoRule(Case):
    """torch.std_mean: no TorchScript symbolic before torch 1.8."""

    sources = ("pytorch/pytorch#44636", "pytorch/pytorch#45678")
    aten_ops = ("aten::std_mean",)
    onnx_ops = ("ReduceMean", "Sqrt")
    needs_torch = ">=1.1"
    inputs = ((f32(2, 6),), (f32(2, 6),), (f32(3, 6),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.std_mean(x, -1)

    @fix("rewrite", "call std and mean separately")
    def separate(self, x):
        return x.std(-1), x.mean(-1)


class VarOpset10(Case):
    """x.var with and without correction: no TorchScript symbolic before torch 1.8."""

    id = "var-opset-10"
    sources = ("pytorch/pytorch#49005",)
    aten_ops = ("aten::var",)
    onnx_ops = ("ReduceMean", "Sub", "Mul")
    inputs = ((f32(2, 6),), (f32(2, 6),), (f32(3, 6),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return x.var(1), x.var(1, unbiased=False)

    @fix("rewrite", "divide the sum of squared deviations by n - 1 and by n", documented=False)
    def squared_deviations(self, x):
        centred = x - x.mean(1, keepdim=True)
        squares = (centred * centred).sum(1)
        return squares / 5, squares / 6


class VarNegativeCorrection(Case):
    """torch.var(correction=-1): eager accepts it, dynamo's checks reject it."""

    sources = ("pytorch/pytorch#161083",)
    aten_ops = ("aten::var",)
    onnx_ops = ("ReduceMean", "Sub", "Mul")
    needs_torch = ">=2.0"
    inputs = ((f32(2, 6),), (f32(2, 6),), (f32(3, 6),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.var(x, dim=1, correction=-1)

    @fix("rewrite", "divide the sum of squared deviations explicitly", documented=False)
    def squared_deviations(self, x):
        centred = x - x.mean(1, keepdim=True)
        return (centred * centred).sum(1) / 7


class LogsumexpAtenNode(Case):
    """torch.logsumexp: reported to leave an ATen node in the ONNX file of torch 1.1."""

    sources = ("pytorch/pytorch#2591",)
    aten_ops = ("aten::logsumexp",)
    onnx_ops = ("ReduceLogSumExp", "ATen")
    inputs = ((f32(2, 5, high=9.0),), (values([[90, 1, 2, 3, 4], [-90, -91, -92, -93, 0]]),), (f32(3, 5),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.logsumexp(x, 1)

    @fix("rewrite", "use the logarithm of the sum, after subtracting the largest value", documented=False)
    def by_hand(self, x):
        largest = x.max(1)[0]
        return largest + (x - largest.unsqueeze(1)).exp().sum(1).log()


class ArgmaxWithoutDim(Case):
    """torch.argmax without dim: torch 1.0 has no TorchScript symbolic for argmax."""

    sources = ("pytorch/pytorch#18263", "pytorch/pytorch#14013")
    aten_ops = ("aten::argmax",)
    onnx_ops = ("ArgMax", "Reshape")
    inputs = ((f32(3, 4),), (f32(3, 4),), (f32(5, 4),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.argmax(x)

    @fix("rewrite", "use argmax of the flattened values", documented=False)
    def flattened(self, x):
        return x.flatten().argmax(0)

    @fix("rewrite", "use the index that max returns", documented=False)
    def index_of_max(self, x):
        return x.flatten().max(0)[1]
