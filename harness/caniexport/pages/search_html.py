"""What a search found, and what stands on the front page before one: HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from textwrap import shorten

from caniexport.answers.search import Hit, SearchHits
from caniexport.answers.select import CatalogueEntry
from caniexport.answers.signs import EXPORTER_SHORT, STATUS, word
from caniexport.answers.support import Support
from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter, Status
from caniexport.pages import links
from caniexport.pages.markup import columns, escape, link, plural, status_badge, status_class
from caniexport.pages.markup import table as boxed
from caniexport.pages.overview import Overview

#: exporters by the name a user says
EXPORTER_NAME = {
    Exporter.TRACE.value: "TorchScript, traced",
    Exporter.SCRIPT.value: "TorchScript, scripted",
    Exporter.DYNAMO.value: "dynamo (torch.export)",
    Exporter.DEFAULT.value: "the bare call",
}
#: exporters whose answer stands beside a hit
_BESIDE = (Exporter.TRACE.value, Exporter.DYNAMO.value)
#: tables of themes beside each other where there is room, and the fewest rows that are worth a table of their own
_BESIDE_EACH_OTHER, _LEAST_THEMES = 2, 12
_QUESTIONS = (
    (
        "Which torch may I move to?",
        "upgrade",
        "What breaks between two releases, what is fixed, and which axis did it.",
    ),
    ("Is this workaround still needed?", "workarounds", "Every fix with its word at your release, and since when."),
    ("Show me the table", "matrix", "Cases against releases or opsets, each cell with its evidence."),
    ("What did a release break?", "alerts", "Each release against the one before it, one alert for each cause."),
)

LEAD = "PyTorch operators and models to ONNX: what exports, runs and gives the right values, on every torch release."


def answers(supports: Iterable[Support], address: Mapping[str, str] | None = None) -> str:
    """One line for each exporter: its badge, where it works, what happens elsewhere. Links choose the exporter."""
    rows = "".join(_answer(item, address) for item in supports)
    return f'<ul class="answers" aria-label="Where it works">{rows}</ul>'


def _answer(item: Support, address: Mapping[str, str] | None) -> str:
    name = escape(EXPORTER_NAME.get(item.exporter, item.exporter))
    if address is not None:
        name = link(links.page("case", **{**address, "exporter": item.exporter}), name)
    elsewhere = f' <span class="quiet">({escape(item.otherwise_text)})</span>' if item.otherwise_text else ""
    return f"<li>{status_badge(item.status)} <b>{name}</b> {escape(item.text)}{elsewhere}</li>"


def hits(found: Sequence[Hit], supports: Mapping[str, Sequence[Support]], working: Mapping[str, Sequence[str]]) -> str:
    """The cases found. ``working`` are the fixes that work where an error was seen, by case."""
    items = "".join(_hit(hit, supports.get(hit.entry.case, ()), working.get(hit.entry.case, ())) for hit in found)
    return f'<ol class="hits" aria-label="Cases found">{items}</ol>'


def _hit(hit: Hit, supports: Sequence[Support], working: Sequence[str]) -> str:
    entry = hit.entry
    where = {"torch": hit.torch, "exporter": hit.exporter, "opset": "" if hit.opset is None else str(hit.opset)}
    form = "" if hit.variant == PLAIN else hit.variant
    address = links.page("case", case=entry.case, variant=form, **where)
    seen = f" · seen on torch {hit.torch}" if hit.torch else ""
    text = f'<p class="said">{escape(shorten(hit.text, 220))}</p>' if hit.text else ""
    lines = "".join(_answer(item, None) for item in supports if item.exporter in _BESIDE)
    return (
        f'<li><p class="name">{link(address, escape(entry.title or entry.case))} '
        f'<span class="quiet">{escape(entry.case)} · found by {escape(hit.why)}{escape(seen)}</span></p>'
        f'{text}{_fixes(entry.case, working, where)}<ul class="answers">{lines}</ul></li>'
    )


def _fixes(case: str, working: Sequence[str], where: Mapping[str, str]) -> str:
    if not working:
        return ""
    named = ", ".join(link(links.page("case", case=case, variant=name, **where), escape(name)) for name in working)
    return f'<p class="works">{status_badge(Status.PASS)} works there: {named}</p>'


def others(found: SearchHits) -> str:
    """Operators, themes and sources that the query names, each a link to its table."""
    kinds = (
        ("operators", [(op, links.page("op", op=op)) for op in found.ops]),
        ("themes", [(theme, links.page("matrix", theme=theme)) for theme in found.themes]),
        ("sources", [(name, links.page("claims", source=name)) for name in found.sources]),
    )
    said = "".join(
        f"<span>{kind}: {', '.join(link(address, escape(name)) for name, address in items)}</span>"
        for kind, items in kinds
        if items
    )
    return f'<p class="counts">{said}</p>' if said else ""


def nothing(found: SearchHits) -> str:
    """Nothing was found: the nearest known names, each a search."""
    near = ", ".join(link(links.page("", q=name), escape(name)) for name in found.near)
    hint = f" The nearest known: {near}." if near else ""
    return (
        f'<p class="counts">{status_badge(Status.NOT_RUN)} <span>No measured case has all of these words, and no '
        f"measured error is like them.{hint}</span></p>"
    )


def questions() -> str:
    """The questions, each a link to its page."""
    items = "".join(
        f"<li>{link(links.page(page), f'<b>{escape(title)}</b><span>{escape(text)}</span>')}</li>"
        for title, page, text in _QUESTIONS
    )
    return f'<ul class="questions">{items}</ul>'


def examples(queries: Iterable[str]) -> str:
    """Queries to try, each a link."""
    said = " ".join(link(links.page("", q=query), escape(shorten(query, 70)), classes="try") for query in queries)
    return f'<p class="hint">Try {said} or paste the end of a traceback.</p>'


def listing(entries: Iterable[CatalogueEntry], found: Overview) -> str:
    """Every case as a link, under its theme; those that are not measured say so."""
    blocks = groupby(entries, key=lambda entry: entry.theme)
    return f'<div class="themed">{"".join(_listed(theme, list(mine), found) for theme, mine in blocks)}</div>'


def _listed(theme: str, entries: Sequence[CatalogueEntry], found: Overview) -> str:
    sign = STATUS[Status.NOT_RUN].sign
    missing = f' <span class="badge {status_class(Status.NOT_RUN)}" title="not measured">{sign}</span>'
    rows = "".join(
        f"<li>{link(links.page('case', case=entry.case), escape(entry.title or entry.case))}"
        f"{'' if entry.case in found.measured else missing}</li>"
        for entry in entries
    )
    return f"<section><h3>{_name(theme, found)} <small>{len(entries)}</small></h3><ul>{rows}</ul></section>"


def _name(theme: str, found: Overview) -> str:
    """A theme, as a link where the matrix has a part for it."""
    shown = escape(theme or "no theme")
    return link(links.page("matrix", theme=theme), shown) if found.in_matrix(theme) else shown


def measured(found: Overview) -> str:
    """How many cases there are, and how many of them nobody has measured yet."""
    if not found.unmeasured:
        return f"{plural(found.cases, 'case')}, all measured."
    return f"{plural(found.cases, 'case')}: {len(found.measured):,} measured, {found.unmeasured:,} not measured yet."


def themes(found: Overview, exporters: Sequence[str]) -> str:
    """Themes down, exporters across: how many cases do what on the newest release that each was measured on."""
    heads = columns(["theme", "cases", *(EXPORTER_SHORT[name] for name in exporters)])
    listed = list(found.by_theme)
    length = max(_LEAST_THEMES, -(-len(listed) // _BESIDE_EACH_OTHER))
    parts = [listed[begin : begin + length] for begin in range(0, len(listed), length)]
    tables = (
        boxed(
            f"Cases by theme, {part[0]} to {part[-1]}",
            "plain themes",
            heads,
            "".join(_theme(theme, found, exporters) for theme in part),
            whole=True,
        )
        for part in parts
    )
    return f'<div class="beside">{"".join(tables)}</div>'


def _theme(theme: str, found: Overview, exporters: Sequence[str]) -> str:
    cells = "".join(f"<td>{_counts(found.by_theme[theme].get(name, Counter()))}</td>" for name in exporters)
    return f'<tr><th scope="row">{_name(theme, found)}</th><td class="number">{found.sizes[theme]}</td>{cells}</tr>'


def _counts(counts: Counter[Status]) -> str:
    return " ".join(
        f'<span class="badge {status_class(status)}" title="{escape(plural(counts[status], "case"))}: '
        f'{escape(word(status))}">{STATUS[status].sign} {counts[status]}</span>'
        for status in Status
        if counts[status]
    )
