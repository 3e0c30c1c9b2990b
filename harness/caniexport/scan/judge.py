"""What the rows say of each site, at the releases that a project takes."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from caniexport import names, versions
from caniexport.answers.operator_at import operator_at
from caniexport.answers.other_dtypes import tell_failing_calls
from caniexport.answers.select import CatalogueEntry, Rows
from caniexport.answers.torch_operators import OperatorsSummary
from caniexport.answers.words import words
from caniexport.corpus.verdicts import Workaround, works
from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter, FixKind, Status
from caniexport.operators import operator_key
from caniexport.scan.forms import argument_of
from caniexport.scan.gates import Condition
from caniexport.scan.site import Site, SiteKind, Sureness

_TRACE, _DYNAMO = Exporter.TRACE.value, Exporter.DYNAMO.value
NOTHING = "no measured case applies to this"
#: how it begins why something is not judged of which only other calls than its cases' fail
CASES_WORK = "its cases work, and "
#: evidence that is told one by one
_MOST = 4
#: names of cases of which the operator alone is the failure
_NO_RULE = re.compile(r"no-rule|no-symbolic|unsupported|arity|opset")
#: calls of any code, which say nothing about a gate
_COMMON = frozenset((*dir(builtins), "tensor", "to", "size", "item", "detach", "cpu", "numpy", "copy", "view"))
#: kinds of fixes that are no change of the project's code or call
_ELSEWHERE = (FixKind.VERSION_UPGRADE.value, FixKind.RUNTIME_OPTION.value)


#: what export calls are given
_SETTINGS = (SiteKind.DYNAMO, SiteKind.OPSET, SiteKind.FALLBACK, SiteKind.ARGUMENT)


#: under which an author says that something fails: an argument of its call, a size that changes, no multiple of another
_ARGUMENT = re.compile(r"(?<![\w.])(?P<name>[a-z_]\w+)=(?:(?P<switch>True|False|None)\b|(?=[\w.'\"(]))")
_DYNAMIC, _NEGATED = re.compile(r"\bdynamic\w*", re.IGNORECASE), re.compile(r"\bnon-[a-z]\w+", re.IGNORECASE)
#: what tells two cases of nearly one name apart
_TELLING_APART = frozenset(("non", "static", "dynamic"))
#: arguments of the export itself
_OF_EXPORT = re.compile(r"opset|dynam|torch|export|names$")


def _conditions(said: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    """The conditions that an author names, each with what a case has that is about it."""
    for found in _ARGUMENT.finditer(said):
        if not _OF_EXPORT.search(found["name"]):
            yield found[0], re.compile(re.escape(found[0]))
    for pattern in (_DYNAMIC, _NEGATED):
        if named := pattern.search(said):
            yield named[0], _DYNAMIC if pattern is _DYNAMIC else re.compile(re.escape(named[0]), re.IGNORECASE)


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
    """A site with its word. ``statement`` is the sentence; ``spoken`` whether anything measured speaks to it;
    ``holds`` is, for a gate, at how many of the releases its condition is true: always, never, sometimes. ``unmet``
    are conditions that its author names, and no measured case of it has.
    """

    site: Site
    word: Workaround
    statement: str
    spoken: bool
    holds: str
    evidence: tuple[Evidence, ...]
    remedy: Remedy | None = None
    unmet: tuple[str, ...] = ()

    @property
    def is_setting(self) -> bool:
        """Whether it is an argument of an export call, and no workaround."""
        return self.site.kind in _SETTINGS

    @property
    def is_lesser(self) -> bool:
        """Whether it may be ordinary code: nothing there speaks of an export or names an operator."""
        return self.site.sure is Sureness.SIMILAR and not self.site.runtime

    @property
    def is_elsewhere(self) -> bool:
        """Whether it is a comparison with torch's version whose sides no measured case tells apart."""
        return self.site.kind is SiteKind.GATE and not self.site.fixes and not self.spoken


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
            SiteKind.FALLBACK: self._fallback,
            SiteKind.ARGUMENT: self._argument,
            SiteKind.SHAPE: self._rewrite,
            SiteKind.STATED: self._rewrite,
            SiteKind.EXPORT: lambda site: SiteFinding(site, Workaround.UNKNOWN, NOTHING, False, "", ()),
        }
        return self._with_remedy(
            self._unless_calls_fail(self._unless_alike(self._unless_conditioned(how[site.kind](site))))
        )

    def _unless_conditioned(self, found: SiteFinding) -> SiteFinding:
        """Not judged where all works that was measured, and none of it under the conditions that the author names."""
        if found.word is not Workaround.OBSOLETE or not found.site.said:
            return found
        missing = {
            words: pattern for words, pattern in _conditions(found.site.said) if not self._has(found.evidence, pattern)
        }
        if not missing:
            return found
        named = ", ".join(missing)
        others = self._plain_with(found.evidence, missing.values())
        if others:
            return self._not_where(found, others, f"its author names {named}: ")
        why = f"its author names {named}, which no measured case of it has"
        return replace(found, word=Workaround.UNKNOWN, statement=why, spoken=False, unmet=tuple(missing))

    def _plain_with(self, evidence: Sequence[Evidence], conditions: Iterable[re.Pattern[str]]) -> list[str]:
        """The other cases of the same operator whose title has some conditions, and that fail at the newest release."""
        catalogue, told = self.seen.rows.catalogue, {item.case for item in evidence}
        ops = {op for item in evidence for op in catalogue[item.case, item.variant].ops[:1]}
        about = [entry for entry in self._plain if entry.case not in told and any(_leads(entry, op) for op in ops)]
        wanted = list(conditions)
        named = [entry.case for entry in about if all(each.search(f"{entry.case} {entry.title}") for each in wanted)]
        return [case for case in named if self._plain_works(case)[self.releases[-1]] is False]

    def _not_where(self, found: SiteFinding, failing: Sequence[str], why: str = "") -> SiteFinding:
        """Not judged: the case that was found works, and these, which the code may as well be, fail."""
        evidence = (
            *found.evidence,
            *(Evidence(case, PLAIN, _works_along(self._plain_works(case))) for case in failing),
        )
        told = names.some(list(failing), _MOST)
        why = f"{why}it can go where the code is {found.evidence[0].case}, and not where it is {told}"
        return replace(found, word=Workaround.UNKNOWN, statement=why, spoken=False, evidence=evidence)

    def _unless_alike(self, found: SiteFinding) -> SiteFinding:
        """Not judged where words alone say which case it is, and one with the same fix, or with nearly the same name
        (``non-factor`` beside ``factor``), still fails.
        """
        if found.word is not Workaround.OBSOLETE or found.site.kind is not SiteKind.STATED:
            return found
        told = {item.case for item in found.evidence}
        alike = {entry.case for item in found.evidence for entry in self._alike(item)} - told
        newest = self.releases[-1]
        failing = [case for case in sorted(alike) if self._plain_works(case)[newest] is False]
        return self._not_where(found, failing) if failing else found

    def _unless_calls_fail(self, found: SiteFinding) -> SiteFinding:
        """Not judged where a function stands in for all calls of an operator, of which torch's own do not all pass, or
        where these are wrong in the types of tensors that the code is exported with.
        """
        torch = self.releases[-1]
        if found.word is not Workaround.OBSOLETE or self.seen.summary is None:
            return found
        if found.site.kind is not SiteKind.SYMBOLIC:
            failing = self._failing_types(found, self.seen.summary, torch)
            why = f"{CASES_WORK}{failing}"
            return replace(found, word=Workaround.UNKNOWN, statement=why, spoken=False) if failing else found
        opsets = (self.opset,) if self.opset else ()
        summary, exporters = self.seen.summary, (self.exporter_of(torch),)
        at = operator_at(summary, found.site.name, torch, exporters, opsets)
        if at is None or at.torch != torch or all(end.passing for end in at.ends):
            return found
        why = f"{CASES_WORK}other calls of it do not: {at.told}"
        return replace(found, word=Workaround.UNKNOWN, statement=why, spoken=False)

    def _failing_types(self, found: SiteFinding, summary: OperatorsSummary, torch: str) -> str:
        """In which types of tensors the operator of the first of its cases fails, though they work."""
        entries = [self.seen.rows.catalogue[item.case, item.variant] for item in found.evidence[:1]]
        at = torch, self.exporter_of(torch), self.opset, found.site.dtypes
        return "".join(tell_failing_calls(summary, entry, *at) for entry in entries)

    def _alike(self, item: Evidence) -> Iterator[CatalogueEntry]:
        """The entries of cases about the same operator that have the same fix, or nearly the same name."""
        own, parts = self.seen.rows.catalogue[item.case, item.variant], set(item.case.split("-"))
        for entry in self.seen.rows.catalogue.values():
            is_named_so = parts ^ set(entry.case.split("-")) <= _TELLING_APART
            has_fix = entry.variant == item.variant != PLAIN and not entry.caution
            if own.ops and _leads(entry, own.ops[0]) and (is_named_so or has_fix):
                yield entry

    def _has(self, evidence: Iterable[Evidence], pattern: re.Pattern[str]) -> bool:
        cases = {item.case for item in evidence}
        entries = (entry for entry in self.seen.rows.catalogue.values() if entry.case in cases)
        return any(pattern.search(f"{entry.case} {entry.title}\n{entry.code}") for entry in entries)

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

    def _about(self, ops: Sequence[str]) -> dict[str, dict[str, bool | None]]:
        """By case that one of the operators leads: whether its failing form works, by release."""
        found = [entry for entry in self._plain if any(_leads(entry, op) for op in ops)]
        found.sort(key=lambda entry: (not _NO_RULE.search(entry.case), len(entry.ops)))
        return {entry.case: self._plain_works(entry.case) for entry in found}

    def _elsewhere(self, site: Site) -> SiteFinding:
        verb = "registered" if site.kind is SiteKind.SYMBOLIC else "there"
        said = f"{NOTHING}: it is {verb} for {site.runtime}, and files are run on ONNX Runtime"
        return SiteFinding(site, Workaround.UNKNOWN, said, False, "", ())

    def _rewrite(self, site: Site) -> SiteFinding:
        """A rewrite: by the fix that it is, or where its form was not measured by the failing form of its case."""
        if site.runtime:
            return self._elsewhere(site)
        if site.sure is Sureness.OPERATOR:
            return self._by_operator(site)
        if not site.fixes:
            return SiteFinding(site, Workaround.UNKNOWN, NOTHING, False, "", ())
        fixes = self._of_gate(site)
        measured = [fix for fix in fixes if fix in self.seen.rows.catalogue and fix[1] != PLAIN]
        return self._by_fixes(site, measured) if measured else self._by_case(site, [case for case, _ in fixes])

    def _of_gate(self, site: Site) -> Sequence[tuple[str, str]]:
        """The fixes of a site; within a gate, or of one, those of cases that end otherwise on its two sides, if any."""
        gate = site.condition
        reasons = [fix for fix in site.fixes if gate is not None and self._ends_otherwise(fix[0], gate)]
        return reasons or site.fixes

    def _by_case(self, site: Site, cases: Iterable[str]) -> SiteFinding:
        """The form itself was not measured: it is needed where the failing form fails, and not where that works.

        A site that is the failing form does not help where that fails.
        """
        told = {case: self._plain_works(case) for case in cases}
        failing = all(variant == PLAIN for _, variant in site.fixes)
        good, bad = (Workaround.UNKNOWN, Workaround.BROKEN) if failing else (Workaround.OBSOLETE, Workaround.NEEDED)
        words = {True: good, False: bad, None: Workaround.UNKNOWN}
        by_release = {torch: together(words[found[torch]] for found in told.values()) for torch in self.releases}
        evidence = [Evidence(case, PLAIN, _works_along(found)) for case, found in told.items()]
        return self._finding(site, by_release, evidence)

    def _by_operator(self, site: Site) -> SiteFinding:
        """Which case it is is not known: needed where every case of its operator fails, obsolete where all work."""
        nearest = {case for case, _ in site.fixes}
        told = dict(sorted(self._about([site.name]).items(), key=lambda item: item[0] not in nearest))
        by_release = {}
        for torch in self.releases:
            known = {found[torch] for found in told.values() if found[torch] is not None}
            by_release[torch] = Workaround.UNKNOWN
            if len(known) == 1:
                by_release[torch] = Workaround.OBSOLETE if True in known else Workaround.NEEDED
        evidence = [Evidence(case, PLAIN, _works_along(found)) for case, found in told.items()]
        return self._finding(site, by_release, evidence)

    def _symbolic(self, site: Site) -> SiteFinding:
        if site.runtime:
            return self._elsewhere(site)
        if site.fixes:
            found = self._rewrite(site)
            return (
                replace(found, word=Workaround.UNKNOWN, statement=FORWARD)
                if found.word is Workaround.OBSOLETE
                else found
            )
        rules = [
            entry
            for entry in self.seen.rows.catalogue.values()
            if entry.kind == FixKind.CUSTOM_SYMBOLIC.value and not entry.caution and _has_op(entry, site.name)
        ]
        rules.sort(key=lambda entry: not _leads(entry, site.name))
        fixes = [(entry.case, entry.variant) for entry in rules]
        return self._by_fixes(site, fixes) if fixes else self._by_plain(site)

    def _by_fixes(self, site: Site, fixes: Iterable[tuple[str, str]]) -> SiteFinding:
        told = {fix: self._fix_words(*fix) for fix in dict.fromkeys(fixes)}
        by_release = {torch: together(found[torch] for found in told.values()) for torch in self.releases}
        evidence = [Evidence(*fix, _words_along(found)) for fix, found in told.items()]
        return self._finding(site, by_release, evidence)

    def _by_plain(self, site: Site) -> SiteFinding:
        """No fix of this kind was measured: whether the operator works by itself is all that rows tell."""
        told = self._about([site.name])
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
            return self._held(self._rewrite(site), holds)
        known = {operator_key(op) for entry in self._plain for op in entry.ops[:1]}
        ops = [op for op in site.ops if operator_key(op) in known and op not in _COMMON]
        # a case that ends alike on both sides of the gate is no reason for it
        told = {case: found for case, found in self._about(ops).items() if self._ends_otherwise(case, gate)}
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
        return SiteFinding(found.site, found.word, said, found.spoken, holds, found.evidence)

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
            f"only, {len(only_dynamo)} with dynamo only{self._opsets_apart(newest)}"
        )
        evidence = [Evidence(case, PLAIN, "works with the TorchScript exporter only") for case in only_trace]
        evidence += [Evidence(case, PLAIN, "works with dynamo only") for case in only_dynamo]
        return SiteFinding(site, Workaround.UNKNOWN, text, True, "", tuple(evidence))

    def _taken(self, torch: str, exporter: str) -> int | None:
        """The opset at which an exporter is looked at: the one asked for, or its own where it does not take that."""
        rows = self.seen.rows
        return rows.opset(torch, exporter, self.opset if self.opset in rows.offers.get((torch, exporter), ()) else None)

    def _opsets_apart(self, torch: str) -> str:
        """What is said of two exporters that are looked at by different opsets."""
        trace, dynamo = self._taken(torch, _TRACE), self._taken(torch, _DYNAMO)
        if self.opset is None or trace == dynamo:
            return ""
        refusing = "dynamo" if dynamo != self.opset else "the TorchScript exporter"
        return f" (at opset {trace}, and dynamo at opset {dynamo}: of {refusing} nothing is measured at {self.opset})"

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
            return self._finding(
                site, by_release, [], "the opset that the default call writes in each of these releases"
            )
        return self._raising(site, opset)

    def _pinned(self, torch: str, opset: int) -> Workaround:
        exporter = self.exporter_of(torch)
        if self.seen.rows.default_opsets.get(torch) == opset and exporter == self.seen.rows.default_exporters.get(
            torch
        ):
            return Workaround.OBSOLETE
        offered = self.seen.rows.offers.get((torch, exporter), ())
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

    def _fallback(self, site: Site) -> SiteFinding:
        """An export type: variants whose code has its name."""
        having = [entry for entry in self.seen.rows.catalogue.values() if site.name and f".{site.name}" in entry.code]
        fixes = [(entry.case, entry.variant) for entry in having if entry.variant != PLAIN]
        told = {(entry.case, PLAIN): self._plain_works(entry.case) for entry in having if entry.variant == PLAIN}
        spoken = {fix: self._fix_words(*fix) for fix in fixes}
        by_release = {}
        for torch in self.releases:
            said = [found[torch] for found in spoken.values()]
            said += [Workaround.BROKEN for found in told.values() if found[torch] is False]
            by_release[torch] = together(said)
        evidence = [
            Evidence(*fix, along({t: word.value for t, word in found.items()})) for fix, found in spoken.items()
        ]
        evidence += [Evidence(*key, _works_along(found)) for key, found in told.items()]
        return self._finding(site, by_release, evidence)

    def _argument(self, site: Site) -> SiteFinding:
        """An argument of the export call: cases whose failing form gives it, and whose fix leaves it out."""
        given = [entry.case for entry in self._plain if argument_of(entry) == site.name]
        fixes = [
            (entry.case, entry.variant)
            for entry in self.seen.rows.catalogue.values()
            if entry.case in given and entry.kind == FixKind.EXPORT_OPTION.value and not entry.caution
        ]
        found = self._by_fixes(site, fixes)
        # that leaving it out is needed means that the argument does harm
        turned = {Workaround.NEEDED: Workaround.HARMFUL, Workaround.OBSOLETE: Workaround.UNKNOWN}
        said = found.statement.replace("needed", "harmful").replace("obsolete", "taken")
        return SiteFinding(site, turned.get(found.word, found.word), said, found.spoken, "", found.evidence)

    def known_arguments(self) -> frozenset[str]:
        """Arguments of the export call that some failing form gives."""
        return frozenset(name for entry in self._plain if (name := argument_of(entry)))

    def _finding(
        self, site: Site, by_release: Mapping[str, Workaround], evidence: Sequence[Evidence], text: str = ""
    ) -> SiteFinding:
        word = together(by_release.values(), among_releases=True)
        spoken = bool(text) or any(found is not Workaround.UNKNOWN for found in by_release.values())
        said = text or _words_along(by_release)
        if word is Workaround.UNKNOWN and spoken and not text and len(ends_of(evidence)) == 1:
            said = along({torch: _MISSING.get(found, found.value) for torch, found in by_release.items()})
        if not spoken:
            failing = any("fails" in item.text for item in evidence)
            fails = ": cases of this operator fail by themselves, and no such fix was measured" if failing else ""
            said = f"{NOTHING}{fails}"
        return SiteFinding(site, word, said, spoken, "", tuple(evidence))


