"""From an error text to the cases that fail alike, each with what it shares with the text and how much that means."""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

from caniexport.answers.select import CatalogueEntry, load
from caniexport.match.evidence import (
    LEAST_WORDS,
    ErrorEvidence,
    Reason,
    mended,
    misspelt,
    only_wraps,
    read_attributes,
    read_error,
    speaks_alone,
    spelled,
    split_words,
)
from caniexport.match.mentions import CODE_WORD, OF_TORCH, every_operator, read_mentions, read_said
from caniexport.match.seen import SeenError, read_seen
from caniexport.match.sentences import Part, find_parts, index_parts, normal, read_parts
from caniexport.match.told import ToldError, read_told
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter
from caniexport.operators import operator_key, operator_keys, operator_name

if TYPE_CHECKING:
    from caniexport.store import Dataset

#: an error that so many cases have does not tell which of them is meant
_MOST_CASES = 4
#: share of the two texts' words, weighed by how rare they are, from which they are alike
_ALIKE = 0.6
#: characters from which the beginning of a line stands for the whole
_LEAST_BEGINNING = 48
#: words of so few letters (to, on, not) say nothing of what an error is about
_SHORT = 3
_MOST_LEADS = 12
#: an error of more cases than this is met on the way to any of them: that a case has no other says nothing
_TOO_MANY = 300
#: what an exception that is the same adds to how alike two texts are
_RAISED = 2.0
#: share of a case's own words in a text that names no operator, from which the text is about the case
_LEAST_ABOUT = 0.15
#: words of a line from which one case that has it is no accident
_LONG_LINE = 12
#: a name with an underscore, in quotes, or spelled as ONNX spells operators
_MENTIONED = re.compile(
    r"\b(?:_?[a-z]\w*_\w+|[A-Z][a-z]+(?:[A-Z]\w*)|[A-Z]{3,})\b"
    r"|\b(\w+)\(\) (?:got|missing|takes)"
    r"|['`\"](?!(?:Tensor|Size)\b)((?:\w+[.:]+)*\w+)['`\"]"
)
#: the number of a value that has its operator's name (``_fft_c2r_35``)
_VALUE = re.compile(r"^(_?[a-z]\w{0,60}_\w{1,60})_\d+$")
#: a word of a sentence that may be a function of torch
_WORD = re.compile(r"(?<![\w.])[a-z]\w{2,}(?![\w.])")
#: how the names of operators end in prose, and in code
_PROSE = {"pooling": "pool", "padding": "pad", "sampling": "sample", "isation": "ization"}
_IN_PROSE = re.compile(r"(?:pooling|padding|sampling|isation)(?![a-z])")
#: letters from which a name that is known but for one letter is misspelt
_LEAST_NAME = 6
#: operators whose names are words of a sentence, too: said in one they say nothing
_WORDS_TOO = frozenset(
    "abs adaptive add all and any append arange aten attention bool broadcast cast cat chunk clamp clip clone complex "
    "compress concat concatenation constant contiguous conv convolution copy cos cross detach div divide embedding "
    "empty equal exp expand fill flat flatten flip float floor fold full gather greater identity index int inverse "
    "invert item less linear list log loop max maximum mean min minimum mode mul neg norm normal not one optional pad "
    "pow prod rand range remainder repeat reshape resize roll rope round scan scatter select shape sin size slice "
    "solve sort split squeeze std sub sum tensor trace transpose trunc uniform unique var view where xor zeros".split()
)
#: what numpy tells any program
_OF_NUMPY = re.compile(
    r"cannot reshape array of size|operands could not be broadcast together|could not broadcast input array"
    r"|setting an array element|only integers, slices|is out of bounds for axis"
)
#: what is said of an attribute, with the node that made its value
_MADE_BY = re.compile(r"Failed to export an ONNX attribute '")
#: what is said of an operator that nobody has registered
_OF_ONES_OWN = re.compile(r"is not a registered function/op|Couldn't export Python operator|unrecognized namespace")
#: what the share of the words asked for counts, and that of a known error's, beside the share of both
_OF_MINE, _OF_THEIRS = 0.95, 0.9
#: what it counts that a case fails with nothing else
_PURE = 2
#: a case with so few failing cells says little of what it fails with
_FEW_CELLS = 5
#: share of the cells with an error from which one exporter gives it
_MOST_OF_IT = 0.8
_NAMED = frozenset(name.value for name in Exporter if name is not Exporter.DEFAULT)
#: what it counts that a case has the operator's name: of cases with one error it is about that, the others meet it
_HAS_ITS_NAME = {"the same error": 0.25, "the same cause": 0.25, "the same operator": 1.0, "a similar error": 0.0}
_NUMBER = re.compile(r"(?<!index: )(?<!Got: )(?<!Expected: )\b\d+\b")
#: the dimensions in an operator's name
_DIMENSIONS = re.compile(r"(?<=[a-z])[123]d$")
#: what is said of an opset beside the error's own line
_VERSION = re.compile(r"\b[Vv]ersion \d+")
_Key = TypeVar("_Key")


