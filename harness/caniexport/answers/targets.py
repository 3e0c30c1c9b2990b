"""What happens at a target to what works at a source: to the cases asked for, or to a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from caniexport import versions
from caniexport.answers.along import Along
from caniexport.answers.filters import Filters
from caniexport.answers.points import MeasuredPoint
from caniexport.answers.select import CaseSelection, CatalogueEntry, Key, Rows, select
from caniexport.answers.torch_operators import OperatorsSummary
from caniexport.answers.touching import ModelStanding, TouchJudge, TouchWord
from caniexport.corpus.verdicts import REGRESSIONS, ComparedCell, Verdict, Workaround, compare, workaround, works
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

    ``lost`` are fixes, needed at the source, of cases that work there neither as they are nor with any fix;
    ``replaced`` are those that stop working too, each with another fix of its case that works there. ``helped`` has one
    fix that works there for each of ``fail`` that has one, and ``fail_by_name`` are those of ``fail`` that work as
    ``by_name`` do. Of a variant that was asked about by name, and its case not, everything is about that variant, which
    is then named ``CASE/VARIANT``.
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
    lost: tuple[str, ...] = ()
    replaced: Mapping[str, str] = field(default_factory=dict)
    helped: tuple[str, ...] = ()
    fail_by_name: tuple[str, ...] = ()

    @property
    def lost_cases(self) -> tuple[str, ...]:
        """The cases that ``lost`` are fixes of."""
        return tuple(dict.fromkeys(split_name(name)[0] for name in self.lost))

    @property
    def stops(self) -> int:
        """How many cases stop working there, as they are or with the fixes that they need."""
        return len(self.breaks) + len(self.lost_cases)

    @property
    def stopping(self) -> tuple[str, ...]:
        """Those of ``fail`` that give no values at either end: they stop with an error."""
        return tuple(case for case in self.fail if case not in (*self.wrong, *self.stopped))

    @property
    def clean(self) -> bool:
        """Whether something was measured to work there, or everything with a fix, and nothing that worked is known to
        stop working.
        """
        if self.model is not None:
            return self.model.word in _CLEAR
        return not self.stops and (self.working > 0 or len(self.helped) == len(self.fail) > 0)

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
        self._forms = [name_of(entry) for entry in asked_forms(selection.catalogue)]
        self._fixes: dict[str, list[str]] = {}
        for entry in sorted(selection.rows.catalogue.values(), key=_ease):
            if entry.variant != PLAIN and not entry.caution and entry.kind != FixKind.VERSION_UPGRADE.value:
                self._fixes.setdefault(entry.case, []).append(entry.variant)
        self._touch = None if model is None else TouchJudge(selection.rows, model, left, self._statuses.at, operators)

    def at(self, place: MeasuredPoint) -> UpgradeTarget:
        """What happens at a place."""
        return self._of_cases(place) if self._touch is None else self._of_model(place, self._touch.at(place))

    def _of_cases(self, place: MeasuredPoint) -> UpgradeTarget:
        ends = [(form, self._at(form, self._left), self._at(form, place)) for form in self._forms]
        known = [end for end in ends if works(end[1]) is not None]
        worse = [end for end in known if compare(*map(ComparedCell, end[1:])) in _BREAKS]
        # arguments that torch took back come last: who upgrades meets them at once
        breaks = sorted((form for form, before, _ in worse if works(before)), key=self._is_about_calling)
        silent = [form for form, before, _ in worse if not works(before)]
        unmeasured = [form for form, _, after in known if works(after) is None]
        fail = [
            form for form, before, after in known if not works(before) and works(after) is False and form not in silent
        ]
        was_wrong = {form: after for form, before, after in known if before is Status.MISMATCH and form in fail}
        mended = [form for form, before, after in known if works(after) and not works(before)]
        target = self._target(place, breaks, mended, fail, unmeasured, len(known) - len(unmeasured), None)
        working = [form for form, before, after in known if works(before) and works(after)]
        stopping = [name for form in (*fail, *silent) for name in self._stopping(form, place)]
        others = {name: self._helped(split_name(name)[0], place) for name in stopping}
        replaced = {name: other for name, other in others.items() if other}
        return replace(
            target,
            silent=tuple(silent),
            by_axes=self._failing_by_axes(working, place),
            wrong=tuple(form for form, after in was_wrong.items() if after is Status.MISMATCH),
            stopped=tuple(form for form, after in was_wrong.items() if after is not Status.MISMATCH),
            lost=tuple(name for name in stopping if name not in replaced),
            replaced=replaced,
            helped=tuple(filter(None, (self._helped(form, place) for form in fail))),
            fail_by_name=tuple(form for form in fail if self._works_by_name(form, place)),
        )

    def _at(self, form: str, place: MeasuredPoint) -> Status | None:
        return self._statuses.at(*split_name(form), place)

    def _stopping(self, form: str, place: MeasuredPoint) -> list[str]:
        """Of a case that works at neither end, the fixes asked about that work at the source and not there."""
        case, variant = split_name(form)
        asked = [fix for fix in self._fixes.get(case, ()) if (case, fix) in self._selection.catalogue]
        moves = {fix: [self._word(case, fix, at) for at in (self._left, place)] for fix in asked if variant == PLAIN}
        return [f"{case}/{fix}" for fix, words in moves.items() if words == [Workaround.NEEDED, Workaround.BROKEN]]

    def _word(self, case: str, fix: str, place: MeasuredPoint) -> Workaround:
        return workaround(self._at(case, place), self._statuses.at(case, fix, place))

    def _is_about_calling(self, form: str) -> bool:
        return self._selection.rows.catalogue[split_name(form)].theme == _CALLING

    def _failing_by_axes(self, forms: Sequence[str], place: MeasuredPoint) -> tuple[str, ...]:
        """Those of the forms that fail by the default call, where a place is called as that is but for the opset."""
        if place.by_default or place.exporter != Exporter.DYNAMO.value or "dynamo" in self._called(place):
            return ()
        own = self._selection.rows.choice(place.torch, place.exporter).opset
        default = replace(place, opset=own, by_default=True)
        return tuple(form for form in forms if works(self._at(form, default)) is False)

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
        chosen = {form: self._fix(form, place) for form in breaks}
        return UpgradeTarget(
            place,
            call(self._selection.rows, place),
            default_since(self._selection.rows, self._left, place),
            tuple(breaks),
            tuple(filter(None, chosen.values())),
            tuple(form for form, fix in chosen.items() if not fix),
            tuple(mended),
            tuple(fail),
            tuple(unmeasured),
            compared,
            model,
            by_name=tuple(form for form in breaks if self._works_by_name(form, place)),
            changing=self._changing(filter(None, chosen.values())),
        )

    def _changing(self, chosen: Iterable[str]) -> dict[str, str]:
        """Of those of the fixes chosen that compute other values that they do."""
        found = {name: self._selection.rows.catalogue[split_name(name)].changed for name in chosen}
        return {name: changed for name, changed in found.items() if changed}

    def _works_by_name(self, form: str, place: MeasuredPoint) -> bool:
        """Whether a form works where the exporter of a default call, dynamo, is named."""
        by_name = replace(place, by_default=False)
        if by_name == place or place.exporter != Exporter.DYNAMO.value:
            return False
        return bool(works(self._at(form, by_name)))

    def _fix(self, form: str, place: MeasuredPoint) -> str | None:
        return next(iter(self._helping(form, place)), None)

    def _helping(self, form: str, place: MeasuredPoint) -> list[str]:
        """What works there in the place of a form, the least to do first: fixes of its case, for a fix the failing form
        too.
        """
        case, variant = split_name(form)
        others = [other for other in (PLAIN, *self._fixes.get(case, ())) if other != variant]
        return [f"{case}/{other}" for other in others if works(self._statuses.at(case, other, place))]

    def _helped(self, form: str, place: MeasuredPoint) -> str | None:
        """One of these, if it can be one that stays with the exporter of the place."""
        known, helping = self._selection.rows.catalogue, self._helping(form, place)
        staying = [name for name in helping if known[split_name(name)].leaves_for in ("", place.exporter)]
        return next(iter(staying or helping), None)


class Statuses:
    """How variants ended, at any place."""

    def __init__(self, selection: CaseSelection) -> None:
        self._selection = selection
        self._along: dict[tuple[str, Runtime | None], Along] = {}
        self._found: dict[tuple[str, str, MeasuredPoint], Status | None] = {}

    def at(self, case: str, variant: str, place: MeasuredPoint) -> Status | None:
        """The status of a variant at a place; ``None`` where it was not measured."""
        key = (case, variant, place)
        if key not in self._found:
            self._found[key] = self._find(case, variant, place)
        return self._found[key]

    def _find(self, case: str, variant: str, place: MeasuredPoint) -> Status | None:
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


def asked_forms(catalogue: Mapping[Key, CatalogueEntry]) -> list[CatalogueEntry]:
    """What is asked about: of each case its failing form, and where that is not among the variants, each of these."""
    entries = [entry for entry in catalogue.values() if entry.corpus != CANARY]
    return [entry for entry in entries if entry.variant == PLAIN or (entry.case, PLAIN) not in catalogue]


def name_of(entry: CatalogueEntry) -> str:
    """``CASE/VARIANT``, of the failing form ``CASE``."""
    return entry.case if entry.variant == PLAIN else f"{entry.case}/{entry.variant}"


def split_name(name: str) -> Key:
    """Case and variant of a name, of a case the failing form."""
    case, _, variant = name.partition("/")
    return case, variant or PLAIN


def _ease(entry: CatalogueEntry) -> tuple[bool, bool, int]:
    """What keeps the values first, of these what a source states, then what asks least."""
    kinds = [kind.value for kind in _EASE]
    return entry.changes_values, not entry.documented, kinds.index(entry.kind) if entry.kind in kinds else len(kinds)
