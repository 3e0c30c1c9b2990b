"""Sums, distances and spectra: formulas that lose digits, and tolerances."""

import torch

from caniexport import Case, f32, fix


class LogCumulativeSumOfExponentials(Case):
    """exp().cumsum().log() instead of logcumsumexp overflows near 100."""

    sources = ("openvinotoolkit/openvino#28538",)
    aten_ops = ("aten::logcumsumexp", "aten::cumsum")
    onnx_ops = ("Exp", "CumSum", "Log")
    needs_torch = ">=1.6"
    inputs = ((f32(2, 4),), (f32(2, 4, low=95.0, high=105.0),), (f32(3, 4, low=-105.0, high=-95.0),))
    dynamic = {"x": {0: "rows"}}

    def forward(self, x):
        return x.exp().cumsum(1).log()

    def reference(self, x):
        return torch.logcumsumexp(x, 1)

    @fix("rewrite", "subtract the largest value first and add it afterwards")
    def largest_taken_off(self, x):
        largest = x.max(1, keepdim=True)[0]
        return largest + (x - largest).exp().cumsum(1).log()


class DistanceOfTwoRanks(Case):
    """torch.cdist of a matrix and a batch of matrices: TorchScript fails.

    The ranks must be made equal first.
    """

    sources = ("open-edge-platform/anomalib#967",)
    aten_ops = ("aten::cdist",)
    onnx_ops = ("Unsqueeze", "Sub", "ReduceSum")
    needs_torch = ">=1.4"
    inputs = ((f32(1, 4, 3), f32(5, 3)), (f32(1, 4, 3), f32(5, 3)), (f32(2, 4, 3), f32(5, 3)))
    dynamic = {"x": {0: "batch"}}
    rtol, atol = 1e-3, 1e-4

    def forward(self, x, bank):
        return torch.cdist(x, bank)

    @fix("rewrite", "write the distance out, with every rank explicit")
    def written_out(self, x, bank):
        difference = x.unsqueeze(2) - bank.unsqueeze(0).unsqueeze(1)
        return (difference * difference).sum(-1).sqrt()


class DistanceOfMatrices(DistanceOfTwoRanks):
    """torch.cdist of two matrices, dynamic number of rows: no dynamo translation."""

    inputs = ((f32(4, 3), f32(5, 3)), (f32(4, 3), f32(5, 3)), (f32(6, 3), f32(5, 3)))
    dynamic = {"x": {0: "rows"}}

    @fix("rewrite", "write the distance out, with every rank explicit")
    def written_out(self, x, bank):
        difference = x.unsqueeze(1) - bank.unsqueeze(0)
        return (difference * difference).sum(-1).sqrt()


class ShortTimeFourierTransform(Case):
    """torch.stft and ONNX STFT: just out of tolerance.

    The tolerances are those of torch.testing.
    """

    sources = ("pytorch/pytorch#92087",)
    aten_ops = ("aten::stft",)
    onnx_ops = ("STFT",)
    needs_torch = ">=1.8"
    rtol, atol = 1.3e-6, 1e-5
    # a window of 16 over values up to 5 stays within 2.4e-6
    inputs = ((f32(1, 256, low=-9.0, high=9.0),), (f32(1, 256, low=2.0, high=9.0),), (f32(3, 256, low=-9.0, high=9.0),))
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        self.register_buffer("window", torch.hann_window(64))
        turns = torch.arange(33).double().unsqueeze(1) * torch.arange(64).double() * (2 * 3.141592653589793 / 64)
        self.register_buffer("cosine", (torch.cos(turns) * self.window).float().unsqueeze(1))
        self.register_buffer("sine", (-torch.sin(turns) * self.window).float().unsqueeze(1))

    def forward(self, x):
        return torch.stft(x, 64, hop_length=32, window=self.window, center=False, return_complex=False)

    @fix("rewrite", "use two convolutions with the rows of the transform", documented=False)
    def by_convolution(self, x):
        signal = x.unsqueeze(1)
        real = torch.nn.functional.conv1d(signal, self.cosine, stride=32)
        imaginary = torch.nn.functional.conv1d(signal, self.sine, stride=32)
        return torch.stack((real, imaginary), -1)


class MeanOfNormalisedPlane(Case):
    """Mean of a plane after instance_norm: only rounding; relative comparison fails."""

    sources = ("microsoft/onnxruntime#25198",)
    aten_ops = ("aten::instance_norm", "aten::adaptive_avg_pool2d")
    onnx_ops = ("InstanceNormalization", "GlobalAveragePool")
    rtol, atol = 1e-4, 0.0
    inputs = ((f32(1, 2, 8, 8),), (f32(1, 2, 8, 8, low=2.0, high=5.0),), (f32(2, 2, 8, 8),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        x = torch.nn.functional.instance_norm(x)
        return torch.nn.functional.adaptive_avg_pool2d(x, 1)

    @fix("rewrite", "add one, so that the mean is not only rounding", changes_values=True, documented=False)
    def away_from_zero(self, x):
        return torch.nn.functional.adaptive_avg_pool2d(torch.nn.functional.instance_norm(x), 1) + 1