#: what is said of a release of which nothing was measured, where that is why a place has no word
_MISSING = {Workaround.UNKNOWN: "not measured"}
_END = re.compile(r"(\w+) at torch")
FORWARD = "it depends on the function: without its rule what its forward calls is exported, which may be another thing"


def together(found: Iterable[Workaround], *, among_releases: bool = False) -> Workaround:
    """One word of several: needed where any needs it; obsolete, broken or harmful where nothing says otherwise.

    Over releases harm in one of them is what a project that takes them all has to know, and obsolete is what was
    measured so in each.
    """
    told = list(found)
    known = {word for word in told if word is not Workaround.UNKNOWN}
    if Workaround.NEEDED in known:
        return Workaround.NEEDED
    if among_releases and Workaround.HARMFUL in known:
        return Workaround.HARMFUL
    if known == {Workaround.OBSOLETE, Workaround.HARMFUL}:
        return Workaround.OBSOLETE
    if among_releases and known == {Workaround.OBSOLETE} and Workaround.UNKNOWN in told:
        return Workaround.UNKNOWN
    return known.pop() if len(known) == 1 else Workaround.UNKNOWN


def of_each(found: Mapping[str, SiteFinding]) -> SiteFinding:
    """The finding of a place in a project that exports by several exporters: what one of them needs is needed, and it
    can go where all agree.
    """
    first = next(iter(found.values()))
    if all((item.word, item.statement, item.evidence) == (first.word, first.statement, first.evidence)
           for item in found.values()):  # fmt: skip
        return first
    word = together((item.word for item in found.values()), among_releases=True)
    remedies = ((way, item.remedy) for way, item in found.items() if item.word is word and item.remedy)
    way, remedy = next(remedies, ("", None))
    return replace(
        first,
        word=word,
        statement="; ".join(f"by {way}: {item.statement}" for way, item in found.items()),
        spoken=any(item.spoken for item in found.values()),
        evidence=tuple(_evidence_of_each(found)),
        remedy=replace(remedy, note=f"{remedy.note} (by {way})") if remedy else None,
    )


