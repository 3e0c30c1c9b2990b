"""A/A: what is measured twice, what counts as a difference, and what the gate makes of it."""

from __future__ import annotations

from store_rows import cell, environment
from test_gate import PACKAGES, PINS, canaries

from caniexport.gate.repeats import draw_sample, find_differing
from caniexport.gate.verdict import judge_run
from caniexport.model.plan import Cell


def planned(exporter: str, count: int) -> list[Cell]:
    """Cells of cases with three variants at two opsets each."""
    return [
        Cell(f"case-{number // 6}", ("plain", "one", "two")[number // 2 % 3], exporter, 11 + number % 2, "hash", "cpu")
        for number in range(count)
    ]


def test_the_sample_has_as_many_cells_as_asked_few_of_them_with_dynamo_and_is_the_same_for_the_same_run():
    cells = planned("torchscript-trace", 900) + planned("dynamo", 900)

    drawn = draw_sample(cells, 500, "run-1")

    assert drawn.size == 500
    assert 0 < sum(item.exporter == "dynamo" for item in [*drawn.alone, *drawn.together]) <= 100
    assert drawn == draw_sample(cells, 500, "run-1")
    assert drawn != draw_sample(cells, 500, "run-2")


def test_half_of_the_sample_are_whole_cases_of_one_exporter_with_all_their_variants_and_opsets():
    cells = planned("torchscript-trace", 900) + planned("torchscript-script", 900)

    drawn = draw_sample(cells, 500, "run-1")

    groups = {(cell.case, cell.exporter) for cell in drawn.together}
    assert 240 <= len(drawn.together) <= 260
    assert drawn.together == [cell for cell in cells if (cell.case, cell.exporter) in groups]
    assert not set(drawn.alone) & set(drawn.together)


def test_a_release_with_fewer_cells_is_measured_twice_as_a_whole():
    cells = planned("torchscript-trace", 30)

    drawn = draw_sample(cells, 500, "run")

    assert sorted([*drawn.alone, *drawn.together]) == sorted(cells)
    assert 0 < len(drawn.together) < 30


def test_a_cell_differs_where_its_answer_or_its_file_does_and_not_where_only_its_time_does():
    first = [cell(case="a", bundle="x", seconds_export=1.0), cell(case="b", bundle="x"), cell(case="c")]
    second = [
        cell(case="a", bundle="x", seconds_export=9.0),
        cell(case="b", bundle="y"),
        cell(case="c", status="fail", stage="run"),
        cell(case="not measured before"),
    ]

    count, lines = find_differing(first, second)

    assert count == 3
    assert [line.split("/")[0] for line in lines] == ["b", "c"]
    assert "bundle x, y" in lines[0]
    assert "status pass, fail" in lines[1]


def test_a_run_whose_repeated_cells_differ_too_often_is_quarantined():
    import json

    def word(lines: list[str]) -> str:
        where = {**environment(packages=json.dumps(PACKAGES)), "repeated": 500, "differing": lines}
        return judge_run("cells", canaries(), where, len(canaries()), PINS)

    assert word(["a/plain/dynamo/18: status pass, fail"] * 5) == "good"
    assert word(["a/plain/dynamo/18: status pass, fail"] * 6).startswith("quarantined: 6 of 500 cells differ")
