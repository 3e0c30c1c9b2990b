"""From one point to another: the verdict, what each call breaks, and the workarounds that move; how far one can go."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from small_dataset import write

import caniexport
from caniexport.answers.answer import AnswerOutcome, as_json, records
from caniexport.answers.point import parse_point
from caniexport.cli import main
from caniexport.model.errors import UnknownName
from caniexport.store import Dataset

ALL_OF_ONE_CALL = "torch=2.5.1,opset=17"


@pytest.fixture
def local(tmp_path):
    return write(tmp_path / "results-local")


def ask(local, before, after="", **about):
    return caniexport.upgrade(Dataset.open(None, local), before, after, **about)


def rows(answer, title):
    """The rows of the table whose title begins so; none where there is no such table."""
    taken = [table for table in answer.tables if (table.title.startswith(title) if title else not table.title)]
    return [row for table in taken for row in records(table)]


def names(answer, title):
    return {row["case"]["case"] for row in rows(answer, title)}


def workarounds(answer, title):
    return {f"{row['case']['case']}/{row['workaround']}" for row in rows(answer, title)}


def test_what_torch_fixed_is_counted_and_its_workaround_is_to_be_removed(local):
    found = ask(local, "torch=1.12.1,exporter=trace,opset=14", "torch=2.0.1,exporter=trace,opset=14")

    (call,) = rows(found, "")
    assert (call["fixed"], call["breaks"]) == (1, 0)
    assert workarounds(found, "workarounds you can remove") == {"cross/stack_rewrite"}
    assert "item/tensor_scale" in workarounds(found, "workarounds to keep")


def test_the_other_way_round_it_breaks_and_the_workaround_comes_with_the_error_and_the_cause(local):
    found = ask(local, "torch=2.0.1,exporter=trace,opset=14", "torch=1.12.1,exporter=trace,opset=14")

    (broken,) = rows(found, "worse")
    assert (broken["becomes"]["word"], broken["workaround"], broken["because of"]) == ("fail", "stack_rewrite", "torch")
    assert "Exporting the operator cross" in broken["error"]
    assert workarounds(found, "new workarounds needed") == {"cross/stack_rewrite"}


def test_what_gets_worse_for_want_of_an_exporter_says_so(results):
    found = caniexport.upgrade(results, "torch=2.8,exporter=trace,opset=18", "torch=2.8,exporter=dynamo,opset=18")
    assert {row["because of"] for row in rows(found, "worse")} <= {"exporter", ""}
    assert found.verdict.startswith("Stay at 2.8.0 with dynamo=True, opset_version=18: ")


@pytest.mark.parametrize("after", ["2.8.0", "2.8.7", "torch=2.8.0,numpy=2.0"])
def test_two_points_that_the_same_cells_answer_are_no_all_clear(local, after):
    found = ask(local, "2.8.0", after)

    assert (found.outcome, found.tables) == (AnswerOutcome.NOT_MEASURED, ())
    assert "the same measured cells answer for both" in found.verdict


def test_few_measured_cases_are_no_advice(local):
    found = ask(local, "2.0.1", "torch=2.8.0,opset=99")
    assert (found.verdict, found.outcome) == (
        "Not enough measured: 0 cases at 2.8.0 with dynamo=False, opset_version=99, nothing breaks.",
        AnswerOutcome.NOT_MEASURED,
    )
    assert any("takes opset 7" in note for note in found.notes)


def test_an_operator_narrows_the_answer_and_an_unknown_one_is_answered_with_the_nearest(local):
    found = ask(local, "1.12.1", "2.8.0", op="grid_sampler")
    (call, *_) = rows(found, "")
    assert sum(value for value in call.values() if isinstance(value, int)) == 1
    with pytest.raises(UnknownName, match="grid_sampler"):
        ask(local, "1.12.1", "2.8.0", op="grid_samplr")
    assert any("No case is about GELU" in note for note in ask(local, "1.12.1", "2.0.1", op="GELU").notes)


def test_an_unmeasured_patch_release_is_answered_with_the_measured_one_and_that_is_said(local):
    assert "torch 1.12.0 was not measured; 1.12.1 is answered" in ask(local, "1.12.0", "2.8.0").notes


@pytest.mark.parametrize(
    ("point", "says"),
    [
        ("torch=2.7", "2.7 has not been measured"),
        ("torhc=2.8.0", "torch"),
        ("torch=2.8.0,opset=x", "opset 'x'"),
        ("torch=2.8.0,torch=2.0.1", "given twice"),
    ],
)
def test_a_point_that_cannot_be_understood_is_refused_with_the_nearest_right_one(local, point, says):
    with pytest.raises(UnknownName, match=says):
        ask(local, point, "2.8.0")


@pytest.mark.parametrize(
    ("point", "axes"),
    [
        ("torch==2.8.0+cu126", {"torch": "2.8.0+cu126"}),
        ("pytorch 2.8,opset==17", {"torch": "2.8", "opset": "17"}),
        ("torch v2.8,onnxruntime-gpu==1.20.1", {"torch": "v2.8", "runtime": "onnxruntime==1.20.1"}),
        ("torch=>=2.6", {"torch": ">=2.6"}),
    ],
)
def test_a_point_is_read_as_requirement_files_and_people_write_it(point, axes):
    assert parse_point(point) == axes


def test_where_nothing_works_at_either_end_nobody_is_told_to_move(results):
    found = caniexport.upgrade(results, "2.12,opset=28", "2.15,opset=28")
    assert found.outcome is AnswerOutcome.FAILS
    assert found.verdict.startswith("At 2.15.0 with dynamo=True, opset_version=28 nothing works: ")


def test_a_workaround_that_stops_working_where_no_other_does_is_no_all_clear(results):
    found = caniexport.upgrade(results, "2.5", "torch=2.9")
    by_call = {row["call"]: row for row in rows(found, "")}
    assert by_call["default (dynamo=True, opset 20)"]["help lost"] > 0
    assert by_call["dynamo=False, opset_version=17"]["help lost"] == 0
    assert next(iter(by_call)) == "dynamo=False, opset_version=17"


def test_the_default_call_is_judged_by_its_own_cells_which_pass_dynamic_axes(results):
    found = caniexport.upgrade(results, "2.8", "torch=2.9", op="index_put")
    named = caniexport.upgrade(results, "2.8", "torch=2.9,exporter=dynamo,opset=20", op="index_put")
    (default,) = [row for row in rows(found, "") if row.get("call", "").startswith("default")]
    assert default["breaks"] > rows(named, "")[0]["breaks"]


def test_how_far_one_can_go_is_answered_newest_first(results):
    found = caniexport.upgrade(results, "1.13.1", op=["grid_sample", "lstm"])

    ladder = [row for row in rows(found, "") if "torch" in row]
    assert [row["torch"] for row in ladder][:2] == ["2.15.0", "2.14.1"]
    assert found.verdict.startswith("Move to 2.15.0 with dynamo=False, opset_version=14: nothing you use breaks")
    assert [row["torch"] for row in ladder if "the default exporter becomes dynamo" in row["default"]] == ["2.9.1"]
    assert caniexport.upgrade(results, "2.15").verdict == "Stay at torch 2.15.0: no newer release was measured."


def test_the_packages_of_a_lock_file_are_those_of_what_was_measured_nearest(tmp_path, results, monkeypatch):
    lock = tmp_path / "requirements.txt"
    lock.write_text("torch==2.9.1\nonnxscript==0.5.6\n")
    reply = CliRunner().invoke(main, ["upgrade", "--lock", str(lock), "--to", "2.15", "--json"])
    assert "read: requirements.txt (2 packages): torch 2.9.1, onnxscript 0.5.6" in reply.stderr
    assert json.loads(reply.stdout)["tables"]


def test_the_command_ends_with_1_where_something_breaks_and_with_0_where_not(local, tmp_path, monkeypatch):
    (tmp_path / "cases").mkdir()
    monkeypatch.setenv("CANIEXPORT_HOME", str(tmp_path))

    def code(*arguments):
        return CliRunner().invoke(main, ["upgrade", *arguments]).exit_code

    assert code("--from", "torch=2.0.1,opset=14", "--to", "torch=1.12.1,opset=14") == 1
    assert code("--to", "2.8.0") == 2
    assert code("--from", "2.0.1", "--to", "2.8.0", "--op", "nothing-like-it") == 2


def test_all_of_an_answer_lists_what_its_screen_counts(results):
    whole = CliRunner().invoke(main, ["upgrade", "--from", "1.13.1", "--to", "2.15", "--all"]).output
    found = as_json(caniexport.upgrade(results, "1.13.1", "2.15"))
    (removed,) = [table["rows"] for table in found["tables"] if table["title"] == "workarounds you can remove"]
    assert f"remove {len(removed)}," in found["notes"][-1]
    assert all(row["workaround"] in whole for row in removed)
