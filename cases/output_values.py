"""What comes out of a model: dictionaries, lists, None, texts, names, the same tensor twice."""

import torch

from caniexport import Case, f32, fix


def names(model):
    """The names of the file's own inputs and of its outputs."""
    stored = [item.name for item in model.graph.initializer]
    return {
        "inputs": [item.name for item in model.graph.input if item.name not in stored],
        "outputs": [item.name for item in model.graph.output],
    }


class NoneAmongOutputs(Case):
    """forward returns a tensor and None."""

    sources = ("pytorch/pytorch#29551", "pytorch/pytorch#42391", "onnx/onnx#1853")
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    exporters = ("torchscript-trace", "dynamo", "default")

    def forward(self, x):
        return torch.relu(x), None

    def reference(self, x):
        return torch.relu(x)

    @fix("rewrite", "the tensors alone", documented=False)
    def tensors_only(self, x):
        return torch.relu(x)


class ListOfDictsAsOutput(Case):
    """forward returns a list of dictionaries, as torchvision's detectors do."""

    sources = ("pytorch/vision#2987",)
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    exporters = ("torchscript-trace", "dynamo", "default")

    def forward(self, x):
        return [{"boxes": torch.relu(x), "scores": x.sum(1)}]

    @fix("rewrite", "a flat tuple of tensors", documented=False)
    def flat_tuple(self, x):
        return torch.relu(x), x.sum(1)


class DictAsOutput(Case):
    """forward returns a dictionary: its keys are not in the file."""

    sources = ("https://docs.pytorch.org/docs/stable/onnx_torchscript.html",)
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    exporters = ("torchscript-trace", "dynamo", "default")
    facts = staticmethod(names)

    def forward(self, x):
        return {"positive": torch.relu(x), "total": x.sum(1)}

    output_names_given = fix(
        "export-option",
        "output_names in the dictionary's order",
        export={"output_names": ["positive", "total"]},
        documented=False,
    )


class TextAmongOutputs(Case):
    """forward returns a tensor and a text: the text is not in the file."""

    sources = ("https://docs.pytorch.org/docs/stable/onnx_torchscript.html",)
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    exporters = ("torchscript-trace", "dynamo", "default")

    def forward(self, x):
        return torch.relu(x) + 1.0, "text"

    def reference(self, x):
        return torch.relu(x) + 1.0

    @fix("rewrite", "the tensors alone", documented=False)
    def tensors_only(self, x):
        return torch.relu(x) + 1.0


class NumpyAsOutput(Case):
    """Postprocessing in numpy within forward."""

    sources = ("NVlabs/SegFormer#140", "lanpa/tensorboardX#109")
    aten_ops = ("aten::argmax",)
    onnx_ops = ("ArgMax",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    exporters = ("torchscript-trace", "dynamo", "default")

    def forward(self, x):
        return x.argmax(1).cpu().numpy()

    @fix("rewrite", "tensors, postprocessed outside", documented=False)
    def tensors(self, x):
        return x.argmax(1)


class SameOutputTwice(Case):
    """forward returns one tensor twice."""

    sources = ("pytorch/pytorch#64190",)
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu", "Identity")
    inputs = ((f32(2, 3),), (f32(2, 3),))

    def forward(self, x):
        y = torch.relu(x)
        return y, y

    @fix("rewrite", "a clone", documented=False)
    def cloned(self, x):
        y = torch.relu(x)
        return y, y.clone()

    @fix("rewrite", "plus zero", documented=False)
    def plus_zero(self, x):
        y = torch.relu(x)
        return y, y + 0.0


def input_keeps_its_name(model):
    """Whether the file's one input is called as it was asked for."""
    return {"input_keeps_its_name": names(model)["inputs"] == ["x"]}


class InputAsOutput(Case):
    """forward returns its input unchanged beside a result, and the outputs are given names: so is the input, then."""

    sources = ("pytorch/pytorch#173076",)
    aten_ops = ("aten::clone",)
    onnx_ops = ("Identity",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    output_names = ("same", "result")
    facts = staticmethod(input_keeps_its_name)

    def forward(self, x):
        return x, torch.relu(x)

    @fix("rewrite", "plus zero", documented=False)
    def plus_zero(self, x):
        return x + 0.0, torch.relu(x)

    @fix("rewrite", "a clone", documented=False)
    def cloned(self, x):
        return x.clone(), torch.relu(x)


class OutputNamedAsAnOperator(Case):
    """output_names=["softmax"]: the dynamo exporter's own value has that name too."""

    sources = ("pytorch/pytorch#158094",)
    aten_ops = ("aten::softmax",)
    onnx_ops = ("Softmax",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    output_names = ("softmax",)

    def forward(self, x):
        return torch.softmax(torch.softmax(x, 1), 1)

    another_name = fix("export-option", "another name", export={"output_names": ["probabilities"]}, documented=False)


class ConstantOutput(Case):
    """forward returns a tensor that it makes of a number."""

    sources = ("pytorch/pytorch#132134",)
    aten_ops = ("aten::lift_fresh",)
    onnx_ops = ("Constant",)
    inputs = ((f32(2, 3),), (f32(2, 3),))

    def forward(self, x):
        return torch.relu(x), torch.tensor(1)

    @fix("rewrite", "ones made of the input", documented=False)
    def new_ones(self, x):
        return torch.relu(x), x.new_ones((), dtype=torch.int64)
