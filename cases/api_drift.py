"""Arguments of torch.onnx.export that came and went."""

from contextlib import contextmanager

import torch

from caniexport import Case, Claim, f32, fix

UNEXPECTED = "got an unexpected keyword argument"


@contextmanager
def without_example_outputs(_opset):
    """Leave the argument out on every release: the harness gives it where a scripted module needed it."""
    export = torch.onnx.export

    def bare(*args, **options):
        options.pop("example_outputs", None)
        return export(*args, **options)

    torch.onnx.export = bare
    try:
        yield
    finally:
        torch.onnx.export = export


class ExampleOutputsArgumentRemoved(Case):
    """example_outputs=: needed to export a scripted module once, refused since.

    Both sides of the change are here: the argument given (plain) and left out (fix).
    """

    records = ("example-outputs-argument-removed",)
    sources = ("seed:002",)
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    export = staticmethod(lambda: {"example_outputs": torch.zeros(2, 3)})
    claims = (
        Claim(
            "seed:002",
            "example outputs tell the export of a scripted module the shapes of its outputs",
            record="example-outputs-argument-removed",
            torch=">=1.5,<1.11",
            exporter="torchscript-script",
            opset=">=9",
            status="pass",
        ),
        Claim(
            "seed:002",
            "the argument of the printed signature is gone",
            record="example-outputs-argument-removed",
            torch=">=1.11",
            exporter="torchscript-script",
            status="fail",
            stage="export",
            message=UNEXPECTED,
        ),
    )

    def forward(self, x):
        return torch.relu(x)

    leave_out = fix("export-option", "leave example_outputs out", export={}, patch=without_example_outputs)


def printed(argument):
    """The document's signature has this argument; the release that it is from takes it, a current one does not."""
    record = "export-signature-drift-old-arguments"
    return (
        Claim(
            "seed:002",
            "{} is an argument of the printed signature".format(argument),
            record=record,
            torch=">=1.8,<1.10",
            opset=">=9",
            status="pass",
        ),
        Claim(
            "seed:002",
            "{} is an unexpected argument in releases after the printed signature".format(argument),
            record=record,
            torch=">=1.12",
            status="fail",
            stage="export",
            message=UNEXPECTED,
        ),
    )


class _OldArgument(Case):
    records = ("export-signature-drift-old-arguments",)
    sources = ("seed:002",)
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu",)
    inputs = ((f32(2, 3),), (f32(2, 3),))

    def forward(self, x):
        return torch.relu(x)

    leave_out = fix("export-option", "leave the argument out", export={})


class ExportArgumentAten(_OldArgument):
    """export(aten=...): an argument of old signatures."""

    export = {"aten": False}
    claims = printed("aten")


class ExportArgumentExportRawIr(_OldArgument):
    """export(export_raw_ir=...): an argument of old signatures."""

    export = {"export_raw_ir": False}
    claims = printed("export_raw_ir")


class ExportArgumentRetainParamName(_OldArgument):
    """export(_retain_param_name=...): an argument of old signatures."""

    export = {"_retain_param_name": True}
    claims = printed("_retain_param_name")


class ExportArgumentStripDocString(_OldArgument):
    """export(strip_doc_string=...): an argument of old signatures, later part of verbose."""

    export = {"strip_doc_string": True}
    claims = printed("strip_doc_string")


class ExportArgumentEnableOnnxChecker(_OldArgument):
    """export(enable_onnx_checker=...): an argument of old signatures, later always on."""

    export = {"enable_onnx_checker": True}
    claims = printed("enable_onnx_checker")


class ExportArgumentUseExternalDataFormat(_OldArgument):
    """export(use_external_data_format=...): an argument of old signatures, later automatic."""

    records = ("export-signature-drift-old-arguments", "use-external-data-format-removed")
    sources = ("seed:002", "facebookresearch/dlrm#229")

    export = {"use_external_data_format": False}
    claims = printed("use_external_data_format")
