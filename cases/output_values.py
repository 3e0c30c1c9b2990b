"""What comes out of a model: dictionaries, lists, None, texts, names, the same tensor twice."""

import torch

from caniexport import Case, Claim, f32, fix

JIT_TYPES = "Only tuples, lists and Variables"


def names(model):
    """The names of the file's own inputs and of its outputs."""
    stored = [item.name for item in model.graph.initializer]
    return {
        "inputs": [item.name for item in model.graph.input if item.name not in stored],
        "outputs": [item.name for item in model.graph.output],
    }


class NoneAmongOutputs(Case):
    """forward returns a tensor and None."""

    records = ("output-none-in-tuple", "output-none-type-jit")
    sources = ("pytorch/pytorch#29551", "pytorch/pytorch#42391", "onnx/onnx#1853")
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    exporters = ("torchscript-trace", "dynamo", "default")
    claims = (
        Claim(
            "pytorch/pytorch#29551",
            "NoneType is an unsupported output",
            record="output-none-in-tuple",
            torch=">=1.3,<1.7",
            status="fail",
            stage="export",
            message="NoneType",
        ),
    )

    def forward(self, x):
        return torch.relu(x), None

    def reference(self, x):
        return torch.relu(x)

    @fix("rewrite", "the tensors alone", documented=False)
    def tensors_only(self, x):
        return torch.relu(x)


class ListOfDictsAsOutput(Case):
    """forward returns a list of dictionaries, as torchvision's detectors do."""

    records = ("output-list-of-dict", "output-list-of-dict-torchvision")
    sources = ("pytorch/vision#2987",)
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    exporters = ("torchscript-trace", "dynamo", "default")
    claims = (
        Claim(
            "pytorch/vision#2987",
            "a dictionary within a list is no output that a trace takes",
            record="output-list-of-dict",
            torch="==1.7.*",
            status="fail",
            stage="export",
            message=JIT_TYPES,
            finding="1.2 refuses a dictionary. 1.7 and later take it apart: each value is an output.",
            why_not="version-misattributed",
        ),
    )

    def forward(self, x):
        return [{"boxes": torch.relu(x), "scores": x.sum(1)}]

    @fix("rewrite", "a flat tuple of tensors", documented=False)
    def flat_tuple(self, x):
        return torch.relu(x), x.sum(1)


class DictAsOutput(Case):
    """forward returns a dictionary: its keys are not in the file."""

    records = ("dict-output-keys-removed",)
    sources = ("https://docs.pytorch.org/docs/stable/onnx_torchscript.html",)
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    exporters = ("torchscript-trace", "dynamo", "default")
    facts = staticmethod(names)
    claims = (
        Claim(
            "https://docs.pytorch.org/docs/stable/onnx_torchscript.html",
            "the keys are dropped, the values are a flat list",
            torch=">=1.8",
            opset=">=9",
            status="pass",
        ),
        Claim(
            "https://docs.pytorch.org/docs/stable/onnx_torchscript.html",
            "names come from output_names",
            torch=">=1.8",
            opset=">=9",
            variant="output_names_given",
            status="pass",
            facts={"outputs": ["positive", "total"]},
        ),
    )

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

    records = ("str-output-removed",)
    sources = ("https://docs.pytorch.org/docs/stable/onnx_torchscript.html",)
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    exporters = ("torchscript-trace", "dynamo", "default")
    claims = (
        Claim(
            "https://docs.pytorch.org/docs/stable/onnx_torchscript.html",
            "the text disappears",
            torch=">=1.10",
            opset=">=9",
            status="pass",
        ),
    )

    def forward(self, x):
        return torch.relu(x) + 1.0, "text"

    def reference(self, x):
        return torch.relu(x) + 1.0

    @fix("rewrite", "the tensors alone", documented=False)
    def tensors_only(self, x):
        return torch.relu(x) + 1.0


