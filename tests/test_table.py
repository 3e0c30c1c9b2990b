"""What passes where, over a small dataset written through the store (see small_dataset): what a person is told."""

from __future__ import annotations

import json
import re

import pytest
import small_dataset
from click.testing import CliRunner

from caniexport import api
from caniexport.answers.answer import AnswerOutcome, Share, as_json
from caniexport.answers.filters import Filters
from caniexport.answers.table import By, TableLines, answer_table
from caniexport.cli import main
from caniexport.pages import looks
from caniexport.pages.kept import Kept
from caniexport.pages.page import page
from caniexport.store import Dataset

TRACE = "torchscript-trace"
CALLS = {TRACE: "dynamo=False", "dynamo": "dynamo=True", "torchscript-script": "script"}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    return small_dataset.write(tmp_path_factory.mktemp("published"))


@pytest.fixture
def dataset(published, tmp_path):
    return Dataset.open(published, tmp_path / "local")


def places(found, name, exporter=TRACE):
    """What a line of the first table shows, by column."""
    made = found.tables[0]
    for row in made.rows:
        link = row[0]
        called = row[2] if "call" in made.columns[: made.heads] else ""
        if link.text == name and called in ("", "every call", CALLS.get(exporter, exporter)):
            cells = zip(made.columns[made.heads :], row[made.heads :], strict=True)
            return {at: looks.signed(cell) if not isinstance(cell, Share) else cell for at, cell in cells}
    raise AssertionError(f"no line for {name} {exporter}")


def names(found):
    return {row[0].text for row in found.tables[0].rows}


def test_by_torch_it_says_at_which_opsets_each_release_passes_the_newest_first(dataset):
    found = answer_table(dataset, Filters())
    assert found.verdict == "At torch 2.15.0 2 of 3 cases work with dynamo=False, 3 of 3 with dynamo=True."
    assert found.outcome is AnswerOutcome.LISTED
    assert list(places(found, "cross").items()) == [
        ("2.15.0", "✓ 7+"),
        ("2.8.0", "✓ 7+"),
        ("2.0.1", "✓ 7+"),
        ("1.12.1", "✗"),
        ("1.10.2", "✗"),
    ]
    assert list(places(found, "grid-sample").values()) == ["✓ 16+", "✓ 16+", "✓ 16+", "✓ 16+", "✗"]
    assert set(places(found, "item").values()) == {"≠"}, "wrong numbers are neither a pass nor a clean failure"
    dynamo = places(found, "cross", "dynamo")
    assert (dynamo["1.10.2"], dynamo["2.8.0"]) == ("·", "✓ 14+"), "what was not measured inherits nothing"


def test_a_case_alone_shows_its_workarounds_with_every_call(dataset):
    found = answer_table(dataset, Filters(cases=("grid-sample",)))
    assert names(found) == {"grid-sample", "grid-sample/opset_16"}
    assert places(found, "grid-sample/opset_16", "default")["2.0.1"] == "✓ 16"
    assert places(found, "grid-sample/opset_16")["1.10.2"] == "⊘"


def test_calls_that_end_alike_are_one_line(dataset):
    found = answer_table(dataset, Filters(themes=("geometry",), opsets=("16",), torch=("2.8",)))
    assert [row[2] for row in found.tables[0].rows if row[0].text == "cross"] == ["every call"]


def test_calls_that_work_for_as_many_but_other_cases_are_told_apart(published, tmp_path):
    row = small_dataset.cell("2.8.0", "cross", "plain", "dynamo", 18)
    local = small_dataset.write(tmp_path / "local", releases=())
    fails = [{**row, "opset": opset, "status": "fail", "stage": "export"} for opset in range(14, 27)]
    small_dataset.append(local, *fails, environments=[small_dataset.environment("2.8.0")])
    asked = Filters(cases=("cross/plain", "item/plain"), torch=("2.8",), exporters=("trace", "dynamo"))
    found = answer_table(Dataset.open(published, local), asked)
    assert found.verdict == "At torch 2.8.0 1 of 2 cases work with dynamo=False, 1 of 2 with dynamo=True."


