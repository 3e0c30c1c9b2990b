"""A matrix as one dense table: sticky heads, a sign and a colour in every cell, each cell a link to its evidence.

Of a table of more than :data:`LIGHT` cells the app's scripts make the link of a cell when it is pointed at (nav.js),
and after the first :data:`FIRST` the cells of the rows that are seen (cells.js): all of them take a browser seconds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import count, groupby
from typing import NamedTuple
from urllib.parse import urlencode

from caniexport.answers.gathered import Gathered, Share
from caniexport.answers.matrix import By, MatrixRow
from caniexport.answers.reading import CatalogueEntry
from caniexport.answers.signs import EXPORTER_SHORT, STATUS, word
from caniexport.answers.summary import Summary
from caniexport.model.case import PLAIN
from caniexport.model.status import Status
from caniexport.names import plural
from caniexport.pages import links, looks

#: cells from which on a script makes their links
LIGHT = 300
#: cells of a light table that no script makes: those of its first rows
FIRST = 1500
#: from this many columns on, cells show signs and numbers only
_MANY = 9
_LONG = {short: name for name, short in EXPORTER_SHORT.items()}
_SEVERITY = list(Status)[: list(Status).index(Status.MISMATCH) + 1]


class Cells(Enum):
    """How the cells of a table are drawn: as links with hints, where they are seen, or as signs alone."""

    LINKED = "linked"
    SEEN = "seen"
    BARE = "bare"


def _width(text: str) -> float:
    """In digits; a sign is a bit wider than one."""
    return len(text) + 0.2 * sum(1 for sign in text if not sign.isascii())


def choose_cells(lines: Sequence[object], columns: Sequence[str]) -> Cells:
    """How the app draws a table of these rows."""
    return Cells.LINKED if len(lines) * len(columns) <= LIGHT else Cells.SEEN


class GridCell(NamedTuple):
    """A cell: its classes, its text, its hint and its address, or its number where cells are drawn when seen."""

    css: str
    text: str
    hint: str = ""
    address: str = ""
    number: int = 0


class GridRow(NamedTuple):
    """What a row says of itself beside its name, its cells, the address that they have in common, and whether a script
    draws them.
    """

    by: str
    cells: list[GridCell]
    leads: str
    is_hidden: bool = False
    is_later: bool = False

    @property
    def alike(self) -> list[tuple[GridCell, int]]:
        """Its cells, neighbours that look alike as one, with how many they are."""
        return [(cell, len(list(same))) for cell, same in groupby(self.cells)]

    @property
    def runs(self) -> str:
        """Its cells by their numbers, as cells.js reads them."""
        return " ".join(f"{cell.number}*{wide}" if wide > 1 else str(cell.number) for cell, wide in self.alike)


class GridBlock(NamedTuple):
    """The rows of one name, which leads to its address; ``beside`` is how many cases it has, ``careful`` names the
    fixes of a case that are known to be wrong.
    """

    name: str
    address: str
    hint: str
    beside: str
    is_fix: bool
    rows: list[GridRow]
    careful: tuple[CatalogueEntry, ...] = ()
    case: str = ""


class GridPart(NamedTuple):
    """The blocks of a theme; of a table that has no themes the only part, without a name."""

    theme: str | None
    beside: str
    blocks: list[GridBlock]


@dataclass(frozen=True)
class GridTable:
    """The table, and what is the same for all of its cells: the columns and what they are, what links take along.

    ``drawn``: how its cells are; the pages that the rows of a table of bare ones lead to have links and hints.
    ``has_filters``: a script of a file filters the rows, some of which are hidden until then.
    ``kinds`` numbers the cells that are drawn when seen, ``order`` its rows.
    """

    label: str
    noun: str
    columns: Sequence[str]
    by: By
    carried: Mapping[str, str]
    drawn: Cells
    has_by: bool = True
    has_filters: bool = False
    parts: list[GridPart] = field(default_factory=list)
    kinds: dict[tuple[str, str, str], int] = field(default_factory=dict)
    order: Iterator[int] = field(default_factory=count)

    @property
    def light(self) -> bool:
        """Whether a script draws the cells that are seen, and makes their links."""
        return self.drawn is Cells.SEEN

    @property
    def bare(self) -> bool:
        """Whether the cells have neither links nor hints."""
        return self.drawn is Cells.BARE

    @property
    def many(self) -> bool:
        """Whether cells show signs and numbers only."""
        return len(self.columns) >= _MANY

    @property
    def joins(self) -> bool:
        """Whether neighbouring releases that look alike are one cell: where no script hides columns of them."""
        return self.bare and not self.has_filters and self.by is By.TORCH

    @property
    def heads(self) -> list[tuple[str, str]]:
        """The columns, each with what it adds to a row's address."""
        return [(name, urlencode(self.column(name))) for name in self.columns]

    @property
    def widths(self) -> list[float]:
        """The longest text of each column, in digits: what is drawn later moves nothing."""
        rows = [row.cells for part in self.parts for block in part.blocks for row in block.rows]
        return [max((_width(cells[place].text) for cells in rows), default=0) for place in range(len(self.columns))]

    @property
    def numbered(self) -> str:
        """Class, text and hint of the cells that are drawn when seen, by their numbers."""
        return json.dumps(list(self.kinds), ensure_ascii=False, separators=(",", ":"))

    def cell(self, css: str, text: str, hint: str) -> GridCell:
        """A cell that is drawn when seen."""
        return GridCell(css, text, hint, number=self.kinds.setdefault((css, text, hint), len(self.kinds)))

    def is_later(self) -> bool:
        """Whether a script draws the row that is made now, which is none of the first."""
        return self.light and next(self.order) * len(self.columns) >= FIRST

    def row(self, line: MatrixRow) -> dict[str, str]:
        """A line's cells as the case page is asked for them, as far as a line says it."""
        found = {**self.carried, "case": line.case, "variant": _variant(line), "exporter": line.exporter or ""}
        return {**found, "provider": line.provider} if line.provider else found

    def column(self, name: str) -> dict[str, str]:
        """The same as far as a column says it."""
        if self.by is By.EXPORTER:
            return {"exporter": _LONG.get(name, name)}
        return {} if self.by is By.RUNTIME else {self.by.value: name}


