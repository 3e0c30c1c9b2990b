"""A part of what is to be measured of each release, for one machine of several."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, NamedTuple

from caniexport.model.canaries import is_canary
from caniexport.model.errors import UnknownName

if TYPE_CHECKING:
    from caniexport.model.plan import Cell


class Shard(NamedTuple):
    """The part ``number`` of ``of``, from 1 on."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def holds(self, cell: Cell) -> bool:
        """Whether a cell is in this part: a case with one exporter is in one of them, canaries are in each."""
        place = zlib.crc32(f"{cell.case}/{cell.exporter}".encode()) % self.of
        return place == self.number - 1 or is_canary(cell.case)


def read_shard(text: str) -> Shard:
    """The shard that ``3/8`` names. Raises :class:`UnknownName`."""
    number, _, count = text.partition("/")
    if number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count) <= 99_999:
        return Shard(int(number), int(count))
    raise UnknownName(f"{text!r} names no shard: 3/8 is the third of eight")
