"""Opsets, definitions and operators of each release."""

import torch

from caniexport import Case, f32, fix


class OpsetRangeByTorchVersion(Case):
    """opset_version: each release accepts a range of opsets and rejects the next one."""

    sources = ("seed:000",)
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu",)
    inputs = ((f32(2, 3),), (f32(2, 3),))

    def forward(self, x):
        return torch.relu(x)

    opset_in_range = fix("export-option", "use an opset that the release has, here 9", export={"opset_version": 9})
    newer_torch = fix("version-upgrade", "use a release that has the opset: 15 since torch 1.11", torch=">=1.11")


def written_opset(model):
    """Return the opset of the default domain."""
    return {"opset": next(item.version for item in model.opset_import if item.domain in ("", "ai.onnx"))}


class DefaultOpset9Claim(Case):
    """Export without an opset: uses the release's default, which changed five times."""

    id = "default-opset-9-claim"
    sources = ("seed:002", "seed:003")
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    exporters = ("default",)
    facts = staticmethod(written_opset)

    def forward(self, x):
        return torch.relu(x)

    pinned = fix("export-option", "pass opset_version", export={"opset_version": 11})


def since_versions(model):
    """Return the first opset of some operators, and the Relu definition that applies."""
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
    """ONNX operators: which opset added one, and which definition applies at an opset."""

    sources = ("seed:002",)
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu", "Asinh", "BitShift", "Resize", "GridSample", "Einsum")
    inputs = ((f32(2, 3),), (f32(2, 3),))
    facts = staticmethod(since_versions)

    def forward(self, x):
        return torch.relu(x)


class ReshapeUnsupportedTorch101(Case):
    """reshape with the batch from the input: reported as unsupported in torch 1.0.1."""

    id = "reshape-unsupported-torch-1-0-1"
    sources = ("seed:003",)
    aten_ops = ("aten::reshape", "aten::view", "aten::size")
    onnx_ops = ("Reshape", "Shape")
    inputs = ((f32(2, 3, 4),), (f32(2, 3, 4),), (f32(5, 3, 4),))
    dynamic = {"x": {0: "batch"}}

    def forward(self, x):
        return x.reshape(x.size(0), -1)

    @fix("rewrite", "use a view whose only free size is -1", documented=False)
    def view_constant_sizes(self, x):
        return x.view(-1, 12)

    newer_torch = fix("version-upgrade", "use a later torch", torch=">=1.1")
