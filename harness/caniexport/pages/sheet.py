"""Files that a reader saves from a page; tables are CSV, which spreadsheets and pandas read."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: signs that make a formula of what they begin
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True)
class File:
    """A file of a page: its name, and its content, which is made when somebody saves it."""

    name: str
    content: Callable[[], str | bytes]


def table_file(name: str, columns: Sequence[str], rows: Callable[[], Iterable[Sequence[object]]]) -> File:
    """Return a table as a CSV file of this name, without its suffix."""
    return File(f"{name}.csv", lambda: as_csv([dict(zip(columns, row, strict=True)) for row in rows()], columns))


def as_csv(rows: Sequence[Mapping[str, Any]], columns: Iterable[str] = ()) -> str:
    """Rows as CSV, with these ``columns`` first and every other that a row has."""
    text = io.StringIO()
    names = dict.fromkeys((*columns, *(name for row in rows for name in row)))
    writer = csv.DictWriter(text, list(names), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _plain(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def joined(values: Iterable[str]) -> str:
    """Several values in one place of a table."""
    return "; ".join(values)


def _plain(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula is marked as text."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
