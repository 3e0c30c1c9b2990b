"""Operator samples: how torch's own test inputs of an operator end, beside the documented cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from caniexport.answers.answer import Cell, Mark, Table
from caniexport.answers.point import Point
from caniexport.answers.torch_operators import TOLD, operators_beside
from caniexport.model.status import Status
from caniexport.store import Dataset


@dataclass(frozen=True)
class SamplesEnd:
    """How the plain samples of an operator end at a point, in the dtype that it is judged by."""

    passing: int
    samples: int
    status: Status

    @property
    def works(self) -> bool:
        """Whether all of them pass."""
        return self.passing == self.samples


def sample_ends(dataset: Dataset, op: str, points: Sequence[Point]) -> list[SamplesEnd | None]:
    """How an operator ends at each point, at the measured opset nearest to the point's; ``None``: not measured."""
    summary = operators_beside(dataset)
    found = summary.meant(op)[:1] if summary is not None else []
    if summary is None or not found:
        return [None for _ in points]
    rows = [row for row in summary.of_operator(found[0]) if row.form is None and row.exporter and row.calls]
    dtype = next((name for name in TOLD if any(row.dtype == name for row in rows)), None)
    ends: list[SamplesEnd | None] = []
    for point in points:
        here = [row for row in rows if (row.dtype, row.torch, row.exporter) == (dtype, point.torch, point.exporter)]
        near = min(here, key=lambda row: (abs((row.opset or 0) - (point.opset or 0)), row.opset or 0), default=None)
        ends.append(near and SamplesEnd(near.passing, near.calls, Status(near.status)))
    return ends


def lose_samples(dataset: Dataset, ops: Sequence[str], before: Point, after: Point) -> bool:
    """Whether an operator whose samples all pass before does not pass afterwards."""
    pairs = (sample_ends(dataset, op, (before, after)) for op in ops)
    return any(one is not None and other is not None and one.works and not other.works for one, other in pairs)


def samples_table(dataset: Dataset, ops: Sequence[str], points: Sequence[Point]) -> Table:
    """The operators that were measured, with how they end at each point."""
    rows = []
    for op in ops:
        ends = sample_ends(dataset, op, points)
        if any(ends):
            rows.append((op, *map(_cell, ends)))
    columns = ("operator samples", *(f"{point.torch} {point.call}" for point in points))
    return Table("", columns, tuple(rows))


def _cell(end: SamplesEnd | None) -> Cell:
    if end is None:
        return Mark(Status.NOT_RUN, "not measured")
    return Mark(end.status, f"{end.passing} of {end.samples} pass")
