"""From an error text to the cases that fail alike, each with what it shares with the text and how much that means."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from caniexport.answers.select import CatalogueEntry
from caniexport.match.error_index import ErrorIndex, KnownError
from caniexport.match.evidence import LEAST_WORDS, ErrorEvidence, read_error, read_names, split_words
from caniexport.model.case import PLAIN
from caniexport.operators import operator_key, operator_keys, operator_name

#: an error that so many cases have does not tell which of them is meant
_MOST_CASES = 4
#: share of the two texts' words, weighed by how rare they are, from which they are alike
_ALIKE = 0.6
#: words of so few letters (to, on, not) say nothing of what an error is about
_SHORT = 3
_MOST_LEADS = 12
#: what the TorchScript exporter says of a rule of its own, also where that is called as an operator of ONNX
_OF_EXPORTER = re.compile(r"ONNX export of (?:operator )?\w|ONNX export failed on \w|\w to ONNX opset version \d")
#: what the share of the words asked for counts, and that of a known error's, beside the share of both
_OF_MINE, _OF_THEIRS = 0.95, 0.9
#: what it counts that a case fails with nothing else
_PURE = 2
_DIGITS = re.compile(r"\b\d+\b")


class Confidence(Enum):
    """What a lead shares with an error, the most first."""

    EXACT = "the same error"
    CAUSE = "the same cause"
    OPERATOR = "the same operator"
    SIMILAR = "a similar error"


#: what is surely the cause
SURE = (Confidence.EXACT, Confidence.CAUSE)


@dataclass(frozen=True)
class Lead:
    """A case that an error text may be about. ``torch``, ``exporter`` and ``opset`` place the newest cell that has the
    error ``text``; all are empty where only the operator is shared.
    """

    entry: CatalogueEntry
    confidence: Confidence
    why: str
    score: float
    variant: str = PLAIN
    torch: str = ""
    exporter: str = ""
    opset: int | None = None
    runtime: str = ""
    text: str = ""

    @property
    def case(self) -> str:
        """The case's name."""
        return self.entry.case


@dataclass(frozen=True)
class ErrorMatch:
    """What an error text is about: the evidence in it, and cases, best first; none where nothing fails alike.

    ``cases`` is the number of all cases that share something with it, ``alike`` of those that share as much as the
    first.
    """

    evidence: ErrorEvidence
    leads: tuple[Lead, ...]
    cases: int
    alike: int


def match_error(where: ErrorIndex, text: str) -> ErrorMatch:
    """The cases that an error text is about. Where it names an operator, cases of other operators are left out."""
    evidence = read_error(text)
    if evidence.reasons and not evidence.operators and not any(item.speaks_alike(evidence) for item in where.known):
        evidence = replace(evidence, operators=read_names(text, where.operators))
    best: dict[str, Lead] = {}
    for lead in (*_by_errors(where, evidence), *_by_operator(where, evidence), *_by_claims(where, evidence, text)):
        weighed = _weighed(lead, where, evidence, text)
        if lead.case not in best or _rank(weighed) < _rank(best[lead.case]):
            best[lead.case] = weighed
    found = sorted(best.values(), key=_rank)
    alike = sum(lead.confidence is found[0].confidence for lead in found)
    return ErrorMatch(evidence, tuple(found[:_MOST_LEADS]), len(found), alike)


def _rank(lead: Lead) -> tuple[object, ...]:
    return list(Confidence).index(lead.confidence), -lead.score, lead.variant != PLAIN, lead.case


def _by_errors(where: ErrorIndex, evidence: ErrorEvidence) -> Iterator[Lead]:
    keys = dict.fromkeys(map(operator_key, evidence.operators))
    known = [item for key in keys for item in where.by_key.get(key, ())] if keys else where.known
    is_rule = _is_rule(evidence)
    for item in known:
        confidence = _compare(where, evidence, item, is_rule=is_rule)
        if confidence is None:
            continue
        like = _likeness(where, evidence.words, item.words)
        like += any(item.same_line(reason) for reason in evidence.reasons)
        for place in item.places:
            entry = where.entries[place.case, place.variant]
            shared = _as_far_as(confidence, entry, evidence.operator)
            yield Lead(
                entry, shared, shared.value, like, place.variant, place.torch, place.exporter, place.opset,
                place.runtime, item.text,
            )  # fmt: skip


def _as_far_as(confidence: Confidence, entry: CatalogueEntry, operator: str) -> Confidence:
    """Similar at most: an error that only a workaround has. The same cause at most: one of an operator that a case is
    not about.
    """
    if entry.variant != PLAIN:
        return Confidence.SIMILAR
    about = not operator or operator_key(operator) in operator_keys(entry.ops[:1])
    return Confidence.CAUSE if confidence is Confidence.EXACT and not about else confidence


