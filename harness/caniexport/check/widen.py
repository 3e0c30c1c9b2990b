"""Choose the next points to measure: the default call first, then points that can still change the answer.

An exporter's usual, lowest and highest opsets come first, then opsets between two measured neighbors that differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from caniexport import versions
from caniexport.model.releases import Release
from caniexport.model.status import EXPORTERS, WORKS, Exporter, Status

#: the first release whose default call uses dynamo
_DYNAMO_SINCE = "2.9"
#: the opset that dynamo writes before conversion, and that TorchScript writes by default
USUAL_OPSET = 18

#: exporter and opset, ``None`` for the default call
Point = tuple[str, int | None]
#: by point, the status of each variant in a fixed order
Seen = Mapping[Point, tuple[Status, ...]]


@dataclass(frozen=True)
class ReleaseQuestion:
    """The release to measure, and the exporters and opsets that the user named (empty: all)."""

    release: Release
    exporters: tuple[str, ...] = ()
    opsets: tuple[int, ...] = ()

    @property
    def lanes(self) -> list[tuple[str, ...]]:
        """Groups of exporters, one process each; the group with the default call comes first."""
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
        """The next points of one exporter; empty if nothing can change the answer.

        ``is_fixed``: a working trace may be wrong for other values.
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
        """One opset between each two measured neighbors that differ."""
        opsets = self._accepted(exporter)
        measured = [opset for opset in opsets if (exporter, opset) in seen]
        found: list[Point] = []
        for low, high in pairwise(measured):
            inner = opsets[opsets.index(low) + 1 : opsets.index(high)]
            before, after = _outcome(seen[exporter, low]), _outcome(seen[exporter, high])
            # unjudged cells do not bound a search
            if inner and before != after and Status.SKIP not in (*before, *after):
                found.append((exporter, inner[len(inner) // 2]))
        return found

    def _accepted(self, exporter: str) -> list[int]:
        """The accepted opsets: the table also has one that is refused above, and for dynamo one below."""
        opsets = [opset for opset in self.release.opsets(exporter) if opset is not None]
        if exporter == Exporter.DYNAMO.value:
            taken = opsets[1:-1] or opsets
        else:
            taken = [opset for opset in opsets if opset <= self.release.torchscript[1]] or opsets
        return taken


def default_exporter(torch: str) -> str:
    """The exporter of a release's default call."""
    is_dynamo = versions.parse(torch) >= versions.parse(_DYNAMO_SINCE)
    return Exporter.DYNAMO.value if is_dynamo else Exporter.TRACE.value


def _outcome(statuses: Sequence[Status]) -> tuple[Status, ...]:
    """The statuses, with every working status as pass."""
    return tuple(Status.PASS if status in WORKS else status for status in statuses)


def _no_trace_works(seen: Seen) -> bool:
    traces = [statuses for (name, _), statuses in seen.items() if name == Exporter.TRACE.value]
    return bool(traces) and not any(status in WORKS for statuses in traces for status in statuses)
