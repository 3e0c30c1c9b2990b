"""The exported graph of a cell as a picture, or where one is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from caniexport import versions
from caniexport.pages.graph import Drawing, draw_graph
from caniexport.pages.kept import Kept
from caniexport.store import graphs


class Picture(NamedTuple):
    """The graph of a cell's file; ``nearest`` is where one is kept, where this one's is not."""

    drawn: Drawing | None = None
    nearest: tuple[str, int | None] | None = None


def picture(kept: Kept, row: Mapping[str, Any]) -> Picture:
    """The picture of a row's file."""
    if not row["bundle"]:
        return Picture()
    if graph := kept.graph(row["bundle"]):
        return Picture(draw_graph(graph))
    return Picture(
        None, nearest(row, kept.answer(graphs.find_points_with_graph, row["case"], row["variant"], row["exporter"]))
    )


def nearest(row: Mapping[str, Any], places: Sequence[tuple[str, int | None]]) -> tuple[str, int | None] | None:
    """Of the places with a picture the nearest to a cell: its own release, then its opset, then the next release."""
    own, ranked = versions.parse(row["torch"]), sorted(places, key=lambda place: versions.parse(place[0]))
    opset = row["opset"] or 0

    def distance(place: tuple[int, tuple[str, int | None]]) -> tuple[bool, int, bool, int]:
        index, (torch, other) = place
        older = versions.parse(torch) < own
        return torch != row["torch"], abs((other or 0) - opset), older, -index if older else index

    return min(enumerate(ranked), key=distance, default=(0, None))[1]
