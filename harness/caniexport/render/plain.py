"""Answers as a CSV file."""

from __future__ import annotations

import csv
import io

from caniexport.answers.answer import Answer, texts

#: signs that make a formula of what they begin
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def as_csv(answer: Answer) -> str:
    """The rows of all tables; a text that a spreadsheet would take for a formula is marked as text."""
    rows = texts(answer)
    written = io.StringIO()
    lines = csv.DictWriter(written, dict.fromkeys(name for row in rows for name in row), lineterminator="\n")
    lines.writeheader()
    lines.writerows(
        {name: f"'{text}" if text.startswith(_FORMULA) else text for name, text in row.items()} for row in rows
    )
    return written.getvalue()
