"""Model inputs: how the export call receives them, non-tensor inputs and unused inputs."""

from contextlib import contextmanager

import torch

from caniexport import Case, f32, fix, i64, values

VOCABULARY = 10


@contextmanager
def calling(call):
    """Replace the export call by ``call(export, model, args, *rest, **options)``."""
    export = torch.onnx.export

    def changed(model, args, *rest, **options):
        return call(export, model, args, *rest, **options)

    torch.onnx.export = changed
    try:
        yield
    finally:
        torch.onnx.export = export


def one_by_one(_opset):
    return calling(lambda export, model, args, *rest, **options: export(model, *(tuple(args) + rest), **options))


def as_list(_opset):
    return calling(lambda export, model, args, *rest, **options: export(model, list(args), *rest, **options))


def unchanged(_opset):
    return calling(lambda export, model, args, *rest, **options: export(model, args, *rest, **options))


def input_names(model):
    """Return the names of the exported model's own inputs, in order."""
    stored = [item.name for item in model.graph.initializer]
    return {"inputs": [item.name for item in model.graph.input if item.name not in stored]}


class MultiInputTuple(Case):
    """Model inputs passed to export one by one instead of as a tuple: export fails."""

    sources = ("seed:003",)
    aten_ops = ("aten::embedding",)
    onnx_ops = ("Gather", "Add")
    inputs = (
        (i64(2, 4, high=VOCABULARY), i64(2, 4, high=VOCABULARY), i64(2, 4, high=VOCABULARY)),
        (i64(2, 4, high=VOCABULARY), i64(2, 4, high=VOCABULARY), i64(2, 4, high=VOCABULARY)),
    )
    facts = staticmethod(input_names)
    patch = staticmethod(one_by_one)

    def setup(self):
        self.tokens = torch.nn.Embedding(VOCABULARY, 3)
        self.segments = torch.nn.Embedding(VOCABULARY, 3)
        self.positions = torch.nn.Embedding(VOCABULARY, 3)

    def forward(self, tokens, segments, positions):
        return self.tokens(tokens) + self.segments(segments) - self.positions(positions)

    one_tuple = fix("export-option", "pass all inputs as one tuple, the second argument", patch=unchanged)
    one_list = fix("export-option", "pass all inputs as one list", patch=as_list, caution=True, documented=False)


class DummyLongtensorUninitialised(Case):
    """torch.LongTensor(B, L) as example input of an embedding: indices out of range.

    The uninitialized values are written out here (one of them 99, in a vocabulary of 10).
    """

    sources = ("seed:003",)
    aten_ops = ("aten::embedding",)
    onnx_ops = ("Gather",)
    inputs = (
        (values([[0, 99, 3], [1, 2, 4]], "int64"),),
        (values([[7, 1, 99], [0, 5, 2]], "int64"),),
    )

    def setup(self):
        self.embedding = torch.nn.Embedding(VOCABULARY, 3)

    def forward(self, tokens):
        return self.embedding(tokens)

    valid_dummy = fix(
        "rewrite",
        "use an example input within the vocabulary: torch.zeros or torch.randint",
        inputs=((values([[0, 0, 0], [0, 0, 0]], "int64"),), (i64(2, 3, high=VOCABULARY),)),
        documented=False,
    )


class PythonNumberInputsBefore19(Case):
    """Python number as a model input: fails before torch 1.9, constant with dynamo.

    Since 1.9 the TorchScript exporter makes the number an input of the exported model (a 0-d tensor).
    """

    id = "python-number-inputs-before-1-9"
    sources = ("seed:002", "pytorch/pytorch#23783", "pytorch/pytorch#42391", "onnx/onnx#4177")
    aten_ops = ("aten::mul",)
    onnx_ops = ("Mul",)
    inputs = ((f32(2, 3), 3), (f32(2, 3), 4))
    facts = staticmethod(input_names)

    def forward(self, x, n):
        return x * n

    tensor_input = fix(
        "rewrite",
        "pass the number as a tensor: torch.tensor(3)",
        inputs=((f32(2, 3), values(3, "int64")), (f32(2, 3), values(4, "int64"))),
    )
    float_tensor_input = fix(
        "rewrite",
        "pass the number as a tensor with the dtype of the other factor: torch.tensor(3.0)",
        inputs=((f32(2, 3), values(3.0)), (f32(2, 3), values(4.0))),
        documented=False,
    )
    newer_torch = fix("version-upgrade", "use torch 1.9 or newer, which accepts Python numbers", torch=">=1.9")


