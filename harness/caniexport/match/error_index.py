"""Every error of a dataset with what it says, and what is counted over all of them: made once for a dataset."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from caniexport.answers.select import CatalogueEntry, load
from caniexport.match.evidence import ErrorEvidence, Reason, only_wraps, speaks_alone
from caniexport.match.seen import SeenError, read_seen
from caniexport.match.sentences import Part, index_parts, read_parts
from caniexport.match.told import ToldError, read_told
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter
from caniexport.operators import operator_key, operator_keys, operator_name

if TYPE_CHECKING:
    from caniexport.store import Dataset

#: an error of more cases than this is met on the way to any of them: that a case has no other says nothing
_TOO_MANY = 300
#: a case with so few failing cells says little of what it fails with
_FEW_CELLS = 5
#: share of the cells with an error from which one exporter gives it
_MOST_OF_IT = 0.8
_NAMED = frozenset(name.value for name in Exporter if name is not Exporter.DEFAULT)
#: the two that write a file by one set of rules
_TORCHSCRIPT = (Exporter.TRACE.value, Exporter.SCRIPT.value)
_Key = TypeVar("_Key")


@dataclass(frozen=True)
class KnownError:
    """One error of the dataset, and what it says."""

    seen: SeenError
    told: ToldError

    @cached_property
    def key(self) -> str:
        """The key of the operator that fails; empty where none is named."""
        return operator_key(self.told.operator) if self.told.operator else ""

    @cached_property
    def name(self) -> str:
        """That operator as it is written."""
        return operator_name(self.told.operator)


@dataclass(frozen=True)
class ErrorIndex:
    """Every error of a dataset, and the catalogue of its cases: made once for a dataset by :func:`index_errors`.

    ``claimed`` has by case the words of the errors that documents say it ends with, ``listed`` the keys of the
    operators in torch's own tables, ``sentences`` the parts of torch's own sentences that are said of one operator.
    """

    entries: Mapping[tuple[str, str], CatalogueEntry] = field(repr=False)
    known: tuple[KnownError, ...] = field(repr=False)
    claimed: Mapping[str, frozenset[str]] = field(repr=False)
    listed: frozenset[str] = field(repr=False)
    sentences: Mapping[str, tuple[Part, ...]] = field(repr=False)

    @cached_property
    def operators(self) -> frozenset[str]:
        """The keys of all operators: those that cases are about, and those that torch's tables list."""
        return self.listed | frozenset(self.by_operator)

    @cached_property
    def cases_by_line(self) -> Mapping[str, frozenset[str]]:
        """The cases that have a line, its names included."""
        return _gather((line, item.seen.cases) for item in self.known for line in item.told.lines)

    @cached_property
    def cases_by_pattern(self) -> Mapping[tuple[str, str], frozenset[str]]:
        """The cases that have a pattern with an operator."""
        return _gather(((pattern, item.key), item.seen.cases) for item in self.known for pattern in item.told.patterns)

    @cached_property
    def operator_by_clause(self) -> Mapping[str, str]:
        """The operator of the clauses that are said of one operator only, and more than once."""
        found: dict[str, list[KnownError]] = defaultdict(list)
        for item in self.known:
            for clause in item.told.clauses:
                found[clause].append(item)
        return {
            clause: items[0].told.operator
            for clause, items in found.items()
            if len(items) > 1 and items[0].key and len({item.key for item in items}) == 1
        }

    @cached_property
    def rarity(self) -> Mapping[str, int]:
        """How much a word says: the fewer cases have it in an error, the more. Whole numbers: their sum is the same in
        any order, and in any language.
        """
        cases: dict[str, set[str]] = defaultdict(set)
        for item in self.known:
            for word in item.told.words:
                cases[word] |= item.seen.cases
        every = len({case for case, _ in self.entries})
        return {word: round(1000 * math.log(1 + every / len(found))) for word, found in cases.items()}

    @cached_property
    def rarest(self) -> int:
        """What a word says that no error has: as much as the rarest."""
        return max(self.rarity.values(), default=1)

    def weigh(self, words: Iterable[str]) -> int:
        """How much words say together."""
        rarity, rarest = self.rarity, self.rarest
        return sum(rarity.get(word, rarest) for word in words)

    @cached_property
    def weights(self) -> Mapping[frozenset[str], int]:
        """How much the words of each known error say together."""
        return {item.told.words: self.weigh(item.told.words) for item in self.known}

    @cached_property
    def purity(self) -> Mapping[tuple[str, str], float]:
        """By case and pattern: the share of its failing form's errors that are of the pattern, many counting more."""
        every: Counter[str] = Counter()
        of: Counter[tuple[str, str]] = Counter()
        for item in self.known:
            for place in item.seen.places:
                if place.variant == PLAIN:
                    every[place.case] += place.cells
                    told = (*item.told.patterns, *item.told.kinds)
                    of.update(dict.fromkeys(((place.case, words) for words in told), place.cells))
        few = {case: 0 if case in self.of_environment else _FEW_CELLS for case in every}
        return {key: cells / (every[key[0]] + few[key[0]]) for key, cells in of.items()}

    @cached_property
    def of_environment(self) -> frozenset[str]:
        """The cases of what is installed together: each was measured once, and its one error is what it is about."""
        places = (place for item in self.known for place in item.seen.places)
        return frozenset(place.case for place in places if not (place.torch or place.runtime))

    def purity_in(self, case: str, reason: Reason) -> float:
        """The share of the errors of a case's failing form that are a reason's."""
        if not reason.text:
            return self.purity.get((case, reason.kind), 0.0)
        known = self.patterns_in(reason.pattern)
        named = reason.names_operator or case in self.of_environment
        telling = (pattern for pattern in known if named or self.cases_with_pattern[pattern] <= _TOO_MANY)
        return max((self.purity.get((case, pattern), 0.0) for pattern in telling), default=0.0)

    @cached_property
    def exporters(self) -> Mapping[str, Counter[str]]:
        """By pattern, and by the name of an exception: the exporters that give it, by cells."""
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for item in self.known:
            for place in item.seen.places:
                for words in {*item.told.patterns, *item.told.kinds} if place.exporter in _NAMED else ():
                    found[words][place.exporter] += place.cells
        return found

    def exporters_beginning(self, words: str) -> Counter[str]:
        """The exporters that give errors whose pattern begins with these words, by cells."""
        return sum((cells for known, cells in self.exporters.items() if known.startswith(words)), Counter[str]())

    @cached_property
    def cases_with_pattern(self) -> Counter[str]:
        """How many cases have a pattern."""
        found = _gather((pattern, item.seen.cases) for item in self.known for pattern in item.told.patterns)
        return Counter({pattern: len(cases) for pattern, cases in found.items()})

    def patterns_in(self, pattern: str) -> tuple[str, ...]:
        """The known patterns that one has among its words, itself included."""
        return (pattern, *(known for known in self._telling_patterns if known != pattern and known in pattern))

    @cached_property
    def _telling_patterns(self) -> tuple[str, ...]:
        every = dict.fromkeys(pattern for item in self.known for pattern in item.told.patterns)
        return tuple(pattern for pattern in every if speaks_alone(pattern))

    @cached_property
    def by_operator(self) -> Mapping[str, tuple[CatalogueEntry, ...]]:
        """The failing forms that are about an operator."""
        found: dict[str, list[CatalogueEntry]] = defaultdict(list)
        for entry in self.entries.values():
            if entry.variant == PLAIN:
                for key in operator_keys(entry.ops):
                    found[key].append(entry)
        return {key: tuple(entries) for key, entries in found.items()}

    @cached_property
    def failing_operators(self) -> Mapping[str, Counter[str]]:
        """By case: the operators that its errors name, counted."""
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for item in self.known:
            for case in item.seen.cases:
                if item.key:
                    found[case][item.key] += 1
        return found