def _evidence_of_each(found: Mapping[str, SiteFinding]) -> Iterator[Evidence]:
    """Each case and variant once, with what it says by each exporter."""
    told: dict[tuple[str, str], dict[str, str]] = {}
    for way, finding in found.items():
        for item in finding.evidence:
            told.setdefault((item.case, item.variant), {})[way] = item.text
    for key, texts in told.items():
        alike = len(texts) == len(found) and len(set(texts.values())) == 1
        said = texts.values() if alike else [f"by {way}: {text}" for way, text in texts.items()]
        yield Evidence(*key, next(iter(said)) if alike else "; ".join(said))


def along(said: Mapping[str, str]) -> str:
    """``needed 1.8.1 to 1.11.0, obsolete 1.12.1 to 2.15.0``; what was not measured ends no run."""
    runs: list[tuple[str, str, str]] = []
    for torch in versions.ordered(said):
        word = said[torch]
        if word == Workaround.UNKNOWN.value:
            continue
        if runs and runs[-1][0] == word:
            runs[-1] = (word, runs[-1][1], torch)
        else:
            runs.append((word, torch, torch))
    texts = [f"{word} at torch {first}" + (f" to {last}" if last != first else "") for word, first, last in runs]
    return ", ".join(texts) or "not measured"


def ends_of(evidence: Iterable[Evidence]) -> set[str]:
    """The words that cases and fixes have along the releases."""
    return {word for item in evidence for word in _END.findall(item.text)}


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
