"""Cells measured apart and twice: each time in a process of its own, with nothing kept or shared.

What a cell says then is its own word and no neighbour's. Where both times agree, that row takes the shared one's
place; where they do not, the cell is unstable, and its row says so. The rows of such a run are ``settled``
(:mod:`caniexport.gate.held_back`).
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from caniexport.gate.repeats import pair_rows
from caniexport.measure.settle import copy_bundles, with_texts, write_run
from caniexport.measure.tox_calls import run_again
from caniexport.model.status import MEASURED, Exporter, Status
from caniexport.store import Dataset

if TYPE_CHECKING:
    from caniexport.gate.repeats import Row
    from caniexport.measure.job import CellsJob
    from caniexport.model.plan import Cell

_MEASURED = frozenset(status.value for status in MEASURED)
#: from best to worst
_ORDER = {status.value: place for place, status in enumerate(Status)}


class ApartCounts(NamedTuple):
    """What became of cells measured apart: rows written, those unstable, and why the run's rows may not be used."""

    rows: int
    unstable: int
    problem: str


def write_apart_run(job: CellsJob, cells: Sequence[Cell], canaries: Sequence[Cell]) -> ApartCounts:
    """Measure these cells apart, twice, and write what they say as a run of its own into the local dataset.

    Of ``canaries`` some go along, to judge the run: every opset by trace, where that is cheap, and the asked ones. A
    cell that was lost in either of the two keeps the row it has.
    """
    local = job.options.local
    asked = {(cell.exporter, cell.opset) for cell in cells}
    going = [cell for cell in canaries if cell.exporter == Exporter.TRACE or (cell.exporter, cell.opset) in asked]
    wanted = list({cell.key: cell for cell in [*going, *cells]}.values())
    folders = [local / "again" / f"{job.environment}-{number}" for number in (1, 2)]
    try:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
            run_again(job, wanted, folder, ["--apart", "--bare"])
        datasets = [Dataset.open(None, folder) for folder in folders]
        both = pair_rows(*(dataset.records("cells") for dataset in datasets))
        rows = [
            {**settle_row(*pair), "run_id": job.run_id} for pair in both if {row["status"] for row in pair} <= _MEASURED
        ]
        if not rows:
            return ApartCounts(0, 0, "the cells could not be measured apart")
        environment = {**datasets[1].records("environments")[-1], "run_id": job.run_id}
        copy_bundles(folders, local)
        problem = write_run(job, environment, with_texts(rows, *datasets), len(wanted))
        return ApartCounts(len(rows), sum(row["unstable"] is not None for row in rows), problem)
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


def settle_row(one: Row, other: Row) -> dict[str, object]:
    """Return the row of a cell measured twice: the second, or the worse one if they differ.

    ``unstable`` then has both statuses.
    """
    worse = max(other, one, key=lambda row: _ORDER[row["status"]])
    seen = sorted({one["status"], other["status"]})
    attempts = (one["attempts"] or 1) + (other["attempts"] or 1)
    return {**worse, "apart": True, "attempts": attempts, "unstable": seen if len(seen) > 1 else None}
