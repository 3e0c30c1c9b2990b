"""``measure``: drive tox release by release, count what comes, and say plainly what could not be measured."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from caniexport.gate.held_back import differing_variants, moved_cells
from caniexport.gate.repeats import draw_sample
from caniexport.machine import interpreters
from caniexport.machine.disk import require_room
from caniexport.machine.turns import wait_for_turn
from caniexport.measure.apart import write_apart_run
from caniexport.measure.describe import write_cases
from caniexport.measure.done import find_done_cells, find_done_environment_cases, open_done, take_turn
from caniexport.measure.environment_cases import measure_environment_case
from caniexport.measure.job import CellsJob, MeasureOptions, ReleaseReport, format_cell, make_run_id, utc_now
from caniexport.measure.missing_rows import make_missing_rows
from caniexport.measure.progress import Progress
from caniexport.measure.resolve_profile import resolve_profile
from caniexport.measure.settle import SettledRun, settle
from caniexport.measure.tox_calls import make_cells_variables, make_environment, read_failure, run_again, run_job
from caniexport.model import corpus as corpus_module
from caniexport.model import plan, releases
from caniexport.model.canaries import is_canary
from caniexport.model.errors import EnvironmentUnavailable
from caniexport.model.journal import Journal
from caniexport.model.rows import MEASURING_VERSION
from caniexport.profiles import MorePackages
from caniexport.store import Dataset, compact

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from caniexport.model.corpus import LoadedCase
    from caniexport.model.releases import Release

#: doubtful cells that are measured apart without being asked: each takes a process, twice
_SETTLED_AT_ONCE = 500
#: cells of a shard that are measured a second time at least: the gate lets one of a hundred differ
_REPEATED_OF_A_SHARD = 100
_DIFFER = "are of variants that differ when measured again"
_MOVED = "were published with another outcome, of the same case in the same environment"


def measure(options: MeasureOptions, say: Callable[[str], None] = print) -> list[ReleaseReport]:
    """Measure what is new, release by release; a release that cannot be measured does not stop the others.

    ``say`` is given each line for a person.
    """
    jobs = plan_jobs(options, say)
    if options.plan:
        for job in jobs:
            job.tell(f"{len(job.todo) or 'nothing new'} to measure")
        return [ReleaseReport(job.release.torch, len(job.todo), 0, 0.0) for job in jobs]
    environment_cases = _environment_cases(options, jobs[0].corpus)
    write_cases(options.home, jobs[0].corpus)
    jobs[0].progress.begin({job.label: len(job.todo) for job in jobs if job.todo})
    reports = [_measure_in_turn(job) for job in jobs]
    if environment_cases:
        reports.append(_measure_environment_cases(options, environment_cases, say))
    return reports


def plan_jobs(options: MeasureOptions, say: Callable[[str], None] = print) -> list[CellsJob]:
    """The run of each release, with what is to be measured in it."""
    corpus = corpus_module.load(options.home.corpora, stand_in=True)
    dataset, progress = open_done(options), Progress(say)
    asked = {"--case": options.cases, "--exporter": options.exporters, "--opset": options.opsets}
    selection = [word for option, values in asked.items() for value in values for word in (option, str(value))]
    more = MorePackages.read(options.home.cases / "packages.toml")
    jobs = []
    for release in options.releases or find_default_releases():
        job = CellsJob(
            options=options,
            environment=releases.make_environment_name(release.torch, options.profile.name, options.provider),
            label=f"torch {release.torch}",
            release=release,
            corpus=corpus,
            arguments=("--cell-timeout", str(options.timeout), *selection),
            variables={} if options.plan else make_cells_variables(options),
            progress=progress,
        )
        try:
            job = replace(job, release=resolve_profile(release, options.profile, options.local / "pins", more))
        except EnvironmentUnavailable as error:
            job = replace(job, unresolved=str(error))
        jobs.append(_plan_job(job, dataset))
    return jobs


def find_default_releases() -> list[Release]:
    """The releases that are measured where none is asked for."""
    table = releases.read_table()
    return [item for item in table if item.torch in releases.DEFAULT_RELEASES] or list(table)


def _plan_job(job: CellsJob, dataset: Dataset | None = None) -> CellsJob:
    """The job with what is to be measured, and what needs no measuring. Canaries come with every run that measures."""
    options, release = job.options, job.release
    wanted = plan.Selection(frozenset(options.cases), frozenset(options.exporters), frozenset(options.opsets))
    cells = plan.cells(job.corpus, release, options.provider, wanted)
    if options.cells:
        named = {cell.key for cell in cells if format_cell(release.torch, cell) in options.cells}
        mine = [cell for cell in cells if named and (cell.key in named or is_canary(cell.case))]
        return replace(job, todo=mine, done=frozenset())
    if options.shard:
        cells = list(filter(options.shard.holds, cells))
    dataset = dataset or open_done(options)
    again = options.fresh or options.apart
    done = frozenset() if again else find_done_cells(dataset, release.torch, release.spec, options.provider)
    new = [cell for cell in cells if cell.key not in done]
    # nothing but what comes along: all is done, or the cases named have no cell here (environment cases have none)
    asked = {name.partition("/")[0] for name in options.cases}
    alone = all(is_canary(cell.case) and cell.case not in asked for cell in new)
    if (done or asked or options.shard) and alone and not _is_unjudged(release, dataset):
        return replace(job, todo=[], done=done)
    done -= {cell.key for cell in cells if is_canary(cell.case)}
    return replace(job, todo=[cell for cell in cells if cell.key not in done], done=done)


def _is_unjudged(release: Release, dataset: Dataset) -> bool:
    """Whether rows wait for the gate's word: the newest run was ended after its last cell, before it was judged."""
    runs = dataset.records("environments", {"spec": (release.spec,)})
    newest = sorted(runs, key=lambda row: str(row["measured_at"] or ""))[-1:]
    return any(row["gate"] is None for row in newest)


