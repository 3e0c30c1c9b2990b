"""From an error text to the cases that fail alike, each with what it shares with the text and how much that means."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial

from caniexport.answers.select import CatalogueEntry
from caniexport.match.alike import same_line, same_pattern, speaks_alike
from caniexport.match.complete import add_beside, add_mentioned, add_named, read_completed
from caniexport.match.error_index import ErrorIndex, KnownError
from caniexport.match.evidence import LEAST_WORDS, ErrorEvidence, Reason, split_words
from caniexport.match.mentions import OF_TORCH
from caniexport.match.prose import find_phrase
from caniexport.match.seen import named_opset
from caniexport.model.case import PLAIN
from caniexport.operators import operator_key, operator_keys, operator_name

#: an error that so many cases have does not tell which of them is meant
_MOST_CASES = 4
#: share of the two texts' words, weighed by how rare they are, from which they are alike
_ALIKE = 0.6
#: words of so few letters (to, on, not) say nothing of what an error is about
_SHORT = 3
_MOST_LEADS = 12
#: which lead is of an operator that is only named, where no case is surely meant
_BESIDE_AT = 2
#: what an exception that is the same adds to how alike two texts are
_RAISED = 2.0
#: share of a case's own words in a text that names no operator, from which the text is about the case
_LEAST_ABOUT = 0.15
#: words of a line from which one case that has it is no accident
_LONG_LINE = 12
#: what numpy tells any program
_OF_NUMPY = re.compile(
    r"cannot reshape array of size|operands could not be broadcast together|could not broadcast input array"
    r"|setting an array element|only integers, slices|is out of bounds for axis"
)
#: what is said of an operator that nobody has registered
_OF_ONES_OWN = re.compile(r"is not a registered function/op|Couldn't export Python operator|unrecognized namespace")
#: what the TorchScript exporter says of a rule of its own, also where that is called as an operator of ONNX
_OF_EXPORTER = re.compile(r"ONNX export of (?:operator )?\w|ONNX export failed on \w|\w to ONNX opset version \d")
#: what the share of the words asked for counts, and that of a known error's, beside the share of both
_OF_MINE, _OF_THEIRS = 0.95, 0.9
#: what it counts that a case fails with nothing else
_PURE = 2
#: what it counts that a case has the operator's name: of cases with one error it is about that, the others meet it
_HAS_ITS_NAME = {"the same error": 0.25, "the same cause": 0.25, "the same operator": 1.0}
#: what it counts that a case's title has the operator as the text spells it (``aten::lift_fresh``)
_TITLED = 0.5
_NUMBER = re.compile(r"(?<!index: )(?<!Got: )(?<!Expected: )\b\d+\b")
#: the dimensions in an operator's name
_DIMENSIONS = re.compile(r"(?<=[a-z])[123]d$")
#: what is said of an opset beside the error's own line
_VERSION = re.compile(r"\b[Vv]ersion \d+")


class Confidence(Enum):
    """What a lead shares with an error, the most first."""

    EXACT = "the same error"
    CAUSE = "the same cause"
    OPERATOR = "the same operator"
    SIMILAR = "a similar error"
    WORDS = "its words"


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
    text, evidence = read_completed(where, text)
    leads = _leads(where, evidence, text)
    if not leads and not evidence.operators:
        evidence = add_named(where, evidence, text)
        leads = [*_by_operator(where, evidence), *_by_name(where, evidence), *_by_phrase(where, evidence, text)]
    if evidence.reasons and not evidence.operators and not any(speaks_alike(evidence, item) for item in where.known):
        evidence = add_mentioned(where, evidence, text)
        leads += _by_operator(where, evidence)
    best: dict[str, Lead] = {}
    for lead in leads:
        if lead.case not in best or _preferred(lead) < _preferred(best[lead.case]):
            best[lead.case] = lead
    opset = _named_opset(evidence)
    placed = {_form(lead): lead for lead in reversed(leads) if opset and lead.opset == opset}
    at_opset = [_placed_as(lead, placed.get(_form(lead), lead)) for lead in best.values()]
    found = [_weighed(lead, where, evidence, text) for lead in at_opset]
    verbatim = _with_line(where, evidence)
    found.sort(key=partial(_rank, verbatim=verbatim))
    evidence = add_beside(where, evidence, text)
    found = _with_beside(found, [_weighed(lead, where, evidence, text) for lead in _by_beside(where, evidence)])
    alike = sum(lead.confidence is found[0].confidence for lead in found)
    return ErrorMatch(evidence, tuple(found[:_MOST_LEADS]), len(found), alike)


def _named_opset(evidence: ErrorEvidence) -> int | None:
    return named_opset("\n".join(reason.line for reason in evidence.reasons))


def _form(lead: Lead) -> tuple[str, str, Confidence]:
    return lead.case, lead.variant, lead.confidence


def _placed_as(lead: Lead, other: Lead) -> Lead:
    """A lead at the place of another one, which has the opset that the text names."""
    return replace(other, entry=lead.entry, why=lead.why, score=lead.score)


def _with_line(where: ErrorIndex, evidence: ErrorEvidence) -> frozenset[str]:
    """The few cases that end with a line of a text, word for word."""
    lines = (where.cases_by_line.get(reason.exact, frozenset()) for reason in evidence.reasons if not reason.warns)
    return frozenset[str]().union(*(cases for cases in lines if len(cases) <= _MOST_CASES))


def _leads(where: ErrorIndex, evidence: ErrorEvidence, text: str) -> list[Lead]:
    """Every case that shares something with a text, as often as it does."""
    said = (*_by_called(where, evidence), *_by_claims(where, evidence, text), *_by_name(where, evidence))
    return [*_by_errors(where, evidence), *_by_operator(where, evidence), *said]


def _rank(lead: Lead, verbatim: frozenset[str]) -> tuple[object, ...]:
    is_sure = lead.confidence in SURE
    confidence = list(Confidence).index(lead.confidence)
    return confidence, not is_sure and lead.case not in verbatim, -lead.score, lead.variant != PLAIN, lead.case


def _preferred(lead: Lead) -> tuple[object, ...]:
    """Of a case's leads the surest, of equals that of its failing form: a fix may fail alike."""
    return list(Confidence).index(lead.confidence), lead.variant != PLAIN, -lead.score


