"""What the rows say of each site, at the releases that a project takes."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from caniexport import names, versions
from caniexport.answers.operator_at import operator_at
from caniexport.answers.select import CatalogueEntry, Rows
from caniexport.answers.torch_operators import OperatorsSummary
from caniexport.answers.words import words
from caniexport.corpus.verdicts import Workaround, works
from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter, FixKind, Status
from caniexport.operators import operator_key
from caniexport.scan.gates import Condition
from caniexport.scan.site import Site, SiteKind

_TRACE, _DYNAMO = Exporter.TRACE.value, Exporter.DYNAMO.value
NOTHING = "no measured case applies to this"
#: releases that are named one by one
_MOST = 4
#: calls of any code, which say nothing about a gate
_COMMON = frozenset((*dir(builtins), "tensor", "to", "size", "item", "detach", "cpu", "numpy", "copy", "view"))
#: kinds of fixes that are no change of the project's code or call
_ELSEWHERE = (FixKind.VERSION_UPGRADE.value, FixKind.RUNTIME_OPTION.value)
#: what export calls are given
_SETTINGS = (SiteKind.DYNAMO, SiteKind.OPSET, SiteKind.ARGUMENT)


@dataclass(frozen=True)
class Evidence:
    """A case, one of its variants, and what it says along the releases."""

    case: str
    variant: str
    text: str


@dataclass(frozen=True)
class Remedy:
    """A fix that is measured to work, and to be needed, at the newest of the releases."""

    case: str
    variant: str
    note: str
    code: str


@dataclass(frozen=True)
class SiteFinding:
    """A site with its word. ``statement`` is the sentence, ``is_measured`` whether a row is about it;
    ``holds`` is, for a gate, at how many of the releases its condition is true: always, never, sometimes.
    """

    site: Site
    word: Workaround
    statement: str
    is_measured: bool
    holds: str
    evidence: tuple[Evidence, ...]
    remedy: Remedy | None = None

    @property
    def is_setting(self) -> bool:
        """Whether it is an argument of an export call, and no workaround."""
        return self.site.kind in _SETTINGS

    @property
    def is_undecided(self) -> bool:
        """Whether it is a branch whose sides no measured case tells apart."""
        return self.site.kind in (SiteKind.GATE, SiteKind.BRANCH) and not self.site.fixes and not self.is_measured


class Seen:
    """The cells that judging looks at, each read once. ``rows`` is the dataset, ``summary`` has torch's own calls.

    ``cells`` gives the cells of a case on the CPU; ``plain`` how the failing forms end in a release, by case, exporter
    and opset.
    """

    def __init__(self, rows: Rows, summary: OperatorsSummary | None) -> None:
        self.rows, self.summary = rows, summary
        self.cells = cache(lambda case: rows.cells(case=(case,), provider=("cpu",)))
        self.plain = cache(self._plain)

    def _plain(self, torch: str) -> dict[tuple[str, str, int | None], Status]:
        found = self.rows.cells(torch=(torch,), variant=(PLAIN,), provider=("cpu",))
        return {(cell.case, cell.exporter, cell.opset): cell.status for cell in found}


@dataclass(frozen=True)
class Judge:
    """``releases`` are those of the project, measured, oldest first; ``exporter`` and ``opset`` are empty for each
    release's own. An exporter that nobody asked for (``is_asked``) is not looked at in a release that has none such.
    """

    seen: Seen
    releases: tuple[str, ...]
    exporter: str | None = None
    opset: int | None = None
    is_asked: bool = True

    def judge(self, site: Site) -> SiteFinding:
        """The word for one site."""
        how: dict[SiteKind, Callable[[Site], SiteFinding]] = {
            SiteKind.GATE: self._gate,
            SiteKind.SYMBOLIC: self._symbolic,
            SiteKind.DYNAMO: self._dynamo,
            SiteKind.OPSET: self._opset_pin,
            SiteKind.ARGUMENT: self._argument,
            SiteKind.BRANCH: self._branch,
            SiteKind.COPY: lambda site: self._by_fixes(site, site.fixes),
            SiteKind.EXPORT: lambda site: SiteFinding(site, Workaround.UNKNOWN, NOTHING, False, "", ()),
        }
        return self._with_remedy(how[site.kind](site))

    def _with_remedy(self, found: SiteFinding) -> SiteFinding:
        """With a fix that works, where the place has none: its form is not measured, or does not help."""
        unmeasured = found.word is Workaround.NEEDED and all(item.variant == PLAIN for item in found.evidence)
        if not found.evidence or not (unmeasured or found.word in (Workaround.BROKEN, Workaround.HARMFUL)):
            return found
        return replace(found, remedy=self._remedy(found.evidence[0].case))

    def _remedy(self, case: str) -> Remedy | None:
        entries = (entry for entry in self.seen.rows.catalogue.values() if entry.case == case)
        for entry in entries:
            usable = entry.variant != PLAIN and not entry.caution and entry.kind not in _ELSEWHERE
            if usable and self._fix_words(case, entry.variant)[self.releases[-1]] is Workaround.NEEDED:
                return Remedy(case, entry.variant, entry.note, entry.code_to_copy)
        return None

    @cached_property
    def _plain(self) -> list[CatalogueEntry]:
        return [
            entry for entry in self.seen.rows.catalogue.values() if entry.variant == PLAIN and entry.corpus != "canary"
        ]

    def exporter_of(self, torch: str) -> str:
        """The exporter that is asked for, or that a default call uses in a release."""
        rows = self.seen.rows
        if self.exporter and (self.is_asked or rows.offers.get((torch, self.exporter))):
            return self.exporter
        return rows.default_exporters.get(torch, _TRACE)

    def _fix_words(self, case: str, variant: str) -> dict[str, Workaround]:
        """By release: the word of one fix."""
        entry = self.seen.rows.catalogue[case, variant]
        cells = self.seen.cells(case)
        told = {
            exporter: words(cells, [entry], self.seen.rows, exporter, self.opset)[variant]
            for exporter in {self.exporter_of(torch) for torch in self.releases}
        }
        return {torch: told[self.exporter_of(torch)][torch] for torch in self.releases}

    def _plain_works(self, case: str, exporter: str | None = None, opset: int | None = None) -> dict[str, bool | None]:
        """By release: whether the failing form works there."""
        found = {}
        for torch in self.releases:
            name = exporter or self.exporter_of(torch)
            at = self.seen.rows.opset(torch, name, opset or self.opset)
            found[torch] = works(self.seen.plain(torch).get((case, name, at)))
        return found

    def _about(self, op: str) -> dict[str, dict[str, bool | None]]:
        """By case about an operator: whether its failing form works, by release."""
        found = [entry for entry in self._plain if _leads(entry, op)]
        found.sort(key=lambda entry: len(entry.ops))
        return {entry.case: self._plain_works(entry.case) for entry in found}

    def _known(self, ops: Iterable[str]) -> list[str]:
        """Those of these functions that measured cases are about."""
        known = {operator_key(op) for entry in self._plain for op in entry.ops[:1]}
        return [op for op in ops if operator_key(op) in known and op not in _COMMON]

    def _branch(self, site: Site) -> SiteFinding:
        """A branch on exporting: needed where every case of an operator that it leaves out fails.

        That it can go is never concluded: it may be there for another reason than these operators.
        """
        told = {op: self._about(op) for op in self._known(site.ops)}
        by_release = {}
        for torch in self.releases:
            ends = [{found[torch] for found in cases.values()} - {None} for cases in told.values()]
            by_release[torch] = Workaround.NEEDED if {False} in ends else Workaround.UNKNOWN
        evidence = [
            Evidence(case, PLAIN, _works_along(found)) for cases in told.values() for case, found in cases.items()
        ]
        found = self._finding(site, by_release, evidence)
        if found.is_measured or not evidence:
            return found
        said = f"not every case of what it leaves out fails ({', '.join(told)}): try your model without it"
        return replace(found, statement=said)

    def _symbolic(self, site: Site) -> SiteFinding:
        if site.backend:
            said = f"{NOTHING}: it is for {site.backend}, and files are run on ONNX Runtime"
            return SiteFinding(site, Workaround.UNKNOWN, said, False, "", ())
        if site.fixes:
            found = self._by_fixes(site, site.fixes)
            is_obsolete = found.word is Workaround.OBSOLETE
            return replace(found, word=Workaround.UNKNOWN, statement=FORWARD) if is_obsolete else found
        rules = [
            entry
            for entry in self.seen.rows.catalogue.values()
            if entry.kind == FixKind.CUSTOM_SYMBOLIC.value and not entry.caution and _has_op(entry, site.name)
        ]
        rules.sort(key=lambda entry: not _leads(entry, site.name))
        fixes = [(entry.case, entry.variant) for entry in rules]
        return self._unless_samples_fail(self._by_fixes(site, fixes) if fixes else self._by_plain(site))

    def _unless_samples_fail(self, found: SiteFinding) -> SiteFinding:
        """Not judged where torch's operator samples do not all pass: a registered rule stands for all calls."""
        torch, summary = self.releases[-1], self.seen.summary
        if found.word is not Workaround.OBSOLETE or summary is None:
            return found
        opsets = (self.opset,) if self.opset else ()
        at = operator_at(summary, found.site.name, torch, (self.exporter_of(torch),), opsets)
        if at is None or at.torch != torch or all(end.passing for end in at.ends):
            return found
        said = f"its cases work, but not all operator samples of {found.site.name} at torch {torch}"
        return replace(found, word=Workaround.UNKNOWN, statement=said, is_measured=False)

    def _by_fixes(self, site: Site, fixes: Sequence[tuple[str, str]]) -> SiteFinding:
        told = {fix: self._fix_words(*fix) for fix in fixes}
        by_release = {torch: together(found[torch] for found in told.values()) for torch in self.releases}
        evidence = [Evidence(*fix, _words_along(found)) for fix, found in told.items()]
        return self._finding(site, by_release, evidence)

    def _by_plain(self, site: Site) -> SiteFinding:
        """No fix of this kind was measured: whether the operator works by itself is all that rows tell."""
        told = self._about(site.name)
        by_release = {}
        for torch in self.releases:
            known = [found[torch] for found in told.values() if found[torch] is not None]
            by_release[torch] = Workaround.OBSOLETE if known and all(known) else Workaround.UNKNOWN
        evidence = [Evidence(case, PLAIN, _works_along(found)) for case, found in told.items()]
        return self._finding(site, by_release, evidence)

    def _gate(self, site: Site) -> SiteFinding:
        gate = site.condition
        assert gate is not None
        true_at = [torch for torch in self.releases if gate.holds(torch)]
        holds = "always" if len(true_at) == len(self.releases) else "sometimes" if true_at else "never"
        if site.fixes:
            return self._held(self._by_fixes(site, site.fixes), holds)
        # a case that ends alike on both sides of the gate is no reason for it
        about = {case: found for op in self._known(site.ops) for case, found in self._about(op).items()}
        told = {case: found for case, found in about.items() if self._ends_otherwise(case, gate)}
        by_release = {}
        for torch in self.releases:
            works_there = [found[torch] for found in told.values() if found[torch] is not None]
            old = gate.holds(torch) == gate.old_side
            word = Workaround.UNKNOWN
            if works_there and (all(works_there) or (not old and any(works_there))):
                word = Workaround.OBSOLETE
            elif old and False in works_there:
                word = Workaround.NEEDED
            by_release[torch] = word
        evidence = [Evidence(case, PLAIN, _works_along(found)) for case, found in told.items()]
        return self._held(self._finding(site, by_release, evidence), holds)

    def _held(self, found: SiteFinding, holds: str) -> SiteFinding:
        dead = {"always": "always true", "never": "never true", "sometimes": ""}[holds] if self.releases else ""
        said = f"{found.statement}; {dead} at the releases looked at" if dead else found.statement
        return replace(found, statement=said, holds=holds)

    def _ends_otherwise(self, case: str, gate: Condition) -> bool:
        """Whether the failing form was seen to fail on the gate's older side, and to work on its newer one."""
        seen = {True: set[bool | None](), False: set[bool | None]()}
        for cell in self.seen.cells(case):
            own = cell.variant == PLAIN and cell.exporter == self.exporter_of(cell.torch)
            if own and cell.opset == self.seen.rows.opset(cell.torch, cell.exporter, self.opset):
                seen[gate.holds(cell.torch) == gate.old_side].add(works(cell.status))
        return False in seen[True] and True in seen[False]

    def _dynamo(self, site: Site) -> SiteFinding:
        """A pin of the TorchScript exporter: it changes something where a default call would use the other one."""
        flipped = [torch for torch in self.releases if self.seen.rows.default_exporters.get(torch) == _DYNAMO]
        if not flipped:
            by_release = dict.fromkeys(self.releases, Workaround.OBSOLETE)
            text = "the default call uses the TorchScript exporter in each of these releases"
            return self._finding(site, by_release, [], text)
        newest = flipped[-1]
        only_trace, only_dynamo = self._only(newest, _TRACE, _DYNAMO), self._only(newest, _DYNAMO, _TRACE)
        text = (
            f"it depends on the model: at torch {newest} {len(only_trace)} cases work with the TorchScript exporter "
            f"only (opset {self._taken(newest, _TRACE)}), {len(only_dynamo)} with dynamo only "
            f"(opset {self._taken(newest, _DYNAMO)})"
        )
        evidence = [Evidence(case, PLAIN, "works with the TorchScript exporter only") for case in only_trace]
        evidence += [Evidence(case, PLAIN, "works with dynamo only") for case in only_dynamo]
        return SiteFinding(site, Workaround.UNKNOWN, text, True, "", tuple(evidence))

    def _taken(self, torch: str, exporter: str) -> int | None:
        """The opset at which an exporter is looked at: the one asked for, or its own where it does not take that."""
        rows = self.seen.rows
        return rows.opset(torch, exporter, self.opset if self.opset in rows.offers.get((torch, exporter), ()) else None)

    def _only(self, torch: str, one: str, other: str) -> list[str]:
        """Cases whose failing form works with one exporter and not with the other, each at the opset that it takes."""
        cases = [entry.case for entry in self._plain]
        good = {
            name: {case: self._plain_works(case, name, self._taken(torch, name))[torch] for case in cases}
            for name in (one, other)
        }
        return [case for case in cases if good[one][case] and good[other][case] is False]

    def _opset_pin(self, site: Site) -> SiteFinding:
        """An opset that the exporter refuses is harmful; one that the release writes by itself says nothing new."""
        opset = int(site.name)
        by_release = {torch: self._pinned(torch, opset) for torch in self.releases}
        refused = [torch for torch, word in by_release.items() if word is Workaround.HARMFUL]
        if refused:
            exporters = ", ".join(dict.fromkeys(self.exporter_of(torch) for torch in refused))
            return self._finding(site, by_release, [], f"refused by {exporters} at torch {names.some(refused, _MOST)}")
        if set(by_release.values()) == {Workaround.OBSOLETE}:
            said = "the opset that the default call writes in each of these releases"
            return self._finding(site, by_release, [], said)
        return self._raising(site, opset)

    def _pinned(self, torch: str, opset: int) -> Workaround:
        rows, exporter = self.seen.rows, self.exporter_of(torch)
        if (rows.default_opsets.get(torch), rows.default_exporters.get(torch)) == (opset, exporter):
            return Workaround.OBSOLETE
        offered = rows.offers.get((torch, exporter), ())
        # the first opset above an exporter's range is measured, and refused; below the range nothing is asked
        return Workaround.HARMFUL if offered and opset > offered[-1] else Workaround.UNKNOWN

    def _raising(self, site: Site, opset: int) -> SiteFinding:
        """What a higher opset would give: cases that fail at the pin and work at the newest release's own opset."""
        torch = self.releases[-1]
        low = {entry.case: self._plain_works(entry.case, opset=opset)[torch] for entry in self._plain}
        if all(good is None for good in low.values()):
            said = f"{NOTHING}: opset {opset} was not asked of {self.exporter_of(torch)} at torch {torch}"
            return SiteFinding(site, Workaround.UNKNOWN, said, False, "", ())
        better = [case for case, good in low.items() if good is False and self._plain_works(case)[torch]]
        evidence = tuple(
            Evidence(case, PLAIN, f"fails at opset {opset}, works at the release's own") for case in better
        )
        said = f"at torch {torch} {len(better)} cases fail at opset {opset} and work at the release's own"
        return SiteFinding(site, Workaround.UNKNOWN, f"it depends on the model: {said}", True, "", evidence)

    def _argument(self, site: Site) -> SiteFinding:
        """An argument of the export call that is gone: that leaving it out is needed means that it does harm."""
        (fix,) = site.fixes
        words = self._fix_words(*fix)
        by_release = {
            torch: Workaround.HARMFUL if word is Workaround.NEEDED else Workaround.UNKNOWN
            for torch, word in words.items()
        }
        ends = {Workaround.NEEDED: "harmful", Workaround.OBSOLETE: "taken"}
        text = along({torch: ends.get(word, word.value) for torch, word in words.items()})
        return self._finding(site, by_release, [Evidence(*fix, _words_along(words))], text)

    def _finding(
        self, site: Site, by_release: Mapping[str, Workaround], evidence: Sequence[Evidence], text: str = ""
    ) -> SiteFinding:
        word = together(by_release.values(), among_releases=True)
        is_measured = bool(text) or any(found is not Workaround.UNKNOWN for found in by_release.values())
        if not is_measured:
            text = NOTHING
        elif not text:
            text = along({torch: found.value for torch, found in by_release.items()}, word is Workaround.UNKNOWN)
        return SiteFinding(site, word, text, is_measured, "", tuple(evidence))


