"""Which case of the corpus a place of the source is about: forms, operators that are named or left out, and words."""

from __future__ import annotations

import ast
import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from caniexport.scan.files import ParsedFile
from caniexport.scan.forms import FixForm, Knowledge, Profile, find, narrowed
from caniexport.scan.normal import TermReader, functions, top_level
from caniexport.scan.sides import LONG
from caniexport.scan.terms import CONSTANT, VARIABLE, CodeTerm, unique
from caniexport.scan.told import Told, ToldPlace


@dataclass(frozen=True)
class OnLines:
    """What is on the lines of a file: ``pieces`` by number, and operators."""

    pieces: tuple[tuple[int, int], ...]
    operators: tuple[tuple[int, str], ...]

    def between(self, first: int, last: int) -> tuple[frozenset[int], frozenset[str]]:
        """The pieces and the operators from one line to another."""
        pieces = self.pieces[bisect_left(self.pieces, (first, -1)) : bisect_right(self.pieces, (last + 1, -1))]
        listed = self.operators[bisect_left(self.operators, (first, "")) : bisect_right(self.operators, (last + 1, ""))]
        return frozenset(number for _, number in pieces), frozenset(op for _, op in listed)


def lines_of(source: ParsedFile, known: Knowledge, check: Callable[[], None]) -> OnLines:
    """What the functions of a file, and its statements outside them, have on their lines."""
    pieces: set[tuple[int, int]] = set()
    operators: set[tuple[int, str]] = set()
    inside = [TermReader(scope, check=check).read(function.body) for function, scope in functions(source.tree)]
    block, seen = top_level(source.tree)
    outside = TermReader(seen, check=check).read(block)
    candidates = narrowed(known.candidates, (term for terms in (*inside, outside) for term in terms))
    for terms in (*inside, outside):
        check()
        for number, on in find(terms, candidates).items():
            pieces |= {(line, number) for line in on}
    for terms in inside:  # tables and settings outside of functions are no model's operators
        operators |= {(term.line, term.op) for term in unique(terms) if term.op not in (VARIABLE, CONSTANT)}
    return OnLines(tuple(sorted(pieces)), tuple(sorted(operators)))


@dataclass(frozen=True)
class Candidate:
    """A case, the fix that is nearest, and what speaks for it, as numbers between 0 and 1; ``calls`` is 1 where its
    operator is called there, and half of that where it has none.
    """

    case: str
    variant: str
    named: float = 0.0
    left_out: float = 0.0
    form: float = 0.0
    failing: float = 0.0
    operators: float = 0.0
    words: float = 0.0
    few: float = 0.0
    said: float = 0.0
    calls: float = 0.0

    @property
    def score(self) -> float:
        """How well it fits."""
        return (
            2.0 * self.named + 1.5 * self.left_out + 2.5 * self.form + 1.5 * min(self.failing, 1.0)
            + 1.0 * self.operators + 2.5 * self.words + 0.5 * self.few + 1.5 * self.said
        )  # fmt: skip

    @property
    def is_same(self) -> bool:
        """Whether it is enough to say that the place is about this case, and no other of its operator."""
        known = max(self.named, self.calls) >= 1.0
        return self.form >= _SHARE or bool(self.said and known) or self.failing >= _WRITTEN

    def is_near(self, told: Told) -> bool:
        """Whether it is enough to name this case beside the operator."""
        if told is Told.PATCH and self.named >= 1.0:
            return bool(self.few) or max(self.form, self.operators, self.words) >= 0.2
        if self.form >= 0.6 or self.said:
            return True
        reason = max(self.named, self.left_out, self.failing)
        if reason >= 1.0 and (self.form >= 0.3 or self.operators >= 0.3):
            return self.score >= 3.0
        if self.failing >= 1.0 or (self.named >= 1.0 and self.score >= _NAMED):
            return True
        return self.named >= 1.0 and self.words >= (0.18 if self.few else 0.35)


