"""What torch's own calls of an upgrade's operators come to at both ends: silently wrong there, or passing no more."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from caniexport.answers.decision import order_ways
from caniexport.answers.operator_at import ExporterEnd, OperatorAt, entry_at
from caniexport.answers.operator_forms import tell_lost

if TYPE_CHECKING:
    from caniexport.answers.points import MeasuredPoint
    from caniexport.answers.torch_operators import OperatorsSummary
    from caniexport.answers.upgrade import Upgrade

#: from one place to another
_PLACES = 2
#: leads on from what is said here to what comes of the cases
BETWEEN = "Of the cases about it:"


def places_of(found: Upgrade) -> list[MeasuredPoint]:
    """The first point of an upgrade, and the second in each way of calling it, the one to go first."""
    return [found.before, *(way.place for way in order_ways(found))]


def tell_between(summary: OperatorsSummary | None, ops: Iterable[str], places: Sequence[MeasuredPoint]) -> str:
    """How the calls of each operator end by the exporters that are used there, where some are wrong without an error
    and no opset has all right, or where all pass at the first of the ``places`` and not at the second, or some and
    none, in whatever form and dtype; empty where none is so.
    """
    told = []
    for found in _ends(summary, ops, places):
        is_lost = _is_lost(found, places)
        told += [end.told for torch, end in found.items() if is_lost or _is_any_bad(end, _used(places, torch))]
    return " ".join((*told, *tell_lost(summary, ops, places)))


def loses_calls(summary: OperatorsSummary | None, ops: Iterable[str], places: Sequence[MeasuredPoint]) -> bool:
    """Whether all calls of some operator pass at the first of the ``places`` and not all of them at the second, or some
    and none, in whatever form and dtype.
    """
    is_lost = any(_is_lost(found, places) for found in _ends(summary, ops, places))
    return is_lost or bool(tell_lost(summary, ops, places))


def _ends(
    summary: OperatorsSummary | None, ops: Iterable[str], places: Sequence[MeasuredPoint]
) -> Iterator[dict[str, OperatorAt]]:
    """For each operator that the names most likely mean: how its calls end in the releases of the ``places`` in which
    it was measured, by the exporters that are used there.
    """
    if summary is None:
        return
    used = {place.torch: list(dict.fromkeys(_used(places, place.torch))) for place in places}
    for op in dict.fromkeys(op for name in ops for op in summary.called(name)[:1]):
        ends = {torch: entry_at(summary, op, torch, by) for torch, by in used.items()}
        yield {torch: end for torch, end in ends.items() if end is not None and end.torch == torch}


def _is_lost(found: Mapping[str, OperatorAt], places: Sequence[MeasuredPoint]) -> bool:
    """Whether all calls pass at the first place and not all of them at the second, or some and none."""
    ends = [
        (end, place.opset)
        for place in places[:2]
        for end in (found[place.torch].ends if place.torch in found else ())
        if end.exporter == place.exporter
    ]
    if len(ends) != _PLACES:
        return False
    (old, before), (new, after) = ends
    return new.fails_at(after) and (old.passes(before) or (bool(old.share) and not new.share))


def _used(places: Iterable[MeasuredPoint], torch: str) -> list[str]:
    """The exporters that are used in a release."""
    return [place.exporter for place in places if place.torch == torch]


def _is_any_bad(found: OperatorAt, exporters: Collection[str]) -> bool:
    return any(_is_bad(end) for end in found.ends if end.exporter in exporters)


def _is_bad(end: ExporterEnd) -> bool:
    """Whether no opset has all calls right, and some are wrong without an error: what is not exported, cases tell."""
    return end.first is None and bool(end.wrong)
