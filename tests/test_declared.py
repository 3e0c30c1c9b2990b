"""Torch's own operator tables: read from the environments' files, set beside what passes."""

from __future__ import annotations

import json
import sys

import pytest
from small_dataset import append, cells, write

from caniexport.answers.answer import records
from caniexport.answers.declared import Agreement, answer_declared, read_registered
from caniexport.store import Dataset
from caniexport.worker import declared as tables

TABLES = {
    "1.12.1": [["torchscript", "aten::grid_sampler", [16]], ["onnx", "GridSample", [16]]],
    "2.8.0": [
        ["torchscript", "aten::cross", list(range(7, 24))],
        ["torchscript", "aten::grid_sampler", list(range(9, 24))],
        ["dynamo", "aten::cross.default", list(range(18, 28))],
    ],
}


@pytest.fixture
def local(tmp_path):
    folder = write(tmp_path / "results-local")
    (folder / "declared").mkdir()
    for release, rows in TABLES.items():
        told = {"release": release, "torch": release, "onnx": "1.17.0", "rows": rows}
        (folder / "declared" / f"torch-{release}.json").write_text(json.dumps(told))
    return folder


def found(local, torch):
    """By call and operator: the row of the answer."""
    answer = answer_declared(Dataset.open(None, local), torch)
    return {(row["call"], row["operator"]["op"]): row for table in answer.tables for row in records(table)}


def test_an_operator_that_passes_at_fewer_opsets_than_registered_is_told_with_both(local):
    row = found(local, "2.8.0")["dynamo=False", "aten::grid_sampler"]

    assert (row["registered at opset"], row["cases pass at"], row["so"]) == ("9-23", "16-23", Agreement.FEWER.value)


def test_overloads_of_an_operator_count_as_the_operator(local):
    row = found(local, "2.8.0")["dynamo=True", "aten::cross"]

    assert (row["registered at opset"], row["so"]) == ("18-27", Agreement.AGREES.value)
    assert read_registered(Dataset.open(None, local), "2.8.0")["dynamo", "cross"] == "18-27"


def test_what_passes_without_being_registered_is_told_apart_from_what_never_does(local):
    new, old = found(local, "2.8.0"), found(local, "1.12.1")

    # exported by decomposition, or for this case baked into the file
    assert new["dynamo=True", "aten::grid_sampler"]["so"] == Agreement.UNREGISTERED.value
    assert old["torch.onnx.export", "aten::cross"]["so"] == Agreement.NEITHER.value


def test_a_case_that_torch_itself_refuses_has_asked_no_exporter(local):
    refused = {
        "status": "fail",
        "stage": "eager",
        "signature": "eager|TypeError|x",
        "measured_at": "2026-11-21T10:00:00Z",
    }
    rows = [row for row in cells("2.8.0") if (row["case"], row["variant"]) == ("cross", "plain")]
    append(local, *({**row, **refused} for row in rows))

    new = found(local, "2.8.0")

    assert ("dynamo=False", "aten::cross") not in new
    assert new["dynamo=False", "aten::grid_sampler"]["so"] == Agreement.FEWER.value


def test_differences_come_first_and_an_operator_is_asked_for_by_any_name(local):
    dataset = Dataset.open(None, local)
    titles = [table.title for table in answer_declared(dataset, "2.8.0").tables]
    one = answer_declared(dataset, "2.8.0", ops=("GridSample",))

    assert titles == [word.value for word in Agreement]
    assert {row["operator"]["op"] for table in one.tables for row in records(table)} == {"aten::grid_sampler"}
    assert one.verdict == "At torch 2.8.0 0 registered operators do not pass, 1 pass at fewer opsets."


def test_a_file_that_cannot_be_read_takes_no_other_with_it(local):
    (local / "declared" / "torch-2.0.1.json").write_text('{"release": "2.0.1"')

    assert {row["release"] for row in Dataset.open(None, local).records("declared")} == {"1.12.1", "2.8.0"}


def test_tables_are_read_again_only_where_the_packages_have_changed(tmp_path, monkeypatch):
    installed = {"torch": "2.8.0", "onnx": "1.17.0", "onnxscript": None}
    reads = []
    monkeypatch.setattr(tables, "find_version", installed.get)
    monkeypatch.setattr(tables, "read_tables", lambda release: reads.append(release.torch) or [["onnx", "Add", [7]]])
    monkeypatch.setattr(sys, "argv", ["declared", "--release", "2.8.0", "--out", str(tmp_path)])

    tables.main()
    tables.main()
    assert len(reads) == 1
    installed["onnx"] = "1.18.0"
    tables.main()
    assert len(reads) == 2
    (file,) = tmp_path.glob("*.json")
    file.unlink()
    monkeypatch.setenv("CANIEXPORT_TABLES", "no")
    tables.main()
    assert len(reads) == 2
