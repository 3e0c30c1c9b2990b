"""The dataset: what is written is read back, whatever is killed, truncated or full in between."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from store_rows import TEXT, cell, environment, identities, write_journal

from harness.store import Dataset, compact, writer
from harness.store.compaction import dataset_lock
from harness.store.dataset import fingerprint
from harness.store.schema import columns, from_normalised, normalise, schema, to_arrow
from harness.worker.case import PLAIN
from harness.worker.errors import DiskFull, SchemaMismatch, StoreError
from harness.worker.journal import Journal
from harness.worker.rows import TABLES
from harness.worker.status import Exporter, FixKind, Stage, Status

ROOT = Path(__file__).resolve().parents[1]


def write_cells(dataset, rows):
    by_file = {}
    for row in rows:
        by_file.setdefault(writer.cells_file(row["torch"], row["provider"]), []).append(row)
    for name, some in by_file.items():
        writer.write(dataset / "cells" / name, "cells", to_arrow("cells", some))


def read_one(dataset, **filters):
    frame = Dataset.open(None, dataset).cells(**filters)
    assert len(frame) == 1
    return frame.iloc[0]


# --- the row contract


@pytest.mark.parametrize("table", TABLES)
def test_an_empty_row_of_every_table_survives_parquet_with_the_types_of_the_contract(tmp_path, table):
    from harness.store import files

    path = tmp_path / "a.parquet"
    writer.write(path, table, to_arrow(table, [{}]))

    assert files.read(path, table).equals(to_arrow(table, [{}]))
    assert files.read(path, table).schema.equals(schema(table))


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

    assert read_one(tmp_path)[column] == word.value


@pytest.mark.parametrize("kind", [PLAIN, *FixKind], ids=str)
def test_every_kind_of_fix_comes_back_from_the_catalogue(tmp_path, kind):
    writer.write(tmp_path / "cases.parquet", "cases", to_arrow("cases", [{"case": "a", "variant": "b", "kind": kind}]))

    assert Dataset.open(tmp_path, None).cases()["kind"].tolist() == [getattr(kind, "value", kind)]


def test_values_of_every_type_come_back_as_they_were_written(tmp_path):
    write_cells(tmp_path, [cell(opset=None, max_abs_error=0.25, ops="Conv*2 Loop", node_count=3)])

    row = read_one(tmp_path)

    assert row["measured_at"].to_pydatetime() == datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert (row["max_abs_error"], row["ops"], row["node_count"]) == (0.25, "Conv*2 Loop", 3)
    assert row["onnxscript"] is None
    assert Dataset.open(None, tmp_path).cells()["opset"].isna().tolist() == [True]


def test_a_column_that_the_contract_does_not_have_is_refused_by_name():
    with pytest.raises(StoreError, match="colour"):
        normalise("cells", cell(colour="red"))


@pytest.mark.parametrize("bad", [{"opset": "14"}, {"status": "passed"}, {"measured_at": "yesterday"}, {"case": 3}])
def test_a_value_that_does_not_fit_is_refused_with_its_column(bad):
    (column,) = bad

    with pytest.raises(StoreError, match=f"column {column}"):
        normalise("cells", cell(**bad))


def test_importing_the_store_loads_neither_pandas_nor_arrow():
    code = "import harness.store, sys; print([m for m in ('pandas', 'pyarrow', 'numpy') if m in sys.modules])"

    assert subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True).strip() == "[]"


# --- writing


def test_the_same_rows_give_the_same_bytes_in_whatever_order_they_come():
    rows = [cell(opset=opset, case=f"case-{number}") for number in range(50) for opset in (None, 9, 14)]
    shuffled = random.Random(1).sample(rows, len(rows))

    assert writer.encode("cells", to_arrow("cells", rows)) == writer.encode("cells", to_arrow("cells", shuffled))


def test_rows_differing_in_one_value_give_other_bytes():
    one, other = ([cell(status=status)] for status in ("pass", "fail"))

    assert writer.encode("cells", to_arrow("cells", one)) != writer.encode("cells", to_arrow("cells", other))


# --- reading two datasets as one


def test_missing_folders_are_an_empty_dataset(tmp_path):
    dataset = Dataset.open(tmp_path / "no", None)

    assert dataset.problems == ()
    assert list(dataset.cells().columns) == [*columns("cells"), "origin"]
    for frame in (dataset.cells(), dataset.environments(), dataset.cases(), dataset.claims()):
        assert frame.empty
    assert dataset.message("abc") is None


def test_a_local_row_speaks_before_a_newer_published_one(tmp_path):
    published, local = tmp_path / "results", tmp_path / "local"
    write_cells(published, [cell(status="fail", measured_at="2026-06-01T00:00:00Z"), cell(opset=15)])
    write_cells(local, [cell(status="pass")])

    frame = Dataset.open(published, local).cells()

    assert frame[["opset", "status", "origin"]].values.tolist() == [[15, "pass", "published"], [14, "pass", "local"]]


def test_a_filter_on_status_does_not_bring_back_a_row_that_was_superseded(tmp_path):
    published, local = tmp_path / "results", tmp_path / "local"
    write_cells(published, [cell(status="fail")])
    write_cells(local, [cell(status="pass")])

    assert Dataset.open(published, local).cells(status="fail").empty


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
        ({"case": "b"}, [("b", 9), ("b", None)]),
        ({"case": ["a", "b"], "opset": 9}, [("a", 9), ("b", 9)]),
        ({"opset": [None]}, [("b", None)]),
        ({"opset": [None, 14]}, [("b", None), ("a", 14)]),
        ({"torch": "2.8.0"}, [("a", 9)]),
        ({"provider": "cuda"}, [("a", 14)]),
        ({"status": ["fail"], "case": "b"}, [("b", None)]),
        ({"torch": []}, []),
        ({"exporter": "dynamo"}, []),
        ({"corpus": "documented", "variant": "plain", "opset": 9, "torch": "1.10.2"}, [("b", 9)]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("journalled", [False, True])
def test_filters_take_one_value_or_several(tmp_path, filters, expected, journalled):
    rows = [
        cell(case="a", torch="2.8.0", opset=9),
        cell(case="a", provider="cuda"),
        cell(case="b", opset=9),
        cell(case="b", opset=None, status="fail"),
    ]
    write_journal(tmp_path, rows) if journalled else write_cells(tmp_path, rows)

    frame = Dataset.open(None, tmp_path).cells(**filters)

    assert {(case, None if opset != opset else opset) for case, opset in _pairs(frame)} == set(expected)


def _pairs(frame):
    return frame[["case", "opset"]].astype(object).fillna(float("nan")).itertuples(index=False, name=None)


def test_only_the_columns_asked_for_are_given_and_an_unknown_one_is_refused(tmp_path):
    write_cells(tmp_path, [cell()])
    dataset = Dataset.open(None, tmp_path)

    assert list(dataset.cells(columns=["status", "case"]).columns) == ["status", "case", "origin"]
    with pytest.raises(StoreError, match="colour"):
        dataset.cells(columns=["colour"])


def test_texts_are_found_in_journals_and_in_both_datasets(tmp_path):
    published, local = tmp_path / "results", tmp_path / "local"
    writer.write(
        published / "messages.parquet", "messages", to_arrow("messages", [{"message_id": "p", "text": "published"}])
    )
    write_journal(local, [cell(message_id="c")], messages={"c": "compacted"}, name="one")
    compact(local)
    write_journal(local, [cell(message_id="j")], messages={"j": "journal"}, name="two")

    dataset = Dataset.open(published, local)

    assert dataset.messages(["p", "c", "j", "x", None]) == {"p": "published", "c": "compacted", "j": "journal"}
    assert dataset.message("p") == "published"


def test_the_fingerprint_changes_when_a_row_arrives_and_not_otherwise(tmp_path):
    write_journal(tmp_path, [cell()], name="one")
    before = fingerprint(None, tmp_path)
    assert Dataset.open(None, tmp_path).fingerprint() == before
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
    everything = dataset.cells(quarantined=True)
    assert sorted(zip(everything["status"], everything["quarantined"], strict=True)) == [
        ("fail", True),
        ("pass", False),
    ]
    assert sorted(dataset.environments()["quarantined"]) == [False, True]


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
    assert sorted(dataset.cells(quarantined=True)["status"]) == ["fail", *["pass"] * 3]


def test_rows_of_a_run_that_nobody_has_judged_yet_are_shown(tmp_path):
    write_journal(tmp_path, [cell()], [environment(gate=None)])

    assert len(Dataset.open(None, tmp_path).cells()) == 1


def test_the_judged_row_of_an_environment_wins_over_the_one_written_when_the_run_began(tmp_path):
    write_journal(tmp_path, [], [environment(gate="quarantined: x"), environment(gate=None)])

    assert Dataset.open(None, tmp_path).environments()["gate"].tolist() == ["quarantined: x"]


def test_a_killed_run_takes_the_word_of_the_run_that_resumed_it(tmp_path):
    killed = environment(gate=None)
    resumed = environment(run_id="run-2", gate="quarantined: x", measured_at="2026-01-03T00:00:00Z")
    write_journal(tmp_path, [cell()], [killed, resumed])

    assert Dataset.open(None, tmp_path).cells().empty


def test_an_earlier_quarantine_says_nothing_about_a_run_in_progress(tmp_path):
    earlier = environment(run_id="run-0", gate="quarantined: x", measured_at="2025-01-01T00:00:00Z")
    write_journal(tmp_path, [cell()], [earlier, environment(gate=None)])

    assert len(Dataset.open(None, tmp_path).cells()) == 1


# --- damage


def test_a_line_in_flight_is_ignored_and_any_other_bad_line_is_reported_with_its_number(tmp_path):
    path = write_journal(tmp_path, [cell(opset=opset) for opset in range(9, 15)])
    lines = path.read_bytes().split(b"\n")
    lines[1] = lines[1][:40]
    lines[2] = b"\0" * 80
    lines[3] = json.dumps({"kind": "cell", "row": {**cell(), "colour": "red"}}).encode()
    path.write_bytes(b"\n".join(lines) + b'{"kind": "cell", "ro')

    dataset = Dataset.open(None, tmp_path)

    assert sorted(dataset.cells()["opset"]) == [9, 13, 14]
    assert [number for number in (1, 2, 3, 4, 5, 6, 7) if f"line {number} " in " ".join(dataset.problems)] == [2, 3, 4]
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


def test_a_flipped_bit_in_the_middle_of_a_file_is_found_and_named(tmp_path):
    write_cells(tmp_path, [cell(torch=torch, case=f"case-{n}") for n in range(200) for torch in ("1.10.2", "2.8.0")])
    path = tmp_path / "cells" / "torch-1.10.2-cpu.parquet"
    data = bytearray(path.read_bytes())
    whole = Dataset.open(None, tmp_path).cells(torch="1.10.2")
    found = []
    for position in range(8, 2000, 97):
        flipped = bytearray(data)
        flipped[position] ^= 1
        path.write_bytes(flipped)
        dataset = Dataset.open(None, tmp_path)
        frame = dataset.cells()
        assert (frame["torch"] == "2.8.0").sum() == 200
        named = any(str(path) in problem for problem in dataset.problems)
        # a bit of a page's header that nothing reads may flip without effect; a value never
        found.append(named)
        assert named or frame[frame["torch"] == "1.10.2"].reset_index(drop=True).equals(whole)
    assert sum(found) > len(found) / 2


@pytest.mark.parametrize("table", ["environments", "messages", "cases", "claims"])
def test_a_damaged_small_table_is_named_and_the_rest_is_read(tmp_path, table):
    write_cells(tmp_path, [cell(message_id="m")])
    path = tmp_path / f"{table}.parquet"
    path.write_bytes(b"PAR1 and then nothing")

    dataset = Dataset.open(None, tmp_path)
    frame = dataset.cells()
    dataset.cases(), dataset.claims(), dataset.messages(["m"])

    assert len(frame) == 1
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


# --- compaction


def test_compaction_moves_finished_journals_into_parquet_and_changes_no_answer(tmp_path):
    rows = [cell(opset=opset, torch=torch) for opset in range(9, 15) for torch in ("1.10.2", "2.8.0")]
    newer = [cell(status="mismatch", measured_at="2026-04-01T00:00:00Z", message_id="m")]
    write_journal(tmp_path, rows, [environment()], name="one")
    write_journal(tmp_path, newer, messages={"m": TEXT}, name="two")
    before = identities(Dataset.open(None, tmp_path).cells())

    report = compact(tmp_path)

    assert (report.journals, report.rows, report.problems) == (2, 13, ())
    assert list((tmp_path / "journal").iterdir()) == []
    assert {path.name for path in (tmp_path / "cells").iterdir()} == {
        "torch-1.10.2-cpu.parquet",
        "torch-2.8.0-cpu.parquet",
    }
    after = Dataset.open(None, tmp_path)
    assert identities(after.cells()) == before
    assert after.message("m") == TEXT
    assert len(after.environments()) == 1


def test_rows_without_a_torch_go_into_the_file_of_environment_cases(tmp_path):
    write_journal(tmp_path, [cell(torch=None, exporter=None, opset=None, provider="none", case="old-numpy")])
    compact(tmp_path)

    assert (tmp_path / "cells" / "environment-cases.parquet").is_file()
    dataset = Dataset.open(None, tmp_path)
    assert dataset.cells(case="old-numpy")["torch"].tolist() == [None]
    assert dataset.cells(torch="1.10.2").empty


def test_compacting_again_gives_the_same_bytes(tmp_path):
    journal = write_journal(tmp_path, [cell(opset=opset) for opset in range(9, 15)])
    kept = journal.read_bytes()
    compact(tmp_path)
    path = tmp_path / "cells" / "torch-1.10.2-cpu.parquet"
    before = path.read_bytes()
    journal.write_bytes(kept)

    report = compact(tmp_path)

    assert report.written == ()
    assert path.read_bytes() == before


def test_a_journal_with_a_bad_line_is_put_aside_and_stays_reported(tmp_path):
    path = write_journal(tmp_path, [cell(), cell(opset=9)])
    path.write_bytes(path.read_bytes().replace(b'"kind"', b'"kin\xff"', 1))

    report = compact(tmp_path)

    dataset = Dataset.open(None, tmp_path)
    assert dataset.cells()["opset"].tolist() == [9]
    assert "line 1" in report.problems[0]
    assert "put aside" in dataset.problems[0]


def test_a_damaged_table_of_environments_does_not_stop_compaction(tmp_path):
    (tmp_path / "environments.parquet").write_bytes(b"PAR1 truncated")
    write_journal(tmp_path, [cell()])

    assert compact(tmp_path).journals == 1

    dataset = Dataset.open(None, tmp_path)
    assert len(dataset.cells()) == 1
    assert "environments.parquet" in dataset.problems[0]


def test_a_damaged_parquet_file_is_put_aside_before_new_rows_take_its_name(tmp_path):
    path = tmp_path / "cells" / "torch-1.10.2-cpu.parquet"
    path.parent.mkdir()
    path.write_bytes(b"PAR1 truncated")
    write_journal(tmp_path, [cell()])

    report = compact(tmp_path)

    assert path.with_name(path.name + ".damaged").read_bytes() == b"PAR1 truncated"
    assert str(path) in report.problems[0]
    dataset = Dataset.open(None, tmp_path)
    assert len(dataset.cells()) == 1
    assert any(".damaged" in problem for problem in dataset.problems)


WRITER = """
import sys, time
sys.path[:0] = [{root!r}, {tests!r}]
from pathlib import Path
from harness.worker.journal import Journal
from store_rows import cell
with Journal(Path({dataset!r}) / "journal", "other") as journal:
    for opset in range({first}, {last}):
        journal.cell(cell(opset=opset), {{}})
        print(opset, flush=True)
        time.sleep({pause})
    {then}
