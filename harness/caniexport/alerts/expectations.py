"""What is expected of cells: the list of :mod:`caniexport.runner.expectations` held against changes and rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from caniexport import versions
from caniexport.alerts.alert import CellPoint, Change
from caniexport.answers.filters import require_exporter
from caniexport.home import read_list
from caniexport.model.errors import CaniexportError, CorpusError
from caniexport.model.status import WORKS, Status
from caniexport.runner import expectations as listed
from caniexport.runner.expectations import Expectation, Trouble, UnmetExpectation
from caniexport.store.views import Views

__all__ = ["Expectation", "Trouble", "UnmetExpectation", "find_unmet", "is_expected", "read_expectations"]


def read_expectations(path: Path) -> list[Expectation]:
    """The entries of a file. Raises :class:`CorpusError` naming the entry and what is wrong with it."""
    try:
        text = read_list(path)
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path}: cannot be read as a list of expectations ({error})") from error
    return [_check_entry(entry, path) for entry in listed.read(text, str(path))]


def _check_entry(entry: Expectation, path: Path) -> Expectation:
    try:
        versions.within("1.0", entry.torch)
        if entry.op:
            raise CorpusError("op is a key for files in an archive, not for cells; remove it")
        return replace(entry, exporter=require_exporter(entry.exporter)) if entry.exporter else entry
    except CaniexportError as error:
        raise CorpusError(f"{path}: entry {entry.number}: {error}") from error


def _matches(entry: Expectation, cell: CellPoint) -> bool:
    """Whether an entry is about this cell."""
    return (
        entry.names(cell.case, cell.variant)
        and (not entry.torch or not cell.torch[:1].isdigit() or versions.within(cell.torch, entry.torch))
        and entry.exporter in ("", cell.exporter)
        and (not entry.opset or (cell.opset is not None and versions.is_opset_in(cell.opset, entry.opset)))
        and entry.provider in ("", cell.provider)
    )


def is_expected(change: Change, entries: Iterable[Expectation]) -> bool:
    """Whether an entry says that this change is no news."""
    return any(
        _matches(entry, change.place) and change.after in {status.value for status in entry.allowed}
        for entry in entries
    )


def find_unmet(entries: Sequence[Expectation], views: Views, today: date) -> list[UnmetExpectation]:
    """The entries that do not hold: past their review date, about no cell at all, or seen to pass."""
    found: list[UnmetExpectation] = []
    for entry in entries:
        rows = views.fetch(
            """SELECT "case", coalesce(variant, 'plain'), torch, exporter, opset, coalesce(provider, ''), status
            FROM cells JOIN version USING (torch)
            WHERE profile = $1 AND "case" GLOB $2 AND exporter IS NOT NULL AND works(status) IS NOT NULL
            ORDER BY n, "case", variant, exporter, opset""",
            [views.dataset.profile, entry.case.partition("/")[0]],
        )
        cells = [(cell, Status(status)) for *place, status in rows if _matches(entry, cell := CellPoint(*place))]
        passing = [cell for cell, status in cells if status in WORKS and status not in entry.allowed]
        shown = tuple(
            f"torch {cell.torch}, {cell.exporter}, {versions.opset_name(cell.opset)}: {cell.name}"
            for cell in passing[-5:]
        )
        found += listed.check_expectation(entry, len(cells), len(passing), "cell", shown, today)
    return found
