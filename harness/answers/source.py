"""What an answer reads: the dataset's frames, and one row of them as a plain value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from harness.worker.case import PLAIN
from harness.worker.status import Status

if TYPE_CHECKING:
    import pandas as pd


class Source(Protocol):
    """A dataset as :class:`harness.store.Dataset` gives it: frames with the columns of ``worker/rows.py``."""

    def cells(self) -> pd.DataFrame:
        """One row per cell, ``origin`` added: ``published`` or ``local``."""
        ...

    def cases(self) -> pd.DataFrame:
        """One row per case and variant."""
        ...

    def claims(self) -> pd.DataFrame:
        """One row per claim."""
        ...

    def environments(self) -> pd.DataFrame:
        """One row per environment and run."""
        ...

    def message(self, message_id: str) -> str | None:
        """The text of an error or warning."""
        ...

    @property
    def problems(self) -> Sequence[Any]:
        """What could not be read, each as a sentence."""
        ...


class Cell(NamedTuple):
    """One measured cell, as far as tables and verdicts look at it."""

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
    case_hash: str | None
    local: bool

    @property
    def works(self) -> bool:
        """Whether a user's model works there."""
        return self.status in (Status.PASS, Status.DEGRADED)


_COLUMNS = (*(name for name in Cell._fields if name != "local"), "origin")


def plain_values(frame: pd.DataFrame, columns: Iterable[str]) -> list[list[Any]]:
    """The columns as lists of Python values, ``None`` for null; a column that is not there is all ``None``."""
    found: list[list[Any]] = []
    for name in columns:
        if name not in frame.columns:
            found.append([None] * len(frame))
            continue
        column = frame[name]
        found.append(column.astype(object).where(column.notna(), None).tolist())
    return found


def cells(frame: pd.DataFrame) -> list[Cell]:
    """The frame's rows in its order. A row without a case (a release that could not be entered) is left out."""
    rows = zip(*plain_values(frame, _COLUMNS), strict=True)
    return [_cell(row) for row in rows if row[1]]


def _cell(row: Sequence[Any]) -> Cell:
    values = dict(zip(_COLUMNS, row, strict=True))
    local = values.pop("origin") == "local"
    values["status"] = Status(values["status"])
    values["variant"] = values["variant"] or PLAIN
    values["exporter"] = values["exporter"] or "-"
    for name in ("opset", "opset_effective"):
        values[name] = None if values[name] is None else int(values[name])
    return Cell(**values, local=local)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The frame's rows as dictionaries of Python values: ``None`` for null, lists for list columns, text for times."""
    from pandas import isna

    def plain(value: Any) -> Any:
        if hasattr(value, "tolist"):
            value = value.tolist()
        if isinstance(value, list):
            return value
        if isna(value):
            return None
        return value.isoformat() if hasattr(value, "isoformat") else value

    names = list(frame.columns)
    columns = [[plain(value) for value in frame[name].astype(object).tolist()] for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