def of_lines(
    lines: Sequence[MatrixRow],
    columns: Sequence[str],
    carried: Mapping[str, str],
    by: By = By.TORCH,
    label: str = "Matrix of cases and torch releases",
    *,
    drawn: Cells = Cells.LINKED,
    careful: Mapping[str, tuple[CatalogueEntry, ...]] | None = None,
    shown: Sequence[str] = (),
) -> GridTable:
    """Rows grouped by theme, then by case; ``carried`` are the filters that every link takes along.

    ``careful``: by case the fixes known to be wrong. ``shown`` are the exporters whose rows are seen at first, empty
    for all.
    """
    # where the columns are the exporters, nothing may be left to say of a row
    made = GridTable(label, "documented failure", columns, by, carried, drawn, any(map(_by, lines)), bool(shown))
    for theme, of_theme in groupby(lines, key=lambda line: line.theme):
        mine = list(of_theme)
        blocks = groupby(mine, key=lambda line: (line.case, line.variant))
        beside = plural(len({line.case for line in mine}), "case")
        cases = {line.case for line in mine if line.variant == PLAIN}
        found = [_block(list(block), made, careful or {}, shown, cases) for _, block in blocks]
        made.parts.append(GridPart(theme or "no theme", beside, found))
    return made


def of_gathered(
    lines: Sequence[Gathered],
    columns: Sequence[str],
    noun: str,
    address: Callable[..., str],
    by: By = By.TORCH,
    *,
    part: Callable[[str], str] | None = None,
    drawn: Cells = Cells.LINKED,
) -> GridTable:
    """Operators or themes down (``noun``): of the cases of each, how many work.

    A row leads to the ``address`` of its name, a cell to that at its exporter and column. ``part`` says under which
    head a name stands, where there are several.
    """
    made = GridTable(f"Matrix of {noun}s", noun, columns, by, {}, drawn)
    for head, mine in groupby(lines, key=lambda line: part(line.name) if part else None):
        blocks = [
            _gathered(name, address, list(same), made) for name, same in groupby(mine, key=lambda line: line.name)
        ]
        made.parts.append(GridPart(head, plural(len(blocks), noun) if head else "", blocks))
    return made


def _block(
    lines: list[MatrixRow],
    made: GridTable,
    careful: Mapping[str, tuple[CatalogueEntry, ...]],
    shown: Sequence[str],
    cases: Collection[str],
) -> GridBlock:
    """The lines of one variant; a fix carries the name of its case where that is none of ``cases``, which have rows."""
    first = lines[0]
    title = first.title or first.case
    is_fix = first.variant != PLAIN
    address = links.page("case", case=first.case, variant=_variant(first))
    rows = [_row(line, made, is_hidden=bool(shown) and line.exporter not in shown) for line in lines]
    of = "" if first.case in cases else f"{first.case} "
    name = f"{of}↳ {first.variant}" if is_fix else title
    bad = () if is_fix else careful.get(first.case, ())
    hint = "" if made.bare else f"{first.case}\n{title}"
    return GridBlock(name, address, hint, "", is_fix, rows, bad, first.case)


