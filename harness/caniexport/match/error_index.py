"""Every error of a dataset with the cells that have it and what it says: made once for a dataset."""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from caniexport import home, operators, versions
from caniexport.answers.rows import NO_EXPORTER
from caniexport.answers.select import CatalogueEntry, load
from caniexport.match import evidence
from caniexport.match.evidence import ErrorEvidence, Reason, every_operator, only_wraps, read_error, speaks_alone
from caniexport.model import messages
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
from caniexport.model.status import WORKS, Exporter, Status
from caniexport.operators import operator_key, operator_keys, operator_name
from caniexport.store import sql, summary

if TYPE_CHECKING:
    from caniexport.store import Dataset

#: as users mostly call them first
_EXPORTERS = [member.value for member in Exporter]
#: how many ranks of exporters, and opsets, a number tells apart
_RANKS, _OPSETS = len(_EXPORTERS) + 1, 1000
#: what is no error: it works, or it was not asked
_SILENT = (*(status.value for status in WORKS), Status.MISMATCH.value, Status.SKIP.value)
#: texts that are one but for numbers are one error
_NUMBER = re.compile(r"\d+")
#: characters from which the beginning of a line stands for the whole
_LEAST_BEGINNING = 48
#: a case with so few failing cells says little of what it fails with
_FEW_CELLS = 5
#: share of the cells with an error from which one exporter gives it
_MOST_OF_IT = 0.8
_NAMED = frozenset(name.value for name in Exporter if name is not Exporter.DEFAULT)
#: what the reading of a text depends on
_CODE = (evidence, messages, operators)
_Key = TypeVar("_Key")


@dataclass(frozen=True)
class SeenAt:
    """The newest of the ``cells`` of one variant that have an error; ``runtime`` is set where one gave it later."""

    case: str
    variant: str
    torch: str
    exporter: str
    opset: int | None
    runtime: str = ""
    cells: int = 1


@dataclass(frozen=True)
class KnownError:
    """One error of the dataset, where it was seen, and what it says: the operator that fails, the exceptions, the first
    lines of its reasons with their names, and without them as far as these say enough.
    """

    text: str
    places: tuple[SeenAt, ...]
    operator: str
    kinds: tuple[str, ...]
    lines: tuple[str, ...]
    patterns: tuple[str, ...]
    words: frozenset[str]

    @cached_property
    def cases(self) -> frozenset[str]:
        """The cases that have it."""
        return frozenset(place.case for place in self.places)

    @cached_property
    def key(self) -> str:
        """The key of the operator that fails; empty where none is named."""
        return operator_key(self.operator) if self.operator else ""

    @cached_property
    def name(self) -> str:
        """That operator as it is written."""
        return operator_name(self.operator)

    def same_line(self, reason: Reason) -> str:
        """Return its line that a reason has; of a line that was cut off the beginning is enough."""
        for line in self.lines:
            shorter, longer = sorted((line, reason.exact), key=len)
            if line == reason.exact or (len(shorter) >= _LEAST_BEGINNING and shorter in longer):
                return line
        return ""

    def same_pattern(self, reason: Reason) -> str:
        """Return its pattern that a reason has, or has among other words."""
        if not reason.tells:
            return ""
        has = (known for known in self.patterns if known == reason.pattern or known in reason.pattern)
        return next((known for known in has if speaks_alone(known)), "")

    def speaks_alike(self, said: ErrorEvidence) -> bool:
        """Whether it has a line or a pattern of a text, and its operator where both name one."""
        if said.operator and self.key and self.key != operator_key(said.operator):
            return False
        return any(self.same_line(reason) or self.same_pattern(reason) for reason in said.reasons)

    def quotes(self, said: ErrorEvidence) -> bool:
        """Whether a line of it has the whole line of an exception of a text, and its operator where both name one."""
        if said.operator and self.key and self.key != operator_key(said.operator):
            return False
        lines = [reason.exact for reason in said.reasons if reason.tells and not reason.warns]
        return any(line in known for line in lines for known in self.lines)


def read_known(text: str, places: tuple[SeenAt, ...] = ()) -> KnownError:
    """What one error text of the dataset says."""
    return KnownError(text, places, *_values(_record(text)))


def _record(text: str) -> list[Any]:
    read = read_error(text)
    patterns = [*dict.fromkeys(reason.pattern for reason in read.reasons if reason.tells)]
    lines = [*dict.fromkeys(reason.exact for reason in read.reasons if reason.exact)]
    return [read.operator, read.kinds, lines, patterns, sorted(read.words)]


