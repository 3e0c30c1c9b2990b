"""The measured cases with the error of a text, each with what it shares with the text."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Self

from caniexport import versions
from caniexport.match.parse import ErrorEvidence, list_operator_keys, make_pattern, read_error, read_names, split_words
from caniexport.model.status import Exporter
from caniexport.operators import operator_key, operator_keys, operator_name
from caniexport.store import Dataset
from caniexport.store.views import Views

#: least letters and words of a part of a line that identifies an error
_LEAST_LETTERS, _LEAST_WORDS = 16, 3
#: least share of common words of two similar lines, weighted by how rare they are
_ALIKE = 0.6
#: most letters of words that are not counted (to, on, not)
_SHORT = 3
#: failing cells from which on the errors of a case are typical of it
_FEW_CELLS = 5
#: the weight of a case that fails with nothing else
_PURE = 2
#: what differs between two texts of one error
_NAMED = re.compile(r"['\"].*?['\"]|[\d…]+")


class Likeness(StrEnum):
    """What a case shares with an error text, the most first."""

    ERROR = "the same error"
    CAUSE = "the same cause"
    OPERATOR = "the same operator"
    WORDS = "similar words"


#: an error text is about the case: operator and pattern are the same
SURE = (Likeness.ERROR, Likeness.CAUSE)


@dataclass(frozen=True)
class SeenFailure:
    """Failures of a case with one message: how many ``cells``, and the newest of them. ``runtime`` is set where only
    another runtime than the one installed there gave it.
    """

    case: str
    message_id: str
    cells: int
    torch: str = ""
    exporter: str = ""
    opset: int | None = None
    runtime: str = ""


@dataclass(frozen=True)
class IndexedCase:
    """Title and operators of the original of a case."""

    title: str
    ops: tuple[str, ...]

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of its operators."""
        return operator_keys(self.ops)


@dataclass(frozen=True)
class Lead:
    """A case that an error text may be about; ``seen`` is where it last failed so, ``None`` where it never did."""

    case: str
    shares: Likeness
    score: float
    operator: str = ""
    seen: SeenFailure | None = None


@dataclass(frozen=True)
class ErrorMatch:
    """The evidence in an error text and all cases that it may be about, best first.

    ``messages`` are the measured messages, warnings and texts of onnx's checker that have its line, up to names and
    numbers, and name its operator.
    """

    evidence: ErrorEvidence
    leads: tuple[Lead, ...]
    messages: frozenset[str]

    @property
    def is_known(self) -> bool:
        """Whether a case fails with the same error of the same operator."""
        return bool(self.leads) and self.leads[0].shares in SURE


class ErrorIndex:
    """The errors of a dataset by their pattern, and its cases; made once for a dataset by :meth:`of`."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self._views = Views.of(dataset)
        cases = self._views.fetch(
            """SELECT "case", title, list_concat(aten_ops, onnx_ops) FROM variants
            WHERE variant = 'plain' AND corpus <> 'canary'"""
        )
        self.cases = {case: IndexedCase(title or "", tuple(ops or ())) for case, title, ops in cases}
        self._views.fetch(_FAILURES)
        #: the first lines of all failures, with their words
        self.words = {line: split_words(line) for (line,) in self._views.fetch("SELECT DISTINCT line FROM failure")}

    @classmethod
    def of(cls, dataset: Dataset) -> Self:
        """The index of a dataset, made when it is first asked for."""
        if "errors" not in dataset.cache:
            dataset.cache["errors"] = cls(dataset)
        made: Self = dataset.cache["errors"]
        return made

    @cached_property
    def cells(self) -> Counter[str]:
        """By case: how many of its cells fail."""
        return Counter(dict(self._views.fetch("""SELECT "case", sum(cells) FROM failure GROUP BY ALL""")))

    @cached_property
    def by_operator(self) -> Mapping[str, tuple[str, ...]]:
        """By an operator's key: the cases that are about it."""
        found: dict[str, list[str]] = defaultdict(list)
        for name, case in self.cases.items():
            for key in case.keys:
                found[key].append(name)
        return {key: tuple(cases) for key, cases in found.items()}

    @cached_property
    def operators(self) -> frozenset[str]:
        """The keys of all operators: those that cases are about, and those of torch and ONNX."""
        return frozenset(self.by_operator) | list_operator_keys()

    @cached_property
    def rarity(self) -> Mapping[str, float]:
        """The weight of a word: the fewer lines have it, the more."""
        counts = Counter(word for words in self.words.values() for word in words)
        return {word: math.log(1 + len(self.words) / count) for word, count in counts.items()}

    def weigh(self, words: Iterable[str]) -> float:
        """Return the weight of words together; an unknown word weighs as much as the rarest."""
        rarest = math.log(1 + len(self.words))
        return sum(self.rarity.get(word, rarest) for word in words)

    def find_lines(self, evidence: ErrorEvidence) -> frozenset[str]:
        """Return the lines with the pattern of the innermost reason of a text that has any."""
        for reason in evidence.reasons:
            mine, words = reason.pattern, split_words(reason.pattern)
            few = min(len(words), _LEAST_WORDS)
            near = (line for line, known in self.words.items() if len(known & words) >= few)
            found = frozenset(line for line in near if _is_same_pattern(mine, make_pattern(line)))
            if found:
                return found
        return frozenset()

    def find_failures(self, lines: Iterable[str]) -> list[SeenFailure]:
        """Return the failures with one of these lines."""
        query = "SELECT * EXCLUDE (line) FROM failure WHERE line IN (SELECT unnest($1))"
        return [SeenFailure(*row) for row in self._views.fetch(query, [list(lines)])]

    def find_quoting(self, evidence: ErrorEvidence) -> list[SeenFailure]:
        """Return the failures whose message, warning or checker's text has the innermost line of a text."""
        for reason in evidence.reasons:
            part = max(_NAMED.split(reason.line), key=len, default="").strip()
            if _is_telling(part):
                found = [SeenFailure(*row) for row in self._views.fetch(_QUOTING, [part])]
                return [item for item in found if item.case in self.cases]
        return []


