"""Cases by their own words: names, titles, operators by every name, themes, sources, fixes and code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, takewhile, zip_longest

from caniexport.answers.reading import CatalogueEntry, load
from caniexport.match.errors import Confidence, Lead
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
from caniexport.operators import DTYPE_WORDS, alike_dtypes, dtypes_of, is_torch_name, operator_key, spellings
from caniexport.store import Dataset

_DTYPES = frozenset(DTYPE_WORDS)
#: what a text weighs more that is the word, or begins with it; what a failing form weighs more than its fixes
_WHOLE, _BEGINS, _FAILING = 2.0, 1.2, 0.5
#: the share of the best score from which on a case is about the words
_ABOUT = 0.5
#: cases that a name is about alone, beside an operator
_FEW = 5
#: operators that a question asks about one by one
SEVERAL = 2
_OPERATOR = "operator "
#: texts of a case that say what it is about only together with others, and how such a one begins
_ASIDE, _THEME = ("its code", "a fix's note"), "theme "
#: the names under which a case's failure is documented, which say more of it beside another word alone
_RECORD = "what is documented"
#: what stands between things that are listed
_LISTS = re.compile(r"[,&+]|\b(?:and|or)\b", re.IGNORECASE)
#: words between names of operators, though ONNX has operators of these names
_JOINING = ("and", "or", "not")
_TOKEN = re.compile(r"[a-z0-9]+")
#: the names of cases whose tensors have no elements, and the word for it
_OF_NOTHING, _NO_SIZE = re.compile(r"-of-no-|-nothing$|^empty-"), "zero-size"
#: letters of a word that is looked for at the begin of words alone; what a longer name goes on with
_SHORT = 3
_GOES_ON = re.compile(r"[a-z_]")
#: how a verb or a noun ends beside its stem (``stacked``, ``slices``)
_ENDING = re.compile(r"(?<=\w{4})(?:ed|ing|s)$")
#: characters of a word by which it is known (``triangle``, ``triangular``)
_STEM = 6
#: (text in lower case, its weight, what it is)
_Text = tuple[str, float, str]


@dataclass(frozen=True)
class WordIndex:
    """The words of every variant of the corpus."""

    entries: Mapping[tuple[str, str], CatalogueEntry] = field(repr=False)
    words: Mapping[tuple[str, str], tuple[_Text, ...]] = field(repr=False)

    @cached_property
    def operators(self) -> frozenset[str]:
        """Every name of an operator that a case uses."""
        texts = (item for texts in self.words.values() for item in texts)
        return frozenset(text for text, _, what in texts if what.startswith(_OPERATOR))

    @cached_property
    def torchs(self) -> frozenset[str]:
        """The keys of torch's operators that a case uses."""
        return frozenset(operator_key(op) for entry in self.entries.values() for op in entry.ops if "::" in op)

    @cached_property
    def onnx_names(self) -> frozenset[str]:
        """The names of ONNX's operators that a case uses, in lower case."""
        return frozenset(op.casefold() for entry in self.entries.values() for op in entry.ops if "::" not in op)

    @cached_property
    def said(self) -> Mapping[str, frozenset[str]]:
        """By case: the stems of the words that its name, its title, its theme and its fixes say."""
        found: dict[str, frozenset[str]] = {}
        for (case, variant), entry in self.entries.items():
            mine = (entry.case, entry.title, entry.theme, *((variant, entry.note) if variant != PLAIN else ()))
            found[case] = found.get(case, frozenset()) | stems(" ".join(mine))
        return found

    def says(self, case: str, word: str) -> bool:
        """Whether a case is said to be about a word, and does not merely have its letters somewhere."""
        mine = stems(word)
        return len(word) > 1 and bool(mine) and mine <= self.said[case]

    def is_operator(self, word: str) -> bool:
        """Whether a word is the name of an operator that a case uses."""
        return word in self.operators or operator_key(word) in self.operators


def stems(text: str) -> frozenset[str]:
    """The words of a text without their endings, as far as they are compared."""
    return frozenset(_ENDING.sub("", token)[:_STEM] for token in _TOKEN.findall(text.casefold()))


#: finds the cases that have every one of some words
_Find = Callable[[WordIndex, Sequence[str]], tuple[Lead, ...]]


def index_words(dataset: Dataset) -> WordIndex:
    """The words of a dataset's catalogue; the cases that check an environment are left out."""
    entries = {key: entry for key, entry in load(dataset).catalogue.items() if entry.corpus != CANARY}
    records = {(row["case"], row["variant"]): row["records"] or () for row in dataset.records("cases")}
    return WordIndex(entries, {key: tuple(_texts(entry, records.get(key, ()))) for key, entry in entries.items()})


def is_argument(word: str) -> bool:
    """Whether a word is an argument of a call, ``stable=true`` or ``proj_size=``, as a question's words have them."""
    return "=" in word[1:]


def is_list(text: str) -> bool:
    """Whether words are listed, so that each of them is meant for itself."""
    return bool(_LISTS.search(text))


