"""How a model's inputs are handed to the export call."""

from contextlib import contextmanager

import torch

from caniexport import Case, Claim, f32, fix, i64, values

VOCABULARY = 10


@contextmanager
def calling(call):
    """Make the export call as ``call(export, model, args, *rest, **options)`` writes it."""
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
    """Names of the file's own inputs, in order."""
    stored = [item.name for item in model.graph.initializer]
    return {"inputs": [item.name for item in model.graph.input if item.name not in stored]}


class MultiInputTuple(Case):
    """Several model inputs given to the export one by one instead of as one tuple."""

    records = ("multi-input-tuple",)
    sources = ("seed:003",)
    aten_ops = ("aten::embedding",)
    onnx_ops = ("Gather", "Add")
    inputs = (
        (i64(2, 4, high=VOCABULARY), i64(2, 4, high=VOCABULARY), i64(2, 4, high=VOCABULARY)),
        (i64(2, 4, high=VOCABULARY), i64(2, 4, high=VOCABULARY), i64(2, 4, high=VOCABULARY)),
    )
    facts = staticmethod(input_names)
    patch = staticmethod(one_by_one)
    claims = (
        Claim(
            "seed:003",
            "with one tuple the file has all the inputs, in the order of forward",
            record="multi-input-tuple",
            torch="==1.3.*",
            opset=">=9",
            variant="one_tuple",
            status="pass",
            facts={"inputs": ["tokens", "segments", "positions"]},
        ),
        Claim(
            "seed:003",
            "several inputs are handed over as one tuple, not one by one",
            record="multi-input-tuple",
            torch="==1.3.*",
            status="fail",
            stage="export",
        ),
    )

    def setup(self):
        self.tokens = torch.nn.Embedding(VOCABULARY, 3)
        self.segments = torch.nn.Embedding(VOCABULARY, 3)
        self.positions = torch.nn.Embedding(VOCABULARY, 3)

    def forward(self, tokens, segments, positions):
        return self.tokens(tokens) + self.segments(segments) - self.positions(positions)

    one_tuple = fix("export-option", "all inputs in one tuple, the second argument", patch=unchanged)
    one_list = fix("export-option", "all inputs in one list", patch=as_list, caution=True, documented=False)


class DummyLongtensorUninitialised(Case):
    """torch.LongTensor(B, L) as example input of an embedding: its values are out of range.

    The uninitialised values are written out here (one of them 99, in a vocabulary of 10).
    """

    records = ("dummy-longtensor-uninitialised",)
    sources = ("seed:003",)
    aten_ops = ("aten::embedding",)
    onnx_ops = ("Gather",)
    inputs = (
        (values([[0, 99, 3], [1, 2, 4]], "int64"),),
        (values([[7, 1, 99], [0, 5, 2]], "int64"),),
    )
    claims = (
        Claim(
            "seed:003",
            "a LongTensor of the right size will do as an example input",
            record="dummy-longtensor-uninitialised",
            torch="==1.3.*",
            status="pass",
            finding="its values are whatever the memory held; if one is out of the vocabulary, torch itself raises",
            why_not="contradicted",
        ),
    )

    def setup(self):
        self.embedding = torch.nn.Embedding(VOCABULARY, 3)

    def forward(self, tokens):
        return self.embedding(tokens)

    valid_dummy = fix(
        "rewrite",
        "an example input within the vocabulary: torch.zeros or torch.randint",
        inputs=((values([[0, 0, 0], [0, 0, 0]], "int64"),), (i64(2, 3, high=VOCABULARY),)),
        documented=False,
    )


class PythonNumberInputsBefore19(Case):
    """A Python number among the inputs: refused before torch 1.9, a constant with dynamo.

    Since 1.9 the TorchScript exporter makes the number an input of the file (a 0-d tensor).
    """

    id = "python-number-inputs-before-1-9"
    records = ("python-number-inputs-before-1-9", "jit-input-int-unsupported", "input-python-int-list")
    sources = ("seed:002", "pytorch/pytorch#23783", "pytorch/pytorch#42391", "onnx/onnx#4177")
    aten_ops = ("aten::mul",)
    onnx_ops = ("Mul",)
    inputs = ((f32(2, 3), 3), (f32(2, 3), 4))
    facts = staticmethod(input_names)
    claims = (
        Claim(
            "seed:002",
            "before 1.9.0 a Python number as an input of the export is an error",
            record="python-number-inputs-before-1-9",
            torch="<1.9",
            status="fail",
            stage="export",
            message="Only tuples, lists and Variables",
        ),
        Claim(
            "seed:002",
            "a tensor is the compatible way to give a number",
            record="python-number-inputs-before-1-9",
            variant="tensor_input",
            opset=">=9",
            status="pass",
        ),
    )

    def forward(self, x, n):
        return x * n

    tensor_input = fix(
        "rewrite",
        "give the number as a tensor: torch.tensor(3)",
        inputs=((f32(2, 3), values(3, "int64")), (f32(2, 3), values(4, "int64"))),
    )
    float_tensor_input = fix(
        "rewrite",
        "give the number as a tensor of the type it is multiplied with: torch.tensor(3.0)",
        inputs=((f32(2, 3), values(3.0)), (f32(2, 3), values(4.0))),
        documented=False,
    )
    newer_torch = fix("version-upgrade", "torch 1.9 takes Python numbers", torch=">=1.9")
