"""Files written before the row contract gained a column: what they lack is null, wherever they are read."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from store_rows import cell, environment, write_cells, write_journal

from caniexport.store import Dataset, compact, writer
from caniexport.store.schema import columns

GAINED = {"code", "apart", "checker", "checker_id", "unstable"}
RUN = {
    **{name: cell().get(name) for name in columns("runs")},
    "bundle": "b" * 64,
    "runtime_version": "1.19.2",
    "device": "cpu",
    "code": None,
}


def write_older(path, table, rows, lacking):
    """A file as it was written before its table had the columns ``lacking``."""
    writer.write_rows(path, table, rows)
    data = pq.read_table(path)
    pq.write_table(data.select([name for name in data.column_names if name not in lacking]), path)


def older_cells(dataset, *rows):
    write_older(dataset / "cells" / "torch-1.10.2-cpu.parquet", "cells", rows, GAINED)


def test_columns_that_no_file_has_are_null_in_every_answer(tmp_path):
    older_cells(tmp_path, cell())
    dataset = Dataset.open(tmp_path, None)

    assert dataset.select(sorted(GAINED)) == [(None,) * len(GAINED)]
    assert dataset.grouped(("checker",), {"rows": "count(*)"}) == [(None, 1)]
    assert dataset.cells(case=["cross-no-symbolic"])[sorted(GAINED)].isna().all(axis=None)
    assert dataset.problems == ()


def test_older_and_newer_files_are_read_together(tmp_path):
    older_cells(tmp_path, cell())
    write_cells(tmp_path, [cell(torch="2.8.0", code="abc", apart=True, checker="strict", unstable=["pass", "fail"])])
    dataset = Dataset.open(tmp_path, None)

    expected = [("1.10.2", None, None, None, None), ("2.8.0", "abc", True, "strict", ["pass", "fail"])]
    assert dataset.select(("torch", "code", "apart", "checker", "unstable")) == expected


@pytest.mark.parametrize("table", ["environments", "messages", "cases"])
def test_a_small_table_without_its_last_column_is_read(tmp_path, table):
    last = columns(table)[-1]
    write_older(tmp_path / f"{table}.parquet", table, [{columns(table)[0]: "a"}], {last})
    dataset = Dataset.open(tmp_path, None)

    assert [row[last] for row in dataset.records(table)] == [None]
    assert dataset.problems == ()


def test_runs_without_the_new_columns_are_read(tmp_path):
    write_older(tmp_path / "runs" / "onnxruntime-cpu.parquet", "runs", [RUN], GAINED)
    dataset = Dataset.open(tmp_path, None)

    assert dataset.replays(["b" * 24], ("runtime", "code", "unstable")) == [("onnxruntime", None, None, "published")]
    assert dataset.run_groups(("code",), {"rows": "count(*)"}) == [(None, 1)]


def test_new_rows_are_compacted_into_an_older_file(tmp_path):
    older_cells(tmp_path, cell())
    write_journal(tmp_path, [cell(variant="fixed", code="abc", unstable=["pass"])], [environment()])

    compact(tmp_path)

    rows = pq.read_table(tmp_path / "cells" / "torch-1.10.2-cpu.parquet").to_pylist()
    assert {(row["variant"], row["code"], tuple(row["unstable"] or ())) for row in rows} == {
        ("plain", None, ()),
        ("fixed", "abc", ("pass",)),
    }