"""


def start_writer(dataset, first, last, pause=0.0, then="time.sleep(60)"):
    code = WRITER.format(
        root=str(ROOT),
        tests=str(Path(__file__).parent),
        dataset=str(dataset),
        first=first,
        last=last,
        pause=pause,
        then=then,
    )
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def test_a_journal_that_another_process_still_writes_is_left_alone_and_taken_up_once_it_is_killed(tmp_path):
    process = start_writer(tmp_path, 7, 10)
    try:
        assert [process.stdout.readline() for _ in range(3)] == ["7\n", "8\n", "9\n"]
        write_journal(tmp_path, [cell(opset=14)])

        assert compact(tmp_path).journals == 1
        assert [path.name for path in (tmp_path / "journal").iterdir()] == [f"other-{process.pid}.jsonl"]
        assert sorted(Dataset.open(None, tmp_path).cells()["opset"]) == [7, 8, 9, 14]
    finally:
        process.kill()
        process.wait()

    assert compact(tmp_path).journals == 1
    assert sorted(Dataset.open(None, tmp_path).cells()["opset"]) == [7, 8, 9, 14]


def test_a_journal_that_was_just_made_is_not_taken_away_from_the_process_that_is_about_to_lock_it(tmp_path):
    (tmp_path / "journal").mkdir()
    young = tmp_path / "journal" / "new-1.jsonl"
    young.touch()

    compact(tmp_path)
    assert young.exists()

    os.utime(young, (time.time() - 3600,) * 2)
    compact(tmp_path)
    assert not young.exists()


def test_two_writers_and_two_compactions_at_once_lose_no_row(tmp_path):
    code = "import sys; from pathlib import Path; from harness.store import compact\n"
    code += "while True: print(compact(Path(sys.argv[1])).journals, flush=True)"
    compactors = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, stdout=(tmp_path / name).open("w"))
        for name in ("one", "two")
    ]
    writers = [start_writer(tmp_path, start, start + 40, 0.01, "pass") for start in (0, 100)]
    try:
        # many finished journals while both compact
        for number in range(30):
            write_journal(tmp_path, [cell(opset=200 + number)], name=f"n{number}")
            time.sleep(0.05)
        assert [process.wait(60) for process in writers] == [0, 0]
        deadline = time.monotonic() + 60
        while list((tmp_path / "journal").iterdir()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert [process.poll() for process in compactors] == [None, None]
    finally:
        for process in compactors:
            process.kill()
            process.wait()

    taken = [int(line) for name in ("one", "two") for line in (tmp_path / name).read_text().split()]
    assert sum(taken) == 32
    assert list((tmp_path / "journal").iterdir()) == []
    dataset = Dataset.open(None, tmp_path)
    expected = [*range(40), *range(100, 140), *range(200, 230)]
    assert sorted(int(opset) for opset in dataset.cells()["opset"]) == expected
    assert dataset.problems == ()


def test_a_compaction_waits_for_another_process_that_rewrites_the_dataset(tmp_path):
    journal = write_journal(tmp_path, [cell()])
    code = "import sys; from pathlib import Path; from harness.store import compact, compaction\n"
    code += "import pandas, pyarrow.parquet; print('ready', flush=True); print(compact(Path(sys.argv[1])).journals)"
    with dataset_lock(tmp_path):
        other = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert other.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(1.5)
        assert journal.exists()
        # what the other one would overwrite if it had read the file already
        write_cells(tmp_path, [cell(opset=9)])

    assert other.communicate(timeout=60)[0] == "1\n"
    assert sorted(Dataset.open(None, tmp_path).cells()["opset"]) == [9, 14]


KILLED = """
import os, signal, sys
from pathlib import Path
import pandas, pyarrow.parquet
from harness.store import compact

