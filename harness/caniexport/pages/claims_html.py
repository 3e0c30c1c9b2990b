"""Claims as a table: what a source says, about which versions, and what was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from caniexport.answers.documents import JudgedClaim
from caniexport.model.case import PLAIN
from caniexport.pages import links
from caniexport.pages.markup import claim_badge, columns, escape, link, source_link, why_not_badge
from caniexport.pages.markup import table as boxed

_COLUMNS = ("outcome", "the source says", "about", "source", "what was measured")


def table(claims: Iterable[JudgedClaim], *, with_case: bool) -> str:
    """The table; ``with_case`` adds a column that leads to the case."""
    heads = columns([*_COLUMNS, *["case"] * with_case])
    return boxed("Claims", "plain", heads, "".join(_row(claim, with_case) for claim in claims), whole=not with_case)


def _row(claim: JudgedClaim, with_case: bool) -> str:
    case = f"<td>{link(links.page('case', case=claim.case), escape(claim.case))}</td>" if with_case else ""
    form = "" if claim.variant == PLAIN else f'<br><span class="quiet">with {escape(claim.variant)}</span>'
    return (
        f'<tr><td class="tight">{claim_badge(claim.outcome)}{_why_not(claim)}</td><td>{escape(claim.says)}{form}</td>'
        f'<td class="quiet">{escape(claim.versions)}</td><td>{source_link(claim.source)}</td>'
        f"<td>{escape(claim.reason)}{_shown(claim)}</td>{case}</tr>"
    )


def _why_not(claim: JudgedClaim) -> str:
    return f"<br>{why_not_badge(claim.why_not)}" if claim.why_not else ""


def words(claims: Iterable[JudgedClaim]) -> Counter[str]:
    """How often each outcome occurs, and each word why one is not reproduced."""
    return Counter(word for claim in claims for word in (claim.outcome, claim.why_not) if word)


def _shown(claim: JudgedClaim) -> str:
    """A link to the first cell that shows it (``torch/case/variant/exporter/opset``)."""
    parts = claim.cells[0].split("/") if claim.cells else []
    if len(parts) != 5 or parts[0] == "-":
        return ""
    torch, case, variant, exporter, opset = parts
    address = links.page(
        "case",
        case=case,
        variant="" if variant == PLAIN else variant,
        exporter="" if exporter == "-" else exporter,
        torch=torch,
        opset="default" if opset == "-" else opset,
    )
    return f" {link(address, 'show the cell')}"