def _by_errors(where: ErrorIndex, evidence: ErrorEvidence) -> Iterator[Lead]:
    asked = {operator_key(op) for op in evidence.operators}
    first = operator_key(evidence.operator) if evidence.operator else ""
    opset = _named_opset(evidence)
    for item in where.known:
        if first and item.key not in asked and not _whatever_operator(evidence, item):
            continue
        confidence = _compare(where, evidence, item, first)
        if confidence is None:
            continue
        like = _likeness(where, evidence.words, item.told.words) + _RAISED * _raises_alike(evidence, item)
        like += _rarely(where, evidence, item)
        for place in item.seen.places:
            entry = where.entries.get((place.case, place.variant))
            if entry is not None:
                shared = _as_far_as(confidence, entry, first)
                yield Lead(
                    entry, shared, shared.value, like, place.variant, *place.named(opset), place.runtime,
                    item.seen.text,
                )  # fmt: skip


def _whatever_operator(evidence: ErrorEvidence, item: KnownError) -> bool:
    """Whether an error of another operator, or of none, is alike all the same: word for word that of an error which
    names none, or one of those that an operator of one's own has.
    """
    for reason in evidence.reasons:
        if item.key == "" and reason.tells and not reason.names_operator and reason.exact in item.told.lines:
            return True
        if _OF_ONES_OWN.search(reason.line) and reason.pattern in item.told.patterns:
            return True
    return False


def _raises_alike(evidence: ErrorEvidence, item: KnownError) -> bool:
    """Whether both end with the same exception; whether they warn alike counts where the text only warns."""
    raised = [reason for reason in evidence.reasons if not reason.warns] or evidence.reasons
    return any(same_line(reason, item) for reason in raised)


def _rarely(where: ErrorIndex, evidence: ErrorEvidence, item: KnownError) -> float:
    """How few cases have a line of both: of several things that a text says, the rarest tells the most."""
    several = evidence.reasons if len(evidence.reasons) > 1 else ()
    lines = filter(None, (same_line(reason, item) for reason in several))
    return max((1 / len(where.cases_by_line[line]) for line in lines), default=0.0)


def _as_far_as(confidence: Confidence, entry: CatalogueEntry, operator: str) -> Confidence:
    """Similar at most: an error that only a fix has. The same cause at most: one of an operator that a case is not
    about.
    """
    about = not operator or operator in operator_keys(entry.ops[:1])
    if entry.variant != PLAIN:
        return Confidence.SIMILAR
    return Confidence.CAUSE if confidence is Confidence.EXACT and not about else confidence


