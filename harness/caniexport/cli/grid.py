"""Tables for the terminal: columns, a rule under their names, nothing around them.

A table of many columns that a narrow terminal has no room for is told line by line. One that fits, or of which the
widest column alone has to be folded, is laid out here, as rich would, in a tenth of its time: thousands of lines are
not rare. Any other is left to rich.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Table

_HEAD = "bold"
#: so many columns with less room for each are not laid out beside each other: a few signs of each would be left
_MANY, _ROOM = 5, 10
#: signs that would break a line or move the place in it
_BREAKING = frozenset("\n\r\t\x0b\x0c\x1b\x85\u2028\u2029")


class Styled(NamedTuple):
    """A text in a style of rich's: ``red``, ``dim``."""

    text: str
    style: str


class Grid:
    """A table with these headings, ``gap`` spaces between columns, whose cells are never cut.

    no_wrap  whether lines stay whole where the table is wider than the terminal; print it with ``crop=False``
    stacked  whether it is told line by line
    """

    def __init__(self, names: Sequence[str], gap: int) -> None:
        self._rows: list[tuple[Styled, ...]] = [tuple(Styled(name, _HEAD) for name in names)]
        self._gap = gap
        self.no_wrap = False
        self.stacked = False

    def add_row(self, *cells: str | Styled) -> None:
        """Add a line; columns that are left out are empty."""
        row = [cell if isinstance(cell, Styled) else Styled(cell, "") for cell in cells]
        self._rows.append((*row, *[_EMPTY] * (len(self._rows[0]) - len(row))))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment | Table]:
        last = len(self._rows[0]) - 1
        # a column with what is left free behind it is never empty
        least = [1 if at == last or self._gap < 2 else 0 for at in range(last + 1)]
        widths = [max(low, *(cell_len(row[at].text) for row in self._rows)) for at, low in enumerate(least)]
        whole = sum(widths) + self._gap * (len(widths) - 1)
        over = 0 if self.no_wrap else whole - options.max_width
        narrow = self._foldable(widths, over) if over > 0 else None
        crowded = over > 0 and narrow is None and _ROOM * len(widths) > options.max_width and len(widths) >= _MANY
        if self.stacked or crowded:
            yield from self._stacked(console)
            return
        if (over > 0 and narrow is None) or any(_BREAKING & set(cell.text) for row in self._rows for cell in row):
            yield self._folded()
            return
        if narrow is not None:
            widths[narrow] -= over
            whole -= over
        coloured = console.color_system is not None
        for number, row in enumerate(self._rows):
            for line in [row] if narrow is None else _fold(row, narrow, widths[narrow], console):
                if coloured:
                    yield from self._in_colour(line, widths)
                else:
                    yield Segment(self._line(line, widths))
                yield _END
            if number == 0:
                yield Segment("─" * whole)
                yield _END

    def _foldable(self, widths: Sequence[int], over: int) -> int | None:
        """The column that rich would narrow alone: the widest one, which is so even without what is too much."""
        widest = max(range(len(widths)), key=widths.__getitem__)
        left = widths[widest] - over
        others = [wide for at, wide in enumerate(widths) if at != widest]
        # a heading that is folded stands below the others
        whole = cell_len(self._rows[0][widest].text) <= left
        # rich narrows a column further where a sign two cells wide does not fit its end
        single = all(cell_len(row[widest].text) == len(row[widest].text) for row in self._rows)
        # and narrows it more than is too much beside a column without a sign
        filled = all(others)
        return widest if whole and single and filled and left > max(others, default=0) + self._gap else None

    def _line(self, row: Sequence[Styled], widths: Sequence[int]) -> str:
        # most texts are as wide as they are long
        return (" " * self._gap).join(
            cell.text + " " * (wide - cell_len(cell.text)) for cell, wide in zip(row, widths, strict=True)
        )

    def _in_colour(self, row: Sequence[Styled], widths: Sequence[int]) -> Iterator[Segment]:
        for at, (cell, wide) in enumerate(zip(row, widths, strict=True)):
            if at:
                yield Segment(" " * self._gap)
            yield Segment(cell.text, Style.parse(cell.style) if cell.style else None)
            yield Segment(" " * (wide - cell_len(cell.text)))

    def _stacked(self, console: Console) -> Iterator[Segment]:
        """Each line as its first cell, and below it the others, a line for each with the name of its column."""
        from rich.text import Text

        names = self._rows[0]
        for row in self._rows[1:]:
            told = [(row[0].text, row[0].style)]
            told += [(f"  {name.text}: {cell.text}", cell.style) for name, cell in zip(names[1:], row[1:], strict=True)]
            for text, style in told:
                if text and not text.rstrip().endswith(":"):
                    for line in Text(text, style=style).wrap(console, console.width, overflow="fold"):
                        yield from line.render(console)
                        yield _END

    def _folded(self) -> Table:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        padding = (0, self._gap - 1, 0, 0)
        made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=padding, header_style=_HEAD)
        for cell in self._rows[0]:
            made.add_column(cell.text, overflow="fold", no_wrap=self.no_wrap)
        for row in self._rows[1:]:
            made.add_row(*(Text(cell.text, style=cell.style) if cell.style else cell.text for cell in row))
        return made


def _fold(row: Sequence[Styled], at: int, width: int, console: Console) -> Iterator[Sequence[Styled]]:
    """A row with one of its cells on as many lines as it needs."""
    cell = row[at]
    if cell_len(cell.text) <= width:
        yield row
        return
    from rich.text import Text

    empty = [_EMPTY] * len(row)
    for number, line in enumerate(Text(cell.text).wrap(console, width, overflow="fold")):
        rest = empty if number else row
        yield [*rest[:at], Styled(line.plain, cell.style), *rest[at + 1 :]]


_EMPTY = Styled("", "")
_END = Segment.line()
