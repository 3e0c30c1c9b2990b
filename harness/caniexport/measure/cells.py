"""``measure``: drive tox release by release, count what comes, and say plainly what could not be measured."""

from __future__ import annotations

import shutil
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from caniexport.gate.repeats import sample
from caniexport.machine import interpreters
from caniexport.machine.turns import turn
from caniexport.measure.job import MeasureOptions, ReleaseReport, cell_name, new_run_id, utc_now
from caniexport.measure.progress import Progress
from caniexport.measure.settle import SettledRun, settle
from caniexport.measure.tox_calls import ToxCall, failure, table_with
from caniexport.model import corpus as corpus_module
from caniexport.model import plan, releases
from caniexport.model.journal import Journal
from caniexport.model.rows import MEASURING_VERSION, cell_key
from caniexport.model.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from caniexport.measure.settle import SettledRun
    from caniexport.model.corpus import LoadedCase
    from caniexport.model.releases import Release
    from caniexport.store import Dataset

#: rows with these statuses say nothing, so their cells are measured again
_UNMEASURED = frozenset({Status.INVALID.value, Status.NOT_RUN.value, Status.SKIP.value})


#: doubtful cells that are measured apart without being asked: each takes a process, twice
_SETTLED_AT_ONCE = 500
_DIFFER = "are of variants that differ when measured again"
_MOVED = "were published with another outcome, of the same case in the same environment"


def measure(options: MeasureOptions, say: Callable[[str], None] = print) -> list[ReleaseReport]:
    """Measure what is new, release by release; a release that cannot be measured does not stop the others.

    ``say`` is given each line for a person. Raises :class:`~caniexport.model.errors.UnknownName` for a release that is
    not in the table, before anything is started.
    """
    from caniexport.store import Dataset

    if options.rolling:
        options.budget.check()
    chosen = _chosen(options)
    corpus = corpus_module.load(options.home.corpora, stand_in=True)
    progress = Progress(say)
    dataset = Dataset.open(options.home.published if options.missing else None, options.home.local)
    work = [(release, *_todo(options, corpus, release, dataset)) for release in chosen]
    if options.plan:
        return [_only_planned(release, len(todo), say) for release, todo, _ in work]
    environment_cases = _environment_cases(options, corpus)
    progress.begin({release.torch: len(todo) for release, todo, _ in work if todo})
    reports = [_measure_in_turn(options, corpus, *planned, progress, say) for planned in work]
    if options.rolling:
        options.budget.finish()
    if environment_cases:
        reports.append(_measure_environment_cases(options, environment_cases, say))
    return reports


def _measure_in_turn(
    options: MeasureOptions,
    corpus: dict[str, LoadedCase],
    release: Release,
    todo: list[plan.Cell],
    done: frozenset[str],
    progress: Progress,
    say: Callable[[str], None],
) -> ReleaseReport:
    """One release, when no other process measures it into the same folder, with a Python that this machine has."""
    from caniexport.store import Dataset

    nothing = ReleaseReport(release.torch, 0, 0, 0.0)
    name = f"torch{release.torch}-{options.provider}"
    with turn(options.home.local, name, say) if todo else nullcontext(False) as waited:
        fitting = interpreters.fitting(release) if todo else release
        if fitting is None:
            return _without_python(options, release, todo, say)
        if waited or fitting is not release:
            dataset = Dataset.open(options.home.published if options.missing else None, options.home.local)
            todo, done = _todo(options, corpus, fitting, dataset)
        if not todo:
            say(f"torch {release.torch}: nothing new to measure")
            return nothing
        if options.rolling:
            options.budget.make_room(say)
        measure_it = _measure_apart if options.apart else _measure_release
        if fitting is release:
            return measure_it(options, release, todo, done, corpus, progress, say)
        say(f"torch {release.torch}: measured with Python {fitting.python}, for this machine has no {release.python}")
        with table_with(fitting, options.home.local):
            return measure_it(options, fitting, todo, done, corpus, progress, say)


def _without_python(
    options: MeasureOptions, release: Release, todo: list[plan.Cell], say: Callable[[str], None]
) -> ReleaseReport:
    """The report of a release whose Python is not to be had here; the dataset says so in one row."""
    from caniexport.measure.settle import settle

    lacks = f"Python {release.python}"
    why = interpreters.why_none(release.python)
    reason = f"it needs {lacks}, which is not on this machine and which uv could not fetch ({why})"
    settle(options.home.local, release, options.provider, todo, new_run_id(), reason)
    say(f"torch {release.torch}: could not be measured: {reason}")
    return ReleaseReport(release.torch, len(todo), 0, 0.0, f"could not be measured: {reason}", lacks)


def _only_planned(release: Release, cells: int, say: Callable[[str], None]) -> ReleaseReport:
    say(f"torch {release.torch}: {cells or 'nothing new'} to measure")
    return ReleaseReport(release.torch, cells, 0, 0.0)


