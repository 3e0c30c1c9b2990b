"""What happens at a target to what works at a source: to the cases asked for, or to a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from caniexport import versions
from caniexport.answers.along import Along
from caniexport.answers.filters import Filters
from caniexport.answers.points import MeasuredPoint
from caniexport.answers.select import CaseSelection, CatalogueEntry, Rows, select
from caniexport.answers.torch_operators import OperatorsSummary
from caniexport.answers.touching import ModelStanding, TouchJudge, TouchWord
from caniexport.corpus.verdicts import REGRESSIONS, ComparedCell, Verdict, compare, works
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
from caniexport.model.status import MEASURED, Exporter, FixKind, Status
from caniexport.store.elsewhere import Runtime
from caniexport.store.onnx_graph import Graph

#: the theme of cases about the arguments of an export
_CALLING = "api-drift"
_BREAKS = REGRESSIONS | {Verdict.WITHDRAWN}
_CLEAR = {TouchWord.WORKS, TouchWord.NOT_TOUCHED}
#: the first release whose torch.onnx.export takes dynamo=
_TAKES_DYNAMO = "2.5"
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
    """A place to go to, and how torch.onnx.export is ``called`` for it where not as by default. ``default_since`` is
    the release since which that default is another exporter than at the source; empty where it is the same.

    ``breaks`` are the cases that stop working there, ``workarounds`` one fix for each that has one, ``without`` those
    that have none; ``mended`` start to work there, ``fail`` work at neither end: of these ``wrong`` give wrong values
    at both, and ``stopped`` stop with an error where they gave wrong values; ``unmeasured`` were not measured there:
    nothing is known of them; ``compared`` counts those that were measured at both ends; ``silent`` fail with an error
    at the source, and with wrong values or a crash there. ``by_name`` are those of ``breaks`` that work where the same
    exporter is named, which takes ``dynamic_shapes`` then; ``by_axes`` are cases that work, and fail by the default
    call of the release, which gives ``dynamic_axes`` to the same exporter at its own opset. ``model`` is what is known
    of the model that was asked about: ``breaks`` are then the known failures that touch it. ``changing`` says of those
    of the workarounds that compute other values that they do.
    """

    place: MeasuredPoint
    called: str
    default_since: str
    breaks: tuple[str, ...]
    workarounds: tuple[str, ...]
    without: tuple[str, ...]
    mended: tuple[str, ...]
    fail: tuple[str, ...]
    unmeasured: tuple[str, ...]
    compared: int
    model: ModelStanding | None = None
    silent: tuple[str, ...] = ()
    by_name: tuple[str, ...] = ()
    by_axes: tuple[str, ...] = ()
    changing: Mapping[str, str] = field(default_factory=dict)
    wrong: tuple[str, ...] = ()
    stopped: tuple[str, ...] = ()

    @property
    def stopping(self) -> tuple[str, ...]:
        """Those of ``fail`` that give no values at either end: they stop with an error."""
        return tuple(case for case in self.fail if case not in (*self.wrong, *self.stopped))

    @property
    def clean(self) -> bool:
        """Whether something was measured to work there, and nothing that worked is known to stop working."""
        if self.model is not None:
            return self.model.word in _CLEAR
        return not self.breaks and self.working > 0

    @property
    def is_thin(self) -> bool:
        """Whether most of what works at the source was not measured there."""
        return len(self.unmeasured) > self.compared

    @property
    def mostly_fails(self) -> bool:
        """Whether more of what was measured works at neither end than works there."""
        return len(self.fail) > self.working

    @property
    def working(self) -> int:
        """How many of the cases that were measured at both ends work there."""
        return self.compared - len(self.breaks) - len(self.fail) - len(self.silent)

    @property
    def is_known(self) -> bool:
        """Whether nothing is known to stop working, and nothing of what was asked about is unknown."""
        if self.model is not None:
            return self.clean and self.model.is_seen and not self.model.may_be_wrong
        return self.clean and not self.is_thin


def other_places(rows: Rows, left: MeasuredPoint, right: MeasuredPoint) -> list[MeasuredPoint]:
    """The target's release called with the exporter of the source, then with the target's own: each at its own opset
    and at the newest that was measured.
    """
    found = []
    for exporter in dict.fromkeys((left.exporter, right.exporter)):
        offered = rows.offers.get((right.torch, exporter), ())
        opsets = (rows.choice(right.torch, exporter).opset, max(offered, default=None))
        found += [_called(right, exporter, opset) for opset in opsets if opset in offered]
    return list(dict.fromkeys(found))


def kept_place(rows: Rows, left: MeasuredPoint, right: MeasuredPoint, pinned: Mapping[str, str]) -> MeasuredPoint:
    """The target, called with the exporter and opset of the source as far as it takes them and none is ``pinned``."""
    exporter = right.exporter if "exporter" in pinned else left.exporter
    offered = rows.offers.get((right.torch, exporter), ())
    if "opset" in pinned:
        opset = right.opset
    else:
        opset = left.opset if left.opset in offered else rows.choice(right.torch, exporter).opset
    return _called(right, exporter, opset)


def _called(place: MeasuredPoint, exporter: str, opset: int | None) -> MeasuredPoint:
    """A place, called with an exporter and opset that are named; itself where it has both."""
    if (exporter, opset) == (place.exporter, place.opset):
        return place
    return replace(place, exporter=exporter, opset=opset, notes=(), by_default=False)


def written_as(rows: Rows, place: MeasuredPoint) -> tuple[tuple[str, int | None], ...]:
    """The exporter and opset of the cells that tell of a place, the most telling first: of a default call it is the
    one that names neither, which gives ``dynamic_axes`` to whatever exporter is the default.
    """
    named = (place.exporter, place.opset)
    own = rows.default_exporters.get(place.torch), rows.choice(place.torch, place.exporter).opset
    return ((Exporter.DEFAULT.value, None), named) if place.by_default and named == own else (named,)


def telling_calls(
    rows: Rows, place: MeasuredPoint, variant: str, plain: Callable[[tuple[str, int | None]], Status | None]
) -> tuple[tuple[str, int | None], ...]:
    """As :func:`written_as`; of a fix only the first, where ``plain``, its failing form, ends otherwise by the others:
    what was not measured by the default call is then not known of it.
    """
    called = written_as(rows, place)
    ends = {works(plain(one)) for one in called} - {None} if variant != PLAIN else set()
    return called[:1] if len(ends) > 1 else called


def default_since(rows: Rows, left: MeasuredPoint, place: MeasuredPoint) -> str:
    """The first release, after the source's, whose default call uses the exporter of such a place."""
    own = rows.default_exporters
    if place.exporter != own.get(place.torch) or own.get(left.torch) == place.exporter:
        return ""
    newer = [torch for torch in rows.torch if versions.parse(torch) > versions.parse(left.torch)]
    return next((torch for torch in newer if own.get(torch) == place.exporter), "")


