"""The written summary: answers from it are those of the dataset, and never those of other files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from dashboard_data import build
from store_rows import cell, write_cells, write_journal

from caniexport.answers.inventory import Inventory
from caniexport.store import sql, summary
from caniexport.store.dataset import Dataset


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv(summary.VARIABLE, str(tmp_path / "kept"))
    return build(tmp_path / "home")


@pytest.fixture
def counted(monkeypatch):
    """The queries from here on that count or fold rows of the dataset's own files."""
    queries = []
    fetch = sql.fetch

    def noted(text, values=()):
        if "GROUP BY" in text and "/cells/" in text:
            queries.append(text)
        return fetch(text, values)

    monkeypatch.setattr(sql, "fetch", noted)
    return queries


def _counts(home, local=None):
    rows = Dataset.open(home / "results", local).counted(("torch", "exporter", "status"), {"n": "sum(cells)"})
    return sorted(rows, key=str)


def _lines(home, local):
    known = Inventory.of(Dataset.open(home / "results", local))
    return known.count(), known.catalogue


def _written():
    return sorted(summary.cache_folder().glob("*.parquet"))


@pytest.mark.parametrize("beside", [False, True])
def test_the_next_process_reads_what_the_first_one_wrote(home, tmp_path, counted, beside):
    local = tmp_path / "local" if beside else None
    if local:
        write_cells(local, [cell(torch="2.8.0", status="crash")])
    first = _lines(home, local)
    asked = list(counted)
    counted.clear()

    assert _lines(home, local) == first
    assert asked
    assert counted == []


def test_a_file_that_has_changed_is_read_anew(home):
    before = _counts(home)
    path = next((home / "results" / "cells").glob("torch-2*"))
    rows = pq.read_table(path)
    pq.write_table(rows.slice(1), path)

    after = _counts(home)

    assert sum(row[-1] for row in after) == sum(row[-1] for row in before) - 1
    path.unlink()
    assert sum(row[-1] for row in _counts(home)) == sum(row[-1] for row in before) - rows.num_rows


@pytest.mark.parametrize("change", [Path.unlink, lambda path: path.write_bytes(path.read_bytes()[:-9])])
def test_a_summary_that_goes_or_breaks_while_it_is_read_costs_no_answer(home, change):
    dataset = Dataset.open(home / "results", None)
    before = dataset.counted(("torch",), {"n": "sum(cells)"})
    for path in _written():
        change(path)

    assert dataset.counted(("torch",), {"n": "sum(cells)"}) == before
    assert dataset.problems == ()


def test_where_nothing_can_be_written_the_answer_is_the_same(home, tmp_path, monkeypatch):
    before = _counts(home)
    (tmp_path / "a file").write_text("no folder")
    for where in (str(tmp_path / "a file" / "below"), "/proc/none/of/ours", ""):
        monkeypatch.setenv(summary.VARIABLE, where)
        assert _counts(home) == before


def test_rows_that_are_still_in_journals_are_seen_at_once(home, tmp_path):
    before = _counts(home)
    local = tmp_path / "local"
    write_journal(local, [cell(case="new-one")])

    assert sum(row[-1] for row in _counts(home, local)) == sum(row[-1] for row in before) + 1


def test_what_depends_on_the_clock_is_not_written(home, tmp_path):
    """A row of tomorrow is not taken today, and is tomorrow."""
    local = tmp_path / "local"
    write_cells(local, [cell(measured_at=(datetime.now(UTC) + timedelta(days=1)).isoformat())])

    assert _counts(home, local)
    assert _written() == []


def test_only_the_newest_summaries_stay_and_no_file_of_somebody_else_is_removed(home, monkeypatch):
    monkeypatch.setattr(summary, "_MOST", 1)
    theirs = summary.cache_folder() / "important.bin"
    theirs.parent.mkdir(parents=True)
    theirs.write_bytes(b"theirs")
    _lines(home, None)

    assert len(_written()) == 1
    assert theirs.read_bytes() == b"theirs"