point, dataset = 0, Path(sys.argv[1])
step = 0

def here():
    global step
    step += 1
    if step == point:
        os.kill(os.getpid(), signal.SIGKILL)

def killing(name):
    real = getattr(os, name)
    def call(*args, **kwargs):
        here()
        result = real(*args, **kwargs)
        here()
        return result
    setattr(os, name, call)

for name in ("fsync", "replace", "unlink", "rename"):
    killing(name)
for folder in sorted(dataset.iterdir()):
    point = int(folder.name)
    child = os.fork()
    if not child:
        compact(folder)
        os._exit(0)
    print(os.waitpid(child, 0)[1], flush=True)
"""
#: more than the steps that the compaction below takes
POINTS = 60


def test_a_compaction_killed_at_any_of_its_steps_loses_no_row_and_the_next_one_finishes_it(tmp_path):
    folders = [tmp_path / f"{point:02}" for point in range(1, POINTS)]
    for folder in folders:
        write_cells(folder, [cell(opset=7)])
        write_journal(folder, [cell(opset=9), cell(opset=9, torch="2.8.0", message_id="m")], messages={"m": TEXT})

    ended = subprocess.check_output([sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT, text=True).split()

    assert len(ended) == len(folders)
    assert set(ended) == {"9", "0"}
    assert ended == sorted(ended, reverse=True)
    for folder in folders[: ended.index("0") + 1]:
        for _ in ("as it was left", "after the next compaction"):
            after = Dataset.open(None, folder)
            assert sorted(after.cells()["opset"]) == [7, 9, 9]
            assert after.message("m") == TEXT
            assert after.problems == ()
            compact(folder)
        assert list((folder / "journal").iterdir()) == []
        assert not list(folder.glob("**/.*.writing"))


def test_a_reader_during_compaction_sees_every_row_all_the_time(tmp_path):
    for number in range(30):
        write_journal(tmp_path, [cell(opset=number)], name=f"n{number:02}")
    done = threading.Event()
    thread = threading.Thread(target=lambda: (compact(tmp_path), done.set()))
    thread.start()
    seen = []
    while not done.is_set():
        seen.append(len(Dataset.open(None, tmp_path).cells()))
    thread.join()
    seen.append(len(Dataset.open(None, tmp_path).cells()))

    assert set(seen) == {30}


# --- a full disk


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 KiB."""
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("needs root: mounts a small tmpfs that is then filled")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"cannot mount a tmpfs here: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def fill(disk):
    with contextlib.suppress(OSError), (disk / "filler").open("ab", buffering=0) as file:
        while True:
            file.write(b"x" * 512)


