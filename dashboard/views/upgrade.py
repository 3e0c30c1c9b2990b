"""From one point to another: what breaks, what is fixed, which axis did it, which workarounds may go."""

from __future__ import annotations

import re
from collections.abc import Iterable

import streamlit as st

from caniexport import versions
from caniexport.answers.filters import Filters
from caniexport.answers.select import CatalogueEntry
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.upgrade import Upgrade, upgrade
from caniexport.model.status import Exporter
from caniexport.pages import upgrade_html
from caniexport.pages.markup import chips, escape, links_to_cases, plural
from dashboard import frame, params
from dashboard.reading import Kept
from dashboard.views import upload

_EXPORTERS = [member.value for member in Exporter if member is not Exporter.DEFAULT]
_OWN = "the bare call's"
#: signs of an operator list
_LONGEST = 4000


def page(kept: Kept) -> None:
    """Draw it."""
    frame.heading(
        "Which torch may I move to?",
        "What breaks between two points, what is fixed, which version did it, and what becomes of each workaround.",
    )
    releases = list(kept.rows().torch)
    if not releases:
        st.info("No torch release has been measured yet.")
        return
    opsets = [str(opset) for opset in sorted(kept.rows().offered_opsets)]
    before = _point("from", "From", releases, opsets, releases[-2] if len(releases) > 1 else releases[-1])
    after = _point("to", "To", releases, opsets, releases[-1])
    with st.container(key="depends", horizontal=True, vertical_alignment="bottom"):
        named = params.words(
            "ops", "Only these operators", "aten::cross, GridSample; empty: every case", width=420, longest=_LONGEST
        )
        upload.box(kept, _LONGEST)
    known, unknown = operators(named, kept.rows().catalogue.values())
    if unknown:
        st.html(f'<p class="hint">No case is about {chips(unknown)}: nothing is known of them.</p>')
    if named.strip() and not known:
        return
    found = kept.answer(_ask, tuple(before.items()), tuple(after.items()), known)
    _show(found)


def _point(name: str, label: str, releases: list[str], opsets: list[str], torch: str) -> dict[str, str]:
    """The widgets of one point; what is left open is the release's own."""
    with st.container(key=f"point-{name}", horizontal=True, vertical_alignment="bottom"):
        newest_first = list(reversed(releases))
        chosen = params.select(name, f"{label} torch", newest_first, default=torch) or torch
        opset = params.select(f"{name}_opset", f"{label} opset", opsets, default="the release's own")
        exporter = params.select(
            f"{name}_exporter", f"{label} exporter", _EXPORTERS, default=_OWN, shown=EXPORTER_SHORT
        )
    found = {"torch": chosen, "opset": opset, "exporter": exporter}
    return {axis: value for axis, value in found.items() if value}


def _ask(
    kept: Kept, before: tuple[tuple[str, str], ...], after: tuple[tuple[str, str], ...], ops: tuple[str, ...]
) -> Upgrade:
    return upgrade(kept, dict(before), dict(after), Filters(ops=ops))


def operators(text: str, catalogue: Iterable[CatalogueEntry]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The operators of a text (names with commas, spaces or lines between them) that cases know, and the others."""
    return upload.known(filter(None, re.split(r"[,\s]+", text)), catalogue)


def _show(found: Upgrade) -> None:
    st.html(f'<h2 class="sub">{escape(found.before.text)} → {escape(found.after.text)}</h2>')
    if versions.parse(found.before.torch) > versions.parse(found.after.torch):
        st.html('<p class="hint">This goes back to an older release.</p>')
    st.html(upgrade_html.summary(found))
    st.html(f'<div class="two">{upgrade_html.groups(found)}</div>')
    if beside := upgrade_html.beside(found):
        st.html(beside)
    fixes = upgrade_html.fixes(found)
    if fixes:
        st.html(f'<h2 class="sub">Workarounds</h2><div class="two">{fixes}</div>')
    if found.unknown:
        with st.expander(f"{plural(len(found.unknown), 'case')} not measured at one of the two points"):
            st.html(links_to_cases(found.unknown))
    frame.notes(found.notes)
