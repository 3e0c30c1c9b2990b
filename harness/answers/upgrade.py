"""From one point to another: what breaks, what is fixed, which workarounds may go or must come, which axis did it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from harness.answers.points import AXES, Place, Places
from harness.answers.rows import Cell
from harness.answers.select import Entry, Filters, Rows, Selection, load, select
from harness.verdicts import IMPROVEMENTS, REGRESSIONS, Outcome, Verdict, Workaround, compare, workaround
from harness.worker.case import PLAIN
from harness.worker.status import FixKind, Status

if TYPE_CHECKING:
    from harness.store import Dataset

#: worst first: wrong numbers reach production unseen
ORDER = (
    Verdict.REGRESSED_SILENT,
    Verdict.REGRESSED_CRASH,
    Verdict.REGRESSED,
    Verdict.WITHDRAWN,
    Verdict.SUSPECT,
    Verdict.DEGRADED,
    Verdict.CHANGED_FAILURE,
    Verdict.CHANGED_FAILURE_SUSPECT,
    Verdict.NOW_FAILS_CLEANLY,
    Verdict.NOW_DECLARED,
    Verdict.NEWLY_FAILING,
    Verdict.FIXED,
    Verdict.FIXED_DEGRADED,
    Verdict.FIXED_SUSPECT,
    Verdict.NEWLY_SUPPORTED,
    Verdict.RESTORED,
)
#: what is worse afterwards, for a build that should stop
_WORSE = REGRESSIONS | {Verdict.WITHDRAWN}
_Key = tuple[str, str, str, str, int | None, str]


@dataclass(frozen=True)
class Change:
    """One case whose answer differs between the two points; ``axes`` name what did it (see :func:`_blame`)."""

    case: str
    title: str
    before: Status | None
    after: Status | None
    axes: str
    fixes: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """Changes of one verdict with one signature afterwards; ``message`` is the text of one of them."""

    verdict: Verdict
    signature: str | None
    message: str | None
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class FixChange:
    """A workaround whose word changes, or that must stay."""

    case: str
    variant: str
    kind: str
    note: str
    before: Workaround
    after: Workaround


@dataclass(frozen=True)
class Upgrade:
    """The answer. ``drop``, ``keep``, ``add`` and ``lost`` are workarounds; ``counts`` has every verdict's number.

    ``unknown`` are the cases that were not measured at one of the two points.
    """

    before: Place
    after: Place
    groups: tuple[Group, ...]
    drop: tuple[FixChange, ...]
    keep: tuple[FixChange, ...]
    add: tuple[FixChange, ...]
    lost: tuple[FixChange, ...]
    counts: Mapping[str, int]
    unknown: tuple[str, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def breaks(self) -> bool:
        """Whether something that worked does not work afterwards."""
        return any(group.verdict in _WORSE for group in self.groups)


def upgrade(dataset: Dataset, before: Mapping[str, str], after: Mapping[str, str], filters: Filters) -> Upgrade:
    """What changes between two points for the failing forms in the filters, and for their fixes.

    ``before`` and ``after`` are what :func:`harness.answers.points.parse` gives. Raises :class:`UnknownName`.
    """
    rows = load(dataset)
    selection = select(rows, replace(filters, torch=(), opsets=(), exporters=(), providers=(), statuses=()))
    places = Places(rows)
    left, right = places.fill(before, {}), places.fill(after, {})
    grid = _Grid(_between(rows, selection, left, right))
    plain = [entry for key, entry in selection.catalogue.items() if key[1] == PLAIN and entry.corpus != "canary"]
    fixes = _by_case(entry for key, entry in selection.catalogue.items() if key[1] != PLAIN)
    verdicts = {
        entry.case: compare(grid.outcome(entry.case, PLAIN, left), grid.outcome(entry.case, PLAIN, right))
        for entry in plain
    }
    changes = [_change(entry, verdicts[entry.case], grid, left, right, fixes) for entry in plain]
    moved = [item for entry in plain for item in _fix_changes(fixes.get(entry.case, ()), grid, left, right)]
    return Upgrade(
        left,
        right,
        tuple(_groups(changes, dataset)),
        _moved(moved, {Workaround.NEEDED}, {Workaround.OBSOLETE, Workaround.HARMFUL}),
        _moved(moved, {Workaround.NEEDED}, {Workaround.NEEDED}),
        _moved(moved, {Workaround.OBSOLETE, Workaround.HARMFUL}, {Workaround.NEEDED}),
        _moved(moved, {Workaround.NEEDED}, {Workaround.BROKEN}),
        _counts(verdicts.values()),
        tuple(entry.case for entry in plain if grid.unmeasured(entry.case, left, right)),
        tuple(f"assumed: {note}" for note in dict.fromkeys((*left.notes, *right.notes))),
    )


def _between(rows: Rows, selection: Selection, left: Place, right: Place) -> list[Cell]:
    """The cells at the two points and wherever only some axes are moved."""
    columns = {"torch": "torch", "opset": "opset", "exporter": "exporter", "provider": "provider"}
    where = {column: {getattr(left, axis), getattr(right, axis)} for axis, column in columns.items()}
    if "case" in selection.where():
        where["case"] = {case for case, _ in selection.catalogue}
    return rows.cells(**where)


class _Grid:
    """Cells by everything that places them."""

    def __init__(self, measured: Iterable[Cell]) -> None:
        self._cells: dict[_Key, Cell] = {
            (cell.case, cell.variant, cell.torch, cell.exporter, cell.opset, cell.provider or "cpu"): cell
            for cell in measured
        }

    def cell(self, case: str, variant: str, place: Place) -> Cell | None:
        return self._cells.get((case, variant, place.torch, place.exporter, place.opset, place.provider))

    def outcome(self, case: str, variant: str, place: Place) -> Outcome:
        cell = self.cell(case, variant, place)
        return Outcome(cell.status, cell.signature, cell.case_hash) if cell else Outcome(None)

    def unmeasured(self, case: str, *places: Place) -> bool:
        return any(self.cell(case, PLAIN, place) is None for place in places)


@dataclass(frozen=True)
class _Found:
    verdict: Verdict
    change: Change
    cell: Cell | None


def _change(
    entry: Entry,
    verdict: Verdict,
    grid: _Grid,
    left: Place,
    right: Place,
    fixes: Mapping[str, Sequence[Entry]],
) -> _Found:
    before, after = grid.cell(entry.case, PLAIN, left), grid.cell(entry.case, PLAIN, right)
    helping = [
        f"{entry.case}/{fix.variant}"
        for fix in fixes.get(entry.case, ())
        if verdict in _WORSE and not fix.caution and _works(grid.cell(entry.case, fix.variant, right))
    ]
    return _Found(
        verdict,
        Change(
            entry.case,
            entry.title,
            before.status if before else None,
            after.status if after else None,
            _blame(entry.case, verdict, grid, left, right) if verdict in ORDER else "",
            tuple(helping),
        ),
        after,
    )


def _works(cell: Cell | None) -> bool:
    return cell is not None and cell.works


def _blame(case: str, verdict: Verdict, grid: _Grid, left: Place, right: Place) -> str:
    """The axis whose single swap makes the change; else the one that takes it back.

    It makes it where the old point with only this axis moved already shows the verdict; it takes it back where the new
    point with only this axis left as it was does as before. Where several take it back and none makes it alone it takes
    these ``together``; ``interaction`` where no axis does either; a swap that was not measured, or that a release does
    not offer, leaves it open: ``unattributed``.
    """
    differing = [axis for axis in AXES if getattr(left, axis) != getattr(right, axis)]
    if len(differing) < 2:
        return differing[0] if differing else ""
    before = grid.outcome(case, PLAIN, left)
    making, undoing, missing = [], [], []
    for axis in differing:
        forward = grid.outcome(case, PLAIN, replace(left, **{axis: getattr(right, axis)}))
        back = grid.outcome(case, PLAIN, replace(right, **{axis: getattr(left, axis)}))
        if _offered(forward) and compare(before, forward) is verdict:
            making.append(axis)
        if _offered(back) and back.status == before.status:
            undoing.append(axis)
        if not (_offered(forward) and _offered(back)):
            missing.append(axis)
    if making:
        return " or ".join(making)
    if undoing:
        return undoing[0] if len(undoing) == 1 else f"{' and '.join(undoing)} together"
    return f"unattributed (not measured apart: {', '.join(missing)})" if missing else "interaction"


def _offered(outcome: Outcome) -> bool:
    return outcome.status is not None and outcome.status is not Status.UNSUPPORTED


def _groups(found: Iterable[_Found], dataset: Dataset) -> list[Group]:
    grouped: dict[tuple[Verdict, str | None], list[_Found]] = defaultdict(list)
    for item in found:
        if item.verdict in ORDER:
            signature = item.cell.signature if item.cell and item.verdict not in IMPROVEMENTS else None
            grouped[item.verdict, signature].append(item)
    groups = []
    for (verdict, signature), items in grouped.items():
        identifier = next((item.cell.message_id for item in items if item.cell and signature), None)
        text = dataset.message(identifier) if identifier else None
        groups.append(Group(verdict, signature, text, tuple(item.change for item in items)))
    return sorted(groups, key=lambda group: (ORDER.index(group.verdict), -len(group.changes), group.signature or ""))


def _fix_changes(fixes: Iterable[Entry], grid: _Grid, left: Place, right: Place) -> Iterable[FixChange]:
    for fix in fixes:
        if fix.kind == FixKind.VERSION_UPGRADE.value or fix.caution:
            continue
        words = []
        for place in (left, right):
            plain, fixed = grid.cell(fix.case, PLAIN, place), grid.cell(fix.case, fix.variant, place)
            words.append(workaround(plain.status if plain else None, fixed.status if fixed else None))
        yield FixChange(fix.case, fix.variant, fix.kind, fix.note, *words)


def _moved(found: Iterable[FixChange], before: set[Workaround], after: set[Workaround]) -> tuple[FixChange, ...]:
    return tuple(item for item in found if item.before in before and item.after in after)


def _by_case(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        found[entry.case].append(entry)
    return found


def _counts(verdicts: Iterable[Verdict]) -> dict[str, int]:
    tally = dict.fromkeys((verdict.value for verdict in Verdict), 0)
    for verdict in verdicts:
        tally[verdict.value] += 1
    return {word: count for word, count in tally.items() if count}
