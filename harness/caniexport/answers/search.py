"""The input of `caniexport why TEXT` and of the search page: a case, an operator, an error text, or words.

A name is looked up as it is. An error text has several lines, or an exception's name with a colon. Anything else is
words: sqlite's full-text search lists the cases and operators that have them.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from caniexport import names
from caniexport.answers.answer import Answer, AnswerOutcome, Link, Message, Table
from caniexport.answers.inventory import Inventory
from caniexport.answers.samples import Samples
from caniexport.answers.scope import find_cases_about, refuse_uncovered, resolve_name
from caniexport.model.case import PLAIN
from caniexport.model.errors import UnknownName
from caniexport.names import plural
from caniexport.operators import operator_keys, spellings
from caniexport.store import Dataset
from caniexport.store.views import Views

#: characters of a text that are read
LONGEST = 20_000
#: hits that are listed
MOST_HITS = 20
#: an exception's name with a colon: of several words, or of a module
_ERROR = re.compile(
    r"\b(?:[\w.]*(?:Error|Exception|Warning)|[a-z]\w*(?:\.\w+)*\.[A-Z]\w+|(?:[A-Z][a-z]+){3,})\b\]? ?:(?!:)"
)
_TOKEN = re.compile(r"\w+")
#: how much a word counts in a name, a title, the operators, the notes of workarounds, and the messages
_WEIGHTS = "10.0, 8.0, 6.0, 3.0, 1.0"


class InputKind(StrEnum):
    """What a text is read as."""

    CASE = "case"
    OPERATOR = "operator"
    ERROR = "error"
    WORDS = "words"


@dataclass(frozen=True)
class SearchInput:
    """A text with its typed filters (``torch=2.8 opset=18``) taken out, and what it is.

    ``cases`` are the case of this name, or the cases of the operator; an operator may have none.
    """

    kind: InputKind
    text: str
    filters: Mapping[str, str]
    cases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Hit:
    """A case, or an operator without a case (``case`` is ``None``), that has the words; ``excerpt`` is where."""

    case: str | None
    operator: str | None
    title: str
    excerpt: str


def is_error(text: str) -> bool:
    """Return whether a text is an error's: it has several lines, or an exception's name with a colon."""
    return "\n" in text.strip() or _ERROR.search(text) is not None


def split_filters(text: str, names: Collection[str]) -> tuple[dict[str, str], str]:
    """Return the typed filters of a line (``name=value``, of these names), and the rest of it."""
    filters: dict[str, str] = {}
    rest = []
    for word in text.split(" "):
        name, sign, value = word.partition("=")
        if sign and value and name in names:
            filters[name] = value
        else:
            rest.append(word)
    return filters, " ".join(rest).strip()


def read_input(dataset: Dataset, text: str, names: Collection[str]) -> SearchInput:
    """Read what a text is, with the filters of these names taken out of a single line."""
    text = text.strip()[:LONGEST]
    filters, rest = ({}, text) if "\n" in text else split_filters(text, names)
    if is_error(rest):
        return SearchInput(InputKind.ERROR, rest, filters)
    known = Inventory.of(dataset)
    case = rest.partition("/")[0].casefold()
    cases = tuple(dict.fromkeys(name for name, _ in known.catalogue if name.casefold() == case))
    if cases:
        return SearchInput(InputKind.CASE, rest, filters, cases)
    about = find_cases_about(rest, known)
    if about or Samples.of(dataset).called(rest):
        return SearchInput(InputKind.OPERATOR, rest, filters, about)
    return SearchInput(InputKind.WORDS, rest, filters)


class FullText:
    """The names, titles, operators, notes and messages of a dataset, in sqlite's full-text index (in memory)."""

    def __init__(self, dataset: Dataset) -> None:
        self._lock = threading.Lock()
        self._index = sqlite3.connect(":memory:", check_same_thread=False)
        columns = "is_case UNINDEXED, name, title, operators, notes, messages"
        self._index.execute(f"CREATE VIRTUAL TABLE text USING fts5({columns}, tokenize='porter unicode61')")
        self._index.executemany("INSERT INTO text VALUES (?, ?, ?, ?, ?, ?)", _list_documents(dataset))

    def find(self, words: str, *, every: bool = True) -> tuple[Hit, ...]:
        """The hits with every one of the words, or with any of them, best first."""
        query = (" AND " if every else " OR ").join(f'"{token}"' for token in _TOKEN.findall(words))
        if not query:
            return ()
        found = (
            "SELECT is_case, name, title, snippet(text, -1, '', '', '…', 16) FROM text WHERE text MATCH ? "
            f"ORDER BY bm25(text, 0, {_WEIGHTS}), name LIMIT {MOST_HITS}"
        )
        with self._lock:
            rows = self._index.execute(found, (query,)).fetchall()
        return tuple(
            Hit(name if is_case else None, None if is_case else name, title, " ".join(excerpt.split()))
            for is_case, name, title, excerpt in rows
        )


