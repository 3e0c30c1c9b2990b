"""What the documents say against what was measured."""

from __future__ import annotations

import streamlit as st

from caniexport.answers.documents import JudgedClaim, all_claims, claims
from caniexport.answers.filters import Filters
from caniexport.answers.signs import CLAIM, WHY_NOT
from caniexport.pages import claims_html
from caniexport.pages.markup import claim_legend
from dashboard import frame, params
from dashboard.reading import Kept

#: what differs from its source first
_ORDER = {"not-reproduced": 0, "partly": 1, "reproduced": 2, "not-measured": 3, "pending": 4}


def page(kept: Kept) -> None:
    """Draw it."""
    frame.heading(
        "What the sources say, and what was measured",
        "A claim is reproduced when every measured cell that it speaks of ended as it says, partly when some did. "
        "One that is not reproduced has a reviewed word why not. "
        "What is pending can be measured and has not been yet; "
        "what is not measured cannot be here, for the reason given.",
    )
    known = kept.answer(all_claims)
    if not known:
        st.info("The dataset holds no claims yet; `caniexport measure` judges them when it ends.")
        return
    sources = sorted({claim.source for claim in known})
    with st.container(key="filters", horizontal=True, vertical_alignment="bottom"):
        query = params.words("q", "Search", "words of the claim, case, record")
        source = params.select("source", "Source", sources, default="all sources")
        outcomes = params.pills("outcome", "Outcome", [*CLAIM, *WHY_NOT])
    found = kept.answer(claims, Filters(statuses=outcomes), (source,) if source else ())
    shown = sorted(
        (claim for claim in found.claims if _has(claim, query)), key=lambda claim: _ORDER.get(claim.outcome, 0)
    )
    st.html(claim_legend(claims_html.words(shown)))
    if shown:
        st.html(claims_html.table(shown, with_case=True))
    else:
        st.info("No claim passes these filters.", icon=":material/filter_alt_off:")


def _has(claim: JudgedClaim, query: str) -> bool:
    text = "\n".join((claim.says, claim.case, claim.record, claim.source, claim.reason, claim.versions)).casefold()
    return all(part in text for part in query.casefold().split())