def _measure_in_turn(job: CellsJob) -> ReleaseReport:
    """One release, when no other process measures it into the same folder, with a Python that this machine has."""
    options, release = job.options, job.release
    with take_turn(job, _plan_job) as job:
        if job.unresolved:
            return _report_unavailable(job, job.unresolved)
        fitting = interpreters.find_fitting(release) if job.todo else release
        if fitting is None:
            why = interpreters.explain_missing(release.python)
            reason = (
                f"it needs Python {release.python}, which is not on this machine and which uv could not fetch ({why})"
            )
            return replace(_report_unavailable(job, reason), lacks=f"Python {release.python}")
        if fitting is not release:
            job = _plan_job(replace(job, release=fitting))
        if not job.todo:
            job.tell("nothing new to measure")
            return ReleaseReport(release.torch, 0, 0, 0.0)
        if options.rolling:
            require_room(options.home.root)
        if fitting is not release:
            job.tell(f"measured with Python {fitting.python}, for this machine has no {release.python}")
        report = _measure_apart(job) if options.apart else _measure_release(job)
        job.clean()
        return report


def _report_unavailable(job: CellsJob, reason: str) -> ReleaseReport:
    """The report of a release that has no environment here; the dataset says so in one row."""
    settle(job, missing=lambda rows: make_missing_rows(job, rows, reason))
    job.tell(f"could not be measured: {reason}")
    return ReleaseReport(job.release.torch, len(job.todo), 0, 0.0, f"could not be measured: {reason}")


def _measure_release(job: CellsJob) -> ReleaseReport:
    """One tox run, then the gate and the compaction of what it wrote; what its A/A sample saw differ is settled."""
    started, options, torch = time.monotonic(), job.options, job.release.torch
    if options.shard:  # those that are measured side by side have it in common
        with wait_for_turn(options.home.environments, job.environment, job.progress.say):
            make_environment(options.home, job.environment, job.log, job.release)
    code = run_job(job, only=bool(options.cells or options.shard))
    again = _measure_again(job) if code == 0 and options.whole and options.repeat else None
    settled = _settle(job, code, again)
    for line in settled.interrupted:
        job.tell(line)
    moved: list[plan.Cell] = []
    if not settled.problem:
        differing = differing_variants(settled.environment)
        _settle_doubtful(
            job, [cell for cell in job.todo if (cell.case, cell.variant, cell.exporter) in differing], _DIFFER
        )
        found = set(moved_cells(options.home.published, options.home.local, torch))
        moved = [cell for cell in job.todo if format_cell(torch, cell) in found]
        _settle_doubtful(job, moved, _MOVED)
    job.progress.end(job.label, len(job.todo), len(settled.written), settled.problem)
    if settled.invalid:
        words = "; ".join(f"{count} {reason}" for reason, count in settled.invalid.items())
        job.tell(f"invalid rows, whose cells stay unmeasured: {words}")
    if settled.problem:
        job.tell(f"{settled.problem} (log: {job.log})")
    elif releases.is_proposal(job.release):
        job.progress.say(f"{job.label} is not in the table of releases; with these pins it was measured:")
        job.progress.say(f"    {releases.format_entry(job.release)}")
    return ReleaseReport(
        torch,
        len(job.todo),
        len(settled.written),
        time.monotonic() - started,
        settled.problem,
        invalid=settled.invalid,
        moved=tuple(format_cell(torch, cell) for cell in moved),
    )


