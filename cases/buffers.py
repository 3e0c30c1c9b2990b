"""Buffers and weights: caches written in forward, shared weights, normalized weights."""

import copy

import torch
import torch.nn.functional as F

from caniexport import Case, f32, fix, i64, values


def outputs(model):
    """Return the number of outputs of the ONNX file."""
    return {"outputs": len(model.graph.output)}


class CopyOfBufferInto(Case):
    """out[:, :] = self.buffer: dynamo fails to export the copy of a whole buffer."""

    sources = ("pytorch/pytorch#178868",)
    aten_ops = ("aten::copy_",)
    onnx_ops = ("CastLike", "Expand")
    inputs = ((f32(2, 3),), (f32(2, 3),))

    def setup(self):
        self.register_buffer("prompt", torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))

    def forward(self, x):
        out = torch.zeros(2, 3)
        out[:, :] = self.prompt
        return out, torch.relu(x)

    @fix("rewrite", "clone the buffer", documented=False)
    def cloned(self, x):
        return self.prompt.clone(), torch.relu(x)


class PlainTensorAttributeMutated(Case):
    """Plain tensor attribute written in forward: dynamo rejects the mutated constant."""

    sources = ("meta-llama/llama-models#380", "pytorch/pytorch#113686", "pytorch/pytorch#112272")
    aten_ops = ("aten::copy_",)
    onnx_ops = ("ScatterND", "Concat")
    inputs = ((f32(2, 3),), (f32(2, 3),))
    facts = staticmethod(outputs)

    def setup(self):
        self.cache = torch.zeros(4, 3)
        self.register_buffer("kept", torch.zeros(4, 3))

    def forward(self, x):
        self.cache[:2] = x
        return self.cache.sum(0)

    @fix("rewrite", "register it as a buffer that is not saved")
    def registered_buffer(self, x):
        self.kept[:2] = x
        return self.kept.sum(0)

    @fix("rewrite", "avoid the cache: concatenate the new values with the rest", documented=False)
    def joined(self, x):
        return torch.cat([x, self.kept[2:]]).sum(0)


class IndexCopyIntoCache(Case):
    """index_copy_ into a key-value cache: reported to fail in Torch-TensorRT."""

    sources = ("pytorch/TensorRT#4161", "pytorch/TensorRT#4142")
    aten_ops = ("aten::index_copy",)
    onnx_ops = ("ScatterND",)
    inputs = (
        (f32(1, 2, 4, 3), values([0], "int64"), f32(1, 2, 1, 3)),
        (f32(1, 2, 4, 3), values([3], "int64"), f32(1, 2, 1, 3)),
        (f32(1, 2, 4, 3), values([2], "int64"), f32(1, 2, 1, 3)),
    )

    def forward(self, cache, position, new):
        return cache.index_copy(2, position, new)

    @fix("rewrite", "use torch.where on a mask of the position", documented=False)
    def where(self, cache, position, new):
        here = (torch.arange(4) == position).reshape(1, 1, 4, 1)
        return torch.where(here.expand(1, 2, 4, 3), new.expand(1, 2, 4, 3), cache)


class BatchNormInTraining(Case):
    """nn.BatchNorm2d in training mode: the ONNX file uses the batch statistics.

    The exporter removes the mutation of the counter with a warning. The ONNX file then normalizes with the statistics
    of its batch. Eager evaluation uses the running statistics.
    """

    sources = ("pytorch/pytorch#112491",)
    aten_ops = ("aten::batch_norm", "aten::add_")
    onnx_ops = ("BatchNormalization",)
    exporters = ("torchscript-trace",)
    needs_torch = ">=1.12"
    inputs = ((f32(4, 3, 2, 2),), (f32(4, 3, 2, 2),))
    rtol = 1e-3
    atol = 1e-3
    export = staticmethod(lambda: {"training": torch.onnx.TrainingMode.TRAINING})

    def setup(self):
        self.norm = torch.nn.BatchNorm2d(3)

    def forward(self, x):
        return self.norm(x)

    evaluated = fix("export-option", "export in evaluation mode, the default", export={}, documented=False)


