"""Cases of the corpus that fail as a user's model does, and what their fixes are worth where it fails."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from caniexport import versions
from caniexport.answers.reading import Rows, load
from caniexport.answers.rows import MeasuredCell
from caniexport.check.judged import CaseAt, FixAt, judge_case
from caniexport.corpus.verdicts import Workaround
from caniexport.match.errors import SURE, ErrorIndex, Lead, Shares, match_error
from caniexport.match.parse import read_error
from caniexport.model.case import PLAIN
from caniexport.model.status import WORKS, Exporter, FixKind, Stage, Status
from caniexport.operators import operator_key
from caniexport.store import Dataset

#: cases named for one failure
_MOST = 3
#: onnxruntime's words for a file whose opset it does not know
_OPSET_TOO_NEW = "official released onnx opset"
#: before the exporter has seen the model, its errors are its own
_OWN = (Stage.RESOLVE.value, Stage.IMPORT.value, Stage.EAGER.value)
#: in the code of a fix that names axes that vary
_DYNAMIC = re.compile(r"\bdynamic=|\bdynamic_(?:shapes|axes)\b")
_TRACER = "TracerWarning:"
_ATEN = "aten::"
#: what wrong values share with those of a case
_WARNED = "wrong values, with a warning like this one"
_WARNED_TOO = "a warning like this one"
_TYPED = "wrong values, of the same type in the place of the same"
#: the two types that a mismatch names
_TYPES = re.compile(r"dtype \w+ expected, \w+ gave \w+")


@dataclass(frozen=True)
class Match:
    """A case that fails alike. ``why`` says in what; ``status`` is its failing form's at the point, ``torch`` the
    measured release that is used for it: the model's own, or the nearest older one.
    """

    case: str
    title: str
    why: str
    torch: str
    status: Status | None
    fixes: tuple[FixAt, ...] = ()


@dataclass(frozen=True)
class FailurePoint:
    """Where a model fails, and with which words; ``opset`` is ``None`` for the default call. ``as_exported`` says of
    wrong values that the very inputs of the export have them, ``resized`` of an error that only inputs of another size
    have it, ``varies`` that axes of the model's inputs are named dynamic; ``calls`` are the keys of the operators that
    the model calls, empty where that is not known.
    """

    torch: str
    exporter: str
    opset: int | None
    stage: str
    status: Status
    message: str
    warnings: str = ""
    as_exported: bool = False
    resized: bool = False
    varies: bool = False
    calls: frozenset[str] = frozenset()

    @property
    def evidence(self) -> str:
        """What tells of the cause: the error; wrong values have none, but the exporter's warnings may say why. So may
        they of an error that a size has: where it shows says nothing of what fixed the size.

        What the tracer fixed is right for the inputs that it saw: where these give wrong values, its warnings say
        nothing.
        """
        if self.status is not Status.MISMATCH and not self.resized:
            return self.message
        lines = self.warnings.splitlines()
        return "\n".join(line for line in lines if not (self.as_exported and line.startswith(_TRACER)))

    @property
    def too_new(self) -> bool:
        """Whether the runtime refused the opset: that says nothing about the model."""
        return _OPSET_TOO_NEW in self.message

    @property
    def operator(self) -> str:
        """The operator that the message names; empty for none."""
        return failing_operator(self.message)


def failing_operator(text: str) -> str:
    """``aten::grid_sampler``, ``Resize``; empty where the text names none."""
    return read_error(text).operator


@dataclass(frozen=True)
class Corpus:
    """The published dataset as matching reads it."""

    dataset: Dataset = field(repr=False)

    def matches(self, point: FailurePoint, own: Sequence[MeasuredCell] = ()) -> tuple[Match, ...]:
        """At most three cases that fail alike, the surest first, and there the most helpful fixes.

        ``own`` are the model's own cells: a fix that is another exporter or opset is held against them.
        """
        if point.stage in _OWN or point.too_new or not self._rows.torch:
            return ()
        found = [(lead, why, self._judged(lead, point, own)) for lead, why in self._leads(point)]
        kept = [(lead, why, at) for lead, why, at in found if at is not None and _fits(lead, at, point)]
        ranked = sorted(kept, key=lambda item: _rank(item[0], item[2]))
        return tuple(
            Match(lead.case, at.entry.title, why, at.torch, at.status, at.fixes) for lead, why, at in ranked[:_MOST]
        )

    @cached_property
    def _rows(self) -> Rows:
        return load(self.dataset)

    @cached_property
    def _index(self) -> ErrorIndex:
        return ErrorIndex.of(self.dataset)

    def _leads(self, point: FailurePoint) -> Iterator[tuple[Lead, str]]:
        """Cases with alike errors, and in what; of wrong values those with alike warnings, and the same wrong type."""
        if point.status is Status.MISMATCH:
            yield from self._of_one_type(point)
            yield from ((lead, _WARNED) for lead in self._of_errors(point))
        elif point.resized:
            yield from ((lead, _WARNED_TOO) for lead in self._of_errors(point))
        else:
            yield from ((lead, _shared(lead)) for lead in self._of_errors(point))

    def _of_one_type(self, point: FailurePoint) -> Iterator[tuple[Lead, str]]:
        """Cases of which the same exporter's file gives the same type in the place of the same."""
        types = _TYPES.search(point.message)
        if types is None:
            return
        where = {"status": (Status.MISMATCH.value,), "variant": (PLAIN,), "exporter": (point.exporter,)}
        rows = self.dataset.select(("case", "message_id"), where)
        texts = self.dataset.messages({message for _, message in rows})
        found = {case for case, message in rows if types[0] in texts.get(message, "")}
        for case in sorted(found):
            yield Lead(case, Shares.OPERATOR, 0.0), _TYPED

    def _of_errors(self, point: FailurePoint) -> Iterator[Lead]:
        fails = failing_operator(point.evidence)
        for lead in match_error(self._index, point.evidence).leads:
            # an operator that is named, and a case that only reads alike, or is about another one, have nothing to do
            # with each other
            is_other = lead.shares is Shares.OPERATOR and not (fails and lead.operator == fails)
            if not (is_other or (fails and lead.shares is Shares.WORDS)):
                yield lead

    def _judged(self, lead: Lead, point: FailurePoint, own: Sequence[MeasuredCell]) -> CaseAt | None:
        """The case at the point; ``None`` where nothing but axes named dynamic helps it, and the model's are."""
        at = judge_case(self._rows, lead.case, point.torch, point.exporter, point.opset)
        written_by = at.exporter
        if at.exporter == Exporter.DEFAULT.value:
            written_by = self._rows.default_exporters.get(at.torch, Exporter.TRACE.value)
        offered = [fix for fix in at.fixes if not (point.varies and _names_axes(fix))]
        if at.fixes and not offered:
            return None
        seen = (self._with_more_told(fix, at, written_by) for fix in offered)
        return replace(at, fixes=tuple(_held_against(fix, at, written_by, own) for fix in seen))

    def _with_more_told(self, fix: FixAt, at: CaseAt, written_by: str) -> FixAt:
        """Of a fix that goes to another exporter or opset whether that is all it does."""
        exporter, opset = fix.exporter or written_by, fix.opset or at.opset
        moves = exporter != written_by or fix.kind == FixKind.RAISE_OPSET.value
        if not moves or fix.word is not Workaround.NEEDED:
            return fix
        place = {"case": (at.entry.case,), "torch": (at.torch,), "exporter": (exporter,)}
        there = _own_cells(self._rows.cells(variant=(PLAIN,), provider=("cpu",), **place), opset)
        return replace(fix, does_more=bool(there) and not any(cell.works for cell in there))