def _row(line: MatrixRow, made: GridTable, *, is_hidden: bool) -> GridRow:
    leads = links.page("case", **made.row(line)) if made.light else ""
    cells = [_cell(line, name, made) for name in made.columns]
    return GridRow(_by(line), cells, leads, is_hidden, made.is_later())


def _cell(line: MatrixRow, column: str, made: GridTable) -> GridCell:
    place = line.places[column]
    beside = _worst_beside(place)
    css = looks.STATUS[place.status].css + (f" with-{beside.value}" if beside else "")
    text = _said(place, made.many)
    if made.bare:
        return GridCell(css, text)
    told = _told(place)
    if made.light:
        return made.cell(css, text, told)
    hint = f"{line.case}, {made.by.value} {column}, {line.exporter or 'any exporter'}\n{told}"
    return GridCell(css, text, hint, links.page("case", **{**made.row(line), **made.column(column)}))


def _gathered(name: str, address: Callable[..., str], lines: list[Gathered], made: GridTable) -> GridBlock:
    rows = [
        GridRow(
            EXPORTER_SHORT.get(line.exporter or "", line.exporter or ""),
            [_share(line, column, address, made) for column in made.columns],
            address(name, **_exporter_of(line)) if made.light else "",
            is_later=made.is_later(),
        )
        for line in lines
    ]
    beside = plural(max(line.cases for line in lines), "case")
    return GridBlock(name or "no theme", address(name), "", beside, False, rows)


def _exporter_of(line: Gathered) -> dict[str, str]:
    """The exporter of a row as an address has it; nothing where the columns are the exporters."""
    return {"exporter": line.exporter} if line.exporter else {}


def _share(line: Gathered, column: str, address: Callable[..., str], made: GridTable) -> GridCell:
    place = line.places[column]
    look = looks.STATUS[place.status]
    css = _mixed(place) if place.mixed else look.css
    sign = "" if place.mixed else look.sign
    text = f"{sign} {place.works}/{place.measured}".strip() if place.measured else sign
    works = f"{place.works} of {plural(place.measured, 'case')} work at some opset"
    hint = works if place.measured else word(place.status)
    if place.mixed and place.worst:
        hint += f"; the worst of the others: {word(place.worst)}"
    if made.bare:
        return GridCell(css, text)
    if made.light:
        return made.cell(css, text, hint)
    leads = address(line.name, **_exporter_of(line), **made.column(column))
    return GridCell(css, text, f"{line.name}, {column}: {hint}", leads)


def _mixed(place: Share) -> str:
    """The classes of a share: how much of the cell is filled, in tenths, and the worst of the others."""
    tenths = min(9, max(1, round(10 * place.works / place.measured)))
    worst = f" with-{place.worst.value}" if place.worst in (Status.MISMATCH, Status.CRASH) else ""
    return f"s-mixed share-{tenths}{worst}"


def _worst_beside(place: Summary) -> Status | None:
    """The worst status of a place beside its leading one; what an exporter refuses by its own word is not counted."""
    mild = (place.status, Status.UNSUPPORTED)
    found = [status for status in _SEVERITY if status.value in place.at and status not in mild]
    return found[-1] if found else None


def _told(place: Summary) -> str:
    """What a place of a table says when pointed at: each status with where it was seen."""
    lines = [f"{word(Status(status))}: {', '.join(where)}" for status, where in place.at.items()]
    if place.missing and place.at:
        lines.append(f"{word(Status.NOT_RUN)}: {', '.join(place.missing)}")
    if place.refused:
        lines.append(f"onnx's checker refuses the file that works: {', '.join(place.refused)}")
    if place.local:
        lines.append("measured on this machine" + (", and published rows" if place.mixed else ""))
    return "\n".join(lines) or "not measured"


def _said(place: Summary, many: bool) -> str:
    if not many:
        return place.text
    sign = STATUS[place.status].sign
    return f"{sign} {place.short}" if place.status is Status.PASS and place.short != sign else place.short


def _by(line: MatrixRow) -> str:
    """What a row says of itself beside its case: exporter and provider, where they are not the columns."""
    exporter = EXPORTER_SHORT.get(line.exporter or "", line.exporter or "")
    provider = looks.PROVIDER.get(line.provider, line.provider) if line.provider else ""
    return f"{exporter} {provider}".strip()


def _variant(line: MatrixRow) -> str:
    return "" if line.variant == PLAIN else line.variant
