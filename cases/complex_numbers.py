"""Complex numbers and Fourier transforms, which ONNX represents as pairs of real numbers at best."""

import math

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix


def fourier_basis(size):
    """Return cosines and negative sines of the one-sided transform of ``size`` values, ``[size // 2 + 1, size]``."""
    angles = 2 * math.pi / size * torch.arange(size // 2 + 1).float()[:, None] * torch.arange(size).float()[None]
    return torch.cos(angles), -torch.sin(angles)


class PolarNoRule(Case):
    """torch.polar (rotary embedding): no TorchScript symbolic."""

    sources = ("onnx/onnx#6480", "heyoeyo/muggled_sam#3")
    aten_ops = ("aten::polar", "aten::view_as_real")
    onnx_ops = ("Cos", "Sin")
    needs_torch = ">=1.8"
    inputs = ((f32(2, 3, high=6.0),), (f32(2, 3, high=6.0),), (f32(4, 3),))
    dynamic = {"angles": {0: "batch"}}

    def forward(self, angles):
        return torch.view_as_real(torch.polar(torch.ones_like(angles), angles))

    @fix("rewrite", "stack cosine and sine", documented=False)
    def cos_sin(self, angles):
        return torch.stack([torch.cos(angles), torch.sin(angles)], dim=-1)

    dynamo = fix("export-option", "export with dynamo=True", exporter="dynamo", documented=False)


class ViewAsComplexRotation(Case):
    """view_as_complex and a complex product: no TorchScript symbolic.

    The case is a rotary embedding.
    """

    sources = (
        "asteroid-team/asteroid#529",
        "pytorch/pytorch#49793",
        "onnx/onnx#4785",
        "facebookresearch/sam2#186",
        "pytorch/pytorch#59246",
        "onnx/onnx#6461",
    )
    aten_ops = ("aten::view_as_complex", "aten::view_as_real")
    onnx_ops = ("Mul", "Concat", "RotaryEmbedding")
    needs_torch = ">=1.6"
    inputs = ((f32(2, 3, 2), f32(3, 2)), (f32(2, 3, 2), f32(3, 2)), (f32(4, 3, 2), f32(3, 2)))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x, turn):
        return torch.view_as_real(torch.view_as_complex(x) * torch.view_as_complex(turn))

    @fix("rewrite", "compute the product with the real and imaginary parts", documented=False)
    def real_parts(self, x, turn):
        real = x[..., 0] * turn[..., 0] - x[..., 1] * turn[..., 1]
        imaginary = x[..., 0] * turn[..., 1] + x[..., 1] * turn[..., 0]
        return torch.stack([real, imaginary], dim=-1)

    dynamo = fix(
        "export-option",
        "export with dynamo=True, which writes pairs of real numbers",
        exporter="dynamo",
        documented=False,
    )


class RfftNoRule(Case):
    """torch.fft.rfft: no TorchScript symbolic; dynamo_export fails at dynamic shapes."""

    sources = ("pytorch/pytorch#147854", "facebookresearch/sam2#186", "pytorch/pytorch#59246")
    aten_ops = ("aten::fft_rfft", "aten::_fft_r2c")
    onnx_ops = ("DFT", "MatMul")
    needs_torch = ">=1.8"
    inputs = ((f32(2, 8),), (f32(2, 8),), (f32(3, 8),))
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        cosines, sines = fourier_basis(8)
        self.register_buffer("cosines", cosines)
        self.register_buffer("sines", sines)

    def forward(self, x):
        return torch.view_as_real(torch.fft.rfft(x))

    @fix("rewrite", "multiply by a fixed matrix of cosines and one of sines", documented=False)
    def matrices(self, x):
        return torch.stack([torch.matmul(x, self.cosines.t()), torch.matmul(x, self.sines.t())], dim=-1)


