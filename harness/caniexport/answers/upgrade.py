"""From one point to another: what breaks, what is fixed, which workarounds may go or must come, which axis did it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from caniexport.answers.blame import NAMELESS, blame
from caniexport.answers.filters import Filters
from caniexport.answers.model_file import ModelFile
from caniexport.answers.outcomes import cause_line
from caniexport.answers.points import MeasuredPoint, Places
from caniexport.answers.rows import MeasuredCell, compared, told
from caniexport.answers.select import CaseSelection, CatalogueEntry, Rows, load, select
from caniexport.answers.shown import Shown
from caniexport.answers.targets import (
    TargetJudge,
    UpgradeTarget,
    asked_forms,
    kept_place,
    name_of,
    other_places,
    telling_calls,
)
from caniexport.answers.torch_operators import operators_beside
from caniexport.corpus.verdicts import IMPROVEMENTS, REGRESSIONS, ComparedCell, Verdict, Workaround, compare, workaround
from caniexport.home import NEWEST
from caniexport.model.case import PLAIN
from caniexport.model.status import MEASURED, Exporter, FixKind, Status
from caniexport.store.elsewhere import Runtime

if TYPE_CHECKING:
    from caniexport.store import Dataset

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
WORSE = REGRESSIONS | {Verdict.WITHDRAWN}
#: how the cells of an exporter that is named call it
_BY_NAME = "`dynamo=True, opset_version={}`, and dynamic_shapes= in place of dynamic_axes="
_Key = tuple[str, str, str, str, int | None, str, Runtime]


@dataclass(frozen=True)
class CaseChange:
    """One case whose answer differs between the two points; ``axes`` did it (:mod:`caniexport.answers.blame`).

    ``told`` is what the status afterwards leaves out: that repetitions differ, or that onnx's checker refuses the file
    that works. ``named_so`` is how the same exporter is called that it works with there, where the default call fails;
    ``by_default`` whether the cell afterwards is that of the default call. ``changing`` says of those of the ``fixes``
    that compute other values, which are the last, that they do. ``variant`` is another than the failing form where it
    was asked about by name, and its case not.
    """

    case: str
    title: str
    before: Status | None
    after: Status | None
    axes: str
    fixes: tuple[str, ...]
    told: str = ""
    named_so: str = ""
    by_default: bool = False
    changing: Mapping[str, str] = field(default_factory=dict)
    variant: str = PLAIN

    @property
    def name(self) -> str:
        """``CASE/VARIANT``, of the failing form ``CASE``."""
        return self.case if self.variant == PLAIN else f"{self.case}/{self.variant}"

    @property
    def told_fixes(self) -> tuple[str, ...]:
        """The fixes, those that compute other values with what they do."""
        return tuple(f"{name}, which {self.changing[name]}" if name in self.changing else name for name in self.fixes)

    @property
    def blamed(self) -> str:
        """``cause: exporter``; what is known where no axis is named."""
        return self.axes if self.axes.startswith(NAMELESS) else f"cause: {self.axes}"


@dataclass(frozen=True)
class ChangeGroup:
    """Changes of one verdict with one signature afterwards; ``message`` is the text of one of them."""

    verdict: Verdict
    signature: str | None
    message: str | None
    changes: tuple[CaseChange, ...]

    @property
    def cause(self) -> str:
        """The line of the message that says why: of a chain of causes the innermost's first, without what wraps it."""
        return cause_line(self.message or "")


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
class WayChanges:
    """What changes by one way of calling a release. ``drop``, ``keep``, ``add`` and ``lost`` are workarounds;
    ``counts`` has every verdict's number. ``refused`` are cases that work there while onnx's checker refuses their
    file, ``unstable`` those whose repetitions differ at one of the two points.
    """

    groups: tuple[ChangeGroup, ...]
    drop: tuple[FixChange, ...]
    keep: tuple[FixChange, ...]
    add: tuple[FixChange, ...]
    lost: tuple[FixChange, ...]
    counts: Mapping[str, int]
    refused: tuple[str, ...] = ()
    unstable: tuple[str, ...] = ()


