"""Runs of further runtimes: which of several rows speaks."""

from __future__ import annotations

from store_rows import cell, environment

from caniexport.model.journal import Journal
from caniexport.model.rows import RUNS
from caniexport.store import Dataset, compact, writer

#: content hashes of files
B1, B2, B3 = "b1" * 12, "b2" * 12, "b3" * 12


def run(**changes):
    row = dict.fromkeys(column.name for column in RUNS)
    row.update(
        {name: cell()[name] for name in ("case", "variant", "provider", "runtime", "measured_at", "stage", "status")},
        bundle=B1,
        runtime_version="1.23.2",
        device="cpu",
        env_id="env-1",
        run_id="run-1",
    )
    row.update(changes)
    return row


def write_runs(folder, rows):
    writer.write_rows(folder / "runs" / "onnxruntime-cpu.parquet", "runs", rows)


def journal_runs(folder, rows, environments=()):
    with Journal(folder / "journal", "runs") as journal:
        for row in environments:
            journal.environment(row)
        for row in rows:
            journal.run(row, {})


def statuses(dataset, bundles=(B1, B2)):
    return sorted(dataset.replays(bundles, ("bundle", "runtime_version", "status")))


def test_of_runs_of_one_file_the_local_then_the_newest_speaks(tmp_path):
    published, local = tmp_path / "results", tmp_path / "local"
    write_runs(published, [run(), run(bundle=B2, status="fail"), run(bundle=B3)])
    journal_runs(local, [run(status="mismatch", measured_at="2025-01-01T00:00:00Z")], [environment()])
    compact(local)
    journal_runs(local, [run(runtime_version="1.31.1"), run(runtime_version="1.31.1", status="crash")])
    dataset = Dataset.open(published, local)

    assert statuses(dataset) == [
        (B1, "1.23.2", "mismatch", "local"),
        (B1, "1.31.1", "crash", "local"),
        (B2, "1.23.2", "fail", "published"),
    ]


def test_a_run_that_measured_nothing_does_not_hide_an_older_one_that_did(tmp_path):
    local = tmp_path / "local"
    journal_runs(local, [run(), run(status="invalid", measured_at="2026-06-01T00:00:00Z")], [environment()])

    assert statuses(Dataset.open(None, local)) == [(B1, "1.23.2", "pass", "local")]
    compact(local)
    assert statuses(Dataset.open(None, local)) == [(B1, "1.23.2", "pass", "local")]


def test_of_runs_in_several_environments_one_is_taken(tmp_path):
    write_runs(tmp_path, [run(), run(env_id="env-2", status="fail", measured_at="2026-06-01T00:00:00Z")])
    dataset = Dataset.open(tmp_path, None)

    assert statuses(dataset) == [(B1, "1.23.2", "fail", "published")]
    assert dataset.run_groups(("env_id",), {}) == [("env-1",), ("env-2",)]


def test_runs_of_a_quarantined_run_do_not_speak(tmp_path):
    local = tmp_path / "local"
    journal_runs(local, [run(), run(bundle=B2, run_id="run-2")], [environment(), environment(run_id="run-2", gate="x")])
    compact(local)

    assert statuses(Dataset.open(None, local)) == [(B1, "1.23.2", "pass", "local")]