def index_errors(dataset: Dataset) -> ErrorIndex:
    """Every error of a dataset, read once and kept beside it."""
    if "errors" not in dataset.beside:
        dataset.beside["errors"] = _index(dataset)
    kept: ErrorIndex = dataset.beside["errors"]
    return kept


def _index(dataset: Dataset) -> ErrorIndex:
    rows = load(dataset)
    entries = {key: entry for key, entry in rows.catalogue.items() if entry.corpus != CANARY}
    seen = read_seen(dataset, entries, rows.torch)
    known = tuple(map(KnownError, seen, read_told(error.text for error in seen)))
    listed = operator_keys(str(row["op"]) for row in dataset.records("declared", {}))
    return ErrorIndex(entries, known, _claimed(dataset), listed, index_parts(read_parts()))


def _claimed(dataset: Dataset) -> Mapping[str, frozenset[str]]:
    """By case: what its claims say the failing form's error reads, as far as that tells it from others."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in dataset.records("claims", {"variant": (PLAIN,)}):
        message = str(json.loads(row["expects"] or "{}").get("message") or "")
        if speaks_alone(message) and not only_wraps(message):
            found[str(row["case"])].add(message.casefold())
    return {case: frozenset(messages) for case, messages in found.items()}


def exporter_of(where: ErrorIndex, evidence: ErrorEvidence) -> str:
    """The exporter that gives an error, by its words, by its exception, else by the words before its operator; empty
    where several do.
    """
    patterns = [known for reason in evidence.reasons for known in where.patterns_in(reason.pattern)]
    begins = [reason.begins for reason in evidence.reasons if speaks_alone(reason.begins)]
    told = [(words, where.exporters.get(words, Counter[str]())) for words in (*patterns, *evidence.kinds)]
    for words, cells in (*told, *((words, where.exporters_beginning(words)) for words in begins)):
        for exporter, most in cells.most_common(1):
            is_twin = exporter in _TORCHSCRIPT and words not in evidence.kinds
            if (sum(cells[name] for name in _TORCHSCRIPT) if is_twin else most) >= _MOST_OF_IT * cells.total():
                return exporter
    return ""


def _gather(pairs: Iterable[tuple[_Key, frozenset[str]]]) -> dict[_Key, frozenset[str]]:
    found: dict[_Key, set[str]] = defaultdict(set)
    for key, cases in pairs:
        found[key] |= cases
    return {key: frozenset(cases) for key, cases in found.items()}
