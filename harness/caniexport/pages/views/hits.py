"""The cases that a search finds, each with the answers that stand beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from caniexport.answers.reading import CatalogueEntry
from caniexport.answers.support import Support
from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter
from caniexport.pages.kept import Kept
from caniexport.pages.overview import careful_fixes

#: hits that are told whole; the others are in the matrix
SHOWN = 12
#: exporters whose answer stands beside a hit
BESIDE = (Exporter.TRACE.value, Exporter.DYNAMO.value)


@dataclass(frozen=True)
class ToldHit:
    """A case that was found: by what, where it works, and the workarounds that are known to be wrong."""

    entry: CatalogueEntry
    why: str
    variant: str
    supports: Sequence[Support]
    careful: Sequence[CatalogueEntry]


def tell_hit(kept: Kept, entry: CatalogueEntry, why: str, variant: str = "") -> ToldHit:
    """A hit with the answers that stand beside it."""
    supports = [item for item in kept.supports(entry.case, PLAIN) if item.exporter in BESIDE]
    return ToldHit(entry, why, variant, supports, kept.answer(careful_fixes).get(entry.case, ()))
