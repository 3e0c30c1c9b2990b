"""Model outputs: dictionaries, lists, None, strings, names, returned inputs, random values."""

import torch

from caniexport import Case, f32, fix, i64, values


def through_identity(model):
    """Graph surgery: insert an Identity between an input and an output of the same name."""
    import onnx

    inputs = {item.name for item in model.graph.input}
    for output in model.graph.output:
        if output.name in inputs:
            # protobuf 3.6, from torch 1.1's companion packages, has no append
            model.graph.node.extend([onnx.helper.make_node("Identity", [output.name], [output.name + "_out"])])
            output.name += "_out"
    return model


class InputHandedThrough(Case):
    """return constant, x: output and input share a name; ONNX Runtime mixes values up."""

    sources = ("pytorch/pytorch#167848", "microsoft/onnxruntime#26339")
    aten_ops = ("aten::lift_fresh",)
    onnx_ops = ("Identity",)
    inputs = ((f32(1),), (f32(1, low=100.0, high=200.0),))

    def forward(self, x):
        return torch.tensor(1.0), x

    not_optimised = fix(
        "export-option",
        "pass optimize=False to the dynamo exporter, as in the report",
        export={"optimize": False},
        caution=True,
    )
    trace = fix("export-option", "export with dynamo=False", exporter="torchscript-trace")
    identity = fix("graph-surgery", "insert an Identity between input and output", surgery=through_identity)

    @fix("rewrite", "return x.clone()", documented=False)
    def clone(self, x):
        return torch.tensor(1.0), x.clone()

    @fix("rewrite", "return x + 0", documented=False)
    def plus_zero(self, x):
        return torch.tensor(1.0), x + 0


class InputAsOnlyOutput(InputHandedThrough):
    """return x as the only output: a model without nodes."""

    def forward(self, x):
        return x

    @fix("rewrite", "return x.clone()", documented=False)
    def clone(self, x):
        return x.clone()

    @fix("rewrite", "return x + 0", documented=False)
    def plus_zero(self, x):
        return x + 0


class TensorAttributeNamedLikeInnerValue(Case):
    """Tensor attribute named mean clashes with a computed mean: an invalid model.

    Two values get one name.
    """

    sources = ("pytorch/pytorch#168211",)
    aten_ops = ("aten::sub", "aten::mean")
    onnx_ops = ("Sub", "ReduceMean")
    inputs = ((f32(2, 3),), (f32(2, 3),))

    def setup(self):
        # plain attributes, not buffers
        self.mean = torch.tensor([1.0, -2.0, 3.0])
        self.input_mean = torch.tensor([1.0, -2.0, 3.0])

    def forward(self, x):
        return (x - self.mean).mean(1, keepdim=True) * x

    @fix("rewrite", "rename the attribute")
    def renamed(self, x):
        return (x - self.input_mean).mean(1, keepdim=True) * x


