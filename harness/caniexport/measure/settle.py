"""After a run of either table: rows for what got none, the gate's verdict, and compaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from caniexport.gate.repeats import differing
from caniexport.gate.verdict import judge
from caniexport.model.canaries import is_canary
from caniexport.model.journal import Journal
from caniexport.model.status import Status
from caniexport.store import Dataset, compact
from caniexport.store.gates import GOOD
from caniexport.store.journal_reader import read_journals

if TYPE_CHECKING:
    from pathlib import Path

    from caniexport.measure.job import Job

Row = dict[str, Any]
#: a row and the texts that it refers to, by id
MissingRow = tuple[Row, Mapping[str, str]]

_WRITE = {"cells": Journal.cell, "runs": Journal.run}


class SettledRun(NamedTuple):
    """What became of a run.

    written      the rows that it wrote itself
    problem      what the gate said of them; empty where they are good
    invalid      rows that measured nothing, by reason
    environment  its environment's row
    interrupted  a line for each earlier run of its environment that was judged with it, and is in quarantine
    """

    written: Sequence[Row]
    problem: str
    invalid: dict[str, int]
    environment: Mapping[str, Any]
    interrupted: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """How many rows it wrote."""
        return len(self.written)


def _none_missing(_: Sequence[Row]) -> list[MissingRow]:
    return []


def settle(
    job: Job, again: Path | None = None, missing: Callable[[Sequence[Row]], Sequence[MissingRow]] = _none_missing
) -> SettledRun:
    """Complete a run: add the rows that ``missing`` gives beside those it wrote, judge it, compact.

    ``again`` is the local dataset of a second measurement of some of its cells, if there was one.
    """
    local = job.options.local
    dataset = Dataset.open(None, local)
    # wherever they are by now: another process may have compacted the run's journals
    written = dataset.records(job.table, {"run_id": (job.run_id,)})
    environment: Row = next(reversed(dataset.records("environments", {"run_id": (job.run_id,)})), {})
    due = missing(written)
    for row, _ in due:
        row["env_id"] = environment.get("env_id")
    if not written:
        _write_rows(job.table, local, due)
        compact(local)
        return SettledRun([], "not measured", {}, environment)
    if again is not None:
        environment["repeated"], environment["differing"] = differing(written, rows_of(again))
    rows = [*written, *(row for row, _ in due)]
    problem = write_run(job, environment, due, len(job.todo), written)
    interrupted = () if problem else _judge_interrupted(job, environment, rows)
    return SettledRun(written, problem, _invalid(rows), environment, interrupted)


def _invalid(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Rows that measured nothing, by the reason that their signatures end with; the most frequent first."""
    found = Counter(str(row["signature"]).rpartition("|")[2] for row in rows if row["status"] == Status.INVALID.value)
    return dict(found.most_common())


def write_run(
    job: Job, environment: Mapping[str, Any], new: Sequence[MissingRow], planned: int, written: Sequence[Row] = ()
) -> str:
    """Judge a run, write its ``new`` rows and its environment's row, compact the local dataset; the gate's problem.

    ``written`` are rows of the run that are there already.
    """
    local, rows = job.options.local, [*written, *(row for row, _ in new)]
    if environment and job.shard:
        environment = dict(environment, shard=str(job.shard))
    _write_rows(job.table, local, new)
    word = verdict(job.table, rows, environment, planned, job.pins)
    write_verdicts(local, [judged(environment, word, rows, planned)] if environment else [])
    return "" if word == GOOD else word


def verdict(
    table: str, rows: Sequence[Mapping[str, Any]], environment: Mapping[str, Any], planned: int, pins: Sequence[str]
) -> str:
    """``good``, or why the rows of a run may not be published."""
    if table == "runs" and rows[0]["bundle"] is None:
        return f"not measured: {rows[0]['signature']}"
    return judge(table, rows, environment, planned, pins)


def judged(
    environment: Mapping[str, Any], word: str, rows: Iterable[Mapping[str, Any]], planned: int | None
) -> dict[str, Any]:
    """The row of a run's environment with the verdict, and with what its rows say of the run."""
    rows = list(rows)
    codes = sorted({row["code"] for row in rows if row["code"]})
    return dict(environment, gate=word, planned=planned, rows=len(rows), codes=codes or None)


def write_verdicts(local: Path, environments: Sequence[Mapping[str, Any]]) -> None:
    """Write rows of environments that have a verdict, and compact the local dataset."""
    if environments:
        with Journal(local / "journal", f"verdict-{environments[0]['run_id']}") as journal:
            for row in environments:
                journal.environment(timed(row))
    compact(local)


def _write_rows(table: str, local: Path, new: Sequence[MissingRow]) -> None:
    if new:
        with Journal(local / "journal", f"settle-{new[0][0]['run_id']}") as journal:
            for row, texts in new:
                _WRITE[table](journal, timed(row), dict(texts))


def _judge_interrupted(job: Job, environment: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Judge the runs in a run's environment that were ended before anybody could; a line for each in quarantine.

    Each is judged by the rows it left, with the canaries of the run that came after it: ``rows``. How many it had
    planned is not known. One that is still going is left alone.
    """
    local, env_id = job.options.local, environment["env_id"]
    dataset = Dataset.open(None, local)
    unjudged = [row for row in dataset.records("environments", {"env_id": (env_id,)}) if row["gate"] is None]
    going = _going(local) if unjudged else set()
    canaries = [row for row in rows if is_canary(row["case"] or "")]
    found, verdicts = [], []
    for other in unjudged:
        left = dataset.records(job.table, {"run_id": (other["run_id"],), "env_id": (env_id,)})
        if left and other["run_id"] not in going:
            every = [*left, *canaries]
            word = verdict(job.table, every, other, len(every), job.pins)
            verdicts.append(judged(other, word, left, None))
            again = f"the interrupted run {other['run_id']} is {word}; measure again"
            found += [] if word == GOOD else [again]
    if verdicts:
        write_verdicts(local, verdicts)
    return tuple(found)


def _going(local: Path) -> set[str]:
    """Runs that have rows in a journal, which somebody holds."""
    entries = read_journals(local)
    return {row["run_id"] for row in [*entries.cells, *entries.runs, *entries.environments]}


def rows_of(local: Path) -> list[Row]:
    """Every row of cells in a local dataset."""
    return Dataset.open(None, local).records("cells")


def environment_of(local: Path) -> Row:
    """The last environment's row of a local dataset; empty where it has none."""
    return next(reversed(Dataset.open(None, local).records("environments")), {})


def timed(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row as a journal takes it: its time as text."""
    return dict(row, measured_at=str(row["measured_at"]))