def call(rows: Rows, place: MeasuredPoint) -> str:
    """The arguments of torch.onnx.export that a default call does not have; empty for a default call."""
    said = []
    if place.exporter == Exporter.SCRIPT.value:
        said.append("a scripted model")
    if place.exporter != rows.default_exporters.get(place.torch, Exporter.TRACE.value):
        dynamo = place.exporter == Exporter.DYNAMO.value
        if versions.parse(place.torch) >= versions.parse(_TAKES_DYNAMO):
            said.append(f"dynamo={dynamo}")
        elif dynamo:
            said.append("torch.onnx.dynamo_export")
    if place.opset is not None and place.opset != rows.choice(place.torch, place.exporter).opset:
        said.append(f"opset_version={place.opset}")
    return ", ".join(said)


class TargetJudge:
    """What is the same for all targets: the cases asked for, or the model, and how they end at the source."""

    def __init__(
        self,
        selection: CaseSelection,
        left: MeasuredPoint,
        model: Graph | None = None,
        operators: OperatorsSummary | None = None,
    ) -> None:
        self._selection = selection
        self._left = left
        self._statuses = Statuses(selection if model is None else select(selection.rows, Filters()))
        entries = [entry for entry in selection.catalogue.values() if entry.corpus != CANARY]
        self._cases = list(dict.fromkeys(entry.case for entry in entries))
        self._fixes: dict[str, list[str]] = {}
        for entry in sorted(entries, key=_ease):
            if entry.variant != PLAIN and not entry.caution and entry.kind != FixKind.VERSION_UPGRADE.value:
                self._fixes.setdefault(entry.case, []).append(entry.variant)
        self._touch = None if model is None else TouchJudge(selection.rows, model, left, self._statuses.at, operators)

    def at(self, place: MeasuredPoint) -> UpgradeTarget:
        """What happens at a place."""
        return self._of_cases(place) if self._touch is None else self._of_model(place, self._touch.at(place))

    def _of_cases(self, place: MeasuredPoint) -> UpgradeTarget:
        ends = [
            (case, self._statuses.at(case, PLAIN, self._left), self._statuses.at(case, PLAIN, place))
            for case in self._cases
        ]
        known = [end for end in ends if works(end[1]) is not None]
        worse = [end for end in known if compare(*map(ComparedCell, end[1:])) in _BREAKS]
        # arguments that torch took back come last: who upgrades meets them at once
        breaks = sorted((case for case, before, _ in worse if works(before)), key=self._is_about_calling)
        silent = [case for case, before, _ in worse if not works(before)]
        unmeasured = [case for case, _, after in known if works(after) is None]
        fail = [
            case for case, before, after in known if not works(before) and works(after) is False and case not in silent
        ]
        was_wrong = {case: after for case, before, after in known if before is Status.MISMATCH and case in fail}
        mended = [case for case, before, after in known if works(after) and not works(before)]
        target = self._target(place, breaks, mended, fail, unmeasured, len(known) - len(unmeasured), None)
        working = [case for case, before, after in known if works(before) and works(after)]
        return replace(
            target,
            silent=tuple(silent),
            by_axes=self._failing_by_axes(working, place),
            wrong=tuple(case for case, after in was_wrong.items() if after is Status.MISMATCH),
            stopped=tuple(case for case, after in was_wrong.items() if after is not Status.MISMATCH),
        )

    def _is_about_calling(self, case: str) -> bool:
        return self._selection.catalogue[case, PLAIN].theme == _CALLING

    def _failing_by_axes(self, cases: Sequence[str], place: MeasuredPoint) -> tuple[str, ...]:
        """Those of the cases that fail by the default call, where a place is called as that is but for the opset."""
        if place.by_default or place.exporter != Exporter.DYNAMO.value or "dynamo" in self._called(place):
            return ()
        own = self._selection.rows.choice(place.torch, place.exporter).opset
        default = replace(place, opset=own, by_default=True)
        return tuple(case for case in cases if works(self._statuses.at(case, PLAIN, default)) is False)

    def _called(self, place: MeasuredPoint) -> str:
        return call(self._selection.rows, place)

    def _of_model(self, place: MeasuredPoint, found: ModelStanding) -> UpgradeTarget:
        named = [touch.case for touch in found.touches]
        equal = [name.partition("/")[0] for name, status in found.equal.items() if not works(status)]
        breaks = list(dict.fromkeys([*equal, *named]))
        return self._target(place, breaks, (), (), (), found.compared, found)

    def _target(
        self,
        place: MeasuredPoint,
        breaks: Sequence[str],
        mended: Sequence[str],
        fail: Sequence[str],
        unmeasured: Sequence[str],
        compared: int,
        model: ModelStanding | None,
    ) -> UpgradeTarget:
        chosen = {case: self._fix(case, place) for case in breaks}
        return UpgradeTarget(
            place,
            call(self._selection.rows, place),
            default_since(self._selection.rows, self._left, place),
            tuple(breaks),
            tuple(f"{case}/{fix}" for case, fix in chosen.items() if fix),
            tuple(case for case, fix in chosen.items() if not fix),
            tuple(mended),
            tuple(fail),
            tuple(unmeasured),
            compared,
            model,
            by_name=tuple(case for case in breaks if self._works_by_name(case, place)),
            changing=self._changing(chosen),
        )

    def _changing(self, chosen: Mapping[str, str | None]) -> dict[str, str]:
        """Of those of the fixes chosen that compute other values that they do."""
        known = self._selection.rows.catalogue
        found = {f"{case}/{fix}": known[case, fix].changed for case, fix in chosen.items() if fix}
        return {name: changed for name, changed in found.items() if changed}

    def _works_by_name(self, case: str, place: MeasuredPoint) -> bool:
        """Whether a case works where the exporter of a default call, dynamo, is named."""
        by_name = replace(place, by_default=False)
        if by_name == place or place.exporter != Exporter.DYNAMO.value:
            return False
        return bool(works(self._statuses.at(case, PLAIN, by_name)))

    def _fix(self, case: str, place: MeasuredPoint) -> str | None:
        fixes = self._fixes.get(case, ())
        return next((fix for fix in fixes if works(self._statuses.at(case, fix, place))), None)


