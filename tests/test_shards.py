"""A plan cut into shards: every cell in one of them, for every number of shards, on every machine alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caniexport.measure.shards import (
    CutShard,
    Shard,
    cut,
    digest,
    past_microseconds,
    read_cut_shard,
    read_shard,
)
from caniexport.model import plan, releases
from caniexport.model.corpus import load
from caniexport.model.errors import UnknownName
from caniexport.model.plan import Cell

ROOT = Path(__file__).resolve().parents[1]

_CASES = st.sampled_from(["conv", "einsum", "cross", "canary-pass", "canary-fail"])
_CELLS = st.builds(
    Cell,
    case=_CASES,
    variant=st.sampled_from(["plain", "fix", "other"]),
    exporter=st.sampled_from(["torchscript-trace", "dynamo"]),
    opset=st.integers(9, 12),
    case_hash=st.just("0"),
    provider=st.just("cpu"),
)
_PLANS = st.lists(_CELLS, unique=True, max_size=60)
_TOOK = st.dictionaries(
    st.tuples(st.sampled_from(["", "conv", "einsum", "cross"]), st.sampled_from(["torchscript-trace", "dynamo"])),
    st.integers(0, 10**9),
)


def is_canary(cell):
    return cell.case.startswith("canary-")


@given(_PLANS, st.integers(1, 40), _TOOK)
def test_the_union_of_all_shards_is_the_plan_and_no_cell_is_in_two(cells, count, took):
    parts = cut(cells, count, took)

    assert len(parts) == count
    others = [cell for part in parts for cell in part if not is_canary(cell)]
    assert sorted(others) == sorted(cell for cell in cells if not is_canary(cell))
    assert {cell for part in parts for cell in part} == set(cells)


@given(_PLANS, st.integers(1, 40), _TOOK)
def test_every_shard_with_cells_has_all_canaries_and_keeps_the_order_of_the_plan(cells, count, took):
    canaries = {cell for cell in cells if is_canary(cell)}
    for part in cut(cells, count, took):
        if part:
            assert canaries <= set(part)
        others = [cell for cell in part if not is_canary(cell)]
        assert others == [cell for cell in cells if cell in set(others)]


@given(_PLANS, st.integers(1, 40), _TOOK)
def test_a_fix_is_measured_by_the_machine_that_measures_its_failing_form(cells, count, took):
    places = {}
    for number, part in enumerate(cut(cells, count, took)):
        for cell in part:
            if not is_canary(cell):
                places.setdefault((cell.case, cell.exporter), set()).add(number)
    assert all(len(found) == 1 for found in places.values())


@given(_PLANS, st.integers(1, 12), _TOOK)
def test_two_machines_cut_alike_and_a_shard_does_not_depend_on_what_lies_where_in_the_plan(cells, count, took):
    parts, others = cut(cells, count, took), cut(cells[::-1], count, took)

    assert digest(parts) == digest(others)
    assert [set(part) for part in parts] == [set(part) for part in others]


def test_another_plan_or_other_seconds_are_another_cut():
    cells = [Cell(case, "plain", "dynamo", opset, "0", "cpu") for case in "abcdef" for opset in (9, 10)]

    same = digest(cut(cells, 2, {}))

    assert digest(cut(cells[:-1], 2, {})) != same
    assert digest(cut(cells, 3, {})) != same
    assert digest(cut(cells, 2, {("a", "dynamo"): 10**9})) != same


def test_a_case_that_takes_long_has_a_shard_to_itself():
    cells = [Cell(case, "plain", "dynamo", 18, "0", "cpu") for case in ("slow", *"abcdefgh")]

    parts = cut(cells, 2, {("slow", "dynamo"): 60_000_000, ("", "dynamo"): 1000})

    assert sorted(map(len, parts)) == [1, 8]


@pytest.mark.parametrize(("release", "count"), [("2.15.0", 8), ("1.13.1", 4)])
def test_shards_of_a_real_release_take_equally_long(results, release, count):
    entry = releases.find(release)
    cells = plan.cells(load([ROOT / "cases"], stand_in=True), entry, "cpu")
    took = past_microseconds(results, release)

    parts = cut(cells, count, took)
    seconds = [sum(took.get((cell.case, cell.exporter), 0) / 1e6 for cell in part) for part in parts]

    assert max(seconds) < 1.1 * sum(seconds) / count
    assert digest(parts) == digest(cut(cells, count, past_microseconds(results, release)))


def test_a_shard_is_named_by_its_number_and_how_many_there_are():
    assert read_shard("3/8") == Shard(3, 8)
    assert (str(Shard(3, 8)), Shard(3, 8).file_name) == ("3/8", "3-of-8")
    for text in ("0/8", "9/8", "3", "a/b", "3/8/9", "-1/2", "", "1/0"):
        with pytest.raises(UnknownName, match="names no shard"):
            read_shard(text)


def test_what_a_row_says_of_its_shard_is_read_again_and_nonsense_is_nothing():
    shard = CutShard(Shard(3, 8), 412, "1f2e3d4c5b6a7980")

    assert str(shard) == "3/8:412:1f2e3d4c5b6a7980"
    assert read_cut_shard(str(shard)) == shard
    assert [read_cut_shard(text) for text in ("", "3/8", "3/8:412:zz", "../etc")] == [None] * 4