def list_hits(dataset: Dataset, words: str) -> Answer:
    """The cases and operators that have these words, best first.

    Raises :class:`UnknownName` with the nearest names where there are none, and for a single one that is spelled as a
    name (``cross-no-symbolc``).
    """
    is_name = " " not in words and not words.isalnum()
    found = () if is_name else find_hits(FullText(dataset), words)
    if not found:
        known = Inventory.of(dataset)
        refuse_uncovered(words, known)
        raise names.unknown_name(
            "case, operator or words", words, dict.fromkeys((*(c for c, _ in known.catalogue), *known.ops))
        )
    return answer_hits(found)


def answer_hits(found: Sequence[Hit]) -> Answer:
    """Answer with a list of hits."""
    pages = [("case", hit.case) if hit.case else ("op", hit.operator or "") for hit in found]
    rows = tuple(
        (hit.title or "operator without a documented case", Message(hit.excerpt), Link(name, page, {page: name}))
        for hit, (page, name) in zip(found, pages, strict=True)
    )
    page, name = pages[0]
    more = f"caniexport {page} {name} shows more; caniexport why - reads any text as an error."
    verdict = f"{plural(len(found), 'hit')} for these words, best first."
    table = Table("", ("case or operator", "where the words are", "name"), rows, shown=MOST_HITS)
    return Answer(verdict, AnswerOutcome.LISTED, (table,), more=more)


def find_hits(index: FullText, words: str) -> tuple[Hit, ...]:
    """The cases and operators that have all of the words; where none has, those with any of them."""
    return index.find(words) or index.find(words, every=False)


def find_cases(dataset: Dataset, index: FullText, text: str) -> tuple[str, ...]:
    """The cases of the case, operator, theme or workaround of this name; else those with the words, best first."""
    try:
        found = resolve_name(Views.of(dataset), text).cases or ()
        return tuple(dict.fromkeys(case for case, _ in Inventory.of(dataset).catalogue if case in found))
    except UnknownName:
        return tuple(hit.case for hit in index.find(text) if hit.case)


def _list_documents(dataset: Dataset) -> Iterator[tuple[bool, str, str, str, str, str]]:
    """One for each documented case, and for each operator that only torch's operator samples cover."""
    known = Inventory.of(dataset)
    messages, notes = dict(known.views.fetch(_MESSAGES, [dataset.profile])), defaultdict(list)
    for (case, variant), entry in known.catalogue.items():
        if variant != PLAIN:
            notes[case].append(f"{variant.replace('_', ' ')}: {entry.note}")
    keys: set[str] = set()
    for entry in known.documented:
        keys |= operator_keys(entry.ops)
        operators = " ".join((*entry.ops, *spellings(entry.ops)))
        yield True, entry.case, entry.title, operators, "\n".join(notes[entry.case]), messages.get(entry.case, "")
    for op in Samples.of(dataset).operators:
        if keys.isdisjoint(operator_keys((op,))):
            yield False, op, "", " ".join(spellings((op,))), "", ""


#: by case: every message of it
_MESSAGES = """
    WITH given AS (SELECT DISTINCT "case", message_id FROM cells WHERE profile = $1),
    texts AS (SELECT DISTINCT message_id, text FROM message)
    SELECT "case", string_agg(text, '\n' ORDER BY message_id) FROM given JOIN texts USING (message_id) GROUP BY ALL"""
