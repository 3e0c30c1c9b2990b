"""The matrix as one dense table: sticky heads, a sign and a colour in every cell, each cell a link to its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from dashboard import links, markup
from dashboard.markup import PROVIDER_NAME, escape, link, plural, status_class, summary_title, worst_beside
from dashboard.markup import columns as heads_of
from harness.answers.matrix import By, EnvironmentLine, Line
from harness.answers.operators import OpLine
from harness.answers.signs import EXPORTER_SHORT, STATUS, word
from harness.answers.summary import Summary
from harness.worker.case import PLAIN
from harness.worker.status import WORKS, Status

#: from this many columns on, cells show signs and numbers only
_MANY = 9
_BY_HEAD = '<th class="by" scope="col">exporter</th>'
_LONG = {short: name for name, short in EXPORTER_SHORT.items()}


def table(
    lines: Sequence[Line], columns: Sequence[str], carried: Mapping[str, str], by: By = By.TORCH, label: str = ""
) -> str:
    """Rows grouped by theme, then by case; ``carried`` are the filters that every link takes along."""
    themes = groupby(lines, key=lambda line: line.theme)
    # where the columns are the exporters, nothing may be left to say of a row
    look = _Look(columns, carried, by, any(map(_by, lines)))
    heads = f'<th class="case" scope="col">case</th>{_BY_HEAD * look.has_by}{heads_of(columns)}'
    body = "".join(_theme(theme, list(found), look) for theme, found in themes)
    return markup.table(label or "Matrix of cases and torch releases", look.classes, heads, body)


@dataclass(frozen=True)
class _Look:
    """What is the same for all cells: the columns and what they are, the filters that links take along."""

    columns: Sequence[str]
    carried: Mapping[str, str]
    by: By
    has_by: bool = True

    @property
    def many(self) -> bool:
        """Whether cells show signs and numbers only."""
        return len(self.columns) >= _MANY

    @property
    def classes(self) -> str:
        return "matrix many" if self.many else "matrix"

    def where(self, line: Line, column: str) -> dict[str, str]:
        """The cell of a line and column, as the case page is asked for it."""
        found = {**self.carried, "case": line.case, "variant": _variant(line), "exporter": line.exporter or ""}
        if line.provider:
            found["provider"] = line.provider
        match self.by:
            case By.TORCH:
                found["torch"] = column
            case By.OPSET:
                found["opset"] = column
            case By.EXPORTER:
                found["exporter"] = _LONG.get(column, column)
            case By.PROVIDER:
                found["provider"] = column
            case By.RUNTIME:
                pass
        return found


def _theme(theme: str, lines: list[Line], look: _Look) -> str:
    count = plural(len({line.case for line in lines}), "case")
    name = f"{escape(theme or 'no theme')} <small>{count}</small>"
    rest = f'<td colspan="{len(look.columns)}"></td>'
    anchor = f"theme-{links.slug(theme)}"
    head = f'<tr class="theme" id="{anchor}"><th scope="colgroup" colspan="{1 + look.has_by}">{name}</th>{rest}</tr>'
    blocks = groupby(lines, key=lambda line: (line.case, line.variant))
    return head + "".join(_block(list(found), look) for _, found in blocks)


def _block(lines: list[Line], look: _Look) -> str:
    """The lines of one variant: its name once, then one row for each exporter."""
    first = lines[0]
    title = first.title or first.case
    name = title if first.variant == PLAIN else f"↳ {first.variant}"
    address = links.page("case", case=first.case, variant=_variant(first))
    shown = link(address, escape(name), title=f"{first.case}\n{title}")
    head = f'<th class="case" scope="rowgroup" rowspan="{len(lines)}">{shown}</th>'
    fix = "" if first.variant == PLAIN else ' class="fix"'
    heads = [head, *[""] * (len(lines) - 1)]
    return "".join(f"<tr{fix}>{start}{_row(line, look)}</tr>" for start, line in zip(heads, lines, strict=True))


def _row(line: Line, look: _Look) -> str:
    by = f'<th class="by" scope="row">{escape(_by(line))}</th>' if look.has_by else ""
    return by + "".join(_cell(line, name, look) for name in look.columns)


def _by(line: Line) -> str:
    """What a row says of itself beside its case: exporter and provider, where they are not the columns."""
    exporter = EXPORTER_SHORT.get(line.exporter or "", line.exporter or "")
    provider = PROVIDER_NAME.get(line.provider, line.provider) if line.provider else ""
    return f"{exporter} {provider}".strip()


def _variant(line: Line) -> str:
    return "" if line.variant == PLAIN else line.variant


def _cell(line: Line, column: str, look: _Look) -> str:
    place = line.places[column]
    classes = [status_class(place.status)]
    beside = worst_beside(place.at, place.status)
    if beside is not None:
        classes.append(f"with-{beside.value}")
    hint = f"{line.case}, {look.by.value} {column}, {line.exporter or 'any exporter'}\n{summary_title(place)}"
    shown = link(links.page("case", **look.where(line, column)), escape(_said(place, look.many)), title=hint)
    return f'<td class="{" ".join(classes)}">{shown}</td>'


def _said(place: Summary, many: bool) -> str:
    if not many:
        return place.text
    sign = STATUS[place.status].sign
    return f"{sign} {place.short}" if place.status is Status.PASS and place.short != sign else place.short


def operators(lines: Sequence[OpLine], columns: Sequence[str]) -> str:
    """Operators down: of the cases that use each, how many work; every row leads to the operator's page."""
    heads = f'<th class="case" scope="col">operator</th>{_BY_HEAD}{heads_of(columns)}'
    blocks = groupby(lines, key=lambda line: line.op)
    look = _Look(columns, {}, By.TORCH)
    body = "".join(_operator(list(found), look) for _, found in blocks)
    return markup.table("Matrix of operators", look.classes, heads, body)


def _operator(lines: list[OpLine], look: _Look) -> str:
    first = lines[0]
    count = plural(max(line.cases for line in lines), "case")
    name = f'{link(links.page("op", op=first.op), escape(first.op))} <small class="quiet">{count}</small>'
    head = f'<th class="case" scope="rowgroup" rowspan="{len(lines)}">{name}</th>'
    rows = []
    for line in lines:
        by = escape(EXPORTER_SHORT.get(line.exporter or "", line.exporter or ""))
        cells = "".join(_share(line, column) for column in look.columns)
        rows.append(f'<tr><th class="by" scope="row">{by}</th>{cells}</tr>')
    return "".join(rows).replace("<th", f"{head}<th", 1)


def _share(line: OpLine, column: str) -> str:
    place = line.places[column]
    sign = STATUS[place.status].sign
    text = f"{sign} {place.works}/{place.measured}" if place.measured else sign
    hint = f"{line.op}, {column}: {place.works} of {plural(place.measured, 'case')} work at some opset"
    shown = link(links.page("op", op=line.op), escape(text), title=hint)
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
