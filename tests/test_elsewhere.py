"""Points and policies on a runtime of one's choice: files that were run there, and those that were not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from small_dataset import append, bundle, cell, write

from caniexport.answers.answer import AnswerOutcome, records
from caniexport.answers.filters import Filters
from caniexport.answers.point import Points, parse_point
from caniexport.answers.table import By, TableLines, answer_table
from caniexport.api import upgrade
from caniexport.cli import main
from caniexport.model.errors import UnknownName
from caniexport.model.journal import Journal
from caniexport.model.status import Status
from caniexport.store import Dataset, compact
from caniexport.store.elsewhere import OnRuntime, Runtime

OLD, NEW = "1.20.1", "1.31.1"
POINT = "torch=2.8.0,exporter=trace,opset=18"
FAILED = {"status": "fail", "stage": "load", "signature": "load|NotImplemented|no kernel", "message_id": "m-old"}
FILES = [("cross", "plain"), ("cross", "stack_rewrite"), ("grid-sample", "plain"), ("item", "plain")]


def run(name, **more):
    return {
        **{
            "bundle": bundle(name),
            "corpus": "documented",
            "case": "cross",
            "variant": "plain",
            "runtime": "onnxruntime",
        },
        **{"runtime_version": OLD, "provider": "cpu", "device": "cpu", "env_id": "env-ort", "run_id": "r"},
        **{"measured_at": "2026-11-20T10:00:00Z", "stage": "done", "status": "pass", "signature": None},
        **{"message_id": None, "session": None, **more},
    }


def environment(run_id, gate):
    about = {"python": "3.10.1", "platform": "Linux x86_64", "packages": "{}", "measured_at": "2026-11-20T10:00:00Z"}
    return {"env_id": "env-ort", "run_id": run_id, "gate": gate, **about}


@pytest.fixture
def local(tmp_path):
    """At 2.8.0: cross fails on the old runtime, item was not run there, grid-sample is as it is everywhere."""
    folder = write(tmp_path / "results-local")
    rows = [cell("2.8.0", *name, "torchscript-trace", opset) for name in FILES for opset in (17, 18)]
    for row in rows:
        row.update(bundle=bundle(f"{row['case']}-{row['variant']}-{row['opset']}"), measured_at="2026-11-21T10:00:00Z")
    append(folder, *rows)
    with Journal(folder / "journal", "runs") as journal:
        for opset in (17, 18):
            journal.run(run(f"cross-plain-{opset}", **FAILED), {"m-old": "NotImplemented: no kernel"})
            journal.run(run(f"cross-stack_rewrite-{opset}", variant="stack_rewrite"), {})
            journal.run(run(f"grid-sample-plain-{opset}", case="grid-sample"), {})
        journal.environment(environment("r", "good"))
    compact(folder)
    return folder


def ask(local, before, after, **filters):
    return upgrade(Dataset.open(None, local), before, after, **filters)


def rows(found, title):
    return [row for table in found.tables if table.title.startswith(title) for row in records(table)]


def worse(found):
    """By case: the status there, and what gives it."""
    return {row["case"]["case"]: (row["becomes"]["word"], row["because of"]) for row in rows(found, "worse")}


def count(found, became):
    return records(found.tables[0])[0].get(became, 0)


def test_the_runtime_is_an_axis_like_the_others_and_is_named_as_what_did_it(local):
    found = ask(local, f"{POINT},ort=1.20", f"{POINT},ort=1.31")
    back = ask(local, f"{POINT},ort=1.31", f"{POINT},ort=1.20")

    assert count(found, "fixed") == 1
    assert [row["workaround"] for row in rows(found, "workarounds you can remove")] == ["stack_rewrite"]
    assert worse(back) == {"cross": ("fail", "runtime")}
    assert rows(back, "worse")[0]["workaround"] == "stack_rewrite"


def test_a_file_that_was_not_run_there_is_not_measured_there(local):
    found = ask(local, f"{POINT},ort=1.31", f"{POINT},ort=1.20")

    assert [row["case"]["case"] for row in rows(found, "not measured there")] == ["item"]
    assert count(found, "not measured") == 1


def test_an_error_at_one_opset_does_not_speak_for_files_that_were_not_run(local):
    failed = {"status": "fail", "stage": "export", "signature": "export|Unsupported|item", "message_id": "m-old"}
    append(local, cell("2.8.0", "item", "plain", "torchscript-trace", 11) | failed)
    dataset, on = Dataset.open(None, local), OnRuntime(Runtime("onnxruntime", OLD, "cpu"))
    shown = answer_table(dataset, Filters(exporters=("trace",)), on=on).tables[0]
    (place,) = [row[shown.columns.index("2.8.0")] for row in shown.rows if row[0].text == "item"]

    assert place.word is Status.NOT_RUN
    assert place.at["fail"] == "11"
    assert place.at["not_run"] == "7-10, 12-23"
    asked = Filters(exporters=("trace",), cases=("item/plain",))
    assert answer_table(dataset, asked, lines=TableLines.THEMES, on=on).outcome is AnswerOutcome.NOT_MEASURED


def test_what_never_reached_a_runtime_is_the_same_on_each(local):
    at_14 = POINT.replace("18", "14")
    found = ask(local, f"{POINT},ort=1.20", f"{at_14},ort=1.20", case="grid-sample")

    assert worse(found) == {"grid-sample": ("fail", "opset")}


def test_a_cell_has_one_word_on_a_runtime_whatever_asks(local):
    """A file of another opset stays degraded, and one that onnx's checker refused is what the runtime makes of it."""
    rows = [cell("2.8.0", name, "plain", "torchscript-trace", 18) for name in ("cross", "grid-sample")]
    rows[0].update(status="degraded", opset_effective=17, bundle=bundle("of-17"), measured_at="2026-11-22T10:00:00Z")
    rows[1].update(status="fail", stage="check", signature="check|x|y", bundle=bundle("strict"))
    rows[1].update(measured_at="2026-11-22T10:00:00Z")
    append(local, *rows)
    with Journal(local / "journal", "runs-more") as journal:
        journal.run(run("of-17"), {})
        journal.run(run("strict", case="grid-sample", stage="compare", status="mismatch"), {})
        journal.environment(environment("r", "good"))
    compact(local)
    dataset = Dataset.open(None, local)
    told = answer_table(dataset, Filters(torch=("2.8.0",), opsets=("18",), exporters=("trace",)), By.RUNTIME)
    made = told.tables[0]
    in_table = {row[0].text: row[made.columns.index(f"onnxruntime {OLD}")].word.value for row in made.rows}
    in_upgrade = worse(upgrade(dataset, f"{POINT},ort=1.31", f"{POINT},ort=1.20"))

    assert in_table["cross"] == "degraded"
    assert in_table["grid-sample"] == in_upgrade["grid-sample"][0] == "mismatch"
    on = OnRuntime(Runtime("onnxruntime", OLD, "cpu"))
    there = answer_table(
        dataset, Filters(("cross",), torch=("2.8.0",), opsets=("18",), exporters=("trace",)), on=on
    ).tables[0]
    assert there.rows[0][-1].word.value == "degraded"