def _chosen(options: MeasureOptions) -> list[Release]:
    if options.releases == ("all",):
        return list(releases.table())
    if options.releases:
        return [releases.find(name) for name in options.releases]
    names = releases.DEFAULT_RELEASES
    return [item for item in releases.table() if item.torch in names] or list(releases.table())


def _todo(
    options: MeasureOptions, corpus: dict[str, LoadedCase], release: Release, dataset: Dataset
) -> tuple[list[plan.Cell], frozenset[str]]:
    """The cells to measure, and the keys of those that need none. Canaries come with every run that measures."""
    selection = plan.Selection(frozenset(options.cases), frozenset(options.exporters), frozenset(options.opsets))
    cells = plan.cells(corpus, release, options.provider, selection)
    if options.cells:
        return _named(cells, corpus, release, options.cells), frozenset()
    done = frozenset() if options.fresh or options.apart else _done(options.provider, release, dataset)
    new = [cell for cell in cells if cell.key not in done]
    canaries = {cell.case for cell in cells if corpus[cell.case].cls.corpus == "canary"}
    # nothing but what comes along: all is done, or the cases named have no cell here (environment cases have none)
    asked = {name.partition("/")[0] for name in options.cases}
    if (done or asked) and all(cell.case in canaries - asked for cell in new) and not _waits(release, dataset):
        return [], done
    done = frozenset(key for key in done if key.split(":")[2] not in canaries)
    return [cell for cell in cells if cell.key not in done], done


def _named(
    cells: list[plan.Cell], corpus: dict[str, LoadedCase], release: Release, names: frozenset[str]
) -> list[plan.Cell]:
    """The cells that are named, with the canaries that judge their run; none where none is named."""
    wanted = {cell.key for cell in cells if cell_name(release.torch, cell) in names}
    return [cell for cell in cells if wanted and (cell.key in wanted or corpus[cell.case].cls.corpus == "canary")]


def _waits(release: Release, dataset: Dataset) -> bool:
    """Whether rows wait for the gate's word: the newest run was ended after its last cell, before it was judged."""
    environments = dataset.environments()
    runs = environments[environments["spec"] == release.spec].sort_values("measured_at", kind="stable")
    return bool(len(runs) and runs["gate"].isna().iloc[-1])


def _done(provider: str, release: Release, dataset: Dataset) -> frozenset[str]:
    """Keys of the cells that have a row measured with the same pins."""
    environments = dataset.environments()
    same = set(environments.loc[environments["spec"] == release.spec, "env_id"])
    cells = dataset.cells(torch=release.torch, provider=provider)
    cells = cells[cells["env_id"].isin(same) & ~cells["status"].isin(_UNMEASURED) & cells["case"].notna()]
    columns = ["case_hash", "measuring", "case", "variant", "exporter", "opset", "provider"]
    cells = cells[columns].astype(object).where(cells[columns].notna(), None)
    return frozenset(cell_key(*values) for values in cells.itertuples(index=False, name=None))


def _measure_release(
    options: MeasureOptions,
    release: Release,
    todo: list[plan.Cell],
    done: frozenset[str],
    corpus: dict[str, LoadedCase],
    progress: Progress,
    say: Callable[[str], None],
) -> ReleaseReport:
    """One tox run, then the gate and the compaction of what it wrote; what its A/A sample saw differ is settled."""
    started = time.monotonic()
    call = _call(options, release)
    only = frozenset(cell.key for cell in todo) if options.cells else frozenset()
    code = call.run(done, progress, only)
    again = _measure_again(call, todo) if code == 0 and options.whole and options.repeat else None
    settled = _settle(call, todo, code, again)
    for line in settled.interrupted:
        say(f"torch {release.torch}: {line}")
    moved = _moved(options, release.torch, todo, settled)
    for doubtful, why in ((_differing(todo, settled), _DIFFER), (moved, _MOVED)):
        if len(doubtful) > _SETTLED_AT_ONCE:
            say(
                f"torch {release.torch}: {len(doubtful)} cells {why}; measure --held-back measures them apart and twice"
            )
        elif doubtful:
            say(f"torch {release.torch}: {len(doubtful)} cells {why}")
            _settle_apart(call, doubtful, corpus, say)
    names = tuple(cell_name(release.torch, cell) for cell in moved)
    problem = settled.problem
    progress.end_release(release.torch, len(todo), settled.rows, problem)
    if settled.invalid:
        words = "; ".join(f"{count} {reason}" for reason, count in settled.invalid.items())
        say(f"torch {release.torch}: invalid rows, whose cells stay unmeasured: {words}")
    if problem:
        say(f"torch {release.torch}: {problem} (log: {call.log})")
    elif releases.is_proposal(release):
        say(f"torch {release.torch} is not in the table of releases; with these pins it was measured:")
        say(f"    {releases.as_entry(release)}")
    return replace(_ended(call, len(todo), settled.rows, started, problem), invalid=settled.invalid, moved=names)


