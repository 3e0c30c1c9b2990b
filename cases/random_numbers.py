"""Random numbers in forward: each is multiplied by zero, so that the compared output is not random."""

import torch

from caniexport import Case, f32, f64, fix


class _Noise(Case):
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}


class UniformInPlace(_Noise):
    """Tensor.uniform_() has no ONNX translation."""

    sources = ("pytorch/pytorch#54483", "pytorch/pytorch#42230")
    aten_ops = ("aten::uniform_",)
    onnx_ops = ("RandomUniformLike",)

    def forward(self, x):
        return x + 0.0 * torch.empty_like(x).uniform_(1.0, 2.0)

    @fix("rewrite", "use rand_like, scaled and shifted", documented=False)
    def rand_like(self, x):
        return x + 0.0 * (torch.rand_like(x) * (2.0 - 1.0) + 1.0)


class RandLikeAndRandOfSize(_Noise):
    """torch.rand(x.size()) and torch.rand_like have no symbolic before torch 1.4."""

    sources = ("pytorch/pytorch#28306", "pytorch/pytorch#28470", "pytorch/pytorch#33789")
    aten_ops = ("aten::rand", "aten::rand_like")
    onnx_ops = ("RandomUniform", "RandomUniformLike")

    def forward(self, x):
        return x + 0.0 * torch.rand_like(x) + 0.0 * torch.rand(x.size())

    @fix("rewrite", "use torch.randn_like", documented=False)
    def randn_like(self, x):
        return x + 0.0 * torch.randn_like(x)


class RandWithGenerator(_Noise):
    """torch.rand with a generator: cannot be exported."""

    sources = ("pytorch/pytorch#156811",)
    aten_ops = ("aten::rand",)
    onnx_ops = ("RandomUniform",)
    exporters = ("torchscript-trace", "dynamo", "default")
    needs_torch = ">=1.6"
    inputs = ((f32(2, 3),), (f32(2, 3),))
    dynamic = {}

    def forward(self, x):
        return x + 0.0 * torch.rand(2, 3, generator=torch.Generator().manual_seed(1))

    @fix("rewrite", "drop the generator", documented=False)
    def without_generator(self, x):
        return x + 0.0 * torch.rand(2, 3)


class BernoulliDouble(_Noise):
    """torch.bernoulli of float64 probabilities: compared with a float32 random number."""

    sources = ("pytorch/pytorch#57003",)
    aten_ops = ("aten::bernoulli",)
    onnx_ops = ("RandomUniformLike", "Less", "Bernoulli")
    inputs = ((f64(2, 3, low=0.0),), (f64(2, 3, low=0.0),), (f64(4, 3, low=0.0),))

    def forward(self, x):
        return x + 0.0 * torch.bernoulli(x)

    @fix("rewrite", "use float32 probabilities", documented=False)
    def float_probabilities(self, x):
        return x + 0.0 * torch.bernoulli(x.float()).double()


class MultinomialOfTensorCount(_Noise):
    """torch.multinomial with a size as number of samples: ONNX needs a constant.

    ONNX stores the number of samples as an attribute.
    """

    sources = ("huggingface/transformers#22597",)
    aten_ops = ("aten::multinomial",)
    onnx_ops = ("Multinomial",)
    inputs = ((f32(2, 3, low=0.1),), (f32(2, 3, low=0.1),), (f32(4, 3, low=0.1),))

    def forward(self, x):
        return x + 0.0 * torch.multinomial(x, x.size(0), replacement=True).sum().float()

    @fix("rewrite", "use a fixed number of samples", documented=False)
    def fixed_count(self, x):
        return x + 0.0 * torch.multinomial(x, 2, replacement=True).sum().float()
