"""Answers as what JSON and CSV have."""

from __future__ import annotations

import csv
import io
from typing import Any

from caniexport.answers.answer import Answer, Cell, Link, Mark, Message, Table, words

#: signs that make a formula of what they begin
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def as_json(answer: Answer) -> dict[str, Any]:
    """The answer as objects, lists, text and numbers: every row of its tables by column."""
    tables = [{"title": table.title, "rows": records(table)} for table in answer.tables]
    return {
        "verdict": answer.verdict,
        "outcome": answer.outcome.value,
        "tables": tables,
        "notes": list(answer.notes),
    }


def records(table: Table) -> list[dict[str, Any]]:
    """The rows of a table by column."""
    return [{name: _value(cell) for name, cell in zip(table.columns, row, strict=True) if name} for row in table.rows]


def _value(cell: Cell) -> Any:
    match cell:
        case Mark(word, text):
            return {"word": word.value, "text": text} if text else word.value
        case Link(text, _, asked):
            return dict(asked) or text
        case Message(line, whole):
            return whole or line
        case tuple():
            return [_value(item) for item in cell]
        case str() | int() | float() | None:
            return cell
        case _:
            return words(cell)


def every_record(answer: Answer) -> list[dict[str, Any]]:
    """The rows of all tables, each with the title of its table."""
    return [{"table": table.title, **row} for table in answer.tables for row in records(table)]


def as_csv(answer: Answer) -> str:
    """The rows of all tables as texts, the title of the table first."""
    rows = [
        {"table": table.title, **dict(zip(table.columns, map(_text, row), strict=True))}
        for table in answer.tables
        for row in table.rows
    ]
    written = io.StringIO()
    lines = csv.DictWriter(written, dict.fromkeys(name for row in rows for name in row), lineterminator="\n")
    lines.writeheader()
    lines.writerows(rows)
    return written.getvalue()


def _text(cell: Cell) -> str:
    """A cell as text; one that a spreadsheet would take for a formula is marked as text."""
    text = words(cell)
    return f"'{text}" if text.startswith(_FORMULA) else text
