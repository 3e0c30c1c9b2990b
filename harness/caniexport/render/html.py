"""Answers as HTML: for a notebook as it stands, and for a page by its templates."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from caniexport.answers.answer import Answer, Cell, Mark, Table, words
from caniexport.render.looks import look

#: Jupyter's own style puts text to the right
_STYLE = "text-align: left; vertical-align: top"


def notebook(answer: Answer) -> str:
    """The answer as elements whose text is only ever text."""
    made = Element("div")
    SubElement(SubElement(made, "p"), "b").text = answer.verdict
    for table in answer.tables:
        if table.rows:
            _draw(made, table)
    for note in answer.notes:
        SubElement(made, "p").text = note
    return tostring(made, encoding="unicode", method="html")


def _draw(parent: Element, table: Table) -> None:
    if table.title:
        SubElement(parent, "p").text = table.title
    drawn = SubElement(parent, "table")
    _line(SubElement(drawn, "thead"), "th", table.columns)
    body = SubElement(drawn, "tbody")
    for row in table.rows:
        _line(body, "td", row)


def _line(parent: Element, kind: str, cells: Sequence[Cell]) -> None:
    row = SubElement(parent, "tr")
    for cell in cells:
        SubElement(row, kind, style=_STYLE).text = _shown(cell)


def _shown(cell: Cell) -> str:
    if isinstance(cell, Mark):
        return f"{look(cell.word).sign}\N{NO-BREAK SPACE}{words(cell)}".strip()
    return words(cell)