def _values(record: list[Any]) -> tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...], frozenset[str]]:
    operator, kinds, lines, patterns, words = record
    return operator, tuple(kinds), tuple(lines), tuple(patterns), frozenset(words)


def _records(texts: Sequence[str]) -> list[list[Any]]:
    """What these texts say, kept in the user's cache folder: to read them all takes seconds."""
    sources = (Path(module.__file__ or "").read_bytes() for module in (*_CODE, sys.modules[__name__]))
    lists = home.packaged_list("onnx_operators.txt").encode()
    parts = (sys.version.encode(), lists, *sources, *(text.encode("utf-8", "surrogateescape") for text in texts))
    key = hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()[:32]
    kept = summary.read_kept(key)
    if kept:
        found: list[list[Any]] = json.loads(zlib.decompress(kept))
        return found
    records = [_record(text) for text in texts]
    summary.keep(key, zlib.compress(json.dumps(records).encode(), 3))
    return records


@dataclass(frozen=True)
class ErrorIndex:
    """Every error of a dataset, and the catalogue of its cases: made once for a dataset by :func:`index_errors`.

    ``claimed`` has by case the words of the errors that documents say it ends with, ``listed`` the keys of the
    operators in torch's own tables.
    """

    entries: Mapping[tuple[str, str], CatalogueEntry] = field(repr=False)
    known: tuple[KnownError, ...] = field(repr=False)
    claimed: Mapping[str, frozenset[str]] = field(repr=False)
    listed: frozenset[str] = field(repr=False)

    @cached_property
    def operators(self) -> frozenset[str]:
        """The keys of all operators: those that cases are about, and those of torch and ONNX."""
        return self.listed | frozenset(self.by_operator) | every_operator()

    @cached_property
    def by_key(self) -> Mapping[str, list[KnownError]]:
        """The errors that name an operator, by its key."""
        found: dict[str, list[KnownError]] = defaultdict(list)
        for item in self.known:
            found[item.key].append(item)
        return found

    @cached_property
    def cases_by_line(self) -> Mapping[str, frozenset[str]]:
        """The cases that have a line, its names included."""
        return _gather((line, item.cases) for item in self.known for line in item.lines)

    @cached_property
    def cases_by_pattern(self) -> Mapping[tuple[str, str], frozenset[str]]:
        """The cases that have a pattern with an operator."""
        return _gather(((pattern, item.key), item.cases) for item in self.known for pattern in item.patterns)

    @cached_property
    def rarity(self) -> Mapping[str, int]:
        """How much a word says: the fewer cases have it in an error, the more."""
        cases = _gather((word, item.cases) for item in self.known for word in item.words)
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
        return {item.words: self.weigh(item.words) for item in self.known}

    @cached_property
    def purity(self) -> Mapping[tuple[str, str], float]:
        """By case and pattern: the share of its failing form's errors that are of the pattern, many counting more."""
        every: Counter[str] = Counter()
        of: Counter[tuple[str, str]] = Counter()
        for item in self.known:
            for place in (place for place in item.places if place.variant == PLAIN):
                every[place.case] += place.cells
                of.update(dict.fromkeys(((place.case, said) for said in (*item.patterns, *item.kinds)), place.cells))
        return {key: cells / (every[key[0]] + _FEW_CELLS) for key, cells in of.items()}

    @cached_property
    def exporters(self) -> Mapping[str, Counter[str]]:
        """By pattern, and by the name of an exception: the exporters that give it, by cells."""
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for item in self.known:
            for place in item.places:
                for words in {*item.patterns, *item.kinds} if place.exporter in _NAMED else ():
                    found[words][place.exporter] += place.cells
        return found

    @cached_property
    def by_operator(self) -> Mapping[str, tuple[CatalogueEntry, ...]]:
        """The failing forms that are about an operator."""
        found: dict[str, list[CatalogueEntry]] = defaultdict(list)
        for entry in self.entries.values():
            for key in operator_keys(entry.ops) if entry.variant == PLAIN else ():
                found[key].append(entry)
        return {key: tuple(entries) for key, entries in found.items()}

    @cached_property
    def failing_operators(self) -> Mapping[str, Counter[str]]:
        """By case: the operators that its errors name, counted."""
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for item in self.known:
            for case in item.cases if item.key else ():
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
    seen = _read_seen(dataset, entries, rows.torch)
    records = _records([text for text, _ in seen])
    known = (KnownError(text, places, *_values(record)) for (text, places), record in zip(seen, records, strict=True))
    listed = operator_keys(str(row["op"]) for row in dataset.records("declared", {}))
    return ErrorIndex(entries, tuple(known), _claimed(dataset), listed)


