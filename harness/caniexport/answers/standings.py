"""Is this workaround still needed: the word at a point, since when, and the rows that show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import repeat

from caniexport import names, versions
from caniexport.answers.along import Along, Told, along_filters, statuses
from caniexport.answers.defaults import OpsetChoice
from caniexport.answers.filters import Filters
from caniexport.answers.rows import NO_EXPORTER, MeasuredCell
from caniexport.answers.select import CaseSelection, CatalogueEntry, load, require_opsets, select
from caniexport.answers.shown import Shown
from caniexport.answers.signs import exporter_rank
from caniexport.corpus.verdicts import AxisPoint, AxisRange, Workaround, ranges, workaround, works
from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter, FixKind, Status
from caniexport.store import Dataset

#: (exporter, provider, case, variant, opset) -> cell of one release
_Grid = Mapping[tuple[str, str | None, str, str, int | None], MeasuredCell]

#: what a runtime says of an input of a size that the file has not
_SIZES = "Got invalid dimensions for input"
_REFUSED_SIZES = "the file refuses other sizes than the example's there, which is not what the case is about"


@dataclass(frozen=True)
class Standing:
    """One fix with one exporter on one provider.

    ``word`` holds at ``torch`` and ``opset`` (``None``: the release's own, of exporter ``default``); ``opset_why``
    says where the opset comes from. ``statement`` is the sentence along torch and opset. ``plain`` and ``fix`` are
    the cells that show the word. ``along`` is the range, along torch, of the failing form at the point's opset rule.
    ``obsolete_since`` is the release from which on, by the same rule, the fix is obsolete; ``None`` where it is not;
    ``before`` is the word on the release before that. ``title`` says what the case is, ``changed`` of a fix that
    computes other values that it does. ``aside`` says of a failing form that fails there for another reason than the
    case is about what that is.
    """

    case: str
    variant: str
    kind: str
    note: str
    caution: bool
    documented: bool
    exporter: str
    provider: str | None
    torch: str
    opset: int | None
    opset_why: str
    word: Workaround
    statement: str
    along: AxisRange
    plain: MeasuredCell | None
    fix: MeasuredCell | None
    obsolete_since: str | None = None
    before: Workaround | None = None
    title: str = ""
    changed: str = ""
    aside: str = ""


@dataclass(frozen=True)
class _Span:
    """Releases in a row with one word, newest first, and the word on the measured release before them."""

    releases: tuple[str, ...]
    before: str | None = None
    word_before: Workaround | None = None

    @property
    def first(self) -> str:
        """The oldest of them."""
        return self.releases[-1]


@dataclass(frozen=True)
class Workarounds(Shown):
    """The standings, fixes known to be wrong or partial apart in ``cautions``; ``notes`` say what was assumed.

    ``runtime`` is the one release that the files ran on, empty for that beside each release of torch.
    """

    torch: str | None
    standings: tuple[Standing, ...]
    cautions: tuple[Standing, ...]
    notes: tuple[str, ...]
    runtime: str = ""


def workarounds(dataset: Dataset, filters: Filters) -> Workarounds:
    """The standing of every fix that the filters take, at one torch release (the newest measured if none is named).

    Raises :class:`UnknownName` for a filter value nobody knows. Where no opset is named, each release is judged at
    its own default opset.
    """
    rows = load(dataset)
    selection = select(rows, replace(filters, opsets=(), statuses=()))
    require_opsets(filters.opsets, rows.opsets)
    words = names.require_all("status", filters.statuses, [word.value for word in Workaround])
    if not selection.torch:
        return Workarounds(None, (), (), ("nothing has been measured yet", *rows.notes))
    judge = _FixJudge(selection, selection.torch[-1], filters.opsets)
    fixes = [entry for entry in selection.catalogue.values() if entry.variant != PLAIN]
    found = [item for entry in fixes for item in judge.standings(entry) if not words or item.word in words]
    return Workarounds(
        judge.torch,
        tuple(item for item in found if not item.caution),
        tuple(item for item in found if item.caution),
        (*_notes(filters, judge), *rows.notes),
        rows.runtime,
    )


def _notes(filters: Filters, judge: _FixJudge) -> list[str]:
    notes = []
    torch = judge.torch
    if not filters.torch:
        notes.append(f"torch {torch}, the newest measured (--torch takes another)")
    if not filters.opsets:
        own = judge.own.bare.get(torch)
        notes.append(f"no opset named: each release at its own default{f', {own} in {torch}' if own else ''}")
    return notes


class _FixJudge:
    """Everything that is the same for all fixes: what is known along releases, and the cells of the point asked for."""

    def __init__(self, selection: CaseSelection, torch: str, opsets: tuple[str, ...]) -> None:
        self.torch = torch
        self.asked = opsets
        self.releases = selection.rows.torch
        self.own = selection.rows.own_opsets
        self.along = Along(selection)
        self.beside = {(cell.case, cell.variant): cell for cell in selection.rows.environment}
        self.places = sorted(self.along.places(), key=lambda place: (exporter_rank(place[0]), place[1] or ""))
        self._selection = selection
        self._grid = cache(self._cells_of)
        self._choose = cache(self._choice)
        self._opsets = {
            exporter: tuple(self._choose(torch, exporter).opset for torch in self.releases)
            for exporter, _ in self.places
        }

    def standings(self, entry: CatalogueEntry) -> list[Standing]:
        """One standing for each exporter and provider that the release was measured with."""
        if (entry.case, PLAIN) in self.beside:
            return [self._beside(entry)]
        found = []
        for exporter, provider in self.places:
            if self.torch in self.along.line(entry.case, PLAIN, exporter, provider):
                found.append(self._standing(entry, exporter, provider))
        return found

    def _standing(self, entry: CatalogueEntry, exporter: str, provider: str | None) -> Standing:
        upgrade = entry.kind == FixKind.VERSION_UPGRADE.value
        opset, why = self._choose(self.torch, exporter)
        plain = self._cell(self.torch, exporter, provider, entry.case, PLAIN, opset)
        if upgrade:
            fix = self._upgraded(entry, exporter, provider)
        else:
            fix = self._cell(self.torch, exporter, provider, entry.case, entry.variant, opset)
        word = workaround(plain.status if plain else None, fix.status if fix else None)
        told = self._texts(self.along.line(entry.case, PLAIN, exporter, provider))
        if upgrade:
            words = self._upgrade_words(entry, exporter, provider, told)
        else:
            words = tuple(
                map(_words, told, self._texts(self.along.line(entry.case, entry.variant, exporter, provider)))
            )
        span = self._span(word, words, told, exporter)
        along = _range(self.releases, told, self._opsets[exporter])
        is_obsolete = word is Workaround.OBSOLETE
        since, before = (span.first, span.word_before) if is_obsolete else (None, None)
        place = (exporter, provider, self.torch, opset, why)
        aside = self._aside(plain) if word is Workaround.BROKEN else ""
        clause = (
            ""
            if self.asked
            else _opset_clause(span.releases, dict(zip(self.releases, words, strict=True)), word, opset)
        )
        statement = _statement(word, span, clause)
        statement = f"{statement}; {aside}" if aside else statement
        about = (since, before, entry.title, entry.changed, aside)
        return Standing(*_named(entry), *place, word, statement, along, plain, fix, *about)

    def _span(
        self, word: Workaround, words: Sequence[Mapping[int | None, Workaround]], told: Sequence[str], exporter: str
    ) -> _Span:
        """The releases up to the one asked for that have its word; one without a word is passed over.

        A release that does not take the opset has the word of those that it takes.
        """
        found = _Span((self.torch,))
        index = self.releases.index(self.torch)
        every = zip(self.releases[:index], words, told, self._judged_opsets(exporter), strict=False)
        for torch, here, text, opset in reversed([*every]):
            is_refused = opset == _EVERY or statuses(text).get(opset) is Status.UNSUPPORTED
            other = _settled(here) if is_refused else here.get(opset, Workaround.UNKNOWN)
            if other is Workaround.UNKNOWN:
                continue
            if other is not word:
                return replace(found, before=torch, word_before=other)
            found = replace(found, releases=(*found.releases, torch))
        return found

    def _aside(self, plain: MeasuredCell | None) -> str:
        """That a file refuses the sizes of further inputs, where that is not how its case mostly fails; else empty."""
        if plain is None or _SIZES not in (plain.signature or ""):
            return ""
        every = self._selection.rows.cells(case=(plain.case,), variant=(PLAIN,))
        failing = [cell for cell in every if works(cell.status) is False]
        alike = [cell for cell in failing if _SIZES in (cell.signature or "")]
        return _REFUSED_SIZES if len(alike) * 2 < len(failing) else ""

    def _judged_opsets(self, exporter: str) -> tuple[int | None, ...]:
        """By release the opset that it is judged at, ``_EVERY`` where it does not take the one asked for."""
        if not self.asked or exporter == Exporter.DEFAULT.value:
            return self._opsets[exporter]
        offers = self._selection.rows.offers
        return tuple(
            opset if opset in offers.get((torch, exporter), ()) else _EVERY
            for torch, opset in zip(self.releases, self._opsets[exporter], strict=True)
        )

    def _beside(self, entry: CatalogueEntry) -> Standing:
        """The standing of an environment fix, which is about no release: both environments were made and tried."""
        plain, fix = self.beside[entry.case, PLAIN], self.beside.get((entry.case, entry.variant))
        word = workaround(plain.status, fix.status if fix else None)
        where = "in the environments that the case names"
        said = f"{word.value} {where}"
        shown = NO_EXPORTER, None, "", None, where
        return Standing(
            *_named(entry), *shown, word, said, ranges(()), plain, fix, title=entry.title, changed=entry.changed
        )

    def _texts(self, line: Told) -> tuple[str, ...]:
        """What happened on each release, empty where nothing was measured."""
        return tuple(map(line.get, self.releases, repeat("")))

    def _choice(self, torch: str, exporter: str) -> OpsetChoice:
        if not self.asked or exporter == Exporter.DEFAULT.value:
            return self._selection.rows.choice(torch, exporter)
        texts = [text for text in self.asked if text != "default"]
        named = [number for number in range(1, 100) if any(versions.opset_in(number, text) for text in texts)]
        # a range was named: the highest of it that the release takes, else its highest (which is then refused)
        opsets = self._selection.rows.offers.get((torch, exporter), ())
        usable = [number for number in named if number in opsets]
        return OpsetChoice((usable or named)[-1] if named else None, "asked for")

    def _cell(
        self, torch: str, exporter: str, provider: str | None, case: str, variant: str, opset: int | None
    ) -> MeasuredCell | None:
        return self._grid(torch).get((exporter, provider, case, variant, opset))

    def _cells_of(self, torch: str) -> _Grid:
        """The cells of one release at the opsets at which its exporters are judged."""
        opsets = {self._choose(torch, name).opset for name, _ in self.places}
        found = self._selection.rows.cells(**along_filters(self._selection), torch=(torch,), opset=opsets)
        return {(cell.exporter, cell.provider, cell.case, cell.variant, cell.opset): cell for cell in found}

    def _upgraded(self, entry: CatalogueEntry, exporter: str, provider: str | None) -> MeasuredCell | None:
        """The failing form on the newest measured release that the fix names; on this release if it is one of them."""
        named = [torch for torch in self.releases if versions.within(torch, entry.needs_torch)]
        for torch in [self.torch] * (self.torch in named) + named[::-1]:
            opset = self._choose(torch, exporter).opset
            if works(self._status(torch, exporter, provider, entry, opset)) is not None:
                return self._cell(torch, exporter, provider, entry.case, PLAIN, opset)
        return None

    def _upgrade_words(
        self, entry: CatalogueEntry, exporter: str, provider: str | None, told: Sequence[str]
    ) -> tuple[Mapping[int | None, Workaround], ...]:
        """By release the words of a fix that is another release: one that has it is judged by itself."""
        named = [versions.within(torch, entry.needs_torch) for torch in self.releases]
        own = zip(self.releases, named, self._opsets[exporter], strict=True)
        ends = [self._status(torch, exporter, provider, entry, opset) for torch, has_it, opset in own if has_it]
        newest = next((status for status in reversed(ends) if works(status) is not None), None)
        return tuple(
            _words(text, text) if has_it else _words_beside(text, newest)
            for text, has_it in zip(told, named, strict=True)
        )

    def _status(
        self, torch: str, exporter: str, provider: str | None, entry: CatalogueEntry, opset: int | None
    ) -> Status | None:
        """How the failing form ends."""
        return self.along.at(torch, exporter, provider, entry.case, PLAIN).get(opset)


def _named(entry: CatalogueEntry) -> tuple[str, str, str, str, bool, bool]:
    """What a standing says of its fix."""
    return entry.case, entry.variant, entry.kind, entry.told, entry.caution, entry.documented


#: stands for every opset of a release
_EVERY = -1
_SOME_OPSETS = " at some opsets, not the same on each release"


# the same texts come back case after case, release after release: what follows from them is worked out once


@lru_cache(maxsize=65536)
def _words(plain: str, fixed: str) -> Mapping[int | None, Workaround]:
    """By opset: the word on one release."""
    fixes = statuses(fixed)
    return {opset: workaround(status, fixes.get(opset)) for opset, status in statuses(plain).items()}


@lru_cache(maxsize=65536)
def _words_beside(plain: str, fix: Status | None) -> Mapping[int | None, Workaround]:
    """By opset: the word on one release of a fix that ends so at every opset."""
    return {opset: workaround(status, fix) for opset, status in statuses(plain).items()}


@lru_cache(maxsize=65536)
def _range(releases: tuple[str, ...], plain: tuple[str, ...], opsets: tuple[int | None, ...]) -> AxisRange:
    """Along torch: where the failing form works at the opset of each release; where that is refused is not broken."""
    return ranges(
        tuple(
            AxisPoint(torch, _works_unless_refused(statuses(told).get(opset)))
            for torch, told, opset in zip(releases, plain, opsets, strict=True)
        )
    )


def _works_unless_refused(status: Status | None) -> bool | None:
    return None if status is Status.UNSUPPORTED else works(status)


def _statement(word: Workaround, span: _Span, clause: str) -> str:
    """The word and where it holds: ``obsolete since 2.0.1 with opset >= 10 (needed at 1.12.1)``."""
    if len(span.releases) == 1 and (word is Workaround.UNKNOWN or span.before is None):
        where = f"at {span.first}"
    else:
        where = f"since {span.first}" if span.before else f"on every measured release from {span.first}"
    before = f" ({span.word_before.value} at {span.before})" if span.word_before else ""
    return f"{word.value} {where}{clause}{before}"


def _settled(words: Mapping[int | None, Workaround]) -> Workaround:
    """One word for a release: obsolete where any opset makes the fix obsolete, else needed where any needs it."""
    found = set(words.values())
    for word in (Workaround.OBSOLETE, Workaround.NEEDED, Workaround.HARMFUL, Workaround.BROKEN):
        if word in found:
            return word
    return Workaround.UNKNOWN


def _opset_clause(
    releases: Sequence[str], words: Mapping[str, Mapping[int | None, Workaround]], word: Workaround, opset: int | None
) -> str:
    """At which opsets the word holds on every one of the releases, newest first, that takes them; empty where at all.

    The newest has the word at ``opset``.
    """
    everywhere: dict[int, bool] = {}
    run = [words[release] for release in releases]
    for here in {id(here): here for here in run}.values():
        for at, found in here.items():
            if at is not None and found is not Workaround.UNKNOWN:
                everywhere[at] = everywhere.get(at, True) and found is word
    holding = sorted(at for at, holds in everywhere.items() if holds)
    if not everywhere or len(holding) == len(everywhere):
        return ""
    if opset in holding and holding == [at for at in sorted(everywhere) if at >= holding[0]]:
        return f" with opset >= {holding[0]}"
    if opset in holding and holding == [at for at in sorted(everywhere) if at <= holding[-1]]:
        return f" with opset <= {holding[-1]}"
    shared = [at for at in holding if all(here.get(at) is word for here in run)]
    there = [at for at in sorted(everywhere) if run[0].get(at) is word]
    more = f" ({versions.opset_text(there)} at {releases[0]})" if there != shared else ""
    return f"{f' with opset {versions.opset_text(shared)}' if shared else _SOME_OPSETS}{more}"