def _compare(where: ErrorIndex, evidence: ErrorEvidence, item: KnownError, first: str) -> Confidence | None:
    """How a known error relates to the evidence; ``None`` for not at all."""
    agrees = bool(first) and item.key == first
    # a key is of several operators that are alike: the same error is of the very one
    is_it = agrees and item.name == operator_name(evidence.operator)
    if evidence.only_named:
        return Confidence.SIMILAR if set(evidence.kinds) & set(item.told.kinds) else None
    for reason in evidence.reasons:
        line = same_line(reason, item)
        if line:
            of_one = len(where.cases_by_line.get(line, ())) == 1 and (not item.key or line == reason.exact)
            # ONNX's operators fail in one way for several causes, unless the case alone ends just so
            if is_it and of_one and line == reason.exact and not _is_rule(evidence) and not reason.warns:
                return Confidence.CAUSE
            told = _is_rule(evidence) if is_it else not first and of_one and not _OF_NUMPY.search(line)
            return Confidence.EXACT if told and not reason.warns else Confidence.SIMILAR
        pattern = same_pattern(reason, item) if reason.tells else ""
        if pattern:
            few = len(where.cases_by_pattern[pattern, item.key]) <= _MOST_CASES
            return Confidence.CAUSE if is_it and (few or _is_rule(evidence)) else Confidence.SIMILAR
    if first and not agrees:
        return None
    if any(clause in evidence.patterns for clause in item.told.clauses):
        return Confidence.SIMILAR
    return Confidence.SIMILAR if _likeness(where, evidence.words, item.told.words) >= _ALIKE else None


def _is_rule(evidence: ErrorEvidence) -> bool:
    """Whether the operator is torch's: the exporter has no rule for it. ONNX's fail for what came before them."""
    if "::" in evidence.operator or " " in evidence.operator:
        return True
    return any(_OF_EXPORTER.search(reason.line) for reason in evidence.reasons)


def _by_operator(where: ErrorIndex, evidence: ErrorEvidence) -> Iterator[Lead]:
    for position, op in enumerate(evidence.operators):
        key = operator_key(op)
        for entry in where.by_operator.get(key, ()):
            failing = where.failing_operators.get(entry.case, Counter())
            share = failing[key] / (failing.total() or 1)
            score = (1.0 + share) / (1 + position) / math.sqrt(len(entry.ops))
            yield Lead(entry, Confidence.OPERATOR, f"{Confidence.OPERATOR.value}, {op}", score)


def _by_beside(where: ErrorIndex, evidence: ErrorEvidence) -> Iterator[Lead]:
    """Cases about the operators that a text names besides."""
    for position, op in enumerate(evidence.beside):
        for entry in where.by_operator.get(operator_key(op), ()):
            score = 1 / (1 + position) / math.sqrt(len(entry.ops))
            yield Lead(entry, Confidence.WORDS, f"it names {op}", score)


def _with_beside(found: list[Lead], beside: list[Lead]) -> list[Lead]:
    """The leads, and of each operator named besides the best case: the first of them third, where no lead is sure and
    it is more about the text than the lead there.
    """
    known = {lead.case for lead in found}
    best: dict[str, Lead] = {}
    for lead in sorted(beside, key=lambda lead: (-lead.score, lead.case)):
        if lead.case not in known and lead.why not in best:
            best[lead.why] = lead
            known.add(lead.case)
    others = [best[why] for why in dict.fromkeys(lead.why for lead in beside) if why in best]
    third = found[_BESIDE_AT:][:1]
    closer = third and others and found[0].confidence is Confidence.SIMILAR and others[0].score > third[0].score
    at = _BESIDE_AT if closer else len(found)
    return [*found[:at], *others[:1], *found[at:], *others[1:]]


def _by_called(where: ErrorIndex, evidence: ErrorEvidence) -> Iterator[Lead]:
    """Cases about what the line shown calls, that end with an exception of the text, where it names no operator."""
    kinds = [reason.kind for reason in evidence.reasons if reason.kind and not reason.warns]
    for name in evidence.called if not evidence.operators else ():
        for entry in where.by_operator.get(operator_key(name), ()):
            if any(where.purity.get((entry.case, kind)) for kind in kinds):
                yield Lead(entry, Confidence.SIMILAR, Confidence.SIMILAR.value, 0.0)


def _by_name(where: ErrorIndex, evidence: ErrorEvidence) -> Iterator[Lead]:
    """Cases that are named after a function of torch in the text which is no operator (``torch.vmap``)."""
    lines = "\n".join(reason.line for reason in evidence.reasons)
    for name in frozenset(OF_TORCH.findall(lines)) if not evidence.operators else ():
        plain = (entry for (_, variant), entry in where.entries.items() if variant == PLAIN)
        named = [entry for entry in plain if name in entry.case.split("-")]
        for entry in named if len(named) <= _MOST_CASES else ():
            yield Lead(entry, Confidence.SIMILAR, Confidence.SIMILAR.value, 0.0)


