"""Options of the export call that change what the file holds, not how operators are written."""

import torch

from caniexport import Case, Claim, f32, fix


def stored_values(model):
    """Which inputs the file asks for (weights it stores left out), and how many weights it stores."""
    stored = [item.name for item in model.graph.initializer]
    asked = [item.name for item in model.graph.input if item.name not in stored]
    return {"stored": len(stored), "inputs": len(asked)}


class ExportParamsFalseDropsWeights(Case):
    """export_params=False: the file holds no weights and asks for them as inputs."""

    records = ("export-params-false-drops-weights",)
    sources = ("seed:002",)
    aten_ops = ("aten::conv2d",)
    onnx_ops = ("Conv",)
    inputs = ((f32(1, 3, 8, 8),), (f32(1, 3, 8, 8),))
    export = {"export_params": False}
    facts = staticmethod(stored_values)
    claims = (
        Claim(
            "seed:002",
            "the weights are not in the file: it asks for weight and bias besides the image",
            record="export-params-false-drops-weights",
            status="fail",
            stage="run",
            opset=">=9",
            facts={"stored": 0, "inputs": 3},
        ),
        Claim(
            "seed:002",
            "the default stores structure and weights in one file, ready to run",
            record="export-params-false-drops-weights",
            variant="keep_weights",
            status="pass",
            opset=">=9",
            facts={"stored": 2, "inputs": 1},
        ),
    )

    def setup(self):
        self.conv = torch.nn.Conv2d(3, 3, 3)

    def forward(self, x):
        return self.conv(x)

    keep_weights = fix("export-option", "leave export_params at its default, True", export={})


def io_names(model):
    """Names of the file's own inputs and outputs, and whether all of them are bare numbers."""
    stored = [item.name for item in model.graph.initializer]
    inputs = [item.name for item in model.graph.input if item.name not in stored]
    outputs = [item.name for item in model.graph.output]
    return {"inputs": inputs, "outputs": outputs, "numbers": all(name.isdigit() for name in inputs + outputs)}


class DefaultIoNamesAreNumbers(Case):
    """Without input_names and output_names the file's names are the exporter's own."""

    records = ("default-io-names-are-numbers",)
    sources = ("seed:002",)
    aten_ops = ("aten::conv2d", "aten::relu")
    onnx_ops = ("Conv", "Relu")
    inputs = ((f32(1, 3, 6, 6),), (f32(1, 3, 6, 6),))
    named = False
    facts = staticmethod(io_names)
    claims = (
        Claim(
            "seed:002",
            "names not given are made up, as simple names such as numbers",
            record="default-io-names-are-numbers",
            status="pass",
            opset=">=9",
            facts={"numbers": True},
            finding="only the output is a number (4); the input is named after the first operator's argument (input)",
        ),
        Claim(
            "seed:002",
            "names given are the names that the runtime knows inputs and outputs by",
            record="default-io-names-are-numbers",
            variant="names_given",
            status="pass",
            opset=">=9",
            facts={"inputs": ["in"], "outputs": ["out"]},
        ),
    )

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
    """A branch on torch.onnx.is_in_onnx_export(): the file is meant to clip, eager torch is not."""

    records = ("is-in-onnx-export-branch",)
    sources = ("seed:002",)
    aten_ops = ("aten::conv2d", "aten::clamp")
    onnx_ops = ("Conv", "Clip")
    inputs = ((f32(1, 3, 6, 6),), (f32(1, 3, 6, 6),))
    claims = (
        Claim(
            "seed:002",
            "the flag is true during the export only, so the file clips to [0, 1] where eager torch does not",
            record="is-in-onnx-export-branch",
            status="pass",
            opset=">=9",
        ),
    )

    def setup(self):
        self.conv = torch.nn.Conv2d(3, 3, 3)

    def forward(self, x):
        x = self.conv(x)
        if torch.onnx.is_in_onnx_export():
            x = torch.clamp(x, 0.0, 1.0)
        return x

    def reference(self, x):
        return torch.clamp(self.conv(x), 0.0, 1.0)

    @fix("rewrite", "export a module of its own that always clips", documented=False)
    def export_module(self, x):
        return torch.clamp(self.conv(x), 0.0, 1.0)


class AtenFallbackExportsNotParsed(Case):
    """ONNX_ATEN_FALLBACK exports an operator without a rule as ATen; no runtime loads it."""

    records = ("aten-fallback-exports-not-parsed",)
    sources = ("seed:003",)
    aten_ops = ("aten::adaptive_avg_pool2d",)
    onnx_ops = ("ATen", "AveragePool")
    inputs = ((f32(1, 2, 7, 7),), (f32(1, 2, 7, 7),))
    export = staticmethod(lambda: {"operator_export_type": torch.onnx.OperatorExportTypes.ONNX_ATEN_FALLBACK})
    claims = (
        Claim(
            "seed:003",
            "the export passes, but what reads the file does not know the operator",
            record="aten-fallback-exports-not-parsed",
            torch="<1.13",
            opset=">=9",
            status="fail",
            stage="load",
            message="is not a registered function/op",
        ),
        Claim(
            "seed:003",
            "the file keeps torch's own operator, outside ONNX's operators",
            record="aten-fallback-exports-not-parsed",
            torch="<1.13",
            opset=">=9",
            ops={"org.pytorch.aten::adaptive_avg_pool2d": 1},
        ),
        Claim(
            "seed:003",
            "TensorRT's parser does not know the operator",
            record="aten-fallback-exports-not-parsed",
            status="fail",
            stage="parse",
            needs="tensorrt",
        ),
    )

    def forward(self, x):
        return torch.nn.functional.adaptive_avg_pool2d(x, [3, 3])

    @fix("rewrite", "no fallback: an average pool whose windows are the same ones", export={}, documented=False)
    def same_windows(self, x):
        return torch.nn.functional.avg_pool2d(x, 3, 2)
