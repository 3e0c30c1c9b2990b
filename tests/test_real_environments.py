"""Real torch environments, made through tox by the command itself: an old release and a new one, and facts about both.

Takes minutes and about 8 GB; everything goes to a temporary dataset. Deselect with ``-m "not real"``.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from caniexport import home
from caniexport.measure.cells import measure
from caniexport.measure.job import MeasureOptions
from caniexport.model import releases
from caniexport.store import Dataset

ROOT = Path(__file__).resolve().parent.parent
OLD, NEW = "1.10.2", "2.15.0"
CASES = (
    "cross-no-symbolic",
    "grid-sampler-unsupported-opset-11",
    "any-symbolic-arity/plain",
    "index-put-inplace-assign/plain",
    "upsample-bilinear-align-corners-opset-9/plain",
    "adaptive-avg-pool2d-non-factor/plain",
    "tracer-item-bakes-value",
    "cross-rewrite-dim-argument-half-applied",
)

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Rows of both releases, measured now, as a function of (torch, case, variant, exporter, opset)."""
    local = tmp_path_factory.mktemp("real") / "results-local"
    here = home.find(ROOT)
    there = home.Home(here.root, here.cases, here.published, local, here.tox_ini)
    lines = []
    exporters = ("torchscript-trace", "dynamo", "default")
    for release, opsets in ((OLD, ()), (NEW, (9, 13, 15, 16, 18, 20, 23, 24))):
        chosen = exporters if release == OLD else exporters[:2]
        options = MeasureOptions(
            home=there, releases=(releases.find(release),), cases=CASES, exporters=chosen, opsets=opsets
        )
        (report,) = measure(options, lines.append)
        if "could not be measured" in report.problem:
            pytest.skip(f"torch {release} cannot be installed here: {report.problem}")
        assert report.problem == "", lines
    dataset = Dataset.open(None, local)
    frame = dataset.cells()

    def find(torch, case, variant="plain", exporter="torchscript-trace", opset=None):
        found = frame[
            (frame["torch"] == torch)
            & (frame["case"] == case)
            & (frame["variant"] == variant)
            & (frame["exporter"] == exporter)
        ]
        found = found if opset is None else found[found["opset"] == opset]
        assert len(found), (torch, case, variant, exporter, opset)
        return [dict(row, text=dataset.message(row["message_id"]) or "") for row in found.to_dict("records")]

    find.frame = frame
    again = MeasureOptions(home=there, releases=(releases.find(OLD),), cases=CASES, exporters=exporters)
    find.again = lambda: measure(again, lines.append)
    return find


def statuses(found):
    return {int(row["opset"]): row["status"] for row in found}


def test_cross_is_refused_by_the_old_release_at_every_opset_and_passes_in_the_new_one(rows):
    old = rows(OLD, "cross-no-symbolic")

    assert {row["opset"]: row["status"] for row in old if row["opset"] <= 14} == dict.fromkeys(range(7, 15), "fail")
    (at_14,) = rows(OLD, "cross-no-symbolic", opset=14)
    assert "Exporting the operator cross to ONNX opset version 14 is not supported" in at_14["text"]
    assert rows(NEW, "cross-no-symbolic", opset=18)[0]["status"] == "pass"
    assert rows(NEW, "cross-no-symbolic", exporter="dynamo", opset=18)[0]["status"] == "pass"


def test_the_rewrite_of_cross_passes_in_both(rows):
    assert rows(OLD, "cross-no-symbolic", "stack_rewrite", opset=14)[0]["status"] == "pass"
    assert rows(NEW, "cross-no-symbolic", "stack_rewrite", opset=18)[0]["status"] == "pass"


def test_the_first_opset_above_the_range_is_unsupported(rows):
    assert rows(OLD, "cross-no-symbolic", "stack_rewrite", opset=15)[0]["status"] == "unsupported"
    assert rows(NEW, "cross-no-symbolic", opset=24)[0]["status"] == "unsupported"


def test_grid_sample_passes_from_opset_16_of_the_new_release_only(rows):
    assert "pass" not in statuses(rows(OLD, "grid-sampler-unsupported-opset-11")).values()
    assert statuses(rows(NEW, "grid-sampler-unsupported-opset-11"))[15] == "fail"
    assert statuses(rows(NEW, "grid-sampler-unsupported-opset-11"))[16] == "pass"


def test_any_with_a_dim_fails_in_the_old_release_from_opset_9_with_its_own_words(rows):
    for opset in range(9, 15):
        (row,) = rows(OLD, "any-symbolic-arity", opset=opset)
        assert (row["status"], row["stage"]) == ("fail", "export")
        assert "_any() takes 2 positional arguments but" in row["text"]


@pytest.mark.parametrize("case", ["index-put-inplace-assign", "upsample-bilinear-align-corners-opset-9"])
def test_what_needs_opset_11_passes_from_11_on(rows, case):
    found = statuses(rows(OLD, case))

    assert found[11] == found[14] == "pass"
    assert "pass" not in {found[9], found[10]}


def test_a_non_factor_adaptive_pool_fails_in_the_torchscript_exporter_at_every_opset(rows):
    found = statuses(rows(NEW, "adaptive-avg-pool2d-non-factor"))

    assert {found[opset] for opset in (9, 16, 18, 23)} == {"fail"}


def test_a_baked_item_is_a_mismatch_and_never_a_pass(rows):
    for torch in (OLD, NEW):
        found = statuses(rows(torch, "tracer-item-bakes-value"))
        assert set(found.values()) == {"mismatch", "unsupported"}


def test_a_fix_that_is_wrong_in_eager_is_a_mismatch_before_any_export(rows):
    found = [
        row
        for row in rows.frame.to_dict("records")
        if row["case"] == "cross-rewrite-dim-argument-half-applied" and row["status"] == "mismatch"
    ]

    assert found
    assert {row["stage"] for row in found} == {"eager"}


def test_an_opset_that_dynamo_does_not_honour_is_degraded(rows):
    (row,) = rows(NEW, "cross-no-symbolic", exporter="dynamo", opset=13)

    assert (row["status"], row["opset_effective"]) == ("degraded", 18)


def test_the_second_measurement_finds_nothing_to_do(rows):
    (report,) = rows.again()

    assert (report.planned, report.problem) == (0, "")


def test_keeping_and_sharing_change_no_byte_of_a_dynamo_model(rows, tmp_path):
    """The warmed process keeps torch's operator registry and shares a capture; a bare export gives the same file."""
    assert len(rows.frame)
    python = ROOT / ".tox" / f"torch{NEW}-cpu" / "bin" / "python"
    program = tmp_path / "identity.py"
    program.write_text((ROOT / "tests" / "identity_of_dynamo_models.py").read_text())
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "harness"), "ORT_DISABLE_TELEMETRY": "1"}

    found = [
        json.loads(
            subprocess.run(
                [python, program, mode, str(ROOT / "cases")],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            ).stdout.splitlines()[-1]
        )
        for mode in ("bare", "warm")
    ]

    assert len(found[0]) >= 6
    assert found[0] == found[1]
