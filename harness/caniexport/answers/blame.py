"""Which axis did it: the verdict between two places, with only some of the axes moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from caniexport.answers.points import MeasuredPoint
from caniexport.corpus.verdicts import ComparedCell, Verdict, compare, works
from caniexport.model.status import Status

#: everything beside torch but the runtime, as one axis; a single swap of one of them may name it
_PACKAGES = "packages"
_At = Callable[[MeasuredPoint], ComparedCell]


def blame(verdict: Verdict, left: MeasuredPoint, right: MeasuredPoint, at: _At) -> str:
    """The axis whose single swap makes the change; else the one that takes it back.

    It makes it where the old point with only this axis moved already shows the verdict (``torch or opset`` where
    either does); it takes it back where the new point with only this axis left as it was does as before. Else the
    fewest axes that make it ``together`` (``not measured apart`` where one of them alone was not measured).
    ``interaction`` where only all of them do; a swap that was not measured, or that a release does not offer, leaves
    it open: ``unattributed``.
    """
    found = _axes(verdict, left, right, at)
    if _PACKAGES not in found:
        return found
    before, swaps = at(left), right.swaps(left)
    undoing = [name for name, place in swaps.items() if _as_before(before, at(place))]
    return " or ".join(undoing) or found.replace(_PACKAGES, " or ".join(swaps) or _PACKAGES)


def _axes(verdict: Verdict, left: MeasuredPoint, right: MeasuredPoint, at: _At) -> str:
    """As :func:`blame`, the packages beside torch as one axis."""
    differing = left.differing(right)
    if len(differing) < 2:
        return differing[0] if differing else ""
    before = at(left)
    making = [axis for axis in differing if _makes(verdict, before, at(left.moved(right, [axis])))]
    if making:
        return " or ".join(making)
    undoing = [axis for axis in differing if _as_before(before, at(right.moved(left, [axis])))]
    if len(undoing) == 1:
        return undoing[0]
    together = next(_together(verdict, before, left, right, differing, at), None)
    if together:
        apart = [at(left.moved(right, [axis])).status for axis in together]
        return f"{' and '.join(together)} together{' (not measured apart)' if None in apart else ''}"
    if undoing:
        return f"{' and '.join(undoing)} together"
    missing = [
        axis
        for axis in differing
        if not (_offered(at(left.moved(right, [axis]))) and _offered(at(right.moved(left, [axis]))))
    ]
    return f"unattributed (not measured apart: {', '.join(missing)})" if missing else "interaction"


def _together(
    verdict: Verdict, before: ComparedCell, left: MeasuredPoint, right: MeasuredPoint, differing: Sequence[str], at: _At
) -> Iterator[tuple[str, ...]]:
    """The sets of some of the axes, smallest first, that make the change when moved together."""
    for count in range(2, len(differing)):
        for axes in combinations(differing, count):
            if _makes(verdict, before, at(left.moved(right, axes))):
                yield axes


def _makes(verdict: Verdict, before: ComparedCell, swapped: ComparedCell) -> bool:
    return _offered(swapped) and compare(before, swapped) is verdict


def _as_before(before: ComparedCell, swapped: ComparedCell) -> bool:
    return _offered(swapped) and swapped.status == before.status


def _offered(outcome: ComparedCell) -> bool:
    return works(outcome.status) is not None and outcome.status is not Status.UNSUPPORTED