def test_a_full_disk_stops_compaction_with_a_clear_word_and_nothing_is_lost(small_disk):
    write_cells(small_disk, [cell(opset=7)])
    write_journal(small_disk, [cell(opset=opset, signature=os.urandom(400).hex()) for opset in range(9, 60)])
    (small_disk / ".lock").touch()
    fill(small_disk)
    before = identities(Dataset.open(None, small_disk).cells())
    assert len(before) == 52

    with pytest.raises(DiskFull, match=r"no space left .*intact"):
        compact(small_disk)

    dataset = Dataset.open(None, small_disk)
    assert identities(dataset.cells()) == before
    assert dataset.problems == ()
    assert not list(small_disk.glob("**/.*.writing"))
    (small_disk / "filler").unlink()
    assert compact(small_disk).journals == 1
    assert identities(Dataset.open(None, small_disk).cells()) == before


def test_a_full_disk_stops_a_journal_with_a_clear_word_and_the_cells_before_it_are_kept(small_disk):
    with Journal(small_disk / "journal", "measure") as journal:
        journal.cell(cell(), {})
        fill(small_disk)
        with pytest.raises(DiskFull, match="no space left"):
            for opset in range(15, 100):
                journal.cell(cell(opset=opset), {"m": "x" * 1000})

    dataset = Dataset.open(None, small_disk)
    assert 14 in dataset.cells()["opset"].tolist()
    assert dataset.problems == ()


# --- size


def test_a_hundred_thousand_rows_answer_a_case_in_a_moment(tmp_path):
    base = normalise("cells", cell())
    for minor in range(10):
        rows = [
            {**base, "torch": f"2.{minor}.0", "case": f"case-{n:04}", "opset": opset}
            for n in range(625)
            for opset in range(16)
        ]
        path = tmp_path / "cells" / f"torch-2.{minor}.0-cpu.parquet"
        writer.write(path, "cells", from_normalised("cells", rows))
    dataset = Dataset.open(tmp_path, None)
    dataset.cells(case="case-0300")

    started = time.perf_counter()
    frame = dataset.cells(case="case-0300")
    seconds = time.perf_counter() - started

    assert len(frame) == 160
    # alone it takes 0.05 s; the limit leaves room for a busy machine and none for reading everything into Python
    assert seconds < 2
