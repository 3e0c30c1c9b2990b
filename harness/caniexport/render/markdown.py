"""Answers as Markdown, as a job summary shows it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from caniexport.answers.answer import Answer, Cell, Mark, Table, cell_text
from caniexport.render.looks import find_sign

#: rows of a table that is folded
_MOST = 200


def as_markdown(answer: Answer) -> str:
    """Return the verdict, the tables (those that no first screen shows are folded) and the notes."""
    lines = [f"## {_escape_text(answer.verdict)}", ""]
    for table in answer.tables:
        if table.rows:
            title = _escape_text(table.title)
            lines += [f"### {title}", ""] if table.shown else [f"<details><summary>{title}</summary>", ""]
            lines += [*_write_rows(table), ""] + ([] if table.shown else ["</details>", ""])
    return "\n".join([*lines, *(f"- {_escape_text(note)}" for note in answer.notes), ""])


def _write_rows(table: Table) -> Iterator[str]:
    yield f"| {' | '.join(table.columns)} |"
    yield f"| {' | '.join('---' for _ in table.columns)} |"
    most = table.shown or _MOST
    for row in table.rows[:most]:
        yield f"| {' | '.join(map(_write_cell, row))} |"
    if len(table.rows) > most:
        yield f"\n{len(table.rows) - most} more rows"


def _write_cell(cell: Cell) -> str:
    sign = f"{find_sign(cell.word).sign} " if isinstance(cell, Mark) else ""
    return sign + _escape_text(cell_text(cell))


def _escape_text(text: str) -> str:
    return escape(text, quote=False).replace("|", "\\|").replace("\n", " ")
