"""Several machines measure one release: their rows together are those of one, and what is missing is named."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from mini import build, runner
from mini.home import MARK, Home

from caniexport.measure.cluster import ClusterError, run_shard
from caniexport.measure.job import MeasureOptions
from caniexport.measure.settle import with_text_time, with_texts, write_rows
from caniexport.model.journal import Journal
from caniexport.store import Dataset

pytestmark = pytest.mark.measures

OLD, _ = build.ERAS
MEASURE = ("measure", "--release", OLD, "--repeat", "0")


@dataclass(frozen=True)
class Machines:
    """A home with a whole release, and the local datasets of two that measured a half each."""

    home: Home
    halves: tuple[Path, Path]


@pytest.fixture(scope="module")
def machines(made_home, tmp_path_factory):
    folder = tmp_path_factory.mktemp("machines")
    home = made_home.copy(folder / "a home")
    home.caniexport(*MEASURE)
    halves = []
    for number in (1, 2):
        machine = home.copy(folder / f"machine-{number}", with_rows=False)
        machine.caniexport("measure", "--release", OLD, "--shard", f"{number}/2", "--repeat", "10")
        halves.append(machine.folder / "results-local")
    return Machines(home, tuple(halves))


@pytest.fixture
def empty(machines, tmp_path):
    """A machine that has measured nothing."""
    return machines.home.copy(tmp_path / "home", with_rows=False)


def merged(home, *folders, code=0, words=()):
    return json.loads(home.caniexport("measure", "--merge", *map(str, folders), *words, "--json", code=code).stdout)


def gates(home):
    return {row["run_id"]: row["gate"] for row in home.table_rows("results-local", "environments")}


def changed(half, folder, change):
    """The rows of a machine as journals of somebody who has changed them."""
    source = Dataset.open(None, half)
    with Journal(folder / "journal", "rows") as journal:
        for row in source.records("environments"):
            journal.environment(with_text_time({**row, "run_id": "20200101T000000-dead"}))
        rows = [change({**row, "run_id": "20200101T000000-dead"}) for row in source.records("cells")]
        write_rows(journal, "cells", with_texts(rows, source))
    return folder


def test_two_machines_give_the_rows_of_one_and_twice_is_once(machines, empty):
    (first,) = merged(empty, machines.halves[0], code=1)
    both = merged(empty, *machines.halves)

    assert empty.cells(OLD) == machines.home.cells(OLD)
    assert set(gates(empty).values()) == {"good"}
    assert [(report["missing"], report["problem"]) for report in both] == [([], ""), ([], "")]
    have = {"/".join(map(str, name)) for name in runner.by_name(_rows(machines.halves[0]))}
    lacking = {"/".join(map(str, name)) for name in runner.expected(OLD)} - have
    assert {
        name.removeprefix(f"{OLD}/").replace("/default/default", "/default/None") for name in first["missing"]
    } == lacking
    shards = {row["shard"]: row["repeated"] for row in empty.table_rows("results-local", "environments")}
    assert set(shards) == {"1/2", "2/2"}
    assert min(shards.values()) >= 10
    assert "nothing new to measure" in empty.caniexport("measure", "--release", OLD).stderr
    before = empty.rows()
    merged(empty, *machines.halves)
    assert empty.rows() == before


def _rows(local):
    return Dataset.open(None, local).records("cells")


def test_a_machine_whose_canaries_surprise_is_quarantined_and_the_other_is_not(machines, empty, tmp_path):
    def lie(row):
        return {**row, "status": "pass", "stage": "done"} if row["case"] == "canary-mismatch" else row

    lying = changed(machines.halves[0], tmp_path / "lying", lie)
    first, second = merged(empty, lying, machines.halves[1], code=1)

    assert first["problem"].startswith("quarantined: canary-mismatch came out as pass")
    assert second["problem"] == ""
    assert second["missing"]
    assert gates(empty)["20200101T000000-dead"] == first["problem"]
    assert sorted(word == "good" for word in gates(empty).values()) == [False, True]


def test_rows_of_somebody_else_are_judged_as_ours_and_name_their_contributor(machines, empty):
    merged(empty, machines.halves[0], code=1, words=("--by", "Jane\nDoe", "--at", "a board"))
    merged(empty, machines.halves[1])

    whose = {(row["contributor"], row["contributed_from"]) for row in empty.table_rows("results-local", "environments")}
    assert whose == {("Jane Doe", "a board"), (None, None)}
    assert empty.cells(OLD) == machines.home.cells(OLD)
    empty.caniexport("publish")
    assert "Jane Doe" in {row["contributor"] for row in empty.table_rows("results", "environments")}


def test_words_that_need_merge_are_told(empty):
    assert "--by goes with --merge" in empty.caniexport("measure", "--by", "me", code=2).stderr
    assert "--merge wants the folders" in empty.caniexport("measure", "--merge", code=2).stderr


def test_processes_of_one_machine_give_the_rows_of_one_where_a_worker_is_killed_too(machines, empty):
    home = replace(empty, mark=f"mark-{random.randrange(10**9)}")
    line = home.line(*MEASURE, "--on", "local:2", "--shards", "2", "--json")
    client = subprocess.Popen(
        line, cwd=home.folder, env=home.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    journals = home.folder / "results-local" / "shards"
    while not any(b'"kind": "cell"' in path.read_bytes() for path in journals.glob("*/journal/*.jsonl")):
        assert client.poll() is None, client.communicate()
        time.sleep(0.05)
    os.kill(_worker(home), signal.SIGKILL)
    printed, complaints = client.communicate(timeout=900)

    assert client.returncode == 0, complaints
    assert json.loads(printed)["failed"] == {}
    assert home.cells(OLD) == machines.home.cells(OLD)
    assert set(gates(home).values()) == {"good"}
    assert not any(journals.iterdir())
    assert runner.processes(MARK, home.mark) == []
    assert "nothing new to measure" in home.caniexport(*MEASURE, "--on", "local:1").stderr


def _worker(home):
    """A process that has tox measure: the guard of tox is told which."""
    lines = (Path(f"/proc/{pid}/cmdline") for pid in runner.processes(MARK, home.mark))
    found = (re.search(rb"guard import main; main\(\)\0(\d+)\0", path.read_bytes()) for path in lines if path.exists())
    return next(int(match[1]) for match in found if match)


def test_a_worker_with_other_measuring_code_refuses_a_shard(tmp_path):
    with pytest.raises(ClusterError, match="other measuring code"):
        run_shard(MeasureOptions(home=None), code="0" * 16)


def test_what_is_no_cluster_is_told(empty):
    assert "is no cluster: tcp://host:8786" in empty.caniexport(*MEASURE, "--on", "local:0", code=1).stderr
    reply = empty.caniexport(*MEASURE, "--on", "local:2", "--shard", "1/2", code=2)
    assert "--on cuts releases itself" in reply.stderr
    assert "3/8 is the third of eight" in empty.caniexport(*MEASURE, "--shard", "9/8", code=2).stderr
