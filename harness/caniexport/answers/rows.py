"""Rows of the dataset's frames as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from caniexport.answers.signs import checker_told, unstable_told
from caniexport.model.case import PLAIN
from caniexport.model.status import Checker, Exporter, Status


class MeasuredCell(NamedTuple):
    """One measured cell, as far as tables and verdicts look at it.

    ``exporter`` is ``-`` for a cell of an environment case, ``torch`` is then empty where no torch was installed.
    ``unstable`` has the statuses seen where its repetitions differ: its status is then ``unstable``.
    """

    torch: str
    case: str
    variant: str
    exporter: str
    opset: int | None
    exporter_effective: str | None
    opset_effective: int | None
    runtime: str | None
    runtime_version: str | None
    provider: str | None
    stage: str
    status: Status
    signature: str | None
    message_id: str | None
    env_id: str | None
    checker: str | None
    unstable: tuple[str, ...] | None
    case_hash: str | None
    local: bool

    @property
    def refused(self) -> bool:
        """Whether onnx's checker refuses its file, whatever the runtime makes of it."""
        return self.checker in (Checker.STRICT.value, Checker.PLAIN.value, Checker.CRASH.value)

    @property
    def works(self) -> bool:
        """Whether a user's model works there."""
        return self.status in (Status.PASS, Status.DEGRADED)

    @property
    def written(self) -> int | None:
        """The opset that a default call wrote; ``None`` for every other cell."""
        return self.opset_effective if self.exporter == Exporter.DEFAULT.value else None


def told(cell: MeasuredCell) -> str:
    """What a cell's status leaves out, in one sentence; of one that fails, too, what onnx's checker says."""
    if cell.unstable:
        return unstable_told(cell.unstable)
    runtime = f"{cell.runtime} {cell.runtime_version}" if cell.runtime_version else None
    return checker_told(cell.checker, runtime, works=cell.works)


#: columns that make a :class:`Cell`, the last one for its ``local``
COLUMNS = (*(name for name in MeasuredCell._fields if name != "local"), "origin")
NO_EXPORTER = "-"

_STATUS = {status.value: status for status in Status}


def cells(rows: Iterable[Sequence[Any]]) -> list[MeasuredCell]:
    """Rows with the columns :data:`COLUMNS` as cells."""
    statuses, make = _STATUS, MeasuredCell._make
    # one tuple a row and nothing else: a hundred thousand rows would notice
    return [
        make(
            (
                row[0] or "",
                row[1],
                row[2] or PLAIN,
                row[3] or NO_EXPORTER,
                *row[4:_AT],
                statuses[row[_AT]],
                *row[_AT + 1 : _SEEN],
                row[_SEEN] and tuple(row[_SEEN]),
                *row[_SEEN + 1 : -1],
                row[-1] == "local",
            )
        )
        for row in rows
    ]


_AT, _SEEN = MeasuredCell._fields.index("status"), MeasuredCell._fields.index("unstable")
