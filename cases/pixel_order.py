"""Pixels to channels and back: the order of the channels."""

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix


class PixelUnshuffleOrder(Case):
    """pixel_unshuffle of several channels: SpaceToDepth changes the channel order.

    With one channel both orders are the same.
    """

    sources = ("microsoft/onnxscript#2891", "microsoft/onnxscript#2892", "pytorch/pytorch#186080", "onnx/onnx#3739")
    aten_ops = ("aten::pixel_unshuffle",)
    onnx_ops = ("SpaceToDepth", "Reshape", "Transpose")
    needs_torch = ">=1.8"
    inputs = ((f32(1, 3, 4, 6),), (f32(1, 3, 4, 6, low=2.0, high=5.0),), (f32(2, 3, 4, 6),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return F.pixel_unshuffle(x, 2)

    @fix("rewrite", "use view, permute and reshape")
    def permuted(self, x):
        x = x.reshape(-1, 3, 2, 2, 3, 2)
        return x.permute(0, 1, 3, 5, 2, 4).reshape(-1, 12, 2, 3)

    trace = fix("export-option", "export with dynamo=False", exporter="torchscript-trace")


class PixelUnshuffleOneChannel(PixelUnshuffleOrder):
    """pixel_unshuffle of one channel: works, as both channel orders are the same."""

    inputs = ((f32(1, 1, 4, 6),), (f32(1, 1, 4, 6, low=2.0, high=5.0),), (f32(2, 1, 4, 6),))

    @fix("rewrite", "use view, permute and reshape")
    def permuted(self, x):
        x = x.reshape(-1, 1, 2, 2, 3, 2)
        return x.permute(0, 1, 3, 5, 2, 4).reshape(-1, 4, 2, 3)


class PixelShuffleOrder(Case):
    """pixel_shuffle: DepthToSpace lacks torch's channel order below opset 11."""

    sources = ("onnx/onnx#1957", "onnx/onnx#2163", "pytorch/pytorch#18429")
    aten_ops = ("aten::pixel_shuffle",)
    onnx_ops = ("DepthToSpace", "Reshape", "Transpose")
    inputs = ((f32(1, 8, 2, 3),), (f32(1, 8, 2, 3, low=2.0, high=5.0),), (f32(2, 8, 2, 3),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return F.pixel_shuffle(x, 2)

    @fix("rewrite", "use reshape, permute and reshape", documented=False)
    def permuted(self, x):
        x = x.reshape(-1, 2, 2, 2, 2, 3)
        return x.permute(0, 1, 4, 2, 5, 3).reshape(-1, 2, 4, 6)

    opset_11 = fix("raise-opset", "export at opset 11: DepthToSpace with mode CRD", opset=11)


class _DepthToSpaceNode(torch.autograd.Function):
    """Write a custom DepthToSpace node, in the only order below opset 11."""

    @staticmethod
    def symbolic(g, x):
        return g.op("DepthToSpace", x, blocksize_i=2)

    @staticmethod
    def forward(ctx, x):
        return F.pixel_shuffle(x, 2)


class DepthToSpaceNode(PixelShuffleOrder):
    """pixel_shuffle as a custom DepthToSpace node: the channels are mixed.

    The node uses depth-first order.
    """

    exporters = ("torchscript-trace",)

    def forward(self, x):
        return _DepthToSpaceNode.apply(x)

    @fix("rewrite", "use torch.pixel_shuffle itself, at opset 11 or later", opset=11)
    def opset_11(self, x):
        return F.pixel_shuffle(x, 2)
