"""How long failures lived: from the first release on which a case failed to the one that mended it for good."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from caniexport.answers.matrix import MatrixRow
from caniexport.answers.summary import Summary
from caniexport.model.status import MEASURED, WORKS, Status

#: releases that a failure lived: the most of each span, and its name
SPANS = ((1, "1"), (2, "2"), (4, "3-4"), (8, "5-8"), (16, "9-16"), (99, "17 or more"))
NOT_MENDED = "not mended"


def count_lived(lines: Sequence[MatrixRow], columns: Sequence[str]) -> Mapping[str, Counter[str]]:
    """By exporter: how many failures lived how many releases; a case that never failed is not counted."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for line in lines:
        span = _span([_works(line.places[column]) for column in columns])
        if span:
            found[line.exporter or ""][span] += 1
    return found


def _works(place: Summary) -> bool | None:
    """Whether it works at some opset; ``None`` where nothing was measured, or the exporter takes none of them."""
    if place.status not in MEASURED or place.status is Status.UNSUPPORTED:
        return None
    return place.status in WORKS


def _span(works: Sequence[bool | None]) -> str:
    """The name of the span that a failure lived, counted in measured releases; empty where nothing failed."""
    known = [item for item in works if item is not None]
    if False not in known:
        return ""
    first = known.index(False)
    last = len(known) - 1 - known[::-1].index(False)
    if last == len(known) - 1:
        return NOT_MENDED
    return next(name for most, name in SPANS if last - first + 1 <= most)
