"""Answers kept between processes: the same as asked anew, and never those of other files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from dashboard_data import build

from caniexport.answers.filters import Filters
from caniexport.answers.matrix import By, table
from caniexport.store import memo, sql
from caniexport.store.dataset import Dataset

CLI = [sys.executable, "-c", "from caniexport.cli import main; main()"]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv(memo.VARIABLE, str(tmp_path / "kept"))
    return build(tmp_path / "home")


@pytest.fixture
def asked(monkeypatch):
    """The queries that DuckDB is asked from here on."""
    queries = []
    fetch = sql.fetch
    monkeypatch.setattr(sql, "fetch", lambda text, values=(): queries.append(text) or fetch(text, values))
    return queries


def _folded(home):
    rows = Dataset.open(home / "results", None).grouped(("torch", "exporter", "status"), {"n": "count(*)"}, None)
    return sorted(rows, key=str)


def _table(home):
    return table(Dataset.open(home / "results", None), Filters(), By.TORCH)


def test_the_next_process_is_given_what_the_first_one_asked(home, asked):
    first = _table(home)
    counted = [text for text in asked if "GROUP BY" in text]
    asked.clear()

    assert _table(home) == first
    assert counted
    assert [text for text in asked if "GROUP BY" in text] == []


def test_a_file_that_has_changed_is_asked_anew(home):
    before = _folded(home)
    path = next((home / "results" / "cells").glob("torch-2*"))
    rows = pq.read_table(path)
    pq.write_table(rows.slice(1), path)

    after = _folded(home)

    assert sum(row[-1] for row in after) == sum(row[-1] for row in before) - 1
    path.unlink()
    assert sum(row[-1] for row in _folded(home)) == sum(row[-1] for row in before) - rows.num_rows


@pytest.mark.parametrize("content", [b"", b'[["2.8.0", ', b"[1, 2]", b"\xff\xfe", b"{}", b'["ab"]'])
def test_a_kept_answer_that_is_no_answer_is_asked_anew(home, content):
    before = _folded(home)
    for path in memo.folder().iterdir():
        path.write_bytes(content)

    assert _folded(home) == before


def test_where_nothing_can_be_kept_the_answer_is_the_same(home, tmp_path, monkeypatch):
    before = _folded(home)
    (tmp_path / "a file").write_text("no folder")
    for where in (str(tmp_path / "a file" / "below"), "/proc/none/of/ours", ""):
        monkeypatch.setenv(memo.VARIABLE, where)
        assert _folded(home) == before


def test_rows_that_are_still_in_journals_are_seen_at_once(tmp_path, monkeypatch):
    from store_rows import cell, write_journal

    monkeypatch.setenv(memo.VARIABLE, str(tmp_path / "kept"))
    home = build(tmp_path / "home")
    before = _folded(home)
    local = tmp_path / "local"
    write_journal(local, [cell(case="new-one")])

    rows = Dataset.open(home / "results", local).grouped(("status",), {"n": "count(*)"}, None)

    assert sum(row[-1] for row in rows) == sum(row[-1] for row in before) + 1


def test_two_at_once_and_a_full_folder_leave_whole_answers(home, monkeypatch):
    monkeypatch.setattr(memo, "_MOST", 0)
    before = _folded(home)
    environment = {**os.environ, "CANIEXPORT_HOME": str(home)}
    both = [subprocess.Popen([*CLI, "table", "--json"], env=environment, stdout=subprocess.PIPE) for _ in range(2)]
    said = [one.communicate()[0] for one in both]

    assert said[0] == said[1] != b""
    assert _folded(home) == before
    assert [path for path in Path(memo.folder()).iterdir() if path.suffix != ".json"] == []
