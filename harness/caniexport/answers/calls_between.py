"""What torch's own calls of the operators of an upgrade come to at its two ends, where they are silently wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from caniexport.answers.operator_at import ExporterEnd, OperatorAt, entry_at

if TYPE_CHECKING:
    from caniexport.answers.points import MeasuredPoint
    from caniexport.answers.torch_operators import OperatorsSummary
    from caniexport.answers.upgrade import Upgrade

#: leads on from what is said here to what comes of the cases
BETWEEN = "Of the cases about it:"


def places_of(found: Upgrade) -> list[MeasuredPoint]:
    """The first point of an upgrade, and the second in each way of calling it."""
    ways = (found.target, found.kept, found.other)
    return [found.before, *(way.place for way in ways if way is not None)]


def tell_between(summary: OperatorsSummary | None, ops: Iterable[str], places: Sequence[MeasuredPoint]) -> str:
    """How the calls of each operator end where some are wrong without an error and no opset has all right, by the
    exporters that are used there; empty where none is so.
    """
    if summary is None:
        return ""
    used: dict[str, dict[str, None]] = {}
    for place in places:
        used.setdefault(place.torch, {})[place.exporter] = None
    meant = dict.fromkeys(op for name in ops for op in summary.called(name)[:1])
    told = (_told(entry_at(summary, op, torch, by), torch, by) for op in meant for torch, by in used.items())
    return " ".join(filter(None, told))


def _told(found: OperatorAt | None, torch: str, exporters: Collection[str]) -> str:
    """The sentence on one operator at one release; none of another release, or of other exporters than those used."""
    if found is None or found.torch != torch:
        return ""
    return found.told if any(_is_bad(end) for end in found.ends if end.exporter in exporters) else ""


def _is_bad(end: ExporterEnd) -> bool:
    """Whether no opset has all calls right, and some are wrong without an error: what is not exported, cases tell."""
    return end.first is None and bool(end.wrong)
