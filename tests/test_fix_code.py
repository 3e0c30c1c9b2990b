"""A fix is shown as its reader copies it: an option as the export call, a function without the corpus's mark."""

from __future__ import annotations

import pytest

from caniexport.answers.fix_code import code_to_copy


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        (
            'dynamo = fix("export-option", "the dynamo exporter", exporter="dynamo", documented=False)',
            'torch.onnx.export(model, args, "model.onnx", dynamo=True)  # before torch 2.5: '
            "torch.onnx.dynamo_export(model, *args)",
        ),
        (
            'script = fix("export-option", "scripted", exporter="torchscript-script", opset=14)',
            'torch.onnx.export(torch.jit.script(model), args, "model.onnx", dynamo=False, opset_version=14)'
            "  # before torch 2.5 without dynamo=",
        ),
        (
            'axis_0 = fix("export-option", "dynamic", dynamic={"x": {0: "batch"}})',
            "torch.onnx.export(model, args, \"model.onnx\", dynamic_axes={'x': {0: 'batch'}})",
        ),
        (
            'left = fix("export-option", "not inlined", export={"autograd_inlining": False})',
            'torch.onnx.export(model, args, "model.onnx", autograd_inlining=False)',
        ),
        (
            'sizes = fix("export-option", "sizes", export=lambda: {"dynamic_shapes": {"x": {0: Dim("a")}}})',
            "torch.onnx.export(model, args, \"model.onnx\", dynamic_shapes={'x': {0: Dim('a')}})",
        ),
        ('made = fix("export-option", "made elsewhere", export=cube_translation)', None),
        ('static = fix("export-option", "static", dynamic={})', 'torch.onnx.export(model, args, "model.onnx")'),
        ('newer = fix("version-upgrade", "1.8 has it", torch=">=1.8")', 'pip install "torch>=1.8"'),
        ('@fix("rewrite", "called")\ndef called(self, x):\n    return x\n', "def called(self, x):\n    return x\n"),
        ('rule = fix("custom-symbolic", "a rule", patch=registered)', None),
        ("not Python :", None),
    ],
)
def test_a_fix_is_shown_as_its_reader_copies_it(code, shown):
    assert code_to_copy(code) == (code if shown is None else shown)