class Confidence(Enum):
    """What a lead shares with an error, the most first."""

    EXACT = "the same error"
    CAUSE = "the same cause"
    OPERATOR = "the same operator"
    SIMILAR = "a similar error"
    WORDS = "its words"


_SURE = (Confidence.EXACT, Confidence.CAUSE)


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
    first. ``verbatim`` are the cases that end with a line of it word for word, where they are few.
    """

    evidence: ErrorEvidence
    leads: tuple[Lead, ...]
    cases: int
    alike: int
    verbatim: frozenset[str]


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


def match_error(where: ErrorIndex, text: str) -> ErrorMatch:
    """The cases that an error text is about. Where it names an operator, cases of other operators are left out."""
    said, text = text, mended(text)
    read = _with_warned(where, _without_maker(where, read_error(text)), text)
    # without a misspelt word a text is an exporter's own
    evidence = _with_mentioned(where, _with_right(where, read) if text != said else read, text)
    leads = _leads(where, evidence, text)
    if not leads and not evidence.operators:
        evidence = _with_words(where, evidence)
        leads = [*_by_operator(where, evidence), *_by_name(where, evidence)]
    if evidence.reasons and not evidence.operators and not any(_speaks_alike(evidence, item) for item in where.known):
        evidence = _with_code(where, evidence, text)
        leads += _by_operator(where, evidence)
    best: dict[str, Lead] = {}
    for lead in leads:
        if lead.case not in best or _preferred(lead) < _preferred(best[lead.case]):
            best[lead.case] = lead
    found = [_weighed(lead, where, evidence, text) for lead in best.values()]
    verbatim = _with_line(where, evidence)
    found.sort(key=partial(_rank, verbatim=verbatim))
    alike = sum(lead.confidence is found[0].confidence for lead in found)
    return ErrorMatch(evidence, tuple(found[:_MOST_LEADS]), len(found), alike, verbatim)


def _with_line(where: ErrorIndex, evidence: ErrorEvidence) -> frozenset[str]:
    """The few cases that end with a line of a text, word for word."""
    lines = (where.cases_by_line.get(reason.exact, frozenset()) for reason in evidence.reasons if not reason.warns)
    return frozenset[str]().union(*(cases for cases in lines if len(cases) <= _MOST_CASES))


def gave_it(where: ErrorIndex, evidence: ErrorEvidence) -> str:
    """The exporter that gives an error, by its words, else by its exception; empty where several do."""
    patterns = [known for reason in evidence.reasons for known in where.patterns_in(reason.pattern)]
    for words in (*patterns, *evidence.kinds):
        cells = where.exporters.get(words, Counter())
        for exporter, most in cells.most_common(1):
            if most >= _MOST_OF_IT * cells.total():
                return exporter
    return ""


def _leads(where: ErrorIndex, evidence: ErrorEvidence, text: str) -> list[Lead]:
    """Every case that shares something with a text, as often as it does."""
    said = (*_by_called(where, evidence), *_by_claims(where, evidence, text), *_by_name(where, evidence))
    return [*_by_errors(where, evidence), *_by_operator(where, evidence), *said]


def _with_mentioned(where: ErrorIndex, evidence: ErrorEvidence, text: str) -> ErrorEvidence:
    """Where no sentence names an operator: the one whose failures alone are told so, or what is spelled as one is
    (``masked_select``, ``'item'``, ``ScatterND``). A text without any sentence, a dump alone, names none.
    """
    if evidence.operators or not evidence.reasons:
        return evidence
    told = [
        op for reason in evidence.reasons for _, ops in find_parts(where.sentences, normal(reason.text)) for op in ops
    ]
    told = told or [op for clause in sorted(evidence.clauses) if (op := where.operator_by_clause.get(clause))]
    if told:
        return replace(evidence, operators=tuple(dict.fromkeys(told)))
    if any(_speaks_alike(evidence, item) for item in where.known):
        return evidence
    found = [match.group(match.lastindex or 0) for match in _MENTIONED.finditer(text)]
    found += [value[1] for name in found if (value := _VALUE.match(name))]
    found += OF_TORCH.findall("\n".join(reason.line for reason in evidence.reasons))
    known = [spelled(name) for name in found if operator_key(name) in where.by_operator]
    of_attributes = [op for name in read_attributes(text) for _, ops in where.sentences.get(name, ()) for op in ops]
    of_one = read_said(normal("\n".join(reason.text for reason in evidence.reasons)))
    return replace(evidence, operators=tuple(dict.fromkeys(of_one or known or of_attributes)))


def _with_warned(where: ErrorIndex, evidence: ErrorEvidence, text: str) -> ErrorEvidence:
    """Of a text that only warns, the functions of torch that the lines shown call: what they take or give is fixed."""
    if evidence.operators or not all(reason.warns for reason in evidence.reasons):
        return evidence
    of_torch = frozenset(evidence.called) & frozenset(OF_TORCH.findall(text))
    called = (name for name in evidence.called if name in of_torch and name not in _WORDS_TOO)
    known = dict.fromkeys(name for name in called if operator_key(name) in where.operators)
    return replace(evidence, operators=tuple(map(spelled, known)))


def _without_maker(where: ErrorIndex, evidence: ErrorEvidence) -> ErrorEvidence:
    """Of an attribute that is not constant the text names only what made it: told where a case ends with just that."""
    key = operator_key(evidence.operator) if evidence.operator else ""
    made = [reason for reason in evidence.reasons if _MADE_BY.search(reason.line)]
    known = any((reason.pattern, key) in where.cases_by_pattern for reason in made)
    return replace(evidence, operators=()) if made and not known else evidence


def _with_right(where: ErrorIndex, evidence: ErrorEvidence) -> ErrorEvidence:
    """Before an operator of torch that nobody knows the one that is meant: it is misspelt by a letter."""
    meant = _meant(where, evidence.operator) if evidence.operator.startswith("aten::") else ""
    return replace(evidence, operators=(meant, *evidence.operators)) if meant else evidence


def _meant(where: ErrorIndex, op: str) -> str:
    """The operator that one which nobody knows is but for a letter; nothing where it is none, or several."""
    key = operator_key(op)
    if len(key) < _LEAST_NAME or key in where.operators:
        return ""
    pattern = misspelt(key)
    near = [known for known in where.by_operator if pattern.search(known)]
    if len(near) != 1:
        return ""
    return next(op for entry in where.by_operator[near[0]] for op in entry.ops if operator_key(op) == near[0])


def _with_words(where: ErrorIndex, evidence: ErrorEvidence) -> ErrorEvidence:
    """Where nothing else is known of a text: the operators that its words name (``torch.outer``, «unbind fails»)."""
    lines = "\n".join(reason.line for reason in evidence.reasons)
    of_torch = (
        name if operator_key(name) in where.operators else _meant(where, name) for name in OF_TORCH.findall(lines)
    )
    words = (word for word in (*_joined(lines), *_WORD.findall(lines)) if word not in _WORDS_TOO)
    of_code = (word for word in map(str.casefold, CODE_WORD.findall(lines)) if word not in _WORDS_TOO)
    known = [*filter(None, of_torch), *(word for word in words if operator_key(word) in where.by_operator)]
    known += [word for word in of_code if operator_key(word) in where.operators]
    return replace(evidence, operators=tuple(map(spelled, dict.fromkeys(known))))


def _with_code(where: ErrorIndex, evidence: ErrorEvidence, text: str) -> ErrorEvidence:
    """Where nothing else is known of a text: the operators whose names its code, its files and its nodes have."""
    every = where.operators | every_operator()
    known = (name for name in read_mentions(text, evidence) if operator_key(name) in every)
    return replace(evidence, operators=tuple(dict.fromkeys(map(spelled, known))))


def _joined(lines: str) -> Iterator[str]:
    """Each two to four words of a text as one name: «average pooling» as ``average_pool``."""
    words = _IN_PROSE.sub(lambda ending: _PROSE[ending[0]], lines.casefold()).replace("-", " ").split()
    for many in (4, 3, 2):
        yield from ("_".join(words[start : start + many]) for start in range(len(words) + 1 - many))


def _rank(lead: Lead, verbatim: frozenset[str]) -> tuple[object, ...]:
    is_sure = lead.confidence in _SURE
    confidence = list(Confidence).index(lead.confidence)
    return confidence, not is_sure and lead.case not in verbatim, -lead.score, lead.variant != PLAIN, lead.case


def _preferred(lead: Lead) -> tuple[object, ...]:
    """Of a case's leads the surest, of equals that of its failing form: a fix may fail alike."""
    return list(Confidence).index(lead.confidence), lead.variant != PLAIN, -lead.score


