"""Damage: what cannot be read is named, and everything else is still answered."""

from __future__ import annotations

import json

import pytest
from store_rows import cell, write_cells, write_journal

from caniexport.model.errors import SchemaMismatch
from caniexport.store import Dataset, compact
from caniexport.store.files import find_put_aside


def test_a_line_in_flight_is_ignored_and_any_other_bad_line_is_reported_with_its_number(tmp_path):
    path = write_journal(tmp_path, [cell(opset=opset) for opset in range(9, 15)])
    lines = path.read_bytes().split(b"\n")
    lines[1] = lines[1][:40]
    lines[2] = b"\0" * 80
    lines[3] = json.dumps({"kind": "cell", "row": {**cell(), "colour": "red"}}).encode()
    path.write_bytes(b"\n".join(lines) + b'{"kind": "cell", "ro')

    dataset = Dataset.open(None, tmp_path)

    assert sorted(dataset.cells()["opset"]) == [9, 13, 14]
    assert [number for number in (1, 2, 3, 4, 5, 6, 7) if f"jsonl: line {number} " in " ".join(dataset.problems)] == [
        2,
        3,
        4,
    ]
    assert all(str(path) in problem for problem in dataset.problems)


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.9, 0.999])
def test_a_truncated_parquet_file_is_named_and_the_other_releases_are_read(tmp_path, kept):
    write_cells(tmp_path, [cell(), cell(torch="2.8.0")])
    path = tmp_path / "cells" / "torch-1.10.2-cpu.parquet"
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * kept)])

    dataset = Dataset.open(None, tmp_path)

    assert dataset.cells()["torch"].tolist() == ["2.8.0"]
    assert len(dataset.problems) == 1
    assert str(path) in dataset.problems[0]


@pytest.mark.parametrize("table", ["environments", "messages", "cases", "claims"])
def test_a_damaged_small_table_is_named_and_the_rest_is_read(tmp_path, table):
    write_cells(tmp_path, [cell(message_id="m")])
    path = tmp_path / f"{table}.parquet"
    path.write_bytes(b"PAR1 and then nothing")

    dataset = Dataset.open(None, tmp_path)
    assert len(dataset.cells()) == 1
    for other in ("cases", "claims", "messages"):
        dataset.records(other)

    assert [str(path) in problem for problem in dataset.problems] == [True]


def test_a_file_of_another_version_of_the_contract_is_refused_with_what_to_do(tmp_path):
    write_cells(tmp_path, [cell()])
    path = tmp_path / "cells" / "torch-1.10.2-cpu.parquet"
    _rewrite_version(path, b"0")

    dataset = Dataset.open(None, tmp_path)

    assert dataset.cells().empty
    assert "caniexport measure" in dataset.problems[0]
    assert str(path) in dataset.problems[0]


def test_compaction_refuses_to_write_over_a_file_of_another_version_and_keeps_the_journal(tmp_path):
    write_cells(tmp_path, [cell()])
    path = tmp_path / "cells" / "torch-1.10.2-cpu.parquet"
    _rewrite_version(path, b"999")
    before = path.read_bytes()
    journal = write_journal(tmp_path, [cell(opset=9)])

    with pytest.raises(SchemaMismatch, match="newer caniexport"):
        compact(tmp_path)

    assert journal.exists()
    assert path.read_bytes() == before


def _rewrite_version(path, version):
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({b"caniexport_schema": version}), path)


def test_only_the_folders_of_a_dataset_are_searched_for_what_was_put_aside(tmp_path):
    # downloads of a rolling measurement lie beside the rows, and go while an answer is read
    for place in ("journal", "downloads/archive"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "wheel.damaged").write_bytes(b"")

    assert [str(tmp_path / "journal" / "wheel.damaged") in line for line in find_put_aside(tmp_path)] == [True]
