"""The front page: one box over everything, and what it finds."""

from __future__ import annotations

import streamlit as st

from caniexport.answers import search as searching
from caniexport.pages import search_html, search_told
from caniexport.pages.markup import escape, status_legend
from caniexport.pages.overview import EXPORTERS, overview
from dashboard import frame, params
from dashboard.reading import Kept

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
    for part in search_told.answer(kept, query):
        st.html(part)


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
