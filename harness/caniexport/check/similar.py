"""Cases of the corpus with the failure of a user's model, and their working workarounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from caniexport.answers.helping import HelpingWorkaround, find_helping
from caniexport.answers.point import Point, Points
from caniexport.answers.why import LeadAt, find_leads_at
from caniexport.check.cells import CheckedCell
from caniexport.check.measure import BEFORE_EXPORT
from caniexport.match.errors import SURE, ErrorIndex, match_error
from caniexport.model.errors import UnknownName
from caniexport.model.status import Exporter, Stage, Status
from caniexport.store import Dataset

#: cases named for one failure
_MOST = 2
_TRACER = "TracerWarning:"


@dataclass(frozen=True)
class SimilarCase:
    """A case with a similar failure, and its working workarounds, the best first; ``is_sure`` if more than the text of
    the error is the same.
    """

    case: str
    is_sure: bool
    workarounds: tuple[HelpingWorkaround, ...]


def find_similar(
    corpus: Dataset, cell: CheckedCell, others: Iterable[CheckedCell], *, is_given: bool
) -> list[SimilarCase]:
    """At most two cases with the failure of a cell, at the nearest measured point.

    ``others`` are the model's cells of the same release: workarounds that use another exporter or opset are left out if
    the model fails there. ``is_given``: the user's inputs show the wrong values.
    """
    is_made_error = cell.stage is Stage.RUN and not is_given  # its stage is not its cause
    if cell.stage in BEFORE_EXPORT or cell.limit or is_made_error:
        return []
    evidence = cell.message
    if cell.has_wrong_values:
        # a trace is right for the inputs that it saw
        lines = cell.warnings.splitlines()
        evidence = "\n".join(line for line in lines if not (is_given and line.startswith(_TRACER)))
    points = Points(corpus)
    asked = {"torch": cell.torch}
    if cell.exporter != Exporter.DEFAULT.value:
        asked |= {"exporter": cell.exporter, "opset": str(cell.opset or "default")}
    try:
        point, _ = points.find(asked)
    except UnknownName:  # nothing was measured with this release
        return []
    match = match_error(ErrorIndex.of(corpus), evidence)
    leads = [lead for lead in find_leads_at(corpus, points, match, point) if _fits(lead, cell)][:_MOST]
    helps = find_helping(points.views, point, [lead.lead.case for lead in leads])
    refuted = _find_refuted(points, point, [lead.lead.case for lead in leads], others)
    return [
        SimilarCase(
            item.lead.case,
            item.lead.shares in SURE or bool(match.evidence.operator),
            tuple(fix for fix in helps[item.lead.case] if (item.lead.case, fix.variant) not in refuted),
        )
        for item in leads
    ]


def _fits(found: LeadAt, cell: CheckedCell) -> bool:
    """Whether a lead explains a cell: wrong values with the same warning, or the same or a similar error."""
    if cell.has_wrong_values:
        return found.status is Status.MISMATCH and found.is_alike
    return found.fails and found.status is not Status.MISMATCH and (found.lead.shares in SURE or found.is_alike)


def _find_refuted(
    points: Points, point: Point, cases: Iterable[str], others: Iterable[CheckedCell]
) -> set[tuple[str, str]]:
    """The workarounds that use another exporter or opset with which the model fails."""
    failing = {(cell.exporter, cell.opset_effective or cell.opset) for cell in others if not cell.works}
    rows = points.views.fetch(
        f"""SELECT "case", variant, exporter_effective, opset_effective FROM ({point.rows})
            WHERE list_contains($1, "case")""",
        [list(cases)],
    )
    here = (point.exporter, point.opset)
    return {(case, name) for case, name, *call in rows if tuple(call) != here and tuple(call) in failing}