def _measure_apart(
    options: MeasureOptions,
    release: Release,
    todo: list[plan.Cell],
    _done: frozenset[str],
    corpus: dict[str, LoadedCase],
    progress: Progress,
    say: Callable[[str], None],
) -> ReleaseReport:
    """The cells asked for, each apart and twice."""
    started = time.monotonic()
    call = _call(options, release)
    wanted = [cell for cell in todo if corpus[cell.case].cls.corpus != "canary"] or todo
    rows, problem = _settle_apart(call, wanted, corpus, say)
    progress.end_release(release.torch, len(todo), rows, problem)
    return _ended(call, len(wanted), rows, started, problem)


def _settle_apart(
    call: ToxCall, cells: list[plan.Cell], corpus: dict[str, LoadedCase], say: Callable[[str], None]
) -> tuple[int, str]:
    """Measure cells apart and twice as a run of its own; the rows and the problem, if any."""
    from caniexport.measure.apart import settle_apart

    call = replace(call, run_id=new_run_id())
    every = plan.cells(corpus, call.release, call.options.provider)
    canaries = [cell for cell in every if corpus[cell.case].cls.corpus == "canary"]
    settled = settle_apart(call, cells, canaries)
    told = f"torch {call.release.torch}: {settled.rows} rows of cells measured apart and twice"
    say(f"{told}, {settled.unstable} of them unstable" + (f"; {settled.problem}" if settled.problem else ""))
    return settled.rows, settled.problem


def _call(options: MeasureOptions, release: Release) -> ToxCall:
    """A new run of a release: its environment, and where its output goes."""
    name = f"torch{release.torch}-{options.provider}"
    return ToxCall(options, release, new_run_id(), name, options.home.local / "logs" / f"{name}.log")


def _ended(call: ToxCall, planned: int, rows: int, started: float, problem: str) -> ReleaseReport:
    """The report of a release, whose environment goes where it was asked to."""
    if call.options.rolling:
        shutil.rmtree(call.options.home.root / ".tox" / call.name, ignore_errors=True)
    return ReleaseReport(call.release.torch, planned, rows, time.monotonic() - started, problem)


def _measure_again(call: ToxCall, todo: list[plan.Cell]) -> Path | None:
    """A/A: a sample measured a second time; where its rows are. A failure of it leaves the run without."""
    local = call.options.home.local / "again" / call.name
    shutil.rmtree(local, ignore_errors=True)
    drawn = sample(todo, call.options.repeat, call.run_id)
    ways = ((drawn.alone, ["--apart", "--bare"]), (drawn.together, ["--reverse"]))
    return local if all(call.again(cells, local, how) == 0 for cells, how in ways if cells) else None


def _differing(todo: list[plan.Cell], settled: SettledRun) -> list[plan.Cell]:
    """The cells of every variant of which the A/A sample saw one differ; none where the run may not speak at all."""
    from caniexport.gate.held_back import differing_variants

    found = set() if settled.problem or not settled.environment else differing_variants(settled.environment)
    return [cell for cell in todo if (cell.case, cell.variant, cell.exporter) in found]


def _moved(options: MeasureOptions, torch: str, todo: list[plan.Cell], settled: SettledRun) -> list[plan.Cell]:
    """The cells with another outcome than their published row has; none where the run may not speak at all."""
    from caniexport.gate.moved import moved_cells

    if settled.problem:
        return []
    found = set(moved_cells(options.home.published, options.home.local, torch))
    return [cell for cell in todo if cell_name(torch, cell) in found]


def _settle(call: ToxCall, todo: list[plan.Cell], code: int, again: Path | None) -> SettledRun:
    """After tox: judge the run, add the rows it owes, compact."""
    options, reason = call.options, failure(call.log) if code else ""
    # counted where they are by now: another process on the same folder may have compacted them
    settled = settle(options.home.local, call.release, options.provider, todo, call.run_id, reason, again)
    if again is not None:
        shutil.rmtree(again, ignore_errors=True)
    if settled.rows == 0:
        why = reason.splitlines()[0] if reason else "tox wrote no row"
        return settled._replace(problem=f"could not be measured: {why}")
    return settled


def _environment_cases(options: MeasureOptions, corpus: dict[str, LoadedCase]) -> list[LoadedCase]:
    """Environment cases are measured when they are named, and with the default or all releases."""
    found = [item for item in corpus.values() if item.is_environment]
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
    done = frozenset() if options.fresh else _environment_done(options)
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


def _environment_done(options: MeasureOptions) -> frozenset[tuple[str, str, str]]:
    from caniexport.store import Dataset

    cells = Dataset.open(None, options.home.local).cells()
    cells = cells[cells["exporter"].isna() & cells["case"].notna() & ~cells["status"].isin(_UNMEASURED)]
    return frozenset(cells[["case", "variant", "case_hash"]].itertuples(index=False, name=None))


def _interpreter(minor: str) -> str | None:
    path = interpreters.find(minor)
    return str(path) if path else None
