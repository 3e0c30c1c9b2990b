"""A table of an answer, and its HTML: elements whose text is only ever text, for a notebook has no template engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from caniexport.answers.signs import STATUS, WORKAROUND, Sign
from caniexport.names import plural

#: rows that a notebook is shown; Jupyter's own style puts text to the right
_MOST, _STYLE = 60, "text-align: left; vertical-align: top"
_SIGNS: dict[Any, Sign] = {**STATUS, **WORKAROUND}


@dataclass(frozen=True)
class AnswerTable:
    """What of an answer fits in a table: the sentence above it, its rows by column, the notes below."""

    heading: str
    rows: Sequence[dict[str, Any]]
    notes: Sequence[str] = ()


def html_table(table: AnswerTable) -> str:
    """The heading, the table without its empty columns, the notes."""
    return tostring(_draw(table), encoding="unicode", method="html")


def _draw(table: AnswerTable) -> Element:
    made = Element("div")
    _add(made, "p", table.heading)
    if table.rows:
        drawn = SubElement(made, "table")
        every = dict.fromkeys(name for row in table.rows for name in row)
        columns = [name for name in every if any(row.get(name) not in (None, "", ()) for row in table.rows)]
        _line(SubElement(drawn, "thead"), "th", columns)
        body = SubElement(drawn, "tbody")
        for row in table.rows[:_MOST]:
            _line(body, "td", [_text(row.get(name)) for name in columns])
    left = len(table.rows) - _MOST
    more = f"and {plural(left, 'more row')}: .to_pandas() has them" if left > 0 else ""
    for text in filter(None, (more, *table.notes)):
        _add(made, "p", text)
    return made


def _line(parent: Element, kind: str, texts: Sequence[str]) -> None:
    row = SubElement(parent, "tr")
    for text in texts:
        _add(row, kind, text)


def _add(parent: Element, kind: str, text: str) -> None:
    SubElement(parent, kind, style=_STYLE).text = text


def _text(value: Any) -> str:
    """A value in words: a status with its sign, names in one line, nothing where there is none."""
    if isinstance(value, Enum):
        sign = _SIGNS.get(value)
        return f"{sign.sign}\N{NO-BREAK SPACE}{value.value}" if sign else str(value.value)
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)
