"""What a check says of rows, as they were kept of real models: what is one failure, a finding, or neither."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console
from small_dataset import append, cell, environment

from caniexport.answers.filters import Filters
from caniexport.check.answer import ModelNotes, answer
from caniexport.check.limits import fixed_by_tracing, limit, told_as_measured
from caniexport.cli.check import show
from caniexport.store import Dataset

DEFAULT, TRACE, SCRIPT, DYNAMO = "default", "torchscript-trace", "torchscript-script", "dynamo"
TORCH = "2.15.0"
SDPA = "aten::scaled_dot_product_attention"
NOT_FED = "ValueError: the file takes 2 input(s) (x, n), the module 1"
TEXTS = {
    "4d": (
        "ConversionError: Failed to convert the exported program to an ONNX model. This is step 3/3 of exporting the "
        "model to ONNX. Next steps:\n<class 'torch.onnx._internal.exporter._errors.GraphConstructionError'>: Error "
        "when calling function 'TracedOnnxFunction(<function aten_scaled_dot_product_attention at 0>)'\n"
        "caused by AssertionError: only 4D query, key, and value are supported"
    ),
    "sdpa-opset": (
        f"UnsupportedOperatorError: Exporting the operator '{SDPA}' to ONNX opset version 13 is not supported. Support "
        "for this operator was added in version 14, try exporting with this version"
    ),
    "complex": (
        "SymbolicValueError: STFT does not currently support complex types  [Caused by the value '54 defined in (%54 : "
        "Float(*, *, device=cpu) = onnx::Reshape[allowzero=0](%43, %53), scope: m.Spec:: # functional.py:679:0\n)' "
        "(type 'Tensor') in the TorchScript graph. The containing node has kind 'onnx::Reshape'.]"
    ),
    "stft-opset": (
        "UnsupportedOperatorError: Exporting the operator 'aten::stft' to ONNX opset version 7 is not supported. "
        "Support for this operator was added in version 17, try exporting with this version"
    ),
    "zeros": (
        "TorchExportError: Failed to export the model with torch.export. This is step 1/3 of exporting the model to "
        "ONNX. Next steps:\ncaused by TypeError: zeros(): argument 'size' failed to unpack the object at pos 2 with "
        'error "type must be tuple of ints,but got FakeTensor"'
    ),
    "not-fed": NOT_FED,
    "data-dependent": (
        "TorchExportError: Failed to export the model with torch.export. This is step 1/3 of exporting the model to "
        "ONNX. Next steps:\ncaused by GuardOnDataDependentSymNode: Could not extract specialized integer from "
        "data-dependent expression u0 (unhinted: u0). (Size-like symbols: none)"
    ),
    "converted": (
        "TracerWarning: Converting a tensor to a Python boolean might cause the trace to be incorrect. We can't record "
        "the data flow of Python values, so this value will be treated as a constant in the future."
    ),
    "fixed": (
        "input set 2: InvalidArgument: [ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Got invalid dimensions for input: x "
        "for the following indices\n index: 0 Got: 5 Expected: 2\n Please fix either the inputs/outputs or the model."
    ),
    "branch": "input set 1, output 0: 6 of 6 values differ, most at [0, 0]: expected -9.0, onnxruntime gave -3.0",
    "masked": "input set 2, output 0: 160 of 160 values differ, most at [0, 0, 2]: expected 0.0, onnxruntime gave 0.7",
}
SIGNATURES = {
    "4d": "export|AssertionError|only 4D query, key, and value are supported",
    "sdpa-opset": "export|UnsupportedOperatorError|Exporting the operator '…' to ONNX opset version N is",
    "complex": "export|SymbolicValueError|STFT does not currently support complex types [Caused by the value 'N",
    "stft-opset": "export|UnsupportedOperatorError|Exporting the operator '…' to ONNX opset version N is",
    "zeros": "export|TypeError|zeros(): argument '…' failed to unpack the object at pos N with error '…'",
}
PASSED = ("pass", "done", None)


def failed(text, stage="export", status="fail"):
    return status, stage, text


def row(exporter, opset, outcome):
    """A row of the model; of the default call, as torch 2.15 has it, dynamo writes the file."""
    status, stage, text = outcome
    told = {"status": status, "stage": stage, "message_id": text, "signature": SIGNATURES.get(text, text)}
    told |= {"warning_id": "converted"} if text == "branch" else {}
    written = None if stage == "export" else DYNAMO if exporter == DEFAULT else exporter
    return cell(TORCH, "m", "plain", exporter, opset) | told | {"exporter_effective": written}


@pytest.fixture
def checked(tmp_path, results):
    """What is answered to rows: by exporter and opset how each ended."""

    def found(ends, left=None, **notes):
        rows = [row(exporter, opset, end) for (exporter, opset), end in ends.items()]
        append(tmp_path / "rows", *rows, texts=TEXTS, environments=[environment(TORCH)])
        mine = Dataset.open(None, tmp_path / "rows")
        return answer("m", mine, results, Filters(("m",), torch=(TORCH,)), {}, ModelNotes(**notes), left or {})

    return found


def by_exporter(exporter, outcome, opsets):
    return {(exporter, opset): outcome for opset in opsets}


SDPA3 = {
    (DEFAULT, None): failed("4d"),
    **by_exporter(DYNAMO, failed("4d"), (14, 18, 26)),
    **by_exporter(TRACE, failed("sdpa-opset"), (7, 13)),
    **by_exporter(TRACE, PASSED, (14, 18, 23)),
    (SCRIPT, 18): PASSED,
}


def places(failure):
    return {(place.exporter, *place.opsets) for place in failure.where}


def test_the_default_call_fails_as_the_exporter_that_it_is(checked):
    found = checked(SDPA3)
    by_dynamo, by_trace = found.failures
    assert places(by_dynamo) == {(DYNAMO, 14, 18, 26), (DEFAULT, None)}
    assert places(by_trace) == {(TRACE, 7, 13)}
    assert by_dynamo.matches[0].case == "sdpa-three-dims"
    assert found.headline == (
        "works by trace (opset ≥ 14) and by script; with the default call and by dynamo "
        f"{SDPA} stops it, as sdpa-three-dims does; trace helps there"
    )


def test_two_sentences_of_one_operator_on_one_release_are_two_failures(checked):
    ends = by_exporter(DYNAMO, failed("4d"), (14, 18)) | by_exporter(DYNAMO, failed("sdpa-opset"), (26,))
    assert [places(failure) for failure in checked(ends).failures] == [{(DYNAMO, 14, 18)}, {(DYNAMO, 26)}]


def test_a_default_call_that_does_not_work_is_a_finding_where_it_was_asked_for(checked):
    assert checked(SDPA3).findings == (f"torch {TORCH}: the default call does not work",)


@pytest.mark.parametrize("outcome", [PASSED, ("degraded", "done", None)])
def test_a_default_call_that_works_is_none(checked, outcome):
    assert checked({**SDPA3, (DEFAULT, None): outcome}).findings == ()


def test_a_release_in_which_nothing_works_is_one_finding(checked):
    ends = {(DEFAULT, None): failed("zeros"), **by_exporter(DYNAMO, failed("zeros"), (18,))}
    assert checked(ends).findings == (f"torch {TORCH}: no cell works",)


def test_of_what_there_was_no_time_for_it_is_not_said_that_it_does_not_work(checked):
    found = checked({(DEFAULT, None): failed("zeros")}, left={TORCH: "dynamo and trace"})
    assert found.findings == (f"torch {TORCH}: no measured cell works, and there was no time for dynamo and trace",)


def test_a_file_of_another_opset_than_the_named_one_is_in_the_first_line(tmp_path, results):
    rows = [row(exporter, 12, end) for exporter, end in ((TRACE, PASSED), (DYNAMO, ("degraded", "done", None)))]
    written = [rows[0] | {"opset_effective": 12}, rows[1] | {"opset_effective": 18}]
    append(tmp_path / "rows", *written, texts=TEXTS, environments=[environment(TORCH)])
    asked = Filters(("m",), torch=(TORCH,), opsets=("12",))
    found = answer("m", Dataset.open(None, tmp_path / "rows"), results, asked, {}, ModelNotes(), {})
    assert found.headline == (
        "works by trace and by dynamo; asked for opset 12 dynamo writes opset 18 without an error"
    )


def test_another_exporter_is_the_way_out_of_a_default_call_without_a_fix(checked):
    ends = {(DEFAULT, None): failed("zeros"), **by_exporter(DYNAMO, failed("zeros"), (14, 18, 26))}
    found = checked(ends | by_exporter(TRACE, failed("complex"), (7, 8)) | by_exporter(TRACE, PASSED, (9, 18, 23)))
    assert found.headline.startswith(
        "works by trace (opset ≥ 9); with the default call and by dynamo aten::zeros stops it (zeros(): argument"
    )
    assert found.headline.endswith(": the way out is dynamo=False (opset ≥ 9)")
    assert found.findings == (f"torch {TORCH}: the default call does not work",)


def test_a_trace_that_works_and_was_warned_of_a_branch_is_no_all_clear_in_the_first_line(checked):
    ends = {(DEFAULT, None): failed("zeros"), **by_exporter(DYNAMO, failed("zeros"), (14, 18, 26))}
    told = "the trace has an `if` on a value as the first inputs decide it, so that others may come out wrong"

    warned = checked(ends | by_exporter(TRACE, ("pass", "done", "branch"), (7, 18, 23)), reads=True)
    assert warned.headline.startswith("works by trace; ")
    assert warned.headline.endswith(f"the way out is dynamo=False; {told}")
    assert told not in checked(ends | by_exporter(TRACE, PASSED, (7, 18, 23))).headline
    assert told not in checked(by_exporter(TRACE, failed("branch", "compare", "mismatch"), (18,)), **SETS).headline


def test_a_fix_that_raises_the_opset_and_does_more_is_not_refuted_by_the_opset_alone(checked):
    """``opset_17`` leaves complex values out, too: its failing form fails at opset 17 as it does at 7."""
    ends = by_exporter(TRACE, failed("stft-opset"), (7,)) | by_exporter(TRACE, failed("complex"), (18, 23))
    found = checked(
        {(DEFAULT, None): PASSED, **by_exporter(DYNAMO, PASSED, (18,)), **ends, (SCRIPT, 18): failed("complex")}
    )
    assert [failure.operator for failure in found.failures] == ["STFT", "aten::stft"]
    fixes = [fix for failure in found.failures for match in failure.matches for fix in match.fixes]
    raised = [fix for fix in fixes if fix.variant == "opset_17"]
    assert [(fix.does_more, fix.refuted, fix.helps) for fix in raised] == [(True, "", True)] * 2
    assert found.headline.endswith("opset_17 (export at opset 17 with return_complex=False) helps there")


def test_a_rewrite_for_another_exporter_is_not_refuted_by_what_the_model_does_there_as_it_is(checked):
    """``cond`` is torch.cond, by dynamo: the branch that it takes the place of fails there too."""
    ends = by_exporter(TRACE, failed("branch", "compare", "mismatch"), (7, 18, 23))
    found = checked(ends | by_exporter(DYNAMO, failed("data-dependent"), (14, 18, 26)), **SETS)
    (case,) = [item for failure in found.failures for item in failure.matches if item.case == "branch-on-value"][:1]
    fixes = {fix.variant: fix for fix in case.fixes}
    assert (fixes["cond"].does_more, fixes["cond"].refuted) == (True, "")


def test_the_cell_that_the_fixes_are_judged_at_is_named(checked):
    found = checked(by_exporter(TRACE, failed("complex"), (18, 23)))
    assert found.failures[0].shown is not None
    assert found.failures[0].shown.opsets == (18,)


SETS = {"given": 2, "sets": ("as given", "as given, set 2", "flags of which none is set (mask)")}
NOT_JUDGED = row(SCRIPT, 18, failed("not-fed", "run"))


def test_a_file_that_could_not_be_fed_is_kept_as_left_out():
    assert told_as_measured(NOT_JUDGED, TEXTS)[0]["status"] == "skip"
    failing = row(TRACE, 7, failed("stft-opset"))
    assert told_as_measured(failing, TEXTS) == (failing, TEXTS)
    assert limit(NOT_FED).endswith("so that it was not run: a limit of this check")


def test_a_name_that_the_check_gave_twice_is_its_own_limit_and_another_is_the_models():
    text = "Fail: [ONNXRuntimeError] : 1 : FAIL : This is an invalid model. Error: Duplicate definition of name (x)."
    failing = row(DYNAMO, 18, failed("twice", "load")) | {"facts": json.dumps({"twice": ["x"]})}
    assert told_as_measured(failing, {"twice": text})[0]["status"] == "skip"
    assert limit(text).startswith("this check named the file's inputs")
    assert told_as_measured(failing | {"facts": None}, {"twice": text})[0]["status"] == "fail"


def test_a_file_without_an_input_on_which_eager_depends_is_never_told_to_work():
    works = {
        **row(TRACE, 18, failed("branch", "done", "pass")),
        "facts": json.dumps({"ignores": {"task": 2, "y": None}}),
    }
    kept, texts = told_as_measured(works, {})
    assert (kept["status"], kept["stage"]) == ("mismatch", "compare")
    assert texts[kept["message_id"]].startswith("input set 2, task: the file does not have this input")
    unused = {**works, "facts": json.dumps({"ignores": {"y": None}})}
    assert told_as_measured(unused, {})[0]["status"] == "pass"


def test_an_error_at_inputs_that_were_made_does_not_hide_wrong_values_for_those_given():
    wrong = "input set 1, output 0: shape [3, 9, 5] expected, onnxruntime gave [3, 6, 5]"
    stopped = {**row(TRACE, 18, failed("branch", "run")), "facts": json.dumps({"wrong": wrong})}
    kept, texts = told_as_measured(stopped, {})
    assert (kept["status"], texts[kept["message_id"]]) == ("mismatch", wrong)
    assert told_as_measured({**stopped, "facts": None}, {})[0]["status"] == "fail"


def test_an_input_that_a_file_works_without_is_told_and_one_that_it_needs_is_named_as_ignored(checked, tmp_path):
    ignored = row(TRACE, 18, PASSED) | {"facts": json.dumps({"ignores": {"y": None}})}
    needed = row(DYNAMO, 18, failed("branch", "compare", "mismatch")) | {"facts": json.dumps({"ignores": {"task": 1}})}
    append(tmp_path / "rows", ignored, needed, texts=TEXTS, environments=[environment(TORCH)])
    found = checked({})
    assert "a file that works ignores y: no other value that was tried changes what eager gives" in found.notes
    assert "by dynamo wrong values without an error: the file ignores task" in found.headline


@pytest.mark.parametrize(
    ("kind", "reads", "varies", "fixed"),
    [
        ("boolean", True, False, "an `if` on a value"),
        ("boolean", False, True, "an `if` on a size"),
        ("boolean", False, False, ""),
        ("number", True, False, "a number that is the value of a tensor"),
        ("integer", True, False, "a number that is the value of a tensor"),
        ("integer", False, True, ""),
    ],
)
def test_a_size_is_no_value_that_the_trace_fixed_and_decides_nothing_where_none_varies(kind, reads, varies, fixed):
    warned = f"TracerWarning: Converting a tensor to a Python {kind} might cause"
    assert fixed_by_tracing(warned, reads, varies) == fixed


def test_values_that_are_drawn_at_random_are_not_judged_and_those_beside_them_are():
    facts = {"facts": json.dumps({"drawn": [1]})}
    lines = [f"input set 0, output {place}: 3 of 6 values differ, most at [0]: expected" for place in (0, 1)]
    wrong = row(TRACE, 18, failed("drawn", "compare", "mismatch")) | facts
    left_out, texts = told_as_measured(wrong, {"drawn": lines[1]})
    assert left_out["status"] == "skip"
    told = "each file runs, but what is drawn at random cannot be compared: a limit of this check"
    assert limit(texts[left_out["message_id"]]) == told
    kept, texts = told_as_measured(wrong, {"drawn": "\n".join(lines)})
    assert (kept["status"], texts[kept["message_id"]]) == ("mismatch", lines[0])
    shape = "input set 0, output 1: shape [6] expected, onnxruntime gave [3]"
    assert told_as_measured(wrong, {"drawn": shape})[0]["status"] == "mismatch"
    assert told_as_measured(wrong | {"facts": None}, {"drawn": lines[1]})[0]["status"] == "mismatch"


def test_an_axis_that_was_asked_to_vary_and_does_not_is_told_so(checked):
    found = checked(by_exporter(DYNAMO, failed("fixed", "run"), (18,)), axes={"x": {"0": "batch"}}, **SETS)
    told = "the file has x:0 of one size, although it was asked to vary"
    assert f"by dynamo an error at run ({told})" in found.headline
    assert found.failures[0].hint == told
    other = checked(by_exporter(DYNAMO, failed("fixed", "run"), (18,)), **SETS)
    assert "--dynamic x:0=batch names an axis that varies" in other.failures[0].hint


def test_what_was_not_judged_is_no_failure_refutes_nothing_and_no_finding_counts_it(checked):
    ends = {(DEFAULT, None): failed("zeros"), (SCRIPT, 18): failed("not-fed", "run", "skip")}
    found = checked(ends | by_exporter(TRACE, failed("branch", "compare", "mismatch"), (7, 18, 23)), **SETS)
    (works,) = found.works
    script = next(line for line in works.lines if line.exporter == SCRIPT)
    ours = found.failures[-1]
    assert (script.status.value, script.text, script.otherwise) == ("skip", "not judged", ())
    assert (ours.is_ours, ours.matches, ours.hint) == (True, (), limit(NOT_FED))
    assert f"by script not judged: {limit(NOT_FED)}" in found.headline
    assert found.findings == (
        f"torch {TORCH}: wrong values without an error with {TRACE}",
        f"torch {TORCH}: no cell works of those that could be judged",
    )
    assert not [
        fix for item in found.failures for match in item.matches for fix in match.fixes if SCRIPT in fix.refuted
    ]


def test_an_exporter_that_fails_where_it_could_be_judged_and_could_not_elsewhere_is_not_judged(checked):
    """As of a number in double precision: TorchScript refuses it at the lowest opsets, and the others were not run."""
    ends = {(TRACE, 7): failed("stft-opset"), (TRACE, 18): failed("not-fed", "run", "skip")}
    assert checked(ends).headline == f"by trace not judged: {limit(NOT_FED)}"
    passed = checked(ends | {(TRACE, 23): PASSED})
    assert passed.headline.startswith("works by trace (opset ≥ 23)")
    wrong = checked(ends | {(TRACE, 23): failed("masked", "compare", "mismatch")}, **SETS)
    assert wrong.headline.startswith("by trace wrong values without an error")


def test_a_model_that_goes_on_from_call_to_call_is_told_so_where_its_file_works(checked):
    told = "; called again on the same inputs the model gives other values in eager, the file those of the first call"
    assert told in checked({(DEFAULT, None): PASSED}, goes_on=True).headline
    assert told not in checked({(DEFAULT, None): PASSED}).headline
    assert told not in checked({(DEFAULT, None): failed("zeros")}, goes_on=True).headline


def printed(found):
    console = Console(width=200, record=True, file=io.StringIO())
    show(found, console)
    return console.export_text()


def test_what_was_not_judged_is_printed_apart_from_what_fails(checked):
    not_fed = {(SCRIPT, 18): failed("not-fed", "run", "skip")}
    alone, beside = printed(checked(not_fed)), printed(checked({**not_fed, (DEFAULT, None): failed("zeros")}))
    assert "  script   s not judged\n" in alone
    assert "Where it fails" not in alone
    assert "\n\nWhat could not be judged:\n\ns not judged at run: no operator named\n" in alone
    assert beside.index("Where it fails") < beside.index("aten::zeros\n") < beside.index("What could not be judged")


def test_where_nothing_else_was_measured_what_was_not_judged_is_no_finding(checked):
    found = checked({(SCRIPT, 18): failed("not-fed", "run", "skip")})
    assert (found.headline, found.findings) == (f"by script not judged: {limit(NOT_FED)}", ())


def test_wrong_values_of_inputs_that_nobody_gave_are_told_so(checked):
    wrong = failed("masked", "compare", "mismatch")
    found = checked({(DEFAULT, None): wrong, (DYNAMO, 18): wrong, **by_exporter(TRACE, PASSED, (14, 18, 23))}, **SETS)
    assert found.headline == (
        "works by trace; with the default call and by dynamo wrong values without an error (for inputs that the check "
        "made: flags of which none is set (mask)): the way out is dynamo=False"
    )
    assert found.findings == (
        f"torch {TORCH}: wrong values without an error with dynamo, default (for inputs that the check made)",
    )


def test_wrong_values_of_the_inputs_given_are_another_failure(checked):
    given, made = failed("branch", "compare", "mismatch"), failed("masked", "compare", "mismatch")
    found = checked({(TRACE, 7): given, (TRACE, 18): made, (TRACE, 23): PASSED}, **SETS)
    assert [(failure.is_as_given, places(failure)) for failure in found.failures] == [
        (True, {(TRACE, 7)}),
        (False, {(TRACE, 18)}),
    ]
    assert found.findings == (f"torch {TORCH}: wrong values without an error with {TRACE}",)
