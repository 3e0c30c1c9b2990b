"""Convolutions: padding by formula, and output sizes of transposed convolutions."""

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix


class SamePaddingOfFixedSize(Case):
    """padding="same" replaced by padding for one input size: wrong at other sizes.

    With stride two, another input size needs another padding.
    """

    sources = ("aselsan-research-imaging-team/flight-net#3",)
    aten_ops = ("aten::conv2d",)
    onnx_ops = ("Conv",)
    inputs = ((f32(1, 2, 8, 8),), (f32(1, 2, 8, 8),), (f32(1, 2, 7, 7),), (f32(1, 2, 10, 10),))
    dynamic = {"x": {2: "height", 3: "width"}}

    def setup(self):
        self.conv = torch.nn.Conv2d(2, 3, 3, stride=1, padding=1)

    def forward(self, x):
        # like TensorFlow's SAME at stride two: an even size gets one more at the end, an odd one on both sides
        height, width = (x.shape[2] + 1) % 2, (x.shape[3] + 1) % 2
        x = F.pad(x, (1 - width, 1, 1 - height, 1))
        return F.conv2d(x, self.conv.weight, self.conv.bias, stride=2)

    @fix("rewrite", "pad by ((s - 1) * n - s + k) / 2 of n = 8: half of seven, rounded down", caution=True)
    def formula_of_fixed_size(self, x):
        return F.conv2d(F.pad(x, (0, 1, 0, 1)), self.conv.weight, self.conv.bias, stride=2)

    @fix(
        "rewrite",
        "pad by one on both sides, then slice: both sides for odd sizes, only the end for even ones",
        documented=False,
    )
    def padded_and_sliced(self, x):
        x = F.pad(x, (1, 1, 1, 1))
        return F.conv2d(
            x[:, :, (x.shape[2] + 1) % 2 :, (x.shape[3] + 1) % 2 :], self.conv.weight, self.conv.bias, stride=2
        )


class ConvTransposeOutputSize(Case):
    """conv_transpose2d to a size known only at run time: the first padding is kept.

    The ONNX file keeps the output padding of the first input.
    """

    sources = ("onnx/onnx#1772",)
    aten_ops = ("aten::conv_transpose2d",)
    onnx_ops = ("ConvTranspose", "Slice")
    inputs = (
        (f32(1, 2, 3, 3), f32(1, 1, 6, 6)),
        (f32(1, 2, 3, 3), f32(1, 1, 6, 6)),
        (f32(1, 2, 3, 3), f32(1, 1, 5, 5)),
    )
    dynamic = {"like": {2: "height", 3: "width"}}

    def setup(self):
        self.conv = torch.nn.ConvTranspose2d(2, 1, 3, stride=2, padding=1)

    def forward(self, x, like):
        return self.conv(x, output_size=like.shape[2:])

    @fix("rewrite", "use a fixed output padding and crop with a slice")
    def cropped(self, x, like):
        conv = self.conv
        full = F.conv_transpose2d(x, conv.weight, conv.bias, stride=2, padding=1, output_padding=1)
        return full[:, :, : like.shape[2], : like.shape[3]]


class _SameLower(torch.autograd.Function):
    """A ConvTranspose with auto_pad SAME_LOWER: the output is as large as the input times the stride."""

    @staticmethod
    def symbolic(g, x, weight):
        return g.op("ConvTranspose", x, weight, auto_pad_s="SAME_LOWER", strides_i=[2, 2], kernel_shape_i=[3, 3])

    @staticmethod
    def forward(ctx, x, weight):
        # one more than wanted: SAME_LOWER removes the odd one at the beginning
        return F.conv_transpose2d(x, weight, stride=2)[:, :, 1:, 1:]


