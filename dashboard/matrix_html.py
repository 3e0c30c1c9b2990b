"""The matrix as one dense table: sticky heads, a sign and a colour in every cell, each cell a link to its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from dashboard import links, markup
from dashboard.markup import columns as heads_of
from dashboard.markup import escape, link, plural, status_class, summary_title, worst_beside
from harness.answers.matrix import EnvironmentLine, Line
from harness.answers.signs import EXPORTER_SHORT, STATUS, word
from harness.answers.summary import Summary
from harness.worker.case import PLAIN
from harness.worker.status import WORKS, Status

#: from this many columns on, cells show signs and numbers only
_MANY = 9


def table(lines: Sequence[Line], columns: Sequence[str], carried: Mapping[str, str]) -> str:
    """Rows grouped by theme, then by case; ``carried`` are the filters that every link takes along."""
    heads = f'<th class="case" scope="col">case</th><th class="by" scope="col">exporter</th>{heads_of(columns)}'
    themes = groupby(lines, key=lambda line: line.theme)
    body = "".join(_theme(theme, list(found), columns, carried) for theme, found in themes)
    classes = "matrix many" if len(columns) >= _MANY else "matrix"
    return markup.table("Matrix of cases and torch releases", classes, heads, body)


def _theme(theme: str, lines: list[Line], columns: Sequence[str], carried: Mapping[str, str]) -> str:
    count = plural(len({line.case for line in lines}), "case")
    name = f"{escape(theme or 'no theme')} <small>{count}</small>"
    rest = f'<td colspan="{len(columns)}"></td>'
    anchor = f"theme-{links.slug(theme)}"
    head = f'<tr class="theme" id="{anchor}"><th scope="colgroup" colspan="2">{name}</th>{rest}</tr>'
    blocks = groupby(lines, key=lambda line: (line.case, line.variant))
    return head + "".join(_block(list(found), columns, carried) for _, found in blocks)


def _block(lines: list[Line], columns: Sequence[str], carried: Mapping[str, str]) -> str:
    """The lines of one variant: its name once, then one row for each exporter."""
    first = lines[0]
    title = first.title or first.case
    name = title if first.variant == PLAIN else f"↳ {first.variant}"
    address = links.page("case", case=first.case, variant=_variant(first))
    shown = link(address, escape(name), title=f"{first.case}\n{title}")
    head = f'<th class="case" scope="rowgroup" rowspan="{len(lines)}">{shown}</th>'
    fix = "" if first.variant == PLAIN else ' class="fix"'
    rows = [f"<tr{fix}>{_row(line, columns, carried)}</tr>" for line in lines]
    return "".join(rows).replace("<th", f"{head}<th", 1)


def _row(line: Line, columns: Sequence[str], carried: Mapping[str, str]) -> str:
    by = EXPORTER_SHORT.get(line.exporter or "", line.exporter or "")
    if line.provider:
        by = f"{by} {line.provider}"
    many = len(columns) >= _MANY
    return f'<th class="by" scope="row">{escape(by)}</th>' + "".join(
        _cell(line, name, many, carried) for name in columns
    )


def _variant(line: Line) -> str:
    return "" if line.variant == PLAIN else line.variant


def _cell(line: Line, column: str, many: bool, carried: Mapping[str, str]) -> str:
    place = line.places[column]
    where = {"case": line.case, "variant": _variant(line), "exporter": line.exporter or "", "torch": column}
    if line.provider:
        where["provider"] = line.provider
    classes = [status_class(place.status)]
    beside = worst_beside(place.at, place.status)
    if beside is not None:
        classes.append(f"with-{beside.value}")
    hint = f"{line.case}, torch {column}, {line.exporter}\n{summary_title(place)}"
    shown = link(links.page("case", **{**carried, **where}), escape(_said(place, many)), title=hint)
    return f'<td class="{" ".join(classes)}">{shown}</td>'


def _said(place: Summary, many: bool) -> str:
    if not many:
        return place.text
    return f"{STATUS[place.status].sign} {place.short}" if place.status is Status.PASS else place.short


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
