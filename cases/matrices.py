"""Linear algebra: einsum, norms, distances, inverses and decompositions."""

import torch

from caniexport import Case, f32, fix


class EinsumOpset11(Case):
    """torch.einsum has no TorchScript symbolic below opset 12."""

    id = "einsum-opset-11"
    sources = ("open-mmlab/mmdeploy#1624", "pytorch/pytorch#26893", "pytorch/pytorch#32716")
    aten_ops = ("aten::einsum",)
    onnx_ops = ("Einsum", "MatMul")
    inputs = ((f32(2, 3, 4), f32(2, 5, 4)), (f32(2, 3, 4), f32(2, 5, 4)), (f32(3, 3, 4), f32(3, 5, 4)))
    dynamic = {"x": {0: "batch"}, "y": {0: "batch"}}

    def forward(self, x, y):
        return torch.einsum("bic,bjc->bij", x, y)

    opset_12 = fix("raise-opset", "export at opset 12, which has Einsum", opset=12, documented=False)

    @fix("rewrite", "use a matrix product with the transpose", documented=False)
    def matmul(self, x, y):
        return torch.matmul(x, y.transpose(1, 2))

    @fix("rewrite", "broadcast, multiply and sum", documented=False)
    def multiply_and_sum(self, x, y):
        return (x.unsqueeze(2) * y.unsqueeze(1)).sum(-1)


class EinsumOfOneLetter(Case):
    """torch.einsum("i->i", x), an equation without a product: needs opset 12."""

    sources = ("pytorch/pytorch#26893", "pytorch/pytorch#32716")
    aten_ops = ("aten::einsum",)
    onnx_ops = ("Einsum",)
    inputs = ((f32(4),), (f32(4),), (f32(6),))
    dynamic = {"x": {0: "length"}}

    def forward(self, x):
        return torch.einsum("i->i", x) * 2.0

    @fix("rewrite", "use the values themselves", documented=False)
    def without_einsum(self, x):
        return x * 2.0


class SvdNoRule(Case):
    """torch.svd has no ONNX translation."""

    sources = ("pytorch/pytorch#81084", "pytorch/pytorch#85371")
    aten_ops = ("aten::svd",)
    onnx_ops = ("MatMul",)
    rtol = 1e-3
    atol = 1e-3
    inputs = ((f32(3, 2, low=0.5, high=2.0),), (f32(3, 2, low=0.5, high=2.0),))

    def forward(self, x):
        return torch.svd(x)[1][0]

    @fix("rewrite", "use power iteration with a fixed number of steps", documented=False)
    def power_iteration(self, x):
        vector = torch.ones(2, 1)
        for _ in range(12):
            vector = torch.matmul(x.t(), torch.matmul(x, vector))
            vector = vector / (vector * vector).sum().sqrt()
        product = torch.matmul(x, vector)
        return (product * product).sum().sqrt()


class PinvNoRule(Case):
    """torch.pinverse of a tall matrix has no ONNX translation."""

    sources = ("pytorch/pytorch#81084", "pytorch/pytorch#85371")
    aten_ops = ("aten::pinverse", "aten::linalg_pinv")
    onnx_ops = ("MatMul",)
    rtol = 1e-3
    atol = 1e-3
    inputs = ((f32(4, 2),), (f32(4, 2),))

    def forward(self, x):
        return torch.pinverse(x)

    @fix("rewrite", "multiply the inverse of the 2 by 2 product, by its formula, by the transpose", documented=False)
    def normal_equations(self, x):
        square = torch.matmul(x.t(), x)
        a, b, d = square[0, 0], square[0, 1], square[1, 1]
        adjugate = torch.stack([torch.stack([d, -b]), torch.stack([-b, a])])
        return torch.matmul(adjugate / (a * d - b * b), x.t())


