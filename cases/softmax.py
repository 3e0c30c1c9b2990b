"""Softmax: the axis, whose meaning changed at opset 13."""

import torch

from caniexport import Case, f32, fix

INPUTS = ((f32(2, 3, 4),), (f32(2, 3, 4, low=2.0, high=5.0),), (f32(5, 3, 4),))


class SoftmaxMiddleAxis(Case):
    """softmax along the middle axis: two Transpose nodes below opset 13.

    torch moves the axis to the end and back.
    """

    sources = ("openvinotoolkit/openvino#37823", "apache/tvm#19420", "microsoft/onnxruntime#4288")
    aten_ops = ("aten::softmax", "aten::log_softmax")
    onnx_ops = ("Softmax", "LogSoftmax", "Transpose")
    inputs = INPUTS
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return torch.softmax(x, 1), torch.log_softmax(x, 1)

    @fix("rewrite", "divide exponentials by their sum, with the largest value subtracted first", documented=False)
    def by_exponentials(self, x):
        x = x - x.max(1, keepdim=True)[0]
        total = x.exp().sum(1, keepdim=True)
        return x.exp() / total, x - total.log()


class _MiddleAxisNode(torch.autograd.Function):
    """Write a custom Softmax node with its axis in the middle."""

    @staticmethod
    def symbolic(g, x):
        return g.op("Softmax", x, axis_i=1)

    @staticmethod
    def forward(ctx, x):
        return torch.softmax(x, 1)


class SoftmaxNodeMiddleAxis(Case):
    """Custom Softmax node with axis=1 of three: covers both last axes below opset 13."""

    sources = ("openvinotoolkit/openvino#37823", "apache/tvm#19420", "microsoft/onnxruntime#4288")
    aten_ops = ("aten::softmax",)
    onnx_ops = ("Softmax",)
    exporters = ("torchscript-trace",)
    inputs = INPUTS
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return _MiddleAxisNode.apply(x)

    opset_13 = fix("raise-opset", "export at opset 13, where the axis means one axis", opset=13)

    @fix("rewrite", "move the axis to the end and back, with the node on the last axis")
    def transposed(self, x):
        return _LastAxisNode.apply(x.transpose(1, 2)).transpose(1, 2)


class _LastAxisNode(torch.autograd.Function):
    """Write a custom Softmax node on the last of three axes."""

    @staticmethod
    def symbolic(g, x):
        return g.op("Softmax", x, axis_i=2)

    @staticmethod
    def forward(ctx, x):
        return torch.softmax(x, 2)


class _DefaultAxisNode(torch.autograd.Function):
    """Write a custom Softmax node without an axis."""

    @staticmethod
    def symbolic(g, x):
        return g.op("Softmax", x)

    @staticmethod
    def forward(ctx, x):
        return torch.softmax(x, -1)


class SoftmaxNodeWithoutAxis(Case):
    """Custom Softmax node without axis: the default changes from 1 to -1 at opset 13."""

    sources = ("onnx/onnx-mlir#832",)
    aten_ops = ("aten::softmax",)
    onnx_ops = ("Softmax",)
    exporters = ("torchscript-trace",)
    inputs = INPUTS
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return _DefaultAxisNode.apply(x)

    @fix("rewrite", "name the axis")
    def axis_named(self, x):
        return _LastAxisNode.apply(x)