@dataclass(frozen=True)
class Upgrade(WayChanges, Shown):
    """The answer: what changes at the second point, as :class:`WayChanges` has it, and by further ways of calling it.

    ``unknown`` are the cases that were not measured at one of the two points, ``unmeasured_before`` those of them that
    were not at the first. ``target`` is the second point in short, ``kept`` its release called with the exporter and
    opset of the first, ``None`` where that is the second point; ``kept_changes`` is what changes by that way. ``stay``
    is the first point with the newest packages beside the same torch, ``None`` where it has them or the second point is
    that. ``other`` is a further way of calling the second point's release, by which nothing breaks and more works than
    by those of these two that break nothing, and ``other_changes`` what changes by it; ``None`` where there is none.
    ``file_refused`` are sentences about runtimes at the two points that refuse a model's file as it lies there.
    """

    before: MeasuredPoint = field(kw_only=True)
    after: MeasuredPoint = field(kw_only=True)
    target: UpgradeTarget = field(kw_only=True)
    kept: UpgradeTarget | None = field(kw_only=True)
    unknown: tuple[str, ...] = ()
    unmeasured_before: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    stay: UpgradeTarget | None = None
    kept_changes: WayChanges | None = None
    other: UpgradeTarget | None = None
    other_changes: WayChanges | None = None
    file_refused: tuple[str, ...] = ()

    def changes_by(self, way: UpgradeTarget) -> WayChanges:
        """What changes by one of its ways of calling the release."""
        further = ((self.kept, self.kept_changes), (self.other, self.other_changes))
        return next((found for one, found in further if one and found and one.place == way.place), self)

    @property
    def is_one_place(self) -> bool:
        """Whether the same measured cells answer for both points, and not a model's own."""
        return self.target.model is None and self.before.is_same(self.after)

    @property
    def is_told_apart(self) -> bool:
        """Whether the two points are the same as asked, where the same measured cells answer for both."""
        return not self.is_one_place or self.before.limits == self.after.limits

    @property
    def breaks(self) -> bool:
        """Whether something that worked does not work afterwards, as it is or with the fix that it needs, or nothing
        was measured that tells; of a model, whether it is not known to be spared.
        """
        if self.target.model is not None:
            return not self.target.is_known
        if not self.is_told_apart:
            return True
        is_worse = any(group.verdict in WORSE for group in self.groups)
        return not self.target.compared or is_worse or bool(self.target.lost)


def upgrade(
    dataset: Dataset,
    before: Mapping[str, str],
    after: Mapping[str, str],
    filters: Filters,
    model: ModelFile | None = None,
) -> Upgrade:
    """What changes between two points for the failing forms in the filters, and for their fixes.

    ``before`` and ``after`` are what :func:`caniexport.answers.points.parse` gives. With the file of a ``model`` the
    cases are those that touch it or may. Raises :class:`UnknownName`.
    """
    rows = load(dataset)
    selection = select(rows, replace(filters, torch=(), opsets=(), exporters=(), providers=(), statuses=()))
    places = Places(rows)
    left, right = places.fill(before), places.fill(after)
    judge = TargetJudge(selection, left, model.graph if model else None, operators_beside(dataset))
    target = judge.at(right)
    beside_it = kept_place(rows, left, right, after)
    kept = judge.at(beside_it) if beside_it != right else None
    newest = _with_newest_packages(places, left)
    stay = judge.at(newest) if newest is not None and right.torch != left.torch else None
    if model is not None:
        touched = _touched(target) | (_touched(kept) if kept else set())
        cases = {key: entry for key, entry in selection.catalogue.items() if entry.case in touched}
        selection = replace(selection, catalogue=cases)
    is_open = model is None and not {"opset", "exporter"} & set(after)
    other = _other(rows, judge, left, [target, kept]) if is_open else None
    grid = _grid_of(rows, selection, left, [right, *(way.place for way in (kept, other) if way)])
    beside = {cell.case for cell in rows.environment}
    every = asked_forms(selection.catalogue)
    forms = [entry for entry in every if entry.case not in beside]
    fixes = _by_case(entry for key, entry in selection.catalogue.items() if key[1] != PLAIN)
    by = partial(_way_changes, dataset.of(right.profile), forms, fixes, grid, left)
    return Upgrade(
        **vars(by(right)),
        before=left,
        after=right,
        target=target,
        kept=kept,
        unknown=tuple(name_of(entry) for entry in forms if grid.unmeasured(entry, left, right)),
        unmeasured_before=tuple(name_of(entry) for entry in forms if grid.unmeasured(entry, left)),
        notes=_notes(left, right, len(every) - len(forms)),
        stay=stay,
        kept_changes=by(kept.place) if kept else None,
        other=other,
        other_changes=by(other.place) if other else None,
        file_refused=() if model is None else model.refused_on(rows, (left, right)),
    )


