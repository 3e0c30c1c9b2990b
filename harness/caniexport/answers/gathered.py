"""Operators or themes against releases: of the cases of each, how many work there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from caniexport.answers.matrix import MatrixRow
from caniexport.answers.select import CatalogueEntry
from caniexport.corpus.verdicts import collapse
from caniexport.model.status import MEASURED, WORKS, Status


@dataclass(frozen=True)
class Share:
    """Of ``measured`` cases, ``works`` work at some opset; ``worst`` is how the worst of the others ends. ``open`` are
    those with files that were not run there, so that nobody knows.
    """

    works: int
    measured: int
    worst: Status | None
    open: int = 0

    @property
    def status(self) -> Status:
        """What the place looks like: pass where all work, the worst where none does, degraded in between."""
        if not self.measured:
            return Status.NOT_RUN
        if self.works == self.measured:
            return Status.PASS
        return Status.DEGRADED if self.works else self.worst or Status.FAIL

    @property
    def per_cent(self) -> float | None:
        """The share of those measured that works; ``None`` where it is not known of most."""
        return round(100 * self.works / self.measured, 1) if self.measured > self.open else None

    @property
    def mixed(self) -> bool:
        """Whether some work and others do not."""
        return 0 < self.works < self.measured


@dataclass(frozen=True)
class Gathered:
    """One operator or theme with one exporter; ``places`` has every column of the table it was made of."""

    name: str
    exporter: str | None
    cases: int
    places: dict[str, Share]


def by_operator(
    lines: Iterable[MatrixRow], columns: Sequence[str], catalogue: Mapping[tuple[str, str], CatalogueEntry]
) -> list[Gathered]:
    """The lines of a matrix (failing forms) gathered by operator: torch's first, then ONNX's, each by name."""
    found = _gathered(lines, columns, lambda line: catalogue[line.case, line.variant].ops)
    return sorted(found, key=lambda item: ("::" not in item.name, item.name.casefold(), item.name))


def by_theme(lines: Iterable[MatrixRow], columns: Sequence[str]) -> list[Gathered]:
    """The lines of a matrix gathered by theme, in the order of the lines."""
    return _gathered(lines, columns, lambda line: (line.theme,))


def by_exporter(lines: Iterable[MatrixRow], columns: Sequence[str]) -> list[Gathered]:
    """All lines of a matrix gathered, one for each exporter."""
    return _gathered(lines, columns, lambda _: ("",))


def _gathered(
    lines: Iterable[MatrixRow], columns: Sequence[str], names: Callable[[MatrixRow], Iterable[str]]
) -> list[Gathered]:
    """Those of one name stand beside each other, their exporters always in the same order."""
    grouped: dict[tuple[str, str | None], list[MatrixRow]] = defaultdict(list)
    for line in lines:
        for name in names(line):
            grouped[name, line.exporter].append(line)
    exporters = list(dict.fromkeys(by for _, by in grouped))
    return [
        Gathered(
            name,
            exporter,
            len({line.case for line in grouped[name, exporter]}),
            {column: _share(grouped[name, exporter], column) for column in columns},
        )
        for name in dict.fromkeys(name for name, _ in grouped)
        for exporter in exporters
        if (name, exporter) in grouped
    ]


def _share(lines: Sequence[MatrixRow], column: str) -> Share:
    places = [line.places[column] for line in lines]
    found = [place.status for place in places]
    measured = [status for status in found if status in MEASURED and status is not Status.UNSUPPORTED]
    works = [status for status in measured if status in WORKS]
    unknown = sum(place.status is Status.NOT_RUN and bool(place.at) for place in places)
    return Share(len(works), len(measured), collapse(status for status in measured if status not in WORKS), unknown)