class Ranking:
    """Ranks the cases of the corpus for a place."""

    def __init__(self, known: Knowledge) -> None:
        self.known = known
        counts = Counter(op for profile in known.profiles.values() for op in self._all(profile))
        self.rarity = {op: math.log(len(known.profiles) / count) for op, count in counts.items()}
        self.about = Counter(op for profile in known.profiles.values() for op in profile.leads)

    @staticmethod
    def _all(profile: Profile) -> frozenset[str]:
        return profile.calls.union(*profile.fixes.values()) if profile.fixes else profile.calls

    @cached_property
    def _forms(self) -> Mapping[str, list[tuple[FixForm, tuple[tuple[int, float], ...]]]]:
        found: dict[str, list[tuple[FixForm, tuple[tuple[int, float], ...]]]] = {}
        for form in self.known.forms:
            numbers = tuple((self.known.number(piece), weight) for piece, weight in form.pieces)
            found.setdefault(form.case, []).append((form, numbers))
        return found

    def rank(self, place: ToldPlace, lines: OnLines) -> list[Candidate]:
        """The cases that anything speaks for, best first."""
        here, calls = lines.between(place.first, place.last)
        there, others = lines.between(*place.instead) if place.instead else (frozenset(), frozenset())
        quoted = there | self._quoted(place.quoted)
        sayings = self.known.sayings if place.is_about_export else ()
        said = {fix: alone for pattern, fix, alone in sayings if pattern.search(place.said)}
        # what both branches have is no reason for either
        seen = _PlaceSeen(here - there, calls, quoted, others - calls, place.named, place.words, said)
        found = [self._candidate(profile, seen) for profile in self.known.profiles.values()]
        good = (item for item in found if item and (item.named >= 1.0 or place.told is not Told.PATCH))
        return sorted(good, key=lambda item: -item.score)

    def operator(self, place: ToldPlace, lines: OnLines) -> str:
        """The operator that a place is there for, whichever of its cases it is; empty where that is not plain."""
        if not place.is_about_export:
            return ""
        _, calls = lines.between(place.first, place.last)
        long = place.instead is not None and place.instead[1] - place.instead[0] > LONG
        _, others = lines.between(*place.instead) if place.instead and not long else (frozenset(), frozenset())
        # a branch that only leaves calls nothing, and takes the place of nothing
        left_out = others - calls if calls else frozenset()
        if "write_slice" in left_out:
            left_out |= {"copy"}
        told = (left_out & place.shown | place.avoided) & place.named
        if not calls:
            told -= _VAGUE  # nothing here takes the place of what is called everywhere
        blamed = place.blamed & place.named - _VAGUE
        named = place.most_told(told or blamed - calls or blamed)
        return named or self._rarest(place.left_out)

    def _rarest(self, operators: Sequence[str]) -> str:
        """Of these operators the one that the fewest cases have; empty where there is none."""
        return max(operators, key=lambda op: self.rarity.get(op, 0.0), default="")

    def alone(self, lines: OnLines, named: Callable[[int], frozenset[str]]) -> list[Formed]:
        """Forms that are findings without their author's words, by line; of one line the largest and its equals.

        ``named`` are the names of the functions and classes around a line, and the operators in these.
        """
        calls = frozenset(op for _, op in lines.operators)
        on: dict[int, list[int]] = {}
        for line, number in lines.pieces:
            on.setdefault(number, []).append(line)
        found: dict[int, list[tuple[float, float, FixForm]]] = {}
        there = {place for number in on for place in self._having.get(number, ())}
        for form, numbers in (self._alone[place] for place in sorted(there)):
            leads = self.known.profiles[form.case].leads
            if form.needs == "beside" and not leads & calls:
                continue
            here = [(number, weight) for number, weight in numbers if number in on]
            matched = sum(weight for _, weight in here)
            if matched / form.weight >= _SHARE:
                main = max(here, key=lambda item: item[1])
                for line in on[main[0]]:
                    if form.needs == "export" and not form.called & named(line):
                        continue
                    if form.needs == "operator" and (form.weight < _NAMED_FORM or not leads & named(line)):
                        continue
                    found.setdefault(line, []).append((main[1], matched / form.weight, form))
        return [Formed(line, _best_of(listed)) for line, listed in sorted(found.items())]

    @cached_property
    def _alone(self) -> list[tuple[FixForm, tuple[tuple[int, float], ...]]]:
        """The forms that may be findings by themselves, with their pieces' numbers."""
        known = (item for case, listed in self._forms.items() if case in self.known.profiles for item in listed)
        return [item for item in known if not item[0].failing and (item[0].needs != "export" or item[0].called)]

    @cached_property
    def _having(self) -> Mapping[int, list[int]]:
        """By piece: the places of the forms in :attr:`_alone` that have it."""
        found: dict[int, list[int]] = {}
        for place, (_, numbers) in enumerate(self._alone):
            for number, _ in numbers:
                found.setdefault(number, []).append(place)
        return found

    def choose(self, lines: OnLines, ours: tuple[int, int], other: tuple[int, int]) -> list[Candidate]:
        """Of a branch that has the form of a fix while the other has the failing form: the cases, best first."""
        there, others = lines.between(*other)
        if not there & self._telling:
            return []
        here, calls = lines.between(*ours)
        seen = _PlaceSeen(here, calls, there, others - calls, frozenset(), frozenset(), {})
        cases = {case for number in there & self._telling for case in self._failing_of[number]}
        found = [self._candidate(self.known.profiles[case], seen) for case in cases]
        good = [item for item in found if item and item.form >= _SHARE and max(item.failing, item.left_out) >= 1.0]
        return sorted(good, key=lambda item: -item.score)

    @cached_property
    def _failing_of(self) -> Mapping[int, list[str]]:
        """By piece of a failing form that tells: its cases."""
        found: dict[int, list[str]] = {}
        for case, profile in self.known.profiles.items():
            for piece in profile.plain:
                if self._tells(piece):
                    found.setdefault(self.known.number(piece), []).append(case)
        for form in self.known.forms:
            # what is written to by a number may be a list
            if form.failing and (not form.needs or form.pieces[0][0].op == "write_slice"):
                found.setdefault(self.known.number(form.pieces[0][0]), []).append(form.case)
        return found

    @cached_property
    def _telling(self) -> frozenset[int]:
        return frozenset(self._failing_of)

    def _quoted(self, code: Sequence[str]) -> frozenset[int]:
        terms = [term for line in code for term in TermReader().read(ast.parse(line).body)]
        return frozenset(find(terms, self.known.candidates))

    def _candidate(self, profile: Profile, seen: _PlaceSeen) -> Candidate | None:
        named = 1.0 if profile.leads & seen.named else 0.6 if self._rare(profile.calls & seen.named) else 0.0
        left_out = 1.0 if self._rare(profile.leads & seen.left_out) else 0.0
        failing = self._failing(profile, seen.there)
        told = max(named, left_out, min(failing, 1.0))
        variant, form = self._best_form(profile.case, seen.here, told >= 1.0, failing >= 1.0)
        said = [fix for case, fix in seen.said if case == profile.case]
        alone = any(enough for (case, _), enough in seen.said.items() if case == profile.case)
        if not (told or form or said):
            return None
        operators, other = self._operators(profile, seen.calls)
        most = max((self.about[op] for op in profile.leads & seen.named), default=9)
        return Candidate(
            profile.case, variant or (said[0] if said else other) or "?", named, left_out, form, failing, operators,
            self._words(profile, seen.words), 1.0 if most <= _FEW else 0.0,
            1.0 if said else 0.0, 1.0 if alone or profile.leads & seen.calls else 0.0 if profile.leads else 0.5,
        )  # fmt: skip

    def _failing(self, profile: Profile, there: Collection[int]) -> float:
        """The share of the failing form that is in the branch that is taken elsewhere, or in a comment."""
        forms = self._forms.get(profile.case, ())
        written = [form for form, numbers in forms if form.failing and numbers[0][0] in there]
        if written:
            return 1.0 if all(form.needs for form in written) else _WRITTEN
        telling = self._told_by[profile.case] if there else ()
        whole = sum(weight for _, weight in telling)
        return sum(weight for number, weight in telling if number in there) / whole if whole else 0.0

    @cached_property
    def _told_by(self) -> Mapping[str, tuple[tuple[int, int], ...]]:
        """By case: the pieces of its failing form that tell, with their weights."""
        return {
            case: tuple(
                (self.known.number(piece), piece.weight)
                for piece in profile.plain
                if piece.weight > 1 and self._tells(piece)
            )
            for case, profile in self.known.profiles.items()
        }

    def is_distinct(self, form: FixForm) -> bool:
        """Whether a form has a rare operator: arithmetic alone is written for any reason."""
        return any(self._tells(piece) for piece, _ in form.pieces)

    def _tells(self, piece: CodeTerm) -> bool:
        return any(self.rarity.get(term.op, 0.0) > _RARE and term.op not in _PYTHON for term in piece.below())

    def _rare(self, ops: Iterable[str]) -> bool:
        return any(self.rarity.get(op, _RARE + 1) > _RARE and op not in _PYTHON for op in ops)

    def _best_form(self, case: str, here: Collection[int], told: bool, failing: bool) -> tuple[str, float]:
        best = ("", 0.0)
        for form, numbers in self._forms.get(case, ()):
            # a product or a sum alone is written for any reason
            beside = failing if form.weight < _NAMED_FORM and form.pieces[0][0].op in _PYTHON else told
            if form.failing or (form.needs in ("operator", "beside") and not beside):
                continue
            whole = sum(weight for _, weight in numbers)
            share = sum(weight for number, weight in numbers if number in here) / whole
            if share > best[1]:
                best = (form.variant, share)
        return best

    def _operators(self, profile: Profile, calls: frozenset[str]) -> tuple[float, str]:
        """The share of the operators that a fix brings, by their rarity; of the fix that has most of them here."""
        best = (0.0, "")
        for variant, ops in profile.fixes.items():
            whole = sum(self.rarity[op] for op in ops)
            share = sum(self.rarity[op] for op in ops & calls) / max(whole, _LITTLE) if whole else 0.0
            best = max(best, (share, variant))
        return best

    def _words(self, profile: Profile, words: frozenset[str]) -> float:
        """How many of the words are the case's, by their rarity: between 0 and 1."""
        rarity = self.known.rarity
        common = sum(rarity[word] ** 2 for word in words & profile.words)
        mine = math.sqrt(sum(rarity.get(word, 0.0) ** 2 for word in words))
        other = math.sqrt(sum(rarity[word] ** 2 for word in profile.words))
        return common / (mine * other) if mine and other else 0.0


