"""Cases of the corpus that fail as a user's model does, and what their fixes are worth where it fails."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from caniexport import versions
from caniexport.answers import search
from caniexport.answers.select import CatalogueEntry, Rows, load
from caniexport.answers.words import words
from caniexport.check.operators import failing_operator
from caniexport.corpus.verdicts import Workaround
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
from caniexport.model.status import WORKS, Stage, Status
from caniexport.operators import operator_key

if TYPE_CHECKING:
    from caniexport.store import Dataset

#: cases named for one failure
_MOST = 3
#: cases that are looked at for it
_LOOKED_AT = 24
#: how a search says that an error is alike
_ERROR = "error"
#: onnxruntime's words for a file whose opset it does not know
_OPSET_TOO_NEW = "official released onnx opset"
#: share of an error's words that must be alike where no operator is named
_LIKE = 0.8
_SENTENCE = re.compile(r"TracerWarning: ([^.]{20,}?)[.,]")
#: before the exporter has seen the model, its errors are its own
_OWN = (Stage.RESOLVE.value, Stage.IMPORT.value, Stage.EAGER.value)


@dataclass(frozen=True)
class FixWord:
    """A fix of a case, and what it is worth at a point: ``caution`` marks one that is known to be wrong."""

    variant: str
    kind: str
    note: str
    caution: bool
    word: Workaround


@dataclass(frozen=True)
class Match:
    """A case that fails alike. ``why`` says in what; ``status`` is its failing form's at the point, ``torch`` the
    measured release that speaks for it: the model's own, or the nearest older one.
    """

    case: str
    title: str
    why: str
    torch: str
    status: Status | None
    fixes: tuple[FixWord, ...] = ()


@dataclass(frozen=True)
class FailurePoint:
    """Where a model fails, and with which words; ``opset`` is ``None`` for the bare call."""

    torch: str
    exporter: str
    opset: int | None
    stage: str
    status: Status
    message: str
    warnings: str = ""

    @property
    def too_new(self) -> bool:
        """Whether the runtime refused the opset: that says nothing about the model."""
        return _OPSET_TOO_NEW in self.message

    @property
    def operator(self) -> str:
        """The operator that the message names; empty for none."""
        return failing_operator(self.message)


@dataclass(frozen=True)
class Corpus:
    """The published dataset as matching reads it."""

    dataset: Dataset = field(repr=False)

    def matches(self, point: FailurePoint) -> tuple[Match, ...]:
        """At most three cases that fail alike: those with the same error first, and there the most helpful fixes."""
        if point.stage in _OWN or point.too_new or not self._rows.torch:
            return ()
        torch = _nearest(point.torch, self._rows.torch)
        statuses = self._statuses(torch, point)
        found: dict[str, str] = {}
        for case, why in self._alike(point, torch, statuses):
            found.setdefault(case, why)
        looked = [self._match(case, why, torch, point, statuses) for case, why in list(found.items())[:_LOOKED_AT]]
        return tuple(sorted(looked, key=self._rank)[:_MOST])

    def _rank(self, match: Match) -> tuple[object, ...]:
        helping = sum(fix.word is Workaround.NEEDED and not fix.caution for fix in match.fixes)
        return not match.why.endswith(_ERROR), -helping, len(self._rows.catalogue[match.case, PLAIN].ops)

    @cached_property
    def _rows(self) -> Rows:
        return load(self.dataset)

    @cached_property
    def _index(self) -> search.Index:
        return search.index(self.dataset)

    def _statuses(self, torch: str, point: FailurePoint) -> Mapping[str, Status]:
        """By case: the failing form's status at the point."""
        cells = self._rows.cells(
            torch=(torch,), exporter=(point.exporter,), opset=(point.opset,), variant=(PLAIN,), provider=("cpu",)
        )
        return {cell.case: cell.status for cell in cells}

    def _alike(self, point: FailurePoint, torch: str, statuses: Mapping[str, Status]) -> Iterator[tuple[str, str]]:
        """Cases with the same error, then those with the same operator, then those with the same warning."""
        if point.status is not Status.MISMATCH:
            yield from self._same_error(point)
            yield from self._same_operator(point.operator, statuses)
        else:
            yield from self._same_warning(point, torch, statuses)

    def _same_error(self, point: FailurePoint) -> Iterator[tuple[str, str]]:
        found = search.find(self._index, point.message)
        for hit in found.hits if found.error else ():
            if point.operator:
                # the words of «the operator … is not supported» are the same for every operator
                if _same(failing_operator(hit.text), point.operator):
                    yield hit.entry.case, hit.why
            elif hit.like >= _LIKE:
                yield hit.entry.case, hit.why

    def _same_operator(self, operator: str, statuses: Mapping[str, Status]) -> Iterator[tuple[str, str]]:
        if not operator:
            return
        for (case, variant), entry in self._rows.catalogue.items():
            failing = case in statuses and statuses[case] not in WORKS
            if variant == PLAIN and failing and any(_same(op, operator) for op in entry.ops):
                yield case, f"the same operator, {operator}"

    def _same_warning(
        self, point: FailurePoint, torch: str, statuses: Mapping[str, Status]
    ) -> Iterator[tuple[str, str]]:
        """Wrong values carry no error; what the tracer warned of while it wrote the file may say why."""
        mine = sentences(point.warnings)
        if not mine:
            return
        where = {"torch": (torch,), "exporter": (point.exporter,), "opset": (point.opset,), "variant": (PLAIN,)}
        rows = self.dataset.select(("case", "warning_id"), where)
        texts = self.dataset.messages(warning for _, warning in rows)
        for case, warning in rows:
            shared = mine & sentences(texts.get(warning or "", ""))
            if shared and statuses.get(case) is Status.MISMATCH and not case.startswith(CANARY):
                yield case, f"wrong values with the same warning: {min(shared)}"

    def _match(self, case: str, why: str, torch: str, point: FailurePoint, statuses: Mapping[str, Status]) -> Match:
        entries = [entry for (name, _), entry in self._rows.catalogue.items() if name == case]
        fixes = [entry for entry in entries if entry.variant != PLAIN]
        title = next((entry.title for entry in entries if entry.variant == PLAIN), "")
        return Match(case, title, why, torch, statuses.get(case), tuple(self._fixes(case, fixes, torch, point)))

    def _fixes(self, case: str, fixes: Sequence[CatalogueEntry], torch: str, point: FailurePoint) -> list[FixWord]:
        cells = self._rows.cells(case=(case,), provider=("cpu",), exporter=(point.exporter,))
        told = words(cells, fixes, self._rows, point.exporter, point.opset)
        found = [
            FixWord(entry.variant, entry.kind, entry.note, entry.caution, told[entry.variant][torch]) for entry in fixes
        ]
        order = list(Workaround)
        return sorted(found, key=lambda item: (item.caution, order.index(item.word)))


def sentences(warnings: str) -> frozenset[str]:
    """What a tracer's warnings say, each by its first sentence."""
    return frozenset(" ".join(text.split()) for text in _SENTENCE.findall(warnings))


def _same(left: str, right: str) -> bool:
    return bool(left and right) and operator_key(left) == operator_key(right)


def _nearest(torch: str, measured: Sequence[str]) -> str:
    """The release itself, else the newest measured one that is not newer, else the oldest."""
    older = [name for name in measured if versions.parse(name) <= versions.parse(torch)]
    return older[-1] if older else measured[0]
