"""What the documents say against what was measured."""

from __future__ import annotations

from caniexport.answers.answer import Answer, AnswerOutcome, Cell, Link, Table
from caniexport.answers.documents import JudgedClaim, find_claims, read_claims
from caniexport.answers.filters import Filters
from caniexport.model.case import PLAIN
from caniexport.names import plural
from caniexport.pages import looks
from caniexport.pages.answered import render_answer
from caniexport.pages.form import Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.render import render
from caniexport.pages.sheet import File
from caniexport.render.plain import rows_as_csv

_TITLE = "What the sources say, and what was measured"
_LEAD = (
    "A claim is reproduced when every measured cell that it is about ended as it states, partly when some did. "
    "One that is not reproduced has a reviewed reason. What is pending can be measured and has not been yet; "
    "what is not measured cannot be here, for the reason given."
)
#: what differs from its source first
_ORDER = ("not-reproduced", "partly", "reproduced", "not-measured", "pending")
#: rows of an outcome that are shown where nothing is searched for
_FEW = 60
_COLUMNS = (
    *("outcome", "why not", "the source says", "about", "source", "what was measured"),
    *("case", "form", "cell"),
)


def page(form: Form, kept: Kept) -> Page:
    """The claims that the filters take."""
    known = kept.answer(read_claims)
    if not known:
        form.take(*form.asked)
        nothing = "The dataset holds no claims yet; caniexport measure judges them when it ends."
        return form.page(_TITLE, _LEAD, render("nothing.html", nothing=nothing))
    query = form.words("q", "Search", "text of the claim, case, record")
    source = form.select("source", "Source", sorted({claim.source for claim in known}), text="all sources")
    outcomes = form.pills("outcome", "Outcome", list(looks.CLAIM))
    found = kept.answer(find_claims, Filters(statuses=outcomes), (source,) if source else ())
    by_outcome = {name: [claim for claim in found.claims if claim.outcome == name] for name in _ORDER}
    shown = {name: [claim for claim in mine if _has(claim, query)] for name, mine in by_outcome.items()}
    every = [claim for mine in shown.values() for claim in mine]
    counts = [f"{len(mine)} {name}" for name, mine in shown.items() if mine]
    verdict = f"{plural(len(every), 'claim')}: {', '.join(counts)}." if every else "No claim passes these filters."
    folds = len(every) > _FEW and not query and not outcomes
    columns = ("why", "the source says", "with", "about", "source", "what was measured", "case")
    tables = tuple(
        Table(f"{name}: {looks.CLAIM[name].meaning}", columns, tuple(map(_cells, mine)), 0 if folds else len(mine))
        for name, mine in shown.items()
    )
    file = File("claims.csv", lambda: rows_as_csv([*map(_row, every)], _COLUMNS))
    body = render_answer(Answer(verdict, AnswerOutcome.LISTED, tables))
    return form.page(_TITLE, _LEAD, body, folds=True, files=(file,))


def _cells(claim: JudgedClaim) -> tuple[Cell, ...]:
    """A claim as a row, which leads to the first cell that it is about."""
    where = ("torch", "case", "variant", "exporter", "opset")
    cell = dict(zip(where, (claim.cells[0] if claim.cells else "").split("/"), strict=False))
    there = {name: value for name, value in cell.items() if value not in ("-", PLAIN)}
    link = Link("show the cell", "case", there) if len(cell) == len(where) and cell["torch"] != "-" else ""
    variant = claim.variant if claim.variant != PLAIN else ""
    why = looks.CLAIM[claim.why_not].name if claim.why_not else ""
    measured: Cell = (claim.reason, link) if link else claim.reason
    return (
        why,
        claim.says,
        variant,
        claim.versions,
        claim.source,
        measured,
        Link(claim.case, "case", {"case": claim.case}),
    )


def _row(claim: JudgedClaim) -> dict[str, str]:
    """A row as it is kept."""
    cells = (claim.outcome, claim.why_not, claim.says, claim.versions, claim.source, claim.reason)
    return dict(zip(_COLUMNS, (*cells, claim.case, claim.variant, *(claim.cells[:1] or ("",))), strict=True))


def _has(claim: JudgedClaim, query: str) -> bool:
    text = "\n".join((claim.says, claim.case, claim.record, claim.source, claim.reason, claim.versions)).casefold()
    return all(part in text for part in query.casefold().split())