@dataclass(frozen=True)
class _PlaceSeen:
    """What a place has: pieces and operators ``here`` and in the branch that is taken elsewhere, names and words."""

    here: frozenset[int]
    calls: frozenset[str]
    there: frozenset[int]
    left_out: frozenset[str]
    named: frozenset[str]
    words: frozenset[str]
    said: Mapping[tuple[str, str], bool]


#: the logarithm of how many times fewer cases have an operator than there are, where it tells
_RARE = 2.5
#: the score with which a case of the named operator is taken
_NAMED = 2.9
#: operators that lists, dictionaries and numbers of Python have, too
_PYTHON = frozenset(
    "index item slice list size floor_divide remainder add mul pow in is both max min sum round abs int float".split()
)
#: operators that are named for many reasons
_VAGUE = frozenset(
    "tensor append rand randn zeros linear conv2d clone copy sum split where arange dropout embedding softmax reshape "
    "view cat stack max min add mul div not neg matmul relu sigmoid batchnorm expand detach item eq ne lt le and or "
    "prim::pythonop".split()
)
#: operators of a fix that are rarer together
_LITTLE = 6.0
#: cases about an operator, of which one is taken for the named operator alone
_FEW = 2
#: of a form's weight, what is found of it at least
_SHARE = 0.6
#: operators that a form has at least that is a finding by the name of its function
_NAMED_FORM = 2
#: what a failing form counts that is written in ``cases/forms.toml``; one that is a case's own counts its share
_WRITTEN = 2.0


@dataclass(frozen=True)
class Formed:
    """A line on which a form is, and the fixes that have it, the nearest first."""

    line: int
    forms: tuple[FixForm, ...]

    @property
    def fixes(self) -> tuple[tuple[str, str], ...]:
        """The fixes, each once."""
        return tuple(dict.fromkeys((form.case, form.variant) for form in self.forms))


def _best_of(found: Sequence[tuple[float, float, FixForm]]) -> tuple[FixForm, ...]:
    most = max(weight for weight, _, _ in found)
    largest = [(weight, share, form) for weight, share, form in found if weight >= _AS_LARGE * most]
    return tuple(form for _, _, form in sorted(largest, key=lambda item: (-item[1], -item[0])))


#: of the largest form's weight, what another's is that is told beside it
_AS_LARGE = 0.9
