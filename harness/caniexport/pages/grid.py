"""A matrix as one dense table: sticky heads, a sign and a colour in every cell, each cell a link to its evidence.

A table of more than :data:`LIGHT` cells says what its cells lead to once a row and once a column, and each hint once:
nav.js makes the link when a cell is pointed at or stepped to. A browser needs seconds for tens of thousands of links.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple
from urllib.parse import urlencode

from caniexport.answers.gathered import Gathered, Share
from caniexport.answers.matrix import By, MatrixRow
from caniexport.answers.signs import EXPORTER_SHORT, STATUS, word
from caniexport.answers.summary import Summary
from caniexport.model.case import PLAIN
from caniexport.model.status import Status
from caniexport.names import plural
from caniexport.pages import links, looks

#: cells from which on a table is a light one
LIGHT = 3000
#: from this many columns on, cells show signs and numbers only
_MANY = 9
_LONG = {short: name for name, short in EXPORTER_SHORT.items()}
_SEVERITY = list(Status)[: list(Status).index(Status.MISMATCH) + 1]


class GridCell(NamedTuple):
    """A cell: its classes, its text, and its hint with its address, or the number of its hint in a light table."""

    css: str
    text: str
    hint: str | int
    address: str = ""


class GridRow(NamedTuple):
    """What a row says of itself beside its name, its cells, and the address that they have in common."""

    by: str
    cells: list[GridCell]
    leads: str
    is_hidden: bool = False

    @property
    def alike(self) -> list[tuple[GridCell, int]]:
        """Its cells, neighbours that look alike as one, with how many they are."""
        return [(cell, len(list(same))) for cell, same in groupby(self.cells)]


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
    careful: tuple[str, ...] = ()
    case: str = ""


class GridPart(NamedTuple):
    """The blocks of a theme; of a table that has no themes the only part, without a name."""

    theme: str | None
    beside: str
    blocks: list[GridBlock]


@dataclass(frozen=True)
class GridTable:
    """The table, and what is the same for all of its cells: the columns and what they are, what links take along.

    ``bare``: in a file the cells have neither links nor hints; the pages that its rows lead to have both.
    ``has_filters``: a script of that file filters the rows, some of which are hidden until then.
    """

    label: str
    noun: str
    columns: Sequence[str]
    by: By
    carried: Mapping[str, str]
    light: bool
    has_by: bool = True
    bare: bool = False
    has_filters: bool = False
    parts: list[GridPart] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

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
    def hints(self) -> str:
        """The hints of a light table by their numbers."""
        return json.dumps(list(self.numbers))

    def number(self, hint: str) -> int:
        """The number of a hint."""
        return self.numbers.setdefault(hint, len(self.numbers))

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
    light: bool = False,
    careful: Mapping[str, tuple[str, ...]] | None = None,
    bare: bool = False,
    shown: Sequence[str] = (),
) -> GridTable:
    """Rows grouped by theme, then by case; ``carried`` are the filters that every link takes along.

    ``light``: whether a large table may leave its links to nav.js; ``careful``: by case the fixes known to be wrong.
    ``shown`` are the exporters whose rows are seen at first, empty for all.
    """
    light = light and len(lines) * len(columns) > LIGHT
    # where the columns are the exporters, nothing may be left to say of a row
    made = GridTable(label, "documented failure", columns, by, carried, light, any(map(_by, lines)), bare, bool(shown))
    for theme, of_theme in groupby(lines, key=lambda line: line.theme):
        mine = list(of_theme)
        blocks = groupby(mine, key=lambda line: (line.case, line.variant))
        count = plural(len({line.case for line in mine}), "case")
        found = [_block(list(block), made, careful or {}, shown) for _, block in blocks]
        made.parts.append(GridPart(theme or "no theme", count, found))
    return made


def of_gathered(
    lines: Sequence[Gathered],
    columns: Sequence[str],
    noun: str,
    address: Callable[..., str],
    by: By = By.TORCH,
    *,
    part: Callable[[str], str] | None = None,
    light: bool = False,
) -> GridTable:
    """Operators or themes down (``noun``): of the cases of each, how many work.

    A row leads to the ``address`` of its name, a cell to that at its exporter and column. ``part`` says under which
    head a name stands, where there are several.
    """
    light = light and len(lines) * len(columns) > LIGHT
    made = GridTable(f"Matrix of {noun}s", noun, columns, by, {}, light)
    for head, mine in groupby(lines, key=lambda line: part(line.name) if part else None):
        blocks = [
            _gathered(name, address, list(same), made) for name, same in groupby(mine, key=lambda line: line.name)
        ]
        made.parts.append(GridPart(head, plural(len(blocks), noun) if head else "", blocks))
    return made


def _block(
    lines: list[MatrixRow], made: GridTable, careful: Mapping[str, tuple[str, ...]], shown: Sequence[str]
) -> GridBlock:
    """The lines of one variant."""
    first = lines[0]
    title = first.title or first.case
    is_fix = first.variant != PLAIN
    address = links.page("case", case=first.case, variant=_variant(first))
    rows = [_row(line, made, is_hidden=bool(shown) and line.exporter not in shown) for line in lines]
    name = f"↳ {first.variant}" if is_fix else title
    bad = () if is_fix else careful.get(first.case, ())
    hint = "" if made.bare else f"{first.case}\n{title}"
    return GridBlock(name, address, hint, "", is_fix, rows, bad, first.case)


def _row(line: MatrixRow, made: GridTable, *, is_hidden: bool) -> GridRow:
    leads = links.page("case", **made.row(line)) if made.light else ""
    return GridRow(_by(line), [_cell(line, name, made) for name in made.columns], leads, is_hidden)


def _cell(line: MatrixRow, column: str, made: GridTable) -> GridCell:
    place = line.places[column]
    beside = _worst_beside(place)
    css = looks.STATUS[place.status].css + (f" with-{beside.value}" if beside else "")
    text = _said(place, made.many)
    if made.bare:
        return GridCell(css, text, "")
    told = _told(place)
    if made.light:
        return GridCell(css, text, made.number(told))
    hint = f"{line.case}, {made.by.value} {column}, {line.exporter or 'any exporter'}\n{told}"
    return GridCell(css, text, hint, links.page("case", **{**made.row(line), **made.column(column)}))


def _gathered(name: str, address: Callable[..., str], lines: list[Gathered], made: GridTable) -> GridBlock:
    rows = [
        GridRow(
            EXPORTER_SHORT.get(line.exporter or "", line.exporter or ""),
            [_share(line, column, address, made) for column in made.columns],
            address(name, **_exporter_of(line)) if made.light else "",
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
    hint = f"{place.works} of {plural(place.measured, 'case')} work at some opset"
    if place.mixed and place.worst:
        hint += f"; the worst of the others: {word(place.worst)}"
    if made.light:
        return GridCell(css, text, made.number(hint))
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
