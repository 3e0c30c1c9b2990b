"""Arguments of torch.onnx.export that came and went."""

from contextlib import contextmanager

import torch

from caniexport import Case, f32, fix


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

    sources = ("seed:002",)
    aten_ops = ("aten::relu",)
    onnx_ops = ("Relu",)
    inputs = ((f32(2, 3),), (f32(2, 3),))
    export = staticmethod(lambda: {"example_outputs": torch.zeros(2, 3)})

    def forward(self, x):
        return torch.relu(x)

    leave_out = fix("export-option", "leave example_outputs out", export={}, patch=without_example_outputs)


class _OldArgument(Case):
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


class ExportArgumentExportRawIr(_OldArgument):
    """export(export_raw_ir=...): an argument of old signatures."""

    export = {"export_raw_ir": False}


class ExportArgumentRetainParamName(_OldArgument):
    """export(_retain_param_name=...): an argument of old signatures."""

    export = {"_retain_param_name": True}


class ExportArgumentStripDocString(_OldArgument):
    """export(strip_doc_string=...): an argument of old signatures, later part of verbose."""

    export = {"strip_doc_string": True}


class ExportArgumentEnableOnnxChecker(_OldArgument):
    """export(enable_onnx_checker=...): an argument of old signatures, later always on."""

    export = {"enable_onnx_checker": True}


class ExportArgumentUseExternalDataFormat(_OldArgument):
    """export(use_external_data_format=...): an argument of old signatures, later automatic."""

    sources = ("seed:002", "facebookresearch/dlrm#229")

    export = {"use_external_data_format": False}
