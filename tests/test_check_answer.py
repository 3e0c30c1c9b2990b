"""What a check says of cells, as they were measured of real models: which call to use, and why not another."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from caniexport.answers.answer import LONGEST, as_json
from caniexport.check.answer import write_answer
from caniexport.check.cells import CheckedCell, read_cell
from caniexport.check.measure import MeasuredRelease, ModelNotes
from caniexport.check.similar import find_similar
from caniexport.check.verdict import Asked
from caniexport.model.status import Stage, Status
from caniexport.store import Dataset

DEFAULT, TRACE, SCRIPT, DYNAMO = "default", "torchscript-trace", "torchscript-script", "dynamo"
TORCH = "2.15.0"
SDPA = (
    "ConversionError: Failed to convert the exported program to an ONNX model. This is step 3/3 of exporting the model "
    "to ONNX.\ncaused by AssertionError: only 4D query, key, and value are supported"
)
ZEROS = (
    "TorchExportError: Failed to export the model with torch.export. This is step 1/3 of exporting the model to ONNX.\n"
    "caused by TypeError: zeros(): argument 'size' failed to unpack the object at pos 2"
)
GRID = (
    "UnsupportedOperatorError: Exporting the operator 'aten::grid_sampler' to ONNX opset version 15 is not supported. "
    "Support for this operator was added in version 16, try exporting with this version."
)
BRANCH = "TracerWarning: Converting a tensor to a Python boolean might cause the trace to be incorrect. We can't record"
NUMBER = BRANCH.replace("boolean", "number")
MADE = "input set 2, output 0: 160 of 160 values differ, most at [0, 0, 2]: expected 0.0, onnxruntime gave 0.7"
GIVEN = MADE.replace("set 2", "set 1")
NOTES = ModelNotes(2, ("as given", "as given, set 2", "zeros throughout (mask)"), axes={"x": {"0": "n"}})


def cell(exporter, opset, status="pass", message="", torch=TORCH, **more):
    stage = {"pass": Stage.DONE, "degraded": Stage.DONE, "mismatch": Stage.COMPARE}.get(status, Stage.EXPORT)
    written = {DEFAULT: 20}.get(exporter, opset) if stage is not Stage.EXPORT else None
    told = {"opset_effective": written, "stage": stage, "status": Status(status), "message": message, **more}
    return CheckedCell(torch, "m", "plain", exporter, opset, **told)


def cells(exporter, opsets, *outcome, **more):
    return [cell(exporter, opset, *outcome, **more) for opset in opsets]


@pytest.fixture
def said(tmp_path):
    """The answer to the cells of one release, or of several, where no case is known."""

    def answered(*found, asked=None, notes=NOTES, **more):
        torches = dict.fromkeys(item.torch for item in found)
        releases = [
            MeasuredRelease(torch, tuple(c for c in found if c.torch == torch), {"python": "3.12.1"}, notes, **more)
            for torch in torches
        ]
        return write_answer(releases, asked or Asked(), Dataset.open(None, tmp_path))

    return answered


def shown(found):
    """The titles of the failures on the first screen."""
    return [table.title for table in found.tables[1:-1] if table.shown]


def test_where_the_default_call_works_the_verdict_names_it_and_what_fails_elsewhere_is_not_on_the_first_screen(said):
    found = said(cell(DEFAULT, None), *cells(TRACE, (7, 13), "fail", GRID), *cells(TRACE, (16, 18, 23)))
    assert found.verdict == "Works with the default call (dynamo=True, opset 20) on 3 sets of inputs."
    assert (found.outcome.exit_code, shown(found)) == (0, [])
    rows = as_json(found)["tables"][0]["rows"]
    assert {row["call"]: row[TORCH] for row in rows} == {
        "default call (dynamo=True, opset 20)": "pass",
        "dynamo=False": [{"word": "pass", "text": "16+"}, {"word": "fail", "text": "7-13"}],
    }


def test_where_the_default_call_fails_the_call_that_works_is_the_advice(said):
    found = said(cell(DEFAULT, None, "fail", ZEROS), *cells(DYNAMO, (18,), "fail", ZEROS), *cells(TRACE, (7, 18, 23)))
    assert found.verdict == "The default call fails: use dynamo=False, opset_version=18."
    assert (found.outcome.exit_code, shown(found)) == (1, ["fails at export"])
    (where, why, *_) = as_json(found)["tables"][1]["rows"]
    assert where["value"] == "torch 2.15.0: the default call; dynamo=True, opset 18"
    assert why["value"] == ZEROS


def test_one_operator_that_stops_both_kinds_of_exporters_is_two_failures(said):
    found = said(*(cell(exporter, 18, "fail", GRID) for exporter in (TRACE, DYNAMO)), asked=Asked((TRACE, DYNAMO)))
    assert shown(found) == ["fails at export"] * 2


def test_wrong_values_of_any_call_are_a_finding_and_named_in_the_verdict(said):
    found = said(cell(DEFAULT, None), cell(TRACE, 18, "mismatch", GIVEN, sets=(1,), warnings=BRANCH))
    told = "Use the default call (dynamo=True, opset 20): dynamo=False gives wrong values."
    assert (found.verdict, found.outcome.exit_code, shown(found)) == (told, 1, ["wrong values"])
    facts = {row["fact"]: row["value"] for row in as_json(found)["tables"][1]["rows"]}
    assert (facts["why"], facts["inputs"], facts["warned"]) == (GIVEN, "as given, set 2", BRANCH)


def test_wrong_values_for_inputs_that_the_check_made_are_told_apart_and_come_after_those_given(said):
    made, given = (
        cell(TRACE, opset, "mismatch", text, sets=(at,)) for opset, text, at in ((7, MADE, 2), (18, GIVEN, 1))
    )
    found = said(cell(DEFAULT, None, "mismatch", MADE, sets=(2,)), made, given)
    assert found.verdict == "Every call gives wrong values, and no workaround is known."
    assert shown(found) == ["wrong values", *["wrong values for inputs that this check made"] * 2]
    alone = said(cell(DEFAULT, None, "mismatch", MADE, sets=(2,)), made)
    assert alone.verdict == ("Right for your inputs, wrong values for others: zeros throughout (mask).")
    assert alone.outcome.exit_code == 1


@pytest.mark.parametrize(
    ("warnings", "notes", "fixed"),
    [
        (BRANCH, {"reads_values": True}, "an `if` on a value"),
        (BRANCH, {}, "an `if` on a size"),
        (BRANCH, {"axes": {}}, ""),
        (NUMBER, {"reads_values": True}, "a tensor's value"),
        (NUMBER, {}, ""),
    ],
)
def test_a_trace_that_fixes_what_its_inputs_decide_is_no_all_clear(said, warnings, notes, fixed):
    """To the tracer a size is a tensor too; it decides nothing where none varies."""
    traced = cell(DEFAULT, None, torch="2.8.0", warnings=warnings)
    found = said(traced, notes=replace(NOTES, **notes))
    assert found.verdict == (
        f"Works on the inputs tried, but {fixed} is constant in the trace: try others."
        if fixed
        else "Works with the default call (dynamo=False, opset 20) on 3 sets of inputs."
    )
    other = said(cell(DEFAULT, None, "fail", ZEROS), cell(TRACE, 18, warnings=warnings), notes=replace(NOTES, **notes))
    assert other.verdict.endswith(f"opset_version=18{f', but {fixed} is constant' if fixed else ''}.")


def test_an_opset_that_dynamo_replaces_without_an_error_is_not_as_asked(said):
    moved = cell(DYNAMO, 12, "degraded", opset_effective=18)
    found = said(moved, asked=Asked((DYNAMO,), (12,)))
    assert found.verdict == "Not at opset 12: dynamo=True writes opset 18 without an error."
    assert found.outcome.exit_code == 1
    both = said(moved, cell(TRACE, 12), asked=Asked((), (12,)))
    assert (both.verdict, both.outcome.exit_code) == ("Works with dynamo=False, opset 12.", 0)


def test_an_exporter_that_was_named_and_does_not_work_is_a_finding(said):
    found = said(*cells(TRACE, (18, 20)), *cells(DYNAMO, (18, 20), "fail", ZEROS), asked=Asked((TRACE, DYNAMO), ()))
    assert found.verdict == "Works with dynamo=False, opset 18, 20, but not with every exporter and opset named."
    assert found.outcome.exit_code == 1


def test_where_nothing_works_and_time_was_short_it_is_not_said_that_nothing_does(said):
    found = said(cell(DEFAULT, None, "fail", ZEROS), left=(TRACE,))
    assert found.verdict == "No measured call works, and time ran out for dynamo=False (--seconds)."


def test_a_model_that_does_not_run_in_eager_is_told_so(said):
    raised = cell(DEFAULT, None, "fail", "ModuleNotFoundError: No module named 'x'\nmore", stage=Stage.EAGER)
    found = said(raised)
    assert found.verdict == "The model does not run in eager here: ModuleNotFoundError: No module named 'x'"
    assert "--with PACKAGE adds a missing package to the environment." in found.notes


def test_several_releases_are_told_apart_the_newest_first(said):
    found = said(cell(DEFAULT, None), cell(DEFAULT, None, "fail", GRID, torch="1.13.1"))
    assert found.verdict == "Works with the default call at torch 2.15.0, not at 1.13.1."
    assert found.tables[0].columns == ("call", "2.15.0", "1.13.1")
    assert found.outcome.exit_code == 1


def test_a_release_that_could_not_be_measured_is_no_all_clear(tmp_path):
    lost = MeasuredRelease("1.10.2", problem="needs Python 3.8: none found")
    works = MeasuredRelease(TORCH, (cell(DEFAULT, None),), {"python": "3.12.1"}, NOTES)
    found = write_answer([works, lost], Asked(), Dataset.open(None, tmp_path))
    assert (found.outcome.exit_code, found.notes[0]) == (1, "torch 1.10.2: needs Python 3.8: none found")
    assert write_answer([lost], Asked(), Dataset.open(None, tmp_path)).verdict.startswith(
        "Not measured: torch 1.10.2: needs"
    )


def test_the_environment_and_the_inputs_are_named(said):
    found = said(
        cell(DEFAULT, None, unused=("mask",)), notes=replace(NOTES, refused=("zeros (infinite)",), keeps_state=True)
    )
    assert found.notes[:2] == (
        "Measured with python 3.12.1.",
        "3 sets of inputs, 1 of them made by this check; the model does not accept 1 more.",
    )
    assert any(note.startswith("In eager, a second call on the same inputs gives other values") for note in found.notes)
    assert any(note.startswith("A working file ignores mask: ") for note in found.notes)


# what rows and the facts of their files come to


def row(exporter, opset, status, stage, facts=None):
    return {
        **{"torch": TORCH, "case": "m", "variant": "plain", "exporter": exporter, "opset": opset, "status": status},
        **{"stage": stage, "message_id": "m", "warning_id": None, "opset_effective": opset},
        "facts": json.dumps(facts) if facts else None,
    }


@pytest.mark.parametrize(
    ("text", "facts", "is_limit"),
    [
        ("ValueError: the file takes 2 of the module's 3 inputs, and it is not certain which", {}, True),
        ("Fail: Duplicate definition of name (x).", {"twice": ["x"]}, True),
        ("Fail: Duplicate definition of name (x).", {}, False),
        ("RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn", {}, True),
        ("Fail: ONNX Runtime only guarantees support for models stamped with official released onnx opset", {}, True),
        ("RuntimeError: anything else", {}, False),
    ],
)
def test_what_ends_for_how_the_check_asks_is_not_judged(said, text, facts, is_limit):
    found = read_cell(row(TRACE, 18, "fail", "run", facts), {"m": text})
    assert bool(found.limit) is is_limit
    if is_limit:
        alone = said(found)
        assert (alone.verdict, alone.outcome.value) == (f"Not judged: {found.limit}.", "not measured")
        assert said(cell(DEFAULT, None), found).outcome.exit_code == 0


def test_a_file_without_an_input_on_which_eager_depends_is_never_told_to_work(said):
    found = read_cell(row(TRACE, 18, "pass", "done", {"ignores": {"task": 2, "y": None}}), {})
    assert (found.has_wrong_values, found.ignores, found.unused, found.sets) == (True, ("task",), ("y",), (2,))
    facts = {line["fact"]: line["value"] for line in as_json(said(found))["tables"][1]["rows"]}
    assert facts["ignores"] == "task"
    assert read_cell(row(TRACE, 18, "pass", "done", {"ignores": {"y": None}}), {}).works


def test_an_error_at_inputs_that_were_made_does_not_hide_wrong_values_for_those_given():
    wrong = "input set 1, output 0: shape [3, 9, 5] expected, onnxruntime gave [3, 6, 5]"
    found = read_cell(row(TRACE, 18, "fail", "run", {"wrong": wrong}), {"m": "Fail: x"})
    assert (found.has_wrong_values, found.message, found.sets) == (True, wrong, (1,))
    assert not read_cell(row(TRACE, 18, "fail", "run"), {"m": "Fail: x"}).has_wrong_values


def test_values_that_are_drawn_at_random_are_not_judged_and_those_beside_them_are():
    lines = [f"input set 0, output {place}: 3 of 6 values differ, most at [0]: expected" for place in (0, 1)]
    drawn = row(TRACE, 18, "mismatch", "compare", {"drawn": [1]})
    assert read_cell(drawn, {"m": lines[1]}).limit
    both = read_cell(drawn, {"m": "\n".join(lines)})
    assert (both.has_wrong_values, both.message) == (True, lines[0])
    assert read_cell(drawn, {"m": "input set 0, output 1: shape [6] expected, onnxruntime gave [3]"}).has_wrong_values


# what the corpus knows of a failure


@pytest.fixture
def explained(results):
    """The facts of the first failure among cells, with the published corpus."""

    def answered(*found, notes=NOTES):
        release = MeasuredRelease(found[0].torch, found, {"python": "3.12.1"}, notes)
        told = as_json(write_answer([release], Asked(), results))
        facts = told["tables"][1]["rows"]
        return told["verdict"], [str(line["value"]) for line in facts if line["fact"] in ("similar cases", "to try")]

    return answered


def test_the_same_error_finds_its_case_and_a_workaround_that_works_there(explained):
    verdict, facts = explained(cell(TRACE, 15, "fail", GRID, torch="1.13.1"))
    assert verdict == ("Every call fails, as grid-sampler-unsupported-opset-11 does: try its workarounds.")
    assert "gather_rewrite" in facts[-1] or "opset_16" in facts[-1]


def test_a_workaround_that_is_another_call_is_none_where_the_model_does_not_work_by_it(results):
    fails = cell(DYNAMO, 18, "fail", SDPA)

    def named(*others):
        (known,) = [
            item for item in find_similar(results, fails, others, is_given=True) if item.case == "sdpa-three-dims"
        ]
        return {fix.variant for fix in known.workarounds}

    assert named() - named(cell(TRACE, 18, "fail", "RuntimeError: another")) == {"trace"}
    assert named(cell(TRACE, 18)) == named()


def test_wrong_values_are_explained_by_cases_with_the_same_warning_and_never_for_the_inputs_traced(explained):
    wrong = cell(TRACE, 18, "mismatch", MADE, sets=(2,), warnings=f"{BRANCH} the data flow of Python values")
    assert explained(wrong)[1]
    assert explained(replace(wrong, sets=(0,)))[1] == []


@pytest.mark.parametrize(
    ("exporter", "stage", "text"),
    [
        (TRACE, Stage.EAGER, GRID),
        (TRACE, Stage.LOAD, "Fail: Node (/Gemm) Op (Gemm) [ShapeInferenceError] Input 0 expected to have"),
        (SCRIPT, Stage.EXPORT, "SymbolicValueError: ONNX symbolic expected node type prim::ListConstruct, got '%5"),
    ],
    ids=["the model's own", "another stage", "beside the operator"],
)
def test_an_error_that_no_case_has_finds_none(explained, exporter, stage, text):
    assert explained(cell(exporter, 18, "fail", text, stage=stage))[1] == []


def test_a_case_that_shares_words_alone_is_shown_and_not_in_the_verdict(explained):
    text = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"
    verdict, facts = explained(cell(TRACE, 18, "fail", text))
    assert (verdict, bool(facts)) == (f"Every call fails: {text}", True)


def test_where_a_size_that_the_check_made_stops_a_file_the_place_is_not_taken_for_the_cause(explained):
    text = (
        "input set 2: RuntimeException: [ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Non-zero status code returned "
        "while running Gather node. Name:'/Gather_1' Status Message: indices element out of data bounds, idx=1"
    )
    assert explained(cell(TRACE, 18, "fail", text, stage=Stage.RUN, sets=(2,), torch="2.9.1"))[1] == []


@pytest.mark.parametrize("torch", ["2.15.0", "2.9.0", "99.0"])
def test_a_verdict_fits_on_a_line_whatever_was_measured(explained, torch):
    verdict, _ = explained(cell(DYNAMO, 18, "fail", SDPA, torch=torch), cell(TRACE, 18, "mismatch", MADE, torch=torch))
    assert len(verdict) <= LONGEST
