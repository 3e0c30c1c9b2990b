"""Shards: the cells of a release cut into parts that machines measure each by themselves. Pure, but for one question.

What goes into one part or another is a case with one exporter, with all its variants and opsets. A fix is then measured
by the machine that measures its failing form; what the opsets share (one capture of dynamo's) is made once; and the
neighbours that the A/A sample measures again in the opposite order are all there. Canaries go into every part.

The cut is a function of the plan and of the seconds that published rows took: each machine with the same cases and the
same published dataset makes the same one, and its hash stands in the environment's row of every shard.
"""

from __future__ import annotations

import hashlib
import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from operator import add
from typing import TYPE_CHECKING, NamedTuple

from caniexport.model.canaries import is_canary
from caniexport.model.errors import UnknownName
from caniexport.model.status import Status

if TYPE_CHECKING:
    from caniexport.model.plan import Cell
    from caniexport.store import Dataset

#: microseconds that a cell takes beside what its row has, and that one takes of which nothing is known
_BESIDE, _UNKNOWN = 20_000, 100_000
#: of one that hung, which is tried twice
_HUNG = 120_000_000
_TEXT = re.compile(r"([0-9]{1,6})/([0-9]{1,6}):([0-9]{1,9}):([0-9a-f]{16})")

#: a case with an exporter
Unit = tuple[str, str]
#: the numbers of :data:`_MEASURES` over some cells
Measures = tuple[int, ...]


class NoShardError(UnknownName):
    """A text that names no shard."""


class Shard(NamedTuple):
    """The part ``number`` of ``of``, from 1 on."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def file_name(self) -> str:
        """As it stands in the name of a file."""
        return f"{self.number}-of-{self.of}"


class CutShard(NamedTuple):
    """A shard of one release: how many cells it has, and the hash of how the plan was cut."""

    shard: Shard
    cells: int
    digest: str

    def __str__(self) -> str:
        return f"{self.shard}:{self.cells}:{self.digest}"


def read_shard(text: str) -> Shard:
    """The shard that ``3/8`` names. Raises :class:`NoShardError`."""
    index, _, count = text.partition("/")
    if index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count) <= 99_999:
        return Shard(int(index), int(count))
    raise NoShardError(f"{text!r} names no shard: 3/8 is the third of eight")


def read_cut_shard(text: str) -> CutShard | None:
    """What the column ``shard`` of an environment's row says; ``None`` where it says nothing that can be read."""
    found = _TEXT.fullmatch(text)
    return CutShard(Shard(int(found[1]), int(found[2])), int(found[3]), found[4]) if found else None


def cut(cells: Sequence[Cell], count: int, microseconds: Mapping[Unit, int]) -> list[list[Cell]]:
    """``count`` parts of the cells, each in the order of the plan; canaries are in every part that has other cells.

    ``microseconds`` is what a cell of a case with an exporter took; ``("", exporter)`` where the case is not known.
    The unit that takes longest goes first, each to the part that has least to do.
    """
    units: dict[Unit, list[Cell]] = {}
    canaries = [cell for cell in cells if is_canary(cell.case)]
    for cell in cells:
        if not is_canary(cell.case):
            units.setdefault((cell.case, cell.exporter), []).append(cell)
    seconds = {unit: len(some) * _of_a_cell(unit, microseconds) for unit, some in units.items()}
    places = _share_out(seconds, count) if units else {}
    parts: list[list[Cell]] = [[] for _ in range(count)]
    for cell in cells:
        if not is_canary(cell.case):
            parts[places[cell.case, cell.exporter]].append(cell)
    if not units:
        parts[0] = list(canaries)
        return parts
    return [[*canaries, *part] if part else [] for part in parts]


def total_seconds(cells: Iterable[Cell], microseconds: Mapping[Unit, int]) -> float:
    """What one worker takes for these cells; ``microseconds`` as for :func:`cut`."""
    return sum(_of_a_cell((cell.case, cell.exporter), microseconds) for cell in cells) / 1e6


def digest(parts: Sequence[Sequence[Cell]]) -> str:
    """Sixteen hex digits that two machines have in common where they cut the same plan in the same way."""
    text = "\n\n".join("\n".join(sorted(cell.key for cell in part)) for part in parts)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def past_microseconds(dataset: Dataset, torch: str) -> dict[Unit, int]:
    """What a cell of each case took with each exporter: in this release, else in all. Whole numbers: the same anywhere.

    A failed export has no time of its own and counts as the exporter's other ones; what hung took the limit, twice.
    """
    return past_of_each(dataset, (torch,))[torch]


def past_of_each(dataset: Dataset, releases: Iterable[str]) -> dict[str, dict[Unit, int]]:
    """The same for each of some torch releases; the rows are read once."""
    by_release: defaultdict[str, dict[Unit, Measures]] = defaultdict(dict)
    every: defaultdict[Unit, Measures] = defaultdict(lambda: (0,) * len(_MEASURES))
    for torch, case, exporter, *measures in dataset.grouped(("torch", "case", "exporter"), _MEASURES):
        if exporter:
            unit, numbers = (case or "", exporter), tuple(number or 0 for number in measures)
            by_release[torch][unit] = numbers
            every[unit] = tuple(map(add, every[unit], numbers))
    past = _means(every)
    return {torch: past | _means(by_release[torch]) for torch in releases}


def _means(measured: Mapping[Unit, Measures]) -> dict[Unit, int]:
    """Microseconds of a cell of each case and exporter, and of each exporter where it is not known of the case."""
    timed: Counter[str] = Counter()
    spent: Counter[str] = Counter()
    for (_, exporter), numbers in measured.items():
        timed[exporter] += numbers[1]
        spent[exporter] += numbers[2]
    usual = {exporter: spent[exporter] // max(timed[exporter], 1) for exporter in timed}
    found = {("", exporter): mean for exporter, mean in usual.items()}
    for (case, exporter), (cells, _, took, hung, failed) in measured.items():
        if case:
            found[case, exporter] = (took + failed * usual[exporter] + hung * _HUNG) // cells
    return found


_MEASURES = {
    "cells": "count(*)",
    "timed": "count(seconds_export)",
    "spent": "sum(round(1e6 * (coalesce(seconds_export, 0) + coalesce(seconds_load, 0) "
    "+ coalesce(seconds_run, 0)))::BIGINT)::BIGINT",
    "hung": f"count(*) FILTER (status = '{Status.TIMEOUT.value}')",
    "failed": f"count(*) FILTER (status = '{Status.FAIL.value}' AND seconds_export IS NULL)",
}


def took(cell: Cell, microseconds: Mapping[Unit, int]) -> int:
    """The microseconds that a cell is expected to take."""
    return _of_a_cell((cell.case, cell.exporter), microseconds)


def _of_a_cell(unit: Unit, microseconds: Mapping[Unit, int]) -> int:
    known = microseconds.get(unit, microseconds.get(("", unit[1]), _UNKNOWN))
    return known + _BESIDE


def _share_out(seconds: Mapping[Unit, int], count: int) -> dict[Unit, int]:
    """The part of each unit."""
    parts = [(0, place) for place in range(count)]
    found: dict[Unit, int] = {}
    for unit in sorted(seconds, key=lambda unit: (-seconds[unit], unit)):
        total, place = parts[0]
        heapq.heapreplace(parts, (total + seconds[unit], place))
        found[unit] = place
    return found