def _by_errors(where: ErrorIndex, evidence: ErrorEvidence) -> Iterator[Lead]:
    asked = {operator_key(op) for op in evidence.operators}
    first = operator_key(evidence.operator) if evidence.operator else ""
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
                    entry, shared, shared.value, like, place.variant, place.torch, place.exporter, place.opset,
                    place.runtime, item.seen.text,
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


def _speaks_alike(evidence: ErrorEvidence, item: KnownError) -> bool:
    """Whether a known error has a line or a pattern of the text's."""
    return any(
        _same_line(reason, item) or (reason.tells and _same_pattern(reason, item)) for reason in evidence.reasons
    )


def _raises_alike(evidence: ErrorEvidence, item: KnownError) -> bool:
    """Whether both end with the same exception; whether they warn alike counts where the text only warns."""
    raised = [reason for reason in evidence.reasons if not reason.warns] or evidence.reasons
    return any(_same_line(reason, item) for reason in raised)


def _rarely(where: ErrorIndex, evidence: ErrorEvidence, item: KnownError) -> float:
    """How few cases have a line of both: of several things that a text says, the rarest tells the most."""
    several = evidence.reasons if len(evidence.reasons) > 1 else ()
    lines = filter(None, (_same_line(reason, item) for reason in several))
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
        line = _same_line(reason, item)
        if line:
            of_one = len(where.cases_by_line.get(line, ())) == 1 and (not item.key or line == reason.exact)
            # ONNX's operators fail in one way for several causes, unless the case alone ends just so
            if is_it and of_one and line == reason.exact and not _is_rule(evidence) and not reason.warns:
                return Confidence.CAUSE
            told = _is_rule(evidence) if is_it else not first and of_one and not _OF_NUMPY.search(line)
            return Confidence.EXACT if told and not reason.warns else Confidence.SIMILAR
        pattern = _same_pattern(reason, item) if reason.tells else ""
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
    return "::" in evidence.operator or " " in evidence.operator


