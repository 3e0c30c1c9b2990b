"""Fixes as a table whose heads are links that sort it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.standings import Standing
from caniexport.pages import links
from caniexport.pages.markup import escape, link, word_badge
from caniexport.pages.markup import table as boxed
from caniexport.pages.render import opset_name

#: columns by the name that the URL sorts by
COLUMNS = {
    "word": "word",
    "since": "obsolete since",
    "fix": "case / fix",
    "kind": "kind",
    "exporter": "exporter, opset",
    "statement": "the fix, along torch and opset",
    "along": "the failing form, along torch",
}


def table(found: Iterable[Standing], order: str, asked: Mapping[str, str], titles: Mapping[str, str]) -> str:
    """The table. ``order`` is the column it is sorted by, ``asked`` the page's parameters, ``titles`` are by case."""
    heads = "".join(_head(name, shown, order, asked) for name, shown in COLUMNS.items())
    return boxed("Workarounds", "plain", heads, "".join(_row(item, titles.get(item.case, "")) for item in found))


def _head(name: str, shown: str, order: str, asked: Mapping[str, str]) -> str:
    address = links.page("workarounds", **{**asked, "sort": name})
    state, arrow = (' aria-sort="ascending"', " ↓") if name == order else ("", "")
    return f'<th scope="col"{state}>{link(address, escape(shown + arrow), title="sort by this")}</th>'


def _row(item: Standing, title: str) -> str:
    where = {"torch": item.torch, "opset": opset_name(item.opset), "exporter": item.exporter} if item.torch else {}
    address = links.page("case", case=item.case, variant=item.variant, **where)
    careful = "<br><b>known to be wrong or partial</b>" if item.caution else ""
    by = f"{EXPORTER_SHORT.get(item.exporter, item.exporter)}, {opset_name(item.opset)}" if item.torch else "-"
    return (
        f'<tr class="{"caution" if item.caution else "fine"}"><td class="tight">{word_badge(item.word)}</td>'
        f'<td class="tight">{escape(item.obsolete_since or "")}</td>'
        f'<th scope="row">{link(address, escape(f"{item.case} / {item.variant}"), title=title)}'
        f'<br><span class="quiet">{escape(item.note)}</span>{careful}</th>'
        f'<td class="tight">{escape(item.kind)}</td><td class="tight">{escape(by)}</td>'
        f"<td>{escape(item.statement)}</td><td>{escape(item.along.text)}</td></tr>"
    )
