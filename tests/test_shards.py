"""A plan in shards: every cell in one of them, a fix with its failing form, canaries in all."""

from __future__ import annotations

from pathlib import Path

import pytest

from caniexport.measure.shards import Shard, read_shard
from caniexport.model import plan, releases
from caniexport.model.canaries import is_canary
from caniexport.model.corpus import load
from caniexport.model.errors import UnknownName

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def cells():
    return plan.cells(load([ROOT / "cases"], stand_in=True), releases.find("2.8.0"), "cpu")


@pytest.mark.parametrize("count", [8])
def test_every_cell_is_in_one_shard_with_those_that_it_is_judged_against_and_canaries_are_in_all(cells, count):
    parts = [[cell for cell in cells if Shard(number, count).holds(cell)] for number in range(1, count + 1)]

    canaries = [cell for cell in cells if is_canary(cell.case)]
    assert sorted(cell.key for part in parts for cell in part) == sorted(
        cell.key for cell in [*cells, *canaries * (count - 1)]
    )
    places = {(cell.case, cell.exporter, number) for number, part in enumerate(parts) for cell in part}
    units = {(cell.case, cell.exporter) for cell in cells}
    assert len(places) == len(units) + (count - 1) * len({(cell.case, cell.exporter) for cell in canaries})
    assert all(len(part) < 2 * len(cells) / count for part in parts)


@pytest.mark.parametrize("text", ["3", "0/8", "9/8"])
def test_what_names_no_shard_is_refused(text):
    assert str(read_shard("3/8")) == "3/8"
    with pytest.raises(UnknownName, match="3/8 is the third of eight"):
        read_shard(text)