@contextmanager
def empty_keywords(_opset):
    """Append an empty dictionary to the example inputs, so that the one before it stays an input."""
    export = torch.onnx.export

    def changed(model, args, *rest, **options):
        return export(model, (*args, {}), *rest, **options)

    torch.onnx.export = changed
    try:
        yield
    finally:
        torch.onnx.export = export


def names(model):
    """Return the names of the exported model's own inputs and of its outputs."""
    stored = [item.name for item in model.graph.initializer]
    return {
        "inputs": [item.name for item in model.graph.input if item.name not in stored],
        "outputs": [item.name for item in model.graph.output],
    }


class DictAsLastInput(Case):
    """Dictionary as the last example input: export reads it as keyword arguments."""

    sources = ("pytorch/pytorch#47367", "pfnet/pytorch-pfn-extras#718", "onnx/onnx#1528", "onnx/tutorials#78")
    aten_ops = ("aten::mul",)
    onnx_ops = ("Mul",)
    inputs = ((f32(2, 3), {"scale": f32(3)}), (f32(2, 3), {"scale": f32(3)}))

    def forward(self, x, weights):
        return x * weights["scale"]

    empty_dict_appended = fix(
        "export-option", "append an empty dictionary to the inputs", patch=empty_keywords, documented=False
    )

    def reference(self, x, weights):
        return x * (weights["scale"] if isinstance(weights, dict) else weights)

    @fix(
        "rewrite",
        "pass the tensors themselves as arguments",
        inputs=((f32(2, 3), f32(3)), (f32(2, 3), f32(3))),
        documented=False,
    )
    def unpacked(self, x, scale):
        return x * scale


class NoneInTheMiddle(Case):
    """None among the example inputs: an optional argument in the middle is omitted."""

    sources = ("pytorch/pytorch#55792",)
    aten_ops = ("aten::add",)
    onnx_ops = ("Add",)
    exporters = ("torchscript-trace", "dynamo", "default")
    inputs = ((f32(2, 3), None, f32(2, 3)), (f32(2, 3), None, f32(2, 3)))
    named = False

    def forward(self, x, y=None, z=None):
        return x + z if y is None else x * y + z

    def reference(self, x, *others):
        return x + others[-1]

    @fix(
        "rewrite",
        "export a separate module without the argument",
        inputs=((f32(2, 3), f32(2, 3)), (f32(2, 3), f32(2, 3))),
        documented=False,
    )
    def without_argument(self, x, z):
        return x + z


class UnusedInput(Case):
    """Input that forward does not use: missing from the exported model."""

    sources = ("microsoft/onnxruntime#7424",)
    aten_ops = ("aten::add",)
    onnx_ops = ("Add",)
    # the bare call gives no names, so the remaining inputs could not be identified
    exporters = ("torchscript-trace", "torchscript-script", "dynamo")
    inputs = ((f32(2, 3), f32(2, 3), f32(2, 3)), (f32(2, 3), f32(2, 3), f32(2, 3)))
    facts = staticmethod(names)

    def forward(self, a, b, c):  # noqa: ARG002  # the unused input is the case
        return a + c

    @fix("rewrite", "use the input: add 0 times its sum", documented=False)
    def touched(self, a, b, c):
        return a + c + 0.0 * b.sum()