class NumpyAsOutput(Case):
    """Postprocessing in numpy within forward."""

    records = ("output-numpy-array",)
    sources = ("NVlabs/SegFormer#140", "lanpa/tensorboardX#109")
    aten_ops = ("aten::argmax",)
    onnx_ops = ("ArgMax",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    exporters = ("torchscript-trace", "dynamo", "default")
    claims = (
        Claim(
            "NVlabs/SegFormer#140",
            "numpy.ndarray is an unsupported output",
            torch=">=1.8,<2",
            status="fail",
            stage="export",
            message="ndarray",
        ),
    )

    def forward(self, x):
        return x.argmax(1).cpu().numpy()

    @fix("rewrite", "tensors, postprocessed outside", documented=False)
    def tensors(self, x):
        return x.argmax(1)


class SameOutputTwice(Case):
    """forward returns one tensor twice."""

    records = ("duplicate-outputs-same-name",)
    sources = ("pytorch/pytorch#64190",)
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu", "Identity")
    inputs = ((f32(2, 3),), (f32(2, 3),))
    claims = (
        Claim(
            "pytorch/pytorch#64190",
            "two outputs have one name",
            torch="<1.10",
            opset=">=9",
            status="fail",
            message="output",
            finding="The file has one name twice; the checker and onnxruntime 1.4.0, 1.8.1 and 1.19.2 take it.",
            why_not="contradicted",
        ),
        Claim("pytorch/pytorch#64190", "an Identity makes another name", torch=">=1.10", opset=">=9", status="pass"),
    )

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

    records = ("dynamo-identity-output-samples",)
    sources = ("pytorch/pytorch#173076",)
    aten_ops = ("aten::clone",)
    onnx_ops = ("Identity",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    output_names = ("same", "result")
    facts = staticmethod(input_keeps_its_name)
    claims = (
        Claim(
            "pytorch/pytorch#173076",
            "the file's input has the name of an output",
            torch="==2.9.*",
            exporter="dynamo",
            opset=">=18",
            facts={"input_keeps_its_name": False},
        ),
        Claim(
            "pytorch/pytorch#173076",
            "the TorchScript exporter keeps its name",
            torch="==2.9.*",
            exporter="torchscript-trace",
            opset=18,
            facts={"input_keeps_its_name": True},
        ),
    )

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

    records = ("dynamo-output-name-equals-op",)
    sources = ("pytorch/pytorch#158094",)
    aten_ops = ("aten::softmax",)
    onnx_ops = ("Softmax",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    output_names = ("softmax",)
    claims = (
        Claim(
            "pytorch/pytorch#158094",
            "the names clash (July 2025)",
            torch=">=2.7,<2.9",
            exporter="dynamo",
            opset=">=18",
            status="fail",
        ),
    )

    def forward(self, x):
        return torch.softmax(torch.softmax(x, 1), 1)

    another_name = fix("export-option", "another name", export={"output_names": ["probabilities"]}, documented=False)


class ConstantOutput(Case):
    """forward returns a tensor that it makes of a number."""

    records = ("constant-output-dynamo-functional-assert",)
    sources = ("pytorch/pytorch#132134",)
    aten_ops = ("aten::lift_fresh",)
    onnx_ops = ("Constant",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    claims = (
        Claim(
            "pytorch/pytorch#132134",
            "dynamo_export stops at an internal assertion",
            torch=">=2.3,<2.5",
            exporter="dynamo",
            status="fail",
            stage="export",
        ),
        Claim(
            "pytorch/pytorch#132134",
            "torch 2.5's dynamo exporter takes it",
            torch=">=2.5",
            exporter="dynamo",
            opset=">=18",
            status="pass",
        ),
    )

    def forward(self, x):
        return torch.relu(x), torch.tensor(1)

    @fix("rewrite", "ones made of the input", documented=False)
    def new_ones(self, x):
        return torch.relu(x), x.new_ones((), dtype=torch.int64)
