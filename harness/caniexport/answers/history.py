"""A case along torch's releases: the stretches on which it ended alike, and the intervals in which that changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise

from caniexport import versions
from caniexport.answers.beside_torch import PackageVersion, cells_beside, one_release, versions_of
from caniexport.answers.blame import blame
from caniexport.answers.filters import Filters
from caniexport.answers.points import MeasuredPoint
from caniexport.answers.rows import NO_EXPORTER, MeasuredCell, compared
from caniexport.answers.select import CaseSelection, CatalogueEntry, Key, Rows, load, select
from caniexport.answers.signs import exporter_rank
from caniexport.corpus import verdicts
from caniexport.corpus.verdicts import ComparedCell, Verdict, compare, works
from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter, Status
from caniexport.store import Dataset
from caniexport.store.elsewhere import Runtime

#: exporter, opset, provider
_Where = tuple[str, int | None, str | None]
#: torch, exporter and opset -> cell, of one variant on one runtime
_Grid = Mapping[tuple[str, str, int | None], MeasuredCell]


@dataclass(frozen=True)
class Began:
    """Where a stretch began: last seen otherwise at ``after``, first seen so at ``by``.

    ``unmeasured`` are the releases between, which say nothing. ``verdict`` is what happened from ``after`` to ``by``,
    ``axes`` what did it (:mod:`caniexport.answers.blame`): torch, the onnxruntime beside it, and for a default call the
    exporter and the opset that it chose.
    """

    after: str
    by: str
    unmeasured: tuple[str, ...]
    verdict: Verdict
    axes: str


@dataclass(frozen=True)
class ReleaseStretch:
    """Releases in a row that ended alike; ``torch`` are those that show it, oldest first.

    ``message`` is the index of the text in :attr:`History.messages`, ``None`` where it has none. ``began`` is
    ``None`` for the first stretch of a line: what was before it was not measured.
    """

    torch: tuple[str, ...]
    status: Status
    stage: str
    signature: str | None
    message: int | None
    runtimes: tuple[str, ...]
    local: bool
    began: Began | None


@dataclass(frozen=True)
class HistoryLine:
    """One exporter at one opset (``None``: a default call) on one provider.

    ``taken`` is the first release whose exporter takes the opset, ``None`` where that is not known; ``unmeasured`` are
    the releases within its ends that say nothing.
    """

    exporter: str
    opset: int | None
    provider: str | None
    stretches: tuple[ReleaseStretch, ...]
    taken: str | None
    unmeasured: tuple[str, ...]

    @property
    def changes(self) -> tuple[Began, ...]:
        """Where its outcome changed, oldest first."""
        return tuple(stretch.began for stretch in self.stretches if stretch.began)


@dataclass(frozen=True)
class History:
    """One variant along torch; a variant that was not measured there has no lines."""

    entry: CatalogueEntry
    lines: tuple[HistoryLine, ...]
    messages: tuple[str, ...]
    notes: tuple[str, ...]
    along: str = "torch"


def history(dataset: Dataset, filters: Filters, along: str = "torch") -> list[History]:
    """One answer for each variant that the filters take; the failing form alone where no variant is named.

    ``along`` torch's releases, or the versions of a package beside one of them: ``torch`` of a stretch are then these.
    ``--status`` keeps the lines that have such a stretch, whole. Each release is looked at on the onnxruntime that was
    installed beside it. Raises :class:`UnknownName`.
    """
    named = any("/" in case for case in filters.cases)
    if not named and not filters.variants:
        filters = replace(filters, variants=(PLAIN,))
    rows = load(dataset)
    selection = select(rows, filters)
    if along != "torch":
        return _beside_torch(dataset, selection, along)
    by_variant: dict[Key, list[MeasuredCell]] = defaultdict(list)
    for cell in selection.cells:
        by_variant[cell.case, cell.variant].append(cell)
    return [_history(dataset, selection, entry, by_variant.get(key, [])) for key, entry in selection.catalogue.items()]


def _beside_torch(dataset: Dataset, selection: CaseSelection, package: str) -> list[History]:
    """The same along the versions of a package beside one release."""
    rows = selection.rows
    torch = one_release(rows.torch, selection.filters.torch, package)
    along = versions_of(rows, torch, package)
    by_variant: dict[Key, list[MeasuredCell]] = defaultdict(list)
    for version, cells in cells_beside(rows, torch, along, selection.where()).items():
        for cell in cells:
            by_variant[cell.case, cell.variant].append(cell._replace(torch=version))
    every = [dataset.of(item.installed.profile) for item in along]
    found = []
    for key, entry in selection.catalogue.items():
        reading = _PackageReading(rows, entry, along, by_variant.get(key, []))
        made = _history_of(every, selection, reading, by_variant.get(key, []))
        beside = [f"{package} {item.version}: {item.installed.profile}, {item.installed.text}" for item in along]
        found.append(replace(made, along=package, notes=(f"beside torch {torch}", *beside, *made.notes)))
    return found


def _history(
    dataset: Dataset, selection: CaseSelection, entry: CatalogueEntry, cells: Sequence[MeasuredCell]
) -> History:
    releases = versions.ordered({*selection.torch, *(cell.torch for cell in cells)})
    return _history_of([dataset], selection, _Reading(selection.rows, entry, releases, cells), cells)


def _history_of(
    datasets: Sequence[Dataset], selection: CaseSelection, reading: _Reading, cells: Sequence[MeasuredCell]
) -> History:
    by_line: dict[_Where, list[MeasuredCell]] = defaultdict(list)
    for cell in cells:
        if cell.exporter != NO_EXPORTER:
            by_line[cell.exporter, cell.opset, cell.provider].append(cell)
    lines = [reading.line(where, by_line[where]) for where in sorted(by_line, key=_reading_order)]
    lines = [line for line in lines if line.stretches]
    if selection.statuses:
        lines = [line for line in lines if any(item.status in selection.statuses for item in line.stretches)]
    texts = {name: text for dataset in datasets for name, text in dataset.messages(reading.messages).items()}
    missing = "(the text {} is missing in the dataset)"
    messages = tuple(texts.get(name, missing.format(name)) for name in reading.messages)
    older = f"{reading.older} cells of older code of the case are left out" if reading.older else ""
    return History(reading.entry, tuple(lines), messages, tuple(filter(None, [older, *selection.rows.notes])))


def _reading_order(where: _Where) -> tuple[int, str, int]:
    exporter, opset, provider = where
    return exporter_rank(exporter), provider or "", -1 if opset is None else opset


class _Reading:
    """One variant's cells, made into lines; ``messages`` are the ids of texts in the order in which they occur."""

    def __init__(
        self, rows: Rows, entry: CatalogueEntry, releases: Sequence[str], cells: Sequence[MeasuredCell]
    ) -> None:
        self.messages: list[str] = []
        self.older = 0
        self._signatures: dict[str, int] = {}
        self._rows = rows
        self.entry = entry
        self._releases = releases
        self._own = {(cell.torch, cell.exporter, cell.opset): cell for cell in cells}
        self._grid = cache(self._cells_on)

    def line(self, where: _Where, cells: Iterable[MeasuredCell]) -> HistoryLine:
        """The line of one exporter, opset and provider; ``cells`` in any order."""
        at = {cell.torch: cell for cell in cells}
        series = [(name, compared(at[name])) for name in self._releases if name in at]
        cut = verdicts.stretches(series)
        self.older += sum(works(outcome.status) is not None for _, outcome in series)
        self.older -= sum(len(item.points) for item in cut)
        measured = {name for item in cut for name in item.points}
        silent = [name for name in self._releases if name not in measured]
        began = [None, *(self._began(at[one.last], at[other.first], silent) for one, other in pairwise(cut))]
        made = [
            self._stretch([at[name] for name in item.points], start) for item, start in zip(cut, began, strict=False)
        ]
        within = self._between(silent, cut[0].first, cut[-1].last) if cut else ()
        return HistoryLine(*where, tuple(made), self._taken(*where[:2]), within)

    def _taken(self, exporter: str, opset: int | None) -> str | None:
        offers = self._rows.offers
        return next((name for name in self._rows.torch if opset in offers.get((name, exporter), ())), None)

    def _stretch(self, cells: Sequence[MeasuredCell], began: Began | None) -> ReleaseStretch:
        first = cells[0]
        runtimes = dict.fromkeys(f"{cell.runtime} {cell.runtime_version}" for cell in cells if cell.runtime_version)
        return ReleaseStretch(
            tuple(cell.torch for cell in cells),
            first.status,
            first.stage,
            first.signature,
            self._message(first),
            tuple(runtimes),
            any(cell.local for cell in cells),
            began,
        )

    def _message(self, cell: MeasuredCell) -> int | None:
        """The index of a cell's text; one text stands for every cell with the same signature."""
        if not cell.message_id:
            return None
        key = cell.signature or cell.message_id
        if key not in self._signatures:
            self._signatures[key] = len(self.messages)
            self.messages.append(cell.message_id)
        return self._signatures[key]

    def _began(self, before: MeasuredCell, now: MeasuredCell, silent: Sequence[str]) -> Began:
        verdict = compare(compared(before), compared(now))
        left, right = self._place(before), self._place(now)
        ends = {left: before, right: now}
        axes = blame(verdict, left, right, partial(self._at, ends))
        return Began(before.torch, now.torch, self._between(silent, before.torch, now.torch), verdict, axes)

    def _between(self, silent: Sequence[str], low: str, high: str) -> tuple[str, ...]:
        at = self._releases.index
        return tuple(name for name in silent if at(low) < at(name) < at(high))

    def _place(self, cell: MeasuredCell) -> MeasuredPoint:
        """Where a cell was measured; for a default call what it chose, or what that release's default calls choose."""
        exporter, opset = cell.exporter, cell.opset
        if exporter == Exporter.DEFAULT.value:
            exporter = cell.exporter_effective or self._rows.default_exporters.get(cell.torch, exporter)
            opset = cell.opset_effective or self._rows.default_opsets.get(cell.torch)
        provider = cell.provider or ""
        own = self._rows.own_runtimes.get((cell.torch, provider))
        runtime = (cell.runtime, cell.runtime_version) if cell.runtime_version else own[:2] if own else ("", "")
        return MeasuredPoint(cell.torch, exporter, opset, runtime[0] or "", runtime[1] or "", provider)

    def _at(self, ends: Mapping[MeasuredPoint, MeasuredCell], place: MeasuredPoint) -> ComparedCell:
        """What happened at a place; the two ends are what was measured, whatever else was asked for there."""
        if place in ends:
            return compared(ends[place])
        own = self._own.get((place.torch, place.exporter, place.opset))
        if own is not None and own.provider == place.provider and (own.runtime, own.runtime_version) == place.on[:2]:
            return compared(own)
        return compared(self._grid(place.on).get((place.torch, place.exporter, place.opset)))

    def _cells_on(self, on: Runtime) -> _Grid:
        """The variant's cells as they end on one runtime."""
        found = self._rows.on(on).cells(case=(self.entry.case,), variant=(self.entry.variant,))
        return {(cell.torch, cell.exporter, cell.opset): cell for cell in found}


