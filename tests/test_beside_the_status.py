"""What a status leaves out: onnx's checker refuses a file that runs; repetitions of a cell differ."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from small_dataset import append, cell, write

from caniexport.answers.answer import records
from caniexport.answers.filters import Filters
from caniexport.answers.scope import resolve_name
from caniexport.answers.table import By, answer_table
from caniexport.answers.workaround import read_standings
from caniexport.api import case, upgrade
from caniexport.cli import main
from caniexport.corpus.verdicts import Workaround
from caniexport.model.status import Status
from caniexport.store import Dataset
from caniexport.store.views import Views

TRACE = "torchscript-trace"
HERE = Filters(cases=("cross",), torch=("2.8.0",), exporters=("trace",))
SAYS = "[ShapeInferenceError] Inferred shape and existing shape differ in rank: (1) vs (2)"
UNSTEADY = "not the same every time: pass, mismatch were seen"
LATER = {"measured_at": "2026-11-21T10:00:00Z"}


def refused(variant="plain", opsets=range(7, 24), checker="strict"):
    """Files of cross that pass and that the checker refuses."""
    rows = [cell("2.8.0", "cross", variant, TRACE, opset) for opset in opsets]
    return [{**row, **LATER, "checker": checker, "checker_id": "m-checker"} for row in rows]


def unsteady(case="cross", variant="plain", opsets=range(7, 24), seen=("pass", "mismatch")):
    """Cells whose rows say pass, and whose repetitions did not."""
    rows = [cell("2.8.0", case, variant, TRACE, opset) for opset in opsets]
    return [{**row, **LATER, "status": "pass", "stage": "done", "unstable": list(seen)} for row in rows]


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A dataset with further rows, and the command line on it."""
    (tmp_path / "cases").mkdir()
    monkeypatch.setenv("CANIEXPORT_HOME", str(tmp_path))
    folder = write(tmp_path / "results-local")

    def add(*rows):
        append(folder, *rows, texts={"m-checker": SAYS})
        return Dataset.open(None, folder)

    return add


def said(*words):
    reply = CliRunner().invoke(main, list(words))
    assert reply.exception is None or isinstance(reply.exception, SystemExit), reply.output
    return " ".join(reply.output.split())


def listed(answer, title):
    """The cases of a table of an upgrade."""
    rows = [row for table in answer.tables if table.title.startswith(title) for row in records(table)]
    return [row["case"]["case"] for row in rows]


def place(dataset, asked=HERE, by=By.TORCH, column="2.8.0"):
    found = answer_table(dataset, asked, by).tables[0]
    (line,) = [row for row in found.rows if "/" not in row[0].text]
    return line[found.columns.index(column)]


# --- onnx's checker refuses a file that runs


def test_a_table_never_gives_a_plain_all_clear_where_the_checker_refuses_a_file_that_passes(made):
    dataset = made(*refused(opsets=(17, 18)))
    found = place(dataset)

    assert (found.text, found.word) == ("7+°", Status.PASS)
    assert "°" in place(dataset, by=By.OPSET, column="18").text
    assert "°" not in place(dataset, by=By.OPSET, column="16").text
    told = said("table", "--case", "cross", "--torch", "2.8.0", "--exporter", "trace")
    assert "+°" in told
    assert "° works, but onnx's checker rejects the file" in told
    assert "°" not in said("table", "--case", "cross", "--torch", "2.15.0", "--exporter", "trace")


@pytest.mark.parametrize(("checker", "name"), [("strict", "strict check"), ("plain", "check")])
def test_a_cell_says_what_the_checker_and_what_the_runtime_make_of_the_file(made, checker, name):
    found = case(made(*refused(opsets=(18,), checker=checker)), "cross", torch="2.8.0", exporter="trace", opset=18)

    assert found.verdict.startswith("Works, and onnx's checker refuses the file (torch 2.8.0")
    told = said("case", "cross", "--torch", "2.8.0", "--exporter", "trace", "--opset", "18", "--all")
    assert f"onnx's {name} refuses this file; onnxruntime 1.31.1 on cpu runs it" in told
    assert SAYS in told