class InverseNoRule(Case):
    """torch.inverse has no ONNX translation.

    A symbolic of opset 12 wrote an operator that ONNX never had.
    """

    sources = ("pytorch/pytorch#35318", "onnx/onnx#3504")
    aten_ops = ("aten::inverse",)
    onnx_ops = ("com.microsoft::Inverse",)
    rtol = 1e-3
    atol = 1e-3
    inputs = ((f32(2, 2, 2),), (f32(2, 2, 2),), (f32(3, 2, 2),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.inverse(x + 9.0 * torch.eye(2))

    @fix("rewrite", "use the 2 by 2 formula", documented=False)
    def formula(self, x):
        a, b, c, d = x[:, 0, 0] + 9.0, x[:, 0, 1], x[:, 1, 0], x[:, 1, 1] + 9.0
        rows = torch.stack([torch.stack([d, -b], dim=1), torch.stack([-c, a], dim=1)], dim=1)
        return rows / (a * d - b * c).reshape(-1, 1, 1)


class LinalgNormNoRule(Case):
    """torch.linalg.norm has no TorchScript symbolic before torch 1.12."""

    sources = ("inisis/brocolli#38",)
    aten_ops = ("aten::linalg_norm",)
    onnx_ops = ("ReduceL2",)
    needs_torch = ">=1.8"
    inputs = ((f32(2, 4),), (f32(2, 4),), (f32(3, 4),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.linalg.norm(x, dim=-1)

    @fix("rewrite", "take the root of the sum of squares", documented=False)
    def root_of_squares(self, x):
        return x.pow(2).sum(-1).sqrt()


class LinalgSolveNoRule(Case):
    """torch.linalg.solve has no ONNX translation."""

    sources = ("pytorch/pytorch#133052",)
    aten_ops = ("aten::linalg_solve",)
    onnx_ops = ("Mul", "Div")
    needs_torch = ">=1.8"
    rtol = 1e-3
    atol = 1e-3
    inputs = ((f32(2, 2, 2), f32(2, 2)), (f32(2, 2, 2), f32(2, 2)), (f32(3, 2, 2), f32(3, 2)))
    dynamic = {"matrix": {0: "batch"}, "right": {0: "batch"}}

    def forward(self, matrix, right):
        return torch.linalg.solve(matrix + 5.0 * torch.eye(2), right.unsqueeze(-1)).squeeze(-1)

    @fix("rewrite", "use Cramer's rule", documented=False)
    def cramer(self, matrix, right):
        a, b, c, d = matrix[:, 0, 0] + 5.0, matrix[:, 0, 1], matrix[:, 1, 0], matrix[:, 1, 1] + 5.0
        first, second = right[:, 0], right[:, 1]
        both = torch.stack([first * d - b * second, a * second - c * first], dim=1)
        return both / (a * d - b * c).unsqueeze(1)


class RenormNoRule(Case):
    """Tensor.renorm has no TorchScript symbolic.

    renorm shortens slices that are too long.
    """

    sources = ("onnx/onnx#627",)
    aten_ops = ("aten::renorm",)
    onnx_ops = ("ReduceL2", "Clip", "Mul")
    inputs = ((f32(3, 4),), (f32(3, 4, low=0.0, high=0.1),), (f32(5, 4),))
    dynamic = {"x": {0: "rows"}}

    def forward(self, x):
        return x.renorm(2, 0, 0.5)

    @fix("rewrite", "multiply by the largest norm over the row's norm, at most 1", documented=False)
    def ratio(self, x):
        lengths = (x * x).sum(1, keepdim=True).sqrt()
        return x * torch.clamp(0.5 / (lengths + 1e-7), max=1.0)


class CdistExpansion(Case):
    """torch.cdist: the exported model stores every difference, ignoring compute_mode."""

    sources = ("pytorch/pytorch#144212", "pytorch/pytorch#144213")
    aten_ops = ("aten::cdist",)
    onnx_ops = ("Expand", "Sub", "ReduceSum")
    needs_torch = ">=1.4"
    rtol = 1e-3
    atol = 1e-3
    inputs = ((f32(5, 3), f32(4, 3)), (f32(5, 3), f32(4, 3)), (f32(7, 3), f32(4, 3)))
    dynamic = {"x": {0: "rows"}}

    def forward(self, x, y):
        return torch.cdist(x, y, compute_mode="use_mm_for_euclid_dist")

    @fix("rewrite", "use squares and the matrix product")
    def by_matmul(self, x, y):
        squares = (x * x).sum(1, keepdim=True) + (y * y).sum(1).unsqueeze(0)
        return torch.clamp(squares - 2.0 * torch.matmul(x, y.t()), min=1e-12).sqrt()


class LinearByVector(Case):
    """F.linear(x, w) with a vector as weight: the output has one axis too many.

    The axis added for the product is not removed.
    """

    sources = ("microsoft/onnxscript#2984", "microsoft/onnxscript#2982", "pytorch/pytorch#191332")
    aten_ops = ("aten::linear",)
    onnx_ops = ("MatMul", "Squeeze")
    needs_torch = ">=1.10"
    inputs = ((f32(2, 4), f32(4)), (f32(2, 4), f32(4)), (f32(5, 4), f32(4)))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x, weight):
        return torch.nn.functional.linear(x, weight)

    @fix("rewrite", "use torch.matmul", documented=False)
    def matmul(self, x, weight):
        return torch.matmul(x, weight)

    @fix("rewrite", "multiply and sum", documented=False)
    def summed(self, x, weight):
        return (x * weight).sum(-1)


class MeanWithType(Case):
    """x.mean((2, 3), dtype=...): onnxscript before 0.7.0 has no dtype argument."""

    sources = ("microsoft/onnxscript#2885", "microsoft/onnxscript#2884")
    aten_ops = ("aten::mean",)
    onnx_ops = ("ReduceMean", "Cast")
    inputs = ((f32(2, 3, 4, 4),), (f32(2, 3, 4, 4),), (f32(5, 3, 4, 4),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return x.mean((2, 3), dtype=torch.float32)

    @fix("rewrite", "cast before the mean", documented=False)
    def cast_before(self, x):
        return x.to(torch.float32).mean((2, 3))


class ProductOfAll(Case):
    """x.prod(): onnxscript before 0.6.0 keeps the reduced axes, with size 1."""

    sources = ("microsoft/onnxscript#2762",)
    aten_ops = ("aten::prod",)
    onnx_ops = ("ReduceProd",)
    inputs = ((f32(2, 4),), (f32(2, 4),), (f32(5, 4),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return x.prod()

    @fix("rewrite", "flatten, then take the product along the one axis", documented=False)
    def flattened(self, x):
        return x.flatten().prod(0)
