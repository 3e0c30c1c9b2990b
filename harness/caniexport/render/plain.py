"""Answers and rows as CSV files, which spreadsheets and pandas read."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from caniexport.answers.answer import Answer, text_rows

#: first characters of a formula
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def as_csv(answer: Answer) -> str:
    """Return the rows of all tables as CSV."""
    return rows_as_csv(text_rows(answer))


def rows_as_csv(rows: Sequence[Mapping[str, Any]], columns: Iterable[str] = ()) -> str:
    """Return rows as CSV with these ``columns`` first; a text that looks like a formula is quoted."""
    written = io.StringIO()
    names = dict.fromkeys((*columns, *(name for row in rows for name in row)))
    lines = csv.DictWriter(written, list(names), restval="", lineterminator="\n")
    lines.writeheader()
    lines.writerows(
        {
            name: f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
            for name, cell in row.items()
        }
        for row in rows
    )
    return written.getvalue()
