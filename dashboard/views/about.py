"""What the signs and words mean, and what the dataset holds."""

from __future__ import annotations

import streamlit as st

from caniexport.audit import saved
from caniexport.pages import audit_html, links, search_html
from caniexport.pages.kept import Kept
from caniexport.pages.markup import claim_legend, escape, facts, link, status_legend, word_legend
from caniexport.pages.overview import overview
from dashboard import frame

#: words of these pages, as they are used here
WORDS = (
    ("case", "one documented failure: a small model with its inputs, and the sources that speak of it"),
    ("failing form", "the model as the sources have it; the dataset calls it plain"),
    ("fix", "the same model written or exported another way. It must give the same values before it counts"),
    ("trace, script", "the two ways of the TorchScript exporter: by recording one call, or by reading the code"),
    ("dynamo", "the exporter behind torch.export (dynamo_export in torch 2.1 to 2.4)"),
    ("default, the bare call", "torch.onnx.export(model, args, file) with nothing else said: what that release does"),
    ("opset", "the version of ONNX's operators that is asked for; each release takes some of them"),
    ("cell", "one form of a case, exported by one release and exporter at one opset, then run and compared"),
    ("runtime, provider", "what runs the file (onnxruntime beside the release, unless said), and on which hardware"),
    ("stage", "how far a cell came: import, eager, export, check, load, place, run, compare, done"),
    ("signature", "an error's first line without what differs from run to run: equal signatures are one cause"),
)


def page(kept: Kept) -> None:
    """Draw it."""
    frame.heading(
        "About these measurements",
        "Every row was measured by running an export in an environment of its own; nothing is copied from a document.",
    )
    rows = kept.rows()
    local = rows.local
    st.html(
        f'<p class="hint">{search_html.measured(kept.answer(overview))} {rows.count:,} cells of {len(rows.torch)} '
        f"torch releases; {local:,} of them measured on this machine, the others published. "
        f"{link(links.page('runs'), 'When, and in which environments')}.</p>"
    )
    frame.section("Audit", audit_html.told(kept.answer(saved.last)))
    frame.section("Words", facts((word, escape(meaning)) for word, meaning in WORDS))
    frame.section("Outcomes of a cell, best first", _list(status_legend()))
    frame.section("Words for a fix", _list(word_legend()))
    frame.section("Outcomes of a claim", _list(claim_legend()))
    frame.section(
        "Take it with you",
        '<p class="hint"><code>caniexport site -o site</code> writes the same tables as plain files, '
        "and as parquet, CSV and JSON.</p>",
    )
    frame.notes(rows.notes)
    if not kept.problems:
        st.html('<p class="hint">Every file of the dataset could be read.</p>')


def _list(legend: str) -> str:
    return f'<div class="long">{legend}</div>'