def test_a_status_filter_keeps_whole_lines_so_that_passes_are_not_hidden(dataset):
    found = answer_table(dataset, Filters(statuses=("fail",)))
    assert names(found) == {"cross", "grid-sample"}
    assert places(found, "cross")["2.15.0"] == "✓ 7+"


def test_by_opset_it_is_about_the_newest_release_and_says_so(dataset):
    found = answer_table(dataset, Filters(cases=("grid-sample/plain",), exporters=("trace",)), By.OPSET)
    assert places(found, "grid-sample")["15"] == "✗"
    assert places(found, "grid-sample")["16"] == "✓"
    assert "torch 2.15.0, the newest measured" in found.notes


def test_by_opset_over_all_releases_it_says_since_which_one(dataset):
    found = answer_table(dataset, Filters(cases=("cross/plain",), exporters=("trace",), torch=("all",)), By.OPSET)
    assert places(found, "cross")["9"] == "✓ 2.0.1+"
    assert places(found, "cross")["15"] == "✓ 2.0.1+"


def test_by_exporter_the_columns_are_calls(dataset):
    found = answer_table(dataset, Filters(cases=("item/plain",), torch=("2.8",)), By.EXPORTER)
    assert places(found, "item") == {"dynamo=False": "≠", "dynamo=True": "✓ 14+", "default": "≠"}
    assert found.verdict == "At torch 2.8.0 the case does not work with dynamo=False, 1 of 1 with dynamo=True."


def test_by_runtime_over_several_releases_cells_are_counted(dataset):
    found = answer_table(dataset, Filters(cases=("cross/plain",), torch=("all",), exporters=("trace",)), By.RUNTIME)
    assert found.tables[0].columns[3:] == ("onnxruntime 1.31.1", "onnxruntime 1.23.2", "onnxruntime 1.19.2")
    assert places(found, "cross")["onnxruntime 1.23.2"] == Share(12, 22)
    dynamo = answer_table(dataset, Filters(cases=("cross/plain",), torch=("all",)), By.RUNTIME)
    assert places(dynamo, "cross", "dynamo")["onnxruntime 1.19.2"] == Share(0, 0), "not measured there"


def test_what_runs_but_not_as_asked_is_no_number_beside_a_pass(published, tmp_path):
    local = small_dataset.write(tmp_path / "local", releases=())
    rows = [small_dataset.cell("2.0.1", "cross", "plain", TRACE, opset) for opset in range(7, 19)]
    for count, shown in ((3, "✓ 10+ *"), (12, "~ 7+ *")):
        small_dataset.append(
            local,
            *({**row, "status": "degraded", "measured_at": f"2026-11-2{count % 7}T00:00:00Z"} for row in rows[:count]),
            environments=[small_dataset.environment("2.0.1")],
        )
        asked = Filters(cases=("cross/plain",), exporters=("trace",), torch=("2.0",))
        assert places(answer_table(Dataset.open(published, local), asked), "cross")["2.0.1"].replace("*", " *") == shown


def test_a_row_of_another_provider_says_nothing_of_the_cpu(published, tmp_path):
    row = small_dataset.cell("2.0.1", "cross", "plain", TRACE, 14)
    local = small_dataset.write(tmp_path / "local", releases=())
    worse = {**row, "status": "mismatch", "stage": "compare", "provider": "cuda"}
    small_dataset.append(local, worse, environments=[small_dataset.environment("2.0.1")])
    dataset = Dataset.open(published, local)

    asked = Filters(cases=("cross/plain",), exporters=("trace",), torch=("2.0",))
    assert places(answer_table(dataset, asked), "cross")["2.0.1"] == "✓ 7+"
    assert places(answer_table(dataset, asked, By.PROVIDER), "cross") == {"cpu": "✓ 7+", "cuda": "≠ *"}


def test_op_filters_take_torch_and_onnx_spellings(dataset):
    for op in ("grid_sampler", "aten::grid_sampler", "GridSample"):
        assert names(answer_table(dataset, Filters(ops=(op,)))) == {"grid-sample"}


def test_operators_count_their_cases_by_the_default_call(dataset):
    rows = {row[0].text: row[1] for row in answer_table(dataset, Filters(), lines=TableLines.OPERATORS).tables[0].rows}
    assert rows["GridSample"] == Share(1, 1)