class NormalOfDynamicSize(Case):
    """torch.normal in forward: TorchScript writes the numbers as a constant.

    The constant also keeps the size of the example input. The numbers are multiplied by zero: the operators, and a
    batch of another size, show whether numbers are drawn at run time.
    """

    sources = ("pytorch/pytorch#61208",)
    aten_ops = ("aten::normal",)
    onnx_ops = ("Constant", "RandomNormalLike")
    needs_torch = ">=1.5"
    inputs = ((f32(2, 3),), (f32(2, 3),), (f32(4, 3),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return x + 0 * torch.normal(0.0, 1.0, size=x.shape)

    @fix("rewrite", "use torch.randn_like(x)")
    def randn_like(self, x):
        return x + 0 * torch.randn_like(x)

    @fix("rewrite", "use torch.randn of the size")
    def randn(self, x):
        return x + 0 * torch.randn(x.shape)


class GreedySamplingLoop(Case):
    """Python loop that feeds each chosen token back: unrolled, with constant tokens.

    A token is constant where it becomes a Python number.
    """

    sources = ("pytorch/pytorch#112512",)
    aten_ops = ("aten::argmax", "aten::item")
    onnx_ops = ("ArgMax", "Gather")
    inputs = ((i64(1, high=5),), (values([3], "int64"),), (values([1], "int64"),))

    def setup(self):
        self.embedding = torch.nn.Embedding(5, 4)
        self.linear = torch.nn.Linear(4, 5)

    def forward(self, token):
        tokens = []
        for _ in range(3):
            token = torch.tensor([int(self.linear(self.embedding(token)).argmax(-1))])
            tokens.append(token)
        return torch.cat(tokens)

    @fix("rewrite", "keep tokens as tensors", documented=False)
    def tokens_as_tensors(self, token):
        tokens = []
        for _ in range(3):
            token = self.linear(self.embedding(token)).argmax(-1)
            tokens.append(token)
        return torch.cat(tokens)

    @fix("rewrite", "export one step and run the loop outside", changes_values=True)
    def one_step(self, token):
        return self.linear(self.embedding(token)).argmax(-1)


def names(model):
    """Return the names of the exported model's own inputs and of its outputs."""
    stored = [item.name for item in model.graph.initializer]
    return {
        "inputs": [item.name for item in model.graph.input if item.name not in stored],
        "outputs": [item.name for item in model.graph.output],
    }


class NoneAmongOutputs(Case):
    """forward returns a tensor and None: NoneType is an unsupported output."""

    sources = ("pytorch/pytorch#29551", "pytorch/pytorch#42391", "onnx/onnx#1853")
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    exporters = ("torchscript-trace", "dynamo", "default")

    def forward(self, x):
        return torch.relu(x), None

    def reference(self, x):
        return torch.relu(x)

    @fix("rewrite", "return the tensors only", documented=False)
    def tensors_only(self, x):
        return torch.relu(x)


class ListOfDictsAsOutput(Case):
    """forward returns a list of dictionaries: fails at export before torch 1.3.

    torchvision's detectors return such a list.
    """

    sources = ("pytorch/vision#2987",)
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    exporters = ("torchscript-trace", "dynamo", "default")

    def forward(self, x):
        return [{"boxes": torch.relu(x), "scores": x.sum(1)}]

    @fix("rewrite", "return a flat tuple of tensors", documented=False)
    def flat_tuple(self, x):
        return torch.relu(x), x.sum(1)


class DictAsOutput(Case):
    """forward returns a dictionary: the exported model loses the keys."""

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
        "pass output_names in the dictionary's order",
        export={"output_names": ["positive", "total"]},
        documented=False,
    )


class TextAmongOutputs(Case):
    """forward returns a tensor and a string: the exported model lacks the string."""

    sources = ("https://docs.pytorch.org/docs/stable/onnx_torchscript.html",)
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    exporters = ("torchscript-trace", "dynamo", "default")

    def forward(self, x):
        return torch.relu(x) + 1.0, "text"

    def reference(self, x):
        return torch.relu(x) + 1.0

    @fix("rewrite", "return the tensors only", documented=False)
    def tensors_only(self, x):
        return torch.relu(x) + 1.0


class NumpyAsOutput(Case):
    """forward returns a numpy array: unsupported output in the TorchScript exporter."""

    sources = ("NVlabs/SegFormer#140", "lanpa/tensorboardX#109")
    aten_ops = ("aten::argmax",)
    onnx_ops = ("ArgMax",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    exporters = ("torchscript-trace", "dynamo", "default")

    def forward(self, x):
        return x.argmax(1).cpu().numpy()

    @fix("rewrite", "return tensors and postprocess outside", documented=False)
    def tensors(self, x):
        return x.argmax(1)


class SameOutputTwice(Case):
    """forward returns one tensor twice: two outputs with one name."""

    sources = ("pytorch/pytorch#64190",)
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu", "Identity")
    inputs = ((f32(2, 3),), (f32(2, 3),))

    def forward(self, x):
        y = torch.relu(x)
        return y, y

    @fix("rewrite", "clone the tensor", documented=False)
    def cloned(self, x):
        y = torch.relu(x)
        return y, y.clone()

    @fix("rewrite", "add zero", documented=False)
    def plus_zero(self, x):
        y = torch.relu(x)
        return y, y + 0.0


def input_keeps_its_name(model):
    """Tell whether the exported model's one input has the requested name."""
    return {"input_keeps_its_name": names(model)["inputs"] == ["x"]}


class InputAsOutput(Case):
    """forward returns its input with named outputs: the input is renamed too."""

    sources = ("pytorch/pytorch#173076",)
    aten_ops = ("aten::clone",)
    onnx_ops = ("Identity",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    output_names = ("same", "result")
    facts = staticmethod(input_keeps_its_name)

    def forward(self, x):
        return x, torch.relu(x)

    @fix("rewrite", "add zero", documented=False)
    def plus_zero(self, x):
        return x + 0.0, torch.relu(x)

    @fix("rewrite", "clone the tensor", documented=False)
    def cloned(self, x):
        return x.clone(), torch.relu(x)


class OutputNamedAsAnOperator(Case):
    """output_names=["softmax"]: clashes with a value of the dynamo exporter."""

    sources = ("pytorch/pytorch#158094",)
    aten_ops = ("aten::softmax",)
    onnx_ops = ("Softmax",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    output_names = ("softmax",)

    def forward(self, x):
        return torch.softmax(torch.softmax(x, 1), 1)

    another_name = fix(
        "export-option", "use another name", export={"output_names": ["probabilities"]}, documented=False
    )


class ConstantOutput(Case):
    """forward returns a tensor made from a number: dynamo_export fails."""

    sources = ("pytorch/pytorch#132134",)
    aten_ops = ("aten::lift_fresh",)
    onnx_ops = ("Constant",)
    inputs = ((f32(2, 3),), (f32(2, 3),))

    def forward(self, x):
        return torch.relu(x), torch.tensor(1)

    @fix("rewrite", "build the tensor from the input with new_ones", documented=False)
    def new_ones(self, x):
        return torch.relu(x), x.new_ones((), dtype=torch.int64)
