"""Operators against releases: of the cases that use an operator, how many work there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.answers.matrix import Line
from harness.answers.select import Entry
from harness.verdicts import collapse
from harness.worker.status import MEASURED, WORKS, Status


@dataclass(frozen=True)
class Share:
    """Of ``measured`` cases, ``works`` work at some opset; ``worst`` is how the worst of the others ends."""

    works: int
    measured: int
    worst: Status | None

    @property
    def status(self) -> Status:
        """What the place looks like: pass where all work, the worst where none does, degraded in between."""
        if not self.measured:
            return Status.NOT_RUN
        if self.works == self.measured:
            return Status.PASS
        return Status.DEGRADED if self.works else self.worst or Status.FAIL


@dataclass(frozen=True)
class OpLine:
    """One operator with one exporter; ``places`` has every column of the table it was made of."""

    op: str
    exporter: str | None
    cases: int
    places: dict[str, Share]


def by_operator(
    lines: Iterable[Line], columns: Sequence[str], catalogue: Mapping[tuple[str, str], Entry]
) -> list[OpLine]:
    """The lines of a matrix (failing forms) gathered by operator: torch's first, then ONNX's, each by name."""
    grouped: dict[tuple[str, str | None], list[Line]] = defaultdict(list)
    for line in lines:
        for op in catalogue[line.case, line.variant].ops:
            grouped[op, line.exporter].append(line)
    order = {line_exporter: index for index, line_exporter in enumerate(dict.fromkeys(by for _, by in grouped))}
    ranked = sorted(grouped, key=lambda key: ("::" not in key[0], key[0].casefold(), key[0], order[key[1]]))
    return [
        OpLine(
            op,
            exporter,
            len({line.case for line in grouped[op, exporter]}),
            {name: _share(grouped[op, exporter], name) for name in columns},
        )
        for op, exporter in ranked
    ]


def _share(lines: Sequence[Line], column: str) -> Share:
    found = [line.places[column].status for line in lines]
    measured = [status for status in found if status in MEASURED and status is not Status.UNSUPPORTED]
    works = [status for status in measured if status in WORKS]
    return Share(len(works), len(measured), collapse(status for status in measured if status not in WORKS))
