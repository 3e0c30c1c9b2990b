"""Errors whose cause the text tells whole, and texts in people's own words: answered on the published dataset."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from caniexport.answers.opset_ranges import tell_opsets, tell_releases
from caniexport.answers.select import load
from caniexport.cli import main
from caniexport.match.error_index import index_errors
from caniexport.match.errors import match_error
from caniexport.match.explain import explain_error
from caniexport.match.prose import PHRASES
from caniexport.match.search import search
from caniexport.model.case import PLAIN

pytestmark = [pytest.mark.published, pytest.mark.usefixtures("opened_once")]

OPSET_22 = (
    "ONNX Runtime only *guarantees* support for models stamped with official released onnx opset versions. Opset 22 is "
    "under development and support for this is limited. Current official support for domain ai.onnx is till opset 21."
)

IR_10 = "Unsupported model IR version: 10, max supported IR version: 9"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (OPSET_22, "it takes opset 21 at most, as onnxruntime 1.18.1 and 1.20.1 do, and the file has opset 22."),
        (OPSET_22, "or run it on onnxruntime 1.21.1 or newer"),
        (IR_10, "it takes IR version 9 at most, and the file has 10. Set `model.ir_version = 9`"),
        (IR_10, "or run it on onnxruntime 1.18.1 or newer"),
        ("ModuleNotFoundError: No module named 'onnxscript'", "`pip install onnxscript`"),
        ("No module named 'onnxscript._framework_apis.torch_2_9'", "onnxscript is older than torch 2.9"),
        ("ModuleNotFoundError: No module named 'mmcv.onnx'", "The module mmcv.onnx is not installed where this ran."),
        ("AttributeError: module 'torch.onnx' has no attribute 'dynamo_export'", "in torch 2.1 to 2.8 alone"),
        ("Failed to create CUDAExecutionProvider. Require cuDNN 9.* and CUDA 13.*", "could not load its CUDA provider"),
        (
            "LoadLibrary failed with error 126 onnxruntime_providers_tensorrt.dll",
            "could not load its TensorRT provider",
        ),
        (
            "INVALID_ARGUMENT : Unexpected input data type. Actual: (tensor(double)) , expected: (tensor(float))",
            "given float64 for an input that the file has as float32: cast it before it is run, `x.astype(numpy.",
        ),
        (
            "RuntimeError: Expected all tensors to be on the same device, but found at least two",
            "Tensors of two devices",
        ),
        ("CUDA out of memory. Tried to allocate 2.00 GiB", "The memory where this ran was not enough"),
    ],
)
def test_a_cause_that_the_text_tells_whole_is_the_answer_and_no_case_is(results, text, told):
    answer = explain_error(results, text, {})

    assert told in answer.decision
    assert answer.leads == ()
    assert search(results, text).error


def test_a_refused_opset_is_answered_with_those_that_the_release_takes_and_the_releases_that_take_it(results):
    decision = explain_error(results, "ValueError: Unsupported ONNX opset version: 19", {"torch": "1.13"}).decision

    assert decision.startswith("Torch 1.13.1 takes opset 7-17 by trace: ask for one of these; opset 19 is taken from")
    rows = load(results)
    for torch, opset in (("2.1.2", 18), ("2.8.0", 26)):
        works = [cell for cell in rows.cells(torch=(torch,), opset=(opset,), exporter=("dynamo",)) if cell.works]
        assert works
        assert f"{opset} by dynamo" in tell_opsets(rows, torch)
    # the exporter of torch 2.5 writes opset 18 alone, though it does not refuse others
    assert "torch 2.6.0 on by dynamo" in tell_releases(rows, 19)


@pytest.mark.parametrize(
    "text",
    [
        "TypeError: export() got an unexpected keyword argument 'enable_onnx_checker'",
        "TypeError: export() got an unexpected keyword argument 'use_external_data_format'",
        "RuntimeError: The size of tensor a (7) must match the size of tensor b (5) at non-singleton dimension 1",
        "UserError: Constraints violated (batch)! For more information, run with TORCH_LOGS=+dynamic",
    ],
)
def test_no_case_is_judged_at_an_opset_that_its_release_does_not_take(results, text):
    offers = load(results).offers

    for lead in explain_error(results, text, {}).leads:
        assert lead.at.opset is None or lead.at.opset in offers[lead.at.torch, lead.at.exporter]


def test_every_phrase_means_a_case_that_there_is(results):
    cases = {case for case, variant in load(results).catalogue if variant == PLAIN}

    assert {case for _, case in PHRASES} <= cases


@pytest.mark.parametrize(
    ("text", "case"),
    [
        (
            "The exported model only takes the batch size fixed to 1 when I run it in onnxruntime.",
            "dynamic-axes-batch-2",
        ),
        ("How do I get a dynamic batch in the exported file?", "dynamic-axes-batch-2"),
        (
            "The recognition model should take variable length lines, how can that be exported?",
            "dynamic-axes-size",
        ),
        ("When I export with onnx the ceil_mode of the pooling is lost", "max-pool-ceil-mode"),
    ],
)
def test_what_people_say_in_their_own_words_leads_to_its_case(results, text, case):
    assert match_error(index_errors(results), text).leads[0].case.startswith(case)


@pytest.mark.parametrize(
    ("text", "operator"),
    [
        ("My model uses Dropouts in inference mode too, how can I export it?", "aten::dropout"),
        ("the export fails alike, the mask has to be expanded before hidden_states[~mask] = 0.0", "aten::index_put_"),
        ("TracerWarning: There are 2 live references to the data region being modified when tracing in-place operator "
         "index_put_. This might cause the trace to be incorrect", "aten::index_put_"),
    ],
)  # fmt: skip
def test_an_operator_in_peoples_own_words_is_found(results, text, operator):
    assert match_error(index_errors(results), text).evidence.operators[0] == operator


@pytest.mark.parametrize(
    ("query", "torch"),
    [
        ("which operators does dynamo not export?", "2.15.0"),
        ("operators that dynamo does not export", "2.15.0"),
        ("operators dynamo cannot export in 2.9", "2.9.1"),
        ("which operators fail with dynamo", "2.15.0"),
        ("what ops can't dynamo export on 2.9", "2.9.1"),
    ],
)
def test_which_operators_an_exporter_does_not_export_is_answered_by_their_number_and_names(query, torch):
    asked = CliRunner().invoke(main, ["why", query])
    listed = CliRunner().invoke(main, ["op", "--fails", "dynamo", "--torch", torch, "--all"])
    told = re.search(rf"By dynamo, (\d+) of \d+ operators of torch .* in torch {re.escape(torch)}", asked.output)

    assert told[0] in listed.output
    lines = [line for line in listed.output.splitlines() if " ✗ " in line or " ≠ " in line or " ☠ " in line]
    assert len(lines) == int(told[1])


def test_which_opsets_a_release_takes_is_said_before_its_table():
    said = CliRunner().invoke(main, ["why", "what is the highest opset for torch 2.1"]).output

    assert "Torch 2.1.2 takes opset 7-19 by trace, opset 18 by dynamo." in said


FIXED = (
    "torch.onnx._internal.exporter._errors.TorchExportError: Failed to export the model with torch.export. This is "
    "step 1/3 of exporting the model to ONNX.\n<class 'ValueError'>: Found the following conflicts between "
    "user-specified ranges and inferred ranges from model tracing:\n- Received user-specified dim hint "
    "Dim.DYNAMIC(min=None, max=None), but tracing inferred a static shape of 3 for dimension inputs['x'].shape[1]."
)


def test_an_axis_that_the_model_makes_fixed_is_told_before_cases_that_read_alike(results):
    told = explain_error(results, FIXED, {}).decision

    assert told.startswith(
        "Axis 1 of input x was named dynamic, and the model's own code makes the number 3 of its size"
    )


@pytest.mark.parametrize(
    ("line", "size", "is_one"),
    [
        (
            "Not all values of batch = L['x'].size()[0] are valid because batch was inferred to be a constant (1).",
            1,
            True,
        ),
        ("You marked batch as dynamic but your code specialized it to be a constant (2). Remove the mark.", 2, False),
    ],
)
def test_an_axis_that_is_made_a_constant_is_told_before_cases_that_read_alike(results, line, size, is_one):
    told = explain_error(
        results, f"torch._dynamo.exc.UserError: Constraints violated (batch)!\n  - {line}", {}
    ).decision

    assert told.startswith("Axis batch was named dynamic, and the model's code or an operator in it makes ")
    assert f"makes {size} of its size" in told
    assert ("export with an example of 2 or more" in told) is is_one


def test_a_line_that_only_wraps_another_error_asks_for_that(results):
    told = explain_error(results, FIXED.partition("\n")[0], {}).decision

    assert told.startswith("This only says that another error happened: paste what stands with it")


VALUE = "GuardOnDataDependentSymNode: Could not extract specialized integer from data-dependent expression u0"
FRAMES = f"""Traceback (most recent call last):
  File "/env/site-packages/torch/export/_trace.py", line 2425, in _non_strict_export
    aten_export_artifact = _to_aten_func(
torch.fx.experimental.symbolic_shapes.{VALUE}
"""


def test_of_cases_that_end_alike_one_that_works_at_the_users_release_does_not_lead(results):
    """A variable in a frame of torch's own, ``aten_export_artifact``, is no operator of the error."""
    found = explain_error(results, FRAMES, {"torch": "2.15"})

    assert not [op for op in found.operators if "artifact" in op]
    assert not found.leads[0].at.works
    assert "so it does not explain this error" not in found.decision


def test_an_error_of_torchscripts_rules_is_answered_by_torchscript(results):
    text = "SymbolicValueError: ONNX export does NOT support exporting bitwise AND for non-boolean input values"

    assert explain_error(results, text, {"torch": "2.15"}).leads[0].at.exporter == "torchscript-trace"


def test_torchs_own_calls_are_told_of_an_operator_that_a_frame_names(results):
    text = """Traceback (most recent call last):
  File "/env/torch/onnx/_internal/torchscript_exporter/symbolic_opset12.py", line 139, in cross_entropy_loss
    raise errors.SymbolicValueError("Unsupported: ONNX does not support label_smoothing", self)
torch.onnx.errors.SymbolicValueError: Unsupported: ONNX does not support label_smoothing
"""

    assert "torch's own calls of nn.functional.cross_entropy (float32)" in explain_error(results, text, {}).decision
