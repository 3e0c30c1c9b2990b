"""``measure``: drive tox release by release, count what comes, and say plainly what could not be measured."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from caniexport.gate.repeats import sample
from caniexport.machine import interpreters
from caniexport.measure.deliveries import write_delivery
from caniexport.measure.done import done_cells, done_environment_cases, in_turn, measured_before
from caniexport.measure.job import CellsJob, MeasureOptions, ReleaseReport, cell_name, new_run_id, utc_now
from caniexport.measure.missing_rows import make_missing_rows
from caniexport.measure.progress import Progress
from caniexport.measure.resolve_profile import resolve
from caniexport.measure.settle import SettledRun, settle
from caniexport.measure.shards import CutShard, Shard, cut, digest, past_microseconds
from caniexport.measure.tox_calls import (
    cells_variables,
    failure,
    make_shared_environment,
    run_again,
    run_job,
    table_with,
)
from caniexport.model import corpus as corpus_module
from caniexport.model import plan, releases
from caniexport.model.errors import EnvironmentUnavailable
from caniexport.model.journal import Journal
from caniexport.model.rows import MEASURING_VERSION
from caniexport.store import Dataset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from caniexport.model.corpus import LoadedCase
    from caniexport.model.releases import Release

#: doubtful cells that are measured apart without being asked: each takes a process, twice
_SETTLED_AT_ONCE = 500
_DIFFER = "are of variants that differ when measured again"
_MOVED = "were published with another outcome, of the same case in the same environment"


def measure(
    options: MeasureOptions, say: Callable[[str], None] = print, listen: Callable[[], None] = lambda: None
) -> list[ReleaseReport]:
    """Measure what is new, release by release; a release that cannot be measured does not stop the others.

    ``say`` is given each line for a person, ``listen`` is called twice a second while cells are measured. Raises
    :class:`~caniexport.model.errors.UnknownName` for a release that is not in the table, before anything is started.
    """
    if options.rolling:
        options.budget.check()
    chosen = chosen_releases(options)
    corpus = corpus_module.load(options.home.corpora, stand_in=True)
    dataset, progress = measured_before(options), Progress(say, listen=listen)
    jobs = [_planned(job, dataset) for job in _jobs(options, chosen, corpus, progress)]
    if options.plan:
        return [_only_planned(job) for job in jobs]
    environment_cases = _environment_cases(options, corpus)
    progress.begin({job.label: len(job.todo) for job in jobs if job.todo})
    reports = [_delivered(job, _measure_in_turn(job)) for job in jobs]
    if options.rolling:
        options.budget.finish()
    if environment_cases:
        reports.append(_measure_environment_cases(options, environment_cases, say))
    return reports


def _jobs(
    options: MeasureOptions, chosen: Sequence[Release], corpus: dict[str, LoadedCase], progress: Progress
) -> list[CellsJob]:
    """The runs of these releases, not planned yet."""
    variables = {} if options.plan else cells_variables(options)
    return [
        _resolved(
            CellsJob(
                options=options,
                environment=releases.environment_name(release.torch, options.profile.name, options.provider),
                label=f"torch {release.torch}",
                release=release,
                corpus=corpus,
                selection=tuple(_selection(options)),
                limits=tuple(_limits(options)),
                # tox.ini names the first folder of cases
                folders=tuple(map(str, options.home.corpora[1:])),
                variables=variables,
                progress=progress,
            )
        )
        for release in chosen
    ]


def _resolved(job: CellsJob) -> CellsJob:
    """The job with the pins of its profile, or why there are none."""
    try:
        return replace(job, release=resolve(job.release, job.options.profile, job.options.local / "pins"))
    except EnvironmentUnavailable as error:
        return replace(job, unresolved=str(error))


def _limits(options: MeasureOptions) -> Iterator[str]:
    yield from ("--cell-timeout", str(options.timeout))
    if options.memory is not None:
        yield from ("--cell-memory", str(options.memory))


def _selection(options: MeasureOptions) -> Iterator[str]:
    for case in options.cases:
        yield from ("--case", case)
    for exporter in options.exporters:
        yield from ("--exporter", exporter)
    for opset in options.opsets:
        yield from ("--opset", str(opset))


def _measure_in_turn(job: CellsJob) -> ReleaseReport:
    """One release, when no other process measures it into the same folder, with a Python that this machine has."""
    options, release = job.options, job.release
    with in_turn(job, _planned) as job:
        if job.unresolved:
            return _not_entered(job, job.unresolved)
        fitting = interpreters.fitting(release) if job.todo else release
        if fitting is None:
            return _without_python(job)
        if fitting is not release:
            job = _planned(replace(job, release=fitting))
        if not job.todo:
            job.tell("nothing new to measure")
            return ReleaseReport(release.torch, 0, 0, 0.0)
        if options.rolling:
            options.budget.make_room(job.say)
        measure_it = _measure_apart if options.apart else _measure_release
        if fitting is not release:
            job.tell(f"measured with Python {fitting.python}, for this machine has no {release.python}")
        if fitting == releases.find(fitting.torch):
            return measure_it(job)
        with table_with(fitting, options.local):
            return measure_it(job)


def _without_python(job: CellsJob) -> ReleaseReport:
    """The report of a release whose Python is not to be had here; the dataset says so in one row."""
    lacks = f"Python {job.release.python}"
    why = interpreters.why_none(job.release.python)
    reason = f"it needs {lacks}, which is not on this machine and which uv could not fetch ({why})"
    return replace(_not_entered(job, reason), lacks=lacks)


def _delivered(job: CellsJob, report: ReleaseReport) -> ReleaseReport:
    """The report, with the file of a shard's rows."""
    path = write_delivery(job) if job.shard else None
    return replace(report, shard=str(job.shard or ""), file=str(path or ""))


