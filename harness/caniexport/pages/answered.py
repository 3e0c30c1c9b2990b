"""An answer on a page: its tables by one template, and as files to save."""

from __future__ import annotations

from itertools import groupby

from markupsafe import Markup

from caniexport.answers.answer import Answer, Cell, Link, Mark, Table
from caniexport.answers.signs import CALLS, REFUSED
from caniexport.model.status import Status
from caniexport.pages import looks
from caniexport.pages.render import render
from caniexport.pages.sheet import File
from caniexport.render.plain import as_csv

#: rows of a table, and cells of one with an axis, that a page draws; its file has all
_DRAWN, _CELLS = 1000, 7000
#: rows from which on a table is narrowed by what its reader types
_LONG = 60
#: what a page of a case, operator or table can be asked for
_ASKED = ("torch", "opset", "exporter", "provider")


def render_answer(answer: Answer, heading: str = "") -> Markup:
    """The answer as HTML; one with a ``heading`` is folded under it, behind that of the page."""
    matrices = {at: _matrix(table) for at, table in enumerate(answer.tables) if table.axis and table.rows}
    given = {"drawn": _DRAWN, "long": _LONG, "matrices": matrices}
    return render("answer.html", answer=answer, heading=heading, **given)


def _matrix(table: Table) -> dict[str, object]:
    """The rows of a table with an axis under their names, and the signs in them."""
    rows = table.rows[: max(1, _CELLS // len(table.columns))]
    folded = next((at for at, name in enumerate(table.columns) if name in table.folded), None)
    call = next((at for at, name in enumerate(table.columns[: table.heads]) if name == "call"), None)
    blocks = [
        (
            named,
            row[0] if folded is None else row[folded] or named,
            [(row, None if call is None else row[call]) for row in same],
        )
        for named, same in ((key, list(same)) for key, same in groupby(rows, key=_name))
        for row in same[:1]
    ]
    marks = [cell for row in rows for cell in row if isinstance(cell, Mark)]
    signs = looks.statuses(cell.word for cell in marks if isinstance(cell.word, Status))
    if not any(REFUSED in cell.text for cell in marks):
        signs.pop(None, None)
    # a column of calls leads to the exporter
    exporters = {call: exporter for exporter, call in CALLS.items()}
    return {
        "blocks": blocks,
        "has_call": call is not None,
        "axis": table.axis if table.axis in _ASKED else "",
        "values": [exporters.get(name, name) for name in table.columns[table.heads :]],
        "signs": signs,
        "left_out": len(table.rows) - len(rows),
    }


def _name(row: tuple[Cell, ...]) -> str:
    first = row[0]
    return first.text if isinstance(first, Link) else str(first)


def make_files(name: str, answer: Answer) -> tuple[File, ...]:
    """Its tables as one CSV file; none where it has no row."""
    has_rows = any(table.rows for table in answer.tables)
    return (File(f"{name}.csv", lambda: as_csv(answer)),) if has_rows else ()
