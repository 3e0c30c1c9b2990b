"""Options of the export call that change the content of the ONNX file, not how operators are written."""

import torch

from caniexport import Case, f32, fix


def stored_values(model):
    """Return how many inputs the ONNX file requires (without stored weights), and how many weights it stores."""
    stored = [item.name for item in model.graph.initializer]
    asked = [item.name for item in model.graph.input if item.name not in stored]
    return {"stored": len(stored), "inputs": len(asked)}


class ExportParamsFalseDropsWeights(Case):
    """export_params=False: the ONNX file has no weights and requires them as inputs."""

    sources = ("seed:002",)
    aten_ops = ("aten::conv2d",)
    onnx_ops = ("Conv",)
    inputs = ((f32(1, 3, 8, 8),), (f32(1, 3, 8, 8),))
    export = {"export_params": False}
    facts = staticmethod(stored_values)

    def setup(self):
        self.conv = torch.nn.Conv2d(3, 3, 3)

    def forward(self, x):
        return self.conv(x)

    keep_weights = fix("export-option", "leave export_params at its default, True", export={})


def io_names(model):
    """Return the names of the ONNX file's own inputs and outputs, and whether all of them are only digits."""
    stored = [item.name for item in model.graph.initializer]
    inputs = [item.name for item in model.graph.input if item.name not in stored]
    outputs = [item.name for item in model.graph.output]
    return {"inputs": inputs, "outputs": outputs, "numbers": all(name.isdigit() for name in inputs + outputs)}


class DefaultIoNamesAreNumbers(Case):
    """Without input_names and output_names, the exporter chooses the names."""

    sources = ("seed:002",)
    aten_ops = ("aten::conv2d", "aten::relu")
    onnx_ops = ("Conv", "Relu")
    inputs = ((f32(1, 3, 6, 6),), (f32(1, 3, 6, 6),))
    named = False
    facts = staticmethod(io_names)

    def setup(self):
        self.conv = torch.nn.Conv2d(3, 3, 3)

    def forward(self, x):
        return torch.relu(self.conv(x))

    names_given = fix(
        "export-option",
        "set input_names and output_names",
        export={"input_names": ["in"], "output_names": ["out"]},
    )


class IsInOnnxExportBranch(Case):
    """Branch on torch.onnx.is_in_onnx_export(): the ONNX file should clip, eager not."""

    sources = ("seed:002",)
    aten_ops = ("aten::conv2d", "aten::clamp")
    onnx_ops = ("Conv", "Clip")
    inputs = ((f32(1, 3, 6, 6),), (f32(1, 3, 6, 6),))

    def setup(self):
        self.conv = torch.nn.Conv2d(3, 3, 3)

    def forward(self, x):
        x = self.conv(x)
        if torch.onnx.is_in_onnx_export():
            x = torch.clamp(x, 0.0, 1.0)
        return x

    def reference(self, x):
        return torch.clamp(self.conv(x), 0.0, 1.0)

    @fix("rewrite", "export a separate module that always clips", documented=False)
    def export_module(self, x):
        return torch.clamp(self.conv(x), 0.0, 1.0)


class AtenFallbackExportsNotParsed(Case):
    """ONNX_ATEN_FALLBACK exports untranslated operators as ATen: no runtime loads it."""

    sources = ("seed:003",)
    aten_ops = ("aten::adaptive_avg_pool2d",)
    onnx_ops = ("ATen", "AveragePool")
    inputs = ((f32(1, 2, 7, 7),), (f32(1, 2, 7, 7),))
    export = staticmethod(lambda: {"operator_export_type": torch.onnx.OperatorExportTypes.ONNX_ATEN_FALLBACK})

    def forward(self, x):
        return torch.nn.functional.adaptive_avg_pool2d(x, [3, 3])

    @fix("rewrite", "leave the fallback out; use an average pool with the same windows", export={}, documented=False)
    def same_windows(self, x):
        return torch.nn.functional.avg_pool2d(x, 3, 2)


def files_written(model):
    """Return how many files the export call wrote."""
    return {"files": next((int(item.value) for item in model.metadata_props if item.key == "files"), 1)}


class DefaultCallWritesTwoFiles(Case):
    """The default call writes two files since torch 2.9 (.onnx and .onnx.data).

    The files are model.onnx and model.onnx.data, even without weights. external_data=False writes everything into one
    .onnx file. A model of 2 GB or more needs the second file.
    """

    sources = ("painebenjamin/hey-buddy#29",)
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu",)
    exporters = ("default",)
    inputs = ((f32(2, 3),), (f32(2, 3, low=-2.0, high=2.0),))
    facts = staticmethod(files_written)

    def forward(self, x):
        return torch.relu(x)

    one_file = fix("export-option", "pass external_data=False; writes a single file", export={"external_data": False})
    torchscript = fix("export-option", "pass dynamo=False", export={"dynamo": False}, documented=False)
