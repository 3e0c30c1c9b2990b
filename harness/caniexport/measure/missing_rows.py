"""Rows for the planned cells that got none in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caniexport.gate.repeats import row_identity
from caniexport.measure.job import utc_now
from caniexport.model.canaries import find_surprises
from caniexport.model.messages import describe
from caniexport.model.rows import CELLS, MEASURING_VERSION
from caniexport.model.status import Stage, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from caniexport.measure.job import CellsJob
    from caniexport.measure.settle import Row, RowTexts
    from caniexport.model.plan import Cell


def make_missing_rows(job: CellsJob, rows: Sequence[Row], reason: str) -> list[RowTexts]:
    """Return rows, each with its texts, for the planned cells that have none among ``rows``.

    Without any ``rows`` it is one row, without a case; its text is ``reason``, why tox ended.
    """
    if not rows:
        return [_missing_row(job, None, reason or "the environment wrote no row")]
    measured = {row_identity(row) for row in rows}
    lost = [cell for cell in job.todo if (cell.case, cell.variant, cell.exporter, cell.opset) not in measured]
    surprise = next(find_surprises(rows), "")
    why = f"the run was ended: {surprise}" if surprise else "the process that measured it was lost"
    return [_missing_row(job, cell, why) for cell in lost]


def _missing_row(job: CellsJob, cell: Cell | None, text: str) -> RowTexts:
    """A row for what could not be measured: one cell (``invalid``), or the whole release (``resolve``, no case)."""
    stage, status = (Stage.EAGER, Status.INVALID) if cell else (Stage.RESOLVE, Status.NOT_RUN)
    signature, identifier, kept = describe(stage.value, "Lost" if cell else "Unavailable", text)
    row: Row = dict.fromkeys(column.name for column in CELLS)
    row.update(
        run_id=job.run_id,
        measured_at=utc_now(),
        torch=job.release.torch,
        python=job.release.python,
        corpus="documented",
        measuring=MEASURING_VERSION,
        provider=job.options.provider,
        stage=stage.value,
        status=status.value,
        signature=signature,
        message_id=identifier,
    )
    if cell is not None:
        row.update(case=cell.case, variant=cell.variant, exporter=cell.exporter, opset=cell.opset)
        row.update(case_hash=cell.case_hash)
    return row, {identifier: kept}