def _not_entered(job: CellsJob, reason: str) -> ReleaseReport:
    """The report of a release that has no environment here; the dataset says so in one row."""
    settle(job, missing=lambda rows: make_missing_rows(job, rows, reason))
    job.tell(f"could not be measured: {reason}")
    return ReleaseReport(job.release.torch, len(job.todo), 0, 0.0, f"could not be measured: {reason}")


def _only_planned(job: CellsJob) -> ReleaseReport:
    job.tell(f"{len(job.todo) or 'nothing new'} to measure")
    return ReleaseReport(job.release.torch, len(job.todo), 0, 0.0)


def chosen_releases(options: MeasureOptions) -> list[Release]:
    """The releases that were asked for, or the default ones."""
    if options.releases == ("all",):
        return list(releases.table())
    if options.releases:
        return [releases.find(name) for name in options.releases]
    names = releases.DEFAULT_RELEASES
    return [item for item in releases.table() if item.torch in names] or list(releases.table())


def _planned(job: CellsJob, dataset: Dataset | None = None) -> CellsJob:
    """The job with what is to be measured, and what needs no measuring. Canaries come with every run that measures."""
    options, corpus, release = job.options, job.corpus, job.release
    cells = plan.cells(corpus, release, options.provider, _taking(options))
    if options.shard:
        cells, shard = _part(options, release, cells, options.shard)
        job = replace(job, shard=shard, part=cells)
    if options.cells:
        return replace(job, todo=_named(cells, corpus, release, options.cells), done=frozenset())
    dataset = dataset or measured_before(options)
    again = options.fresh or options.apart
    done = frozenset() if again else done_cells(dataset, release, options.provider)
    new = [cell for cell in cells if cell.key not in done]
    canaries = {cell.case for cell in cells if corpus[cell.case].cls.corpus == "canary"}
    # nothing but what comes along: all is done, or the cases named have no cell here (environment cases have none)
    asked = {name.partition("/")[0] for name in options.cases}
    if (done or asked) and all(cell.case in canaries - asked for cell in new) and not _waits(release, dataset):
        return replace(job, todo=[], done=done)
    done = frozenset(key for key in done if key.split(":")[2] not in canaries)
    return replace(job, todo=[cell for cell in cells if cell.key not in done], done=done)


def _taking(options: MeasureOptions) -> plan.Selection:
    return plan.Selection(frozenset(options.cases), frozenset(options.exporters), frozenset(options.opsets))


