"""Random numbers in forward: each is multiplied by zero, so that what is compared is not random."""

import torch

from caniexport import Case, Claim, f32, f64, fix


def no_rule(source, operator, torch, opset=">=9", **more):
    """The exporter gives up at this operator."""
    says = "the exporter has no rule for {}".format(operator)
    return Claim(source, says, torch=torch, opset=opset, status="fail", stage="export", message=operator, **more)


class _Noise(Case):
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}


class UniformInPlace(_Noise):
    """tensor.uniform_() has no rule in torch 1.8."""

    records = ("uniform-random-opset-12", "distributions-uniform-not-exported")
    sources = ("pytorch/pytorch#54483", "pytorch/pytorch#42230")
    aten_ops = ("aten::uniform_",)
    onnx_ops = ("RandomUniformLike",)
    claims = (no_rule("pytorch/pytorch#54483", "uniform", "==1.8.*", opset=12, record="uniform-random-opset-12"),)

    def forward(self, x):
        return x + 0.0 * torch.empty_like(x).uniform_(1.0, 2.0)

    @fix("rewrite", "rand_like, scaled and moved", documented=False)
    def rand_like(self, x):
        return x + 0.0 * (torch.rand_like(x) * (2.0 - 1.0) + 1.0)


class RandLikeAndRandOfSize(_Noise):
    """torch.rand(x.size()) and torch.rand_like have no rules in torch 1.3."""

    records = ("rand-tensor-size-broken-1-3",)
    sources = ("pytorch/pytorch#28306", "pytorch/pytorch#28470", "pytorch/pytorch#33789")
    aten_ops = ("aten::rand", "aten::rand_like")
    onnx_ops = ("RandomUniform", "RandomUniformLike")
    claims = (
        Claim("pytorch/pytorch#28306", "they cannot be exported", torch="==1.3.*", status="fail", stage="export"),
    )

    def forward(self, x):
        return x + 0.0 * torch.rand_like(x) + 0.0 * torch.rand(x.size())

    @fix("rewrite", "torch.randn_like", documented=False)
    def randn_like(self, x):
        return x + 0.0 * torch.randn_like(x)


class RandWithGenerator(_Noise):
    """torch.rand with a generator, which no file can hold."""

    records = ("rand-generator-seed-unsupported",)
    sources = ("pytorch/pytorch#156811",)
    aten_ops = ("aten::rand",)
    onnx_ops = ("RandomUniform",)
    exporters = ("torchscript-trace", "dynamo", "default")
    needs_torch = ">=1.6"
    inputs = ((f32(2, 3),), (f32(2, 3),))
    dynamic = {}
    claims = (
        Claim(
            "pytorch/pytorch#156811",
            "a generator cannot be exported (June 2025)",
            torch=">=2.7,<2.9",
            exporter="dynamo",
            opset=">=18",
            status="fail",
            stage="export",
        ),
    )

    def forward(self, x):
        return x + 0.0 * torch.rand(2, 3, generator=torch.Generator().manual_seed(1))

    @fix("rewrite", "without the generator", documented=False)
    def without_generator(self, x):
        return x + 0.0 * torch.rand(2, 3)


class BernoulliDouble(_Noise):
    """torch.bernoulli of float64 probabilities: compared with a float32 random number."""

    records = ("bernoulli-dtype-less-mismatch",)
    sources = ("pytorch/pytorch#57003",)
    aten_ops = ("aten::bernoulli",)
    onnx_ops = ("RandomUniformLike", "Less", "Bernoulli")
    inputs = ((f64(2, 3, low=0.0),), (f64(2, 3, low=0.0),), (f64(4, 3, low=0.0),))
    claims = (
        Claim(
            "pytorch/pytorch#57003",
            "Less gets a double and a float",
            torch="==1.9.*",
            opset=">=9",
            status="fail",
        ),
    )

    def forward(self, x):
        return x + 0.0 * torch.bernoulli(x)

    @fix("rewrite", "float32 probabilities", documented=False)
    def float_probabilities(self, x):
        return x + 0.0 * torch.bernoulli(x.float()).double()


class MultinomialOfTensorCount(_Noise):
    """torch.multinomial whose number of samples is a size: ONNX has it as an attribute."""

    records = ("multinomial-sample-size-attribute",)
    sources = ("huggingface/transformers#22597",)
    aten_ops = ("aten::multinomial",)
    onnx_ops = ("Multinomial",)
    inputs = ((f32(2, 3, low=0.1),), (f32(2, 3, low=0.1),), (f32(4, 3, low=0.1),))
    claims = (
        Claim(
            "huggingface/transformers#22597",
            "the number of samples has to be constant (April 2023)",
            torch="==2.0.*",
            opset=">=9",
            status="fail",
            stage="export",
        ),
    )

    def forward(self, x):
        return x + 0.0 * torch.multinomial(x, x.size(0), replacement=True).sum().float()

    @fix("rewrite", "a fixed number of samples", documented=False)
    def fixed_count(self, x):
        return x + 0.0 * torch.multinomial(x, 2, replacement=True).sum().float()
