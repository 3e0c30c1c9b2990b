"""From a pasted error to the operator that fails, the cases that fail alike, and what works at the user's point."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from caniexport.match.error_index import index_errors
from caniexport.match.evidence import read_error
from click.testing import CliRunner

import caniexport
from caniexport import names
from caniexport.answers.moves import Moves
from caniexport.answers.point import Points
from caniexport.answers.scope import Scope
from caniexport.answers.select import load
from caniexport.answers.touching import TouchJudge, TouchWord, known_graphs
from caniexport.cli import main
from caniexport.match import error_index
from caniexport.match.errors import Confidence, match_error
from caniexport.operators import operator_key
from caniexport.store import summary

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks" / "errors"))
import measure

pytestmark = [pytest.mark.published, pytest.mark.usefixtures("opened_once")]

CROSS = "RuntimeError: Exporting the operator aten::cross to ONNX opset version 11 is not supported."
ANY_EXPORTER = ("torchscript-trace", "torchscript-script", "dynamo")


@pytest.fixture(scope="module")
def published(results):
    return results


@pytest.fixture(scope="module")
def index(published):
    return index_errors(published)


def test_every_sixth_labeled_text_is_right_first_and_none_is_wrongly_the_same_error(index):
    judged = [measure.judge(index, label) for label in measure.read_labels()[::6]]
    assert sum(item.first for item in judged) >= 0.87 * len(judged)
    assert not [item.label["id"] for item in judged if item.same_wrong]


@pytest.mark.parametrize(
    "name", ["F.grid_sample", "torch.nn.functional.grid_sample", "aten::grid_sampler", "GridSample", "grid_sampler_2d"]
)
def test_an_operator_has_one_key_by_every_name(name):
    assert operator_key(name) == operator_key("aten.grid_sampler.default")


@pytest.mark.parametrize(
    ("name", "near"),
    [("foo", []), ("elo", ["aten::elu"]), ("too", ["ir-version-9-too-new"]), ("9", ["7", "17"]), ("77", ["27"])],
)
def test_a_short_name_is_near_a_whole_one_and_a_number_the_numbers_beside_it(name, near):
    assert names.nearest(name, ["onnx-for-speed", "ir-version-9-too-new", "aten::elu", "27", "7", "17"]) == near


@pytest.mark.parametrize(
    ("typo", "meant"),
    [("corss", "aten::cross"), ("gridsmaple", "GridSample"), ("adaptive_avgpool2d", "adaptive_avg_pool2d")],
)
def test_the_nearest_name_is_a_typo_away(typo, meant):
    assert (
        names.nearest(typo, ["Compress", "Cos", "Or", "aten::cross", "GridSample", "adaptive_avg_pool2d"])[0] == meant
    )


@pytest.mark.parametrize(
    ("text", "operator"),
    [
        ("No ONNX function found for <OpOverload(op='aten.unfold', overload='default')>", "aten::unfold"),
        ("RuntimeError: ONNX export failed: Couldn\u2019t export Python operator qfn", "aten::qfn"),
        (
            'File "torch/onnx/symbolic.py", line 562, in softmax\nRuntimeError: r ASSERT FAILED at jit_type.h',
            "softmax",
        ),
        ("Unsupported FX nodes: {'call_function': ['aten\\\n.glu.default']}.", "aten::glu"),
        ('[8] Assertion failed: scales.is_weights() && "Resize scales must be an initializer!"', "Resize"),
        ("ERROR: In node 143 (importResize): UNSUPPORTED_NODE: Assertion failed: x", "Resize"),
        ("FAIL : Fatal error: mmcv:MMCVRoiAlign(-1) is not a registered function/op", "mmcv::MMCVRoiAlign"),
        ("RuntimeError: sqrt_vml_cpu not implemented for 'Half'", "aten::sqrt"),
        ("RuntimeError: min(): Expected reduction dim to be specified for input.numel() == 0.", "aten::min"),
        ("Converter is not implemented (OperationDescription(domain='', operation_type='If', version=11))", "If"),
        ("ERROR during processing node with 1 inputs and 1 outputs: [Einsum]:(onnx_node!a)", "Einsum"),
        ("> Node [Transpose@ai.onnx]:(onnx_node!/attn2/Transpose_1) parse error: in function 'x'", "Transpose"),
        ("Shape not supported yet!\nGather not supported yet!", "Shape"),
        ("Where is the error? No kernel for node /layer1/Conv_3 at index 3", "Conv"),
        ("Exporting the operator prim_DictConstruct to ONNX opset version 13 is not supported", "prim::DictConstruct"),
        ("Error code: UNSUPPORTED_NODE\nFunc of the error:importMatMul\nNode of the error:2", "MatMul"),
        (
            "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Non-zero status code returned while running If node. Name:''"
            " Status Message: Non-zero status code returned while running GatherElements node. Name:'g' Status",
            "GatherElements",
        ),
        (
            'While parsing node number 0 [Conv -> "377"]:\nERROR: a.cpp:5 In function importModel:\n[5] Assertion',
            "Conv",
        ),
        ("E Try match layer: Resize_Resize_1382:out0 failed!", "Resize"),
        ("failed to legalize operation 'torch.operator' that was explicitly marked illegal : ONNX.Gather", "Gather"),
        ("Error Code 4: Miscellaneous (IElementWiseLayer Mul_2509: broadcast dimensions must be conformable.", "Mul"),
        ("find any implementation for node {ForeignNode[onnx::Pow_9 + (Unnamed Layer* 12) [Shuffle]]}", "Pow"),
        ("reshape_value == 1INTERNAL ASSERT FAILED. ONNX Expand input shape constraint not satisfied.", "Expand"),
        ("ConvertError: Adapter for Upsample from 9 to 10 not found", "Upsample"),
        ("Failed to find kernel for com.microsoft.FusedMatMul(1). Kernel not found", "FusedMatMul"),
        ("ONNX export of nn.MultiheadAttention gives NaN", "MultiheadAttention"),
        ("UnboundLocalError in symbolic_opset11.pad", "pad"),
        ("Constant folding in symbolic shape inference fails: Expected all tensors to be on the same device", ""),
        (
            "RuntimeError: ONNX export failed: Couldn't export operator aten::adaptive_avg_pool2d\n\nGraph we tried to "
            "export:\ngraph(%0 : Float(1, 3, 4, 4)) {\n  %1 : Tensor = onnx::LSTM(%0)\n  return (%1);\n}",
            "aten::adaptive_avg_pool2d",
        ),
    ],
)
def test_the_operator_that_fails_is_read_from_what_people_paste(text, operator):
    assert read_error(text).operator == operator


def test_the_dump_of_a_value_names_no_operator():
    text = (
        "torch.onnx.errors.SymbolicValueError: STFT does not currently support complex types  [Caused by the value '1 "
        "defined in (%1 : Float(2, 3) = onnx::Reshape[allowzero=0](%2, %3)' (type 'Tensor') in the TorchScript graph. "
        "The containing node has kind 'onnx::Reshape'.]"
    )
    assert "onnx::Reshape" not in read_error(text).operators


@pytest.mark.parametrize(
    ("text", "case"),
    [
        (CROSS, "cross-no-symbolic"),
        ("grid_sampler to ONNX opset version 11 is not supported", "grid-sampler-unsupported-opset-11"),
        (
            "Got unsupported: Exporting the operator 'aten::im2col' to ONNX opset version 9 is not supported",
            "unfold-images",
        ),
    ],
)
def test_an_error_of_a_case_finds_it(index, text, case):
    found = match_error(index, text).leads[0]
    assert (found.case, found.confidence) == (case, Confidence.EXACT)


@pytest.mark.parametrize("like", ["upsample_trilinear3d", "upsample_linear1d"])
def test_the_same_error_is_of_the_very_operator_and_of_one_that_is_alike_the_same_operator(index, like):
    text = "RuntimeError: ONNX export failed: Couldn't export operator aten::{}"
    of_it, of_like = (match_error(index, text.format(op)).leads for op in ("upsample_bilinear2d", like))

    assert Confidence.EXACT in {lead.confidence for lead in of_it}
    assert {Confidence.EXACT, Confidence.CAUSE}.isdisjoint(lead.confidence for lead in of_like)
    assert of_like[0].confidence is Confidence.OPERATOR


def test_an_error_that_only_a_fix_has_is_never_the_same_error(index):
    text = "RuntimeError: ONNX export failed: Couldn't export operator aten::unbind"
    sure = {lead.case: lead.variant for lead in match_error(index, text).leads if lead.confidence is Confidence.EXACT}
    assert set(sure.values()) == {"plain"}


AROUND = {
    "steps": (
        "torch.onnx._internal.exporter._errors.ConversionError: Failed to convert the exported program to an ONNX "
        "model. This is step 3/3 of exporting the model to ONNX. Next steps:\n- If there is a missing ONNX function, "
        "implement it and register it to the registry.\n- If there is an internal error during ONNX conversion, debug "
        "the error and submit a PR to PyTorch.\ncaused by "
    ),
    "a report": (
        "torch.onnx.OnnxExporterError: Failed to export the model to ONNX. Generating SARIF report at "
        "'report_dynamo_export.sarif'. SARIF is a standard format for the output of static analysis tools. SARIF logs "
        "can be loaded in VS Code SARIF viewer extension, or SARIF web viewer. Please report a bug on PyTorch Github: "
        "https://github.com/pytorch/pytorch/issues\nThe above exception was the direct cause of the following "
        "exception:\n"
    ),
    "frames": (
        'Traceback (most recent call last):\n  File "/a/torch/onnx/utils.py", line 1636, in _export\n'
        "    graph, params_dict, torch_out = _model_to_graph(\n"
        '  File "/a/torch/nn/modules/rnn.py", line 812, in forward\n    result = _VF.lstm(input, hx)\n'
    ),
}


@pytest.mark.parametrize("around", AROUND)
def test_what_an_exporter_prints_around_an_error_changes_no_lead(index, around):
    said = (
        "DispatchError: No ONNX function found for <OpOverload(op='aten.adaptive_max_pool2d', overload='default')>. "
        "Failure message: No decompositions registered for the real-valued input"
    )
    alone, found = match_error(index, said), match_error(index, f"{AROUND[around]}{said}")
    assert [(lead.case, lead.why) for lead in found.leads[:3]] == [(lead.case, lead.why) for lead in alone.leads[:3]]
    assert found.leads[0].case == "adaptive-max-pool-stride-kernel-formula"
    sure = (Confidence.EXACT, Confidence.CAUSE)
    assert not [lead.case for lead in match_error(index, AROUND[around]).leads if lead.confidence in sure]


def test_what_calls_a_rule_is_no_cause(index):
    text = (
        "## Exception summary\n\n<class 'TypeError'>: float() argument must be a string, not 'SymbolicTensor'\n"
        "\u2b06\ufe0f\n"
        "<class 'torch.onnx._internal.exporter._errors.GraphConstructionError'>: Error when calling function "
        "'TracedOnnxFunction(<function aten_remainder_scalar at 0x1>)' with args '[]' and kwargs '{}'\n"
        "caused by GraphConstructionError: Error calling operator 'Mod' with args ()\n"
    )
    evidence = read_error(text)
    assert [reason.kind for reason in evidence.reasons] == ["TypeError"]
    assert evidence.operator == "aten::remainder"


def test_an_error_leads_to_no_case_of_another_operator(index):
    text = "No ONNX function found for <OpOverload(op='aten.unfold', overload='default')>"
    found = match_error(index, text)
    assert found.leads
    assert all("aten::unfold" in lead.entry.ops for lead in found.leads)
    assert (
        match_error(index, "Exporting the operator 'aten::glu' to ONNX opset version 17 is not supported").leads == ()
    )


@pytest.mark.parametrize("name", ["GuardOnDataDependentSymNode", "UnsupportedOperatorError"])
def test_the_name_of_an_error_alone_says_how_many_cases_ended_with_it(published, name):
    found = caniexport.explain_error(published, name)
    assert f"ended with {name}: paste the words behind it" in found.decision
    assert found.leads


def test_an_error_is_answered_at_the_users_release(published):
    seen = caniexport.explain_error(published, CROSS)
    assert "At torch 1.11.0, trace, opset 11 the workaround `stack_rewrite` is measured to work" in seen.decision
    assert seen.leads[0].at.helping[0].code.startswith("def ")
    newer = caniexport.explain_error(published, CROSS, torch="2.8", opset="18")
    assert (
        "At torch 2.8.0, trace, opset 18 it works without a workaround; an error from there has another"
        in newer.decision
    )
    older = caniexport.explain_error(published, CROSS, torch="1.10")
    assert "At torch 1.10.2, trace, opset 11 the workaround `stack_rewrite` is measured to work" in older.decision


def test_a_release_that_was_not_measured_is_told_in_the_first_line(published):
    assert (
        "Torch 2.9.9 was not measured; 2.9.1 is answered."
        in caniexport.explain_error(published, CROSS, torch="2.9.9").decision
    )


def test_a_fix_with_other_values_stands_behind_and_says_so(published):
    text = "Unsupported: ONNX export of operator adaptive_avg_pool2d, output size that are not factor of input size."
    answer = caniexport.explain_error(published, text, torch="2.9", exporter="trace")
    helping = answer.leads[0].at.helping
    assert [fix.changes_values for fix in helping] == sorted(fix.changes_values for fix in helping)
    assert not helping[0].changes_values
    assert all(
        "computes other values than the original (off by up to " in fix.told for fix in helping if fix.changes_values
    )
    assert "`matrix_product` is measured to work" in answer.decision


def test_at_an_opset_where_nothing_was_measured_no_workaround_is_said_to_be_unneeded():
    ask = ["workaround", "cross-no-symbolic", "--torch", "2.8", "--opset"]
    for opset in ("28", "30"):
        found = CliRunner().invoke(main, [*ask, opset])
        first = f"Not measured: no workaround of what was asked for at torch 2.8.0, opset {opset}."
        assert (found.exit_code, found.output.splitlines()[0]) == (0, first)
        gate = CliRunner().invoke(main, [*ask, opset, "--fail-on", "unknown"])
        assert gate.exit_code == 1


def test_of_cases_with_one_error_that_leads_which_has_it_at_the_users_release(published):
    text = (
        "DispatchError: No ONNX function found for <OpOverload(op='prims.prod', overload='default')>. "
        "Failure message: No decompositions registered for the real-valued input"
    )
    point = {"torch": "2.15.0", "exporter": "dynamo", "opset": "18"}
    answer = caniexport.explain_error(published, text, **point)
    assert answer.leads[0].at.entry.case == "cumprod-no-rule"
    assert not answer.leads[0].at.works


def test_an_error_of_an_exporter_is_answered_with_that_exporter_where_another_is_the_default(published):
    text = "UnsupportedOperatorError: Exporting the operator 'aten::grid_sampler' to ONNX opset version 15 is not"
    found = caniexport.explain_error(published, text, torch="2.9")
    assert (found.leads[0].at.exporter, found.leads[0].at.opset) == ("torchscript-trace", 15)
    assert "At torch 2.9.1, trace, opset 15 the workaround" in found.decision


def test_an_operator_that_was_never_called_is_told_from_torchs_own_table(published):
    found = caniexport.explain_error(
        published, "Exporting the operator 'aten::_dim_arange' to ONNX opset version 17 is not supported"
    )
    assert "none is about aten::_dim_arange" in found.decision
    assert "has a rule for opset" in found.decision


@pytest.mark.parametrize("name", ["fft_rfft2", "fft_irfft2", "fft_fft2"])
def test_a_transform_over_two_axes_is_another_operator_than_that_over_one(published, name):
    text = f"Exporting the operator 'aten::{name}' to ONNX opset version 17 is not supported"
    found = caniexport.explain_error(published, text, torch="2.1", opset="17")
    assert found.decision.startswith(f"No measured case fails like this, and none is about aten::{name}. On torch 2.1")
    assert f"torch's own calls of fft.{name.removeprefix('fft_')} (float32)" in found.decision
    assert not found.leads


def test_torchs_tables_say_nothing_of_an_operator_of_another_package(published):
    found = caniexport.explain_error(published, "RuntimeError: Unknown builtin op: torchvision::nms")
    assert "none is about torchvision::nms." in found.decision
    assert not found.tables


SDPA = "Exporting the operator 'aten::scaled_dot_product_attention' to ONNX opset version 11 is not supported"
SYM_SIZE = (
    "DispatchError: No ONNX function found for <OpOverload(op='aten.sym_size', overload='int')>. "
    "Failure message: No decompositions registered for the real-valued input"
)
BOUND = (
    "Fail: [ONNXRuntimeError] : 1 : FAIL : Load model from m.onnx failed:Type Error: Type parameter (T) of Optype "
    "(Where) bound to different types (tensor({}) and tensor({}) in node (/encoder/Where_3)."
)


def test_an_error_that_several_cases_have_is_not_said_to_be_one_of_them(published):
    of_few, of_many = (caniexport.explain_error(published, text) for text in (SDPA, SYM_SIZE))

    assert re.match(r"\d+ measured cases end with this error, the first is sdpa-", of_few.decision)
    assert of_many.alike > 100
    said = f"{of_many.alike} measured cases fail for this cause, which alone does not tell them apart; the first is"
    assert of_many.decision.startswith(said)


def test_words_that_cases_end_with_are_never_said_to_be_unknown(published):
    rows = published.messages(["c7d36f0ce267f5e4"])
    found = caniexport.explain_error(published, rows["c7d36f0ce267f5e4"], torch="2.14", exporter="dynamo", opset=19)

    assert found.leads[0].at.entry.case in found.ending
    assert "end with these words, which several causes share" in found.decision


def test_the_name_of_a_node_hides_no_measured_error(published):
    said = caniexport.explain_error(published, BOUND.format("int64", "float")).decision

    assert "No measured case" not in said
    assert re.search(r"where-int-and-float .* At torch 2.2.2, trace, opset 19 the workaround `one_type`", said)


def test_an_opset_that_an_error_tells_to_try_is_not_the_one_that_was_asked_for(published):
    text = "SymbolicValueError: Unsupported: ONNX export of index_put in opset 9. Please try opset version 11."
    said = caniexport.explain_error(published, text).decision

    assert "with another error" not in said
    assert re.search(r"At torch [\d.]+, trace, opset 10 the workaround `opset_11` is measured to work", said)


def _places_of_a_few(index):
    """Of every sixtieth error that at most three cases have: its text and the newest place of a failing form."""
    lines = {}
    for item in index.known:
        places = [place for place in item.places if place.variant == "plain" and place.exporter in ANY_EXPORTER]
        if places and len(item.cases) <= 3:
            lines.setdefault((item.lines, item.cases), (item, places[0]))
    return list(lines.values())[::60]


def test_no_measured_error_is_unknown_or_has_another_cause_where_it_was_measured(published, index):
    false = []
    for item, place in _places_of_a_few(index):
        point = {"torch": place.torch, "exporter": place.exporter, "opset": place.opset}
        answer = caniexport.explain_error(published, item.text, **point)
        leads = bool(answer.leads) and answer.leads[0].at.entry.case in item.cases
        unknown = "No measured case has just this error" in answer.decision
        if unknown or (leads and not place.runtime and "another cause" in answer.decision):
            false.append((item.lines, point, answer.decision))
    assert not false


def test_why_takes_an_error_and_standard_input():
    said = CliRunner().invoke(main, ["why", CROSS]).stdout
    piped = CliRunner().invoke(main, ["why", "-"], input=f"Traceback (most recent call last):\n{CROSS}\n").stdout
    assert re.match(r"\d measured cases end with this error, the first is cross-no-symbolic\s+\(", said)
    assert piped.split("\n")[0] == said.split("\n")[0]
    told = json.loads(CliRunner().invoke(main, ["why", CROSS, "--torch", "2.8", "--json"]).stdout)
    assert told["leads"][0]["at"]["status"] == "pass"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--torch", "2.8", "--torch", "2.9"], "an error text is answered at one torch: 2.8, 2.9 are several"),
        (["--status", "pass"], "--status says nothing about an error text"),
        (["--torch", "99"], "99"),
    ],
)
def test_why_refuses_what_says_nothing_about_an_error(asked, said):
    reply = CliRunner().invoke(main, ["why", CROSS, *asked])
    assert (reply.exit_code, said in reply.stderr) == (2, True)


def test_that_a_case_of_the_same_operator_works_is_no_word_about_the_error(published):
    text = "Type Error: Type parameter (T) of Optype (Where) bound to different types (tensor(float) and tensor(double)"
    found = caniexport.explain_error(published, text, torch="2.9", exporter="dynamo", opset="20")
    assert "so it does not explain this error" in found.decision
    assert "without a workaround" not in found.decision
    assert found.reason.startswith("Type Error: Type parameter")


@pytest.mark.parametrize(("torch", "exporter", "opset"), [("2.15.0", "dynamo", 18), ("2.15.0", "dynamo", 23)])
def test_a_model_with_attention_of_three_axes_is_never_said_to_be_clear_where_dynamo_refuses_it(
    published, torch, exporter, opset
):
    rows = load(published)
    points = Points(published)
    source, _ = points.find({"torch": "2.15.0", "exporter": "torchscript-trace", "opset": "18"})
    graph = known_graphs(rows, source.torch, source.exporter)["sdpa-three-dims", "plain"]
    target, _ = points.find({"torch": torch, "exporter": exporter, "opset": str(opset)})
    statuses = Moves(points.views, source, [target], Scope())
    assert TouchJudge(rows, graph, source, statuses.status).at(target).word is TouchWord.FAILS


@pytest.mark.parametrize(
    "text",
    [
        "ValueError: cannot reshape array of size 184320 into shape (1,2,721,1439)",
        "IndexError: only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
        "arrays are valid indices",
    ],
)
def test_what_numpy_tells_any_program_is_called_the_same_error_as_nothing(index, text):
    found = match_error(index, text)

    assert Confidence.EXACT not in {lead.confidence for lead in found.leads}


def test_what_the_checker_says_of_a_file_that_fails_is_searched(index):
    text = "ValidationError: Graph must be in single static assignment (SSA) form, however '24' has been used as output"
    cases = {lead.case for lead in match_error(index, f"onnx.checker.{text} names multiple times.").leads}

    assert {"input-as-only-output", "input-handed-through", "output-named-as-an-operator"} <= cases


@pytest.mark.parametrize("blob", ["a_" * 20_000, "\n" * 30_000, " " * 40_000, "A" * 40_000, "/x" * 20_000])
def test_bytes_and_gaps_in_a_text_change_nothing(index, blob):
    said = "RuntimeError: Exporting the operator aten::cross to ONNX opset version 11 is not supported."
    found = match_error(index, f"{blob}\n{said}")

    assert found.evidence.operator == "aten::cross"
    assert found.leads[0].case == match_error(index, said).leads[0].case


TRILU = "[ErrorCode:NotImplemented] Could not find an implementation for Trilu(14) node with name '/Trilu'"


def test_an_error_of_older_runtimes_is_answered_with_the_one_from_which_the_file_works(published):
    unplaced = caniexport.explain_error(published, TRILU).decision
    assert "It was seen on onnxruntime 1.18.1: upgrade that." in unplaced
    said = caniexport.explain_error(published, TRILU, torch="2.2.1").decision
    assert re.search(r"onnxruntime 1\.1\d\.\d to 1\.18\.1 give this error for its file, and from 1\.19\.2 on it", said)
    assert "upgrade onnxruntime, or use the workaround `and_positions`" in said
    assert "another cause" not in said


UNFLATTEN_12 = "Exporting the operator 'aten::unflatten' to ONNX opset version 12 is not supported"


def test_where_a_higher_opset_than_the_error_names_works_it_is_the_way_out(published):
    said = caniexport.explain_error(published, UNFLATTEN_12, torch="2.2").decision
    assert "At torch 2.2.2, trace, opset 12 no workaround is measured to work." in said
    assert "At opset 13 it works there without one." in said


BOOLS = "Type Error: Type 'tensor(bool)' of input parameter ({}) of operator (CumSum) in node ({}) is invalid."


@pytest.mark.parametrize("names", [("1684", "CumSum_1227"), ("/Equal_27_output_0", "/CumSum"), ("mask", "node_cumsum")])
def test_a_case_that_ends_with_the_error_at_the_point_goes_before_one_that_had_it(published, names):
    text = f"[ONNXRuntimeError] : 10 : INVALID_GRAPH : This is an invalid model. {BOOLS.format(*names)}"
    answer = caniexport.explain_error(published, text, torch="2.6", exporter="trace")

    assert answer.leads[0].lead.case == "cumsum-of-bools"
    assert "the workaround `as_int64` is measured to work" in answer.decision
    assert "another cause" not in answer.decision


def test_a_case_of_what_is_installed_together_is_told_without_a_release_of_torch():
    reply = CliRunner().invoke(main, ["why", "ir-version-10-too-new"])
    assert reply.exit_code == 0, reply.stderr
    assert reply.stdout.splitlines()[1].startswith("ir-version-10-too-new: fail at load (")


def test_errors_that_share_the_name_of_their_exception_alone_are_not_alike(published):
    text = (
        "TorchExportError: Failed to export the model with torch.export. This is step 1/3 of exporting the model to "
        "ONNX. Next steps:\n## Exception summary\n<class 'KeyError'>: 'getpwuid(): uid not found: 501'"
    )
    answer = caniexport.explain_error(published, text, torch="2.9")

    assert answer.leads == ()
    assert answer.decision.startswith("No measured case")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "Opset 22 is under development. Current support is till opset 21.",
            "or run it on onnxruntime 1.21.1 or newer",
        ),
        ("Unsupported model IR version: 10, max supported IR version: 9", "Set `model.ir_version = 9`"),
        ("ModuleNotFoundError: No module named 'onnxscript'", "`pip install -U onnxscript`"),
        ("ModuleNotFoundError: No module named 'mmcv.onnx'", "A Python package is not installed"),
        ("AttributeError: module 'torch.onnx' has no attribute 'dynamo_export'", "in torch 2.1 to 2.8 alone"),
        ("Failed to create CUDAExecutionProvider. Require cuDNN 9.*", "could not load its GPU provider"),
        ("Unexpected input data type. Actual: (tensor(double)) , expected: (tensor(float))", "cast it before the run"),
        ("Expected all tensors to be on the same device, but found at least two", "Tensors of two devices"),
        ("CUDA out of memory. Tried to allocate 2.00 GiB", "The memory where this ran was not enough"),
        ("but tracing inferred a static shape of 3 for dimension inputs['x'].shape[1].", "An axis was named dynamic"),
        ("ValueError: Unsupported ONNX opset version: 18", "opset 18 is taken from torch 2.0.1 on by trace"),
    ],
)
def test_a_cause_that_the_text_tells_whole_is_the_answer(published, text, told):
    answer = caniexport.explain_error(published, text)
    assert told[:1].casefold() + told[1:] in answer.decision or told[:1].upper() + told[1:] in answer.decision
    assert all(lead.lead.case in answer.ending for lead in answer.leads)


@pytest.fixture
def read(monkeypatch, tmp_path):
    """The texts that are read, not taken from the cache."""
    monkeypatch.setenv(summary.VARIABLE, str(tmp_path))
    found: list[str] = []
    read_error = error_index.read_error
    monkeypatch.setattr(error_index, "read_error", lambda text: found.append(text) or read_error(text))
    return found


def test_what_errors_say_is_read_once_and_read_again_where_the_cache_is_damaged(read, tmp_path):
    texts = [CROSS, "ein Text mit Umlauten und einem halben Zeichen \udce4"]
    first = error_index._records(texts)
    assert json.dumps(error_index._records(texts)) == json.dumps(first)
    assert read == texts
    (kept,) = (path for path in tmp_path.rglob("*") if path.is_file())
    kept.write_bytes(b"not what was written")
    assert json.dumps(error_index._records(texts)) == json.dumps(first)
    assert read == [*texts, *texts]