def _compare(where: ErrorIndex, evidence: ErrorEvidence, item: KnownError, *, is_rule: bool) -> Confidence | None:
    """How a known error relates to the evidence; ``None`` for not at all. ``is_rule``: see :func:`_is_rule`."""
    if evidence.only_named:
        return Confidence.SIMILAR if set(evidence.kinds) & set(item.kinds) else None
    first = operator_key(evidence.operator) if evidence.operator else ""
    # a key is of several operators that are alike: the same error is of the very one
    is_it = bool(first) and item.key == first and item.name == operator_name(evidence.operator)
    for reason in evidence.reasons:
        line = item.same_line(reason)
        if line and not reason.warns:
            alone = len(where.cases_by_line[line]) == 1 and line == reason.exact
            # ONNX's operators fail in one way for several causes, unless one case alone ends just so
            if is_it and (is_rule or alone):
                return Confidence.EXACT if is_rule else Confidence.CAUSE
            return Confidence.SIMILAR
        pattern = "" if line else item.same_pattern(reason)
        if pattern and is_it:
            few = len(where.cases_by_pattern[pattern, item.key]) <= _MOST_CASES
            return Confidence.CAUSE if few or is_rule else Confidence.SIMILAR
        if line or pattern:
            return Confidence.SIMILAR
    if first and item.key != first:
        return None
    return Confidence.SIMILAR if _likeness(where, evidence.words, item.words) >= _ALIKE else None


def _is_rule(evidence: ErrorEvidence) -> bool:
    """Whether the operator is torch's: the exporter has no rule for it. ONNX's fail for what came before them."""
    return "::" in evidence.operator or any(_OF_EXPORTER.search(reason.line) for reason in evidence.reasons)


def _by_operator(where: ErrorIndex, evidence: ErrorEvidence) -> Iterator[Lead]:
    for position, op in enumerate(evidence.operators):
        key = operator_key(op)
        for entry in where.by_operator.get(key, ()):
            failing = where.failing_operators.get(entry.case, Counter())
            share = failing[key] / (failing.total() or 1)
            score = (1.0 + share) / (1 + position) / math.sqrt(len(entry.ops))
            yield Lead(entry, Confidence.OPERATOR, f"{Confidence.OPERATOR.value}, {op}", score)


def _by_claims(where: ErrorIndex, evidence: ErrorEvidence, text: str) -> Iterator[Lead]:
    """Cases whose documents name the error, where the text names no operator that they could be about."""
    for case in where.claimed if not evidence.operators else ():
        entry = where.entries.get((case, PLAIN))
        if entry is not None and _claims(where, case, text):
            yield Lead(entry, Confidence.SIMILAR, Confidence.SIMILAR.value, 0.0)


def _claims(where: ErrorIndex, case: str, text: str) -> bool:
    """Whether a document says of a case that it ends with words of the text."""
    folded = text.casefold()
    return any(message in folded for message in where.claimed.get(case, ()))


def _weighed(lead: Lead, where: ErrorIndex, evidence: ErrorEvidence, text: str) -> Lead:
    """Of many cases with one error, the one that fails with nothing else, and whose own words are the text's, leads."""
    own = _own_words(lead.entry)
    asked = split_words(text) | frozenset(_DIGITS.findall("\n".join(reason.line for reason in evidence.reasons)))
    about = where.weigh(own & asked) / (where.weigh(own) or 1)
    said = [words for reason in evidence.reasons if not reason.warns for words in (reason.pattern or reason.kind,)]
    pure = max((where.purity.get((lead.case, words), 0.0) for words in said), default=0.0)
    # of an error that many have, its words say nothing; what only a workaround has says less of the case
    share = 1 if lead.confidence is not Confidence.SIMILAR else 0.5 if lead.variant == PLAIN else 0.25
    score = lead.score * share + about + _PURE * pure + _claims(where, lead.case, text)
    return replace(lead, score=round(score + _has_name(lead.case, evidence.operator), 4))


def _has_name(case: str, operator: str) -> bool:
    """Whether a case is named after an operator: of cases with one error it is about that, the others meet it."""
    name = operator.rpartition("::")[2].casefold().replace("_", "-")
    return bool(name) and f"-{name}-" in f"-{case}-"


def _own_words(entry: CatalogueEntry) -> frozenset[str]:
    """The words of a case's name, title and operators."""
    text = " ".join((entry.case.replace("-", " "), entry.title, *entry.ops))
    words = split_words(text) | {op.split("::")[-1].casefold() for op in entry.ops}
    return frozenset(word for word in words if len(word) > _SHORT) | frozenset(_DIGITS.findall(text))


def _likeness(where: ErrorIndex, mine: frozenset[str], theirs: frozenset[str]) -> float:
    """How much of one of two texts is in the other; a word that no error has weighs as much as the rarest."""
    both = mine & theirs
    if len(both) < LEAST_WORDS:
        return 0.0
    shared, of_mine, of_theirs = where.weigh(both), where.weigh(mine), where.weights[theirs]
    whole = shared / (of_mine + of_theirs - shared)
    return max(whole, _OF_MINE * min(shared / of_mine, 1.0), _OF_THEIRS * shared / of_theirs)
