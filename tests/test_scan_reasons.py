"""What is left out, exchanged or scripted for an export, and what is there for another runtime."""

from __future__ import annotations

import pytest

from caniexport import scan_source

_FUNCTION = """
import torch


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * torch.sigmoid(x)


def act(x):
    if {test}:
        {ours}
    return {other}(x)
"""
_EXCHANGED = """
import torch
from torch import nn


def export_onnx(model, image, file):
    for layer in model.modules():
        if isinstance(layer, Conv):  # assign export-friendly activations
            if isinstance(layer.act, nn.SiLU):
                layer.act = Activation()
    torch.onnx.export(model, image, file)
"""
_SCRIPTED = """
import torch
from torch.jit import script_if_tracing


@script_if_tracing
def fitted(x, y):
    {body}
    return torch.nn.functional.pad(x, [0, missing])
"""
_RUNTIMES = {
    "a comment in a branch": """
import torch


def pooled(x):
    if is_exporting():
        # two means, not one: CoreML rejects tensors of rank six
        return x.mean(3).mean(2)
    return torch.nn.functional.avg_pool2d(x, 2)
""",
    "a comment": """
import torch


def scaled(scale, group):
    # a workaround for depthwise convolutions in ncnn
    return scale.reshape(group, -1).max(1)[0]
""",
    "an own node": """
import torch
import onnx


def changed(graph):
    for node in graph.nodes:
        if node.op == "DeformAttnPlugin_TRT":
            node.attrs = {"version": "1"}
    return graph
""",
    "an own operator": """
import torch


def attended(value, shapes, export):
    if export:
        return torch.ops.vendor.DeformAttnPlugin_TRT(value, shapes)
    return attention(value, shapes)
""",
}


@pytest.fixture
def scanned(tmp_path, results):
    """The findings in a tree of one file."""

    def run(text):
        (tmp_path / "model.py").write_text(text, encoding="utf-8")
        return scan_source(results, tmp_path, torch=["2.15.0"]).findings

    return run


@pytest.mark.parametrize(
    ("test", "ours"),
    [
        ("torch.jit.is_tracing()", "return x * torch.sigmoid(x)"),
        ("torch.jit.is_scripting() or torch.jit.is_tracing()", "return Swish.forward(None, x)"),
        ("torch.onnx.is_in_onnx_export()", "return x * torch.sigmoid(x)"),
    ],
)
def test_a_branch_that_leaves_out_an_autograd_function_is_found_whatever_the_file_says(scanned, test, ours):
    fixes = [item.site.fixes for item in scanned(_FUNCTION.format(test=test, ours=ours, other="Swish.apply"))]
    assert (("route-autograd-function-symbolic", "inlined"),) in fixes


@pytest.mark.parametrize(
    ("test", "ours", "other"),
    [
        ("torch.jit.is_scripting()", "return x * torch.sigmoid(x)", "Swish.apply"),
        ("torch.jit.is_tracing()", "raise ValueError", "Swish.apply"),
        ("torch.jit.is_tracing()", "return Swish.apply(x + 1)", "Swish.apply"),
        ("torch.jit.is_tracing()", "return x", "model.apply"),
        ("x.ndim > 2", "return x", "Swish.apply"),
    ],
)
def test_a_branch_that_applies_it_or_asks_something_else_is_not(scanned, test, ours, other):
    found = scanned(_FUNCTION.format(test=test, ours=ours, other=other))
    assert not [item for item in found if ("route-autograd-function-symbolic", "inlined") in item.site.fixes]


def test_a_module_that_is_exchanged_for_the_export_is_told_by_its_operator(scanned):
    (found,) = [item for item in scanned(_EXCHANGED) if item.site.kind.value == "stated-workaround"]
    assert (found.site.name, found.site.sure.value) == ("silu", "the same operator")
    assert "silu-no-rule" in {item.case for item in found.evidence}


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        ("missing = y.shape[-1] - x.shape[-1]", True),
        ("length = x.size(1)\n    missing = 8 - length % 8", True),
        ("missing = len(x.shape)", False),
        ("missing = 1", False),
    ],
)
def test_a_function_is_scripted_for_what_a_tracer_bakes(scanned, body, is_found):
    fixes = [item.site.fixes for item in scanned(_SCRIPTED.format(body=body))]
    assert ((("branch-on-value", "script_first"),) in fixes) == is_found


@pytest.mark.parametrize("what", _RUNTIMES)
def test_what_fails_in_another_runtime_is_for_that_one_in_files_that_do_not_name_onnx(scanned, what):
    assert {item.site.runtime for item in scanned(_RUNTIMES[what])} & {"coreml", "ncnn", "tensorrt"}


@pytest.mark.parametrize("line", ["# TensorRT engines are read below\n    return x + 1", "return x + 1  # TensorRT"])
def test_a_runtime_that_is_only_named_is_no_reason(scanned, line):
    assert scanned(f"import torch\n\n\ndef run(x):\n    {line}\n") == ()


def test_code_that_is_said_to_be_for_a_runtime_is_there_for_it(scanned):
    (found,) = scanned("import torch\n\n\ndef run(x):\n    return x.relu() + 1  # for TensorRT\n")
    assert found.site.runtime == "tensorrt"


def test_attention_is_known_by_the_names_that_authors_give_it(scanned):
    text = """
import torch


def export(layers, model, image):
    # ONNX does not support three-dimensional fused attention inputs
    for layer in layers:
        layer.fused_attn = False
    torch.onnx.export(model, image, "model.onnx")
"""
    fixes = [item.site.fixes for item in scanned(text)]
    assert (("sdpa-three-dims", "formula"),) in fixes


def test_an_assignment_to_a_slice_is_no_slice(scanned):
    text = """
import torch


def boxes(x, y):
    # stacked, not strided slice-assignment: that traces to an ONNX node that TensorRT and ONNX Runtime break
    return torch.stack([x - y, x + y], 2).reshape(-1, 4)
"""
    assert "slice" not in {item.site.name for item in scanned(text)}


def test_a_form_whose_function_says_that_it_is_another_implementation_is_the_same(scanned):
    text = """
import torch


def {name}(y, x):
    \"\"\"The angle of y and x. {said}\"\"\"
    return torch.atan(y / x) + (x < 0) * 3.14
"""
    said = text.format(name="atan2", said="It is an alternative implementation of torch.atan2")
    assert [item.site.sure.value for item in scanned(said) if not item.is_lesser] == ["the same"]
    assert not [item for item in scanned(text.format(name="atan2", said="")) if not item.is_lesser]


@pytest.mark.parametrize(
    ("test", "check", "is_told"),
    [
        ("torch.compiler.is_exporting()", "torch._check(number >= 0)", True),
        ("torch.compiler.is_exporting()", "print(number)", False),
        ("self.training", "torch._check(number >= 0)", False),
    ],
)
def test_a_checked_number_in_a_branch_on_exporting_is_a_fix_whatever_the_file_says(scanned, test, check, is_told):
    text = f"""
import torch


def row(self, table, places):
    number = places[0]
    if {test}:
        number = number.item()
        {check}
    return table[number]
"""
    found = [item.site.fixes for item in scanned(text) if not item.is_lesser]
    assert found == ([(("guard-on-item", "checked"),)] if is_told else [])


def test_a_table_outside_of_functions_takes_the_place_of_no_operator(scanned):
    text = """
import torch

if hasattr(models, "Router"):
    # models 5.0 replaced the ``nn.Linear`` gate with a router, which is mapped to ONNX Gemm
    TABLE[models.Router] = ["Gemm"]
"""
    assert not [item for item in scanned(text) if not item.is_lesser]