def test_of_several_axes_the_one_that_did_it_is_named(local):
    """2.8.0 passes on the newest runtime only; the file of opset 17 was not run alone."""
    found = ask(local, f"{POINT},ort=1.31", f"{POINT.replace('18', '17')},ort=1.20", case="cross")
    assert worse(found) == {"cross": ("fail", "runtime")}


@pytest.mark.parametrize(
    "spelling",
    ["ort=1.20", "onnxruntime=1.20.1", "runtime=onnxruntime==1.20", "runtime=ort1.20", "runtime=1.20", "ORT==1.20.1"],
)
def test_a_runtime_is_understood_however_it_is_written(local, spelling):
    point, _ = Points(Dataset.open(None, local)).find(parse_point(f"2.8.0,{spelling}"))
    assert point.runtime == Runtime("onnxruntime", OLD, "cpu")


@pytest.mark.parametrize(
    ("point", "says"),
    [
        ("ort=1.21", r"onnxruntime 1.21 has not been measured \(nearest measured: 1.20.1"),
        ("openvino=2026.4", "unknown runtime 'openvino'"),
        ("ortt=1.20", "nearest: ort"),
        ("ort=", "nothing is given after ="),
        ("ort=1.20,runtime=1.31", "runtime is given twice"),
        ("ort=1.20,provider=cuda", "unknown provider of onnxruntime 'cuda'"),
        ("provider=cud", "unknown provider of onnxruntime 'cud'"),
    ],
)
def test_a_runtime_that_cannot_be_understood_is_refused_with_the_nearest_right_one(local, point, says):
    with pytest.raises(UnknownName, match=says):
        ask(local, f"torch=2.8.0,{point}", "2.8.0")


def test_a_gated_run_is_no_answer_and_the_newer_of_two_speaks_also_from_a_journal(local):
    with Journal(local / "journal", "more") as journal:
        journal.run(run("item-plain-18", case="item", run_id="bad"), {})
        journal.environment(environment("bad", "the canary failed"))
        journal.run(run("cross-plain-18", measured_at="2026-11-21T10:00:00Z", device="board"), {})
    found = ask(local, f"{POINT},ort=1.31", f"{POINT},ort=1.20")

    assert count(found, "not measured") > 0
    assert "cross" not in worse(found)


def test_a_damaged_file_of_runs_is_named_and_the_rest_is_answered(local):
    (path,) = (local / "runs").glob("*.parquet")
    data = bytearray(path.read_bytes())
    data[4:-600] = bytes(len(data) - 604)
    path.write_bytes(bytes(data))
    dataset = Dataset.open(None, local)

    found = upgrade(dataset, f"{POINT},ort=1.31", "torch=1.12.1,exporter=trace,opset=14")
    assert worse(found)["cross"][0] == "fail"
    assert any(path.name in problem for problem in dataset.problems)


def test_the_command_says_the_runtime_of_both_points(local, monkeypatch):
    Path(local.parent / "cases").mkdir()
    monkeypatch.setenv("CANIEXPORT_HOME", str(local.parent))
    invoke = CliRunner().invoke
    reply = invoke(main, ["upgrade", "--from", f"{POINT},ort=1.31", "--to", f"{POINT},ort=1.20"])

    assert reply.exit_code == 1, reply.output
    assert "run on onnxruntime 1.20.1" in reply.output
    assert re.search(r"✗ breaks +cross +NotImplemented: no kernel", reply.output, re.MULTILINE), reply.output
