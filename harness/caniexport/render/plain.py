"""Answers as what JSON and CSV have."""

from __future__ import annotations

import csv
import io
from typing import Any

from caniexport.answers.answer import Answer, Cell, Link, Mark, Message, Table, words


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


def as_csv(table: Table) -> str:
    """The rows of a table with its columns as the first line."""
    written = io.StringIO()
    lines = csv.writer(written, lineterminator="\n")
    lines.writerow(table.columns)
    lines.writerows([words(cell) for cell in row] for row in table.rows)
    return written.getvalue()
