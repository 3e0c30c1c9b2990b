"""One search over cases, operators, sources, themes, fixes and error texts.

What reads like an error is answered by :mod:`caniexport.match.errors`; everything else is looked for in the words of
the cases, operators by every name that people use. Of a question in words it is those that are no setting of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import dropwhile, pairwise

from rapidfuzz.distance import OSA

from caniexport import names
from caniexport.answers.wanted import name_cases
from caniexport.match.asked_forms import read_forms
from caniexport.match.error_index import ErrorIndex, index_errors
from caniexport.match.errors import SURE, Confidence, ErrorMatch, Lead, match_error
from caniexport.match.evidence import is_kind, read_error
from caniexport.match.mentions import COMPUTING, ENGLISH, every_operator
from caniexport.match.named_fix import name_fix
from caniexport.match.plain_causes import PATTERNS
from caniexport.match.question import (
    OF_A_LINE,
    OWNER,
    SHORT,
    AskedQuestion,
    elsewhere_named,
    has_sentence,
    is_long_question,
    is_sentence,
    read_fix_parts,
    read_plain,
    read_question,
    read_release,
)
from caniexport.match.spelled_code import spell_code
from caniexport.match.words import (
    SEVERAL,
    WordIndex,
    add_missing,
    choose_main,
    find_asked,
    find_with_every,
    index_words,
    is_argument,
    is_list,
    is_part,
    name_operators,
)
from caniexport.operators import DTYPE_WORDS, dtypes_of, is_operator_name, is_torch_name, operator_key
from caniexport.store import Dataset

_KIND = r"\w*(?:Error|Exception|Fail|InvalidArgument|InvalidGraph|NotImplemented)"
#: what tells a pasted error from words: an exception's name with its colon, a runtime's mark, an object as Python
#: prints it (<OpOverload(…)>), or what an exporter alone says
_ERROR = re.compile(rf"\b{_KIND}: |\[ONNXRuntimeError\]|<\w+\(|\bNo ONNX function found for ")
#: characters of a query that are looked at, and of one that stands in an address
LONGEST, _IN_ADDRESS = 20_000, 600
#: words of a query that is no error by its form, and may yet be one
_SENTENCE = 3
#: more cases than have any word, and how much more an argument of a call or a type of tensors says than another word
_MANY, _ARGUMENT = 1000, 2.0
#: characters from which a query is no name; names of one kind that are told
_LONG, _MOST_NAMES = 120, 8
#: operators that an error names, of which pages are told
_MOST_OPERATORS = 3
#: what a long line asks, that an error does not
_ASKS = re.compile(
    r"\b(?:what\s+(?:breaks|changes|works)|which\s+(?:workarounds?|fix(?:es)?|py?torch|opset|exporter|release|version)"
    r"|how\s+(?:should|do|can)\s+(?:we|i)\s+(?:call|upgrade|move)|do\s+(?:we|i)\s+(?:still\s+)?need"
    r"|can\s+(?:we|i)\s+(?:now\s+)?(?:delete|remove|drop)|still\s+(?:be\s+)?(?:needed|required|necessary))\b",
    re.IGNORECASE,
)
#: how a name is spelled that is no word of a sentence
_CODE = re.compile(r"[\d_.:]|[A-Z].*[A-Z]|[a-z][A-Z]")
#: how a function is spelled
_FUNCTION = re.compile(r"(?:torch|torchvision|nn|F|x|self|[Tt]ensor)\.[\w.]+|[a-z]+(?:_[a-z0-9]+)+")
#: letters from which on a name with a typo is told
_LONG_NAME = 7
#: words that many cases have by chance, and that alone say nothing of what is asked
WEAK = frozenset(
    "tensor tensors input inputs output outputs module modules layer layers length data value values number "
    "numbers without argument arguments exported file files network graph node nodes type types".split()
)
#: the value of an argument that is a switch
_SWITCH = re.compile(r"(?<==)(?:true|false|none)$")
#: words of a text, and signs alone
_TOKEN = re.compile(r"\w[\w:]*(?:\.\w+)*|[^\s\w]")
#: how the argument is named that has a function's mode
_MODES = frozenset(("mode", "mode="))
#: what stands between names of a list, and what stands behind its last one
_JOINS = frozenset((",", "/", "&", "+", "and", "or"))
_ENDS = frozenset(
    "on at in with from to for by under as opset torch pytorch work works fail fails is are be still ok okay fine "
    "supported needed exported exportable possible please then".split()
)
#: what says of the word beside it that it is an operator
_SAYS_OPERATOR = frozenset(("op", "ops", "operator", "operators", "node", "nodes"))
#: how an error is found that is surely one, though the text has a setting, too


@dataclass(frozen=True)
class SearchHits:
    """What a query found: cases best first, and the names of other things that it means.

    ``error`` is whether the query was read as an error's text; ``near`` are known names where nothing was found.
    ``question`` is what it asks beside its words, ``left_out`` those of its words that no case has, and ``missing``
    those that were asked for and have to be told first: of an upgrade operators that no case is about, which stay
    among its words. ``narrowed`` says which plain words leave some of an operator's cases out, ``uncovered`` are
    operators that it asks about beside the others, and no case is about. ``forms`` is how it calls an operator, as
    the summary of operators has it (``out``, ``inplace``).
    """

    query: str
    error: bool
    hits: tuple[Lead, ...]
    ops: tuple[str, ...] = ()
    themes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    question: AskedQuestion | None = None
    left_out: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    narrowed: str = ""
    uncovered: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()

    @property
    def called(self) -> str:
        """The words of its question that an operator's own calls are told by: with the types of tensors that no case
        is about, and where cases are about nothing else, with all.
        """
        asked = self.question.words if self.question else self.query
        words = " ".join(word for word in asked.split() if not is_argument(word)) or asked
        others = self.left_out if all(map(dtypes_of, words.split())) else filter(dtypes_of, self.left_out)
        return " ".join((words, *others))

    @property
    def formed(self) -> str:
        """The words that the forms are of in which an operator is called: all that it names."""
        return " ".join(dict.fromkeys((*self.called.split(), *self.uncovered, *self.left_out)))

    @property
    def is_plain(self) -> bool:
        """Whether it asks about an operator and types of tensors alone: how its calls end says nothing of more."""
        return all(dtypes_of(word) or word.casefold() in WEAK for word in self.left_out)

    @property
    def has_dtype(self) -> bool:
        """Whether they name a type of tensors."""
        return any(map(dtypes_of, self.called.split()))

    @property
    def nearest(self) -> str:
        """That no case has all that was asked for, or that no file was run there, and what answers; empty where nothing
        was left out.
        """
        missing = [word for word in self.left_out if word in self.missing]
        types = [word for word in missing if dtypes_of(word)]
        others = tell_unknown([word for word in missing if word not in types])
        told = f"No measured case is about {', '.join(types)}: those below are about other types of tensors."
        named = elsewhere_named(self.query) if self.question else ""
        runtime = tell_elsewhere(named) if named and named not in self.missing else ""
        return " ".join(filter(None, (runtime, told if types else "", others)))

    @property
    def aside(self) -> str:
        """Which words of a sentence no case has, where its operators are answered, and which leave cases out. Without
        a case an operator's calls are told in the type of tensors that is named.
        """
        left_out = [word for word in self.left_out if self.hits or not dtypes_of(word)]
        missing = tell_missing([word for word in left_out if word not in self.missing])
        return " ".join(filter(None, (missing, self.narrowed)))


def tell_missing(words: Sequence[str]) -> str:
    """Without which words it is answered; empty where there are none."""
    left = ", ".join(f"\u00ab{word}\u00bb" for word in words)
    each = "it" if len(words) == 1 else "them"
    return f"Answered without {left}: no measured case is about {each} together with the rest." if words else ""


def tell_unknown(words: Sequence[str]) -> str:
    """That what these words say was not measured, before the answer without them; empty where there are none."""
    left = ", ".join(f"\u00ab{_SWITCH.sub(_switched, word)}\u00bb" for word in words)
    each = "it" if len(words) == 1 else "them"
    told = f"Not known with {left}: no measured case is about {each} together with the rest. Without {each}:"
    return told if words else ""


def tell_elsewhere(runtime: str) -> str:
    """That no file was run on a runtime."""
    return f"Every file was run on ONNX Runtime: what {runtime} makes of it is not known."


def _switched(found: re.Match[str]) -> str:
    return found[0].capitalize()


@dataclass(frozen=True)
class SearchIndex:
    """What is searched: the words of every variant, and every error text."""

    errors: ErrorIndex = field(repr=False)
    words: WordIndex = field(repr=False)


def index(dataset: Dataset) -> SearchIndex:
    """Read what is searched; made once for a dataset."""
    return SearchIndex(index_errors(dataset), index_words(dataset))


def search(dataset: Dataset, query: str) -> SearchHits:
    """What the query means; an empty one finds nothing."""
    return find(index(dataset), query)


def find(where: SearchIndex, query: str) -> SearchHits:
    """As :func:`search`, in an index made before."""
    return replace(_find(where, query), forms=read_forms(query[:LONGEST]))


def _find(where: SearchIndex, query: str) -> SearchHits:
    query = query.strip()[:LONGEST]
    if not query:
        return SearchHits("", False, ())
    if is_error(query):
        return _of_error(query, match_error(where.errors, query))
    question, plain, spelled = read_question(query), read_plain(query), spell_code(query)
    if question is None and plain is not None and plain.words != query and _names_operators(where, plain.words):
        return _of_question(where, spelled, plain)
    # what has no part of a setting by its name may be nothing but words
    is_placed = question is not None and _is_placed(question)
    if question is None or not (question.named or is_placed or is_sentence(query)):
        hits = find_with_every(where.words, query)
        if hits:
            return _of_words(where, query, query, hits)
    match = match_error(where.errors, query) if len(query.split()) >= _SENTENCE else None
    asks_for_fix = question is not None and question.asks == "workarounds" and bool(question.releases)
    if match and match.leads and match.leads[0].confidence in SURE and not asks_for_fix:
        return _of_error(query, match)
    if question is not None:
        return _of_question(where, spelled, question)
    some = _of_question(where, spelled, plain) if plain is not None else None
    if some is not None and _is_few_words(some):
        return some
    has_every = some is not None and (_has_every(some) or (spelled != query and bool(some.hits)))
    if match and match.leads and match.leads[0].confidence is not Confidence.WORDS and not has_every:
        return _of_error(query, match)
    return some if some is not None and _has_most(some) else _of_words(where, query, query, ())


def _is_placed(question: AskedQuestion) -> bool:
    """Whether a function of torch is asked about at a release, or an operator by an exporter."""
    words = question.words.split()
    by_exporter = bool(question.exporter) and any(word not in ENGLISH and _is_any_operator(word) for word in words)
    return by_exporter or (bool(question.releases) and any(map(is_torch_name, words)))


def _names_operators(where: SearchIndex, words: str) -> bool:
    """Whether words are names of operators and of types of tensors, and nothing else."""
    known = where.errors.operators | every_operator()
    return all(word in DTYPE_WORDS or operator_key(word) in known for word in words.casefold().split())


def _has_every(found: SearchHits) -> bool:
    """Whether cases have all of the words, and these are most of what was typed: of an error's line they are few."""
    kept = found.question.words.split() if found.question else []
    return bool(found.hits) and not found.left_out and 2 * len(kept) >= len(found.query.split())


