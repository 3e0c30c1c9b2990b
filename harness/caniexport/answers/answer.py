"""The answer to every question: a verdict, an outcome, and tables of typed cells. ``render/`` shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from html import escape
from typing import TYPE_CHECKING, Any

from caniexport.model.status import Status
from caniexport.names import plural

if TYPE_CHECKING:
    from types import ModuleType

    import pandas as pd

#: characters of a verdict
LONGEST = 100
#: rows that a notebook shows
_IN_NOTEBOOK = 60


class AnswerOutcome(StrEnum):
    """The outcome of a verdict; exit codes and colors follow from it."""

    WORKS = "works"
    FAILS = "fails"
    NOT_MEASURED = "not measured"
    #: nothing was judged: a list of what is there
    LISTED = "listed"

    @property
    def exit_code(self) -> int:
        """1 for an answer that fails a build or is not measured."""
        return int(self in (AnswerOutcome.FAILS, AnswerOutcome.NOT_MEASURED))


@dataclass(frozen=True)
class Mark:
    """A status or verdict, shown by its sign; ``text`` replaces its name.

    ``at`` has the opsets or releases of each status, where a mark stands for several cells.
    """

    word: Enum
    text: str = ""
    at: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Share:
    """Of ``measured`` cases those that work."""

    works: int
    measured: int


@dataclass(frozen=True)
class Code:
    """Source code or a call, shown as it is written."""

    text: str


@dataclass(frozen=True)
class Link:
    """A text that leads to the answer about it: the name of a page, and its parameters."""

    text: str
    page: str
    asked: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Message:
    """The first line of an error, shortened where it is shown; ``whole`` is all of it."""

    line: str
    whole: str = ""


@dataclass(frozen=True)
class Range:
    """Members of an axis in a few words (``2.15.0 to 2.9.1``); a program gets each of them."""

    text: str
    members: tuple[str | int | None, ...]


@dataclass(frozen=True)
class Place:
    """A line of a file."""

    path: str
    line: int


Cell = str | int | float | None | Mark | Share | Code | Link | Message | Range | Place | tuple["Cell", ...]


@dataclass(frozen=True)
class Table:
    """Rows under a title. ``shown`` of them fit on the first screen, without the columns ``folded``; the others are
    asked for.

    ``axis``: what the columns behind the first ``heads`` are values of (``torch``, the newest first), where they are. A
    screen shows as many of them as fit, and a cell leads to the link of its row at the value of its column.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    shown: int = 12
    folded: tuple[str, ...] = ()
    axis: str = ""
    heads: int = 1

    @property
    def hidden(self) -> int:
        """How many rows the first screen leaves out."""
        return max(0, len(self.rows) - self.shown)


@dataclass(frozen=True)
class Answer:
    """A verdict of one line, at most 100 characters; tables; notes of a sentence each.

    ``more`` is the command, or what to add to it, that shows what is left out.
    """

    verdict: str
    outcome: AnswerOutcome
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    more: str = ""

    def to_pandas(self) -> pd.DataFrame:
        """The rows of all tables; raises :class:`ModuleNotFoundError`, which names the extra, without pandas."""
        frame: pd.DataFrame = import_pandas("to_pandas()").DataFrame(text_rows(self))
        return frame

    def _repr_html_(self) -> str:
        """The verdict, the rows without empty columns, and the notes, as a notebook shows them."""
        rows = text_rows(self)
        heads = [
            name for name in dict.fromkeys(name for row in rows for name in row) if any(row.get(name) for row in rows)
        ]
        left = len(rows) - _IN_NOTEBOOK
        more = [f"and {plural(left, 'more row')}: .to_pandas() has them"] if left > 0 else []
        lines = [_html_row("td", [row.get(name, "") for name in heads]) for row in rows[:_IN_NOTEBOOK]]
        table = f"<table>{_html_row('th', heads)}{''.join(lines)}</table>" if rows else ""
        below = "".join(f"<p>{escape(text)}</p>" for text in (*more, *self.notes))
        return f"<div><p>{escape(self.verdict)}</p>{table}{below}</div>"


def _html_row(kind: str, texts: Iterable[str]) -> str:
    # Jupyter's own style puts text to the right
    cells = (f'<{kind} style="text-align: left; vertical-align: top">{escape(text)}</{kind}>' for text in texts)
    return f"<tr>{''.join(cells)}</tr>"


def import_pandas(what: str) -> ModuleType:
    """Return pandas; raises :class:`ModuleNotFoundError` with the extra to install."""
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{what} needs pandas: pip install 'caniexport[frames]'", name=error.name) from None
    return pandas


def as_json(answer: Answer) -> dict[str, Any]:
    """Return the answer as JSON: every row of its tables by column."""
    tables = [{"title": table.title, "rows": records(table)} for table in answer.tables if table.rows]
    return {"verdict": answer.verdict, "outcome": answer.outcome.value, "tables": tables, "notes": list(answer.notes)}


def records(table: Table) -> list[dict[str, Any]]:
    """Return the rows of a table by column."""
    return [
        {name: _json_value(cell) for name, cell in zip(table.columns, row, strict=True) if name} for row in table.rows
    ]


def text_rows(answer: Answer) -> list[dict[str, str]]:
    """Return the rows of all tables as texts by column, each with the title of its table."""
    return [
        {"table": table.title, **dict(zip(table.columns, map(_standalone_text, row), strict=True))}
        for table in answer.tables
        for row in table.rows
    ]


def _json_value(cell: Cell) -> Any:
    match cell:
        case Mark(word, text, at):
            parts = {"word": word.value, "text": text, "at": dict(at)}
            present = {name: part for name, part in parts.items() if part}
            return present if len(present) > 1 else word.value
        case Share(works, measured):
            return {"works": works, "measured": measured}
        case Link(text, _, asked):
            return dict(asked) or text
        case Message(line, whole):
            return whole or line
        case Range(_, members):
            return list(members)
        case Place(path, line):
            return {"path": path, "line": line}
        case tuple():
            return [_json_value(item) for item in cell]
        case str() | int() | float() | None:
            return cell
        case _:
            return cell_text(cell)


def _standalone_text(cell: Cell) -> str:
    """Return a cell as text without its sign: the status comes before the text of its mark."""
    if isinstance(cell, Mark) and isinstance(cell.word, Status) and cell.text:
        return f"{cell.word.value} {cell.text}"
    return cell_text(cell)


def cell_text(value: Any) -> str:
    """Return a cell as text, as a search, a CSV file and a terminal without color show it."""
    match value:
        case None:
            return ""
        case Mark(word, text):
            return text or str(word.value)
        case Share(works, measured):
            return f"{works}/{measured}" if measured else ""
        case Code(text) | Link(text) | Message(text) | Range(text):
            return text
        case Place(path, line):
            return f"{path}:{line}"
        case tuple():
            return ", ".join(map(cell_text, value))
        case _:
            return str(value)
