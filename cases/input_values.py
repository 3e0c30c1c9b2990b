"""What goes into a model besides tensors: dictionaries, lists, None, inputs that are not used."""

from contextlib import contextmanager

import torch

from caniexport import Case, f32, fix


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
    """The names of the file's own inputs and of its outputs."""
    stored = [item.name for item in model.graph.initializer]
    return {
        "inputs": [item.name for item in model.graph.input if item.name not in stored],
        "outputs": [item.name for item in model.graph.output],
    }


class DictAsLastInput(Case):
    """A dictionary as the last example input is taken for keyword arguments."""

    sources = ("pytorch/pytorch#47367", "pfnet/pytorch-pfn-extras#718", "onnx/onnx#1528", "onnx/tutorials#78")
    aten_ops = ("aten::mul",)
    onnx_ops = ("Mul",)
    inputs = ((f32(2, 3), {"scale": f32(3)}), (f32(2, 3), {"scale": f32(3)}))

    def forward(self, x, weights):
        return x * weights["scale"]

    empty_dict_appended = fix(
        "export-option", "an empty dictionary after the real one", patch=empty_keywords, documented=False
    )

    def reference(self, x, weights):
        return x * (weights["scale"] if isinstance(weights, dict) else weights)

    @fix(
        "rewrite",
        "the tensors themselves as arguments",
        inputs=((f32(2, 3), f32(3)), (f32(2, 3), f32(3))),
        documented=False,
    )
    def unpacked(self, x, scale):
        return x * scale


class NoneInTheMiddle(Case):
    """An optional argument left out in the middle: None among the example inputs."""

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
        "a module of its own without the argument",
        inputs=((f32(2, 3), f32(2, 3)), (f32(2, 3), f32(2, 3))),
        documented=False,
    )
    def without_argument(self, x, z):
        return x + z


class UnusedInput(Case):
    """An input that forward does not use is not in the file."""

    sources = ("microsoft/onnxruntime#7424",)
    aten_ops = ("aten::add",)
    onnx_ops = ("Add",)
    # the bare call gives no names, by which the inputs that are left would be known
    exporters = ("torchscript-trace", "torchscript-script", "dynamo")
    inputs = ((f32(2, 3), f32(2, 3), f32(2, 3)), (f32(2, 3), f32(2, 3), f32(2, 3)))
    facts = staticmethod(names)

    def forward(self, a, b, c):  # noqa: ARG002  # the fault
        return a + c

    @fix("rewrite", "use it: plus 0 times its sum", documented=False)
    def touched(self, a, b, c):
        return a + c + 0.0 * b.sum()