def _way_changes(
    dataset: Dataset,
    forms: Sequence[CatalogueEntry],
    fixes: Mapping[str, Sequence[CatalogueEntry]],
    grid: _Grid,
    left: MeasuredPoint,
    right: MeasuredPoint,
) -> WayChanges:
    """What changes between two points for these forms, and for the fixes of their cases; messages are the dataset's."""
    changes = _changes(forms, grid, left, right)
    cases = dict.fromkeys(entry.case for entry in forms)
    moved = [item for case in cases for item in _fix_changes(fixes.get(case, ()), grid, left, right)]
    return WayChanges(
        tuple(_groups(changes, dataset)),
        _moved(moved, {Workaround.NEEDED}, {Workaround.OBSOLETE, Workaround.HARMFUL}),
        _moved(moved, {Workaround.NEEDED}, {Workaround.NEEDED}),
        _moved(moved, {Workaround.OBSOLETE, Workaround.HARMFUL}, {Workaround.NEEDED}),
        _moved(moved, {Workaround.NEEDED}, {Workaround.BROKEN}),
        _counts(item.verdict for item in changes),
        tuple(name_of(entry) for entry in forms if grid.refused(entry, right)),
        tuple(name_of(entry) for entry in forms if grid.unstable(entry, left, right)),
    )


def _other(
    rows: Rows, judge: TargetJudge, left: MeasuredPoint, ways: Sequence[UpgradeTarget | None]
) -> UpgradeTarget | None:
    """The way of calling a release by which nothing breaks and most works, where it is none of ``ways`` and better."""
    known = {way.place: way for way in ways if way is not None}
    right = next(iter(known))
    found = [judge.at(place) for place in other_places(rows, left, right) if place not in known]
    clean = [way for way in found if way.clean and not way.silent]
    best = max(clean, key=lambda way: way.working, default=None)
    enough = max((way.working for way in known.values() if way.clean), default=0)
    return best if best is not None and best.working > enough else None


def _grid_of(rows: Rows, selection: CaseSelection, left: MeasuredPoint, targets: Sequence[MeasuredPoint]) -> _Grid:
    """The cells where a way begins and at its targets, and wherever only some of what differs there is moved."""
    around = set().union(*(_surroundings(rows, left, right) for right in targets))
    return _Grid(rows, {at: _around(_rows_at(rows, *at), selection, [left, *targets]) for at in around})


def _changes(
    entries: Iterable[CatalogueEntry], grid: _Grid, left: MeasuredPoint, right: MeasuredPoint
) -> list[_ChangesFound]:
    """What becomes of each form."""
    found = []
    for entry in entries:
        verdict = compare(*(grid.outcome(entry.case, entry.variant, place) for place in (left, right)))
        found.append(_change(entry, verdict, grid, left, right))
    return found


def _with_newest_packages(places: Places, place: MeasuredPoint) -> MeasuredPoint | None:
    """The same torch, exporter and opset with the newest packages beside it; ``None`` where it has them."""
    if place.profile == NEWEST:
        return None
    opset = "default" if place.opset is None else str(place.opset)
    named = {} if place.by_default else {"exporter": place.exporter, "opset": opset}
    return places.fill({"torch": place.torch, "profile": NEWEST, **named})


def _touched(target: UpgradeTarget) -> set[str]:
    """The cases that touch a model, or may, or have its graph."""
    found = target.model
    assert found is not None
    named = {touch.case for touch in (*found.touches, *found.may_touch, *found.may_be_wrong)}
    return named | {name.partition("/")[0] for name in found.equal}


