"""From a pasted error to the operator that fails, the cases that fail alike, and what works at the user's point."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import caniexport
from caniexport import names
from caniexport.answers.answer import LONGEST, AnswerOutcome, as_json
from caniexport.answers.inventory import Inventory
from caniexport.answers.moves import Moves
from caniexport.answers.point import Points
from caniexport.answers.scope import Scope
from caniexport.answers.touching import TouchJudge, TouchVerdict, read_graphs
from caniexport.cli import main
from caniexport.match.errors import SURE, ErrorIndex, Likeness, match_error
from caniexport.match.parse import make_pattern, read_error
from caniexport.operators import operator_key

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
    return ErrorIndex.of(published)


def test_every_sixth_labeled_text_is_right_first_and_none_is_wrongly_the_same_error(index):
    judged = [measure.judge(index, label) for label in measure.read_labels()[::6]]
    assert sum(item.first for item in judged) >= 0.84 * len(judged)
    assert not [item.label["id"] for item in judged if item.same_wrong]


@pytest.mark.parametrize(
    ("pasted", "kept"),
    [
        (
            "Exporting the operator 'aten::cross' to ONNX opset version 14 is not supported. Please feel free to "
            "request support or submit a pull request on PyTorch GitHub: https://github.com/pytorch/pytorch/issues.",
            "Exporting the operator '…' to ONNX opset version N is not supported",
        ),
        (
            "[ONNXRuntimeError] : 1 : FAIL : Type Error: Type 'tensor(bool)' of input parameter (1684) of operator "
            "(CumSum) in node (CumSum_1227) is invalid.",
            "Type Error: Type '…' of input parameter (val_8) of operator (CumSum) in node (node_cumsum) is invalid.",
        ),
    ],
)
def test_a_pasted_line_and_the_line_of_a_signature_have_one_pattern(pasted, kept):
    assert make_pattern(pasted) == make_pattern(kept)


@pytest.mark.parametrize("name", ["F.grid_sample", "GridSample", "grid_sampler_2d"])
def test_an_operator_has_one_key_by_every_name(name):
    assert operator_key(name) == operator_key("aten.grid_sampler.default")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("foo", []),
        ("elo", ["aten::elu"]),
        ("too", ["ir-version-9-too-new"]),
        ("9", ["7", "17"]),
        ("gridsmaple", ["GridSample"]),
        ("adaptive_avgpool2d", ["adaptive_avg_pool2d"]),
    ],
)
def test_the_nearest_name_is_a_typo_away_and_the_nearest_number_beside_it(name, near):
    known = ["Or", "GridSample", "adaptive_avg_pool2d", "ir-version-9-too-new", "aten::elu", "27", "7", "17"]
    assert names.find_nearest(name, known) == near


@pytest.mark.parametrize(
    ("text", "operator"),
    [
        ("Exporting the operator ::grid_sampler to ONNX opset version 9", "aten::grid_sampler"),
        ("Unsupported: ONNX export of operator adaptive_avg_pool2d, output size", "aten::adaptive_avg_pool2d"),
        ("an operator with unrecognized namespace caniexport::cube. If you", "caniexport::cube"),
        ("No ONNX function found for <OpOverload(op='aten.bucketize', overload='Tensor')>.", "aten::bucketize"),
        ("Error when translating node %x : [num_users=1] = call_function[target=torch.ops.aten.t.default]", "aten::t"),
        ("FAIL : Fatal error: mmcv:MMCVRoiAlign(-1) is not a registered function/op", "mmcv::MMCVRoiAlign"),
        ("[ShapeInferenceError] (op_type:Greater, node name: /Greater): A typestr", "Greater"),
        ("TypeError: full(): argument 'fill_value' must be Number, not Tensor", "aten::full"),
        ("RuntimeError: The size of tensor a (3) must match the size of tensor b (4)", ""),
        (
            'File "torch/onnx/symbolic.py", line 562, in softmax\nRuntimeError: r ASSERT FAILED at jit_type.h',
            "softmax",
        ),
        ("Unsupported FX nodes: {'call_function': ['aten\\\n.glu.default']}.", "aten::glu"),
        ("RuntimeError: sqrt_vml_cpu not implemented for 'Half'", "aten::sqrt"),
        ("Converter is not implemented (OperationDescription(domain='', operation_type='If', version=11))", "If"),
        ("> Node [Transpose@ai.onnx]:(onnx_node!/attn2/Transpose_1) parse error: in function 'x'", "Transpose"),
        ("Where is the error? No kernel for node /layer1/Conv_3 at index 3", "Conv"),
        (
            "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Non-zero status code returned while running If node. Name:''"
            " Status Message: Non-zero status code returned while running GatherElements node. Name:'g' Status",
            "GatherElements",
        ),
        ("find any implementation for node {ForeignNode[onnx::Pow_9 + (Unnamed Layer* 12) [Shuffle]]}", "Pow"),
        ("UnboundLocalError in symbolic_opset11.pad", "pad"),
        (
            "RuntimeError: ONNX export failed: Couldn't export operator aten::adaptive_avg_pool2d\n\nGraph we tried to "
            "export:\ngraph(%0 : Float(1, 3, 4, 4)) {\n  %1 : Tensor = onnx::LSTM(%0)\n  return (%1);\n}",
            "aten::adaptive_avg_pool2d",
        ),
        (
            "SymbolicValueError: no complex types  [Caused by the value '1 defined in (%1 : Float(2, 3) = onnx::Reshape"
            "[allowzero=0](%2, %3)' (type 'Tensor') in the TorchScript graph. The containing node has kind "
            "'onnx::Reshape'.]",
            "",
        ),
    ],
)
def test_the_operator_that_fails_is_read_from_what_people_paste(text, operator):
    assert read_error(text).operator == operator


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
    assert (found.case, found.shares) == (case, Likeness.ERROR)


@pytest.mark.parametrize("like", ["upsample_trilinear3d", "upsample_linear1d"])
def test_the_same_error_is_of_the_very_operator_and_of_one_that_is_alike_the_same_operator(index, like):
    text = "RuntimeError: ONNX export failed: Couldn't export operator aten::{}"
    of_it, of_like = (match_error(index, text.format(op)).leads for op in ("upsample_bilinear2d", like))

    assert Likeness.ERROR in {lead.shares for lead in of_it}
    assert set(SURE).isdisjoint(lead.shares for lead in of_like)
    assert of_like[0].shares is Likeness.OPERATOR


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
    assert [(lead.case, lead.shares) for lead in found.leads[:3]] == [
        (lead.case, lead.shares) for lead in alone.leads[:3]
    ]
    assert found.leads[0].case == "adaptive-max-pool-stride-kernel-formula"
    assert not match_error(index, AROUND[around]).is_known


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
    assert all("aten::unfold" in index.cases[lead.case].ops for lead in found.leads)
    assert (
        match_error(index, "Exporting the operator 'aten::glu' to ONNX opset version 17 is not supported").leads == ()
    )


def rows(answer, title):
    """The rows of a table of an answer by column."""
    return next(table["rows"] for table in as_json(answer)["tables"] if title in table["title"])


def test_an_error_is_answered_at_the_users_release(published):
    seen = caniexport.explain_error(published, CROSS)
    assert seen.verdict == "Known error of cross: use the workaround stack_rewrite."
    here, later, *_ = rows(seen, "")
    assert here["where"] == "torch 1.11.0, torch.onnx.export, opset_version=11"
    assert here["result"] == {"word": "fail", "text": "same error"}
    assert later["where"] == "torch 1.12.1 and later"
    assert rows(seen, "code of stack_rewrite")[0]["code"].startswith("def stack_rewrite(self, x, y):\n    x0, x1, x2")
    assert seen.more == "caniexport case cross-no-symbolic shows every cell."

    newer = caniexport.explain_error(published, CROSS, torch="2.8", opset="18")
    assert newer.verdict == "Known error of cross, and it works at torch 2.8.0: look for another cause."
    assert newer.outcome is AnswerOutcome.NOT_MEASURED
    older = caniexport.explain_error(published, CROSS, torch="1.10")
    assert older.verdict == seen.verdict


def test_a_workaround_with_other_values_stands_behind_and_has_its_mark(published):
    text = "Unsupported: ONNX export of operator adaptive_avg_pool2d, output size that are not factor of input size."
    answer = caniexport.explain_error(published, f"RuntimeError: {text}", torch="2.9", exporter="trace")
    table = next(table for table in answer.tables if table.title == "workarounds that work there")
    marked = ["(changes values)" in row[0].text for row in table.rows]

    assert marked == sorted(marked)
    assert (marked[0], marked[-1]) == (False, True)


def test_at_an_opset_where_nothing_was_measured_no_workaround_is_said_to_be_unneeded():
    ask = ["workaround", "cross-no-symbolic", "--torch", "2.8", "--opset"]
    found = CliRunner().invoke(main, [*ask, "28", "--fail-on", "unknown"])
    first = "Not measured: no workaround of what was asked for at torch 2.8.0, opset 28."
    assert (found.exit_code, found.output.splitlines()[0]) == (1, first)


def test_of_cases_with_one_error_that_leads_which_has_it_at_the_users_release(published):
    text = (
        "DispatchError: No ONNX function found for <OpOverload(op='prims.prod', overload='default')>. "
        "Failure message: No decompositions registered for the real-valued input"
    )
    point = {"torch": "2.15.0", "exporter": "dynamo", "opset": "18"}
    (first, *_) = rows(caniexport.explain_error(published, text, **point), "similar failure")
    assert first["case"]["case"] == "cumprod-no-rule"
    assert first["at torch 2.15.0"] == {"word": "fail", "text": "same error"}


def test_an_error_of_an_exporter_is_answered_with_that_exporter_where_another_is_the_default(published):
    text = "UnsupportedOperatorError: Exporting the operator 'aten::grid_sampler' to ONNX opset version 15 is not"
    found = caniexport.explain_error(published, text, torch="2.9")
    assert rows(found, "")[0]["where"] == "torch 2.9.1, dynamo=False, opset_version=15"


def test_an_operator_without_a_case_is_told_by_its_samples(published):
    text = "Exporting the operator 'aten::fft_rfft2' to ONNX opset version 17 is not supported"
    found = caniexport.explain_error(published, text, torch="2.1", opset="17")
    assert found.verdict == "Not known: no measured case is about aten::fft_rfft2."
    assert found.outcome is AnswerOutcome.NOT_MEASURED
    assert found.notes[0].startswith("Operator samples: fft.rfft2: all samples pass ")


SYM_SIZE = (
    "DispatchError: No ONNX function found for <OpOverload(op='aten.sym_size', overload='int')>. "
    "Failure message: No decompositions registered for the real-valued input"
)
BOUND = (
    "Fail: [ONNXRuntimeError] : 1 : FAIL : Load model from m.onnx failed:Type Error: Type parameter (T) of Optype "
    "(Where) bound to different types (tensor({}) and tensor({}) in node (/encoder/Where_3)."
)


def test_an_error_that_many_cases_have_says_how_many(published):
    found = caniexport.explain_error(published, SYM_SIZE)
    title = found.tables[-1].title
    assert re.fullmatch(r"12 of \d{3} cases with a similar failure", title)


def test_the_name_of_a_node_hides_no_measured_error(published):
    found = caniexport.explain_error(published, BOUND.format("int64", "float"))
    assert found.verdict == "2 measured cases fail with these words: find yours below."
    first, second, *_ = rows(found, "similar failure")
    assert {first["match"], second["match"]} == {"the same error"}
    assert "where-int-and-float" in {first["case"]["case"], second["case"]["case"]}


def test_an_opset_that_an_error_tells_to_try_is_not_the_one_that_was_asked_for(published):
    text = "SymbolicValueError: Unsupported: ONNX export of index_put in opset 9. Please try opset version 11."
    where = rows(caniexport.explain_error(published, text), "")[0]["where"]
    assert re.fullmatch(r"torch [\d.]+, (dynamo=False|torch.onnx.export), opset_version=(9|10)", where)


def test_no_measured_error_is_unknown_where_it_was_measured(published, index):
    """Of some lines that few cases have: the message, asked at the newest point that has it."""
    false = []
    for line in sorted(index.words)[::40]:
        found = [seen for seen in index.find_failures([line]) if seen.exporter in ANY_EXPORTER]
        if not found or len({seen.case for seen in found}) > 3:
            continue
        seen, text = found[0], published.message(found[0].message_id)
        point = {"torch": seen.torch, "exporter": seen.exporter, "opset": seen.opset or ""}
        answer = caniexport.explain_error(published, text, **point)
        if answer.verdict.startswith("Not known") or "another cause" in answer.verdict:
            false.append((line, point, answer.verdict))
    assert false == []


def test_why_takes_an_error_and_standard_input():
    said = CliRunner().invoke(main, ["why", CROSS]).stdout
    piped = CliRunner().invoke(main, ["why", "-"], input=f"Traceback (most recent call last):\n{CROSS}\n").stdout
    assert said.startswith("Known error of cross: use the workaround stack_rewrite.\n")
    assert "      x0, x1, x2 = x[:, 0], x[:, 1], x[:, 2]\n" in said
    assert "caniexport case cross-no-symbolic shows every cell." in said
    assert piped == said
    told = json.loads(CliRunner().invoke(main, ["why", CROSS, "--torch", "2.8", "--json"]).stdout)
    assert told["tables"][0]["rows"][0]["result"] == "pass"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--torch", "2.8", "--torch", "2.9"], "an error text is answered at one torch: 2.8, 2.9 are several"),
        (["--provider", "cuda"], "--provider says nothing about an error text"),
        (["--torch", "99"], "99"),
    ],
)
def test_why_refuses_what_says_nothing_about_an_error(asked, said):
    reply = CliRunner().invoke(main, ["why", CROSS, *asked])
    assert (reply.exit_code, said in reply.stderr) == (2, True)


def test_that_a_case_of_the_same_operator_works_is_no_word_about_the_error(published):
    text = "Type Error: Type parameter (T) of Optype (Where) bound to different types (tensor(float) and tensor(double)"
    found = caniexport.explain_error(published, text, torch="2.9", exporter="dynamo", opset="20")
    assert found.outcome is not AnswerOutcome.WORKS
    assert "use the workaround" not in found.verdict


@pytest.mark.parametrize("opset", ["18", "23"])
def test_a_model_with_attention_of_three_axes_is_never_said_to_be_clear_where_dynamo_refuses_it(published, opset):
    known = Inventory.of(published)
    points = Points(published)
    source, _ = points.find({"torch": "2.15.0", "exporter": "torchscript-trace", "opset": "18"})
    graph = read_graphs(known, source.torch, source.exporter)["sdpa-three-dims", "plain"]
    target, _ = points.find({"torch": "2.15.0", "exporter": "dynamo", "opset": opset})
    statuses = Moves(points.views, source, [target], Scope())
    assert TouchJudge(known, graph, source, statuses.status).at(target).word is TouchVerdict.FAILS


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

    assert Likeness.ERROR not in {lead.shares for lead in found.leads}


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
    unplaced = caniexport.explain_error(published, TRILU).verdict
    assert unplaced == "Known error of Trilu on onnxruntime 1.18.1: it works on the runtime of torch 2.15.0."
    said = caniexport.explain_error(published, TRILU, torch="2.2.1")
    assert said.verdict == "Known error of Trilu: upgrade onnxruntime to 1.19.2."
    where = [row["where"] for row in rows(said, "")[1:]]
    assert where == ["onnxruntime 1.12.1 to 1.18.1", "onnxruntime 1.19.2 and later"]


UNFLATTEN_12 = "Exporting the operator 'aten::unflatten' to ONNX opset version 12 is not supported"


def test_where_a_higher_opset_than_the_error_names_works_it_is_the_way_out(published):
    said = caniexport.explain_error(published, UNFLATTEN_12, torch="2.2")
    assert said.verdict == "Known error of unflatten: call it with torch.onnx.export, opset 13-19."
    assert said.outcome is AnswerOutcome.FAILS


BOOLS = "Type Error: Type 'tensor(bool)' of input parameter ({}) of operator (CumSum) in node ({}) is invalid."


@pytest.mark.parametrize("names", [("1684", "CumSum_1227"), ("/Equal_27_output_0", "/CumSum"), ("mask", "node_cumsum")])
def test_a_case_that_ends_with_the_error_at_the_point_goes_before_one_that_had_it(published, names):
    text = f"[ONNXRuntimeError] : 10 : INVALID_GRAPH : This is an invalid model. {BOOLS.format(*names)}"
    answer = caniexport.explain_error(published, text, torch="2.6", exporter="trace")

    assert rows(answer, "similar failure")[0]["case"]["case"] == "cumsum-of-bools"
    assert answer.verdict == "Known error of CumSum: use the workaround as_int64."


def test_a_case_of_what_is_installed_together_is_told_without_a_release_of_torch():
    reply = CliRunner().invoke(main, ["why", "ir-version-10-too-new"])
    assert reply.exit_code == 0, reply.stderr
    assert reply.stdout.startswith("Fails at load (as installed): use newer_runtime.")


def test_errors_that_share_the_name_of_their_exception_alone_are_not_alike(published):
    text = (
        "TorchExportError: Failed to export the model with torch.export. This is step 1/3 of exporting the model to "
        "ONNX. Next steps:\n## Exception summary\n<class 'KeyError'>: 'getpwuid(): uid not found: 501'"
    )
    answer = caniexport.explain_error(published, text, torch="2.9")

    assert answer.verdict == "Not known."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "Opset 22 is under development. Current support is till opset 21.",
            "or run it on onnxruntime 1.21.1 or newer",
        ),
        ("Unsupported model IR version: 10, max supported IR version: 9", "Set model.ir_version = 9"),
        ("ModuleNotFoundError: No module named 'onnxscript'", "pip install -U onnxscript"),
        ("ModuleNotFoundError: No module named 'mmcv.onnx'", "A Python package is not installed"),
        ("AttributeError: module 'torch.onnx' has no attribute 'dynamo_export'", "in torch 2.1 to 2.8 alone"),
        ("Failed to create CUDAExecutionProvider. Require cuDNN 9.*", "could not load its GPU provider"),
        (
            "Unexpected input data type. Actual: (tensor(double)) , expected: (tensor(float))",
            "Cast the input",
        ),
        (
            "Expected all tensors to be on the same device, but found at least two",
            "tensors of two devices",
        ),
        ("CUDA out of memory. Tried to allocate 2.00 GiB", "Out of memory"),
        (
            "but tracing inferred a static shape of 3 for dimension inputs['x'].shape[1].",
            "A dynamic axis is a constant",
        ),
        (
            "ValueError: Unsupported ONNX opset version: 18",
            "upgrade to torch 2.0.1 (dynamo=False)",
        ),
    ],
)
def test_a_cause_that_the_text_tells_whole_is_the_answer(published, text, told):
    answer = caniexport.explain_error(published, text)
    assert told in answer.verdict
    assert len(answer.verdict) <= LONGEST


def test_no_verdict_is_longer_than_a_line(published):
    verdicts = [caniexport.explain_error(published, label["text"]).verdict for label in measure.read_labels()[::60]]
    assert [verdict for verdict in verdicts if len(verdict) > LONGEST or verdict[-1] != "."] == []
