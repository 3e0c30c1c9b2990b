"""The three canaries of the mini-matrix."""

import torch

from caniexport import Case, values


class CanaryPass(Case):
    """An addition exports and runs everywhere."""

    corpus = "canary"
    sources = ("harness",)
    inputs = ((values([1.0, 2.0]),), (values([3.0, 4.0]),))

    def forward(self, x):
        return x + 1


class CanaryFail(Case):
    """An operator that no exporter has a rule for."""

    corpus = "canary"
    sources = ("harness",)
    inputs = ((values([1.0, 2.0]),), (values([3.0, 4.0]),))

    def forward(self, x):
        return torch.bessel(x)


class CanaryMismatch(Case):
    """A number taken out of a tensor is written into the trace."""

    corpus = "canary"
    sources = ("harness",)
    exporters = ("torchscript-trace",)
    inputs = ((values([1.0, 2.0]),), (values([3.0, 4.0]),))

    def forward(self, x):
        return x * x[0].item()
