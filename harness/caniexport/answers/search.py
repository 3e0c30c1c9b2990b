"""One search over cases, operators, sources, themes, fixes and error texts.

A pasted error is found by its signature: the words that stay when numbers, names and shapes are taken out. Where no
error has that signature, the one that shares the rarest words with it is meant.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from caniexport import names
from caniexport.answers.rows import NO_EXPORTER
from caniexport.answers.select import CatalogueEntry, Rows, load
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
from caniexport.model.messages import signature, tidy
from caniexport.model.status import Exporter
from caniexport.store import sql

if TYPE_CHECKING:
    from caniexport.store import Dataset

_KIND = r"\w*(?:Error|Exception|Fail|InvalidArgument|InvalidGraph|NotImplemented)"
#: what tells a pasted error from words: an exception's name with its colon, or a runtime's mark
_ERROR = re.compile(rf"\b{_KIND}: |\[ONNXRuntimeError\]")
#: where an exception's words begin, also where pasting made one line of a whole traceback
_RAISED = re.compile(rf"(?:^|\s)(?:E\s+)?(?:caused by )?(?:[\w.]+\.)?({_KIND}): ")
#: words of so few letters (to, on, not) say nothing of what an error is about
_SHORT = 3
_TOKEN = re.compile(r"[A-Za-z_][\w:.]*[\w]")
#: share of an error's words, weighed by how rare they are, that a paste must have
_LIKE = 0.6
_SAME = 0.97
#: as users mostly call them first
_EXPORTERS = [member.value for member in Exporter]
#: how many ranks of exporters, and opsets, a number tells apart
_RANKS, _OPSETS = len(_EXPORTERS) + 1, 1000
#: characters of a query that are looked at
LONGEST = 4000


@dataclass(frozen=True)
class Hit:
    """One case that was found. ``why`` says what matched; ``torch``, ``exporter``, ``opset`` place an error's cell, and
    ``like`` is the share of the error's words that are in the query, or the other way round.
    """

    entry: CatalogueEntry
    why: str
    score: float
    variant: str = PLAIN
    torch: str = ""
    exporter: str = ""
    opset: int | None = None
    text: str = ""
    like: float = 0.0


@dataclass(frozen=True)
class SearchHits:
    """What a query found: cases best first, and the names of other things that it means.

    ``error`` is whether the query was read as an error's text; ``near`` are known names where nothing was found.
    """

    query: str
    error: bool
    hits: tuple[Hit, ...]
    ops: tuple[str, ...] = ()
    themes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    near: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Seen:
    """One error text of one variant, with the newest cell that has it."""

    case: str
    variant: str
    signature: str
    message_id: str
    torch: str
    exporter: str
    opset: int | None


@dataclass(frozen=True)
class Index:
    """What is searched: the catalogue's words and every error text with the cells that have it."""

    entries: Mapping[tuple[str, str], CatalogueEntry] = field(repr=False)
    words: Mapping[str, tuple[tuple[str, float, str], ...]] = field(repr=False)
    seen: Mapping[str, tuple[_Seen, ...]] = field(repr=False)
    texts: Mapping[str, str] = field(repr=False)
    signatures: Mapping[str, tuple[str, ...]] = field(repr=False)
    tokens: Mapping[str, frozenset[str]] = field(repr=False)
    rarity: Mapping[str, float] = field(repr=False)


def index(dataset: Dataset) -> Index:
    """Read what is searched; made once for a dataset."""
    rows = load(dataset)
    entries = {key: item for key, item in rows.catalogue.items() if item.corpus != CANARY}
    seen = _seen(rows, {case for case, _ in entries})
    texts = dataset.messages(seen)
    signatures: dict[str, list[str]] = defaultdict(list)
    for message_id, found in seen.items():
        for said in {_said(item.signature) for item in found}:
            signatures[said].append(message_id)
    tokens = {message_id: _tokens("\n".join(_reasons(text))) for message_id, text in texts.items()}
    counts = Counter(token for found in tokens.values() for token in found)
    rarity = {token: math.log(1 + len(tokens) / count) for token, count in counts.items()}
    lines = {name: tuple(found) for name, found in signatures.items()}
    return Index(entries, _words(entries.values()), seen, texts, lines, tokens, rarity)


def search(dataset: Dataset, query: str) -> SearchHits:
    """What the query means; an empty one finds nothing."""
    return find(index(dataset), query)


