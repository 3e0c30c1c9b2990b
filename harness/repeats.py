"""A/A: a sample of a release's cells measured a second time, each in a process of its own, with nothing kept or shared.

What differs between the two is the measurement's own noise: the rate of false alarms. Because the second time goes
without everything that makes measuring fast, it also shows on every release that speed changes no row.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.worker.status import Exporter

if TYPE_CHECKING:
    from harness.worker.plan import Cell

#: cells repeated where a whole release is measured
REPEATED = 500
#: of them at most so many with dynamo, whose bare export takes half a second and more
_DYNAMO = 40

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
)

Row = Mapping[str, Any]


def sample(cells: Sequence[Cell], count: int, seed: str) -> list[Cell]:
    """``count`` cells drawn at random, the same for the same seed, in the order of the plan."""
    if len(cells) <= count:
        return list(cells)
    shuffled = random.Random(seed).sample(list(cells), len(cells))
    quick = [cell for cell in shuffled if cell.exporter != Exporter.DYNAMO]
    slow = [cell for cell in shuffled if cell.exporter == Exporter.DYNAMO][: min(_DYNAMO, count)]
    chosen = {cell.key for cell in [*slow, *quick[: count - len(slow)]]}
    return [cell for cell in cells if cell.key in chosen]


def differing(first: Iterable[Row], second: Iterable[Row]) -> tuple[int, list[str]]:
    """How many cells both have, and those that differ: ``case/variant/exporter/opset: status pass, fail; ...``."""
    before = {_identity(row): row for row in first}
    both = [(before[_identity(row)], row) for row in second if _identity(row) in before]
    return len(both), [line for line in (_difference(one, other) for one, other in both) if line]


def _difference(one: Row, other: Row) -> str:
    columns = [name for name in COMPARED if one.get(name) != other.get(name)]
    if not columns:
        return ""
    name = "/".join("default" if part is None else str(part) for part in _identity(one))
    return f"{name}: " + "; ".join(f"{column} {one.get(column)}, {other.get(column)}" for column in columns)


def _identity(row: Row) -> tuple[Any, ...]:
    return (row["case"], row["variant"], row["exporter"], row["opset"])
