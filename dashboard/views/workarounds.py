"""Every fix: is it still needed at the release, exporter and opset chosen, and since when not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from caniexport.answers.filters import Filters
from caniexport.answers.signs import EXPORTER_SHORT, WORKAROUND
from caniexport.answers.standings import Standing, workarounds
from caniexport.model.status import Exporter
from caniexport.pages import fixes_html
from caniexport.pages.markup import PROVIDER_NAME, word_legend
from caniexport.pages.matrix_asked import matching
from dashboard import frame, params
from dashboard.reading import Kept

_EXPORTERS = [member.value for member in Exporter]
_DEFAULT = (Exporter.TRACE.value, Exporter.DYNAMO.value)
_WORDS = [word.value for word in WORKAROUND]


def page(kept: Kept) -> None:
    """Draw it."""
    frame.heading(
        "Which workarounds may go",
        "A fix is needed where the failing form fails and the fix works, and obsolete where both work.",
    )
    rows = kept.rows()
    filters, words, query, careful = _filters(kept)
    cases = matching(rows.catalogue.values(), query) if query else ()
    if query and not cases:
        st.info(f"No fix has all of these words: {params.plain(query)}", icon=":material/search_off:")
        return
    answer = kept.answer(workarounds, Filters(**filters, cases=cases))
    every = (*answer.standings, *(answer.cautions if careful else ()))
    found = [item for item in every if not words or item.word.value in words]
    st.html(word_legend(Counter(item.word for item in every)))
    titles = {entry.case: entry.title for entry in rows.catalogue.values()}
    order = _order()
    if found:
        st.html(fixes_html.table(_sorted(found, order, rows.torch), order, st.query_params.to_dict(), titles))
    else:
        st.info("No fix passes these filters.", icon=":material/filter_alt_off:")
    frame.notes(item.split(" (--")[0] for item in answer.notes)


def _filters(kept: Kept) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...], str, bool]:
    rows = kept.rows()
    releases = list(reversed(rows.torch))
    opsets = rows.opsets
    providers = rows.providers
    with st.container(key="filters", horizontal=True, vertical_alignment="bottom"):
        query = params.words("q", "Search", "case, op, source, fix")
        torch = params.select("torch", "torch", releases, default=f"newest ({releases[0]})" if releases else "newest")
        opset = params.select("opset", "Opset", [str(opset) for opset in opsets], default="its own default")
        provider = params.select("provider", "Provider", providers, default="all providers", shown=PROVIDER_NAME)
        exporters = params.pills(
            "exporter", "Exporter", _EXPORTERS, default=_DEFAULT, shown=lambda name: EXPORTER_SHORT[name]
        )
        words = params.pills("word", "Word", _WORDS)
        careful = params.switch("careful", "Show fixes known to be wrong")
    asked = {"torch": torch, "opsets": opset, "providers": provider}
    return (
        {**{name: (value,) if value else () for name, value in asked.items()}, "exporters": exporters},
        words,
        query,
        careful,
    )


def _order() -> str:
    return params.one_of("sort", list(fixes_html.COLUMNS), "order") or "word"


def _sorted(found: list[Standing], order: str, releases: Sequence[str]) -> list[Standing]:
    words = list(WORKAROUND)
    keys = {
        "word": lambda item: words.index(item.word),
        # newest first: what became superfluous last is what a reader may not know yet
        "since": lambda item: -releases.index(item.obsolete_since) if item.obsolete_since in releases else 1,
        "fix": lambda item: (item.case, item.variant),
        "kind": lambda item: item.kind,
        "exporter": lambda item: _EXPORTERS.index(item.exporter) if item.exporter in _EXPORTERS else len(_EXPORTERS),
        "statement": lambda item: item.statement,
        "along": lambda item: item.along.text,
    }
    return sorted(found, key=keys[order])
