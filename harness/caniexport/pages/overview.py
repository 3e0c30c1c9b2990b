"""What stands on the front page: how many cases of each theme end how today, and how many nobody has measured yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from caniexport.answers.select import CatalogueEntry
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter, Status
from caniexport.names import plural
from caniexport.pages.kept import Kept

EXPORTERS = (Exporter.TRACE.value, Exporter.SCRIPT.value, Exporter.DYNAMO.value)


@dataclass(frozen=True)
class Overview:
    """Cases by theme and exporter, each on the newest release that it was measured on.

    A case without a cell of an exporter counts as not measured there. ``measured`` are the cases with any cell.
    """

    by_theme: Mapping[str, Mapping[str, Counter[Status]]]
    sizes: Mapping[str, int]
    measured: frozenset[str]
    newest: str

    @property
    def cases(self) -> int:
        """How many cases there are."""
        return sum(self.sizes.values())

    @property
    def unmeasured(self) -> int:
        """How many of them have no cell at all."""
        return self.cases - len(self.measured)

    @property
    def told(self) -> str:
        """How many cases there are, and how many of them nobody has measured yet."""
        if not self.unmeasured:
            return f"{plural(self.cases, 'case')}, each measured on some release."
        measured = f"{len(self.measured):,} measured, {self.unmeasured:,} not measured yet."
        return f"{plural(self.cases, 'case')}: {measured}"

    def in_matrix(self, theme: str) -> bool:
        """Whether a case of the theme has cells, so that the matrix has a part for it."""
        return any(set(counts) - {Status.NOT_RUN} for counts in self.by_theme.get(theme, {}).values())

    @property
    def seen(self) -> set[Status]:
        """The statuses that occur, and what stands where nothing was measured."""
        found = {status for by in self.by_theme.values() for counts in by.values() for status in counts}
        return {*found, Status.NOT_RUN}


def cases(kept: Kept) -> list[CatalogueEntry]:
    """The failing form of every case in reading order, canaries left out."""
    found = kept.rows().catalogue.items()
    return [entry for (_, variant), entry in found if variant == PLAIN and entry.corpus != CANARY]


def careful_fixes(kept: Kept) -> dict[str, tuple[CatalogueEntry, ...]]:
    """By case: its fixes that are known to be wrong."""
    found: dict[str, tuple[CatalogueEntry, ...]] = {}
    for (case, _), entry in kept.rows().catalogue.items():
        if entry.caution:
            found[case] = (*found.get(case, ()), entry)
    return found


def overview(kept: Kept) -> Overview:
    """The counts of the dataset. Environment cases have no exporter; they count in their theme's size only."""
    supports = kept.all_supports()
    beside = {cell.case for cell in kept.rows().environment}
    entries = cases(kept)
    counted: dict[str, dict[str, Counter[Status]]] = {}
    for entry in entries:
        mine = counted.setdefault(entry.theme, {name: Counter() for name in EXPORTERS})
        if entry.case in beside:
            continue
        status = {item.exporter: item.status for item in supports.get(entry.case, ())}
        for name in EXPORTERS:
            mine[name][status.get(name, Status.NOT_RUN)] += 1
    known = frozenset(entry.case for entry in entries if entry.case in supports or entry.case in beside)
    newest = kept.rows().torch[-1] if kept.rows().torch else ""
    return Overview(counted, Counter(entry.theme for entry in entries), known, newest)
