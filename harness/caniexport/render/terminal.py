"""Answers for a terminal: the verdict, then tables that fit on one screen, then the command for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from caniexport.answers.answer import (
    Answer,
    AnswerOutcome,
    Cell,
    Code,
    Link,
    Mark,
    Message,
    Place,
    Share,
    Table,
    cell_text,
)
from caniexport.model.status import Status
from caniexport.names import plural, some
from caniexport.render.looks import find_sign

if TYPE_CHECKING:
    from rich.console import Console

#: blanks between columns, and the least width of a column
_GAP, _LEAST = 2, 12
#: columns that are not shown, but named
_NAMED = 5
_VERDICT = {
    AnswerOutcome.WORKS: "bold green",
    AnswerOutcome.FAILS: "bold red",
    AnswerOutcome.NOT_MEASURED: "bold yellow",
}


def print_answer(answer: Answer, console: Console, *, whole: bool = False, rest: str = "--all") -> None:
    """Print an answer; ``whole`` prints every row, every column and every message to its end.

    The last line counts what is not shown, and names what shows it: ``rest``.
    """
    console.print(Text(answer.verdict, _VERDICT.get(answer.outcome, "bold")))
    rows_hidden, columns_hidden = 0, dict[str, None]()
    for table in answer.tables:
        rows = table.rows if whole else table.rows[: table.shown]
        if rows:
            console.print()
            lines, columns = _draw_table(table, rows, console.width, whole=whole)
            for line in lines:
                console.print(line, soft_wrap=True)
            rows_hidden += len(table.rows) - len(rows)
            columns_hidden |= dict.fromkeys(columns)
    if answer.notes:
        console.print()
    for note in answer.notes:
        console.print(note)
    if answer.more and not whole:
        console.print(Text(answer.more, "dim"))
    if rows_hidden or columns_hidden:
        console.print(Text(_describe_hidden(rows_hidden, [*columns_hidden], rest, console.width), "dim"))


def _describe_hidden(rows: int, columns: Sequence[str], rest: str, width: int) -> str:
    """Return how many rows and which columns are not shown, with as many names as fit."""
    text = ""
    for most in range(min(len(columns), _NAMED), -1, -1):
        named = f" ({some(columns, most)})" if most else ""
        counts = [plural(rows, "row")] * bool(rows) + [plural(len(columns), "column") + named] * bool(columns)
        text = f"Not shown: {', '.join(counts)}. {rest} shows them."
        if cell_len(text) <= width:
            break
    return text


def _draw_table(
    table: Table, rows: Sequence[Sequence[Cell]], width: int, *, whole: bool
) -> tuple[list[Text], list[str]]:
    """Return the lines of a table, and the names of its columns that are not shown, empty ones excepted."""
    made: list[Text] = []
    if table.title:
        title = Text(table.title, "bold")
        title.truncate(max(width, cell_len(title.plain)) if whole else width, overflow="ellipsis")
        made.append(title)
    kept = [at for at, name in enumerate(table.columns) if whole or name not in table.folded]
    # a single column needs no heading
    lines = [[Text(table.columns[at], "dim") for at in kept]] if len(kept) > 1 else []
    for row in rows:
        cells = [_draw_cell(row[at], whole=whole).split("\n") for at in kept]
        several = [[*map(Text.copy, line)] for line in zip_longest(*cells, fillvalue=Text())]
        lines += several if whole else several[: table.shown]
    numbers = [all(isinstance(row[at], int) for row in rows) for at in kept]
    # names are copied: never cut them
    whole_names = [
        max((cell_len(cell_text(row[at])) for row in rows if isinstance(row[at], Link | Code | Place)), default=0)
        for at in kept
    ]
    widths = [max(cell_len(line[at].plain) for line in lines) for at in range(len(kept))]
    if not whole:
        last = _count_fitting(widths, table.heads, width - _GAP) if table.axis else len(widths)
        kept, lines, widths = kept[:last], [line[:last] for line in lines], widths[:last]
        _narrow(widths, whole_names[: len(widths)], width - _GAP)
    for line in lines:
        drawn = Text(" " * _GAP)
        for at, (text, wide) in enumerate(zip(line, widths, strict=True)):
            text.truncate(wide, overflow="ellipsis")
            left = " " * (wide - cell_len(text.plain))
            drawn.append(left if numbers[at] else "").append_text(text)
            drawn.append("" if numbers[at] or at == len(widths) - 1 else left)
            drawn.append(" " * _GAP if at < len(widths) - 1 else "")
        made.append(drawn)
    hidden = [
        name for at, name in enumerate(table.columns) if at not in kept and any(cell_text(row[at]) for row in rows)
    ]
    return made, hidden


def _count_fitting(widths: Sequence[int], heads: int, width: int) -> int:
    """Return how many columns fit; the heads and one column always stay."""
    last = len(widths)
    while last > heads + 1 and sum(widths[:last]) + _GAP * (last - 1) > width:
        last -= 1
    return last


def _narrow(widths: list[int], least: Sequence[int], width: int) -> None:
    """Narrow the widest columns until a line fits; names (``least``) stay whole."""
    while sum(widths) + _GAP * (len(widths) - 1) > width:
        cut = [at for at, wide in enumerate(widths) if wide > max(_LEAST, least[at])]
        if not cut:
            return
        widths[max(cut, key=widths.__getitem__)] -= 1


def _draw_cell(cell: Cell, *, whole: bool) -> Text:
    match cell:
        case Mark(word, text):
            sign = find_sign(word)
            style = "dim" if sign.colour == "white" else sign.colour
            return Text(" ".join(filter(None, (sign.sign, text if text != sign.sign else ""))), Style.parse(style))
        case Share(works, found):
            style = find_sign(Status.PASS if works == found else Status.DEGRADED if works else Status.FAIL).colour
            return Text(cell_text(cell), Style.parse(style) if found else "dim")
        case Link(text):
            return Text(text, "dim")
        case Message(line, everything):
            return Text(everything or line if whole else line)
        case tuple():
            return Text(", ").join(_draw_cell(item, whole=whole) for item in cell)
        case _:
            return Text(cell_text(cell))
