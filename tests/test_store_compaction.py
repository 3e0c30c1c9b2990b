"""Compaction of journals into parquet: what it may never lose, whoever writes, dies or fills the disk meanwhile."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from store_rows import TEXT, cell, environment, identities, write_cells, write_journal

from caniexport.model.errors import DiskFull
from caniexport.model.journal import Journal
from caniexport.store import Dataset, compact
from caniexport.store.compaction import dataset_lock

ROOT = Path(__file__).resolve().parents[1]


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
    assert len(after.records("environments")) == 1


def test_rows_without_a_torch_go_into_the_file_of_environment_cases(tmp_path):
    write_journal(tmp_path, [cell(torch=None, exporter=None, opset=None, provider="none", case="old-numpy")])
    compact(tmp_path)

    assert (tmp_path / "cells" / "environment-cases.parquet").is_file()
    dataset = Dataset.open(None, tmp_path)
    assert dataset.select(("torch", "case")) == [(None, "old-numpy")]
    assert dataset.select(("case",), {"torch": ["1.10.2"]}) == []


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
from caniexport.model.journal import Journal
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
    code = "import sys; from pathlib import Path; from caniexport.store import compact\n"
    code += "while True: print(compact(Path(sys.argv[1])).journals, flush=True)"
    compactors = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, stdout=(tmp_path / name).open("w"))
        for name in ("one", "two")
    ]
    writers = [start_writer(tmp_path, start, start + 40, 0.01, "pass") for start in (0, 100)]

    def taken():
        said = [(tmp_path / name).read_text().split("\n")[:-1] for name in ("one", "two")]
        return [int(line) for lines in said for line in lines]

    try:
        # many finished journals while both compact
        for number in range(30):
            write_journal(tmp_path, [cell(opset=200 + number)], name=f"n{number}")
            time.sleep(0.05)
        assert [process.wait(240) for process in writers] == [0, 0]
        deadline = time.monotonic() + 120
        # a compactor says what it took after the journals are gone
        while sum(taken()) < 32 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert [process.poll() for process in compactors] == [None, None]
    finally:
        for process in compactors:
            process.kill()
            process.wait()

    assert sum(taken()) == 32
    assert list((tmp_path / "journal").iterdir()) == []
    dataset = Dataset.open(None, tmp_path)
    expected = [*range(40), *range(100, 140), *range(200, 230)]
    assert sorted(int(opset) for opset in dataset.cells()["opset"]) == expected
    assert dataset.problems == ()


def test_a_compaction_waits_for_another_process_that_rewrites_the_dataset(tmp_path):
    journal = write_journal(tmp_path, [cell()])
    code = "import sys; from pathlib import Path; from caniexport.store import compact, compaction\n"
    code += "import duckdb; print('ready', flush=True); print(compact(Path(sys.argv[1])).journals)"
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
import itertools, os, shutil, signal, sys
from pathlib import Path
import duckdb
from caniexport.store import compact, sql

point, start, dataset = 0, Path(sys.argv[1]), Path(sys.argv[2])
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

# what a process wrote outlives its end: nothing has to wait for the disk
os.fsync = lambda descriptor: None
for name in ("fsync", "replace", "unlink", "rename"):
    killing(name)
for point in itertools.count(1):
    folder = shutil.copytree(start, dataset / f"{point:03}")
    child = os.fork()
    if not child:
        compact(folder)
        os._exit(0)
    ended = os.waitpid(child, 0)[1]
    print(ended, flush=True)
    if not ended:
        break
"""


def test_a_compaction_killed_at_any_of_its_steps_loses_no_row_and_the_next_one_finishes_it(tmp_path):
    start, killed = tmp_path / "start", tmp_path / "killed"
    write_cells(start, [cell(opset=7)])
    write_journal(start, [cell(opset=9), cell(opset=9, torch="2.8.0", message_id="m")], messages={"m": TEXT})

    command = [sys.executable, "-c", KILLED, str(start), str(killed)]
    ended = subprocess.check_output(command, cwd=ROOT, text=True).split()

    # one more than it has steps: the last was killed at none
    assert len(ended) > 20
    assert ended == ["9"] * (len(ended) - 1) + ["0"]
    for folder in sorted(killed.iterdir()):
        holds_all_rows(folder)
        compact(folder)
        holds_all_rows(folder)
        assert list((folder / "journal").iterdir()) == []
        assert not list(folder.glob("**/.*.writing"))


def holds_all_rows(folder):
    after = Dataset.open(None, folder)
    assert sorted(after.cells()["opset"]) == [7, 9, 9]
    assert after.message("m") == TEXT
    assert after.problems == ()


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
