"""What is owed after a run: rows for cells that got none, the gate's word, and compaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from caniexport.gate.repeats import identity
from caniexport.measure.job import utc_now
from caniexport.model.canaries import is_canary, surprises
from caniexport.model.journal import Journal
from caniexport.model.messages import describe
from caniexport.model.rows import CELLS, ENVIRONMENTS, MEASURING_VERSION
from caniexport.model.status import Stage, Status

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from caniexport.measure.job import CellsJob
    from caniexport.model.plan import Cell
    from caniexport.model.releases import Release

_NAMES = [column.name for column in CELLS]


class SettledRun(NamedTuple):
    """What became of a run.

    rows         how many it wrote
    problem      what the gate said of them; empty where they are good
    invalid      rows that measured nothing, by reason
    environment  its environment's row
    interrupted  a line for each earlier run of its environment that was judged with it, and is in quarantine
    """

    rows: int
    problem: str
    invalid: dict[str, int]
    environment: Mapping[str, Any]
    interrupted: tuple[str, ...] = ()


def settle(job: CellsJob, reason: str, again: Path | None = None) -> SettledRun:
    """Complete a run: as many rows as planned cells, judged, compacted.

    ``reason`` is why tox ended with an error; a run that wrote no row at all gets one ``resolve`` row with it.
    ``again`` is the local dataset of a second measurement of some of its cells, if there was one.
    """
    from caniexport.gate.repeats import differing
    from caniexport.store import compact

    local = job.options.local
    rows, environment = _written(local, job.run_id)
    if not rows:
        with Journal(local / "journal", f"settle-{job.run_id}") as journal:
            journal.cell(*_owed_row(job, None, reason or "the environment wrote no row"))
        compact(local)
        return SettledRun(0, "not measured", {}, environment)
    owed, texts = _owed(job, rows)
    for row in owed:
        row["env_id"] = environment.get("env_id")
    if again is not None:
        environment["repeated"], environment["differing"] = differing(rows, rows_of(again))
    problem = write_run(local, job.release, environment, owed, texts, len(job.todo), rows)
    interrupted = () if problem else _judge_interrupted(local, job.release, environment, [*rows, *owed])
    return SettledRun(len(rows), problem, _invalid([*rows, *owed]), environment, interrupted)


def _invalid(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Rows that measured nothing, by the reason that their signatures end with; the most frequent first."""
    found = Counter(str(row["signature"]).rpartition("|")[2] for row in rows if row["status"] == Status.INVALID.value)
    return dict(found.most_common())


