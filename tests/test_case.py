"""What is said of a case: where it works and since when, its outcomes, one cell with its evidence, where it changed."""

from __future__ import annotations

import json
import random
import re

import pytest
import small_dataset
from click.testing import CliRunner

import caniexport
from caniexport import versions
from caniexport.answers.answer import AnswerOutcome, Mark, records
from caniexport.cli import main
from caniexport.model.errors import UnknownName
from caniexport.model.status import WORKS, Status
from caniexport.store import Dataset
from caniexport.store.views import Views

TRACE = "torchscript-trace"


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return Dataset.open(small_dataset.write(tmp_path_factory.mktemp("data") / "results"), None)


def ask(*words):
    return CliRunner().invoke(main, words)


def facts(answer):
    """The facts of a cell by name."""
    return {row["fact"]: row["value"] for one in answer.tables if "fact" in one.columns for row in records(one)}


def table(answer, title):
    return next(records(one) for one in answer.tables if one.title.startswith(title))


def test_a_case_says_where_it_works_since_when_and_by_which_call(dataset):
    found = caniexport.case(dataset, "cross")
    trace, dynamo, _ = records(found.tables[0])
    assert found.verdict == "Works at torch 2.15.0, since 2.0.1 (dynamo=False, opset 7+) and 2.8.0 (dynamo=True, 14+)."
    assert found.outcome is AnswerOutcome.WORKS
    assert list(trace) == ["call", "2.15-2.8", "2.0", "1.12-1.10"]
    assert (trace["1.12-1.10"], dynamo["2.0"]) == ("fail", "not_run")
    assert trace["2.15-2.8"] == {"word": "pass", "text": "7+"}


def test_a_case_that_works_by_one_call_says_to_use_it(dataset):
    found = caniexport.case(dataset, "item")
    assert found.verdict == ("Use dynamo=True: works since torch 2.8.0, wrong values with dynamo=False (torch 2.15.0).")
    assert found.outcome is AnswerOutcome.FAILS


def test_a_case_that_works_by_no_call_says_which_workaround_does(tmp_path):
    written = small_dataset.write(tmp_path / "results", keep=lambda row: row["exporter"] != "dynamo")
    assert caniexport.case(Dataset.open(written, None), "item").verdict == (
        "Wrong values at torch 2.15.0: use tensor_scale."
    )


def test_the_default_call_is_named_where_it_ends_otherwise_than_the_same_exporter_by_name(tmp_path):
    written = small_dataset.write(tmp_path / "results")
    worse = small_dataset.cell("2.15.0", "cross", "plain", "default", None) | {"status": "fail", "stage": "run"}
    small_dataset.append(tmp_path / "local", {**worse, "measured_at": "2026-11-21T00:00:00Z"})
    found = caniexport.case(Dataset.open(written, tmp_path / "local"), "cross")
    assert found.verdict.endswith("fails with the default call (torch 2.15.0).")


def test_a_variant_is_answered_with_what_to_do_with_it(dataset):
    found = caniexport.case(dataset, "cross/stack_rewrite")
    assert found.verdict.startswith("Not needed at torch 2.15.0")
    assert [row["call"] for row in records(found.tables[0])][-1] == "stack_rewrite default"


def test_every_outcome_has_each_cell_once_with_its_message(dataset):
    where = ("variant", "exporter", "torch", "opset", "status", "stage")
    calls = {"dynamo=False": TRACE, "dynamo=True": "dynamo", "default": "default"}
    told = [
        (row["variant"], calls[row["call"]], torch, opset, row["outcome"], row["stage"])
        for row in table(caniexport.case(dataset, "cross"), "every outcome")
        for torch in row["torch"]
        for opset in row["opset"]
    ]
    assert sorted(told, key=str) == sorted(dataset.select(where, {"case": ("cross",)}), key=str)
    assert small_dataset.CROSS in {row["error"] for row in table(caniexport.case(dataset, "cross"), "every outcome")}


def test_a_cell_has_its_message_environment_claim_and_the_lines_that_show_and_measure_it(dataset):
    found = caniexport.case(dataset, "cross", torch="1.10.2", opset=14)
    told = facts(found)
    assert found.verdict == "Fails at export (torch 1.10.2, torch.onnx.export, opset_version=14)."
    assert (told["outcome"], told["stage"], told["error"]) == ("fail", "export", small_dataset.CROSS)
    assert told["environment"] == "Python 3.10.1, torch 1.10.2, onnxruntime 1.19.2, numpy 1.26.4"
    assert told["claim"] == "seed:000: export at opset 14 is refused (reproduced)"
    assert told["workarounds that work"] == [{"case": "cross", "variant": "stack_rewrite"}]
    assert told["reproduce"] == "caniexport reproduce cross/plain --torch 1.10.2 --exporter trace --opset 14"
    assert told["measure again"].endswith("--case cross/plain --torch 1.10.2 --exporter trace --opset 14 --fresh")


