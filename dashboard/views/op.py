"""One operator: the cases that use it, where each works, and the matrix of these."""

from __future__ import annotations

import streamlit as st

from caniexport.answers.filters import Filters
from caniexport.answers.matrix import table
from caniexport.answers.search import Hit
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
from caniexport.pages import links, matrix_html, search_html
from caniexport.pages.markup import escape, link, plural, status_legend
from dashboard import frame, params
from dashboard.reading import Kept


def page(kept: Kept) -> None:
    """Draw it."""
    entries = [item for (_, variant), item in kept.rows().catalogue.items() if variant == PLAIN]
    counted: dict[str, int] = {}
    for item in entries:
        for op in item.ops if item.corpus != CANARY else ():
            counted[op] = counted.get(op, 0) + 1
    op = params.one_of("op", sorted(counted), "operator")
    if not op:
        _list(counted)
        return
    frame.back()
    frame.heading(op, "What the cases that use this operator say of it.")
    mine = [item for item in entries if op in item.ops]
    found = [Hit(item, f"operator {op}", 1.0) for item in mine]
    st.html(f'<p class="hint">{plural(len(mine), "case")}; the failing form of each:</p>')
    st.html(search_html.hits(found, {item.case: kept.supports(item.case, PLAIN) for item in mine}, {}))
    shown = kept.answer(table, Filters(ops=(op,)))
    if shown.lines:
        st.html('<h2 class="sub">By torch release</h2>')
        st.html(status_legend())
        st.html(matrix_html.table(shown.lines, shown.columns, {}))


def _list(counted: dict[str, int]) -> None:
    frame.heading("Operators", "Every torch and ONNX operator that a case is about, with the number of cases.")
    torch = sorted(op for op in counted if "::" in op)
    onnx = sorted(op for op in counted if "::" not in op)
    for title, ops in (("torch", torch), ("ONNX", onnx)):
        st.html(f'<h2 class="sub">{escape(title)}</h2>')
        items = "".join(
            f"<li>{link(links.page('op', op=op), escape(op))} <small>{counted[op]}</small></li>" for op in ops
        )
        st.html(f'<ul class="ops" aria-label="{title} operators">{items}</ul>')
