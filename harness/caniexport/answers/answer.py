"""What every question is answered with: a verdict, an outcome, and tables of typed cells. ``render/`` shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any

from caniexport.answers.shown import Shown

#: characters of a verdict
LONGEST = 100


class AnswerOutcome(StrEnum):
    """What a verdict says; exit codes and colors follow from it."""

    WORKS = "works"
    FAILS = "fails"
    NOT_MEASURED = "not measured"
    #: nothing was judged: a list of what is there
    LISTED = "listed"

    @property
    def exit_code(self) -> int:
        """1 where something stops a build, or nobody knows."""
        return int(self in (AnswerOutcome.FAILS, AnswerOutcome.NOT_MEASURED))


@dataclass(frozen=True)
class Mark:
    """A word of the dataset (a status, a verdict), shown by its sign; ``text`` stands in place of the word."""

    word: Enum
    text: str = ""


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
class Place:
    """A line of a file."""

    path: str
    line: int


Cell = str | int | float | None | Mark | Code | Link | Message | Place | tuple["Cell", ...]


@dataclass(frozen=True)
class Table:
    """Rows under a title. ``shown`` of them fit on the first screen, without the columns ``folded``; the others are
    asked for.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    shown: int = 12
    folded: tuple[str, ...] = ()

    @property
    def hidden(self) -> int:
        """How many rows the first screen leaves out."""
        return max(0, len(self.rows) - self.shown)


@dataclass(frozen=True)
class Answer(Shown):
    """A verdict of one line, at most 100 characters; tables; notes of a sentence each.

    ``more`` is the command, or what to add to it, that shows what is left out.
    """

    verdict: str
    outcome: AnswerOutcome
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    more: str = ""


def as_json(answer: Answer) -> dict[str, Any]:
    """The answer as objects, lists, text and numbers: every row of its tables by column."""
    tables = [{"title": table.title, "rows": records(table)} for table in answer.tables if table.rows]
    return {"verdict": answer.verdict, "outcome": answer.outcome.value, "tables": tables, "notes": list(answer.notes)}


def records(table: Table) -> list[dict[str, Any]]:
    """The rows of a table by column."""
    return [{name: _value(cell) for name, cell in zip(table.columns, row, strict=True) if name} for row in table.rows]


def texts(answer: Answer) -> list[dict[str, str]]:
    """The rows of all tables as texts by column, each with the title of its table."""
    return [
        {"table": table.title, **dict(zip(table.columns, map(words, row), strict=True))}
        for table in answer.tables
        for row in table.rows
    ]


def _value(cell: Cell) -> Any:
    match cell:
        case Mark(word, text):
            return {"word": word.value, "text": text} if text else word.value
        case Link(text, _, asked):
            return dict(asked) or text
        case Message(line, whole):
            return whole or line
        case Place(path, line):
            return {"path": path, "line": line}
        case tuple():
            return [_value(item) for item in cell]
        case str() | int() | float() | None:
            return cell
        case _:
            return words(cell)


def words(value: Any) -> str:
    """A cell as text: what a search, a CSV file and a terminal without color have of it."""
    match value:
        case None:
            return ""
        case Mark(word, text):
            return text or str(word.value)
        case Code(text) | Link(text) | Message(text):
            return text
        case Place(path, line):
            return f"{path}:{line}"
        case tuple():
            return ", ".join(map(words, value))
        case _:
            return str(value)