def find_asked(where: WordIndex, query: str, *, listed: bool = False) -> tuple[Lead, ...]:
    """The cases of which one variant has every word of ``query``, best first, each by its best variant; of equals those
    first whose names have the words, and say the least beside them. Where no case has all of them and several are
    operators, the cases of each operator in turn.

    Beside an operator a word that a case has in its code or a fix's note alone does not find it. Of several operators
    that are ``listed`` every case of each is found, after those of all of them; of operators that are not, and that one
    case has together, that case leads those of the first.
    """
    parts = _parts(where, query)
    found = _about_every(where, parts)
    if not listed and _with_every(where, parts):
        return found
    related = () if listed else _of_first(where, parts)
    return _once(chain(found, related or _each_in_turn(where, parts, _about_every)))


def add_missing(
    where: WordIndex, found: Sequence[Lead], words: Sequence[str], missing: Iterable[str]
) -> tuple[Lead, ...]:
    """The cases found, and those of words that no case has together with the rest: of what is part of a case's name
    (``trip-count``) before them, of others behind them, each beside the operators among ``words``, or alone where few
    cases have a name.
    """
    named = name_operators(where, [word.casefold() for word in words])
    first: list[Lead] = []
    behind: list[Lead] = []
    for word in missing:
        alone = find_asked(where, word)
        if is_part(where, word):
            first += alone
        elif ("." in word or "_" in word) and len(alone) <= _FEW and not is_argument(word):
            behind += alone
        else:
            behind += [lead for operator in named for lead in _about_every(where, [operator, word.casefold()])]
    best = max((lead.score for lead in found), default=0.0)
    every = _once((*first, *found, *behind))
    return tuple(lead if lead in found else replace(lead, score=max(lead.score, best)) for lead in every)


def is_part(where: WordIndex, word: str) -> bool:
    """Whether a word is several parts of a case's name (``trip-count``)."""
    return "-" in word[1:] and bool(find_asked(where, word))


def name_operators(where: WordIndex, parts: Iterable[str]) -> tuple[str, ...]:
    """Those of the words that are operators, and no types of tensors, each once by the first of its names."""
    named: dict[str, str] = {}
    for part in parts:
        if part not in _JOINING and not dtypes_of(part) and where.is_operator(part):
            named.setdefault(operator_key(part), part)
    return tuple(named.values())


def _of_first(where: WordIndex, parts: Sequence[str]) -> tuple[Lead, ...]:
    """The cases that have all of several operators, then those of the first, before others those that have as many as
    they can of the other words; none where no case has all of them.
    """
    named = name_operators(where, parts)
    together = _about_every(where, named) if len(named) >= SEVERAL else ()
    others = [part for part in dict.fromkeys(parts) if part not in named]
    beside = [found for word in others if (found := _about_every(where, [named[0], word]))] if together else []
    return _once((*together, *chain.from_iterable(beside), *_about_every(where, named[:1]))) if together else ()


def _about_every(where: WordIndex, parts: Sequence[str]) -> tuple[Lead, ...]:
    """The cases that have every word, where one is an operator and not the only word, in more than their code and the
    notes of their fixes.
    """
    found = _with_every(where, parts)
    if len(parts) == 1 or not any(map(where.is_operator, parts)):
        return found
    # an argument stands in the code alone
    others = [part for part in parts if not is_argument(part)]
    said = found if len(others) == len(parts) else _with_every(where, others)
    about = {lead.case for lead in said if len(others) == 1 or not any(map(_is_aside, lead.why.split(", ")))}
    return tuple(lead for lead in found if lead.case in about)


def _is_aside(what: str) -> bool:
    return what in _ASIDE or what.startswith(_THEME)


def _each_in_turn(where: WordIndex, parts: Sequence[str], find: _Find) -> tuple[Lead, ...]:
    """The cases of each operator, the best of each first; none of less than two operators."""
    parts = [part for part in parts if part not in _JOINING]
    named = name_operators(where, parts)
    if len(named) < SEVERAL:
        return ()
    others = [part for part in parts if part not in named]
    each = [find(where, [part, *others]) for part in named]
    if not all(each):
        # words that some of the operators' cases lack say nothing of several
        each = [find(where, [part]) for part in named]
    return _once(lead for lead in chain.from_iterable(zip_longest(*each)) if lead is not None)


def _once(leads: Iterable[Lead]) -> tuple[Lead, ...]:
    """Of the leads to one case the first."""
    found: dict[str, Lead] = {}
    for lead in leads:
        found.setdefault(lead.case, lead)
    return tuple(found.values())


def find_with_every(where: WordIndex, query: str) -> tuple[Lead, ...]:
    """As :func:`find_asked`, of one variant with every word alone."""
    return _about_every(where, _parts(where, query, ""))


def _parts(where: WordIndex, query: str, signs: str = ",") -> list[str]:
    """The words of a query, without ``signs``; one where together they are the name of an operator (``rms norm``)."""
    parts = query.casefold().translate(dict.fromkeys(map(ord, signs), " ")).split()
    joined = "_".join(parts)
    return [joined] if len(parts) > 1 and where.is_operator(joined) else parts


