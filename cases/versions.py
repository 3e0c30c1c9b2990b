"""Which opsets, definitions and operators a release has."""

import torch

from caniexport import Case, Claim, f32, fix

REFUSED = "Unsupported ONNX opset version"


class OpsetRangeByTorchVersion(Case):
    """Each release takes a range of opsets and refuses the next one."""

    records = ("opset-range-by-torch-version",)
    sources = ("seed:000",)
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    claims = (
        Claim(
            "seed:000",
            "opset_version may be chosen from 7 to 15",
            record="opset-range-by-torch-version",
            torch=">=1.10,<1.12",
            opset="7-15",
            status="pass",
            finding="1.11 takes 7 to 15; 1.10, whose error message the document prints, stops at 14",
        ),
        Claim(
            "seed:000",
            "an opset above 15 is outside the range",
            record="opset-range-by-torch-version",
            torch=">=1.10,<1.12",
            opset=">=16",
            status=("unsupported", "fail"),
            stage="export",
            message=REFUSED,
        ),
    )

    def forward(self, x):
        return torch.relu(x)

    opset_in_range = fix("export-option", "ask for an opset that the release has, here 9", export={"opset_version": 9})
    newer_torch = fix("version-upgrade", "a release that has the opset: 15 since 1.11", torch=">=1.11")


def written_opset(model):
    """The opset of the default domain."""
    return {"opset": next(item.version for item in model.opset_import if item.domain in ("", "ai.onnx"))}


class DefaultOpset9Claim(Case):
    """An export that names no opset gets the release's default, which changed five times."""

    id = "default-opset-9-claim"
    records = ("default-opset-9-claim",)
    sources = ("seed:002", "seed:003")
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    exporters = ("default",)
    facts = staticmethod(written_opset)
    claims = (
        Claim(
            "seed:002",
            "the default opset is 9",
            record="default-opset-9-claim",
            exporter="default",
            torch="<=1.11.0",
            status="pass",
            facts={"opset": 9},
        ),
        Claim(
            "seed:003",
            "torch.onnx.export uses opset 9 by default",
            record="default-opset-9-claim",
            exporter="default",
            torch="==1.3.*",
            status="pass",
            facts={"opset": 9},
        ),
    )

    def forward(self, x):
        return torch.relu(x)

    pinned = fix("export-option", "name the opset", export={"opset_version": 11})


def since_versions(model):
    """The first opset of some operators, and the definition of Relu that applies to the file."""
    import onnx

    def first(name):
        return min(
            schema.since_version
            for schema in onnx.defs.get_all_schemas_with_history()
            if schema.name == name and schema.domain == ""
        )

    opset = written_opset(model)["opset"]
    found = {name: first(name) for name in ("Asinh", "BitShift", "Resize", "GridSample", "Einsum")}
    found["Relu in the file"] = onnx.defs.get_schema("Relu", max_inclusive_version=opset).since_version
    return found


class OperatorDocSinceVersionLookup(Case):
    """Which opset brought an operator, and which definition applies at an opset."""

    records = ("operator-doc-since-version-lookup",)
    sources = ("seed:002",)
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu", "Asinh", "BitShift", "Resize", "GridSample", "Einsum")
    inputs = ((f32(2, 3),), (f32(2, 3),))
    facts = staticmethod(since_versions)
    claims = (
        Claim(
            "seed:002",
            "Asinh came with opset 9 and BitShift with opset 11",
            record="operator-doc-since-version-lookup",
            status="pass",
            opset=">=9",
            facts={"Asinh": 9, "BitShift": 11},
        ),
        Claim(
            "seed:002",
            "the definition that applies is the last change at or below the opset: Relu's of 6 up to opset 12",
            record="operator-doc-since-version-lookup",
            status="pass",
            opset="9-12",
            facts={"Relu in the file": 6},
        ),
        Claim(
            "seed:004",
            "grid_sample is too new for torch 1.10: GridSample came with opset 16",
            record="operator-doc-since-version-lookup",
            status="pass",
            opset=">=9",
            facts={"GridSample": 16},
        ),
    )

    def forward(self, x):
        return torch.relu(x)


class ReshapeUnsupportedTorch101(Case):
    """reshape with the batch taken from the input, reported as unsupported in torch 1.0.1."""

    id = "reshape-unsupported-torch-1-0-1"
    records = ("reshape-unsupported-torch-1-0-1",)
    sources = ("seed:003",)
    aten_ops = ("aten::reshape", "aten::view", "aten::size")
    onnx_ops = ("Reshape", "Shape")
    inputs = ((f32(2, 3, 4),), (f32(2, 3, 4),), (f32(5, 3, 4),))
    dynamic = {"x": {0: "batch"}}
    claims = (
        Claim(
            "seed:003",
            "torch 1.0.1 does not export reshape",
            record="reshape-unsupported-torch-1-0-1",
            torch="==1.0.1",
            status="fail",
            stage="export",
        ),
    )

    def forward(self, x):
        return x.reshape(x.size(0), -1)

    @fix("rewrite", "a view whose only free size is -1", documented=False)
    def view_constant_sizes(self, x):
        return x.view(-1, 12)

    newer_torch = fix("version-upgrade", "a later torch", torch=">=1.1")
