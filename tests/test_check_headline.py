"""The first line of a check: what works, what stops it elsewhere, what helps there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from caniexport.answers.support import Support
from caniexport.check.found import Failure, Where, Works
from caniexport.check.headline import headline
from caniexport.check.judged import FixAt
from caniexport.check.matching import Match
from caniexport.corpus.verdicts import Workaround
from caniexport.model.status import Status

TRACE, SCRIPT, DYNAMO, DEFAULT = "torchscript-trace", "torchscript-script", "dynamo", "default"
FIX = FixAt("gathered", "rewrite", "", caution=False, code="", word=Workaround.NEEDED)
REFUTED = replace(FIX, refuted="torchscript-trace, opset 18: fail for this model")


def line(exporter, status, text="on every measured release", otherwise=()):
    return Support(exporter, status, text, otherwise, "2.15.0")


def failing(exporter, status=Status.FAIL, stage="export", **more):
    told = {"operator": "", "message": "", "warnings": "", "matches": (), "opsets": (18,), **more}
    where = (Where("2.15.0", exporter, told.pop("opsets")),)
    return Failure("model", "plain", stage, status, where=where, **told)


def said(lines, failures=()):
    return headline([Works("model", "plain", tuple(lines))], failures, ())


def test_what_works_is_one_clause_that_begins_with_the_default_call():
    lines = [line(TRACE, Status.PASS, "on every measured release, opset ≥ 16"), line(DEFAULT, Status.PASS)]
    assert said(lines) == "works with the default call and by trace (opset ≥ 16)"


@pytest.mark.parametrize(
    ("why", "helps"),
    [
        ("the same error", ", as pooled does; gathered helps there"),
        ("a similar error", ""),
        ("the same operator, x", ""),
    ],
)
def test_what_stops_it_is_named_with_a_fix_where_the_cause_is_the_same(why, helps):
    match = Match("pooled", "", why, "2.15.0", Status.FAIL, (FIX,))
    failures = [failing(TRACE, operator="aten::adaptive_avg_pool2d", matches=(match,))]
    lines = [line(TRACE, Status.FAIL), line(DEFAULT, Status.PASS)]
    assert said(lines, failures) == f"works with the default call; by trace aten::adaptive_avg_pool2d stops it{helps}"


def test_beside_a_fix_it_is_told_that_only_inputs_that_the_check_made_are_stopped():
    match = Match("squeezed", "", "the same cause", "2.15.0", Status.FAIL, (FIX,))
    failures = [failing(TRACE, stage="run", operator="Squeeze", matches=(match,), differs=("zeros (x)",))]
    assert said([line(TRACE, Status.FAIL)], failures) == (
        "by trace Squeeze stops it (for inputs that the check made: zeros (x)), as squeezed does; gathered helps there"
    )


def test_what_the_runtime_says_is_told_from_behind_the_place_in_its_source():
    message = (
        "input set 4: Fail: [ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running Loop node. "
        "Name:'/Loop' Status Message: Non-zero status code returned while running Mul node. Name:'/Mul_3' Status "
        "Message: element_wise_ops.h:583 void onnxruntime::BroadcastIterator::Append(ptrdiff_t, ptrdiff_t) axis == 1 "
        "|| axis == largest was false. Attempting to broadcast an axis by a dimension other than 1. 4 by 7"
    )
    assert said([line(TRACE, Status.FAIL)], [failing(TRACE, stage="run", operator="Mul", message=message)]) == (
        "by trace Mul stops it (axis == 1 || axis == largest was false. Attempting to broadcast an axis by a dimension "
        "other than 1. 4 by 7)"
    )


def test_a_line_that_breaks_off_after_a_few_words_is_told_with_the_next():
    message = (
        "RuntimeError: output 1 (2\n[ torch.DoubleTensor{} ]) of traced region did not have observable data dependence "
        "with trace inputs; this probably indicates your program cannot be understood by the tracer."
    )
    assert said([line(TRACE, Status.FAIL)], [failing(TRACE, message=message)]).startswith(
        "by trace an error at export (output 1 (2 [ torch.DoubleTensor{} ]) of traced region did not have observable "
    )


def test_exporters_that_one_cause_stops_are_named_together_with_the_innermost_words():
    message = (
        "ConversionError: Failed to convert the exported program to an ONNX model. This is step 3/3\n"
        "<class 'AssertionError'>: only 4D query, key, and value are supported\n"
        "caused by GraphConstructionError: Error when calling function 'aten_scaled_dot_product_attention_23'\n"
        "caused by AssertionError: only 4D query, key, and value are supported"
    )
    told = {"operator": "aten::scaled_dot_product_attention", "message": message}
    failures = [failing(DYNAMO, **told), failing(DEFAULT, **told)]
    lines = [line(TRACE, Status.PASS), line(DYNAMO, Status.FAIL), line(DEFAULT, Status.FAIL)]
    assert said(lines, failures) == (
        "works by trace; with the default call and by dynamo aten::scaled_dot_product_attention stops it "
        "(only 4D query, key, and value are supported): the way out is dynamo=False"
    )


@pytest.mark.parametrize(
    ("torch", "works", "text", "way"),
    [
        ("2.15.0", TRACE, "on every measured release, opset ≥ 9", "dynamo=False (opset ≥ 9)"),
        ("2.15.0", SCRIPT, "on every measured release", "torch.jit.script with dynamo=False"),
        ("2.15.0", DYNAMO, "on every measured release, opset ≥ 21", "another opset_version (opset ≥ 21)"),
        ("2.8.0", TRACE, "on every measured release, opset ≥ 20", "another opset_version (opset ≥ 20)"),
        ("2.8.0", SCRIPT, "on every measured release", "torch.jit.script"),
        ("2.8.0", DYNAMO, "on every measured release", "the dynamo exporter"),
    ],
)
def test_where_the_default_call_fails_and_no_fix_is_known_the_call_that_works_is_the_way_out(torch, works, text, way):
    lines = [Support(works, Status.PASS, text, (), torch), Support(DEFAULT, Status.MISMATCH, "", (), torch)]
    assert said(lines).endswith(f"; with the default call wrong values without an error: the way out is {way}")


def test_what_fails_beside_a_default_call_that_works_has_no_way_out():
    lines = [line(DYNAMO, Status.MISMATCH), line(DEFAULT, Status.PASS)]
    assert said(lines) == "works with the default call; by dynamo wrong values without an error"


def test_what_torch_says_of_its_own_arguments_is_told_behind_the_operator():
    message = "TorchExportError: step 1/3\ncaused by TypeError: zeros(): argument 'size' failed to unpack the object"
    failures = [failing(DYNAMO, operator="aten::zeros", message=message)]
    told = "by dynamo aten::zeros stops it (zeros(): argument 'size' failed to unpack the object)"
    assert said([line(DYNAMO, Status.FAIL)], failures) == told


def test_an_older_release_that_is_wrong_for_the_inputs_given_is_named_beside_the_newest_that_is_not():
    made = failing(DYNAMO, Status.MISMATCH, "compare", differs=("zeros",))
    given = failing(DYNAMO, Status.MISMATCH, "compare", differs=("as given, set 2",))
    older = replace(given, where=(Where("2.8.0", DYNAMO, (18,)),))
    told = "by dynamo wrong values without an error (for inputs that the check made: zeros"

    assert said([line(DYNAMO, Status.MISMATCH)], [made]) == f"{told})"
    assert said([line(DYNAMO, Status.MISMATCH)], [made, older]) == f"{told}; on torch 2.8.0 for those given too)"


def test_a_fix_that_the_models_own_rows_refute_anywhere_is_not_named():
    """At one opset nothing speaks against it, at another one it is refuted."""
    here, there = (Match("pooled", "", "the same error", "2.15.0", Status.FAIL, (fix,)) for fix in (FIX, REFUTED))
    failures = [
        failing(TRACE, operator="aten::x", matches=(here,)),
        failing(TRACE, operator="aten::y", matches=(there,), opsets=(7,)),
    ]
    assert (
        said([line(TRACE, Status.FAIL)], failures[:1])
        == "by trace aten::x stops it, as pooled does; gathered helps there"
    )
    assert said([line(TRACE, Status.FAIL)], failures) == "by trace aten::x stops it"


def test_a_fix_named_for_an_opset_that_does_more_is_told_with_what_it_does():
    more = replace(FIX, variant="opset_17", kind="raise-opset", note="opset 17 without complex values", does_more=True)
    match = Match("stft", "", "the same cause", "2.15.0", Status.FAIL, (more,))
    told = "by trace STFT stops it, as stft does; opset_17 (opset 17 without complex values) helps there"
    assert said([line(TRACE, Status.FAIL)], [failing(TRACE, operator="STFT", matches=(match,))]) == told


def test_of_several_failures_that_at_the_usual_opset_is_told():
    ends = failing(DYNAMO, message="ValueError: Target opset version 14 is not supported.", opsets=(14, 27))
    usual = failing(DYNAMO, stage="load", message="Fail: Duplicate definition of name (x).", opsets=(18,))
    lines = [line(TRACE, Status.PASS), line(DYNAMO, Status.FAIL)]
    assert (
        said(lines, [ends, usual]) == "works by trace; by dynamo an error at load (Duplicate definition of name (x).)"
    )


def test_a_cause_that_ends_with_a_colon_is_told_with_the_line_behind_it():
    message = (
        "TorchExportError: Failed to export the model.\ncaused by ValueError: Found the following conflicts:\n\n"
        "- Received Dim.DYNAMIC, but tracing inferred 4 for inputs[0].shape[0].\n- another"
    )
    told = said([line(DYNAMO, Status.FAIL)], [failing(DYNAMO, message=message)])
    assert told.endswith(
        "(Found the following conflicts: Received Dim.DYNAMIC, but tracing inferred 4 for inputs[0].shape[0].)"
    )


@pytest.mark.parametrize(
    ("operator", "message", "told"),
    [
        (
            "Erf",
            "NotImplemented: [ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation for Erf(13)",
            "Erf stops it (Could not find an implementation for Erf(13))",
        ),
        (
            "",
            "Fail: [ONNXRuntimeError] : 1 : FAIL : This is an invalid model. Error: Duplicate definition of name (x).",
            "an error at load (Duplicate definition of name (x).)",
        ),
    ],
)
def test_what_the_runtime_says_is_told_without_its_own_head(operator, message, told):
    failures = [failing(TRACE, stage="load", operator=operator, message=message)]
    assert said([line(TRACE, Status.FAIL)], failures) == f"by trace {told}"


def test_wrong_values_are_told_with_the_inputs_that_show_them():
    one = failing(TRACE, Status.MISMATCH, "compare", differs=("zeros", "negative integers"))
    given = failing(TRACE, Status.MISMATCH, "compare", differs=("as given", "zeros"))
    many = failing(TRACE, Status.MISMATCH, "compare", differs=("zeros", "b", "c", "d", "e"))
    lines = [line(TRACE, Status.MISMATCH)]
    wrong = "by trace wrong values without an error"
    assert said(lines, [one]) == f"{wrong} (for inputs that the check made: zeros; negative integers)"
    assert said(lines, [many]) == f"{wrong} (for inputs that the check made: zeros; b; c; and 2 more)"
    assert said(lines, [given]) == f"{wrong} (for the inputs given too)"
    assert said(lines, [one, replace(given, where=(Where("2.15.0", TRACE, (7,)),))]) == said(lines, [given])


def test_an_error_that_inputs_of_the_checks_own_alone_bring_is_told_so():
    told = {"stage": "run", "operator": "Gather", "message": "input set 7 (negative integers): Fail: out of bounds"}
    found = said([line(TRACE, Status.FAIL)], [failing(TRACE, **told, differs=("negative integers",))])
    assert found.endswith(" (for inputs that the check made: negative integers)")
    assert "the check made" not in said([line(TRACE, Status.FAIL)], [failing(TRACE, **told, differs=("as given",))])


def test_a_release_that_was_not_measured_is_told_beside_what_works():
    works = [Works("model", "plain", (line(TRACE, Status.PASS),))]
    lost = "torch 1.10.2: needs Python 3.8: none found"
    assert headline(works, (), (lost,)) == f"works by trace; {lost}"


def test_a_fix_that_was_measured_on_another_release_is_told_so():
    match = Match("pooled", "", "the same error", "2.9.1", Status.FAIL, (FIX,))
    failures = [failing(TRACE, operator="aten::x", matches=(match,))]
    assert "gathered helps on torch 2.9.1, the nearest that was measured" in said([line(TRACE, Status.FAIL)], failures)


def test_that_rounding_may_be_all_there_is_to_wrong_values_is_told_beside_them():
    works = [Works("model", "plain", (line(TRACE, Status.MISMATCH), line(DYNAMO, Status.PASS)))]
    near = (
        "input set 5 (zeros), output 0: 2 of 18688 values differ: expected -0.029990418, onnxruntime gave -0.029975414"
    )
    far = "input set 6, output 0: 44 of 48 values differ: expected 6.8349447, onnxruntime gave 0.83494455"
    wrong = [failing(TRACE, Status.MISMATCH, "compare", differs=("zeros",), message=near)]
    told = "rounding alone moves the outputs as much"
    assert told in headline(works, wrong, (), is_rough=True)
    assert told not in headline(works, wrong, ())
    worse = failing(DYNAMO, Status.MISMATCH, "compare", message=far)
    assert told not in headline(works, [*wrong, worse], (), is_rough=True)
    assert told not in headline(works, [failing(TRACE)], (), is_rough=True)


def test_a_model_that_does_not_run_itself_is_told_so():
    failures = [failing(DEFAULT, stage="eager", message="ModuleNotFoundError: No module named 'x'\nmore")]
    words = "the model itself does not run here: ModuleNotFoundError: No module named 'x'"
    assert said([line(DEFAULT, Status.FAIL)], failures) == words


def test_a_limit_of_the_check_is_not_told_as_the_models_failure():
    failures = [
        failing(name, Status.SKIP, "run", hint="a limit of this check", is_ours=True) for name in (DYNAMO, SCRIPT)
    ]
    assert said([line(DYNAMO, Status.SKIP)], failures) == "by dynamo not judged: a limit of this check"
    lines = [line(TRACE, Status.PASS), line(SCRIPT, Status.SKIP)]
    assert said(lines, failures) == "works by trace; by script not judged: a limit of this check"


def test_an_exporters_failure_is_told_and_not_its_cell_that_was_not_judged():
    failures = [
        failing(TRACE, Status.SKIP, "run", hint="a limit of this check", is_ours=True),
        failing(TRACE, operator="aten::x", opsets=(7,)),
    ]
    assert said([line(TRACE, Status.FAIL)], failures) == "by trace aten::x stops it"


def test_that_a_model_cannot_be_scripted_is_told_where_nothing_else_was_asked():
    failures = [failing(SCRIPT)]
    assert said([line(TRACE, Status.PASS), line(SCRIPT, Status.FAIL)], failures) == "works by trace"
    assert said([line(SCRIPT, Status.FAIL)], failures) == "by script an error at export"


def test_a_trace_that_may_be_wrong_is_not_the_way_out_where_another_call_works():
    works = [Works("model", "plain", (line(TRACE, Status.PASS), line(SCRIPT, Status.PASS), line(DEFAULT, Status.FAIL)))]
    told = headline(works, [failing(DEFAULT)], (), fixed="an `if` on a value")
    assert "the way out is torch.jit.script with dynamo=False" in told
    assert "the trace has an `if` on a value as the first inputs decide it" in told
    assert "the way out is dynamo=False" in headline(works, [failing(DEFAULT)], ())
