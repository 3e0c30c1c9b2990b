"""The matrix as one dense table: sticky heads, a sign and a colour in every cell, each cell a link to its evidence.

A table of more than :data:`LIGHT` cells says what its cells lead to once a row and once a column, and each hint once:
nav.js makes the link when a cell is pointed at or stepped to. A browser needs seconds for tens of thousands of links.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from urllib.parse import urlencode

from caniexport.answers.gathered import Gathered
from caniexport.answers.matrix import By, EnvironmentLine, MatrixRow
from caniexport.answers.signs import EXPORTER_SHORT, STATUS, word
from caniexport.answers.summary import Summary
from caniexport.model.case import PLAIN
from caniexport.model.status import WORKS, Status
from caniexport.pages import links, markup
from caniexport.pages.markup import PROVIDER_NAME, escape, link, plural, status_class, summary_title, worst_beside
from caniexport.pages.markup import columns as heads_of

#: cells from which on a table is a light one
LIGHT = 3000
#: from this many columns on, cells show signs and numbers only
_MANY = 9
_BY_HEAD = '<th class="by" scope="col">exporter</th>'
_LONG = {short: name for name, short in EXPORTER_SHORT.items()}


def table(
    lines: Sequence[MatrixRow],
    columns: Sequence[str],
    carried: Mapping[str, str],
    by: By = By.TORCH,
    label: str = "",
    *,
    light: bool = False,
) -> str:
    """Rows grouped by theme, then by case; ``carried`` are the filters that every link takes along.

    ``light``: whether a large table may leave its links to nav.js.
    """
    themes = groupby(lines, key=lambda line: line.theme)
    # where the columns are the exporters, nothing may be left to say of a row
    look = _Look(columns, carried, by, any(map(_by, lines)), light and len(lines) * len(columns) > LIGHT)
    heads = f'<th class="case" scope="col">case</th>{_BY_HEAD * look.has_by}{look.heads()}'
    body = "".join(_theme(theme, list(found), look) for theme, found in themes)
    return markup.table(label or "Matrix of cases and torch releases", look.classes, heads, body, more=look.told())


@dataclass(frozen=True)
class _Look:
    """What is the same for all cells: the columns and what they are, the filters that links take along."""

    columns: Sequence[str]
    carried: Mapping[str, str]
    by: By
    has_by: bool = True
    light: bool = False
    hints: dict[str, int] = field(default_factory=dict)

    @property
    def many(self) -> bool:
        """Whether cells show signs and numbers only."""
        return len(self.columns) >= _MANY

    @property
    def classes(self) -> str:
        return f"matrix{' many' * self.many}{' light' * self.light}"

    def heads(self) -> str:
        """The columns' heads; of a light table with what each adds to a row's link."""
        if not self.light:
            return heads_of(self.columns)
        return "".join(
            f'<th scope="col" data-adds="{escape(urlencode(self.column(name)))}">{escape(name)}</th>'
            for name in self.columns
        )

    def told(self) -> str:
        """The hints of a light table's cells, once its rows have been written."""
        return f' data-hints="{escape(json.dumps(list(self.hints)))}"' if self.light else ""

    def hint(self, text: str) -> int:
        """The number of a hint."""
        return self.hints.setdefault(text, len(self.hints))

    def where(self, line: MatrixRow, column: str) -> dict[str, str]:
        """The cell of a line and column, as the case page is asked for it."""
        return {**self.row(line), **self.column(column)}

    def row(self, line: MatrixRow) -> dict[str, str]:
        """The same as far as a line says it."""
        found = {**self.carried, "case": line.case, "variant": _variant(line), "exporter": line.exporter or ""}
        if line.provider:
            found["provider"] = line.provider
        return found

    def column(self, name: str) -> dict[str, str]:
        """The same as far as a column says it."""
        match self.by:
            case By.TORCH:
                return {"torch": name}
            case By.OPSET:
                return {"opset": name}
            case By.EXPORTER:
                return {"exporter": _LONG.get(name, name)}
            case By.PROVIDER:
                return {"provider": name}
            case By.RUNTIME:
                return {}


def _theme(theme: str, lines: list[MatrixRow], look: _Look) -> str:
    count = plural(len({line.case for line in lines}), "case")
    name = f"{escape(theme or 'no theme')} <small>{count}</small>"
    rest = f'<td colspan="{len(look.columns)}"></td>'
    anchor = f"theme-{links.slug(theme)}"
    head = f'<tr class="theme" id="{anchor}"><th scope="colgroup" colspan="{1 + look.has_by}">{name}</th>{rest}</tr>'
    blocks = groupby(lines, key=lambda line: (line.case, line.variant))
    return head + "".join(_block(list(found), look) for _, found in blocks)


def _block(lines: list[MatrixRow], look: _Look) -> str:
    """The lines of one variant: its name once, then one row for each exporter."""
    first = lines[0]
    title = first.title or first.case
    name = title if first.variant == PLAIN else f"↳ {first.variant}"
    address = links.page("case", case=first.case, variant=_variant(first))
    shown = link(address, escape(name), title=f"{first.case}\n{title}")
    head = f'<th class="case" scope="rowgroup" rowspan="{len(lines)}">{shown}</th>'
    fix = "" if first.variant == PLAIN else ' class="fix"'
    heads = [head, *[""] * (len(lines) - 1)]
    return "".join(
        f"<tr{fix}{_leads(line, look)}>{start}{_row(line, look)}</tr>" for start, line in zip(heads, lines, strict=True)
    )