def _is_few_words(found: SearchHits) -> bool:
    """Whether a few words that are no line of an error name cases, or a function that no case is about."""
    words = found.question.words if found.question else ""
    is_known = bool(found.hits) or _is_operator(words) or bool(_FUNCTION.fullmatch(words))
    return is_known and len(found.query.split()) <= SHORT and not OF_A_LINE.search(found.query)


def _has_most(found: SearchHits) -> bool:
    """Whether cases have at least half of the words."""
    kept = found.question.words.split() if found.question else []
    return bool(found.hits) and len(found.left_out) <= len(kept)


def _of_words(where: SearchIndex, query: str, words: str, hits: Sequence[Lead]) -> SearchHits:
    """Cases with their words, and the names that the words are a part of."""
    entries = where.words.entries.values()
    return SearchHits(
        query,
        False,
        tuple(hits),
        ops=tuple(_named(words, (op for item in entries for op in item.ops))),
        themes=tuple(_named(words, (item.theme for item in entries))),
        sources=tuple(_named(words, (name for item in entries for name in item.sources))),
        near=() if hits else tuple(_near(where, words)),
    )


def _of_question(where: SearchIndex, query: str, question: AskedQuestion) -> SearchHits:
    """The cases that have the words of a question; those words are left out that no case has beside the others."""
    named = _join_names(where, query, question.words.split())
    if question.asks == "workarounds":
        named = [part for word in named for part in _without_slash(where, word)]
    named = [part for word in named for part in _split_names(word)]
    spoken = _without_english(where, query, named)
    every = _without_fix(where, query, spoken) if question.asks == "workarounds" else spoken
    if question.asks != "upgrade" and (alone := _without_case(where, query, every)):
        beside = tuple(word for word in every if word != alone)
        missing = _missing_beside(where, query, beside)
        return SearchHits(query, False, (), question=replace(question, words=alone), left_out=beside, missing=missing)
    uncovered = _uncovered(where.words, every) if question.asks in ("", "workarounds") else ()
    if not question.asks:
        is_few = not has_sentence(query)
        uncovered = tuple(word for word in uncovered if is_torch_name(word) or (is_few and _is_operator(word)))
    every = [word for word in every if word not in uncovered]
    question = replace(question, words=" ".join(every))
    if (apart := _answer_without_cases(where, query, question, uncovered)) is not None:
        return apart
    listed = bool(every) and _is_listed(query, every, each=question.asks == "upgrade")
    # an upgrade is about each of them
    if question.asks == "upgrade":
        others = name_cases(every, where.words.entries.values()).others
        # how its operators are called says nothing of a release
        plain = [word for word in every if not is_argument(word)]
        kept = [word for word in plain if word not in others or not has_sentence(query) or _is_name(word)]
        missing = tuple(word for word in others if word in kept)
    else:
        telling = _telling(where, every) if has_sentence(query) else every
        kept = _words_together(where, telling, listed=listed) or every
        is_answered = has_sentence(query) and any(where.words.is_operator(word.casefold()) for word in kept)
        # whether something works may depend on what is said beside it; of somebody's own fix it says what that is
        is_aside = partial(_is_aside, where, is_fix=bool(question.asks or OWNER.search(query)))
        missing = tuple(word for word in every if word not in kept and not (is_answered and is_aside(word)))
    words = " ".join(word for word in every if word in kept)
    left_out = tuple(word for word in every if word not in kept)
    asked = replace(question, words=words, listed=bool(words) and listed)
    if not words:
        return SearchHits(query, False, (), question=asked, left_out=left_out)
    looked_for = " ".join(word for word in every if word in kept and word not in missing)
    if not question.asks and WEAK.issuperset(looked_for.casefold().split()):
        asked = replace(question, words=" ".join(every))
        return SearchHits(query, False, (), near=tuple(_near(where, words)), question=asked)
    hits = _find_with_most(where, looked_for, listed=listed)
    if question.asks == "workarounds":
        hits, ranking = _rank_by(where, hits, [*left_out, *(word for word in spoken if word not in every)])
        fix, meant = name_fix(where.words, named, kept, hits)
        asked = replace(asked, fix=fix)
        answered = ranking | meant
        left_out, missing = (tuple(word for word in found if word not in answered) for found in (left_out, missing))
    if question.asks != "upgrade" and not asked.fix:
        hits = add_missing(where.words, hits, looked_for.split(), missing)
    left_out += _not_told(where, question, [word for word in named if word not in spoken], hits)
    found = _of_words(where, query, looked_for or words, hits)
    is_whole = question.asks == "upgrade" or listed or bool(asked.fix)
    narrowed = "" if is_whole else _tell_narrowed(where, asked, query, looked_for, found.hits)
    return replace(found, question=asked, left_out=left_out, missing=missing, narrowed=narrowed, uncovered=uncovered)


