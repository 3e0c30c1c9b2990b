"""``measure --on``: Dask's own processes, in homes of their own, some of which are killed or lack something."""

from __future__ import annotations

import json
import os
import random
import shutil
from dataclasses import replace

import pytest
from mini import runner
from mini.cluster import OLD, WORDS, cells_in, ended, rows_sent, started, wait_for
from mini.home import MARK

from caniexport import __version__

pytestmark = pytest.mark.measures


@pytest.fixture(scope="module")
def one_machine(made_home, tmp_path_factory):
    """A home that has measured a release by itself."""
    home = made_home.copy(tmp_path_factory.mktemp("one") / "a home")
    home.caniexport("measure", "--release", OLD, "--repeat", "0")
    return home


@pytest.fixture
def cluster(one_machine, tmp_path):
    """A scheduler without workers; nothing of it is left at the end."""
    with started(one_machine, tmp_path) as found:
        yield found


def assert_as_one_machine(home, one_machine):
    assert home.cells(OLD) == one_machine.cells(OLD)
    assert {row["gate"] for row in home.table_rows("results-local", "environments")} == {"good"}


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


def test_a_shard_leaves_the_logs_of_another_tox_in_its_environment_alone(one_machine, tmp_path):
    home = one_machine.copy(tmp_path / "home", with_rows=False)
    words = ("measure", "--release", OLD, "--repeat", "0")
    home.caniexport(*words, "--shard", "1/9")
    log = home.folder / ".tox" / f"torch{OLD}-cpu" / "log" / "1-freeze.log"
    log.parent.mkdir(exist_ok=True)
    log.write_text("written while tox empties the folder, it would end that tox")

    home.caniexport(*words, "--shard", "2/9")

    assert log.is_file()


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


def test_a_shard_that_has_been_delivered_is_not_measured_again_where_its_worker_dies(cluster, one_machine):
    cluster.worker("first")
    client = cluster.client(cluster.home)
    delivered = cluster.home.folder / "results-local" / "shards"
    whole = []
    wait_for(
        lambda: whole.extend(path for path in delivered.glob("*.jsonl") if ".part" not in path.name) or whole, client
    )
    cluster.kill("first")
    before = {runner.name_of(row): row["run_id"] for row in cells_in(whole)}
    cluster.worker("second")

    ended(client)

    assert_as_one_machine(cluster.home, one_machine)
    after = {runner.name_of(row): row["run_id"] for row in cluster.home.rows()}
    again = {name[0] for name, run_id in before.items() if after[name] != run_id}
    assert all(case.startswith("canary-") for case in again), "what was delivered was measured again"


_HANGING_AFTER_ROWS = """
import time
from caniexport.measure import remote
remote._PAUSE = 0.0
append_rows = remote.append_rows
def append_and_hang(place, name, rows):
    append_rows(place, name, rows)
    # canaries go first, and every process measures them anew
    while any(b'"case"' in line and b"canary-" not in line for line in rows.splitlines()):
        time.sleep(60)
remote.append_rows = append_and_hang
"""


def with_changed_code(home, folder, code):
    """The home, whose processes run this code when they start."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(code)
    return replace(home, extra=(("PYTHONPATH", os.pathsep.join([str(folder), str(runner.ROOT / "harness")])),))


def test_rows_in_a_folder_that_all_reach_outlive_a_worker_too(cluster, one_machine, tmp_path):
    hanging = cluster.home.copy(tmp_path / "hanging", with_rows=False)
    cluster.worker("first", with_changed_code(hanging, tmp_path / "site", _HANGING_AFTER_ROWS))
    cluster.registered("first")
    shared = tmp_path / "shared"
    client = cluster.client(cluster.home, "--to", str(shared))
    sent = []
    wait_for(
        lambda: sent.extend(row for row in cells_in(shared.glob("*.part.jsonl")) if row["corpus"] != "canary") or sent,
        client,
    )
    cluster.worker("second")
    cluster.kill("first")

    ended(client)

    assert_as_one_machine(cluster.home, one_machine)
    kept = {row["run_id"] for row in cluster.home.rows()}
    assert {row["run_id"] for row in sent} <= kept, "what was sent was measured again"
    # whoever has no part in the cluster takes them from there
    other = cluster.home.copy(tmp_path / "other", with_rows=False)
    other.caniexport("measure", "--merge", str(shared))
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


def of_another_version(home, folder):
    """A home with the rows and cases of another, whose caniexport is 0.0.9."""
    code = folder / "older"
    shutil.copytree(runner.ROOT / "harness", code, ignore=shutil.ignore_patterns("__pycache__"))
    init = code / "caniexport" / "__init__.py"
    lines = init.read_text().splitlines(keepends=True)
    init.write_text("".join('__version__ = "0.0.9"\n' if line.startswith("__version__ =") else line for line in lines))
    return replace(home.copy(folder / "older-home", with_rows=False), extra=(("PYTHONPATH", str(code)),))


def test_of_two_clients_at_once_the_one_of_another_version_is_refused_and_the_other_is_not_disturbed(
    cluster, one_machine, tmp_path
):
    cluster.worker("same")
    cluster.registered("same")
    homes = (cluster.home, of_another_version(cluster.home, tmp_path))
    mine, other = (cluster.client(home) for home in homes)

    refused = ended(other, code=1)
    ended(mine)

    assert f"has caniexport {__version__} (" in refused
    assert "this is 0.0.9 (" in refused
    assert "no worker has the caniexport that asks" in refused
    assert_as_one_machine(cluster.home, one_machine)


def test_a_shard_that_fails_ends_the_client_with_the_reason_and_the_worker(cluster, tmp_path):
    home = cluster.home.copy(tmp_path / "broken", with_rows=False)
    asked = home.folder / "tox.ini"
    asked.write_text(asked.read_text().replace("python -m pytest", "python -m nothing_of_this_name"))
    cluster.worker("broken", home)

    said = ended(cluster.client(cluster.home), code=1)

    (line, *_) = [line for line in said.splitlines() if "-1-of-3 failed: could not be measured: " in line]
    assert "No module named nothing_of_this_name" in line
    assert "(on tcp://" in line


def test_a_worker_of_another_version_gets_nothing_and_both_versions_are_named(cluster, one_machine, tmp_path):
    older = of_another_version(cluster.home, tmp_path)
    cluster.worker("older", older)

    refused = ended(cluster.client(cluster.home), code=1)
    assert "has caniexport 0.0.9 (" in refused
    assert "no worker has the caniexport that asks" in refused

    cluster.worker("same")
    cluster.registered("same")
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
    cluster.registered("full", "roomy")

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
    lacking = cluster.home.copy(tmp_path / "lacking", with_rows=False)
    cluster.worker("lacking", with_changed_code(lacking, tmp_path / "site", _WITHOUT_PYTHON))
    cluster.registered("lacking")

    alone = ended(cluster.client(cluster.home), code=1)
    assert "it needs Python" in alone
    assert "failed" in alone

    cluster.worker("whole")
    cluster.registered("whole")
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
