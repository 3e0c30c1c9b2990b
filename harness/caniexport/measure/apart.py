"""Cells measured apart and twice: each time in a process of its own, with nothing kept or shared.

What a cell says then is its own word and no neighbour's. Where both times agree, that row takes the shared one's
place; where they do not, the cell is unstable, and its row says so. The rows of such a run are ``settled``
(:mod:`caniexport.gate.held_back`).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from caniexport.gate.repeats import Row, pairs
from caniexport.measure.tox_calls import run_again
from caniexport.model.status import MEASURED, Exporter, Status

if TYPE_CHECKING:
    from caniexport.measure.job import CellsJob
    from caniexport.model.plan import Cell

_MEASURED = frozenset(status.value for status in MEASURED)
_TEXTS = ("message_id", "warning_id", "checker_id")
#: from best to worst
_ORDER = {status.value: place for place, status in enumerate(Status)}


class SettledCells(NamedTuple):
    """What became of cells measured apart: rows written, those unstable, and why the run's rows may not be used."""

    rows: int
    unstable: int
    problem: str


def settle_apart(job: CellsJob, cells: Sequence[Cell], canaries: Sequence[Cell]) -> SettledCells:
    """Measure these cells apart, twice, and write what they say as a run of its own into the local dataset.

    Of ``canaries`` some go along: they judge the run. A cell that was lost in either of the two keeps the row it has.
    """
    local = job.options.local
    wanted = with_canaries(cells, canaries)
    folders = [local / "again" / f"{job.environment}-{number}" for number in (1, 2)]
    try:
        measured = [_measure(job, wanted, folder) for folder in folders]
        rows = [settled_row(*pair) for pair in pairs(*measured) if _both_say_something(*pair)]
        return _write(job, rows, wanted, folders)
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


def with_canaries(cells: Sequence[Cell], canaries: Sequence[Cell]) -> list[Cell]:
    """The cells, and canaries enough to judge them: every opset by trace, where that is cheap, and the asked ones."""
    asked = {(cell.exporter, cell.opset) for cell in cells}
    going = [cell for cell in canaries if cell.exporter == Exporter.TRACE or (cell.exporter, cell.opset) in asked]
    return list({cell.key: cell for cell in [*going, *cells]}.values())


def settled_row(one: Row, other: Row) -> dict[str, Any]:
    """The row of a cell measured twice: the second, or where they differ the worse, with the statuses seen."""
    worse = max(other, one, key=lambda row: _ORDER[row["status"]])
    seen = sorted({one["status"], other["status"]})
    attempts = (one["attempts"] or 1) + (other["attempts"] or 1)
    return {**worse, "apart": True, "attempts": attempts, "unstable": seen if len(seen) > 1 else None}


def _both_say_something(one: Row, other: Row) -> bool:
    return one["status"] in _MEASURED and other["status"] in _MEASURED


def _measure(job: CellsJob, cells: Sequence[Cell], folder: Path) -> list[dict[str, Any]]:
    from caniexport.measure.settle import rows_of

    shutil.rmtree(folder, ignore_errors=True)
    run_again(job, cells, folder, ["--apart", "--bare"])
    return rows_of(folder)


def _write(job: CellsJob, rows: list[dict[str, Any]], planned: Sequence[Cell], folders: Sequence[Path]) -> SettledCells:
    from caniexport.measure.settle import environment_of, write_run

    local = job.options.local
    environment = {**environment_of(folders[1]), "run_id": job.run_id}
    if not rows:
        return SettledCells(0, 0, "the cells could not be measured apart")
    texts = _texts(rows, folders)
    for row in rows:
        row["run_id"] = job.run_id
        _bring_bundle(row["bundle"], folders, local)
    new = [(row, {row[name]: texts[row[name]] for name in _TEXTS if row[name] in texts}) for row in rows]
    problem = write_run(job, environment, new, len(planned))
    return SettledCells(len(rows), sum(row["unstable"] is not None for row in rows), problem)


def _texts(rows: Sequence[Row], folders: Sequence[Path]) -> dict[str, str]:
    from caniexport.store import Dataset

    ids = {row[name] for row in rows for name in _TEXTS}
    found: dict[str, str] = {}
    for folder in folders:
        found |= Dataset.open(None, folder).messages(ids)
    return found


def _bring_bundle(bundle: str | None, folders: Sequence[Path], local: Path) -> None:
    """Put the file of a row beside the others of the local dataset."""
    name = f"{bundle[:2]}/{bundle}.zip" if bundle else ""
    target = local / "bundles" / name
    for source in _found(name, folders):
        if not target.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(source, target)


def _found(name: str, folders: Sequence[Path]) -> Iterator[Path]:
    paths = (folder / "bundles" / name for folder in folders if name)
    return (path for path in paths if path.is_file())
