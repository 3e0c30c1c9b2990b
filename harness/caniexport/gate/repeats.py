"""A/A: a sample of a release's cells measured a second time, in two ways that a sound measurement does not notice.

Half of it are cells drawn at random, each in a process of its own with nothing kept or shared: what makes measuring
fast changes no row. Half are neighbours: whole cases with all their variants by one exporter, together in a child as
they are measured, in the opposite order: no cell owes its answer to the one before it. What differs is the rate of
false alarms.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from caniexport.model.plan import Cell
from caniexport.model.status import Exporter

#: cells repeated where a whole release is measured
REPEATED = 500
#: of the cells alone at most so many with dynamo, whose bare export takes half a second and more
_DYNAMO = 20
#: of the neighbours, which share their work
_DYNAMO_TOGETHER = 60

#: what must be the same; times are not, nor the numbering of graph values within an error's text
COMPARED = (
    "stage",
    "status",
    "signature",
    "exporter_effective",
    "opset_effective",
    "ir_version",
    "ops",
    "bundle",
    "facts",
    "checker",
)

Row = Mapping[str, Any]


class Sample(NamedTuple):
    """What is measured again: cells each ``alone``, and whole cases of one exporter ``together``."""

    alone: list[Cell]
    together: list[Cell]

    @property
    def size(self) -> int:
        """How many cells it has."""
        return len(self.alone) + len(self.together)


def draw_sample(cells: Sequence[Cell], count: int, seed: str) -> Sample:
    """About ``count`` cells drawn at random, the same for the same seed, in the order of the plan."""
    draw = random.Random(seed)
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.case, cell.exporter), []).append(cell)
    count = min(count, len(cells))
    together = _take(draw.sample(list(groups.values()), len(groups)), count // 2, _DYNAMO_TOGETHER)
    others = [[cell] for cell in cells if cell.key not in together]
    alone = _take(draw.sample(others, len(others)), count - len(together), _DYNAMO)
    return Sample([cell for cell in cells if cell.key in alone], [cell for cell in cells if cell.key in together])


def _take(groups: Iterable[Sequence[Cell]], count: int, dynamo: int) -> set[str]:
    """Keys of groups in their order until they are ``count`` cells, about ``dynamo`` of them with this exporter."""
    found: set[str] = set()
    for group in groups:
        if len(found) >= count:
            break
        if group[0].exporter == Exporter.DYNAMO:
            if dynamo <= 0:
                continue
            dynamo -= len(group)
        found |= {cell.key for cell in group}
    return found


def find_differing(first: Iterable[Row], second: Iterable[Row]) -> tuple[int, list[str]]:
    """How many cells both have, and those that differ: ``case/variant/exporter/opset: status pass, fail; ...``."""
    both = list(pair_rows(first, second))
    return len(both), [line for line in (_difference(one, other) for one, other in both) if line]


def pair_rows(first: Iterable[Row], second: Iterable[Row]) -> Iterator[tuple[Row, Row]]:
    """The two rows of each cell that both have."""
    before = {row_identity(row): row for row in first}
    return ((before[row_identity(row)], row) for row in second if row_identity(row) in before)


def _difference(one: Row, other: Row) -> str:
    columns = [name for name in COMPARED if one.get(name) != other.get(name)]
    if not columns:
        return ""
    name = "/".join("default" if part is None else str(part) for part in row_identity(one))
    return f"{name}: " + "; ".join(f"{column} {one.get(column)}, {other.get(column)}" for column in columns)


def row_identity(row: Row) -> tuple[Any, ...]:
    """What names a row within its release."""
    return (row["case"], row["variant"], row["exporter"], row["opset"])
