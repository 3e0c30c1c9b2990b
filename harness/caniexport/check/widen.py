"""What to measure next: the call that a user would write first, then what can still change the answer. Pure.

Of an exporter an opset in the middle of what it takes comes first, with the lowest and the highest; then, where two
neighbours of those measured came out differently, the one between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from caniexport import versions
from caniexport.model.releases import Release
from caniexport.model.status import EXPORTERS, WORKS, Exporter, Status

#: the release from which the bare call is dynamo's
_DYNAMO_SINCE = "2.9"
#: what dynamo writes before it converts, and what the other exporter writes where nobody asks
USUAL_OPSET = 18

#: exporter and opset, ``None`` for the bare call
Point = tuple[str, int | None]
#: by point: what each variant came out with, in one order
Seen = Mapping[Point, tuple[Status, ...]]


@dataclass(frozen=True)
class ReleaseQuestion:
    """What is asked of a release: exporters and opsets that were named, empty for none."""

    release: Release
    exporters: tuple[str, ...] = ()
    opsets: tuple[int, ...] = ()

    @property
    def lanes(self) -> list[tuple[str, ...]]:
        """Exporters that one process measures in turn; those with the bare call come first."""
        wanted = self.exporters or tuple(
            name for name in EXPORTERS if not self.opsets or name != Exporter.DEFAULT.value
        )
        by_dynamo = [Exporter.DYNAMO.value]
        by_trace = [Exporter.TRACE.value, Exporter.SCRIPT.value]
        first = by_dynamo if default_exporter(self.release.torch) == Exporter.DYNAMO.value else by_trace
        lanes = [[Exporter.DEFAULT.value, *first], by_trace if first is by_dynamo else by_dynamo]
        taken = [tuple(name for name in lane if name in wanted and self.release.opsets(name)) for lane in lanes]
        return [lane for lane in taken if lane]

    def next_points(self, lane: Sequence[str], seen: Seen, *, is_fixed: bool = False) -> list[Point]:
        """The points to measure now, of one exporter; none where nothing can change the answer any more.

        ``is_fixed`` says that a trace which works may be wrong for other values.
        """
        if self.opsets:
            return self._named(lane, seen)
        for name in lane:
            if name == Exporter.SCRIPT.value and not self.exporters and not (is_fixed or _no_trace_works(seen)):
                continue
            points = [point for point in self._first(name) if point not in seen] or self._between(name, seen)
            if points:
                return points
        return []

    def _named(self, lane: Sequence[str], seen: Seen) -> list[Point]:
        for name in lane:
            points: list[Point] = [(name, opset) for opset in self.release.opsets(name) if opset in self.opsets]
            new = [point for point in points if point not in seen]
            if new:
                return new
        return []

    def _first(self, exporter: str) -> list[Point]:
        if exporter == Exporter.DEFAULT.value:
            return [(exporter, None)]
        opsets = self._accepted(exporter)
        usual = max([opset for opset in opsets if opset <= USUAL_OPSET] or opsets[:1])
        ends = () if exporter == Exporter.SCRIPT.value and not self.exporters else (opsets[0], opsets[-1])
        return [(exporter, opset) for opset in dict.fromkeys((usual, *ends))]

    def _between(self, exporter: str, seen: Seen) -> list[Point]:
        """One opset between each two neighbours that differ and have one between them."""
        opsets = self._accepted(exporter)
        measured = [opset for opset in opsets if (exporter, opset) in seen]
        found: list[Point] = []
        for low, high in pairwise(measured):
            inner = opsets[opsets.index(low) + 1 : opsets.index(high)]
            before, after = _outcome(seen[exporter, low]), _outcome(seen[exporter, high])
            # what could not be judged tells nothing of its neighbors
            if inner and before != after and Status.SKIP not in (*before, *after):
                found.append((exporter, inner[len(inner) // 2]))
        return found

    def _accepted(self, exporter: str) -> list[int]:
        """All that the exporter takes: the table has the next opset too, of dynamo the one before it as well."""
        opsets = [opset for opset in self.release.opsets(exporter) if opset is not None]
        if exporter == Exporter.DYNAMO.value:
            taken = opsets[1:-1] or opsets
        else:
            taken = [opset for opset in opsets if opset <= self.release.torchscript[1]] or opsets
        return taken


def default_exporter(torch: str) -> str:
    """The exporter that a release's bare call is."""
    is_dynamo = versions.parse(torch) >= versions.parse(_DYNAMO_SINCE)
    return Exporter.DYNAMO.value if is_dynamo else Exporter.TRACE.value


def _outcome(statuses: Sequence[Status]) -> tuple[Status, ...]:
    """What is told apart: files that work are alike."""
    return tuple(Status.PASS if status in WORKS else status for status in statuses)


def _no_trace_works(seen: Seen) -> bool:
    traces = [statuses for (name, _), statuses in seen.items() if name == Exporter.TRACE.value]
    return bool(traces) and not any(status in WORKS for statuses in traces for status in statuses)
