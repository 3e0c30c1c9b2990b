"""Files that a reader saves from a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from caniexport.render.plain import rows_as_csv


@dataclass(frozen=True)
class File:
    """A file of a page: its name, and its content, which is made when somebody saves it."""

    name: str
    content: Callable[[], str | bytes]


def make_table_file(name: str, columns: Sequence[str], rows: Callable[[], Iterable[Sequence[object]]]) -> File:
    """Return a table as a CSV file of this name, without its suffix."""
    return File(f"{name}.csv", lambda: rows_as_csv([dict(zip(columns, row, strict=True)) for row in rows()], columns))