def find(where: Index, query: str) -> SearchHits:
    """As :func:`search`, in an index made before."""
    query = query.strip()[:LONGEST]
    if not query:
        return SearchHits("", False, ())
    if is_error(query):
        found = _by_error(where, query)
        if found:
            return SearchHits(query, True, tuple(found))
    hits = _by_words(where, query)
    if not hits and len(query.split()) > 2:
        found = _by_error(where, query)
        if found:
            return SearchHits(query, True, tuple(found))
    return SearchHits(
        query,
        False,
        tuple(hits),
        ops=tuple(_named(query, (op for item in where.entries.values() for op in item.ops))),
        themes=tuple(_named(query, (item.theme for item in where.entries.values()))),
        sources=tuple(_named(query, (name for item in where.entries.values() for name in item.sources))),
        near=() if hits else tuple(_near(where, query)),
    )


def is_error(query: str) -> bool:
    """Whether a query reads like the text of an error rather than like words to look for."""
    return "\n" in query.strip() or bool(_ERROR.search(query)) or len(query) > 120


def essence(query: str) -> str:
    """The line of a pasted traceback that says what went wrong: short enough for an address; words stay as they are."""
    if not is_error(query):
        return " ".join(query.split())
    lines = _raised(tidy(query))
    return (lines[-1] if lines else " ".join(query.split()))[:600]


def _by_error(where: Index, query: str) -> list[Hit]:
    text = tidy(query)
    lines = _raised(text) or [text]
    asked = _tokens("\n".join(lines))
    same = {name for line in lines for name in where.signatures.get(_said(signature("", "", _bare(line))), ())}
    best: dict[str, Hit] = {}
    for message_id, tokens in sorted(where.tokens.items()):
        like = _alike(tokens, asked, where.rarity)
        if message_id not in same and like < _LIKE:
            continue
        score = like + (1 if message_id in same else 0)
        why = "the same error" if message_id in same or like >= _SAME else f"a similar error ({like:.0%} of its words)"
        for item in where.seen[message_id]:
            entry = where.entries.get((item.case, item.variant))
            if entry is None:
                continue
            # the failing form speaks before a fix that fails alike
            rank = score + (0.01 if item.variant == PLAIN else 0)
            if item.case not in best or rank > best[item.case].score:
                place = item.torch, item.exporter, item.opset
                best[item.case] = Hit(entry, why, rank, item.variant, *place, where.texts[message_id], like)
    # of many that tell the same error, the case whose own words are the query's is the one that is about it
    found = sorted(
        best.values(),
        key=lambda hit: (-round(hit.score, 2), -_about(hit.entry, asked, where.rarity), hit.entry.case),
    )
    # where an error is told word for word, those that only share its pattern are not what was asked
    exact = [hit for hit in found if hit.like >= _SAME]
    return exact or found


def _about(entry: CatalogueEntry, asked: frozenset[str], rarity: Mapping[str, float]) -> float:
    """What the words of an error that are in the case's name, title and operators weigh."""
    own = _tokens(" ".join((entry.case.replace("-", " "), entry.title, *entry.ops))) | set(entry.ops)
    own |= {op.split("::")[-1] for op in entry.ops}
    return round(sum(rarity.get(token, 0.0) for token in own & asked if len(token) > _SHORT), 3)


def _alike(tokens: frozenset[str], asked: frozenset[str], rarity: Mapping[str, float]) -> float:
    """How much of one of the two texts is in the other; a word that no error has weighs as much as the rarest."""
    rarest = max(rarity.values(), default=1.0)
    shared = sum(rarity[token] for token in tokens & asked)
    if len(tokens & asked) < 2:
        return 0.0
    whole, mine = sum(rarity[token] for token in tokens), sum(rarity.get(token, rarest) for token in asked)
    return max(shared / whole, 0.99 * shared / mine)


def _by_words(where: Index, query: str) -> list[Hit]:
    parts = query.casefold().split()
    best: dict[str, Hit] = {}
    for (case, variant), entry in where.entries.items():
        reasons = [_reason(part, where.words[f"{case}/{variant}"]) for part in parts]
        if any(reason is None for reason in reasons):
            continue
        known = [reason for reason in reasons if reason is not None]
        score = sum(weight for weight, _ in known) / len(known) + (0.5 if variant == PLAIN else 0)
        why = ", ".join(dict.fromkeys(said for _, said in sorted(known, reverse=True)))
        if case not in best or score > best[case].score:
            best[case] = Hit(entry, why, score, variant)
    return sorted(best.values(), key=lambda hit: (-hit.score, hit.entry.case))


def _reason(part: str, words: Sequence[tuple[str, float, str]]) -> tuple[float, str] | None:
    """The weightiest text that has the word; one that is the word, or begins with it, weighs more."""
    found = [
        (weight * (2.0 if text == part else 1.2 if text.startswith(part) else 1.0), said)
        for text, weight, said in words
        if part in text
    ]
    return max(found, default=None)