#: the newest release, there a named exporter before the default call, at its own opset where it fails there
_NEWEST = """max_by({'t': torch, 'e': exporter, 'o': opset}, (coalesce(n, -1), exporter <> 'default',
    exporter = 'torchscript-trace', coalesce(is_own, false), opset))"""
_OWN = """LEFT JOIN version USING (torch)
        LEFT JOIN (SELECT torch, exporter, opset, is_own FROM call WHERE profile = 'newest')
            USING (torch, exporter, opset)"""
_FAILS = """variant = 'plain' AND works(status) IS DISTINCT FROM true AND status NOT IN ('skip', 'not_run')"""
_PLACED = "coalesce(p.t, '') AS torch, coalesce(p.e, '') AS exporter, p.o AS opset"
_FAILING_ROWS = f"""{_FAILS} AND status <> 'mismatch' AND message_id IS NOT NULL AND signature IS NOT NULL
    AND "case" IN (SELECT "case" FROM variants WHERE variant = 'plain' AND corpus <> 'canary')"""
#: the failures of originals: the line of the signature, then what :class:`SeenFailure` has
_FAILURES = f"""CREATE OR REPLACE TEMP TABLE failure AS
    SELECT array_to_string(string_split(signature, '|')[3:], '|') AS line, "case", message_id, cells,
        {_PLACED}, runtime
    FROM (
        SELECT signature, "case", message_id, count(*) AS cells, {_NEWEST} AS p, '' AS runtime
        FROM cells {_OWN} WHERE {_FAILING_ROWS} GROUP BY signature, "case", message_id
        UNION ALL BY NAME
        SELECT signature, "case", message_id, count(*) AS cells, runtime || ' ' || max(runtime_version) AS runtime
        FROM replays WHERE {_FAILING_ROWS} GROUP BY signature, "case", message_id, replays.runtime)"""
_QUOTING = f"""WITH named AS (SELECT DISTINCT message_id FROM message WHERE contains(text, $1)),
    cell AS (SELECT torch, exporter, opset, "case", variant, status, unnest([message_id, warning_id, checker_id]) AS id
        FROM cells WHERE variant = 'plain')
    SELECT "case", id, cells, {_PLACED} FROM (
        SELECT "case", id, count(*) AS cells, {_NEWEST} AS p, bool_or(works(status)) AS harmless
        FROM cell JOIN named ON named.message_id = id {_OWN} GROUP BY "case", id)
    WHERE NOT harmless"""


def _is_telling(words: str) -> bool:
    """Return whether a part of a line identifies an error by itself."""
    return len(words) >= _LEAST_LETTERS and len(words.split()) >= _LEAST_WORDS


def _is_same_pattern(mine: str, known: str) -> bool:
    """Return whether two patterns are the same, or the shorter identifies the longer."""
    if mine == known:
        return bool(mine) and len(split_words(mine)) > 1
    shorter, longer = sorted((mine, known), key=len)
    return _is_telling(shorter) and shorter in longer


