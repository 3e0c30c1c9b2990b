"""What is expected of cells: the list of :mod:`caniexport.runner.expectations` held against changes and rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path

from caniexport import versions
from caniexport.alerts.diff import Changed
from caniexport.answers.reading import Rows
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.select import require_exporter
from caniexport.corpus.verdicts import works
from caniexport.home import read_list
from caniexport.model.errors import CaniexportError, CorpusError
from caniexport.model.status import MEASURED
from caniexport.runner import expectations as listed
from caniexport.runner.expectations import Expectation, Trouble, UnmetExpectation

__all__ = ["Expectation", "Trouble", "UnmetExpectation", "expected", "judge", "read"]


def read(path: Path) -> list[Expectation]:
    """The entries of a file. Raises :class:`CorpusError` naming the entry and what is wrong with it."""
    try:
        text = read_list(path)
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path}: cannot be read as a list of expectations ({error})") from error
    return [_of_cells(entry, path) for entry in listed.read(text, str(path))]


def _of_cells(entry: Expectation, path: Path) -> Expectation:
    try:
        versions.within("1.0", entry.torch)
        if entry.op:
            raise CorpusError("op is said of files that an archive runs, not of cells")
        return replace(entry, exporter=require_exporter(entry.exporter)) if entry.exporter else entry
    except CaniexportError as error:
        raise CorpusError(f"{path}: entry {entry.number}: {error}") from error


def _takes(
    entry: Expectation,
    case: str,
    variant: str,
    torch: str,
    exporter: str,
    opset: int | None,
    provider: str | None,
) -> bool:
    """Whether an entry is about this cell."""
    return (
        entry.names(case, variant)
        and (not entry.torch or not torch[:1].isdigit() or versions.within(torch, entry.torch))
        and entry.exporter in ("", exporter)
        and (not entry.opset or (opset is not None and versions.opset_in(opset, entry.opset)))
        and entry.provider in ("", provider)
    )


def expected(item: Changed, entries: Iterable[Expectation]) -> Expectation | None:
    """The entry that says this change is no news; ``None`` where none does."""
    place = item.place
    for entry in entries:
        taken = _takes(entry, item.case, item.variant, place.torch, place.exporter, place.opset, place.provider)
        if taken and item.after in entry.allowed:
            return entry
    return None


def judge(entries: Sequence[Expectation], rows: Rows, today: date) -> list[UnmetExpectation]:
    """The entries that do not hold: past their review date, about no cell at all, or seen to pass."""
    return [finding for entry in entries for finding in _findings(entry, rows, today)]


def _findings(entry: Expectation, rows: Rows, today: date) -> Iterable[UnmetExpectation]:
    cells = [cell for cell in _cells(entry, rows) if cell.status in MEASURED]
    passing = [cell for cell in cells if works(cell.status) and cell.status not in entry.allowed]
    shown = tuple(
        f"torch {c.torch}, {c.exporter}, {versions.opset_name(c.opset)}: {c.case}/{c.variant}" for c in passing[-5:]
    )
    return listed.unmet(entry, len(cells), len(passing), "cell", shown, today)


def _cells(entry: Expectation, rows: Rows) -> list[MeasuredCell]:
    pattern = entry.case.partition("/")[0]
    cases = {case for case, _ in rows.catalogue if fnmatchcase(case, pattern)}
    found = rows.cells(case=cases) if cases else []
    return [c for c in found if _takes(entry, c.case, c.variant, c.torch, c.exporter, c.opset, c.provider)]
