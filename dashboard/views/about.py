"""What the signs and words mean, and what the dataset holds."""

from __future__ import annotations

import streamlit as st

from dashboard import frame, links
from dashboard.kept import Kept
from dashboard.markup import claim_legend, link, status_legend, word_legend


def page(kept: Kept) -> None:
    """Draw it."""
    frame.heading(
        "About these measurements",
        "Every row was measured by running an export in an environment of its own; nothing is copied from a document.",
    )
    rows = kept.rows()
    local = rows.local
    st.html(
        f'<p class="hint">{rows.count:,} cells of {len(rows.torch)} torch releases; '
        f"{local:,} of them measured on this machine, the others published. "
        f"{link(links.page('runs'), 'When, and in which environments')}.</p>"
    )
    st.html(f'<h2 class="sub">Outcomes of a cell</h2>{status_legend()}')
    st.html(f'<h2 class="sub">Words for a fix</h2>{word_legend()}')
    st.html(f'<h2 class="sub">Outcomes of a claim</h2>{claim_legend()}')
    st.html('<h2 class="sub">Take it with you</h2>')
    st.html('<p class="hint">The same tables as plain files, and as parquet, CSV and JSON:</p>')
    st.code("caniexport site -o site", language=None)
    frame.notes(rows.notes)
    if not kept.problems:
        st.html('<p class="hint">Every file of the dataset could be read.</p>')
