"""``measure --runtime``: bundles that this machine has, run by further releases of a runtime."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.bundles.pack import COLUMNS, PackedBundle, find_bundles, pack_bundles
from caniexport.machine import interpreters
from caniexport.measure.done import find_done_replays, open_done, take_turn
from caniexport.measure.job import ReplaysJob, RunReport
from caniexport.measure.progress import Progress
from caniexport.measure.settle import settle
from caniexport.measure.tox_calls import read_failure, run_job
from caniexport.model.canaries import CANARY
from caniexport.runner.archive import Archive
from caniexport.store import Dataset
from caniexport.worker.process_tree import die_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from caniexport.home import Home
    from caniexport.measure.job import ReplayOptions


def measure_replays(options: ReplayOptions, say: Callable[[str], None]) -> list[RunReport]:
    """Run new bundles on each release; a release without an environment is reported and skipped."""
    archive = options.archive or _pack(options, say)
    wanted, before, progress = Archive(archive).entries, open_done(options), Progress(say, "bundles")
    jobs = []
    for release in options.runtimes:
        provider = options.provider or release.providers[0]
        job = ReplaysJob(
            options=options,
            environment=release.environment(provider),
            label=release.text,
            release=release,
            provider=provider,
            wanted=wanted,
            arguments=("--workers", str(options.workers), "--timeout", str(options.timeout)),
            variables={"CANIEXPORT_ARCHIVE": str(archive.resolve())},
            progress=progress,
        )
        jobs.append(_plan_job(job, before))
    progress.begin({job.label: len(job.todo) for job in jobs if job.todo})
    return [_measure_in_turn(job) for job in jobs]


def select_bundles(
    dataset: Dataset,
    home: Home,
    torch: Sequence[str],
    cases: Sequence[str],
    exporters: Sequence[str] = (),
    opsets: Sequence[int] = (),
) -> list[PackedBundle]:
    """The bundles of these releases, cases (``case`` or ``case/variant``), exporters and opsets.

    Canaries come along whatever the cases; so does the default call, which names no opset, whatever the opsets.
    """
    where: dict[str, Sequence[Any]] = {
        **({"torch": torch} if torch else {}),
        **({"exporter": exporters} if exporters else {}),
        **({"opset": (*opsets, None)} if opsets else {}),
    }
    rows = dataset.select(COLUMNS, where, runtimes=True)
    if cases:
        rows = [row for row in rows if {row[3], f"{row[3]}/{row[4]}"} & {*cases} or row[2] == CANARY]
    return find_bundles(rows, home.read_cases())


def _pack(options: ReplayOptions, say: Callable[[str], None]) -> Path:
    dataset, file = Dataset.open(options.home.published, options.home.local), options.home.local / "bundles.zip"
    file.parent.mkdir(parents=True, exist_ok=True)
    found = select_bundles(dataset, options.home, options.torch, options.cases, options.exporters, options.opsets)
    report = pack_bundles(file, found, options.home.local / "bundles")
    say(f"{report.bundles} bundles for {report.cells} cells" + describe_missing(report.missing))
    return file


def describe_missing(missing: int) -> str:
    """Return a note on bundles that rows name and this machine lacks; empty for none."""
    if not missing:
        return ""
    return f"; {missing} more are not on this machine (`caniexport measure` of their releases makes them)"


def _plan_job(job: ReplaysJob, dataset: Dataset | None = None) -> ReplaysJob:
    """The job with what is to be run, and what needs no running."""
    dataset = dataset or open_done(job.options)
    done = frozenset() if job.options.fresh else find_done_replays(dataset, job.release, job.provider)
    return replace(job, todo=[entry for entry in job.wanted if entry.key not in done], done=done)


def _measure_in_turn(job: ReplaysJob) -> RunReport:
    """One tox run, then the gate and the compaction of what it wrote."""
    empty = RunReport(job.release.runtime, job.release.version, job.provider, job.run_id, 0, {}, "")
    with take_turn(job, _plan_job) as job:
        if not job.todo:
            job.tell("nothing new to run")
            return empty
        code = run_job(job)
        settled = settle(job)
        job.clean()
    reason = read_failure(job.log).splitlines()[0] if code else "it wrote no row"
    report = replace(empty, problem=f"could not be run: {reason}")
    if settled.written:
        report = RunReport.of(settled.written, settled.problem)
    job.progress.end(job.label, len(job.todo), report.rows, report.problem)
    if report.problem:
        job.tell(f"{report.problem} (log: {job.log})")
    return report


def run_here(archive: Path, arguments: Sequence[str], python: str = "") -> int:
    """Run an archive with the Python at hand (or another one: a path, or ``3.8``), in whatever is installed there."""
    found = interpreters.find_python(python) if python and not Path(python).exists() else None
    command = str(found) if found else python or sys.executable
    alone = die_with_parent if os.name == "posix" else None
    return subprocess.run([command, str(archive), *arguments], check=False, preexec_fn=alone).returncode