def _by_phrase(where: ErrorIndex, evidence: ErrorEvidence, text: str) -> Iterator[Lead]:
    """The case that the words of a text without an exception mean."""
    entry = where.entries.get((find_phrase(text), PLAIN)) if evidence.is_prose else None
    if entry is not None:
        yield Lead(entry, Confidence.SIMILAR, Confidence.SIMILAR.value, 0.0)


def _by_claims(where: ErrorIndex, evidence: ErrorEvidence, text: str) -> Iterator[Lead]:
    """Cases whose documents name the error, where the text names no operator that they could be about."""
    for case in where.claimed:
        entry = where.entries.get((case, PLAIN))
        if entry is not None and not evidence.operators and _claims(where, case, text):
            yield Lead(entry, Confidence.SIMILAR, Confidence.SIMILAR.value, 0.0)


def _claims(where: ErrorIndex, case: str, text: str) -> bool:
    """Whether a document says of a case that it ends with words of the text."""
    folded = text.casefold()
    return any(message in folded for message in where.claimed.get(case, ()))


def _weighed(lead: Lead, where: ErrorIndex, evidence: ErrorEvidence, text: str) -> Lead:
    """Of many cases with one error, the one that fails with nothing else, and whose own words are the text's, leads."""
    own = own_words(lead.entry)
    lines = "\n".join((*(reason.line for reason in evidence.reasons), *_VERSION.findall(text)))
    asked = split_words(text) | frozenset(_NUMBER.findall(lines))
    about = where.weigh(own & asked) / (where.weigh(own) or 1)
    raised = [reason for reason in evidence.reasons if not reason.warns]
    pure = max((where.purity_in(lead.case, reason) for reason in raised), default=0.0)
    only = any(_is_long(reason) and len(where.cases_by_line.get(reason.exact, ())) == 1 for reason in raised)
    if lead.confidence in SURE and not (evidence.operator or only) and about < _LEAST_ABOUT:
        lead = replace(lead, confidence=Confidence.SIMILAR, why=Confidence.SIMILAR.value)
    # of an error that many have, its words say nothing; what only a fix has says less of the case
    words = (
        lead.score if lead.confidence is not Confidence.SIMILAR else lead.score / (2 if lead.variant == PLAIN else 4)
    )
    called = bool(operator_keys(evidence.called) & operator_keys(lead.entry.ops))
    claimed = _claims(where, lead.case, text)
    has_name = _HAS_ITS_NAME.get(lead.confidence.value, 0.0) * _has_name(lead.case, evidence.operator)
    titled = _TITLED * ("::" in evidence.operator and evidence.operator in lead.entry.title)
    return replace(lead, score=round(words + about + _PURE * pure + called + claimed + has_name + titled, 4))


def _has_name(case: str, operator: str) -> bool:
    """Whether a case is named after an operator, as a text spells it or as torch does: ``conv2d-double`` after Conv."""
    parts = case.split("-")
    ends = range(1, len(parts) + 1)
    named = {_DIMENSIONS.sub("", "".join(parts[start:end])) for end in ends for start in range(end)}
    spelled_so = (_slug(operator).replace("-", ""), operator_key(operator))
    return not named.isdisjoint(_DIMENSIONS.sub("", name) for name in spelled_so)


def _slug(operator: str) -> str:
    """An operator as names of cases spell it: ``adaptive-avg-pool2d``."""
    return operator.rpartition("::")[2].casefold().replace("_", "-")


def _is_long(reason: Reason) -> bool:
    return len(reason.exact.split()) >= _LONG_LINE


def own_words(entry: CatalogueEntry) -> frozenset[str]:
    """The words of a case's name, title and operators."""
    text = " ".join((entry.case.replace("-", " "), entry.title, *entry.ops))
    words = split_words(text) | {op.split("::")[-1].casefold() for op in entry.ops}
    return frozenset(word for word in words if len(word) > _SHORT) | frozenset(_NUMBER.findall(text))


def _likeness(where: ErrorIndex, mine: frozenset[str], theirs: frozenset[str]) -> float:
    """How much of one of two texts is in the other; a word that no error has weighs as much as the rarest."""
    both = mine & theirs
    if len(both) < LEAST_WORDS:
        return 0.0
    shared, of_mine, of_theirs = where.weigh(both), where.weigh(mine), where.weights[theirs]
    whole = shared / (of_mine + of_theirs - shared)
    return max(whole, _OF_MINE * min(shared / of_mine, 1.0), _OF_THEIRS * shared / of_theirs)