def _fits(lead: Lead, at: CaseAt, point: FailurePoint) -> bool:
    """Whether a case says something about the point: wrong values for wrong values, and where no cause is shared, a
    failure; of the same operator one at the same stage. One that works at the very release explains nothing there.
    """
    is_by_file = point.status is Status.MISMATCH or (point.stage != Stage.EXPORT.value and point.operator)
    if is_by_file and not _calls_its_operator(at, point):
        return False
    if point.status is Status.MISMATCH:
        return at.status is Status.MISMATCH
    if at.works and at.torch == point.torch:
        return False
    fails = at.status is not None and at.status not in WORKS
    alike = lead.shares is not Shares.OPERATOR or at.stage == point.stage
    return lead.shares in SURE or (fails and alike)


def _calls_its_operator(at: CaseAt, point: FailurePoint) -> bool:
    """Whether the model calls the operator that a case is about, the first that it names, as far as that is known.

    An exporter names torch's own; a file fails in the names of ONNX, into which many of torch's are written. Where no
    operator is named, the case may be about the call, and what its model calls is no matter.
    """
    its = [name for name in at.entry.ops if "::" in name]
    is_known = bool(its and point.calls) and all(name.startswith(_ATEN) for name in its)
    return not is_known or operator_key(its[0]) in point.calls


def _names_axes(fix: FixAt) -> bool:
    """Whether a fix only names axes that vary: of a model that has some these axes are the case's, not the model's."""
    return fix.kind == FixKind.EXPORT_OPTION.value and bool(_DYNAMIC.search(fix.code))


def _rank(lead: Lead, at: CaseAt) -> tuple[object, ...]:
    """Of cases with the very same error the one that helps most leads; of others the most alike that helps at all."""
    helping = len(at.helping) if lead.shares in SURE else bool(at.helping)
    return list(Shares).index(lead.shares), -helping, -lead.score


def _shared(lead: Lead) -> str:
    """What a case shares with an error; of an operator which one."""
    return f"{lead.shares}, {lead.operator}" if lead.shares is Shares.OPERATOR else lead.shares.value


def _held_against(fix: FixAt, at: CaseAt, written_by: str, own: Iterable[MeasuredCell]) -> FixAt:
    """A fix that is another exporter or opset than those of the point says what the model's own cells do there.

    They say nothing about one that rewrites the model, there too, nor about an option of the same exporter,
    ``written_by``.
    """
    exporter, opset = fix.exporter or written_by, fix.opset or at.opset
    if fix.does_more:
        return fix
    if exporter == written_by and (fix.kind != FixKind.RAISE_OPSET.value or opset == at.opset):
        return fix
    there = _own_cells([cell for cell in own if cell.exporter == exporter], opset)
    if not there or any(cell.works for cell in there):
        return fix
    opsets = " and ".join(dict.fromkeys(versions.opset_name(cell.opset) for cell in there))
    return replace(fix, refuted=f"{exporter}, {opsets}: {there[0].status.value} for this model")


def _own_cells(cells: Sequence[MeasuredCell], opset: int | None) -> list[MeasuredCell]:
    """The model's cell at an opset; where it was not measured, its neighbours on both sides."""
    there = [cell for cell in cells if opset in (cell.opset, cell.opset_effective)]
    if there or opset is None:
        return there
    ordered = sorted((cell for cell in cells if cell.opset is not None), key=lambda cell: cell.opset or 0)
    below = [cell for cell in ordered if (cell.opset or 0) < opset][-1:]
    above = [cell for cell in ordered if (cell.opset or 0) > opset][:1]
    return [*below, *above] if below and above else []