def test_a_case_says_how_many_files_the_checker_refuses(made):
    (row,) = refused(opsets=(18,))
    later = {**row, "torch": "2.15.0", "env_id": "env-2.15.0", "run_id": "run-2.15.0"}
    assert "onnx's checker refuses 1 file that work at torch 2.15.0." in case(made(later), "cross").notes


def test_a_file_that_the_checker_and_the_runtime_refuse_is_a_failure_of_both(made):
    row = cell("2.8.0", "cross", "plain", TRACE, 18)
    row.update(LATER, status="fail", stage="load", signature="load|Fail|x", checker="strict", checker_id="m-checker")
    dataset = made(row)

    assert case(dataset, "cross", torch="2.8.0", exporter="trace", opset=18).verdict.startswith("Fails at load")
    assert "°" not in place(dataset).text


def test_the_word_of_a_fix_says_that_the_checker_refuses_its_file(made):
    made(*refused("stack_rewrite"))
    assert "refuses the file" in said(
        "workaround", "cross/stack_rewrite", "--torch", "2.8.0", "--exporter", "trace", "--all"
    )


def test_an_upgrade_lists_what_works_there_while_the_checker_refuses_it(made):
    dataset = made(*refused())
    found = upgrade(dataset, "torch=1.12.1,exporter=trace,opset=14", "torch=2.8.0,exporter=trace")

    assert listed(found, "works there, and onnx's checker refuses the file") == ["cross"]
    assert "cross" not in listed(found, "worse")


# --- repetitions of a cell differ


def test_a_cell_that_is_not_the_same_every_time_passes_in_no_answer(made):
    dataset = made(*unsteady())
    (standing,) = read_standings(
        dataset, "2.8.0", resolve_name(Views.of(dataset), "cross/stack_rewrite"), exporters=(TRACE,)
    )
    found = place(dataset)

    query = """SELECT DISTINCT status FROM cells WHERE ("case", variant, torch) = ('cross', 'plain', '2.8.0')"""
    assert ("unstable",) in Views.of(dataset).fetch(query)
    assert found.word is Status.UNSTABLE
    asked = answer_table(dataset, Filters(statuses=("unstable",)))
    assert {row[0].text for row in asked.tables[0].rows} == {"cross"}
    assert standing.verdict is Workaround.NEEDED


def test_a_fix_that_is_not_the_same_every_time_is_not_obsolete_and_never_a_help(made):
    dataset = made(*unsteady(variant="stack_rewrite"))
    (standing,) = read_standings(
        dataset, "2.8.0", resolve_name(Views.of(dataset), "cross/stack_rewrite"), exporters=(TRACE,)
    )

    assert standing.verdict is Workaround.HARMFUL
    told = said("workaround", "cross/stack_rewrite", "--torch", "2.8.0", "--exporter", "trace", "--all")
    assert told.endswith("✓ ± cross")


def test_an_upgrade_to_a_cell_that_differs_when_repeated_breaks_and_is_listed(made):
    dataset = made(*unsteady())
    before, after = "torch=2.0.1,exporter=trace,opset=14", "torch=2.8.0,exporter=trace,opset=18"
    found, back = (upgrade(dataset, *points, case="cross") for points in ((before, after), (after, before)))

    assert records(found.tables[1])[0]["becomes"] == {"word": "unstable", "text": "breaks"}
    assert records(back.tables[0])[0]["fixed"] == 1
    assert listed(found, "unstable") == listed(back, "unstable") == ["cross"]


def test_a_cell_says_which_words_were_seen(made):
    found = case(made(*unsteady(opsets=(18,))), "cross", torch="2.8.0", exporter="trace", opset=18)
    told = {row["fact"]: row["value"] for row in records(found.tables[0])}

    assert (told["outcome"], told["repetitions"]) == ("unstable", UNSTEADY)
    assert found.verdict.startswith("Not the same every time")