class SpectralNormInEvaluation(Case):
    """nn.utils.spectral_norm: no TorchScript symbolic for aten::mv before torch 1.9."""

    sources = ("pytorch/pytorch#27723",)
    aten_ops = ("aten::mv",)
    onnx_ops = ("MatMul",)
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        self.weight = torch.nn.Parameter(torch.zeros(4, 3))
        self.register_buffer("u", torch.tensor([0.5, -0.5, 0.5, 0.5]))
        self.register_buffer("v", torch.tensor([0.6, 0.8, 0.0]))

    def forward(self, x):
        sigma = torch.dot(self.u, torch.mv(self.weight, self.v))
        return F.linear(x, self.weight / sigma)

    @fix("rewrite", "use matmul instead of mv and dot", documented=False)
    def matmul(self, x):
        sigma = torch.matmul(self.u, torch.matmul(self.weight, self.v))
        return F.linear(x, self.weight / sigma)


class WeightNormDeepcopy(Case):
    """copy.deepcopy of a module with weight_norm: only graph leaves can be copied."""

    sources = ("pytorch/pytorch#28594", "pytorch/pytorch#102981")
    aten_ops = ("aten::_weight_norm",)
    onnx_ops = ("ReduceL2", "Div", "Mul")
    exporters = ("torchscript-trace", "dynamo", "default")
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        self.linear = torch.nn.utils.weight_norm(torch.nn.Linear(3, 4))
        self.linear.weight_g.data.abs_().add_(0.5)

    def forward(self, x):
        return copy.deepcopy(self.linear)(x)

    def reference(self, x):
        return self.linear(x)

    @fix("rewrite", "do not copy the module", documented=False)
    def without_copy(self, x):
        return self.linear(x)


class WeightNormInterface(Case):
    """torch._weight_norm_interface: no TorchScript symbolic.

    Newer weight norms call this function.
    """

    sources = ("pytorch/pytorch#130644",)
    aten_ops = ("aten::_weight_norm_interface",)
    onnx_ops = ("ReduceL2", "Div", "Mul")
    needs_torch = ">=2.0"
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}

    def setup(self):
        self.direction = torch.nn.Parameter(torch.zeros(4, 3))
        self.register_buffer("length", torch.tensor([[0.5], [1.0], [1.5], [2.0]]))

    def forward(self, x):
        return F.linear(x, torch._weight_norm_interface(self.direction, self.length, 0)[0])

    @fix("rewrite", "compute the weight with its formula", documented=False)
    def formula(self, x):
        norms = (self.direction * self.direction).sum(1, keepdim=True).sqrt()
        return F.linear(x, self.direction / norms * self.length)

    dynamo = fix("export-option", "export with dynamo=True", exporter="dynamo", documented=False)


def stored(model):
    """Return how many weights the ONNX file stores, and how many it lists as inputs."""
    names = {item.name for item in model.graph.initializer}
    return {"stored": len(names), "as_inputs": sum(item.name in names for item in model.graph.input)}


class TiedWeightsStoredTwice(Case):
    """Weight shared by head and embedding: constant folding stores a transposed copy."""

    sources = ("pytorch/pytorch#108342", "huggingface/optimum#1326", "huggingface/transformers#12985")
    aten_ops = ("aten::embedding", "aten::linear")
    onnx_ops = ("Gather", "MatMul", "Transpose")
    inputs = ((i64(2, 3, high=7),), (i64(2, 3, high=7),), (i64(4, 3, high=7),))
    dynamic = {"tokens": {0: "batch"}}
    facts = staticmethod(stored)

    def setup(self):
        self.embedding = torch.nn.Embedding(7, 4)

    def forward(self, tokens):
        return F.linear(self.embedding(tokens), self.embedding.weight)

    without_folding = fix(
        "export-option", "pass do_constant_folding=False", export={"do_constant_folding": False}, documented=False
    )


class InitializersAsInputs(Case):
    """keep_initializers_as_inputs=True: weights become inputs, not constants.

    The runtime then treats no weight as a constant.
    """

    sources = ("microsoft/onnxruntime#4033", "microsoft/onnxruntime#3449")
    aten_ops = ("aten::conv2d",)
    onnx_ops = ("Conv",)
    needs_torch = ">=1.3"
    inputs = ((f32(1, 2, 5, 5),), (f32(1, 2, 5, 5),), (f32(3, 2, 5, 5),))
    dynamic = {"x": {0: "batch"}}
    export = {"keep_initializers_as_inputs": True}
    facts = staticmethod(stored)

    def setup(self):
        self.conv = torch.nn.Conv2d(2, 3, 3)

    def forward(self, x):
        return self.conv(x)

    default_option = fix("export-option", "use the default, False", export={}, documented=False)
