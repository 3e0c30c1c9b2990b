"""Arguments of torch.onnx.export that were added or removed."""

from contextlib import contextmanager

import torch

from caniexport import Case, f32, fix


@contextmanager
def without_example_outputs(_opset):
    """Leave the argument out on every release; the harness passes it where a scripted module needs it."""
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
    """torch.onnx.export(example_outputs=...): needed once, rejected by later releases.

    The case covers both sides of the change: the argument passed (plain) and left out (leave_out).
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
    """torch.onnx.export(aten=...): the argument was removed."""

    export = {"aten": False}


class ExportArgumentExportRawIr(_OldArgument):
    """torch.onnx.export(export_raw_ir=...): the argument was removed."""

    export = {"export_raw_ir": False}


class ExportArgumentRetainParamName(_OldArgument):
    """torch.onnx.export(_retain_param_name=...): the argument was removed."""

    export = {"_retain_param_name": True}


class ExportArgumentStripDocString(_OldArgument):
    """torch.onnx.export(strip_doc_string=...): removed, later part of verbose."""

    export = {"strip_doc_string": True}


class ExportArgumentEnableOnnxChecker(_OldArgument):
    """torch.onnx.export(enable_onnx_checker=...): removed, the checker is always on."""

    export = {"enable_onnx_checker": True}


class ExportArgumentUseExternalDataFormat(_OldArgument):
    """torch.onnx.export(use_external_data_format=...): removed, later automatic."""

    sources = ("seed:002", "facebookresearch/dlrm#229")

    export = {"use_external_data_format": False}
