"""The timeline of an operator: what says the same is one."""

from __future__ import annotations

from caniexport.answers.operator_grid import OperatorCell, TimelineLine
from caniexport.model.status import Status
from caniexport.pages.timeline import shown_timeline

RELEASES = ["2.4.1", "2.5.1", "2.6.0"]
PASSES = OperatorCell((18, 20), (18, 20), Status.PASS)


def fails(*asked, passing=(), said="plain: load|no such kernel"):
    status = Status.DEGRADED if passing else Status.FAIL
    return OperatorCell(passing, asked, status, said)


def test_dtypes_whose_calls_end_alike_are_one_line():
    lines = [TimelineLine(name, "", "dynamo", {"2.6.0": PASSES}) for name in ("float32", "int64")]
    other = TimelineLine("bool", "", "dynamo", {"2.6.0": fails(20)})

    shown = shown_timeline([*lines, other], RELEASES, 1).plain

    assert [line.dtypes for line in shown] == [("float32", "int64"), ("bool",)]


def test_neighbouring_releases_that_say_the_same_are_one_cell():
    line = TimelineLine("bool", "", "dynamo", {"2.4.1": fails(18), "2.5.1": fails(20), "2.6.0": PASSES})

    cells = shown_timeline([line], RELEASES, 1).plain[0].cells

    assert [(cell.wide, cell.read, cell.anchor) for cell in cells] == [(2, "✗", "end-1-1"), (1, "✓", "")]


def test_a_cell_that_passes_at_some_opsets_names_them_and_its_text_the_others():
    line = TimelineLine("bool", "", "torchscript-trace", {"2.5.1": fails(18, 20, passing=(18,))})

    made = shown_timeline([line], RELEASES, 2)

    assert [cell.read for cell in made.plain[0].cells] == ["", "✓ 18", ""]
    assert [(end.anchor, end.where) for end in made.ends] == [("end-2-1", "torch 2.5.1, opset 20, trace")]


def test_forms_with_a_number_are_a_part_of_their_own():
    lines = [TimelineLine("bool", form, "dynamo", {"2.6.0": PASSES}) for form in ("", "with-int64")]

    assert [(title, len(found)) for title, found in shown_timeline(lines, RELEASES, 1).parts] == [
        ("", 1),
        ("with a Python number, or another dtype", 1),
    ]


def test_calls_that_are_given_other_things_and_end_alike_have_one_text():
    cells = {"2.5.1": fails(20, said="f32[2]: no such kernel"), "2.6.0": fails(20, said="f32[]: no such kernel")}

    made = shown_timeline([TimelineLine("bool", "", "dynamo", cells)], RELEASES, 1)

    assert [cell.wide for cell in made.plain[0].cells] == [1, 2]
    assert [end.said for end in made.ends] == ["f32[2]: no such kernel"]
