"""Where to go from here: the newest target at which nothing listed breaks, and the least that makes a target work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from caniexport import versions
from caniexport.answers.along import Along
from caniexport.answers.filters import Filters
from caniexport.answers.points import MeasuredPoint, Places
from caniexport.answers.select import CaseSelection, CatalogueEntry, Rows, load, select
from caniexport.corpus.verdicts import REGRESSIONS, ComparedCell, Verdict, compare, works
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter, FixKind, Status
from caniexport.store.elsewhere import Runtime

if TYPE_CHECKING:
    from caniexport.store import Dataset

_BREAKS = REGRESSIONS | {Verdict.WITHDRAWN}
_NAMED = tuple(member.value for member in Exporter if member is not Exporter.DEFAULT)
#: what asks least of a project comes first
_EASE = (
    FixKind.EXPORT_OPTION,
    FixKind.RAISE_OPSET,
    FixKind.RUNTIME_OPTION,
    FixKind.MODULE_SWAP,
    FixKind.REWRITE,
    FixKind.CUSTOM_SYMBOLIC,
    FixKind.AUTOGRAD_FUNCTION,
    FixKind.GRAPH_SURGERY,
)


@dataclass(frozen=True)
class UpgradeTarget:
    """A place to go to. ``breaks`` are the cases that stop working there, ``workarounds`` one fix for each that has
    one, ``without`` those that have none; ``unmeasured`` cases were not measured there: nothing is known of them.
    """

    place: MeasuredPoint
    breaks: tuple[str, ...]
    workarounds: tuple[str, ...]
    without: tuple[str, ...]
    unmeasured: tuple[str, ...]

    @property
    def clean(self) -> bool:
        """Whether nothing that worked stops working there."""
        return not self.breaks


@dataclass(frozen=True)
class Plan:
    """``newest`` is the newest release (never older than the one left) at which nothing breaks, ``None`` where each
    breaks something. ``wanted`` is the target asked for, and ``best`` the settings of its release (exporter, opset)
    that need the fewest workarounds; both ``None`` where none was asked for. ``held`` says of the newer releases what
    breaks there.
    """

    before: MeasuredPoint
    cases: int
    newest: UpgradeTarget | None
    held: tuple[UpgradeTarget, ...]
    wanted: UpgradeTarget | None
    best: UpgradeTarget | None
    notes: tuple[str, ...]

    @property
    def breaks(self) -> bool:
        """Whether the target asked for needs a workaround, or has none; without one, whether there is nowhere to go."""
        return not self.wanted.clean if self.wanted else self.newest is None


def plan(dataset: Dataset, before: Mapping[str, str], after: Mapping[str, str] | None, filters: Filters) -> Plan:
    """Plan a way from one point. ``before`` and ``after`` are what :func:`caniexport.answers.points.parse` gives.

    Every release is judged at its own exporter and opset unless ``after`` names some. Raises :class:`UnknownName`.
    """
    rows = load(dataset)
    selection = select(rows, replace(filters, torch=(), opsets=(), exporters=(), providers=(), statuses=()))
    entries = [entry for entry in selection.catalogue.values() if entry.corpus != CANARY]
    left = Places(rows).fill(before)
    judge = _TargetJudge(selection, entries, left)
    pinned = {axis: value for axis, value in (after or {}).items() if axis != "torch"}
    newer = [torch for torch in rows.torch if versions.parse(torch) >= versions.parse(left.torch)]
    targets = [judge.at(Places(rows).fill({**pinned, "torch": torch})) for torch in reversed(newer)]
    newest = next((target for target in targets if target.clean), None)
    held = targets[: targets.index(newest)] if newest else targets
    right = Places(rows).fill(after) if after is not None else None
    wanted = judge.at(right) if right else None
    best = (
        min((judge.at(place) for place in _settings(rows, right, pinned)), key=lambda t: _cost(t, right))
        if right
        else None
    )
    notes = dict.fromkeys(filter(None, (left.assumed, right.assumed if right else "")))
    cases = len({entry.case for entry in entries})
    return Plan(left, cases, newest, tuple(held), wanted, best, tuple(notes))


def _settings(rows: Rows, right: MeasuredPoint, pinned: Mapping[str, str]) -> Iterable[MeasuredPoint]:
    """The target, and its release at every exporter and opset that was not asked for by name."""
    yield right
    exporters = [right.exporter] if "exporter" in pinned else _NAMED
    for exporter in exporters:
        for opset in rows.offers.get((right.torch, exporter), ()):
            if "opset" not in pinned or opset == right.opset:
                yield replace(right, exporter=exporter, opset=opset)


def _cost(target: UpgradeTarget, right: MeasuredPoint) -> tuple[int, int, int, bool, int]:
    """What has no fix weighs most, then what is not known, then what has to be written, then the way to go."""
    near = abs((target.place.opset or 0) - (right.opset or 0))
    other = target.place.exporter != right.exporter
    return len(target.without), len(target.unmeasured), len(target.workarounds), other, near


class _TargetJudge:
    """Everything that is the same for all targets."""

    def __init__(self, selection: CaseSelection, entries: Sequence[CatalogueEntry], left: MeasuredPoint) -> None:
        self._selection = selection
        self._along: dict[Runtime | None, Along] = {}
        self._cases = list(dict.fromkeys(entry.case for entry in entries))
        self._fixes: dict[str, list[str]] = {}
        for entry in sorted(entries, key=_ease):
            if entry.variant != PLAIN and not entry.caution and entry.kind != FixKind.VERSION_UPGRADE.value:
                self._fixes.setdefault(entry.case, []).append(entry.variant)
        self._before = {case: self._status(case, PLAIN, left) for case in self._cases}

    def at(self, place: MeasuredPoint) -> UpgradeTarget:
        """What happens at a place."""
        after = {case: self._status(case, PLAIN, place) for case in self._cases}
        known = [case for case in self._cases if works(self._before[case]) is not None]
        breaks = [
            case for case in known if compare(ComparedCell(self._before[case]), ComparedCell(after[case])) in _BREAKS
        ]
        chosen = {case: self._fix(case, place) for case in breaks}
        return UpgradeTarget(
            place,
            tuple(breaks),
            tuple(f"{case}/{fix}" for case, fix in chosen.items() if fix),
            tuple(case for case, fix in chosen.items() if not fix),
            tuple(case for case in known if works(after[case]) is None),
        )

    def _fix(self, case: str, place: MeasuredPoint) -> str | None:
        return next((fix for fix in self._fixes.get(case, ()) if works(self._status(case, fix, place))), None)

    def _status(self, case: str, variant: str, place: MeasuredPoint) -> Status | None:
        along = self._on(place)
        return along.at(place.torch, place.exporter, place.provider, case, variant).get(place.opset)

    def _on(self, place: MeasuredPoint) -> Along:
        """What is known along releases: as installed together where that is the place's runtime, else on that one."""
        own = self._selection.rows.own_runtimes.get((place.torch, place.provider))
        on = None if own == place.on or not place.runtime else place.on
        if on not in self._along:
            rows = self._selection.rows
            self._along[on] = Along(replace(self._selection, rows=rows.on(on) if on else rows))
        return self._along[on]


def _ease(entry: CatalogueEntry) -> tuple[bool, int]:
    """What a source states first, then what asks least."""
    kinds = [kind.value for kind in _EASE]
    return not entry.documented, kinds.index(entry.kind) if entry.kind in kinds else len(kinds)