def match_error(index: ErrorIndex, text: str) -> ErrorMatch:
    """Return the cases that an error text is about. If it names an operator, without those of others."""
    evidence = read_error(text)
    lines = index.find_lines(evidence)
    seen, same = index.find_failures(lines), frozenset[str]()
    if not (lines or evidence.operators):
        seen = index.find_quoting(evidence)
    if evidence.reasons and not (evidence.operators or seen):
        evidence = replace(evidence, operators=read_names(text, index.operators))
    if evidence.operator:
        seen, same = _keep_naming(index, evidence, seen)
    leads = [*_leads_by_pattern(index, evidence, seen, same), *_leads_by_operator(index, evidence)]
    if not leads and not evidence.operators:
        leads += _leads_by_words(index, evidence)
    asked = split_words(text)
    best: dict[str, Lead] = {}
    for lead in leads:
        weighed = replace(lead, score=round(lead.score + _score_words(index, lead, asked), 4))
        if lead.case not in best or _rank_lead(weighed) < _rank_lead(best[lead.case]):
            best[lead.case] = weighed
    found = sorted(best.values(), key=_rank_lead)
    return ErrorMatch(evidence, tuple(found), frozenset(item.message_id for item in seen))


def _rank_lead(lead: Lead) -> tuple[object, ...]:
    return list(Likeness).index(lead.shares), -lead.score, lead.case


def _leads_by_pattern(
    index: ErrorIndex, evidence: ErrorEvidence, seen: Iterable[SeenFailure], same: frozenset[str]
) -> Iterator[Lead]:
    """Yield the cases that fail with the pattern of a text; ``same`` are the messages with its very line."""
    key = operator_key(evidence.operator)
    of_case: dict[str, list[SeenFailure]] = defaultdict(list)
    for item in seen:
        of_case[item.case].append(item)
    for case, found in of_case.items():
        cells = sum(item.cells for item in found)
        pure = cells / (max(cells, index.cells[case]) + _FEW_CELLS)
        is_about = bool(key) and key in operator_keys(index.cases[case].ops[:1])
        if not key:
            shares = Likeness.WORDS
        elif evidence.is_of_exporter:
            shares = Likeness.ERROR if is_about else Likeness.CAUSE
        elif any(item.message_id in same for item in found):
            shares = Likeness.ERROR
        else:
            shares = Likeness.CAUSE if len(of_case) == 1 else Likeness.OPERATOR
        yield Lead(case, shares, _PURE * pure + is_about, evidence.operator, max(found, key=_recency))


def _recency(item: SeenFailure) -> tuple[object, ...]:
    """Return the sort key of failures: release, then calls by name, then opset."""
    is_called = item.exporter in (Exporter.TRACE.value, Exporter.DYNAMO.value)
    return versions.parse(item.torch or "0"), is_called, item.opset or 0, item.exporter, item.runtime, item.message_id


def _keep_naming(
    index: ErrorIndex, evidence: ErrorEvidence, seen: Sequence[SeenFailure]
) -> tuple[list[SeenFailure], frozenset[str]]:
    """Return the failures whose message names the operator of a text as the one that fails, and the messages that have
    a line of the text too.
    """
    name = operator_name(evidence.operator)
    texts = index.dataset.messages({item.message_id for item in seen})
    read = {message: read_error(text) for message, text in texts.items() if name in text.casefold().replace("_", "")}
    naming = {message for message, found in read.items() if operator_name(found.operator) == name}
    lines = {reason.bare_line for reason in evidence.reasons}
    same = {message for message in naming if lines & {reason.bare_line for reason in read[message].reasons}}
    return [item for item in seen if item.message_id in naming], frozenset(same)


def _leads_by_operator(index: ErrorIndex, evidence: ErrorEvidence) -> Iterator[Lead]:
    for position, op in enumerate(evidence.operators):
        for case in index.by_operator.get(operator_key(op), ()):
            score = 1 / (1 + position) / math.sqrt(len(index.cases[case].ops))
            yield Lead(case, Likeness.OPERATOR, score, op)


def _leads_by_words(index: ErrorIndex, evidence: ErrorEvidence) -> Iterator[Lead]:
    """Yield the cases whose errors have most of the words of a text."""
    mine = evidence.words
    weight = index.weigh(mine)
    alike: dict[str, float] = {}
    for line, words in index.words.items():
        both = mine & words
        shared = index.weigh(both)
        like = shared / (weight + index.weigh(words) - shared) if len(both) > _SHORT else 0
        if like >= _ALIKE:
            alike[line] = like
    for line, like in alike.items():
        yield from (Lead(item.case, Likeness.WORDS, like, "", item) for item in index.find_failures([line]))


def _score_words(index: ErrorIndex, lead: Lead, asked: frozenset[str]) -> float:
    """Return how much of a case's name, title and operators is in a text, plus 1 if it is named after the operator."""
    case = index.cases[lead.case]
    words = split_words(" ".join((lead.case.replace("-", " "), case.title)))
    own = {word for word in (*words, *(op.split("::")[-1].casefold() for op in case.ops)) if len(word) > _SHORT}
    name = lead.operator.rpartition("::")[2].casefold().replace("_", "-")
    is_named = bool(name) and f"-{name}-" in f"-{lead.case}-"
    return index.weigh(own & asked) / (index.weigh(own) or 1) + is_named
