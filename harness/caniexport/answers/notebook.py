"""An answer in a notebook: its verdict and tables as HTML; every text is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from caniexport.names import plural

#: rows that a notebook is shown; Jupyter's own style puts text to the right
_MOST, _STYLE = 60, "text-align: left; vertical-align: top"


def as_html(verdict: str, rows: Sequence[dict[str, str]], notes: Sequence[str]) -> str:
    """The verdict, the rows without empty columns, the notes."""
    made = Element("div")
    _add(made, "p", verdict)
    if rows:
        drawn = SubElement(made, "table")
        every = dict.fromkeys(name for row in rows for name in row)
        columns = [name for name in every if any(row.get(name) for row in rows)]
        found = [[row.get(name, "") for name in columns] for row in rows[:_MOST]]
        for part, kind, lines in (("thead", "th", [columns]), ("tbody", "td", found)):
            body = SubElement(drawn, part)
            for line in lines:
                row = SubElement(body, "tr")
                for text in line:
                    _add(row, kind, text)
    left = len(rows) - _MOST
    more = f"and {plural(left, 'more row')}: .to_pandas() has them" if left > 0 else ""
    for text in filter(None, (more, *notes)):
        _add(made, "p", text)
    return tostring(made, encoding="unicode", method="html")


def _add(parent: Element, kind: str, text: str) -> None:
    SubElement(parent, kind, style=_STYLE).text = text