def test_a_local_row_speaks_before_the_published_one_and_is_marked(published, tmp_path):
    row = small_dataset.cell("2.0.1", "cross", "plain", TRACE, 14)
    local = small_dataset.write(tmp_path / "local", releases=())
    worse = {**row, "status": "mismatch", "stage": "compare", "measured_at": "2026-11-01T00:00:00Z"}
    small_dataset.append(local, worse, environments=[small_dataset.environment("2.0.1")])

    found = answer_table(Dataset.open(published, local), Filters(cases=("cross/plain",), exporters=("trace",)))
    shown = places(found, "cross")
    assert shown["2.0.1"] == "✓ 7-13, 15-18 ≠*"
    assert {column for column, text in shown.items() if "*" in text} == {"2.0.1"}
    assert "* measured on this machine" in found.notes
    asked = Filters(cases=("cross/plain",), exporters=("trace",), torch=("2.0",), opsets=("14",))
    alone = answer_table(Dataset.open(published, local), asked)
    assert places(alone, "cross") == {"2.0.1": "≠"}
    assert "every cell was measured on this machine" in alone.notes


def test_rows_of_a_quarantined_run_are_left_out_and_named(tmp_path):
    folder = small_dataset.write(tmp_path / "local", ("2.8.0",), gate="quarantined: canary-fail passed")
    found = answer_table(Dataset.open(None, folder), Filters())
    assert found.outcome is AnswerOutcome.NOT_MEASURED
    assert any("canary-fail passed" in note for note in found.notes)


def test_a_release_that_could_not_be_entered_is_named_with_the_reason(published, tmp_path):
    row = {
        **{"run_id": "r", "measured_at": "2026-11-21T00:00:00Z", "torch": "2.3.1", "provider": "cpu", "measuring": 1},
        **{"stage": "resolve", "status": "not_run", "message_id": "m-none"},
    }
    local = tmp_path / "local"
    small_dataset.append(local, row, texts={"m-none": "no interpreter found for Python 3.11\nmore"})
    found = answer_table(Dataset.open(published, local), Filters())
    assert "torch 2.3.1 could not be measured: no interpreter found for Python 3.11" in found.notes
    assert "2.3.1" not in found.tables[0].columns


def test_environment_cases_have_a_table_of_their_own(published, tmp_path):
    common = {"run_id": "r", "measured_at": "2026-11-21T00:00:00Z", "case": "old-setuptools", "measuring": 1}
    rows = [
        {**common, "variant": "plain", "stage": "import", "status": "fail", "case_hash": "a", "corpus": "documented"},
        {**common, "variant": "pinned", "stage": "done", "status": "pass", "case_hash": "b", "corpus": "documented"},
    ]
    local = tmp_path / "local"
    small_dataset.append(local, *rows, environments=[{"env_id": None, "run_id": "r", "gate": "good"}])
    found = answer_table(Dataset.open(published, local), Filters())
    assert {row[1]: row[2].word.value for row in found.tables[1].rows} == {"plain": "fail", "pinned": "pass"}


@pytest.mark.parametrize("lines", [TableLines.CASES, TableLines.THEMES])
def test_an_empty_dataset_answers_that_nothing_was_measured(tmp_path, lines):
    found = answer_table(Dataset.open(tmp_path / "no", tmp_path / "none"), Filters(), lines=lines)
    assert found.outcome is AnswerOutcome.NOT_MEASURED


def test_the_command_python_and_the_page_have_one_table(published, tmp_path, monkeypatch):
    (tmp_path / "results").symlink_to(published)
    (tmp_path / "cases").mkdir()
    monkeypatch.setenv("CANIEXPORT_HOME", str(tmp_path))
    found = as_json(answer_table(Dataset.open(published, None), Filters(themes=("geometry",))))

    reply = CliRunner().invoke(main, ["table", "--theme", "geometry", "--json"])
    assert json.loads(reply.stdout) == found
    assert as_json(api.table(Dataset.open(published, None), theme="geometry")) == found
    body = str(page("matrix", {"theme": "geometry"}, Kept.open(published, None)).body)
    assert found["verdict"] in body
    assert re.findall(r"<td class=\"[^\"]*\"[^>]*><a[^>]*>([^<]*)</a>", body)[:3] == ["✓ 7+", "✓ 7+", "✓ 7+"]