def test_wrong_values_say_by_how_much(dataset):
    assert facts(caniexport.case(dataset, "item", torch="2.8"))["largest difference"].startswith("0.5 absolute")


def test_a_cell_that_was_not_measured_is_no_pass(dataset):
    found = caniexport.case(dataset, "cross", torch="1.10.2", exporter="dynamo")
    assert found.outcome is AnswerOutcome.NOT_MEASURED
    assert found.verdict.startswith("Not measured (torch 1.10.2")
    assert not found.tables


def test_newer_releases_without_a_row_are_named(tmp_path):
    written = small_dataset.write(
        tmp_path / "results", keep=lambda row: (row["case"], row["torch"]) != ("cross", "2.15.0")
    )
    found = caniexport.case(Dataset.open(written, None), "cross")
    assert "Not measured at torch 2.15.0." in found.notes
    assert "torch 2.8.0" in found.verdict


def test_a_case_of_packages_has_what_came_of_each_environment(tmp_path, dataset):
    common = {"run_id": "r", "measured_at": "2026-11-21T00:00:00Z", "case": "old-setuptools", "measuring": 1}
    rows = [
        {**common, "variant": "plain", "stage": "import", "status": "fail", "case_hash": "a", "corpus": "documented"},
        {**common, "variant": "pinned", "stage": "done", "status": "pass", "case_hash": "b", "corpus": "documented"},
    ]
    small_dataset.append(tmp_path / "local", *rows, environments=[{"env_id": None, "run_id": "r", "gate": "good"}])
    found = caniexport.case(Dataset.open(None, tmp_path / "local"), "old-setuptools")
    assert found.verdict == "Fails at import (as installed): use pinned."
    assert facts(found)["measure again"] == "caniexport measure --case old-setuptools --fresh"


def test_changes_are_half_open_intervals_newest_first(dataset):
    found = caniexport.changes(dataset, "cross", exporter="trace", opset=14)
    new, old = records(found.tables[0])
    assert (new["torch"], new["outcome"], new["changed in"]) == (
        ["2.0.1", "2.8.0", "2.15.0"],
        "pass",
        "(1.12.1, 2.0.1]",
    )
    assert (old["torch"], old["outcome"], old["changed in"]) == (["1.10.2", "1.12.1"], "fail", "")
    assert old["error"] == small_dataset.CROSS


def test_along_a_package_one_release_is_wanted(dataset):
    with pytest.raises(UnknownName, match="name it with --torch"):
        caniexport.changes(dataset, "cross", "onnxscript")


@pytest.mark.published
def test_why_of_a_case_is_the_answer_of_case():
    place = ("cross-no-symbolic", "--torch", "1.10.2", "--opset", "14", "--json")
    assert json.loads(ask("why", *place).stdout) == json.loads(ask("case", *place).stdout)


@pytest.mark.published
def test_an_operator_sample_is_a_case(results):
    found = caniexport.case(results, "promotion-sub/int64-float-left")
    assert (
        found.verdict
        == "sub int64-float-left: all samples pass since 1.9.1 (dynamo=False, opset 23+), none with dynamo=True."
    )
    assert found.more == "caniexport measure --corpus operators --release 2.15.0 --case promotion-sub/int64-float-left"
    with pytest.raises(UnknownName, match="op-cross"):
        caniexport.case(results, "op-cros")


@pytest.mark.published
def test_cells_and_since_when_are_those_of_the_rows(results):
    """Held against the rows in a plain loop."""
    draw, columns = random.Random(47), ("variant", "torch", "exporter", "opset", "status", "stage", "message_id")
    names = [case for (case,) in Views.of(results).fetch("""SELECT DISTINCT "case" FROM original""")]
    for name in draw.sample(sorted(names), 2):
        rows = [row[:7] for row in results.select(columns, {"case": (name,), "provider": ("cpu",)})]
        for variant, torch, exporter, opset, status, stage, message in draw.sample(rows, 3):
            asked = {} if exporter == "default" else {"exporter": exporter, "opset": opset}
            told = facts(caniexport.case(results, f"{name}/{variant}", torch=torch, **asked))
            text = (results.message(message) or "") if message else ""
            assert (told["outcome"], told.get("stage", "done"), told.get("error", "")) == (status, stage, text)
        said = caniexport.case(results, name)
        since = re.match(r"Works at torch \S+, since (\S+) \(dynamo=False", said.verdict)
        assert not since or since[1] == first_release(rows, TRACE)
        strip = {cell.word for row in said.tables[0].rows for cell in row if isinstance(cell, Mark)}
        assert strip - {Status.NOT_RUN} <= {Status(row[4]) for row in rows}


def first_release(rows, exporter):
    """The first release from which on the original works at some opset."""
    ends = {}
    for variant, torch, by, _, status, *_ in rows:
        if (variant, by) == ("plain", exporter):
            ends.setdefault(torch, set()).add(Status(status))
    since = None
    for torch in versions.ordered(ends)[::-1]:
        if not ends[torch] & set(WORKS):
            break
        since = torch
    return since