def plan_of(options: MeasureOptions, release: Release) -> list[plan.Cell]:
    """Every cell of a release that was asked for, measured or not."""
    corpus = corpus_module.load(options.home.corpora, stand_in=True)
    return plan.cells(corpus, release, options.provider, _taking(options))


def _part(
    options: MeasureOptions, release: Release, cells: Sequence[plan.Cell], shard: Shard
) -> tuple[list[plan.Cell], CutShard]:
    """The cells of a shard, and which part of the plan they are. What rows took is asked of the published ones."""
    took = past_microseconds(Dataset.open(options.home.published, None), release.torch)
    parts = cut(cells, shard.of, took)
    mine = parts[shard.number - 1]
    return mine, CutShard(shard, len(mine), digest(parts))


def _named(
    cells: list[plan.Cell], corpus: dict[str, LoadedCase], release: Release, names: frozenset[str]
) -> list[plan.Cell]:
    """The cells that are named, with the canaries that judge their run; none where none is named."""
    wanted = {cell.key for cell in cells if cell_name(release.torch, cell) in names}
    return [cell for cell in cells if wanted and (cell.key in wanted or corpus[cell.case].cls.corpus == "canary")]


def _waits(release: Release, dataset: Dataset) -> bool:
    """Whether rows wait for the gate's word: the newest run was ended after its last cell, before it was judged."""
    runs = dataset.records("environments", {"spec": (release.spec,)})
    newest = sorted(runs, key=lambda row: str(row["measured_at"] or ""))[-1:]
    return any(row["gate"] is None for row in newest)


def _measure_release(job: CellsJob) -> ReleaseReport:
    """One tox run, then the gate and the compaction of what it wrote; what its A/A sample saw differ is settled."""
    started = time.monotonic()
    options = job.options
    if job.shard:
        make_shared_environment(job)
    code = run_job(job, only=bool(options.cells or options.shard))
    again = _measure_again(job) if code == 0 and options.whole and options.repeat else None
    settled = _settle(job, code, again)
    for line in settled.interrupted:
        job.tell(line)
    moved = _moved(job, settled)
    for doubtful, why in ((_differing(job, settled), _DIFFER), (moved, _MOVED)):
        _settle_doubtful(job, doubtful, why)
    names = tuple(cell_name(job.release.torch, cell) for cell in moved)
    job.progress.end(job.label, len(job.todo), settled.rows, settled.problem)
    _tell_end(job, settled)
    report = _ended(job, len(job.todo), settled.rows, started, settled.problem)
    return replace(report, invalid=settled.invalid, moved=names)


def _settle_doubtful(job: CellsJob, cells: list[plan.Cell], why: str) -> None:
    """Measure these cells apart, unless they are too many to do so without being asked."""
    if len(cells) > _SETTLED_AT_ONCE:
        job.tell(f"{len(cells)} cells {why}; measure --held-back measures them apart and twice")
    elif cells:
        job.tell(f"{len(cells)} cells {why}")
        _settle_apart(job, cells)


def _tell_end(job: CellsJob, settled: SettledRun) -> None:
    if settled.invalid:
        words = "; ".join(f"{count} {reason}" for reason, count in settled.invalid.items())
        job.tell(f"invalid rows, whose cells stay unmeasured: {words}")
    if settled.problem:
        job.tell(f"{settled.problem} (log: {job.log})")
    elif releases.is_proposal(job.release):
        job.say(f"{job.label} is not in the table of releases; with these pins it was measured:")
        job.say(f"    {releases.as_entry(job.release)}")


def _measure_apart(job: CellsJob) -> ReleaseReport:
    """The cells asked for, each apart and twice."""
    started = time.monotonic()
    wanted = [cell for cell in job.todo if job.corpus[cell.case].cls.corpus != "canary"] or job.todo
    rows, problem = _settle_apart(job, wanted)
    job.progress.end(job.label, len(job.todo), rows, problem)
    return _ended(job, len(wanted), rows, started, problem)


def _settle_apart(job: CellsJob, cells: Sequence[plan.Cell]) -> tuple[int, str]:
    """Measure cells apart and twice as a run of its own; the rows and the problem, if any."""
    from caniexport.measure.apart import settle_apart

    every = plan.cells(job.corpus, job.release, job.options.provider)
    canaries = [cell for cell in every if job.corpus[cell.case].cls.corpus == "canary"]
    settled = settle_apart(replace(job, run_id=new_run_id()), cells, canaries)
    told = f"{settled.rows} rows of cells measured apart and twice, {settled.unstable} of them unstable"
    job.tell(told + (f"; {settled.problem}" if settled.problem else ""))
    return settled.rows, settled.problem