FORWARD = "it depends on the function: without its rule what its forward calls is exported, which may be another thing"


def together(found: Iterable[Workaround], *, among_releases: bool = False) -> Workaround:
    """One word of several: needed where any needs it; obsolete, broken or harmful where nothing says otherwise.

    Obsolete is what was measured so in each; over releases harm in one of them is what a project that takes them all
    has to know.
    """
    told = list(found)
    known = {word for word in told if word is not Workaround.UNKNOWN}
    if Workaround.NEEDED in known:
        return Workaround.NEEDED
    if among_releases and Workaround.HARMFUL in known:
        return Workaround.HARMFUL
    if known == {Workaround.OBSOLETE, Workaround.HARMFUL}:
        return Workaround.OBSOLETE
    if known == {Workaround.OBSOLETE} and Workaround.UNKNOWN in told:
        return Workaround.UNKNOWN
    return known.pop() if len(known) == 1 else Workaround.UNKNOWN


def of_each(found: Mapping[str, SiteFinding]) -> SiteFinding:
    """Return the finding of a place in a project that exports by several exporters: what one of them needs is needed,
    and it can go where all agree.
    """
    first = next(iter(found.values()))
    if all(item == first for item in found.values()):
        return first
    word = together((item.word for item in found.values()), among_releases=True)
    return replace(
        first,
        word=word,
        statement="; ".join(f"by {way}: {item.statement}" for way, item in found.items()),
        is_measured=any(item.is_measured for item in found.values()),
        evidence=tuple(
            replace(item, text=f"by {way}: {item.text}") for way, each in found.items() for item in each.evidence
        ),
        remedy=next((item.remedy for item in found.values() if item.word is word), None),
    )


