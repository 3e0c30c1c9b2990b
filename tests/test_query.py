"""Answers read a dataset through DuckDB: which rows speak, whatever is local, new or damaged."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path

import pytest
from small_dataset import write
from store_rows import cell, write_cells, write_journal

from caniexport.answers.inventory import Inventory
from caniexport.store import Dataset, compact

ROOT = Path(__file__).resolve().parents[1]
WANTED = ("torch", "case", "opset", "status", "origin")
TOMORROW = (datetime.now(UTC) + timedelta(days=1)).isoformat()


def speaking(dataset, **where):
    return [row[2:] for row in dataset.select(WANTED, where)]


def test_a_local_row_of_the_future_does_not_hide_what_is_measured_now(tmp_path):
    """A clock that had jumped ahead must not win over every later measurement."""
    published, local = tmp_path / "results", tmp_path / "local"
    write_cells(published, [cell(opset=9, status="fail"), cell(opset=14, status="fail")])
    write_journal(local, [cell(opset=14, measured_at=TOMORROW), cell(opset=15, measured_at=TOMORROW)])
    dataset = Dataset.open(published, local)

    assert speaking(dataset) == [(9, "fail", "published"), (14, "fail", "published"), (15, "pass", "local")]

    write_journal(local, [cell(opset=14, status="crash")], name="later")
    compact(local)
    assert (14, "crash", "local") in speaking(Dataset.open(published, local))


def test_of_rows_of_one_cell_on_several_versions_of_a_runtime_the_newest_speaks_unless_all_are_asked_for(tmp_path):
    later = "2026-05-01T00:00:00Z"
    write_cells(tmp_path, [cell(), cell(runtime_version="1.31.1", status="fail", measured_at=later)])
    dataset = Dataset.open(tmp_path, None)

    assert speaking(dataset) == [(14, "fail", "published")]
    assert len(dataset.select(WANTED, runtimes=True)) == 2


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_order_in_which_repeats_were_written_changes_nothing(tmp_path, order):
    repeats = [
        cell(status="crash", measured_at="2026-01-01T00:00:00Z"),
        cell(status="pass", measured_at="2026-01-03T00:00:00Z"),
        cell(status="fail", measured_at="2026-01-02T00:00:00Z"),
    ]
    journalled, written = tmp_path / "journalled", tmp_path / "written"
    write_journal(journalled, [repeats[at] for at in order])
    write_cells(written, [repeats[at] for at in order])

    assert speaking(Dataset.open(None, journalled)) == [(14, "pass", "local")]
    assert speaking(Dataset.open(written, None)) == [(14, "pass", "published")]


def test_everything_counted_is_counted_once_however_many_rows_compete(tmp_path):
    published, local = write(tmp_path / "results"), tmp_path / "local"
    write(local, ("2.8.0",))
    dataset = Dataset.open(published, local)
    by = ("torch", "exporter", "case", "variant")

    exactly = dataset.grouped(by, {"n": "count(*)"})
    once = Counter(dataset.select(by, runtimes=True))

    assert {row[:4]: row[4] for row in exactly} == once
    known = Inventory.of(dataset)
    assert known.count() == once.total()
    assert known.local == sum(count for (torch, *_), count in once.items() if torch == "2.8.0")


@pytest.mark.parametrize("kept", [0.3, 0.9])
def test_a_file_that_breaks_after_it_was_opened_is_named_and_the_others_answer(tmp_path, kept):
    write_cells(tmp_path, [cell(), cell(torch="2.8.0")])
    dataset = Dataset.open(tmp_path, None)
    path = tmp_path / "cells" / "torch-1.10.2-cpu.parquet"
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * kept)])

    assert [row[0] for row in dataset.select(("torch",))] == ["2.8.0"]
    assert any(str(path) in problem for problem in dataset.problems)


def test_a_name_with_a_quote_is_a_name(tmp_path):
    write_cells(tmp_path / "it's", [cell(case="o'case")])
    dataset = Dataset.open(tmp_path / "it's", None)

    assert dataset.select(("case",), {"case": ["o'case"]}) == [("o'case",)]
    assert dataset.select(("case",), {"case": ["other"]}) == []
    assert dataset.select(("case",), {"case": []}) == []
