"""Answers and rows as CSV files, which spreadsheets and pandas read."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from caniexport.answers.answer import Answer, texts

#: signs that make a formula of what they begin
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def as_csv(answer: Answer) -> str:
    """The rows of all tables."""
    return rows_as_csv(texts(answer))


def rows_as_csv(rows: Sequence[Mapping[str, Any]], columns: Iterable[str] = ()) -> str:
    """Rows with these ``columns`` first and every other that a row has; a text that a spreadsheet would take for a
    formula is marked as text.
    """
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