class _PackageReading(_Reading):
    """The same along the versions of a package beside one torch release; ``torch`` of a cell is such a version."""

    def __init__(
        self, rows: Rows, entry: CatalogueEntry, along: Sequence[PackageVersion], cells: Sequence[MeasuredCell]
    ) -> None:
        super().__init__(rows, entry, [item.version for item in along], cells)
        self._along = {item.version: item for item in along}

    def _taken(self, exporter: str, opset: int | None) -> str | None:  # noqa: ARG002 - as above
        return self._releases[0]

    def _began(self, before: MeasuredCell, now: MeasuredCell, silent: Sequence[str]) -> Began:
        left, right = self._along[before.torch], self._along[now.torch]
        verdict = compare(compared(before), compared(now))
        between = self._between(silent, left.version, right.version)
        return Began(left.version, right.version, between, verdict, " or ".join(right.differing(left)))


@dataclass(frozen=True)
class Alike:
    """Lines of one exporter and provider that say the same wherever several were measured: ``line`` is the longest.

    ``opsets`` ascending, ``None`` for a default call; one that the exporter takes later begins within the line.
    """

    opsets: tuple[int | None, ...]
    line: HistoryLine


def alike(lines: Iterable[HistoryLine]) -> tuple[Alike, ...]:
    """Lines put together where they differ only in the first release that takes the opset.

    A refusal at the beginning (the exporter has not got the opset yet) says nothing about the case and is left out,
    unless it is all there is.
    """
    found: list[Alike] = []
    for line in map(_since_taken, lines):
        at = next((number for number, other in enumerate(found) if _same_end(other.line, line)), None)
        if at is None:
            found.append(Alike((line.opset,), line))
        else:
            longest = max(found[at].line, line, key=lambda one: len(one.stretches[0].torch))
            found[at] = Alike((*found[at].opsets, line.opset), longest)
    return tuple(found)


def _since_taken(line: HistoryLine) -> HistoryLine:
    first, *rest = line.stretches
    if first.status is not Status.UNSUPPORTED or not rest:
        return line
    return replace(line, stretches=(replace(rest[0], began=None), *rest[1:]))


def _same_end(one: HistoryLine, other: HistoryLine) -> bool:
    where = (one.exporter, one.provider) == (other.exporter, other.provider)
    if not where or len(one.stretches) != len(other.stretches) or not (_from_the_first(one) and _from_the_first(other)):
        return False
    return all(_same(left, right) for left, right in zip(one.stretches, other.stretches, strict=True))


def _from_the_first(line: HistoryLine) -> bool:
    """Whether it was measured from the first release on that takes the opset."""
    return line.taken is not None and versions.parse(line.stretches[0].torch[0]) <= versions.parse(line.taken)


def _same(one: ReleaseStretch, other: ReleaseStretch) -> bool:
    if (one.torch[-1], one.stage, one.began) != (other.torch[-1], other.stage, other.began):
        return False
    return verdicts.alike(ComparedCell(one.status, one.signature), ComparedCell(other.status, other.signature))
