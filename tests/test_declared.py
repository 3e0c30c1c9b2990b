"""Torch's own operator tables: read from the environments' files, set beside what passes."""

from __future__ import annotations

import json
import sys

import pytest
from small_dataset import append, cells, write

from caniexport.answers.declared import Agreement, declared
from caniexport.answers.filters import Filters
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


def found(local, **filters):
    dataset = Dataset.open(None, local)
    return {(one.exporter, one.op): one for one in declared(dataset, Filters(**filters))}


def test_a_rule_that_passes_later_than_it_is_declared_is_told_with_both_ranges(local):
    one = found(local, torch=("2.8.0",))["torchscript-trace", "aten::grid_sampler"]

    assert (one.declared, one.passing, one.agreement) == ("9-23", "16-23", Agreement.LATER)


def test_overloads_of_an_operator_count_as_the_operator(local):
    one = found(local, torch=("2.8.0",))["dynamo", "aten::cross"]

    assert (one.declared, one.agreement) == ("18-27", Agreement.AGREES)


def test_what_passes_without_a_rule_of_its_own_is_told_apart_from_what_never_does(local):
    new = found(local, torch=("2.8.0",))
    old = found(local, torch=("1.12.1",))

    # exported by decomposition, or for this case baked into the file
    assert new["dynamo", "aten::grid_sampler"].agreement is Agreement.UNDECLARED
    assert old["torchscript-trace", "aten::cross"].agreement is Agreement.NEITHER


def test_a_case_that_torch_itself_refuses_has_asked_no_exporter(local):
    refused = {
        "status": "fail",
        "stage": "eager",
        "signature": "eager|TypeError|x",
        "measured_at": "2026-11-21T10:00:00Z",
    }
    rows = [row for row in cells("2.8.0") if (row["case"], row["variant"]) == ("cross", "plain")]
    append(local, *({**row, **refused} for row in rows))

    new = found(local, torch=("2.8.0",))

    assert new["torchscript-trace", "aten::cross"].agreement is Agreement.UNTRIED
    assert new["torchscript-trace", "aten::cross"].declared == "7-23"
    assert new["torchscript-trace", "aten::grid_sampler"].agreement is Agreement.LATER


def test_a_release_without_a_table_is_left_out_and_differences_come_first(local):
    dataset = Dataset.open(None, local)
    every = declared(dataset, Filters())

    assert {one.torch for one in every} == {"1.12.1", "2.8.0"}
    ranks = [list(Agreement).index(one.agreement) for one in every]
    assert ranks == sorted(ranks)


def test_a_file_that_cannot_be_read_takes_no_other_with_it(local):
    (local / "declared" / "torch-2.0.1.json").write_text('{"release": "2.0.1"')

    assert set(Dataset.open(None, local).declared()["release"]) == {"1.12.1", "2.8.0"}


def test_tables_are_read_again_only_where_the_packages_or_the_file_have_changed(tmp_path, monkeypatch):
    installed = {"torch": "2.8.0", "onnx": "1.17.0", "onnxscript": None}
    reads = []
    monkeypatch.setattr(tables, "version_of", installed.get)
    monkeypatch.setattr(tables, "rows", lambda release: reads.append(release.torch) or [["onnx", "Add", [7]]])
    monkeypatch.setattr(sys, "argv", ["declared", "--release", "2.8.0", "--out", str(tmp_path)])

    tables.main()
    tables.main()
    assert len(reads) == 1
    installed["onnx"] = "1.18.0"
    tables.main()
    assert len(reads) == 2
    (file,) = tmp_path.glob("*.json")
    file.write_text(file.read_text().replace("Add", "Mul"))
    tables.main()
    assert len(reads) == 3
    file.unlink()
    monkeypatch.setenv("CANIEXPORT_TABLES", "no")
    tables.main()
    assert len(reads) == 3