def _ended(job: CellsJob, planned: int, rows: int, started: float, problem: str) -> ReleaseReport:
    """The report of a release, whose environment goes where it was asked to."""
    job.clean()
    return ReleaseReport(job.release.torch, planned, rows, time.monotonic() - started, problem)


def _measure_again(job: CellsJob) -> Path | None:
    """A/A: a sample measured a second time; where its rows are. A failure of it leaves the run without."""
    local = job.options.local / "again" / job.environment
    shutil.rmtree(local, ignore_errors=True)
    parts = job.shard.shard.of if job.shard else 1
    drawn = sample(job.todo, -(-job.options.repeat // parts), job.run_id)
    ways = ((drawn.alone, ["--apart", "--bare"]), (drawn.together, ["--reverse"]))
    return local if all(run_again(job, cells, local, how) == 0 for cells, how in ways if cells) else None


def _differing(job: CellsJob, settled: SettledRun) -> list[plan.Cell]:
    """The cells of every variant of which the A/A sample saw one differ; none where the run's rows may not be used."""
    from caniexport.gate.held_back import differing_variants

    found = set() if settled.problem or not settled.environment else differing_variants(settled.environment)
    return [cell for cell in job.todo if (cell.case, cell.variant, cell.exporter) in found]


def _moved(job: CellsJob, settled: SettledRun) -> list[plan.Cell]:
    """The cells with another outcome than their published row has; none where the run's rows may not be used."""
    from caniexport.gate.held_back import moved_cells

    if settled.problem:
        return []
    torch, home = job.release.torch, job.options.home
    found = set(moved_cells(home.published, home.local, torch))
    return [cell for cell in job.todo if cell_name(torch, cell) in found]


def _settle(job: CellsJob, code: int, again: Path | None) -> SettledRun:
    """After tox: judge the run, add a row for each cell that has none, compact."""
    reason = failure(job.log) if code else ""
    settled = settle(job, again, lambda rows: make_missing_rows(job, rows, reason))
    if again is not None:
        shutil.rmtree(again, ignore_errors=True)
    if settled.rows == 0:
        why = reason.splitlines()[0] if reason else "tox wrote no row"
        return settled._replace(problem=f"could not be measured: {why}")
    return settled


def _environment_cases(options: MeasureOptions, corpus: dict[str, LoadedCase]) -> list[LoadedCase]:
    """Environment cases are measured when they are named, and with the default or all releases; never in a shard."""
    found = [item for item in corpus.values() if item.is_environment]
    if options.shard:
        return []
    if options.cases:
        return [item for item in found if item.id in options.cases]
    return found if options.releases in ((), ("all",)) and not options.exporters and not options.opsets else []


def _measure_environment_cases(
    options: MeasureOptions, cases: list[LoadedCase], say: Callable[[str], None]
) -> ReleaseReport:
    from caniexport.measure.environment_cases import measure_environment_case
    from caniexport.store import compact

    started = time.monotonic()
    run_id = new_run_id()
    done = frozenset() if options.fresh else done_environment_cases(Dataset.open(None, options.local))
    rows = 0
    with Journal(options.home.local / "journal", f"environment-cases-{run_id}") as journal:
        for item in cases:
            wanted = [name for name in item.environment_variants if (item.id, name, item.case_hash(name)) not in done]
            if not wanted:
                continue
            say(f"environment case {item.id}: installing {len(wanted)} variant(s)")
            for row, messages in measure_environment_case(item, interpreters.uv(), _interpreter):
                row.update(run_id=run_id, measured_at=utc_now(), measuring=MEASURING_VERSION)
                journal.cell(row, messages)
                rows += 1
    compact(options.home.local)
    return ReleaseReport("environment cases", rows, rows, time.monotonic() - started)


def _interpreter(minor: str) -> str | None:
    path = interpreters.find(minor)
    return str(path) if path else None
