"""The cases that a search finds, each with the answers that stand beside it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from caniexport.answers.reading import CatalogueEntry
from caniexport.answers.support import Support
from caniexport.corpus.verdicts import Workaround
from caniexport.match.errors import Lead
from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter, Status
from caniexport.pages.kept import Kept
from caniexport.pages.overview import careful_fixes

#: hits that are told whole; the others are in the matrix
SHOWN = 12
#: exporters whose answer stands beside a hit
BESIDE = (Exporter.TRACE.value, Exporter.DYNAMO.value)

#: torch, exporter and opset of a cell
Place = tuple[str, str, int | None]


@dataclass(frozen=True)
class PlacedHit:
    """How the failing form of a case ends at a place, ``None`` where it was not measured; the word of each fix,
    and of one that computes other values that it does.
    """

    torch: str
    exporter: str
    opset: int | None
    status: Status | None
    fixes: Sequence[tuple[str, Workaround, str]]


@dataclass(frozen=True)
class ToldHit:
    """A case that was found: where it works, the fixes that work where the error was seen, those known to be wrong, and
    how it ends at a setting that was asked for.
    """

    hit: Lead
    supports: Sequence[Support]
    working: Sequence[CatalogueEntry] = ()
    careful: Sequence[CatalogueEntry] = ()
    at: Sequence[PlacedHit] = ()

    @property
    def where(self) -> dict[str, str]:
        """The cell in which the error was seen, as an address has it; empty where the case was found by words."""
        opset = "" if self.hit.opset is None else str(self.hit.opset)
        return {"torch": self.hit.torch, "exporter": self.hit.exporter, "opset": opset}


def tell_hit(kept: Kept, hit: Lead, *, with_fixes: bool = False, at: Sequence[PlacedHit] = ()) -> ToldHit:
    """A hit with the answers that stand beside it."""
    supports = [item for item in kept.supports(hit.entry.case, PLAIN) if item.exporter in BESIDE]
    working = _working(kept, hit) if with_fixes else ()
    return ToldHit(hit, supports, working, kept.answer(careful_fixes).get(hit.entry.case, ()), at)


def _working(kept: Kept, hit: Lead) -> Sequence[CatalogueEntry]:
    """The fixes that work in the cell where the error was seen."""
    place = (hit.torch, hit.exporter, hit.opset)
    return working_fixes(kept, hit.case).get(place, ()) if hit.torch else ()


def working_fixes(kept: Kept, case: str) -> Mapping[Place, Sequence[CatalogueEntry]]:
    """The fixes of a case that work in each cell, those that sources warn of left out; last those that compute other
    values.
    """
    entries = kept.rows().catalogue
    found: dict[Place, dict[str, CatalogueEntry]] = defaultdict(dict)
    for cell in kept.cells_of(case):
        if cell.works and cell.variant != PLAIN and not entries[case, cell.variant].caution:
            found[cell.torch, cell.exporter, cell.opset][cell.variant] = entries[case, cell.variant]
    return {place: sorted(fixes.values(), key=lambda fix: fix.changes_values) for place, fixes in found.items()}
