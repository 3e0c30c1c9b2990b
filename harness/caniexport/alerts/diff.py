"""Two states of a dataset, cell by cell: what changed, and how many cells there are of every verdict."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from caniexport import versions
from caniexport.answers.reading import Rows
from caniexport.answers.rows import MeasuredCell
from caniexport.corpus.verdicts import CHANGES, ComparedCell, Verdict, Workaround, compare, workaround
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
from caniexport.model.status import FixKind, Status

#: what the newest nightly of each side is called, so that one night is compared with another
NIGHTLY = "nightly"

#: torch (or :data:`NIGHTLY`), exporter, provider, case, variant
Line = tuple[str, str, str | None, str, str]
_STATUS = {status.value: status for status in Status}
#: a cell of a line as text: opset, status, signature and code, the last two as numbers
_TOLD = (
    "string_agg(coalesce(CAST(opset AS VARCHAR), '-') || ':' || status || ':' || CAST(hash(signature) AS VARCHAR) "
    "|| ':' || coalesce(case_hash, ''), ',' ORDER BY opset NULLS LAST)"
)
_MARK = "bit_xor(hash(opset, status, signature, case_hash))"
#: verdicts that are no news: nothing changed, or there is nothing to compare with
QUIET = frozenset(Verdict) - frozenset(CHANGES)


@dataclass(frozen=True)
class CellPlace:
    """Where a cell is: everything but its case and variant. ``torch`` is ``nightly`` for a development build."""

    torch: str
    exporter: str
    opset: int | None
    provider: str | None


@dataclass(frozen=True)
class Changed:
    """A cell that is not as it was; ``signature``, ``message_id`` and ``stage`` are those of afterwards."""

    case: str
    variant: str
    place: CellPlace
    before: Status | None
    after: Status | None
    verdict: Verdict
    signature: str | None = None
    message_id: str | None = None
    run_id: str | None = None
    stage: str | None = None


@dataclass(frozen=True)
class FixMoved:
    """A fix whose word changed in a cell."""

    case: str
    variant: str
    place: CellPlace
    before: Workaround
    after: Workaround


@dataclass(frozen=True)
class Differences:
    """``counts`` has every verdict and sums to the cells of both sides; ``quarantined`` rows are in none of them."""

    counts: Mapping[Verdict, int]
    changed: tuple[Changed, ...]
    moved: tuple[FixMoved, ...]
    quarantined: int

    @property
    def cells(self) -> int:
        """How many cells were compared: those of either side."""
        return sum(self.counts.values())


def differences(before: Rows, after: Rows) -> Differences:
    """Compare two states of a dataset, cell by cell. Canaries are not compared: the gate looks at them.

    Of the development builds the newest of each side are compared with each other, as ``nightly``.
    """
    marks = _marks(before), _marks(after)
    alike = {line for line, mark in marks[0].items() if marks[1].get(line) == mark}
    counts: Counter[Verdict] = Counter()
    for line in alike:
        counts.update(dict(_tally_alike(marks[0][line][1])))
    differing = {*marks[0], *marks[1]} - alike
    where = {"case": {line[-2] for line in differing}}
    left, right = (told_lines(rows, where, measured_as(rows)) if differing else {} for rows in (before, after))
    found = list(changes(left, right, differing, counts))
    return Differences(
        {verdict: counts[verdict] for verdict in Verdict},
        tuple(with_signatures(found, after)),
        tuple(_moved(left, right, found, after)),
        after.quarantined,
    )


def changes(
    left: Mapping[Line, str], right: Mapping[Line, str], lines: Iterable[Line], counts: Counter[Verdict]
) -> Iterator[Changed]:
    """What is news in these lines; every verdict is counted in ``counts``."""
    for line in sorted(lines, key=lambda line: tuple(item or "" for item in line)):
        torch, exporter, provider, case, variant = line
        for opset, was, is_now, verdict in _verdicts(left.get(line, ""), right.get(line, "")):
            counts[verdict] += 1
            if verdict not in QUIET:
                yield Changed(case, variant, CellPlace(torch, exporter, opset, provider), was, is_now, verdict)


_BY = ("torch", "exporter", "provider", "case", "variant")


def _marks(rows: Rows) -> dict[Line, tuple[int, str]]:
    """Of every line a number that two lines share only if they read alike, and its statuses."""
    found = rows.grouped(_BY, {"mark": _MARK, "words": "string_agg(status, ',' ORDER BY status)"}, {})
    return {line: (row[-2], row[-1]) for row, line in _named(found, measured_as(rows))}


def told_lines(rows: Rows, where: Mapping[str, Iterable[Any]], named: Mapping[str, str]) -> dict[Line, str]:
    """Lines, each told opset by opset; ``named`` is what each release is compared as."""
    return {line: row[-1] for row, line in _named(rows.grouped(_BY, {"told": _TOLD}, where), named)}


def _named(found: Iterable[tuple[Any, ...]], named: Mapping[str, str]) -> Iterator[tuple[tuple[Any, ...], Line]]:
    for row in found:
        torch, exporter, provider, case, variant = row[:5]
        if case is not None and exporter is not None and torch in named and not case.startswith(CANARY):
            yield row, (named[torch], exporter, provider, case, variant or PLAIN)


def axes(rows: Rows) -> dict[str, frozenset[str]]:
    """The values of each axis that anything was measured at."""
    found = {axis: frozenset(values) for axis, values in rows.axes.items()}
    return {**found, "torch": frozenset(measured_as(rows).values())}


def measured_as(rows: Rows) -> dict[str, str]:
    """What each release is compared as; older development builds are not among them."""
    nightlies = [torch for torch in rows.torch if versions.parse(torch).is_devrelease]
    named = {torch: torch for torch in rows.torch if torch not in nightlies}
    return {**named, **dict.fromkeys(nightlies[-1:], NIGHTLY)}


_Judged = tuple[int | None, Status | None, Status | None, Verdict]


@lru_cache(maxsize=65536)
def _verdicts(before: str, after: str) -> tuple[_Judged, ...]:
    """The verdict at every opset of a line; the same pair of lines comes back case after case."""
    left, right = _outcomes(before), _outcomes(after)
    nothing = ComparedCell(None)
    return tuple(
        (opset, one.status, other.status, compare(one, other))
        for opset in dict.fromkeys((*left, *right))
        for one, other in [(left.get(opset, nothing), right.get(opset, nothing))]
    )


@lru_cache(maxsize=65536)
def _tally_alike(words: str) -> tuple[tuple[Verdict, int], ...]:
    """The verdicts of a line that reads alike on both sides."""
    same = [ComparedCell(_STATUS[word]) for word in words.split(",")]
    return tuple(Counter(compare(one, one) for one in same).items())


@lru_cache(maxsize=65536)
def _outcomes(told: str) -> Mapping[int | None, ComparedCell]:
    found: dict[int | None, ComparedCell] = {}
    for part in filter(None, told.split(",")):
        opset, status, signature, case_hash = part.split(":")
        found[None if opset == "-" else int(opset)] = ComparedCell(_STATUS[status], signature, case_hash or None)
    return found


def with_signatures(found: list[Changed], after: Rows) -> list[Changed]:
    """The changes with the signatures and messages of the cells as they are now."""
    cells = _cells_of(found, after)
    changed = []
    for item in found:
        cell = cells.get((item.case, item.variant, item.place))
        if cell is not None:
            item = replace(item, signature=cell.signature, message_id=cell.message_id, stage=cell.stage)
        changed.append(item)
    return changed


def _cells_of(found: Iterable[Changed], after: Rows) -> dict[tuple[str, str, CellPlace], MeasuredCell]:
    found = list(found)
    if not found:
        return {}
    named = measured_as(after)
    releases = {name: torch for torch, name in named.items()}
    cells = after.cells(
        case={item.case for item in found},
        torch={releases[item.place.torch] for item in found if item.place.torch in releases},
    )
    return {
        (cell.case, cell.variant, CellPlace(named[cell.torch], cell.exporter, cell.opset, cell.provider)): cell
        for cell in cells
        if cell.torch in named
    }


def _moved(
    left: Mapping[Line, str], right: Mapping[Line, str], found: Iterable[Changed], after: Rows
) -> Iterable[FixMoved]:
    """Fixes whose word changed, looked for where their failing form or they themselves did."""
    fixes: dict[str, list[str]] = defaultdict(list)
    for (case, variant), entry in after.catalogue.items():
        # a fix known to be wrong is never "needed", and a version upgrade has no cells of its own
        if variant != PLAIN and not entry.caution and entry.kind != FixKind.VERSION_UPGRADE.value:
            fixes[case].append(variant)
    for case, place in dict.fromkeys((item.case, item.place) for item in found):
        for variant in fixes[case]:
            words = [_word(side, case, variant, place) for side in (left, right)]
            if words[0] is not words[1]:
                yield FixMoved(case, variant, place, *words)


def _word(lines: Mapping[Line, str], case: str, variant: str, place: CellPlace) -> Workaround:
    where = (place.torch, place.exporter, place.provider)
    plain = _outcomes(lines.get((*where, case, PLAIN), "")).get(place.opset)
    fix = _outcomes(lines.get((*where, case, variant), "")).get(place.opset)
    return workaround(plain.status if plain else None, fix.status if fix else None)
