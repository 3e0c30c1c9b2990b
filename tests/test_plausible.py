"""Plausibility: which cells fail in one release alone, as a broken measurement would make them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from store_rows import cell, write_cells

from caniexport.gate.rules import read_rules
from caniexport.gate.staging import Staging

MANY_CELLS, MANY_CASES = 20, 5
RELEASES = ("2.6.0", "2.7.1", "2.8.0")
OWN = "export|TypeError|wrapper() got an unexpected keyword argument"


def suspects(rows):
    with tempfile.TemporaryDirectory() as folder:
        write_cells(Path(folder) / "results", rows)
        with Staging.open(Path(folder) / "results", Path(folder) / "local") as staging:
            places = [place for (place,) in staging.fetch(read_rules()["implausible"].query)]
    names = (place["label"].split("/") for place in places)
    return sorted((torch, case, opset) for torch, case, _, _, opset in names)


def history(case="relu", statuses=("pass", "fail", "pass"), signature=OWN, **changes):
    """A cell in three releases in a row; where it fails with this signature."""
    return [
        cell(
            torch=torch,
            case=case,
            status=status,
            signature=None if status in ("pass", "degraded") else signature,
            **changes,
        )
        for torch, status in zip(RELEASES, statuses, strict=True)
    ]


def test_a_cell_that_fails_between_two_releases_in_which_it_works_in_words_of_its_own_is_suspected():
    assert suspects(history()) == [("2.7.1", "relu", "14")]
    assert suspects(history(statuses=("degraded", "mismatch", "pass"))) == [("2.7.1", "relu", "14")]


@pytest.mark.parametrize(
    "statuses", [("fail", "fail", "pass"), ("pass", "fail", "fail"), ("pass", "pass", "pass"), ("pass", "pass", "fail")]
)
def test_a_cell_that_does_not_work_in_a_release_beside_it_is_not(statuses):
    assert suspects(history(statuses=statuses)) == []


def test_every_cell_with_those_words_is_suspected_with_it_also_where_a_neighbour_fails_too():
    rows = history() + history(case="gelu", statuses=("fail", "fail", "pass"), signature=OWN)
    rows = [{**row, "signature": "other"} if (row["case"], row["torch"]) == ("gelu", "2.6.0") else row for row in rows]

    assert suspects(rows) == [("2.7.1", "gelu", "14"), ("2.7.1", "relu", "14")]


def test_words_that_another_release_has_too_are_believed_of_a_few_cells_and_not_of_many():
    known = [cell(torch="2.6.0", case="known", status="fail", signature=OWN)]
    many = [
        row
        for number in range(MANY_CELLS)
        for row in history(case=f"case-{number % MANY_CASES}", opset=number // MANY_CASES)
    ]

    assert suspects([*known, *history()]) == []
    assert len(suspects([*known, *many])) == MANY_CELLS
    assert suspects([*known, *many[3:]]) == []


def test_the_neighbour_must_have_the_same_exporter_opset_and_provider():
    for change in ({"exporter": "dynamo"}, {"opset": 9}, {"provider": "cuda"}):
        first, broken, last = history()
        assert suspects([{**first, **change}, broken, last]) == []


def test_the_bare_call_is_compared_with_the_bare_call():
    assert [item[:2] for item in suspects(history(opset=None))] == [("2.7.1", "relu")]


def test_one_release_or_two_say_nothing():
    assert suspects(history()[1:]) == []
    assert suspects(history()[:2]) == []