def _leads(line: MatrixRow, look: _Look) -> str:
    """What the links of a light table's row have in common."""
    return f' data-leads="{escape(links.page("case", **look.row(line)))}"' if look.light else ""


def _row(line: MatrixRow, look: _Look) -> str:
    by = f'<th class="by" scope="row">{escape(_by(line))}</th>' if look.has_by else ""
    return by + "".join(_cell(line, name, look) for name in look.columns)


def _by(line: MatrixRow) -> str:
    """What a row says of itself beside its case: exporter and provider, where they are not the columns."""
    exporter = EXPORTER_SHORT.get(line.exporter or "", line.exporter or "")
    provider = PROVIDER_NAME.get(line.provider, line.provider) if line.provider else ""
    return f"{exporter} {provider}".strip()


def _variant(line: MatrixRow) -> str:
    return "" if line.variant == PLAIN else line.variant


def _cell(line: MatrixRow, column: str, look: _Look) -> str:
    place = line.places[column]
    classes = [status_class(place.status)]
    beside = worst_beside(place.at, place.status)
    if beside is not None:
        classes.append(f"with-{beside.value}")
    if look.light:
        number = look.hint(summary_title(place))
        return f'<td class="{" ".join(classes)}" data-hint="{number}">{escape(_said(place, look.many))}</td>'
    hint = f"{line.case}, {look.by.value} {column}, {line.exporter or 'any exporter'}\n{summary_title(place)}"
    shown = link(links.page("case", **look.where(line, column)), escape(_said(place, look.many)), title=hint)
    return f'<td class="{" ".join(classes)}">{shown}</td>'


def _said(place: Summary, many: bool) -> str:
    if not many:
        return place.text
    sign = STATUS[place.status].sign
    return f"{sign} {place.short}" if place.status is Status.PASS and place.short != sign else place.short


def gathered(
    lines: Sequence[Gathered], columns: Sequence[str], noun: str, address: Callable[[str], str], *, light: bool = False
) -> str:
    """Operators or themes down (``noun``): of the cases of each, how many work; a row leads to its ``address``."""
    # a column adds nothing to where a row leads
    look = _Look(columns, {}, By.RUNTIME, light=light and len(lines) * len(columns) > LIGHT)
    heads = f'<th class="case" scope="col">{noun}</th>{_BY_HEAD}{look.heads()}'
    blocks = groupby(lines, key=lambda line: line.name)
    body = "".join(_gathered(list(found), address(name), look) for name, found in blocks)
    return markup.table(f"Matrix of {noun}s", look.classes, heads, body, more=look.told())


def _gathered(lines: list[Gathered], address: str, look: _Look) -> str:
    leads = f' data-leads="{escape(address)}"' if look.light else ""
    count = plural(max(line.cases for line in lines), "case")
    name = f'{link(address, escape(lines[0].name or "no theme"))} <small class="quiet">{count}</small>'
    head = f'<th class="case" scope="rowgroup" rowspan="{len(lines)}">{name}</th>'
    rows = []
    for line in lines:
        by = escape(EXPORTER_SHORT.get(line.exporter or "", line.exporter or ""))
        cells = "".join(_share(line, column, address, look) for column in look.columns)
        rows.append(f'<tr{leads}><th class="by" scope="row">{by}</th>{cells}</tr>')
    return "".join(rows).replace("<th", f"{head}<th", 1)


def _share(line: Gathered, column: str, address: str, look: _Look) -> str:
    place = line.places[column]
    sign = STATUS[place.status].sign
    text = escape(f"{sign} {place.works}/{place.measured}" if place.measured else sign)
    hint = f"{place.works} of {plural(place.measured, 'case')} work at some opset"
    if look.light:
        return f'<td class="{status_class(place.status)}" data-hint="{look.hint(hint)}">{text}</td>'
    shown = link(address, text, title=f"{line.name}, {column}: {hint}")
    return f'<td class="{status_class(place.status)}">{shown}</td>'


def environments(lines: Sequence[EnvironmentLine]) -> str:
    """Environment cases: what cannot be installed or imported together, each with the environment that works."""
    heads = heads_of(("what is installed and imported", "variant", "outcome"))
    return markup.table("Environment cases", "plain", heads, "".join(map(_environment, lines)), whole=True)


def _environment(line: EnvironmentLine) -> str:
    shown = link(links.page("case", case=line.case), escape(line.title or line.case))
    said = f"{STATUS[line.status].sign} {word(line.status)}{'' if line.status in WORKS else f' at {line.stage}'}"
    return (
        f'<tr><th scope="row">{shown}</th><td class="tight">{escape(line.variant)}</td>'
        f'<td class="tight {status_class(line.status)}">{escape(said)}</td></tr>'
    )