def _find_with_most(where: SearchIndex, words: str, *, listed: bool) -> tuple[Lead, ...]:
    """The cases with these words, where none has all of them without those that say nothing by themselves."""
    found = find_asked(where.words, words, listed=listed)
    telling = " ".join(word for word in words.split() if word.casefold() not in WEAK)
    return found or (find_asked(where.words, telling, listed=listed) if telling else ())


def _not_told(
    where: SearchIndex, question: AskedQuestion, words: Sequence[str], hits: Sequence[Lead]
) -> tuple[str, ...]:
    """Those of a sentence's words of plain English that compute something, of which no case that was found is said."""
    found = {hit.case for hit in hits}
    asked = [] if question.asks else [word for word in words if word in COMPUTING]
    return tuple(word for word in asked if found.isdisjoint(lead.case for lead in find_asked(where.words, word)))


def _answer_without_cases(
    where: SearchIndex, query: str, question: AskedQuestion, uncovered: Sequence[str]
) -> SearchHits | None:
    """What is found where an operator that no case is about leaves nothing else to be told, or one that nobody knows,
    of which nothing else may be told; ``None`` elsewhere.
    """
    every = question.words.split()
    unknown = [word for word in uncovered if not _is_operator(word)]
    is_named = any(_is_name(word) or is_part(where.words, word) for word in _no_dtypes(every))
    if not uncovered or (is_named and not unknown):
        return None
    first, *rest = [*unknown, *(word for word in uncovered if word not in unknown)]
    return SearchHits(
        query, False, (), near=tuple(_near(where, first)), question=replace(question, words=first),
        left_out=tuple(every), missing=_missing_beside(where, query, every), uncovered=() if unknown else tuple(rest),
    )  # fmt: skip