def _words(entries: Iterable[CatalogueEntry]) -> dict[str, tuple[tuple[str, float, str], ...]]:
    """By variant: (text in lower case, weight, what it is)."""
    found = {}
    for item in entries:
        said = [(item.case, 10.0, "name"), (item.title, 8.0, "title"), (item.theme, 5.0, f"theme {item.theme}")]
        said += [(op, 9.0, f"operator {op}") for op in item.ops]
        said += [(op.split("::")[-1], 9.0, f"operator {op}") for op in item.ops if "::" in op]
        said += [("torch." + op.split("::")[-1], 9.0, f"operator {op}") for op in item.ops if op.startswith("aten::")]
        said += [(source, 7.0, f"source {source}") for source in item.sources]
        if item.variant != PLAIN:
            said += [(item.variant, 6.0, f"fix {item.variant}"), (item.note, 4.0, f"fix {item.variant}")]
            said += [(item.kind, 4.0, f"a fix of kind {item.kind}")]
        said += [(item.code, 1.0, "its code")]
        found[f"{item.case}/{item.variant}"] = tuple((text.casefold(), weight, why) for text, weight, why in said)
    return found


def _named(query: str, known: Iterable[str]) -> list[str]:
    """Names that the query is a part of, by its last word: ``cross`` means ``aten::cross``."""
    wanted = query.casefold().removeprefix("torch.")
    return [name for name in dict.fromkeys(known) if name and wanted in name.casefold()][:8]


def _near(where: Index, query: str) -> list[str]:
    known = [name for item in where.entries.values() for name in (item.case, *item.ops, item.theme)]
    return names.nearest(query, known)


def _seen(rows: Rows, cases: set[str]) -> dict[str, tuple[_Seen, ...]]:
    """By error text: the variants that have it, each with its newest cell."""
    by = ("message_id", "case", "variant", "signature")
    found: dict[str, dict[tuple[str, str], tuple[int, str]]] = defaultdict(dict)
    for message_id, case, variant, told, place in rows.grouped(by, {"newest": _newest(rows.torch)}, {}):
        if message_id and told and case in cases:
            key = case, variant or PLAIN
            found[message_id][key] = max(found[message_id].get(key, (-1, "")), (place, told))
    return {
        message_id: tuple(
            _told(key, message_id, told, _cell(place, rows.torch)) for key, (place, told) in items.items()
        )
        for message_id, items in found.items()
    }


def _told(key: tuple[str, str], message_id: str, told: str, newest: tuple[str, str, int | None]) -> _Seen:
    case, variant = key
    return _Seen(case, variant, told, message_id, *newest)


def _newest(releases: Sequence[str]) -> str:
    """SQL: of cells the newest release first, there the exporter that most people call: a number for :func:`_cell`."""
    known = ", ".join(map(sql.literal, releases))
    named = ", ".join(map(sql.literal, _EXPORTERS))
    release = f"coalesce(list_position([{known}]::VARCHAR[], torch), 0)"
    exporter = f"{len(_EXPORTERS)} + 1 - coalesce(list_position([{named}], exporter), {len(_EXPORTERS)} + 1)"
    return f"max(({release} * {_RANKS} + {exporter}) * {_OPSETS} + coalesce(opset, 0))::BIGINT"


def _cell(place: int, releases: Sequence[str]) -> tuple[str, str, int | None]:
    """Release, exporter and opset of such a number."""
    rest, opset = divmod(place, _OPSETS)
    release, rank = divmod(rest, _RANKS)
    exporter = _EXPORTERS[-rank] if rank else NO_EXPORTER
    return releases[release - 1] if release else "", exporter, opset or None


def _said(text: str) -> str:
    """A signature's line without stage and exception, as far as both sides have it."""
    return text.split("|", 2)[-1]


def _reasons(text: str) -> list[str]:
    """The lines of a kept text that say why: its first, and those of the causes behind it."""
    lines = [line for line in text.splitlines() if line.strip()]
    return [line for number, line in enumerate(lines) if number == 0 or line.startswith("caused by ")]


def _raised(text: str) -> list[str]:
    """``Type: words`` of every exception in a traceback, outermost first, to the end of its line."""
    marks = list(_RAISED.finditer(text))
    found = []
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    for mark, end in zip(marks, ends, strict=bool(marks)):
        part = text[mark.start(1) : end]
        found.append(part.strip().split("\n")[0].strip())
    return [line for line in found if line]


def _bare(line: str) -> str:
    """An exception's words without its type."""
    return re.sub(r"^(?:[\w.]+\.)?\w+: ", "", line, count=1)


def _tokens(text: str) -> frozenset[str]:
    return frozenset(token.casefold() for token in _TOKEN.findall(text))
