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


CROSS, ANY, GRID = "cross-no-symbolic", "any-symbolic-arity", "grid-sampler-unsupported-opset-11"


@pytest.mark.parametrize(
    ("torch", "case", "variant", "exporter", "ends"),
    [
        # refused by the old release at every opset, and its rewrite is not; the first opset above the range
        (OLD, CROSS, "plain", "torchscript-trace", {"fail": range(7, 15)}),
        (OLD, CROSS, "stack_rewrite", "torchscript-trace", {"pass": (14,), "unsupported": (15,)}),
        (NEW, CROSS, "plain", "torchscript-trace", {"pass": (18,), "unsupported": (24,)}),
        (NEW, CROSS, "stack_rewrite", "torchscript-trace", {"pass": (18,)}),
        # an opset that dynamo does not honour
        (NEW, CROSS, "plain", "dynamo", {"pass": (18,), "degraded": (13,)}),
        (NEW, GRID, "plain", "torchscript-trace", {"fail": (15,), "pass": (16,)}),
        (OLD, ANY, "plain", "torchscript-trace", {"fail": range(9, 15)}),
        (OLD, "index-put-inplace-assign", "plain", "torchscript-trace", {"pass": (11, 14)}),
        (OLD, "upsample-bilinear-align-corners-opset-9", "plain", "torchscript-trace", {"pass": (11, 14)}),
        (NEW, "adaptive-avg-pool2d-non-factor", "plain", "torchscript-trace", {"fail": (9, 16, 18, 23)}),
    ],
)
def test_a_cell_ends_as_it_is_known_to(rows, torch, case, variant, exporter, ends):
    found = {int(row["opset"]): row["status"] for row in rows(torch, case, variant, exporter)}

    assert {opset: found[opset] for opsets in ends.values() for opset in opsets} == {
        opset: status for status, opsets in ends.items() for opset in opsets
    }


def test_what_passes_nowhere_in_a_release_has_its_own_words(rows):
    (at_14,) = rows(OLD, CROSS, opset=14)
    assert "Exporting the operator cross to ONNX opset version 14 is not supported" in at_14["text"]
    for opset in range(9, 15):
        (row,) = rows(OLD, ANY, opset=opset)
        assert row["stage"] == "export"
        assert "_any() takes 2 positional arguments but" in row["text"]
    assert "pass" not in {row["status"] for row in rows(OLD, GRID)}
    for case in ("index-put-inplace-assign", "upsample-bilinear-align-corners-opset-9"):
        assert "pass" not in {row["status"] for row in rows(OLD, case) if row["opset"] in (9, 10)}
    (row,) = rows(NEW, CROSS, exporter="dynamo", opset=13)
    assert row["opset_effective"] == 18


def test_a_baked_item_is_a_mismatch_and_never_a_pass(rows):
    for torch in (OLD, NEW):
        assert {row["status"] for row in rows(torch, "tracer-item-bakes-value")} == {"mismatch", "unsupported"}


def test_a_fix_that_is_wrong_in_eager_is_a_mismatch_before_any_export(rows):
    frame = rows.frame
    case = frame[frame["case"] == "cross-rewrite-dim-argument-half-applied"]
    assert set(case[case["status"] == "mismatch"]["stage"]) == {"eager"}


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
