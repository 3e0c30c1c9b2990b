"""What is known of torch's history, asked of the published rows: the answers name it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from caniexport import api
from caniexport.cli import main
from caniexport.match.error_index import index_errors
from caniexport.match.errors import match_error

pytestmark = [pytest.mark.published, pytest.mark.usefixtures("opened_once")]

ROOT = Path(__file__).resolve().parent.parent
#: what a default call changed its answer for when 2.9 made the dynamo exporter its default
FLIPPED = {
    "tracer-item-bakes-value": "fixed",
    "trt-shape-fix-bakes-size": "fixed",
    "tracer-iterating-tensor-bakes": "now-fails-cleanly",
}


@pytest.fixture(scope="module")
def published(results):
    return results


@pytest.fixture(scope="module")
def flip(published):
    return api.upgrade(published, "torch=2.8.0", "torch=2.9.1")


def changes(found):
    return {change.case: (group.verdict.value, change.axes) for group in found.groups for change in group.changes}


def test_the_flip_of_the_default_exporter_is_what_changes_from_2_8_to_2_9(flip):
    found = changes(flip)

    assert (flip.before.exporter, flip.after.exporter) == ("torchscript-trace", "dynamo")
    assert {case: found[case] for case in FLIPPED} == {case: (word, "exporter") for case, word in FLIPPED.items()}
    assert sum(axes == "exporter" for _, axes in found.values()) > 0.8 * len(found)


def test_with_the_exporter_pinned_that_upgrade_changes_none_of_it(published):
    pinned = api.upgrade(published, "torch=2.8.0,exporter=trace", "torch=2.9.1,exporter=trace,opset=18")
    assert not FLIPPED.keys() & changes(pinned).keys()


def test_every_verdict_is_counted_and_what_is_left_out_is_said(flip, published):
    plain = {entry.case for entry in _plain(published)}

    assert sum(flip.counts.values()) == len(plain)
    assert any("left out" in note for note in flip.notes)


def _plain(dataset):
    from caniexport.answers.reading import load

    rows = load(dataset)
    beside = {cell.case for cell in rows.environment}
    known = [entry for (_, variant), entry in rows.catalogue.items() if variant == "plain"]
    return [entry for entry in known if entry.corpus != "canary" and entry.case not in beside]


def test_an_operator_that_the_runtime_got_is_named_as_the_runtimes_doing(published):
    """An int8 Where has no kernel in onnxruntime 1.26: the file of 2.9.1 does not load there, and does in 1.31."""
    point = "torch=2.9.1,exporter=dynamo,opset=20"
    found = changes(api.upgrade(published, f"{point},ort=1.26", f"{point},ort=1.31", case="bitshift-uint8"))

    assert found == {"bitshift-uint8": ("regressed-silent", "runtime")}


def test_what_a_runtime_has_not_run_is_never_a_verdict(published):
    point = "torch=2.8.0,exporter=trace,opset=18"
    found = api.upgrade(published, f"{point},ort=1.31", f"{point},ort=1.20")

    assert found.unknown
    assert not set(found.unknown) & changes(found).keys()


def test_the_policy_of_a_runtime_is_bounded_by_what_it_takes(published):
    """onnxruntime 1.16 takes opset 19, 1.20 takes 21, whatever torch writes."""
    for version, opset in (("1.16", 19), ("1.20", 21)):
        (rule,) = api.policy(published, [version], torch=["2.8.0"], theme="grid-sample").rules
        assert rule.usable == opset
    (own,) = api.policy(published, torch=["2.8.0"], theme="grid-sample").rules
    assert own.usable == 23


def test_the_published_rows_against_themselves_are_no_news(published):
    reply = CliRunner().invoke(
        main, ["alerts", "--baseline", str(ROOT / "results"), "--current", str(ROOT / "results"), "--json"]
    )
    found = json.loads(reply.stdout)

    assert reply.exit_code == 0, reply.output
    assert [item for item in found["alerts"] if item["alert"]["kind"] != "suspect"] == []
    assert sum(found["counts"].values()) > 200_000


@pytest.mark.parametrize(
    ("asked", "means"),
    [("2.9", "2.9.1"), ("2.9.1+cu128", "2.9.1"), ("2.9.1", "2.9.1"), ("1.13", "1.13.1")],
)
def test_a_version_is_understood_as_pip_writes_it(published, asked, means):
    assert api.upgrade(published, f"torch={asked}", "torch=2.15.0", case="cross-no-symbolic").before.torch == means


@pytest.mark.parametrize("asked", ["2.10.0.dev20260101", "2.9.1rc1"])
def test_a_version_that_was_not_measured_is_answered_with_its_neighbours(asked):
    reply = CliRunner().invoke(main, ["upgrade", "--from", f"torch={asked}", "--to", "2.15.0"])

    assert reply.exit_code == 2
    assert "has not been measured (nearest measured: 2." in reply.stderr


def test_an_operator_list_with_a_name_nobody_knows_is_answered_about_the_rest(tmp_path):
    listed = tmp_path / "ops.txt"
    listed.write_text("aten::cross\naten::crosss_product\n")
    reply = CliRunner().invoke(main, ["upgrade", "--from", "2.8.0", "--to", "2.9.1", "--ops", str(listed)])

    assert "crosss_product" in reply.output + reply.stderr
    assert "Traceback" not in reply.output


def asked_as_json(*words):
    return json.loads(CliRunner().invoke(main, [*words, "--json"]).stdout)


def test_the_json_of_an_upgrade_names_the_runtime_of_both_points_and_the_axis_that_did_it():
    point = "torch=2.9.1,exporter=dynamo,opset=20"
    ends = ["--from", f"{point},ort=1.26", "--to", f"{point},ort=1.31"]
    found = asked_as_json("upgrade", *ends, "--case", "bitshift-uint8")

    both = [
        (found[end]["runtime"], found[end]["runtime_version"], found[end]["provider"]) for end in ("before", "after")
    ]
    assert both == [("onnxruntime", "1.26.0", "cpu"), ("onnxruntime", "1.31.1", "cpu")]
    (change,) = found["groups"][0]["changes"]
    assert (change["case"], change["axes"]) == ("bitshift-uint8", "runtime")


def test_the_json_of_a_policy_says_which_runtime_and_what_is_not_sure():
    words = ["policy", "--theme", "grid-sample", "--torch", "2.8"]
    (own,), (other,) = (asked_as_json(*words, *more)["rules"] for more in ([], ["--runtime-version", "1.20"]))

    assert (own["runtime"], own["runtime_version"], own["own"]) == ("onnxruntime", "1.31.1", True)
    assert (other["runtime"], other["runtime_version"], other["own"]) == ("onnxruntime", "1.20.1", False)
    assert own["usable"] > other["usable"]
    assert {"passes_maybe", "with_fixes_maybe", "unmeasured", "holds"} <= own.keys()


@pytest.mark.parametrize(
    ("words", "case"),
    [
        ("Exporting the operator cross to ONNX opset version 11 is not supported.", "cross-no-symbolic"),
        ("grid_sampler to ONNX opset version 11 is not supported", "grid-sampler-unsupported-opset-11"),
    ],
)
def test_an_error_that_many_cases_tell_finds_the_case_that_is_about_it(published, words, case):
    """Every case with a grid_sample fails with these words; few are about them."""
    assert case in [lead.case for lead in match_error(index_errors(published), words).leads[:2]]