def _claimed(dataset: Dataset) -> Mapping[str, frozenset[str]]:
    """By case: what its claims say the failing form's error reads, as far as that tells it from others."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in dataset.records("claims", {"variant": (PLAIN,)}):
        message = str(json.loads(row["expects"] or "{}").get("message") or "")
        if speaks_alone(message) and not only_wraps(message):
            found[str(row["case"])].add(message.casefold())
    return {case: frozenset(messages) for case, messages in found.items()}


def exporter_of(where: ErrorIndex, said: ErrorEvidence) -> str:
    """The exporter that gives an error, by its words, else by its exception; empty where several do."""
    for words in (*(reason.pattern for reason in said.reasons), *said.kinds):
        cells = where.exporters.get(words, Counter[str]())
        for exporter, most in cells.most_common(1):
            if most >= _MOST_OF_IT * cells.total():
                return exporter
    return ""


def _read_seen(
    dataset: Dataset, entries: Mapping[tuple[str, str], CatalogueEntry], releases: Sequence[str]
) -> list[tuple[str, tuple[SeenAt, ...]]]:
    """Every error text of a dataset with its places; texts that differ in numbers only are one, the newest of them."""
    columns = ("message_id", "checker_id", "warning_id")
    of_cells = [found for column in columns for found in _of_cells(dataset, releases, column)]
    by_id: dict[str, dict[tuple[str, str], SeenAt]] = defaultdict(dict)
    for message_id, place in (*of_cells, *_of_runtimes(dataset)):
        if (place.case, place.variant) in entries:
            by_id[message_id].setdefault((place.case, place.variant), place)
    texts = dataset.messages(by_id)
    merged: dict[str, tuple[str, dict[tuple[str, str], SeenAt]]] = {}
    for message_id, places in by_id.items():
        text = texts.get(message_id)
        known = merged.setdefault(_NUMBER.sub("N", text), (text, {}))[1] if text else {}
        for key, place in places.items():
            newest = known.setdefault(key, replace(place, cells=0))
            known[key] = replace(newest, cells=newest.cells + place.cells)
    return [(text, tuple(places.values())) for text, places in merged.values()]


def _of_cells(dataset: Dataset, releases: Sequence[str], column: str) -> Iterator[tuple[str, SeenAt]]:
    """Failures by their error, wrong values by what was warned of, both by what the checker said of the file."""
    by = (column, "case", "variant", "status")
    fails = [status.value for status in Status if status.value not in _SILENT]
    taken = {"message_id": fails, "warning_id": [Status.MISMATCH.value], "checker_id": [*fails, Status.MISMATCH.value]}
    measures = {"newest": _newest(releases), "cells": "count(*)"}
    newest: dict[tuple[str, str, str], tuple[int, int]] = {}
    for message_id, case, variant, _, place, cells in dataset.kept_groups(
        by, measures, {"status": tuple(taken[column])}
    ):
        if message_id and case:
            key = (message_id, case, variant or PLAIN)
            known_place, known_cells = newest.get(key, (-1, 0))
            newest[key] = (max(place, known_place), cells + known_cells)
    harmless = set() if column == "message_id" else _harmless(dataset, column)
    for (message_id, case, variant), (place, cells) in sorted(newest.items(), key=lambda item: (-item[1][0], item[0])):
        if (message_id, case) not in harmless:
            yield message_id, SeenAt(case, variant, *_cell(place, releases), cells=cells)


def _harmless(dataset: Dataset, column: str) -> set[tuple[str, str]]:
    """What a case is warned of where it works, too: it does not say why the case fails elsewhere."""
    working = {"status": tuple(status.value for status in WORKS)}
    by = (column, "case", "status")
    return {(warning, case) for warning, case, *_ in dataset.kept_groups(by, {"n": "count(*)"}, working)}


def _of_runtimes(dataset: Dataset) -> Iterator[tuple[str, SeenAt]]:
    by = ("message_id", "case", "variant", "runtime", "status")
    releases = {"releases": "list(DISTINCT coalesce(runtime_version, '0'))"}
    for message_id, case, variant, runtime, status, found in dataset.run_groups(by, releases):
        if message_id and case and status not in _SILENT:
            yield message_id, SeenAt(case, variant or PLAIN, "", "", None, f"{runtime} {versions.ordered(found)[-1]}")


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


def _gather(pairs: Iterable[tuple[_Key, frozenset[str]]]) -> dict[_Key, frozenset[str]]:
    found: dict[_Key, set[str]] = defaultdict(set)
    for key, cases in pairs:
        found[key] |= cases
    return {key: frozenset(cases) for key, cases in found.items()}