class StftOpset16(Case):
    """torch.stft: no TorchScript symbolic below opset 17."""

    id = "stft-opset-16"
    sources = ("pytorch/audio#982", "pytorch/pytorch#18521")
    aten_ops = ("aten::stft",)
    onnx_ops = ("STFT", "Conv")
    needs_torch = ">=1.8"
    inputs = ((f32(2, 32),), (f32(2, 32),), (f32(3, 32),))
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        cosines, sines = fourier_basis(8)
        self.register_buffer("window", torch.hann_window(8))
        self.register_buffer("basis", (torch.cat([cosines, sines]) * self.window).unsqueeze(1))

    def forward(self, x):
        return torch.view_as_real(torch.stft(x, 8, 4, window=self.window, center=False, return_complex=True))

    @fix("raise-opset", "export at opset 17 with return_complex=False", opset=17, documented=False)
    def opset_17(self, x):
        return torch.stft(x, 8, 4, window=self.window, center=False, return_complex=False)

    @fix("rewrite", "use a convolution with the windowed basis", documented=False)
    def convolution(self, x):
        both = F.conv1d(x.unsqueeze(1), self.basis, stride=4)
        return torch.stack([both[:, :5], both[:, 5:]], dim=-1)


class IstftNoRule(Case):
    """torch.istft: no ONNX translation; ONNX has no such operator."""

    sources = ("pytorch/pytorch#65666", "pytorch/pytorch#135014")
    aten_ops = ("aten::istft",)
    onnx_ops = ("ConvTranspose",)
    needs_torch = ">=1.8"
    inputs = ((f32(2, 5, 9, 2),), (f32(2, 5, 9, 2),))

    def setup(self):
        cosines, sines = fourier_basis(8)
        # the one-sided transform contains the middle frequencies once
        weights = torch.tensor([1.0, 2.0, 2.0, 2.0, 1.0])[:, None] / 8
        self.register_buffer("window", torch.ones(8))
        self.register_buffer("basis", torch.cat([cosines * weights, sines * weights]).unsqueeze(1))

    def forward(self, spectrum):
        return torch.istft(torch.view_as_complex(spectrum), 8, 4, window=self.window)

    @fix(
        "rewrite",
        "use a transposed convolution with the inverse basis, divided by the number of windows",
        documented=False,
    )
    def transposed_convolution(self, spectrum):
        both = torch.cat([spectrum[..., 0], spectrum[..., 1]], dim=1)
        signal = F.conv_transpose1d(both, self.basis, stride=4)[:, 0]
        return signal[:, 4:-4] / 2.0


class RfftOfGivenLength(Case):
    """torch.fft.rfft(x, n): the length is ignored and the spectrum is cut off."""

    sources = ("microsoft/onnxscript#2991",)
    aten_ops = ("aten::fft_rfft",)
    onnx_ops = ("DFT",)
    needs_torch = ">=1.8"
    inputs = ((f32(2, 8),), (f32(2, 8),), (f32(4, 8),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.view_as_real(torch.fft.rfft(x, n=8, dim=-1))

    @fix("rewrite", "multiply by cosines and sines", documented=False)
    def by_basis(self, x):
        cosines, sines = fourier_basis(8)
        return torch.stack([x @ cosines.t(), x @ sines.t()], dim=-1)


class IrfftOfGivenLength(Case):
    """torch.fft.irfft(spectrum, n): wrong values reported before onnxscript 0.6.0."""

    sources = ("microsoft/onnxscript#2770", "onnx/onnx#5920")
    aten_ops = ("aten::fft_irfft",)
    onnx_ops = ("DFT",)
    needs_torch = ">=1.8"
    inputs = ((f32(2, 8),), (f32(2, 8),), (f32(4, 8),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.fft.irfft(torch.fft.rfft(x) * 2.0, n=8)

    @fix("rewrite", "multiply by cosines and sines, forward and back", documented=False)
    def by_basis(self, x):
        cosines, sines = fourier_basis(8)
        weights = torch.tensor([1.0, 2.0, 2.0, 2.0, 1.0]) / 8
        return ((x @ cosines.t() * 2.0) * weights) @ cosines + ((x @ sines.t() * 2.0) * weights) @ sines