def _with_every(where: WordIndex, words: Sequence[str]) -> tuple[Lead, ...]:
    """The cases of which one variant has every word, best first."""
    spelled = [_known_form(where, word, is_alone=len(words) == 1) for word in words]
    parts = [(part, operator_key(part), _is_torchs_own(where, part)) for part in spelled]
    best: dict[str, Lead] = {}
    for (case, variant), entry in where.entries.items() if parts else ():
        found = (_weightiest(*part, where.words[case, variant]) for part in parts)
        known = [item for item in takewhile(bool, found) if item]
        if len(known) < len(parts) or all(what == _RECORD for _, what in known):
            continue
        score = round(sum(weight for weight, _ in known) / len(known) + (_FAILING if variant == PLAIN else 0), 4)
        why = ", ".join(dict.fromkeys(what for _, what in sorted(known, reverse=True)))
        if case not in best or score > best[case].score:
            best[case] = Lead(entry, Confidence.WORDS, why, score, variant)
    keys = [key for _, key, _ in parts]
    return tuple(sorted(best.values(), key=lambda lead: _order(lead, keys)))


def _order(lead: Lead, keys: Sequence[str]) -> tuple[float, bool, int, str]:
    parts = lead.case.split("-")
    return -lead.score, any(key not in "".join(parts) for key in keys), len(parts), lead.case


def choose_main(leads: Sequence[Lead]) -> tuple[Lead, ...]:
    """Those of the cases found that are about the words, and do not merely have them somewhere."""
    return tuple(lead for lead in leads if lead.score >= _ABOUT * leads[0].score)


def _known_form(where: WordIndex, word: str, *, is_alone: bool) -> str:
    """A word as it is, or without its ending where no text of any case has it so (``checkpointing``), and an argument
    that is asked about alone without its value.
    """
    is_switch = is_alone and is_argument(word)
    stem = word.partition("=")[0] if is_switch else _ENDING.sub("", word)
    if stem == word or not (is_switch or word.isalpha()) or where.is_operator(word):
        return word
    is_known = any(word in text for texts in where.words.values() for text, _, _ in texts)
    return word if is_known else stem


def _is_torchs_own(where: WordIndex, part: str) -> bool:
    """Whether a word is spelled as a function of torch that cases are about: no node of the same name is meant."""
    return is_torch_name(part) and operator_key(part) in where.torchs


def _weightiest(part: str, key: str, is_torchs: bool, texts: Sequence[_Text]) -> tuple[float, str] | None:
    """The weightiest text that has the word, or that is the operator of this name (``nn.GELU``), with ``is_torchs``
    torch's; one that is the word, or begins with it, weighs more. A type of tensors is there by any of
    its names.
    """
    is_short = len(part) <= _SHORT and part.isalpha()
    found = [
        (weight * (_WHOLE if text == part else _BEGINS if text.startswith(part) else 1.0), what)
        for text, weight, what in texts
        if (_stands_in(part, text) if is_torchs else _begins_in(part, text) if is_short else part in text)
        or (part in _DTYPES and not alike_dtypes(part).isdisjoint(_TOKEN.findall(text)))
    ]
    named = [(weight * _WHOLE, what) for text, weight, what in texts if text == key and (not is_torchs or "::" in what)]
    return max((*found, *named), default=None)


def _stands_in(part: str, text: str) -> bool:
    """Whether a text has a function's name, and not only the begin of a longer one (``x.repeat_interleave``)."""
    _, *behind = text.split(part)
    return any(not _GOES_ON.match(rest) for rest in behind)


def _begins_in(part: str, text: str) -> bool:
    """Whether a word of a text begins with a short one (``add`` in ``index_add``, not in ``padding``)."""
    before, *behind = text.split(part)
    return bool(behind) and any(not rest[-1:].isalnum() for rest in (before, *behind[:-1]))


def _texts(item: CatalogueEntry, records: Iterable[str]) -> Iterable[_Text]:
    named = [(item.case, 10.0, "name"), (item.title, 8.0, "title"), (item.theme, 5.0, f"{_THEME}{item.theme}")]
    named += [(_NO_SIZE, 8.0, "name")] if _OF_NOTHING.search(item.case) else []
    for op in item.ops:
        bare = op.split("::")[-1]
        spelled = (op, bare, f"torch.{bare}" if op.startswith("aten::") else "", *spellings((op,)), operator_key(op))
        named += [(name, 9.0, f"{_OPERATOR}{op}") for name in dict.fromkeys(filter(None, spelled))]
    named += [(source, 7.0, f"source {source}") for source in item.sources]
    named += [(record, 3.0, _RECORD) for record in records]
    if item.variant != PLAIN:
        named += [(item.variant, 6.0, f"fix {item.variant}"), (item.note, 4.0, _ASIDE[1])]
        named += [(item.kind, 4.0, f"a fix of kind {item.kind}")]
    named += [(item.code, 1.0, _ASIDE[0])]
    return ((text.casefold(), weight, what) for text, weight, what in named)
