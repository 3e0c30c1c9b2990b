"""``measure --on``: Dask's own processes, in homes of their own, some of which are killed or lack something."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from mini import build, runner
from mini.home import MARK, Home, make_home

pytestmark = pytest.mark.measures

OLD, NEW = build.ERAS
SECONDS = 300
#: the canaries say nothing of a sample measured again, which starts tox twice more for each shard
WORDS = ("measure", "--release", OLD, "--repeat", "0", "--shards", "3")


@dataclass
class Cluster:
    """A scheduler and workers, each a process of Dask's own with a home of its own."""

    home: Home
    folder: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        file = self.folder / "scheduler.json"
        wait_for(file.is_file)
        return json.loads(file.read_text())["address"]

    def start(self, name: str, module: str, *words: str, home: Home | None = None) -> None:
        home = home or self.home
        (self.folder / name).mkdir(exist_ok=True)
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{module}", *words],
                cwd=home.folder,
                env={**home.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s"},
                stdout=log,
                stderr=log,
            )

    def scheduler(self) -> None:
        file = self.folder / "scheduler.json"
        file.unlink(missing_ok=True)
        self.start("scheduler", "dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))

    def worker(self, name: str, home: Home | None = None) -> None:
        """One that ends with its scheduler, and is not started again."""
        home = home or self.home.copy(self.folder / f"home-{name}", with_rows=False)
        words = ["--nthreads", "1", "--no-nanny", "--resources", "caniexport=1", "--no-dashboard", "--name", name]
        words += ["--local-directory", str(self.folder / name), "--memory-limit", "0"]
        self.start(name, "dask_worker", self.address, *words, home=home)

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        self.processes[name].wait()

    def client(self, home: Home, *words: str) -> subprocess.Popen[str]:
        line = home.line(*WORDS, "--on", self.address, *words)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        environ = {**home.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s"}
        return subprocess.Popen(line, cwd=home.folder, env=environ, **pipes)


def wait_for(found, process=None):
    end = time.monotonic() + SECONDS
    while not found():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)


def ended(process, code=0):
    said, complaints = process.communicate(timeout=SECONDS)
    assert process.returncode == code, said[-2000:] + complaints[-4000:]
    return said + complaints


@pytest.fixture(scope="module")
def one_machine(tmp_path_factory):
    """A home that has measured a release by itself."""
    home = make_home(tmp_path_factory.mktemp("one"))
    home.caniexport("measure", "--release", OLD, "--repeat", "0")
    return home


@pytest.fixture
def cluster(one_machine, tmp_path):
    """A scheduler without workers; nothing of it is left at the end."""
    home = replace(one_machine.copy(tmp_path / "home", with_rows=False), mark=f"mark-{random.randrange(10**9)}")
    found = Cluster(home, tmp_path)
    found.scheduler()
    yield found
    for name in reversed(found.processes):
        found.kill(name)
    end = time.monotonic() + 30
    while runner.processes(MARK, home.mark) and time.monotonic() < end:
        time.sleep(0.05)
    left = runner.processes(MARK, home.mark)
    runner.kill_9(MARK, home.mark)
    assert left == []


def assert_as_one_machine(home, one_machine):
    assert home.cells(OLD) == one_machine.cells(OLD)
    assert {row["gate"] for row in home.table_rows("results-local", "environments")} == {"good"}


def rows_sent(home):
    """The rows that have come to the client so far."""
    lines = []
    for path in (home.folder / "results-local" / "shards").glob("*.jsonl"):
        with contextlib.suppress(FileNotFoundError):  # the whole delivery has come in this moment
            lines += path.read_bytes().split(b"\n")[:-1]
    return [entry["row"] for entry in map(json.loads, lines) if entry["kind"] == "cell"]


def test_four_processes_of_one_machine_give_the_rows_of_one_and_a_second_call_measures_nothing(one_machine, tmp_path):
    home = replace(one_machine.copy(tmp_path / "home", with_rows=False), mark=f"mark-{random.randrange(10**9)}")

    reply = home.caniexport(*WORDS, "--on", "local:4", "--json")

    assert json.loads(reply.stdout)["failed"] == {}
    assert "dashboard: http://" in reply.stderr
    assert_as_one_machine(home, one_machine)
    assert sorted((home.folder / "results-local").glob("tasks/*/*")) == []
    again = home.caniexport(*WORDS, "--on", "local:1")
    assert "nothing new to measure" in again.stderr
    assert runner.processes(MARK, home.mark) == []


def test_a_worker_that_is_killed_loses_at_most_what_was_in_flight(cluster, one_machine):
    for name in ("first", "second"):
        cluster.worker(name)
    client = cluster.client(cluster.home)
    wanted = random.randint(10, 90)
    wait_for(lambda: len(rows_sent(cluster.home)) >= wanted, client)
    cluster.kill("first")
    before = {runner.name_of(row): row["run_id"] for row in rows_sent(cluster.home)}

    ended(client)

    assert_as_one_machine(cluster.home, one_machine)
    after = {runner.name_of(row): row["run_id"] for row in cluster.home.rows()}
    again = {name[0] for name, run_id in before.items() if after[name] != run_id}
    assert all(case.startswith("canary-") for case in again), "what had come was measured again"


def test_rows_in_a_folder_that_all_reach_outlive_a_worker_too(cluster, one_machine, tmp_path):
    for name in ("first", "second"):
        cluster.worker(name)
    shared = tmp_path / "shared"
    client = cluster.client(cluster.home, "--to", str(shared))
    wait_for(lambda: b'"case"' in b"".join(path.read_bytes() for path in shared.glob("*.part.jsonl")), client)
    cluster.kill("first")

    ended(client)

    assert_as_one_machine(cluster.home, one_machine)
    # whoever has no part in the cluster takes them from there
    other = cluster.home.copy(tmp_path / "other", with_rows=False)
    other.caniexport("merge", str(shared))
    assert_as_one_machine(other, one_machine)


def test_where_the_client_is_killed_another_one_goes_on_from_there(cluster, one_machine):
    cluster.worker("first")
    other = replace(cluster.home, mark=f"{cluster.home.mark}-client")
    client = cluster.client(other)
    wanted = random.randint(1, 90)
    wait_for(lambda: len(rows_sent(cluster.home)) >= wanted, client)
    client.kill()
    client.communicate()
    before = {runner.name_of(row): row["run_id"] for row in rows_sent(cluster.home)}

    ended(cluster.client(cluster.home))

    assert_as_one_machine(cluster.home, one_machine)
    after = {runner.name_of(row): row["run_id"] for row in cluster.home.rows()}
    again = {name[0] for name, run_id in before.items() if after[name] != run_id}
    assert all(case.startswith("canary-") for case in again), "what had come was measured again"


def test_where_the_scheduler_is_killed_the_client_says_what_is_owed_and_goes_on_with_a_new_one(cluster, one_machine):
    cluster.worker("first")
    client = cluster.client(cluster.home)
    wanted = random.randint(1, 90)
    wait_for(lambda: len(rows_sent(cluster.home)) >= wanted, client)
    cluster.kill("scheduler")
    said = ended(client, code=1)
    assert "scheduler has gone" in said
    assert "owed" in said
    cluster.kill("first")

    cluster.scheduler()
    cluster.worker("third")
    ended(cluster.client(cluster.home))

    assert_as_one_machine(cluster.home, one_machine)


def test_two_clients_at_once_have_each_shard_measured_once(cluster, one_machine, tmp_path):
    cluster.worker("first")
    other = cluster.home.copy(tmp_path / "other", with_rows=False)
    clients = [cluster.client(home) for home in (cluster.home, other)]

    for client in clients:
        ended(client)

    for home in (cluster.home, other):
        assert_as_one_machine(home, one_machine)
    assert len({row["run_id"] for home in (cluster.home, other) for row in home.rows()}) == 3


def test_a_worker_of_another_version_gets_nothing_and_both_versions_are_named(cluster, one_machine, tmp_path):
    code = tmp_path / "older"
    shutil.copytree(runner.ROOT / "harness", code, ignore=shutil.ignore_patterns("__pycache__"))
    init = code / "caniexport" / "__init__.py"
    lines = init.read_text().splitlines(keepends=True)
    init.write_text("".join('__version__ = "0.0.9"\n' if line.startswith("__version__ =") else line for line in lines))
    older = cluster.home.copy(tmp_path / "older-home", with_rows=False)
    cluster.worker("older", replace(older, extra=(("PYTHONPATH", str(code)),)))

    refused = ended(cluster.client(cluster.home), code=1)
    assert "has caniexport 0.0.9 (" in refused
    assert "no worker has the caniexport that asks" in refused

    cluster.worker("same")
    wait_for(lambda: b"Registered to" in (tmp_path / "same.log").read_bytes())
    said = ended(cluster.client(cluster.home))
    assert "no worker" not in said
    assert_as_one_machine(cluster.home, one_machine)
    assert not (older.folder / "results-local").exists()


@pytest.mark.parametrize("small_disk", ["size=120k"], indirect=True)
def test_a_worker_with_a_full_disk_leaves_its_shards_to_others(cluster, one_machine, small_disk, tmp_path):
    full = cluster.home.copy(tmp_path / "full", with_rows=False)
    (full.folder / "results-local").symlink_to(small_disk)
    cluster.worker("full", full)
    cluster.worker("roomy")
    wait_for(lambda: all(b"Registered to" in (tmp_path / f"{name}.log").read_bytes() for name in ("full", "roomy")))

    said = ended(cluster.client(cluster.home))

    assert "measures nothing more" in said
    assert "no space left" in said.lower()
    assert_as_one_machine(cluster.home, one_machine)


_WITHOUT_PYTHON = """
from caniexport.machine import interpreters
interpreters.find = lambda minor, fetch=True: None
interpreters.why_none = lambda minor: "there is none"
"""


def test_a_worker_whose_python_is_missing_leaves_its_shards_to_one_that_has_it(cluster, one_machine, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(_WITHOUT_PYTHON)
    path = os.pathsep.join([str(tmp_path / "site"), str(runner.ROOT / "harness")])
    lacking = cluster.home.copy(tmp_path / "lacking", with_rows=False)
    cluster.worker("lacking", replace(lacking, extra=(("PYTHONPATH", path),)))
    wait_for(lambda: b"Registered to" in (tmp_path / "lacking.log").read_bytes())

    alone = ended(cluster.client(cluster.home), code=1)
    assert "it needs Python" in alone
    assert "failed" in alone

    cluster.worker("whole")
    wait_for(lambda: b"Registered to" in (tmp_path / "whole.log").read_bytes())
    said = ended(cluster.client(cluster.home))
    assert "measures nothing more: it lacks Python" in said
    assert_as_one_machine(cluster.home, one_machine)


def test_a_place_without_a_scheduler_and_workers_that_offer_nothing_are_told(cluster, tmp_path):
    words = ("measure", "--release", OLD, "--on")
    assert "is no cluster" in cluster.home.caniexport(*words, "nowhere", code=1).stderr
    cluster.start("idle", "dask_worker", cluster.address, "--no-nanny", "--no-dashboard", "--memory-limit", "0")
    assert "no worker offers the resource caniexport" in ended(cluster.client(cluster.home), code=1)
    reply = cluster.home.caniexport(*words, cluster.address, "--shard", "1/2", code=2)
    assert "--on cuts releases itself" in reply.stderr