class ConvTransposeSameLower(Case):
    """ConvTranspose with auto_pad SAME_LOWER, dynamic sizes: wrong shape reported.

    The case writes the node with its own symbolic.
    """

    sources = ("microsoft/onnxruntime#6067",)
    aten_ops = ("aten::conv_transpose2d",)
    onnx_ops = ("ConvTranspose",)
    exporters = ("torchscript-trace",)
    inputs = ((f32(1, 2, 3, 4),), (f32(1, 2, 3, 4),), (f32(1, 2, 1, 4),))
    dynamic = {"x": {2: "height", 3: "width"}}

    def setup(self):
        self.conv = torch.nn.ConvTranspose2d(2, 1, 3, stride=2, bias=False)

    def forward(self, x):
        return _SameLower.apply(x, self.conv.weight)

    @fix("rewrite", "use explicit pads: compute the full output, then remove the first row and column")
    def explicit_pads(self, x):
        return self.conv(x)[:, :, 1:, 1:]


class ConvTransposeOnBothProviders(Case):
    """conv_transpose2d with output padding: reported to differ between CPU and CUDA.

    The convolution has a stride, padding and output padding.
    """

    sources = ("microsoft/onnxruntime#25210",)
    aten_ops = ("aten::conv_transpose2d",)
    onnx_ops = ("ConvTranspose",)
    inputs = ((f32(1, 4, 5, 5),), (f32(1, 4, 5, 5),), (f32(2, 4, 3, 6),))
    dynamic = {"x": {0: "batch", 2: "height", 3: "width"}}

    def setup(self):
        self.conv = torch.nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, output_padding=1)

    def forward(self, x):
        return self.conv(x)

    @fix("rewrite", "insert zeros between the pixels and convolve with the flipped kernel", documented=False)
    def by_convolution(self, x):
        batch, height, width = x.shape[0], x.shape[2], x.shape[3]
        spread = torch.stack((x, torch.zeros_like(x)), 4).reshape(batch, 4, height, 2 * width)
        spread = torch.stack((spread, torch.zeros_like(spread)), 3).reshape(batch, 4, 2 * height, 2 * width)
        kernel = self.conv.weight.transpose(0, 1).flip((2, 3))
        return F.conv2d(F.pad(spread, (1, 1, 1, 1)), kernel, self.conv.bias)


class QuantisedConvolution(Case):
    """conv2d between fake quantizations: the fused node is reported to change values."""

    sources = ("microsoft/onnxruntime#24711",)
    aten_ops = ("aten::fake_quantize_per_tensor_affine", "aten::conv2d")
    onnx_ops = ("QuantizeLinear", "DequantizeLinear", "Conv")
    needs_torch = ">=1.9"
    inputs = ((f32(1, 3, 6, 6, low=-0.1, high=0.1),), (f32(1, 3, 6, 6, low=-0.1, high=0.1),))
    rtol, atol = 1e-4, 2e-4  # one step of the output's quantization

    def setup(self):
        self.conv = torch.nn.Conv2d(3, 3, 3)

    def forward(self, x):
        x = torch.fake_quantize_per_tensor_affine(x, 0.001, 128, 0, 255)
        weight = torch.fake_quantize_per_tensor_affine(self.conv.weight, 0.004, 0, -128, 127)
        x = F.conv2d(x, weight, self.conv.bias * 0.01)
        return torch.fake_quantize_per_tensor_affine(x, 0.0001, 128, 0, 255)

    unoptimised = fix(
        "runtime-option", "set ORT_DISABLE_ALL; nothing is fused", session={"graph_optimization_level": 0}
    )


class CroppedByNegativePad(Case):
    """F.pad with negative sizes before conv2d: reportedly fused into invalid pads.

    The pads of a convolution cannot crop.
    """

    sources = ("microsoft/onnxscript#2841",)
    aten_ops = ("aten::pad", "aten::conv2d")
    onnx_ops = ("Pad", "Conv")
    inputs = ((f32(1, 2, 6, 6),), (f32(1, 2, 6, 6),), (f32(3, 2, 6, 6),))
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        self.conv = torch.nn.Conv2d(2, 3, 3)

    def forward(self, x):
        return self.conv(torch.nn.functional.pad(x, (-1, -1, -1, -1)))

    @fix("rewrite", "use a slice instead of the pad", documented=False)
    def sliced(self, x):
        return self.conv(x[:, :, 1:-1, 1:-1])

    trace = fix("export-option", "export with dynamo=False", exporter="torchscript-trace", documented=False)
