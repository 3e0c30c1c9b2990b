"""The dataset: what is written is read back, whatever is killed, truncated or full in between."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from store_rows import cell, environment, identities, write_cells, write_journal

from caniexport.model.case import PLAIN
from caniexport.model.errors import StoreError
from caniexport.model.rows import TABLES
from caniexport.model.status import Exporter, FixKind, Stage, Status
from caniexport.store import Dataset, compact, writer
from caniexport.store.dataset import fingerprint
from caniexport.store.schema import columns, normalise

ROOT = Path(__file__).resolve().parents[1]


def read_one(dataset, *columns):
    (row,) = Dataset.open(None, dataset).select(columns)
    return row


# --- the row contract


@pytest.mark.parametrize("table", TABLES)
def test_an_empty_row_of_every_table_survives_parquet_with_the_types_of_the_contract(tmp_path, table):
    path = tmp_path / "a.parquet"
    writer.write_rows(path, table, [{}])

    assert pq.read_table(path).to_pylist() == [dict.fromkeys(columns(table))]
    assert pq.read_schema(path).names == list(columns(table))
    kinds = {"timestamp": "timestamp[us, tz=UTC]", "float32": "float", "float64": "double"}
    found = {field.name: str(field.type) for field in pq.read_schema(path)}
    plain = [column for column in TABLES[table] if not column.type.startswith("list")]
    assert {column.name: found[column.name] for column in plain} == {
        column.name: kinds.get(column.type, column.type) for column in plain
    }


@pytest.mark.parametrize(
    ("column", "word"),
    [
        *(("stage", member) for member in Stage),
        *(("status", member) for member in Status),
        *(("exporter", member) for member in Exporter),
    ],
    ids=str,
)
def test_every_word_of_a_cell_comes_back_from_the_dataset_as_it_was_measured(tmp_path, column, word):
    write_cells(tmp_path, [cell(**{column: word})])

    assert read_one(tmp_path, column) == (word.value,)


@pytest.mark.parametrize("kind", [PLAIN, *FixKind], ids=str)
def test_every_kind_of_fix_comes_back_from_the_catalogue(tmp_path, kind):
    writer.write_rows(tmp_path / "cases.parquet", "cases", [{"case": "a", "variant": "b", "kind": kind}])

    assert [row["kind"] for row in Dataset.open(tmp_path, None).records("cases")] == [getattr(kind, "value", kind)]


def test_values_of_every_type_come_back_as_they_were_written(tmp_path):
    write_cells(tmp_path, [cell(opset=None, max_abs_error=0.25, ops="Conv*2 Loop", node_count=3)])

    named = ("opset", "max_abs_error", "ops", "node_count", "onnxscript")
    assert read_one(tmp_path, *named) == (None, 0.25, "Conv*2 Loop", 3, None)
    (row,) = Dataset.open(None, tmp_path).cells().to_dict("records")
    assert row["measured_at"].to_pydatetime() == datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert Dataset.open(None, tmp_path).cells()["opset"].isna().tolist() == [True]


def test_a_column_that_the_contract_does_not_have_is_refused_by_name():
    with pytest.raises(StoreError, match="colour"):
        normalise("cells", cell(colour="red"))


@pytest.mark.parametrize("bad", [{"opset": "14"}, {"status": "passed"}, {"measured_at": "yesterday"}, {"case": 3}])
def test_a_value_that_does_not_fit_is_refused_with_its_column(bad):
    (column,) = bad

    with pytest.raises(StoreError, match=f"column {column}"):
        normalise("cells", cell(**bad))


# --- writing


def written(tmp_path, rows):
    writer.write_rows(tmp_path / "a.parquet", "cells", rows)
    return (tmp_path / "a.parquet").read_bytes()


def test_the_same_rows_give_the_same_bytes_in_whatever_order_they_come(tmp_path):
    rows = [cell(opset=opset, case=f"case-{number}") for number in range(50) for opset in (None, 9, 14)]
    shuffled = random.Random(1).sample(rows, len(rows))

    assert written(tmp_path, rows) == written(tmp_path, shuffled)


def test_rows_differing_in_one_value_give_other_bytes(tmp_path):
    one, other = ([cell(status=status)] for status in ("pass", "fail"))

    assert written(tmp_path, one) != written(tmp_path, other)


# --- reading two datasets as one


def test_missing_folders_are_an_empty_dataset(tmp_path):
    dataset = Dataset.open(tmp_path / "no", None)

    assert dataset.problems == ()
    assert list(dataset.cells().columns) == [*columns("cells"), "origin"]
    assert dataset.cells().empty
    assert [dataset.records(table) for table in TABLES] == [[]] * len(TABLES)
    assert dataset.message("abc") is None


def test_a_local_row_speaks_before_a_newer_published_one(tmp_path):
    published, local = tmp_path / "results", tmp_path / "local"
    write_cells(published, [cell(status="fail", measured_at="2026-06-01T00:00:00Z"), cell(opset=15)])
    write_cells(local, [cell(status="pass")])

    frame = Dataset.open(published, local).cells()

    assert frame[["opset", "status", "origin"]].values.tolist() == [[14, "pass", "local"], [15, "pass", "published"]]


def test_a_filter_on_status_does_not_bring_back_a_row_that_was_superseded(tmp_path):
    published, local = tmp_path / "results", tmp_path / "local"
    write_cells(published, [cell(status="fail")])
    write_cells(local, [cell(status="pass")])

    assert Dataset.open(published, local).cells(status=["fail"]).empty


def test_the_newest_of_local_rows_speaks_wherever_it_is(tmp_path):
    write_cells(tmp_path, [cell(status="fail", measured_at="2026-03-01T00:00:00Z"), cell(opset=9)])
    write_journal(tmp_path, [cell(measured_at="2026-02-01T00:00:00Z"), cell(opset=9, status="crash")])

    assert identities(Dataset.open(None, tmp_path).cells()) == [
        ("1.10.2", "cross-no-symbolic", "plain", 9, "crash"),
        ("1.10.2", "cross-no-symbolic", "plain", 14, "fail"),
    ]


def test_rows_on_two_runtime_versions_are_two_rows(tmp_path):
    write_cells(tmp_path, [cell()])
    write_journal(tmp_path, [cell(runtime_version="1.31.1")])

    assert sorted(Dataset.open(None, tmp_path).cells()["runtime_version"]) == ["1.19.2", "1.31.1"]


@pytest.mark.parametrize("status", ["invalid", "skip", "not_run"])
def test_a_row_that_says_nothing_does_not_hide_a_measured_one_but_stands_where_there_is_none(tmp_path, status):
    published, local = tmp_path / "results", tmp_path / "local"
    write_cells(published, [cell(status="fail")])
    lost = cell(status=status, runtime=None, runtime_version=None, measured_at="2026-09-01T00:00:00Z")
    write_journal(local, [lost, {**lost, "opset": 15}])

    assert [row[-2:] for row in identities(Dataset.open(published, local).cells())] == [(14, "fail"), (15, status)]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"case": ["b"]}, [("b", 9), ("b", None)]),
        ({"case": ["a", "b"], "opset": [9]}, [("a", 9), ("b", 9)]),
        ({"opset": [None]}, [("b", None)]),
        ({"opset": [None, 14]}, [("b", None), ("a", 14)]),
        ({"torch": ["2.8.0"]}, [("a", 9)]),
        ({"provider": ["cuda"]}, [("a", 14)]),
        ({"status": ["fail"], "case": ["b"]}, [("b", None)]),
        ({"torch": []}, []),
        ({"exporter": ["dynamo"]}, []),
        ({"corpus": ["documented"], "variant": ["plain"], "opset": [9], "torch": ["1.10.2"]}, [("b", 9)]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("journalled", [False, True])
def test_filters_take_several_values(tmp_path, filters, expected, journalled):
    rows = [
        cell(case="a", torch="2.8.0", opset=9),
        cell(case="a", provider="cuda"),
        cell(case="b", opset=9),
        cell(case="b", opset=None, status="fail"),
    ]
    write_journal(tmp_path, rows) if journalled else write_cells(tmp_path, rows)

    assert set(Dataset.open(None, tmp_path).select(("case", "opset"), filters)) == set(expected)


def test_only_the_columns_asked_for_are_given(tmp_path):
    write_cells(tmp_path, [cell()])

    frame = Dataset.open(None, tmp_path).cells(columns=["status", "case"])
    assert list(frame.columns) == ["status", "case", "origin"]


def test_texts_are_found_in_journals_and_in_both_datasets(tmp_path):
    published, local = tmp_path / "results", tmp_path / "local"
    writer.write_rows(published / "messages.parquet", "messages", [{"message_id": "p", "text": "published"}])
    write_journal(local, [cell(message_id="c")], messages={"c": "compacted"}, name="one")
    compact(local)
    write_journal(local, [cell(message_id="j")], messages={"j": "journal"}, name="two")

    dataset = Dataset.open(published, local)

    assert dataset.messages(["p", "c", "j", "x", None]) == {"p": "published", "c": "compacted", "j": "journal"}
    assert dataset.message("p") == "published"


def test_the_fingerprint_changes_when_a_row_arrives_and_not_otherwise(tmp_path):
    write_journal(tmp_path, [cell()], name="one")
    before = fingerprint(None, tmp_path)
    assert fingerprint(None, tmp_path) == before

    write_journal(tmp_path, [cell(opset=9)], name="two")

    assert fingerprint(None, tmp_path) != before


# --- gates


def test_rows_of_a_quarantined_run_are_left_out_unless_asked_for_and_never_replace_good_ones(tmp_path):
    write_journal(
        tmp_path,
        [cell(status="pass"), cell(status="fail", run_id="run-2", measured_at="2026-05-01T00:00:00Z")],
        [environment(), environment(run_id="run-2", gate="quarantined: canary-pass came out as fail")],
    )
    dataset = Dataset.open(None, tmp_path)

    assert dataset.cells()["status"].tolist() == ["pass"]
    assert [row["status"] for row in dataset.records("cells", {"run_id": ("run-2",)})] == ["fail"]
    assert sorted(row["quarantined"] for row in dataset.environment_records()) == [False, True]


def test_compacting_a_quarantined_run_does_not_cost_the_good_rows_measured_before_it(tmp_path):
    write_journal(tmp_path, [cell(), cell(opset=9)], [environment()], name="one")
    compact(tmp_path)
    bad = cell(status="fail", run_id="run-2", measured_at="2026-05-01T00:00:00Z")
    write_journal(tmp_path, [bad], [environment(run_id="run-2", gate="quarantined: x")], name="two")
    compact(tmp_path)
    write_journal(tmp_path, [cell(opset=10)], name="three")
    compact(tmp_path)

    dataset = Dataset.open(None, tmp_path)

    assert dataset.cells()["status"].tolist() == ["pass"] * 3
    assert [row["status"] for row in dataset.records("cells", {"run_id": ("run-2",)})] == ["fail"]


def test_rows_of_a_run_that_nobody_has_judged_yet_are_shown(tmp_path):
    write_journal(tmp_path, [cell()], [environment(gate=None)])

    assert len(Dataset.open(None, tmp_path).cells()) == 1


def test_the_judged_row_of_an_environment_wins_over_the_one_written_when_the_run_began(tmp_path):
    write_journal(tmp_path, [], [environment(gate="quarantined: x"), environment(gate=None)])

    assert [row["gate"] for row in Dataset.open(None, tmp_path).records("environments")] == ["quarantined: x"]


@pytest.mark.parametrize("word", ["good", "quarantined: x"])
def test_a_run_that_nobody_judged_takes_no_word_of_another_run_in_its_environment(tmp_path, word):
    killed, resumed = environment(gate=None), environment(run_id="run-2", gate=word, measured_at="2026-01-03T00:00:00Z")
    write_journal(tmp_path, [cell()], [killed, resumed])

    assert len(Dataset.open(None, tmp_path).cells()) == 1
    (mine,) = Dataset.open(None, tmp_path).records("environments", {"run_id": ["run-1"]})
    assert mine["gate"] is None