def _same_line(reason: Reason, item: KnownError) -> str:
    """The line of a known error that the reason is; one that was cut off is its beginning."""
    for line in item.told.lines:
        if line == reason.exact:
            return line
        shorter, longer = sorted((line, reason.exact), key=len)
        if len(shorter) >= _LEAST_BEGINNING and (longer.startswith(shorter) or line in reason.exact):
            return line
        if speaks_alone(reason.exact) and reason.exact in line:
            return line
    return ""


def _same_pattern(reason: Reason, item: KnownError) -> str:
    """The pattern of a known error that the reason has, or has among other words."""
    if reason.pattern in item.told.patterns:
        return reason.pattern
    return next((known for known in item.told.patterns if speaks_alone(known) and known in reason.pattern), "")


def _by_operator(where: ErrorIndex, evidence: ErrorEvidence) -> Iterator[Lead]:
    for position, op in enumerate(evidence.operators):
        key = operator_key(op)
        for entry in where.by_operator.get(key, ()):
            failing = where.failing_operators.get(entry.case, Counter())
            share = failing[key] / (failing.total() or 1)
            score = (1.0 + share) / (1 + position) / math.sqrt(len(entry.ops))
            yield Lead(entry, Confidence.OPERATOR, f"{Confidence.OPERATOR.value}, {op}", score)


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
    if lead.confidence in _SURE and not (evidence.operator or only) and about < _LEAST_ABOUT:
        lead = replace(lead, confidence=Confidence.SIMILAR, why=Confidence.SIMILAR.value)
    # of an error that many have, its words say nothing; what only a fix has says less of the case
    words = (
        lead.score if lead.confidence is not Confidence.SIMILAR else lead.score / (2 if lead.variant == PLAIN else 4)
    )
    called = bool(operator_keys(evidence.called) & operator_keys(lead.entry.ops))
    claimed = _claims(where, lead.case, text)
    has_name = _HAS_ITS_NAME[lead.confidence.value] * _has_name(lead.case, evidence.operator)
    return replace(lead, score=round(words + about + _PURE * pure + called + claimed + has_name, 4))


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


def _gather(pairs: Iterable[tuple[_Key, frozenset[str]]]) -> dict[_Key, frozenset[str]]:
    found: dict[_Key, set[str]] = defaultdict(set)
    for key, cases in pairs:
        found[key] |= cases
    return {key: frozenset(cases) for key, cases in found.items()}