class Statuses:
    """How variants ended, at any place."""

    def __init__(self, selection: CaseSelection) -> None:
        self._selection = selection
        self._along: dict[tuple[str, Runtime | None], Along] = {}

    def at(self, case: str, variant: str, place: MeasuredPoint) -> Status | None:
        """The status of a variant at a place; ``None`` where it was not measured."""
        rows = self._selection.rows.under(place.profile)
        along = self._on(rows, place)

        def end(variant: str, called: tuple[str, int | None]) -> Status | None:
            return along.at(place.torch, called[0], place.provider, case, variant).get(called[1])

        ends = (end(variant, called) for called in telling_calls(rows, place, variant, partial(end, PLAIN)))
        return next((status for status in ends if status in MEASURED), None)

    def _on(self, rows: Rows, place: MeasuredPoint) -> Along:
        """What is known along releases: as installed together where that is the place's runtime, else on that one."""
        own = rows.own_runtimes.get((place.torch, place.provider))
        on = None if own == place.on or not place.runtime else place.on
        key = place.profile, on
        if key not in self._along:
            self._along[key] = Along(replace(self._selection, rows=rows.on(on) if on else rows))
        return self._along[key]


def _ease(entry: CatalogueEntry) -> tuple[bool, bool, int]:
    """What keeps the values first, of these what a source states, then what asks least."""
    kinds = [kind.value for kind in _EASE]
    return entry.changes_values, not entry.documented, kinds.index(entry.kind) if entry.kind in kinds else len(kinds)