def along(said: Mapping[str, str], with_unknown: bool = False) -> str:
    """Return ``needed at torch 1.8.1 to 1.11.0, obsolete at …``; ``unknown`` ends a run only where it is asked for."""
    runs: list[tuple[str, str, str]] = []
    for torch in versions.ordered(said):
        word = said[torch]
        if word == Workaround.UNKNOWN.value and not with_unknown:
            continue
        if runs and runs[-1][0] == word:
            runs[-1] = (word, runs[-1][1], torch)
        else:
            runs.append((word, torch, torch))
    texts = [f"{word} at torch {first}" + (f" to {last}" if last != first else "") for word, first, last in runs]
    return ", ".join(texts) or "not measured"


def _words_along(found: Mapping[str, Workaround]) -> str:
    return along({torch: word.value for torch, word in found.items()})


def _works_along(found: Mapping[str, bool | None]) -> str:
    words = {True: "works", False: "fails", None: Workaround.UNKNOWN.value}
    return along({torch: words[good] for torch, good in found.items()})


def _has_op(entry: CatalogueEntry, op: str) -> bool:
    if not op:
        return False
    spelled = [item for item in entry.ops if "::" in item]
    return op in spelled if "::" in op else any(operator_key(item) == operator_key(op) for item in entry.ops)


def _leads(entry: CatalogueEntry, op: str) -> bool:
    """Whether the operator is what the case is about."""
    return (
        bool(op and entry.ops)
        and operator_key(entry.ops[0]) == operator_key(op)
        and ("::" not in op or entry.ops[0] == op)
    )