def _missing_beside(where: SearchIndex, query: str, words: Sequence[str]) -> tuple[str, ...]:
    """Those of the words beside an operator that no case is about which have to be told before how its calls end."""
    has_plain = has_sentence(query)
    return tuple(word for word in _no_dtypes(words) if not has_plain or _is_beside(where, query, word))


def _is_beside(where: SearchIndex, query: str, word: str) -> bool:
    """Whether what a word says may change how the calls of an operator end that no case is about."""
    is_given = any(f"{quote}{word}{quote}" in query for quote in "'\"")
    return is_given or is_argument(word) or bool(dtypes_of(word)) or _is_said(where, word)


def _no_dtypes(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(word for word in words if not dtypes_of(word))


def _is_aside(where: SearchIndex, word: str, *, is_fix: bool) -> bool:
    """Whether a word that no case has beside the others changes nothing of the answer, of a fix or of what works."""
    return not (_is_name(word) or (not is_fix and _is_said(where, word)))


def _uncovered(where: WordIndex, words: Sequence[str]) -> tuple[str, ...]:
    """Those of the words that are operators, or one with a typo, and no case is about."""
    others = [word for word in words if word not in ENGLISH and not _is_covered(where, word)]
    return tuple(word for word in others if _is_uncovered(where, word))


def _is_covered(where: WordIndex, word: str) -> bool:
    """Whether some case is about an operator; of one spelled as torch's own, whether about that, and not about one of
    ONNX of the same name.
    """
    if not (is_torch_name(word) and _is_operator(word)) or not where.is_operator(word.casefold()):
        return where.is_operator(word.casefold())
    name = word.rpartition(".")[2].casefold()
    return operator_key(word) in where.torchs or operator_key(word) != name or name not in where.onnx_names


def _is_uncovered(where: WordIndex, word: str) -> bool:
    if is_torch_name(word):
        return _is_operator(word) or not find_asked(where, word)
    if dtypes_of(word) or any(where.says(case, word) for case in where.said):
        return False
    return _is_operator(word) or (_is_misspelled(word) and not find_asked(where, word))


def _is_misspelled(word: str) -> bool:
    """Whether a word is one letter from the name of an operator, and as long as no other word is by chance."""
    is_long = len(word) >= _LONG_NAME and word.isascii() and word.replace("_", "").isalpha()
    return is_long and any(
        OSA.distance(word.casefold(), name) == 1 for name in every_operator() if len(name) >= _LONG_NAME
    )


def _join_names(where: SearchIndex, query: str, words: Sequence[str]) -> list[str]:
    """The words, those that stand side by side and together are an operator's name as one (``layer norm``), and of
    several names of one operator the first.
    """
    found: list[str] = []
    folded = query.casefold()
    for word in words:
        for many in (2, 1):
            parts = [*found[-many:], word]
            name = "_".join(parts).casefold()
            if len(found) >= many and " ".join(parts).casefold() in folded and where.words.is_operator(name):
                found[-many:] = [name]
                break
        else:
            found.append(word)
    found = _join_modes(found)
    first = {operator_key(word): word for word in reversed(found)}
    return [word for word in found if not _is_any_operator(word) or first[operator_key(word)] is word]


def _join_modes(words: Sequence[str]) -> list[str]:
    """The words with a function and a mode of it that is an operator of its own as one: ``F.pad``, ``reflect``."""
    pairs = ((word, mode) for word in words for mode in words if _is_mode(word, mode))
    function, mode = next(pairs, ("", ""))
    left = [word for word in words if word not in (mode, *_MODES)] if mode else words
    return [f"{word}.{mode}" if word == function else word for word in left]


def _is_mode(function: str, mode: str) -> bool:
    name = f"{function}.{mode}"
    is_function = is_torch_name(function) or is_operator_name(function)
    return is_function and is_operator_name(name) and operator_key(name) != operator_key(function)


def _is_listed(query: str, words: Sequence[str], *, each: bool) -> bool:
    """Whether words of a query are listed: in a sentence two of them side by side, where not ``each`` is asked for."""
    if each or not has_sentence(query):
        return is_list(query[query.find(words[0]) : max(query.rfind(words[-1]), 0)])
    tokens = _TOKEN.findall(query)
    ends = [place for place, token in enumerate(tokens) if token in words]
    between = (tokens[first + 1 : last] for first, last in pairwise(ends))
    return any(joins and _JOINS.issuperset(joins) for joins in between)


def _telling(where: SearchIndex, words: Sequence[str]) -> list[str]:
    """Those of a sentence's words that are names, or that some case is said to be about; beside an operator without
    those that many cases have by chance.
    """
    has_operator = any(word not in ENGLISH and where.words.is_operator(word.casefold()) for word in words)
    weak = WEAK if has_operator else frozenset[str]()
    return [word for word in words if word not in weak and (_is_told(where, word) or _is_said(where, word))]


def _is_said(where: SearchIndex, word: str) -> bool:
    """Whether some case is said to be about a word, which is no number."""
    return not word.isdigit() and any(where.words.says(case, word) for case in where.words.said)


def _is_told(where: SearchIndex, word: str) -> bool:
    """Whether a word is looked for wherever it stands: a name, a type of tensors or code."""
    return not word.isdigit() and (_is_name(word) or where.words.is_operator(word.casefold()))


def _without_fix(where: SearchIndex, query: str, words: Sequence[str]) -> list[str]:
    """The words of a question without those of what is used in the place of something that it names, too."""
    of_fix = read_fix_parts(query)
    rest = [word for word in words if word not in of_fix]
    if any(map(_is_any_operator, rest)):
        return rest
    has_operator = any(_is_any_operator(word) for word in words if word in of_fix)
    return list(words) if has_operator or not _telling(where, rest) else rest


def _without_case(where: SearchIndex, query: str, words: Sequence[str]) -> str:
    """The operator that a sentence, or a few words with no other operator, names where no case is about any that it
    names: what has its other words answers nothing. Empty where a case is, and of a list.
    """
    names = [word for word in words if word not in ENGLISH and word.casefold() not in DTYPE_WORDS]
    names = [word for word in names if "." in word and _is_operator(word)] or names
    known = {name for key in where.words.entries for name in key if _CODE.search(name) or "-" in name}
    has_part = any(is_part(where.words, word) for word in words)
    plain = ENGLISH | WEAK
    is_one = sum(word not in plain and _is_any_operator(word) for word in words) == 1
    if has_part or not (has_sentence(query) or is_one):
        return ""
    if any(_is_covered(where.words, word) or word in known for word in names):
        return ""
    operators = [word for word in names if _is_operator(word) and _is_uncovered(where.words, word)]
    functions = [word for word in names if _FUNCTION.fullmatch(word) and not find_asked(where.words, word)]
    return next(iter([*operators, *functions]), "")


def _is_any_operator(word: str) -> bool:
    return _is_operator(word) and word.casefold() not in DTYPE_WORDS


def _split_names(word: str) -> list[str]:
    """Names of operators with a slash between them (``torch.histc/bincount``) as several words."""
    parts = word.split("/")
    return parts if len(parts) > 1 and all(map(_is_operator, parts)) else [word]


def _without_slash(where: SearchIndex, word: str) -> list[str]:
    """A fix that is named behind its case or operator (``cross/stack_rewrite``) as two words."""
    before, slash, fix = word.rpartition("/")
    return [before, fix] if slash and fix in {variant for _, variant in where.words.entries} else [word]


def _rank_by(where: SearchIndex, hits: Sequence[Lead], words: Sequence[str]) -> tuple[tuple[Lead, ...], frozenset[str]]:
    """Those first that have these words anywhere, in the notes and the code of their fixes too; and the words that any
    of them has.
    """
    having = {word: {lead.case for lead in find_asked(where.words, word)} for word in words}
    ranking = frozenset(word for word, cases in having.items() if any(hit.case in cases for hit in hits))
    return tuple(sorted(hits, key=lambda hit: -sum(hit.case in having[word] for word in ranking))), ranking


def _tell_narrowed(where: SearchIndex, question: AskedQuestion, query: str, words: str, hits: Sequence[Lead]) -> str:
    """Which plain words and arguments of a question leave out how many of the cases of its one operator; empty where
    none does, and of words that are looked for.
    """
    operators = [word for word in words.split() if where.words.is_operator(word.casefold())]
    plain = [word for word in words.split() if word not in operators and (is_argument(word) or not _is_name(word))]
    is_placed = question.releases or question.opset or question.exporter
    if len(operators) != 1 or not plain or not (is_placed or has_sentence(query)):
        return ""
    every = len(find_asked(where.words, operators[0]))
    said = ", ".join(f"\u00ab{_SWITCH.sub(_switched, word)}\u00bb" for word in plain)
    begins = f"These are {len(hits)}" if len(hits) > 1 else "This is one"
    told = f"{begins} of the {every} cases about {operators[0]}, those with {said}."
    return told if len(hits) < every else ""


def _is_name(word: str) -> bool:
    """Whether a word is spelled as code is, or is an operator's name and no plain English."""
    is_code = bool(_CODE.search(word)) or is_argument(word)
    return is_code or word in DTYPE_WORDS or (word not in ENGLISH and _is_operator(word))


def _is_operator(word: str) -> bool:
    return operator_key(word) in every_operator()


def _without_english(where: SearchIndex, query: str, words: Sequence[str]) -> list[str]:
    """The words of a question without those of plain English beside an operator or a fix that is spelled as code."""
    fixes = {variant for _, variant in where.words.entries}
    named = [word for word in words if where.words.is_operator(word.casefold()) or word in fixes]
    others = [word for word in named if word not in ENGLISH]
    english = [word for word in words if word in ENGLISH and word not in DTYPE_WORDS] if others else []
    if not english or not (has_sentence(query) or any(map(_FUNCTION.fullmatch, others))):
        return list(words)
    tokens = _TOKEN.findall(query)
    meant = {token for place, token in enumerate(tokens) if token in english and _is_meant(tokens, place)}
    return [word for word in words if word not in english or word in meant]


def _is_meant(tokens: Sequence[str], place: int) -> bool:
    """Whether a word of plain English is an operator: in a list of them, or said to be one."""
    before, behind = tokens[:place][::-1], tokens[place + 1 :]
    if _SAYS_OPERATOR & {*before[:1], *behind[:1]}:
        return True
    is_last = not behind or behind[0] in _JOINS | _ENDS or not behind[0][0].isalnum()
    return _is_joined(behind) or (_is_joined(before) and is_last)


def _is_joined(tokens: Sequence[str]) -> bool:
    """Whether the first of these that joins nothing is an operator, behind something that joins."""
    rest = list(dropwhile(_JOINS.__contains__, tokens))
    return 0 < len(rest) < len(tokens) and _is_operator(rest[0])


def _words_together(where: SearchIndex, every: Sequence[str], *, listed: bool) -> list[str]:
    """Those of the words that some case has together, the one that says the most among them."""
    find = partial(find_asked, where.words, listed=listed)
    if together := find(" ".join(every)):
        if len(name_operators(where.words, [word.casefold() for word in every])) < SEVERAL:
            return list(every)
        # each of several operators is found by itself, whatever else was asked for
        about = {lead.case for lead in choose_main(together)}
        is_name = where.words.is_operator
        return [word for word in every if is_name(word.casefold()) or about & {lead.case for lead in find(word)}]
    leads = {word: find(word) for word in dict.fromkeys(every)}
    named = [word for word in leads if leads[word] and where.words.is_operator(word.casefold())]
    kept: list[str] = []
    for word in sorted(named, key=lambda word: -leads[word][0].score):
        if find(" ".join((*kept, word))):
            kept.append(word)
    beside = {word: find(" ".join((*kept, word))) for word in leads if leads[word] and word not in named}
    # of other words those that say the most beside the operators, and that the fewest cases have
    others = [word for word in beside if beside[word]]
    of_one = _words_of_one_case({word: beside[word] for word in others}, leads)
    rank = partial(_telling_most, of_one, leads, beside if kept else {})
    for word in sorted(others, key=lambda word: (not is_part(where.words, word), rank(word))):
        if find(" ".join((*kept, word))):
            kept.append(word)
    return kept


def _words_of_one_case(beside: Mapping[str, Sequence[Lead]], leads: Mapping[str, Sequence[Lead]]) -> frozenset[str]:
    """Of words beside operators those that one case has: of the case that has the most of them, by how few others
    have them.
    """
    weight: dict[str, float] = {}
    having: dict[str, list[str]] = {}
    for word, found in beside.items():
        for lead in found:
            is_telling = is_argument(word) or dtypes_of(word)
            rarity = math.log(_MANY / len(leads[word])) * (_ARGUMENT if is_telling else 1.0)
            weight[lead.case] = weight.get(lead.case, 0.0) + rarity
            having.setdefault(lead.case, []).append(word)
    best = max(having, key=lambda case: (round(weight[case], 3), len(having[case]), case), default="")
    return frozenset(having.get(best, ()))


def _telling_most(
    together: frozenset[str], leads: Mapping[str, Sequence[Lead]], beside: Mapping[str, Sequence[Lead]], word: str
) -> tuple[bool, bool, float, int]:
    """By what words beside operators are ranked: those that one case has together, and arguments of a call first."""
    is_apart = word not in together
    return is_apart, not is_argument(word), -beside[word][0].score if beside else 0.0, len(leads[word])


def _of_error(query: str, match: ErrorMatch) -> SearchHits:
    """The cases that an error is about, and the operators that it names."""
    named = (*match.evidence.operators, *match.evidence.beside)
    return SearchHits(query, True, match.leads, ops=named[:_MOST_OPERATORS])


def is_error(query: str) -> bool:
    """Whether a query reads like the text of an error rather than like words to look for."""
    is_raised = bool(_ERROR.search(query)) or is_kind(query)
    if is_raised or any(pattern.search(query) for pattern in PATTERNS):
        return True
    is_long = "\n" in query.strip() or (len(query) > _LONG and not _ASKS.search(query))
    return is_long and not is_long_question(query)


def shorten(query: str) -> str:
    """A pasted error in a line short enough for an address: its innermost cause, and the operator that fails."""
    if not is_error(query):
        return " ".join(query.split())
    evidence = read_error(query)
    lines = [f"{reason.kind}: {reason.line}" if reason.kind else reason.line for reason in evidence.reasons[:1]]
    named = [op for op in evidence.operators[:1] if op.split("::")[-1] not in " ".join(lines)]
    release = read_release(query)
    at = [f"torch {release}:"] if release and lines else []
    return " ".join((" ".join((*at, *lines, *named)) or query).split())[:_IN_ADDRESS]


def _named(query: str, known: Iterable[str]) -> list[str]:
    """Names that the query is a part of, by its last word: ``cross`` means ``aten::cross``."""
    wanted = query.casefold().removeprefix("torch.")
    return [name for name in dict.fromkeys(known) if name and wanted in name.casefold()][:_MOST_NAMES]


def _near(where: SearchIndex, query: str) -> list[str]:
    known = [name for item in where.words.entries.values() for name in (item.case, *item.ops, item.theme)]
    return names.nearest(query, known)
