"""What is known of torch's history, asked of the published rows: the answers name it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from caniexport.answers.moves import CaseChange, Moves
from caniexport.answers.point import Points, parse_point
from caniexport.answers.scope import find_scope
from caniexport.cli import main
from caniexport.match.errors import ErrorIndex, match_error
from caniexport.store.views import Views

pytestmark = [pytest.mark.published, pytest.mark.usefixtures("opened_once")]

ROOT = Path(__file__).resolve().parent.parent
#: what a default call changed its answer for when 2.9 made the dynamo exporter its default
FLIPPED = {
    "tracer-item-bakes-value": CaseChange.FIXED,
    "trt-shape-fix-bakes-size": CaseChange.FIXED,
    "sdpa-three-dims": CaseChange.BREAKS,
}


@pytest.fixture(scope="module")
def published(results):
    return results


def became(dataset, before, after, cases=()):
    """What becomes of cases between two points, and what gives it of those that break."""
    points = Points(dataset)
    (left, _), (right, _) = points.find(parse_point(before)), points.find(parse_point(after))
    moves = Moves(points.views, left, [right], find_scope(points.views, cases))
    found = {move.case: move.change for move in moves.cases(right)}
    return found, moves.causes(right, [case for case, word in found.items() if word is CaseChange.BREAKS])


def test_the_flip_of_the_default_exporter_is_what_changes_from_2_8_to_2_9(published):
    found, causes = became(published, "2.8.0", "2.9.1")

    assert {case: found[case] for case in FLIPPED} == FLIPPED
    assert sum(cause in ("exporter", "dynamic_axes=") for cause in causes.values()) > 0.9 * len(causes)
    assert (causes["sdpa-three-dims"], causes["index-fill-1d"]) == ("exporter", "dynamic_axes=")


def test_with_the_exporter_pinned_that_upgrade_changes_none_of_it(published):
    found, _ = became(published, "torch=2.8.0,exporter=trace", "torch=2.9.1,exporter=trace,opset=18")
    assert {found[case] for case in FLIPPED} == {CaseChange.UNCHANGED}


def test_an_operator_that_the_runtime_got_is_named_as_the_runtimes_doing(published):
    """An int8 Where has no kernel in onnxruntime 1.26: the file of 2.9.1 does not load there, and is wrong in 1.31."""
    point = "torch=2.9.1,exporter=dynamo,opset=20"
    found, _ = became(published, f"{point},ort=1.26", f"{point},ort=1.31", ["bitshift-uint8"])

    assert found == {"bitshift-uint8": CaseChange.NOW_WRONG}


def test_what_a_runtime_has_not_run_is_never_a_verdict(published):
    point = "torch=2.8.0,exporter=trace,opset=18"
    found, _ = became(published, f"{point},ort=1.31", f"{point},ort=1.20")
    ran = {case for (case,) in Views.of(published).fetch(_RAN)}

    assert {case for case, word in found.items() if word is not CaseChange.NOT_MEASURED} <= ran


#: cases of which some file was run on onnxruntime 1.20.1, or that never reach a runtime
_RAN = """SELECT "case" FROM replays WHERE runtime = 'onnxruntime' AND runtime_version = '1.20.1'
    UNION SELECT "case" FROM cells WHERE torch = '2.8.0' AND stage IN ('eager', 'export', 'check')"""


def test_the_published_rows_against_themselves_are_no_news(published):
    reply = CliRunner().invoke(
        main, ["alerts", "--baseline", str(ROOT / "results"), "--current", str(ROOT / "results"), "--json"]
    )
    found = json.loads(reply.stdout)

    assert reply.exit_code == 0, reply.output
    assert {table["title"] for table in found["tables"]} == {"cells by what happened to them"}
    assert sum(row["cells"] for row in found["tables"][0]["rows"]) > 200_000


def test_a_version_is_understood_as_pip_writes_it(published):
    found = {asked: Points(published).find({"torch": asked})[0].torch for asked in ("2.9", "2.9.1+cu128", "1.13")}
    assert found == {"2.9": "2.9.1", "2.9.1+cu128": "2.9.1", "1.13": "1.13.1"}


@pytest.mark.parametrize("asked", ["2.10.0.dev20260101", "2.9.1rc1"])
def test_a_version_that_was_not_measured_is_answered_with_its_neighbours(asked):
    reply = CliRunner().invoke(main, ["upgrade", "--from", f"torch={asked}", "--to", "2.15.0"])

    assert reply.exit_code == 2
    assert "has not been measured (nearest measured: 2." in reply.stderr


@pytest.mark.parametrize(
    ("words", "case"),
    [
        ("Exporting the operator cross to ONNX opset version 11 is not supported.", "cross-no-symbolic"),
        ("grid_sampler to ONNX opset version 11 is not supported", "grid-sampler-unsupported-opset-11"),
    ],
)
def test_an_error_that_many_cases_tell_finds_the_case_that_is_about_it(published, words, case):
    """Every case with a grid_sample fails with these words; few are about them."""
    assert case in [lead.case for lead in match_error(ErrorIndex.of(published), words).leads[:2]]
