"""The front page: one box over everything, and what it finds."""

from __future__ import annotations

import streamlit as st

from dashboard import frame, links, params, search_html
from dashboard.markup import escape, link, plural, status_legend
from dashboard.overview import EXPORTERS, overview
from dashboard.reading import Kept
from harness.answers import search as searching
from harness.answers.search import Found, Hit
from harness.answers.support import Support
from harness.worker.case import PLAIN

#: hits that are told whole; the others are in the matrix
_SHOWN = 12
_EXAMPLES = ("grid_sampler", "aten::cross", "pooling", "is not a registered function/op")


def page(kept: Kept) -> None:
    """Draw it."""
    frame.heading(
        "Can I export it?",
        search_html.LEAD,
    )
    with st.container(key="search"):
        query = params.words(
            "q",
            "Search cases, operators, sources, or paste your error",
            "torch.cross, GridSample, onnx/onnx#2683, or the error itself",
            width="stretch",
            longest=searching.LONGEST,
            tidy=searching.essence,
        )
    if not query:
        _start(kept)
        return
    found = searching.find(kept.answer(searching.index), query)
    others = search_html.others(found)
    if others:
        st.html(others)
    if not found.hits:
        st.html(search_html.nothing(found))
        st.html(search_html.questions())
        return
    shown = found.hits[:_SHOWN]
    working = {hit.entry.case: _working(kept, hit) for hit in shown if hit.torch}
    st.html(_count(found))
    st.html(search_html.hits(shown, {hit.entry.case: _supports(kept, hit.entry.case) for hit in shown}, working))
    if not found.error:
        st.html(f"<p>{link(links.page('matrix', q=query), 'All of them in the matrix')}</p>")


def _count(found: Found) -> str:
    what = "this error or one like it" if found.error else "these words"
    more = f", the best {_SHOWN} are shown" if len(found.hits) > _SHOWN else ""
    return f'<p class="hint">{plural(len(found.hits), "case")} with {escape(what)}{more}.</p>'


def _supports(kept: Kept, case: str) -> tuple[Support, ...]:
    return kept.supports(case, PLAIN)


def _working(kept: Kept, hit: Hit) -> list[str]:
    """The fixes that work in the cell where the error was seen, those that sources warn of left out."""
    entries = kept.rows().catalogue
    found = [
        cell.variant
        for cell in kept.cells_of(hit.entry.case)
        if (cell.torch, cell.exporter, cell.opset) == (hit.torch, hit.exporter, hit.opset)
        and cell.works
        and cell.variant != PLAIN
    ]
    return [name for name in dict.fromkeys(found) if not entries[hit.entry.case, name].caution]


def _start(kept: Kept) -> None:
    st.html(search_html.examples(_EXAMPLES))
    st.html(search_html.questions())
    found = kept.answer(overview)
    st.html(
        '<h2 class="sub">What works today, by theme</h2>'
        f'<p class="hint">{search_html.measured(found)} Each case as it ends on the newest release that it was '
        f"measured on (the newest of all is {escape(found.newest)}), at the best opset.</p>"
    )
    st.html(status_legend(only=found.seen))
    st.html(search_html.themes(found, EXPORTERS))
