"""What a check measures next: little where everything agrees, and what lies between where it does not."""

from __future__ import annotations

import pytest

from caniexport.check.check import allow_lower_opsets
from caniexport.check.widen import ReleaseQuestion
from caniexport.model import releases
from caniexport.model.status import Status

PASS, FAIL, DEGRADED = Status.PASS, Status.FAIL, Status.DEGRADED
DEFAULT, TRACE, SCRIPT, DYNAMO = "default", "torchscript-trace", "torchscript-script", "dynamo"


def measured(question, outcome):
    """The points that a question comes to in the end, lane by lane, where ``outcome`` says what each comes out with."""
    found = []
    for lane in question.lanes:
        seen = {}
        while points := question.next_points(lane, seen):
            seen.update({point: (outcome(*point),) for point in points})
        found += seen
    return found


def question(torch, exporters=(), opsets=()):
    return ReleaseQuestion(releases.find(torch), exporters, opsets)


def test_a_model_that_works_everywhere_is_measured_at_few_points_the_default_call_first():
    points = measured(question("2.15.0"), lambda *_: PASS)
    assert points[0] == (DEFAULT, None)
    assert points[1:] == [*((DYNAMO, opset) for opset in (18, 14, 27)), *((TRACE, opset) for opset in (18, 7, 23))]


def test_what_could_not_be_judged_makes_nothing_be_measured_between():
    points = measured(question("2.15.0", (DYNAMO,)), lambda _, opset: Status.SKIP if opset == 27 else PASS)
    assert [opset for _, opset in points] == [18, 14, 27]


def test_where_neighbours_differ_what_lies_between_is_measured_until_the_border_is_known():
    points = measured(question("2.15.0", (TRACE,)), lambda _, opset: PASS if opset >= 16 else FAIL)
    opsets = sorted(opset for _, opset in points)
    assert {15, 16} <= set(opsets)
    assert len(opsets) <= 7


def test_files_that_work_at_all_are_alike():
    points = measured(question("2.15.0", (DYNAMO,)), lambda _, opset: DEGRADED if opset < 18 else PASS)
    assert len(points) == 3


def test_scripting_is_tried_only_where_tracing_works_at_no_opset():
    assert SCRIPT not in {exporter for exporter, _ in measured(question("1.13"), lambda *_: PASS)}
    some = measured(question("1.13"), lambda _, opset: PASS if opset and opset > 10 else FAIL)
    assert SCRIPT not in {exporter for exporter, _ in some}
    assert SCRIPT in {exporter for exporter, _ in measured(question("1.13"), lambda *_: FAIL)}


def test_two_exporters_and_one_opset_are_two_cells():
    points = measured(question("2.15.0", (DYNAMO, TRACE), (20,)), lambda *_: PASS)
    assert points == [(DYNAMO, 20), (TRACE, 20)]


def test_every_opset_that_is_named_is_measured_and_the_default_call_asks_for_none():
    points = measured(question("2.8.0", (), (17, 18)), lambda *_: PASS)
    assert sorted(points) == sorted((name, opset) for name in (TRACE, SCRIPT, DYNAMO) for opset in (17, 18))


@pytest.mark.parametrize(
    ("torch", "first"), [("2.8.0", (DEFAULT, TRACE, SCRIPT)), ("2.9.1", (DEFAULT, DYNAMO)), ("1.0.1", (DEFAULT, TRACE))]
)
def test_the_default_call_is_measured_beside_the_exporter_that_it_is(torch, first):
    assert question(torch).lanes[0] == first


def test_a_trace_that_works_as_its_first_inputs_decide_is_held_against_the_script():
    asked = question("2.9.1")
    lane = next(lane for lane in asked.lanes if TRACE in lane)
    seen = {(TRACE, opset): (PASS,) for opset in (7, 18, 23)}
    assert asked.next_points(lane, seen) == []
    assert asked.next_points(lane, seen, is_fixed=True) == [(SCRIPT, 18)]


@pytest.mark.parametrize(
    ("torch", "exporters", "asked"),
    [
        ("2.15.0", (DYNAMO,), [(DYNAMO, 12)]),
        ("2.15.0", (), [(DYNAMO, 12), (TRACE, 12), (SCRIPT, 12)]),
        # dynamo_export takes no opset, and 1.13 has no dynamo
        ("2.4.1", (), [(TRACE, 12), (SCRIPT, 12)]),
        ("1.13.1", (), [(TRACE, 12), (SCRIPT, 12)]),
    ],
)
def test_dynamo_is_asked_for_an_opset_that_it_silently_replaces_where_that_is_named(torch, exporters, asked):
    release = allow_lower_opsets(releases.find(torch), (12,))
    assert measured(ReleaseQuestion(release, exporters, (12,)), lambda *_: PASS) == asked
