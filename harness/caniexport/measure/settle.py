"""After a run of either table: rows for what got none, the gate's verdict, and compaction."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from caniexport.gate.repeats import find_differing
from caniexport.gate.verdict import judge_run
from caniexport.model.canaries import is_canary
from caniexport.model.journal import Journal
from caniexport.model.status import Stage, Status
from caniexport.runtime_releases import KINDS, Kind
from caniexport.store import Dataset, compact
from caniexport.store.gates import GOOD
from caniexport.store.journal_reader import read_journals

if TYPE_CHECKING:
    from pathlib import Path

    from caniexport.measure.job import Job

Row = dict[str, Any]
#: a row and the texts that it refers to, by id
RowTexts = tuple[Row, dict[str, str]]

_TEXTS = ("message_id", "warning_id", "checker_id")


class SettledRun(NamedTuple):
    """What became of a run.

    written      the rows that it wrote itself
    problem      why the gate refuses them; empty if it accepts them
    invalid      rows that measured nothing, by reason
    environment  its environment's row
    interrupted  a line for each earlier run of its environment that was judged with it, and is in quarantine
    """

    written: Sequence[Row]
    problem: str
    invalid: dict[str, int]
    environment: Row
    interrupted: tuple[str, ...] = ()


def settle(
    job: Job, again: Path | None = None, missing: Callable[[Sequence[Row]], Sequence[RowTexts]] = lambda _: ()
) -> SettledRun:
    """Complete a run: add the missing rows, judge it, compact the local dataset.

    again    local dataset of a second measurement of some of its cells, if there was one
    missing  returns rows, with their texts, for what has none among the rows that the run wrote
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
        write_run(job, {}, due, 0)
        return SettledRun([], "not measured", {}, environment)
    if again is not None:
        second = Dataset.open(None, again).records("cells")
        environment["repeated"], environment["differing"] = find_differing(written, second)
    rows = [*written, *(row for row, _ in due)]
    problem = write_run(job, environment, due, len(job.todo), written)
    interrupted = () if problem else _judge_interrupted(job, environment, rows)
    invalid = Counter(str(row["signature"]).rpartition("|")[2] for row in rows if row["status"] == Status.INVALID.value)
    return SettledRun(written, problem, dict(invalid.most_common()), environment, interrupted)


def write_run(job: Job, environment: Row, new: Sequence[RowTexts], planned: int, written: Sequence[Row] = ()) -> str:
    """Write a run's ``new`` rows and its environment's row, and compact. Return why the gate refuses it; empty if not.

    planned  how many cells or bundles the run planned
    written  rows of the run that are there already
    """
    local, rows = job.options.local, [*written, *(row for row, _ in new)]
    if new:
        with Journal(local / "journal", f"settle-{job.run_id}") as journal:
            write_rows(journal, job.table, new)
    word = judge_rows(job.table, rows, environment, planned, job.pins) if rows else ""
    shard = str(job.options.shard) if job.options.shard else None
    write_verdicts(local, [with_verdict({**environment, "shard": shard}, word, rows, planned)] if environment else [])
    return "" if word == GOOD else word


def judge_rows(table: str, rows: Sequence[Row], environment: Row, planned: int, pins: Sequence[str]) -> str:
    """Return ``good``, or why the rows of a run may not be published; arguments as of :func:`judge_run`."""
    if table == "runs" and rows[0]["bundle"] is None:
        # of a plugin that is installed it is a measurement that onnxruntime does not take it, or that it has no device
        is_plugin = KINDS.get(rows[0]["runtime"]) is Kind.PLUGIN
        is_told = is_plugin and rows[0]["stage"] in (Stage.LOAD.value, Stage.PLACE.value)
        return GOOD if is_told else f"not measured: {rows[0]['signature']}"
    return judge_run(table, rows, environment, planned, pins)


def with_verdict(environment: Row, word: str, rows: Iterable[Row], planned: int | None) -> Row:
    """Return the row of a run's environment with its verdict ``word``, the number of rows, and their codes."""
    rows = list(rows)
    codes = sorted({row["code"] for row in rows if row["code"]})
    return {**environment, "gate": word, "planned": planned, "rows": len(rows), "codes": codes or None}


def write_verdicts(local: Path, environments: Sequence[Row]) -> None:
    """Write rows of environments that have a verdict, and compact the local dataset."""
    if environments:
        with Journal(local / "journal", f"verdict-{environments[0]['run_id']}") as journal:
            for row in environments:
                journal.environment(with_text_time(row))
    compact(local)


def write_rows(journal: Journal, table: str, rows: Iterable[RowTexts]) -> None:
    """Append rows of a table, each with its texts."""
    write = journal.cell if table == "cells" else journal.run
    for row, texts in rows:
        write(with_text_time(row), texts)


def with_text_time(row: Row) -> Row:
    """The row as a journal takes it: its time as text."""
    return {**row, "measured_at": str(row["measured_at"])}


def with_texts(rows: Sequence[Row], *datasets: Dataset) -> list[RowTexts]:
    """The rows, each with the texts that it refers to and one of the datasets has."""
    ids = {row.get(name) for row in rows for name in _TEXTS}
    texts = {name: text for dataset in datasets for name, text in dataset.messages(ids).items()}
    return [(row, {row[name]: texts[row[name]] for name in _TEXTS if row.get(name) in texts}) for row in rows]


def copy_bundles(folders: Iterable[Path], local: Path) -> None:
    """Put the exported files of other datasets beside those of the local one."""
    for path in (path for folder in folders for path in (folder / "bundles").glob("*/*.zip")):
        target = local / "bundles" / path.parent.name / path.name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_suffix(".part")
            shutil.copy(path, part)
            part.replace(target)


def _judge_interrupted(job: Job, environment: Row, rows: Sequence[Row]) -> tuple[str, ...]:
    """Judge the runs in a run's environment that were ended before anybody could; a line for each in quarantine.

    Each is judged by the rows it left, with the canaries of the run that came after it: ``rows``. How many it had
    planned is not known. One that is still going is left alone.
    """
    local, env_id = job.options.local, environment["env_id"]
    dataset = Dataset.open(None, local)
    unjudged = [row for row in dataset.records("environments", {"env_id": (env_id,)}) if row["gate"] is None]
    journals = read_journals(local) if unjudged else None
    going = {row["run_id"] for row in [*journals.cells, *journals.runs, *journals.environments]} if journals else set()
    canaries = [row for row in rows if is_canary(row["case"] or "")]
    verdicts = []
    for other in unjudged:
        left = dataset.records(job.table, {"run_id": (other["run_id"],), "env_id": (env_id,)})
        if left and other["run_id"] not in going:
            every = [*left, *canaries]
            verdicts.append(with_verdict(other, judge_rows(job.table, every, other, len(every), job.pins), left, None))
    if verdicts:
        write_verdicts(local, verdicts)
    bad = [row for row in verdicts if row["gate"] != GOOD]
    return tuple(f"the interrupted run {row['run_id']} is {row['gate']}; measure again" for row in bad)
