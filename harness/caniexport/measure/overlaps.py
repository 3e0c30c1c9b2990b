"""Rows of one cell that say different things: in two deliveries, or in one and in the local dataset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from caniexport.gate.repeats import COMPARED, identity
from caniexport.measure.arrived import ArrivedRelease, run_of
from caniexport.measure.deliveries import Row
from caniexport.model.errors import CaniexportError
from caniexport.model.status import MEASURED
from caniexport.store import Dataset

#: statuses of cells that were measured
MEASURED_STATUSES = frozenset(status.value for status in MEASURED)
#: differences that a message shows
_SHOWN = 5


class OverlapError(CaniexportError):
    """Two deliveries say different things of one cell."""


class PlacedRow(NamedTuple):
    """A row, the name of what it was read from, and the processor that it was measured on."""

    row: Row
    place: str
    cpu: str


def refuse_overlaps(arrived: ArrivedRelease) -> None:
    """Raise :class:`OverlapError` where two files, or a file and the local dataset, disagree about a cell."""
    found = list(_overlaps(arrived))
    if found:
        more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise OverlapError(
            f"torch {arrived.origin.torch}: {len(found)} cells are there twice with different content, nothing was "
            f"merged: {'; '.join(found[:_SHOWN])}{more}"
        )


def different_column(one: Row, other: Row, same_processor: bool) -> str:
    """The first column in which two rows of a cell differ; the file carries values, in which processors do."""
    columns = (name for name in COMPARED if same_processor or name != "bundle")
    return next((name for name in columns if one[name] != other[name]), "")


def _overlaps(arrived: ArrivedRelease) -> Iterator[str]:
    seen: dict[tuple[object, ...], PlacedRow] = {}
    for found in (*_delivered(arrived), *_local(arrived)):
        row = found.row
        if row["status"] not in MEASURED_STATUSES or _is_settled(row):
            continue
        key = (*identity(row), row["env_id"], row["runtime_version"], row["case_hash"], row["code"])
        before = seen.setdefault(key, found)
        column = different_column(before.row, row, found.cpu == before.cpu)
        if column:
            name = "/".join(map(str, identity(row)))
            yield f"{name}: {column} is {before.row[column]} in {before.place} and {row[column]} in {found.place}"


def _is_settled(row: Row) -> bool:
    """Whether a row is of a cell that was measured apart and twice, in place of another one."""
    return bool(row["apart"]) and (row["attempts"] or 1) >= 2


def _delivered(arrived: ArrivedRelease) -> Iterator[PlacedRow]:
    for item, rows in zip(arrived.deliveries, arrived.rows, strict=True):
        cpus = {run: str(row["cpu"]) for run, row in item.environments.items()}
        yield from (PlacedRow(row, item.name, cpus[run_of(row)]) for row in rows)


def _local(arrived: ArrivedRelease) -> Iterator[PlacedRow]:
    """The rows of the release that the local dataset uses."""
    dataset = Dataset.open(None, arrived.home.local)
    silenced = {run_of(row) for row in dataset.silenced()}
    cpus = {run_of(row): str(row["cpu"]) for row in dataset.records("environments")}
    where = {"torch": (arrived.origin.torch,), "provider": (arrived.origin.provider,)}
    for row in dataset.records("cells", where):
        if row["case"] and run_of(row) not in silenced:
            yield PlacedRow(row, "the local dataset", cpus.get(run_of(row), ""))
