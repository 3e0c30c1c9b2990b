"""What the documents say against what was measured."""

from __future__ import annotations

from collections import Counter

from caniexport.answers.documents import JudgedClaim, all_claims, claims
from caniexport.answers.filters import Filters
from caniexport.pages import looks
from caniexport.pages.form import Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.render import render
from caniexport.pages.sheet import table_file

_TITLE = "What the sources say, and what was measured"
_LEAD = (
    "A claim is reproduced when every measured cell that it is about ended as it states, partly when some did. "
    "One that is not reproduced has a reviewed reason. What is pending can be measured and has not been yet; "
    "what is not measured cannot be here, for the reason given."
)
#: what differs from its source first
_ORDER = {"not-reproduced": 0, "partly": 1, "reproduced": 2, "not-measured": 3, "pending": 4}
#: rows that are a table of their own where nothing is searched for
_FEW = 60
_COLUMNS = (
    *("outcome", "why not", "the source says", "about", "source", "what was measured"),
    *("case", "form", "cell"),
)


def page(form: Form, kept: Kept) -> Page:
    """The claims that the filters take."""
    known = kept.answer(all_claims)
    if not known:
        form.take(*form.asked)
        nothing = "The dataset holds no claims yet; caniexport measure judges them when it ends."
        return form.page(_TITLE, _LEAD, render("nothing.html", nothing=nothing))
    query = form.words("q", "Search", "text of the claim, case, record")
    source = form.select("source", "Source", sorted({claim.source for claim in known}), text="all sources")
    outcomes = form.pills("outcome", "Outcome", list(looks.CLAIM))
    found = kept.answer(claims, Filters(statuses=outcomes), (source,) if source else ())
    shown = [claim for claim in found.claims if _has(claim, query)]
    shown.sort(key=lambda claim: _ORDER.get(claim.outcome, 0))
    seen = Counter(word for claim in shown for word in (claim.outcome, claim.why_not) if word)
    folds = len(shown) > _FEW and not query and not outcomes
    body = render("claims.html", claims=shown, seen=seen, with_case=True, folds=folds)
    return form.page(_TITLE, _LEAD, body, folds=True, files=(table_file("claims", _COLUMNS, lambda: map(_row, shown)),))


def _row(claim: JudgedClaim) -> tuple[object, ...]:
    """A row as it is kept, in the order of the columns."""
    said = (claim.outcome, claim.why_not, claim.says, claim.versions, claim.source, claim.reason)
    return (*said, claim.case, claim.variant, *(claim.cells[:1] or ("",)))


def _has(claim: JudgedClaim, query: str) -> bool:
    text = "\n".join((claim.says, claim.case, claim.record, claim.source, claim.reason, claim.versions)).casefold()
    return all(part in text for part in query.casefold().split())