def _owed(job: CellsJob, rows: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Rows for the planned cells that have none, and their texts."""
    measured = {identity(row) for row in rows}
    lost = [cell for cell in job.todo if (cell.case, cell.variant, cell.exporter, cell.opset) not in measured]
    surprise = next(surprises(rows), "")
    why = f"the run was ended: {surprise}" if surprise else "the process that measured it was lost"
    owed, texts = [], {}
    for cell in lost:
        row, messages = _owed_row(job, cell, why)
        owed.append(row)
        texts.update(messages)
    return owed, texts


def _owed_row(job: CellsJob, cell: Cell | None, text: str) -> tuple[dict[str, Any], dict[str, str]]:
    """A row for what could not be measured: one cell (``invalid``), or the whole release (``resolve``, no case)."""
    stage = Stage.RESOLVE if cell is None else Stage.EAGER
    kind = "Unavailable" if cell is None else "Lost"
    signature, identifier, kept = describe(stage.value, kind, text)
    row: dict[str, Any] = dict.fromkeys(column.name for column in CELLS)
    row.update(
        run_id=job.run_id,
        measured_at=utc_now(),
        torch=job.release.torch,
        python=job.release.python,
        corpus="documented",
        measuring=MEASURING_VERSION,
        provider=job.options.provider,
        stage=stage.value,
        status=(Status.NOT_RUN if cell is None else Status.INVALID).value,
        signature=signature,
        message_id=identifier,
    )
    if cell is not None:
        row.update(case=cell.case, variant=cell.variant, exporter=cell.exporter, opset=cell.opset)
        row.update(case_hash=cell.case_hash)
    return row, {identifier: kept}


def write_run(
    local: Path,
    release: Release,
    environment: Mapping[str, Any],
    rows: Sequence[dict[str, Any]],
    texts: Mapping[str, str],
    planned: int,
    written: Sequence[dict[str, Any]] = (),
) -> str:
    """Judge a run, write its rows and its environment's row into the local dataset, compact it; the gate's problem.

    ``written`` are rows of the run that are there already.
    """
    every = [*written, *rows]
    if rows:
        _write_rows(local, rows, texts)
    return _write_verdict(local, release, environment, every, planned)


def _write_rows(local: Path, rows: Sequence[dict[str, Any]], texts: Mapping[str, str]) -> None:
    with Journal(local / "journal", f"settle-{rows[0]['run_id']}") as journal:
        for row in rows:
            ids = (row["message_id"], row["warning_id"], row["checker_id"])
            journal.cell(_timed(row), {item: texts[item] for item in ids if item in texts})


def _write_verdict(
    local: Path,
    release: Release,
    environment: Mapping[str, Any],
    rows: Sequence[dict[str, Any]],
    planned: int | None,
    canaries: Sequence[dict[str, Any]] = (),
) -> str:
    """Judge a run by its rows, and by ``canaries`` of another; write the verdict, compact, and give the problem.

    Where it is not known how many cells were ``planned`` (the run was killed) those that have a row count.
    """
    from caniexport.gate.verdict import judge
    from caniexport.store import compact
    from caniexport.store.gates import GOOD

    judged = [*rows, *canaries]
    word = judge(judged, environment, len(judged) if planned is None else planned, list(release.requirements))
    if environment:
        codes = sorted({row["code"] for row in rows if row["code"]})
        told = dict(environment, gate=word, planned=planned, rows=len(rows), codes=codes or None)
        with Journal(local / "journal", f"verdict-{environment['run_id']}") as journal:
            journal.environment(_timed(told))
    compact(local)
    return "" if word == GOOD else word


def _judge_interrupted(
    local: Path, release: Release, environment: Mapping[str, Any], rows: Sequence[dict[str, Any]]
) -> tuple[str, ...]:
    """Judge the runs in a run's environment that were ended before anybody could; a line for each in quarantine.

    Each is judged by the rows it left, with the canaries of the run that came after it: ``rows``. One that is still
    going is left alone.
    """
    from caniexport.store import Dataset

    dataset = Dataset.open(None, local)
    environments = dataset.environments()
    unjudged = environments[environments["gate"].isna() & (environments["env_id"] == environment["env_id"])]
    if unjudged.empty:
        return ()
    cells, going = dataset.cells(torch=rows[0]["torch"], quarantined=True), _going(local)
    canaries = [row for row in rows if is_canary(row["case"])]
    found = []
    for other in _records(unjudged[~unjudged["run_id"].isin(going)], [column.name for column in ENVIRONMENTS]):
        left = _records(cells[(cells["run_id"] == other["run_id"]) & (cells["env_id"] == other["env_id"])], _NAMES)
        problem = _write_verdict(local, release, other, left, None, canaries) if left else ""
        found += [f"the interrupted run {other['run_id']} is {problem}; measure again"] if problem else []
    return tuple(found)


def _going(local: Path) -> set[str]:
    """Runs that have rows in a journal, which somebody holds."""
    from caniexport.store.journal_reader import read_journals

    entries = read_journals(local)
    return {row["run_id"] for row in [*entries.cells, *entries.environments]}


def _written(local: Path, run_id: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Rows and environment of a run, wherever they are by now: another process may have compacted its journals."""
    from caniexport.store import Dataset

    dataset = Dataset.open(None, local)
    cells = dataset.cells(quarantined=True)
    environments = dataset.environments()
    rows = _records(cells[cells["run_id"] == run_id], _NAMES)
    found = _records(environments[environments["run_id"] == run_id], [column.name for column in ENVIRONMENTS])
    return rows, found[-1] if found else {}


def rows_of(local: Path) -> list[dict[str, Any]]:
    """Every row of cells in a local dataset."""
    from caniexport.store import Dataset

    return _records(Dataset.open(None, local).cells(quarantined=True), _NAMES)


def environment_of(local: Path) -> dict[str, Any]:
    """The last environment's row of a local dataset; empty where it has none."""
    from caniexport.store import Dataset

    found = _records(Dataset.open(None, local).environments(), [column.name for column in ENVIRONMENTS])
    return found[-1] if found else {}


def _timed(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row as a journal takes it: its time as text."""
    return dict(row, measured_at=str(row["measured_at"]))


def _records(frame: pd.DataFrame, columns: list[str]) -> list[dict[str, Any]]:
    frame = frame[columns].astype(object)
    rows = frame.where(frame.notna(), None).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]
