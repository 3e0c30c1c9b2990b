"""Several machines measure one release: their rows together are those of one machine, and what is owed is named."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from mini import build, runner
from mini.home import Home

pytestmark = pytest.mark.measures

OLD, NEW = build.ERAS
SHARDS = 8


@dataclass(frozen=True)
class Machines:
    """A home with a whole release, and a folder with what eight machines delivered of it."""

    home: Home
    delivered: Path

    @property
    def files(self) -> list[Path]:
        return sorted(self.delivered.glob("*.jsonl"))


@pytest.fixture(scope="module")
def machines(made_home, tmp_path_factory):
    """One machine measures a release whole, eight measure a part each: homes of their own, one environment."""
    folder = tmp_path_factory.mktemp("machines")
    home = made_home.copy(folder / "a home")
    home.caniexport("measure", "--release", OLD, "--workers", "2")
    delivered = folder / "delivered"
    for number in range(1, SHARDS + 1):
        machine = home.copy(folder / f"machine-{number}", with_rows=False)
        # the A/A sample is the first one's alone: each starts tox twice more
        words = ["--shard", f"{number}/{SHARDS}", "--to", str(delivered), *(["--repeat", "0"] if number > 1 else [])]
        machine.caniexport("measure", "--release", OLD, *words)
    return Machines(home, delivered)


@pytest.fixture
def empty(machines, tmp_path):
    """A machine that has measured nothing."""
    return machines.home.copy(tmp_path / "home", with_rows=False)


def data_of(home):
    """Every byte of the tables that a merge writes."""
    local = home.folder / "results-local"
    paths = [*local.glob("cells/*.parquet"), local / "environments.parquet", local / "messages.parquet"]
    return {path.name: path.read_bytes() for path in paths}


def merged(home, *places, code=0):
    return json.loads(home.caniexport("measure", "--merge", *map(str, places), "--json", code=code).stdout)


def test_eight_machines_give_the_rows_of_one(machines, empty):
    (report,) = merged(empty, machines.delivered)

    assert empty.cells(OLD) == machines.home.cells(OLD)
    assert (report["missing"], report["owed"], report["problem"]) == ([], [], "")
    assert {row["gate"] for row in empty.table_rows("results-local", "environments")} == {"good"}
    repeated = [row["repeated"] for row in empty.table_rows("results-local", "environments") if row["repeated"]]
    assert repeated == [-(-500 // SHARDS)] or repeated == [len(machines.files[0].read_bytes().splitlines()) - 1]
    assert "nothing new to measure" in empty.caniexport("measure", "--release", OLD).stderr


def test_each_delivery_is_named_for_its_release_shard_and_run(machines):
    names = [path.name for path in machines.files]

    assert len(names) == SHARDS
    for number in range(1, SHARDS + 1):
        (name,) = [name for name in names if name.startswith(f"torch{OLD}-cpu-{number}-of-{SHARDS}-")]
        runs = {
            row["run_id"]
            for row in map(json.loads, (machines.delivered / name).read_text().splitlines())
            for row in [row["row"]]
        }
        assert name.removesuffix(".jsonl").endswith(max(runs))


def test_the_order_of_files_and_of_merges_changes_no_byte(machines, tmp_path):
    found = []
    for number, order in enumerate((machines.files, machines.files[::-1])):
        home = machines.home.copy(tmp_path / f"at-once-{number}", with_rows=False)
        merged(home, *order)
        found.append(data_of(home))
    late = machines.home.copy(tmp_path / "one-after-the-other", with_rows=False)
    for paths in (machines.files[5:], machines.files[2:4], machines.files[:6]):
        merged(late, *paths, code=0 if paths == machines.files[:6] else 1)
    found.append(data_of(late))

    assert found[0]
    assert found[1] == found[0]
    assert found[2] == found[0]


def test_a_missing_shard_is_named_with_its_cells_and_the_exit_code_is_1(machines, empty):
    (report,) = merged(empty, *[path for path in machines.files if "-3-of-8-" not in path.name], code=1)

    assert report["missing"] == ["3/8"]
    have = {(row["case"], row["variant"], row["exporter"], row["opset"]) for row in empty.rows()}
    assert len(report["owed"]) == len(runner.expected(OLD)) - len(have) > 0
    said = empty.caniexport("measure", "--merge", str(machines.files[0]), code=1).stdout
    assert "missing: shards 3/8" in said

    empty_again = merged(empty, machines.delivered)
    assert empty_again[0]["owed"] == []


def test_the_cells_that_are_owed_can_be_measured_here(machines, empty, tmp_path):
    (report,) = merged(empty, *machines.files[1:], code=1)
    (tmp_path / "owed.txt").write_text("\n".join(report["owed"]))

    empty.caniexport("measure", "--cells", str(tmp_path / "owed.txt"))

    assert empty.cells(OLD) == machines.home.cells(OLD)


def test_a_shard_delivered_twice_counts_once(machines, empty, tmp_path):
    shutil.copytree(machines.delivered, tmp_path / "again")
    first = merged(empty, machines.delivered)
    before = data_of(empty)

    kept = empty.folder / "results-local" / "shards"
    assert merged(empty, machines.delivered, tmp_path / "again", kept) == first
    assert data_of(empty) == before
    assert len(list(kept.iterdir())) == SHARDS


def test_a_part_without_a_canary_says_nothing_of_the_whole_that_comes_later(machines, empty, tmp_path):
    head, *rows = machines.files[2].read_bytes().splitlines(keepends=True)
    (tmp_path / "part.jsonl").write_bytes(b"".join([head, *(row for row in rows if b'"canary-pass"' not in row)]))

    # what a client keeps of a scheduler that was killed when a worker had just begun
    kept = empty.folder / "results-local" / "shards"
    kept.mkdir(parents=True)
    (kept / f"torch{OLD}-cpu-3-of-{SHARDS}-begun.part.jsonl").write_bytes(head)
    (report,) = merged(empty, tmp_path / "part.jsonl", code=1)
    assert "quarantined: no row of canary-pass" in report["problem"]

    assert merged(empty, machines.delivered)[0]["problem"] == ""
    assert empty.cells(OLD) == machines.home.cells(OLD)


def test_a_shard_half_delivered_is_used_as_far_as_it_goes_and_the_rest_is_owed(machines, empty, tmp_path):
    half = tmp_path / "half.jsonl"
    data = machines.files[2].read_bytes()
    half.write_bytes(data[: len(data) // 2])

    (report,) = merged(empty, half, *machines.files[:2], *machines.files[3:], code=1)

    assert report["missing"] == []
    assert 0 < len(report["owed"]) < len(runner.expected(OLD)) / SHARDS * 2
    assert report["problem"] == ""
    # and whole, it completes the dataset
    assert merged(empty, machines.delivered)[0]["owed"] == []
    assert empty.cells(OLD) == machines.home.cells(OLD)


def rewritten(path, target, change):
    """A delivery whose rows were changed by somebody who can compute checksums."""
    from caniexport.model.journal import entry_line

    lines = []
    for line in path.read_bytes().splitlines():
        entry = json.loads(line)
        del entry["crc"]
        change(entry)
        lines.append(entry_line(entry))
    target.write_bytes(b"".join(lines))
    return target


def test_a_run_that_was_killed_among_its_canaries_is_judged_with_those_of_another(machines, empty, tmp_path):
    def of_another_run(entry):
        entry["row"]["run_id"] = "20200101T000000-dead"
        if entry["kind"] == "environment":
            entry["row"].update(planned=None, gate=None)

    killed = rewritten(machines.files[2], tmp_path / "whole.jsonl", of_another_run)
    lines = killed.read_bytes().splitlines(keepends=True)
    begun = tmp_path / "begun.jsonl"
    begun.write_bytes(b"".join(line for line in lines if b'"environment"' in line or b'"canary-pass"' in line))

    (report,) = merged(empty, begun)
    assert report["notes"] == ["1 runs that were ended before their canaries could judge them are not used"]
    (report,) = merged(empty, machines.delivered)
    assert report["notes"] == []
    assert {row["gate"] for row in empty.table_rows("results-local", "environments")} == {"good"}
    assert empty.cells(OLD) == machines.home.cells(OLD)


def test_rows_of_an_older_case_are_left_out_and_owed(machines, empty, tmp_path):
    def age(entry):
        if entry["kind"] == "cell" and not entry["row"]["case"].startswith("canary-"):
            entry["row"]["case_hash"] = "0" * 16

    older = rewritten(machines.files[0], tmp_path / "older.jsonl", age)
    (report,) = merged(empty, older, *machines.files[1:], code=1)

    assert report["outdated"] == len(report["owed"]) > 0
    assert not [row for row in empty.rows() if row["case_hash"] == "0" * 16]


@pytest.mark.parametrize("same_name", [False, True])
def test_two_files_that_say_different_things_of_a_cell_are_refused_and_nothing_is_merged(
    machines, empty, tmp_path, same_name
):
    def pass_all(entry):
        if entry["kind"] == "cell" and entry["row"]["status"] == "fail" and entry["row"]["corpus"] != "canary":
            entry["row"].update(status="pass", stage="done")

    path = next(path for path in machines.files if b'"fail"' in path.read_bytes())
    other = rewritten(path, tmp_path / (path.name if same_name else "other.jsonl"), pass_all)
    reply = empty.caniexport("measure", "--merge", str(machines.delivered), str(other), code=1)

    assert "different content, nothing was merged" in reply.stderr
    assert other.name in reply.stderr
    assert not (empty.folder / "results-local" / "cells").exists()


def test_a_machine_whose_canaries_surprise_is_quarantined_and_the_others_are_not(machines, empty, tmp_path):
    def lie(entry):
        if entry["kind"] == "cell" and entry["row"]["case"] == "canary-mismatch":
            entry["row"].update(status="pass", stage="done", env_id="f" * 16)
        elif entry["kind"] == "cell":
            entry["row"]["env_id"] = "f" * 16
        else:
            entry["row"].update(env_id="f" * 16, gate="good")

    lying = rewritten(machines.files[0], tmp_path / "lying.jsonl", lie)
    (report,) = merged(empty, lying, *machines.files[1:], code=1)

    assert "quarantined: canary-mismatch came out as pass" in report["problem"]
    assert report["owed"]
    gates = {row["env_id"]: row["gate"] for row in empty.table_rows("results-local", "environments")}
    assert gates.pop("f" * 16).startswith("quarantined")
    assert set(gates.values()) == {"good"}


def test_forged_canaries_contradict_those_of_the_others(machines, empty, tmp_path):
    def forge(entry):
        if entry["kind"] == "cell" and entry["row"]["case"] == "canary-pass" and entry["row"]["bundle"]:
            entry["row"]["bundle"] = "0" * 64

    forged = rewritten(machines.files[0], tmp_path / "forged.jsonl", forge)
    reply = empty.caniexport("measure", "--merge", str(forged), *map(str, machines.files[1:]), code=1)

    assert "canary-pass/plain" in reply.stderr
    assert "bundle is" in reply.stderr
    assert not (empty.folder / "results-local" / "cells").exists()


def test_made_up_rows_beside_true_canaries_are_found_when_some_cells_are_measured_here_too(machines, empty, tmp_path):
    def lie(entry):
        row = entry["row"]
        if entry["kind"] == "cell" and row["corpus"] != "canary":
            row.update(status="mismatch", stage="compare", signature="compare|made up")

    lying = rewritten(machines.files[0], tmp_path / "lying.jsonl", lie)
    reply = empty.caniexport(
        "measure", "--merge", str(lying), *map(str, machines.files[1:]), "--repeat", "4", "--json", code=1
    )

    (report,) = json.loads(reply.stdout)
    assert "cells came out otherwise when they were measured here (1 runs)" in report["problem"]
    assert report["owed"]
    gates = [row["gate"] for row in empty.table_rows("results-local", "environments")]
    assert len([gate for gate in gates if gate != "good"]) == 1
    # what was found out is not forgotten
    assert merged(empty, *machines.files[1:], code=1)[0]["problem"] == report["problem"]


def test_rows_of_somebody_else_are_theirs_until_a_sample_measured_here_agrees(machines, empty):
    first, *others = machines.files
    (report,) = merged(empty, first, "--by", "Jane Doe", "--at", "a board", code=1)
    said = re.fullmatch(
        r"contributed by Jane Doe \(a board\): 0 of ([0-9]+) cells were measured here too \(1 runs\)", report["problem"]
    )
    assert said
    assert empty.answer("table")["outcome"] == "not measured"

    (report,) = merged(empty, *others, code=1)
    assert len(report["owed"]) == int(said[1])
    assert empty.answer("table")["outcome"] == "listed"

    (report,) = merged(empty, first, "--repeat", "50")
    assert report["problem"] == ""
    assert empty.cells(OLD) == machines.home.cells(OLD)
    whose = {row["contributor"]: row["gate"] for row in empty.table_rows("results-local", "environments")}
    assert whose == {"Jane Doe": "good", None: "good"}


def test_a_folder_without_rows_and_a_place_that_is_not_there_are_told(empty, tmp_path):
    (tmp_path / "nothing").mkdir()

    assert "no rows in it" in empty.caniexport("measure", "--merge", str(tmp_path / "nothing"), code=1).stderr
    assert "is not there" in empty.caniexport("measure", "--merge", str(tmp_path / "nowhere"), code=1).stderr


def test_deliveries_travel_through_an_fsspec_url(machines, empty):
    (report,) = merged(empty, machines.delivered.as_uri())

    assert report["owed"] == []
    assert empty.cells(OLD) == machines.home.cells(OLD)