def _notes(left: MeasuredPoint, right: MeasuredPoint, installing: int) -> tuple[str, ...]:
    said = [left.assumed, right.assumed]
    if installing:
        said.append(f"left out, about what can be installed and not about exporting: {installing}")
    return tuple(dict.fromkeys(filter(None, said)))


def _surroundings(rows: Rows, left: MeasuredPoint, right: MeasuredPoint) -> set[tuple[str, Runtime]]:
    """Profile and runtime at the two points, and wherever only some of packages, runtime and provider are moved."""
    runtimes = {place.on for place in (left, right, left.moved(right, ["runtime"]), right.moved(left, ["runtime"]))}
    profiles = {left.profile, right.profile}
    if len(profiles) > 1:
        measured = {item.profile for item in rows.installed}
        profiles |= {place.profile for place in right.swaps(left).values() if place.profile in measured}
    return {(profile, runtime) for profile in profiles for runtime in runtimes}


def _rows_at(rows: Rows, profile: str, runtime: Runtime) -> Rows:
    return rows.under(profile).on(runtime)


def _around(rows: Rows, selection: CaseSelection, places: Sequence[MeasuredPoint]) -> list[MeasuredCell]:
    """The cells, on one runtime, at some points and wherever only some axes are moved."""
    where = {axis: {getattr(place, axis) for place in places} for axis in ("torch", "opset", "exporter")}
    if any(place.by_default for place in places):
        where["exporter"] |= {Exporter.DEFAULT.value}
        where["opset"] |= {None}
    if "case" in selection.where():
        where["case"] = {case for case, _ in selection.catalogue}
    return rows.cells(**where)


class _Grid:
    """Cells by everything that places them; one whose file was not run at a place is not there."""

    def __init__(self, rows: Rows, measured: Mapping[tuple[str, Runtime], Iterable[MeasuredCell]]) -> None:
        self._rows = rows
        self._variants = _by_case(rows.catalogue.values())
        self._cells: dict[_Key, MeasuredCell] = {
            (cell.case, cell.variant, cell.torch, cell.exporter, cell.opset, *surroundings): cell
            for surroundings, cells in measured.items()
            for cell in cells
            if cell.status in MEASURED
        }
        self._told: dict[tuple[str, str, MeasuredPoint], MeasuredCell | None] = {}

    def cell(self, case: str, variant: str, place: MeasuredPoint) -> MeasuredCell | None:
        """The cell that tells of a variant at a place."""
        key = (case, variant, place)
        if key not in self._told:
            self._told[key] = self._find(case, variant, place)
        return self._told[key]

    def _find(self, case: str, variant: str, place: MeasuredPoint) -> MeasuredCell | None:
        def found(variant: str, called: tuple[str, int | None]) -> MeasuredCell | None:
            return self._cells.get((case, variant, place.torch, *called, place.profile, place.on))

        def plain(called: tuple[str, int | None]) -> Status | None:
            cell = found(PLAIN, called)
            return cell.status if cell else None

        called = telling_calls(self._rows, place, variant, plain)
        return next(filter(None, (found(variant, one) for one in called)), None)

    def outcome(self, case: str, variant: str, place: MeasuredPoint) -> ComparedCell:
        return compared(self.cell(case, variant, place))

    def unmeasured(self, entry: CatalogueEntry, *places: MeasuredPoint) -> bool:
        return any(self.cell(entry.case, entry.variant, place) is None for place in places)

    def refused(self, entry: CatalogueEntry, place: MeasuredPoint) -> bool:
        """Whether a form works there, and onnx's checker refuses its file."""
        cell = self.cell(entry.case, entry.variant, place)
        return cell is not None and cell.works and cell.refused

    def unstable(self, entry: CatalogueEntry, *places: MeasuredPoint) -> bool:
        cells = (self.cell(entry.case, entry.variant, place) for place in places)
        return any(cell is not None and cell.unstable for cell in cells)

    def helping(self, entry: CatalogueEntry, place: MeasuredPoint) -> dict[str, str]:
        """The other variants of a form's case that work there, with what is changed by those that change values."""
        others = [other for other in self._variants.get(entry.case, ()) if other.variant != entry.variant]
        works = [other for other in others if not other.caution and _works(self.cell(other.case, other.variant, place))]
        return {f"{other.case}/{other.variant}": other.changed for other in works}