def _settle_doubtful(job: CellsJob, cells: Sequence[plan.Cell], why: str) -> None:
    """Measure these cells apart, unless they are too many to do so without being asked."""
    if len(cells) > _SETTLED_AT_ONCE:
        job.tell(f"{len(cells)} cells {why}; measure --held-back measures them apart and twice")
    elif cells:
        job.tell(f"{len(cells)} cells {why}")
        _write_apart_run(job, cells)


def _measure_apart(job: CellsJob) -> ReleaseReport:
    """The cells asked for, each apart and twice."""
    started = time.monotonic()
    wanted = [cell for cell in job.todo if not is_canary(cell.case)] or job.todo
    rows, problem = _write_apart_run(job, wanted)
    job.progress.end(job.label, len(job.todo), rows, problem)
    return ReleaseReport(job.release.torch, len(wanted), rows, time.monotonic() - started, problem)


def _write_apart_run(job: CellsJob, cells: Sequence[plan.Cell]) -> tuple[int, str]:
    """Measure cells apart and twice as a run of its own; the rows and the problem, if any."""
    every = plan.cells(job.corpus, job.release, job.options.provider)
    canaries = [cell for cell in every if is_canary(cell.case)]
    settled = write_apart_run(replace(job, run_id=make_run_id()), cells, canaries)
    counts = f"{settled.rows} rows of cells measured apart and twice, {settled.unstable} of them unstable"
    job.tell("; ".join(filter(None, (counts, settled.problem))))
    return settled.rows, settled.problem


def _measure_again(job: CellsJob) -> Path | None:
    """A/A: a sample measured a second time; where its rows are. A failure of it leaves the run without."""
    local, count = job.options.local / "again" / job.environment, job.options.repeat
    if job.options.shard:
        count = max(count // job.options.shard.of, min(count, _REPEATED_OF_A_SHARD))
    shutil.rmtree(local, ignore_errors=True)
    drawn = draw_sample(job.todo, count, job.run_id)
    ways = ((drawn.alone, ["--apart", "--bare"]), (drawn.together, ["--reverse"]))
    return local if all(run_again(job, cells, local, how) == 0 for cells, how in ways if cells) else None


def _settle(job: CellsJob, code: int, again: Path | None) -> SettledRun:
    """After tox: judge the run, add a row for each cell that has none, compact."""
    reason = read_failure(job.log) if code else ""
    settled = settle(job, again, lambda rows: make_missing_rows(job, rows, reason))
    if again is not None:
        shutil.rmtree(again, ignore_errors=True)
    if not settled.written:
        why = reason.splitlines()[0] if reason else "tox wrote no row"
        return settled._replace(problem=f"could not be measured: {why}")
    return settled


def _environment_cases(options: MeasureOptions, corpus: dict[str, LoadedCase]) -> list[LoadedCase]:
    """Environment cases are measured when they are named, and with the default or all releases; never in a shard."""
    found = [item for item in corpus.values() if item.is_environment and not options.shard]
    if options.cases:
        return [item for item in found if item.id in options.cases]
    is_default = not options.releases or options.releases == releases.read_table()
    return found if is_default and not options.exporters and not options.opsets else []


def _measure_environment_cases(
    options: MeasureOptions, cases: list[LoadedCase], say: Callable[[str], None]
) -> ReleaseReport:
    started, run_id, rows = time.monotonic(), make_run_id(), 0
    done = frozenset() if options.fresh else find_done_environment_cases(Dataset.open(None, options.local))
    with Journal(options.local / "journal", f"environment-cases-{run_id}") as journal:
        for item in cases:
            wanted = [name for name in item.environment_variants if (item.id, name, item.case_hash(name)) not in done]
            if not wanted:
                continue
            say(f"environment case {item.id}: installing {len(wanted)} variant(s)")
            for row, messages in measure_environment_case(item, interpreters.find_uv(), interpreters.find_python):
                row.update(run_id=run_id, measured_at=utc_now(), measuring=MEASURING_VERSION)
                journal.cell(row, messages)
                rows += 1
    compact(options.local)
    return ReleaseReport("environment cases", rows, rows, time.monotonic() - started)