@dataclass(frozen=True)
class _ChangesFound:
    verdict: Verdict
    change: CaseChange
    cell: MeasuredCell | None


def _change(
    entry: CatalogueEntry,
    verdict: Verdict,
    grid: _Grid,
    left: MeasuredPoint,
    right: MeasuredPoint,
) -> _ChangesFound:
    before, after = (grid.cell(entry.case, entry.variant, place) for place in (left, right))
    named_so = _named_so(entry, grid, right) if verdict in WORSE else ""
    axes = "exporter" if named_so else ""
    if verdict in ORDER and not named_so:
        axes = blame(verdict, left, right, partial(grid.outcome, entry.case, entry.variant))
    helping = grid.helping(entry, right) if verdict in WORSE else {}
    return _ChangesFound(
        verdict,
        CaseChange(
            entry.case,
            entry.title,
            before.status if before else None,
            after.status if after else None,
            axes,
            tuple(helping),
            told(after) if after and (after.unstable or after.works) else "",
            named_so,
            after is not None and after.exporter == Exporter.DEFAULT.value,
            {name: changed for name, changed in helping.items() if changed},
            entry.variant,
        ),
        after,
    )


def _named_so(entry: CatalogueEntry, grid: _Grid, place: MeasuredPoint) -> str:
    """How the exporter of a default call that fails is called by its name, where that works."""
    by_name = replace(place, by_default=False)
    if place == by_name or place.exporter != Exporter.DYNAMO.value:
        return ""
    here, so = (_works(grid.cell(entry.case, entry.variant, at)) for at in (place, by_name))
    return _BY_NAME.format(place.opset) if so and not here else ""


def _works(cell: MeasuredCell | None) -> bool:
    return cell is not None and cell.works


def _groups(found: Iterable[_ChangesFound], dataset: Dataset) -> list[ChangeGroup]:
    grouped: dict[tuple[Verdict, str | None], list[_ChangesFound]] = defaultdict(list)
    for item in found:
        if item.verdict in ORDER:
            signature = item.cell.signature if item.cell and item.verdict not in IMPROVEMENTS else None
            grouped[item.verdict, signature].append(item)
    ids = {
        key: next((item.cell.message_id for item in items if item.cell and key[1]), None)
        for key, items in grouped.items()
    }
    texts = dataset.messages(ids.values())
    groups = [
        ChangeGroup(*key, texts.get(ids[key] or ""), tuple(item.change for item in items))
        for key, items in grouped.items()
    ]
    return sorted(groups, key=lambda group: (ORDER.index(group.verdict), -len(group.changes), group.signature or ""))


def _fix_changes(
    fixes: Iterable[CatalogueEntry], grid: _Grid, left: MeasuredPoint, right: MeasuredPoint
) -> Iterable[FixChange]:
    for fix in fixes:
        if fix.kind == FixKind.VERSION_UPGRADE.value or fix.caution:
            continue
        words = []
        for place in (left, right):
            plain, fixed = grid.cell(fix.case, PLAIN, place), grid.cell(fix.case, fix.variant, place)
            words.append(workaround(plain.status if plain else None, fixed.status if fixed else None))
        yield FixChange(fix.case, fix.variant, fix.kind, fix.told, *words)


def _moved(found: Iterable[FixChange], before: set[Workaround], after: set[Workaround]) -> tuple[FixChange, ...]:
    return tuple(item for item in found if item.before in before and item.after in after)


def _by_case(entries: Iterable[CatalogueEntry]) -> dict[str, list[CatalogueEntry]]:
    found: dict[str, list[CatalogueEntry]] = defaultdict(list)
    for entry in entries:
        found[entry.case].append(entry)
    return found


def _counts(verdicts: Iterable[Verdict]) -> dict[str, int]:
    tally = dict.fromkeys((verdict.value for verdict in Verdict), 0)
    for verdict in verdicts:
        tally[verdict.value] += 1
    return {word: count for word, count in tally.items() if count}
