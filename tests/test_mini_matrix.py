"""The whole pipeline without torch, from tox through server, journal, parquet, gate and publish to the answers.

Two stand-in releases are measured through the project's own tox.ini, a third has no wheels. ``mini/expected.json`` says
what every cell must be.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from mini import build, runner
from mini.home import MARK, Home

from caniexport.worker.codehash import hash_measuring_code

pytestmark = pytest.mark.measures

MEASURED = tuple(build.ERAS)
MISSING = "93.0.0"


@dataclass(frozen=True)
class Measured:
    """A measured home, and what the command said."""

    home: Home
    reports: dict[str, Any]
    said: str


@pytest.fixture(scope="module")
def measured(made_home, tmp_path_factory):
    home = made_home.copy(tmp_path_factory.mktemp("mini") / "a home")
    # one release cannot be measured, which is a finding: exit code 1
    reply = home.caniexport("measure", "--release", "all", "--workers", "2", "--json", code=1)
    return Measured(home, {report["torch"]: report for report in json.loads(reply.stdout)}, reply.stderr)


@pytest.fixture(scope="module")
def published(measured, tmp_path_factory):
    """A home after ``publish``, its local rows gone: what a fresh clone has."""
    home = measured.home.copy(tmp_path_factory.mktemp("published") / "home")
    home.caniexport("publish")
    shutil.rmtree(home.folder / "results-local")
    return home


@pytest.mark.parametrize("version", MEASURED)
def test_every_cell_has_one_row_with_the_expected_stage_and_status(measured, version):
    rows = measured.home.cells(version)
    assert {name: f"{row['stage']} {row['status']}" for name, row in rows.items()} == runner.expected(version)
    assert set(rows) == runner.planned(measured.home.cases, measured.home.table, version)
    assert {row["code"] for row in rows.values()} == {hash_measuring_code()}


def test_a_row_says_what_was_really_written_and_where_it_differs_from_what_was_asked(measured):
    old, new = (measured.home.cells(version) for version in MEASURED)
    degraded = new["passes", "plain", "dynamo", 9]
    assert (degraded["opset"], degraded["opset_effective"], degraded["status"]) == (9, 10, "degraded")
    assert old["passes", "plain", "default", None]["exporter_effective"] == "torchscript-trace"
    assert new["passes", "plain", "default", None]["exporter_effective"] == "dynamo"
    assert new["needs-opset-nine", "opset_9", "torchscript-trace", 11]["opset_effective"] == 11
    assert old["needs-opset-nine", "opset_9", "torchscript-trace", 7]["opset_effective"] == 9


def test_a_silent_mismatch_says_how_wrong_it_is(measured):
    row = measured.home.cells("92.0.0")["baked-value", "plain", "torchscript-trace", 9]
    # the second input set is (5, 7): times 2 instead of times 5
    assert row["max_abs_error"] == 21.0
    assert row["max_rel_error"] == pytest.approx(0.6)


def test_the_exported_file_is_kept_with_its_inputs_and_outputs_under_its_content(measured):
    bundle = measured.home.cells("92.0.0")["passes", "plain", "torchscript-trace", 9]["bundle"]
    archive = measured.home.folder / "results-local" / "bundles" / bundle[:2] / f"{bundle}.zip"
    sets = [f"test_data_set_{index}/{name}_{i}.pb" for index in (0, 1) for name in ("input", "output") for i in (0, 1)]
    assert sorted(zipfile.ZipFile(archive).namelist()) == sorted(["model.onnx", *sets])


def test_a_run_whose_canaries_behave_is_good_and_nothing_of_its_repeated_sample_differs(measured):
    environments = {row["torch"]: row for row in measured.home.table_rows("results-local", "environments")}
    for version in MEASURED:
        row, planned = environments[version], len(runner.expected(version))
        assert (row["gate"], row["rows"], row["planned"]) == ("good", planned, planned)
        # how many of dynamo's cells are left out depends on the draw
        assert row["repeated"] >= 0.85 * min(500, planned)
        assert row["differing"] == []


def test_a_release_without_wheels_is_one_row_and_one_line_and_the_others_go_on(measured):
    rows = [row for row in measured.home.rows() if row["torch"] == MISSING]
    assert [(row["case"], row["stage"]) for row in rows] == [(None, "resolve")]
    texts = {row["message_id"]: row["text"] for row in measured.home.table_rows("results-local", "messages")}
    assert f"=={MISSING}" in texts[rows[0]["message_id"]]

    lines = [line for line in measured.said.splitlines() if line.startswith(f"torch {MISSING}: could not be measured")]
    assert len(lines) == 1
    assert "no version of" in lines[0] and f"=={MISSING}" in lines[0]
    assert [measured.reports[version]["measured"] for version in MEASURED] == [123, 235]


def test_a_second_run_measures_nothing_and_still_shows_the_table(measured):
    before = measured.home.rows()
    reply = measured.home.caniexport("measure", "--release", "all", code=1)
    for version in MEASURED:
        assert f"torch {version}: nothing new to measure" in reply.stderr
    assert [line for line in reply.stdout.splitlines() if "baked-value" in line and "≠" in line]
    fresh = {row["run_id"] for row in measured.home.rows()} - {row["run_id"] for row in before}
    assert {row["torch"] for row in measured.home.rows() if row["run_id"] in fresh} <= {MISSING}


@pytest.mark.parametrize("version", MEASURED)
def test_publishing_promotes_every_measured_row_unchanged(measured, published, version):
    assert published.cells(version, "results") == measured.home.cells(version)


def test_publishing_the_same_rows_again_changes_no_byte(measured, tmp_path):
    home = measured.home.copy(tmp_path / "home")
    home.caniexport("publish")
    first = _bytes(home.folder / "results")
    assert first
    assert home.answer("publish")["written"] == []
    assert _bytes(home.folder / "results") == first


def test_a_fix_is_judged_against_its_failing_form_in_the_same_cell(published):
    """By the published rows of the newest release alone."""
    tables = published.answer("workaround", "--torch", "92.0.0", "--opset", "10")["tables"]
    (found,) = [table["rows"] for table in tables if table["title"] == "evidence"]
    verdicts = {(f"{row['case']['case']}/{row['workaround']}", row["call"]): row["verdict"] for row in found}
    wanted = {
        ("baked-value/keep_tensor", "dynamo=False"): "needed",
        ("baked-value/keep_tensor", "a scripted model"): "obsolete",
        ("cube-no-symbolic/custom_symbolic", "dynamo=False"): "needed",
        ("cube-no-symbolic/products", "dynamo=True"): "obsolete",
        ("cube-no-symbolic/unknown_operator", "dynamo=False"): "broken",
        ("fix-harmful/shorter", "dynamo=False"): "harmful",
        ("fix-not-needed/negatives", "dynamo=False"): "obsolete",
    }

    assert {name: verdicts[name] for name in wanted} == wanted


def test_why_tells_the_real_message_of_a_cell(published):
    text = published.caniexport("why", "cube-no-symbolic", "--torch", "91.0.0", "--exporter", "trace").stdout
    assert "Exporting the operator cube to ONNX opset version 9 is not supported." in " ".join(text.split())


def test_the_table_tells_a_mismatch_from_a_failure_and_from_nothing_measured(published):
    rows = published.answer("table", "--case", "baked-value/plain")["tables"][0]["rows"]
    places = {
        row["call"]: {name: cell.get("word") if isinstance(cell, dict) else cell for name, cell in row.items()}
        for row in rows
    }
    assert places["dynamo=False"]["92.0.0"] == "mismatch"
    assert places["dynamo=True"]["92.0.0"] == "fail"
    assert places["dynamo=True"]["91.0.0"] == "not_run"


def test_claims_are_judged_by_the_rows_of_the_versions_they_name(published):
    outcomes = {row["says"]: row["outcome"] for row in published.table_rows("results", "claims")}
    assert outcomes == {
        "trace refuses cube at 9": "reproduced",
        "dynamo refuses cube too": "not-reproduced",
        "a newer release takes it": "pending",
    }


def test_an_edited_comment_measures_nothing_again(measured, tmp_path):
    home = measured.home.copy(tmp_path / "home")
    path = home.cases / "outcomes.py"
    path.write_text(_replaced(path, '"""A number taken out', '# a remark\n    """Reworded: a number taken out'))
    assert "torch 91.0.0: nothing new to measure" in home.caniexport("measure", "--release", "91.0.0").stderr
    assert home.rows() == measured.home.rows()


def test_an_edited_fix_and_a_new_case_are_all_that_is_measured(measured, tmp_path):
    home = measured.home.copy(tmp_path / "home")
    path = home.cases / "outcomes.py"
    path.write_text(_replaced(path, "return x * x[0]\n", "return x[0] * x\n"))
    text = (home.cases / "canaries.py").read_text().replace('corpus = "canary"', "").replace("CanaryPass", "Added")
    (home.cases / "added.py").write_text(text[: text.index("class CanaryFail")])
    known = {row["run_id"] for row in home.rows()}

    home.caniexport("measure", "--release", "91.0.0", "--repeat", "0")

    fresh = {(row["case"], row["variant"]) for row in home.rows() if row["run_id"] not in known}
    canaries = {(f"canary-{name}", "plain") for name in ("pass", "fail", "mismatch")}
    assert fresh - canaries == {("baked-value", "keep_tensor"), ("added", "plain")}


def test_a_removed_case_measures_nothing_and_leaves_the_published_rows(measured, published, tmp_path):
    home = measured.home.copy(tmp_path / "home")
    path = home.cases / "outcomes.py"
    text = path.read_text()
    path.write_text(text[: text.index("class NeedsOpsetNine")])

    assert "nothing new to measure" in home.caniexport("measure", "--release", "91.0.0").stderr
    home.caniexport("publish")

    kept = {name: row for name, row in published.cells("91.0.0", "results").items() if name[0] != "needs-opset-nine"}
    assert home.cells("91.0.0", "results") == kept


def test_tox_narrows_to_one_opset_and_one_case(measured, tmp_path):
    home = measured.home.copy(tmp_path / "home", with_rows=False)
    line = [sys.executable, "-m", "tox", "run", "-e", "torch91.0-opset9-cpu", "--", "-k", "fix-not-needed"]
    reply = subprocess.run(
        line,
        cwd=home.folder,
        env={**home.environ, "CANIEXPORT_CODE": str(runner.ROOT / "harness")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert reply.returncode == 0, reply.stdout[-3000:] + reply.stderr[-1000:]
    assert {runner.name_of(row) for row in runner.journal_rows(home.folder / "results-local")} == {
        ("fix-not-needed", variant, "torchscript-trace", 9) for variant in ("plain", "negatives")
    }
    assert [line for line in reply.stdout.splitlines() if line.startswith("fix-not-needed")] == [
        "fix-not-needed/negatives[torchscript-trace]: 1 pass",
        "fix-not-needed/plain[torchscript-trace]: 1 pass",
    ]


def test_what_the_checker_refuses_is_noted_and_the_runtime_decides(measured):
    rows = measured.home.cells("91.0.0")
    texts = {row["message_id"]: row["text"] for row in measured.home.table_rows("results-local", "messages")}
    refused_in_part = [row for row in rows.values() if row["checker"] == "strict"]
    refused = [row for row in rows.values() if row["checker"] == "plain"]

    assert {row["status"] for row in refused_in_part} == {"pass"}
    assert {texts[row["checker_id"]] for row in refused_in_part} == {
        "InferenceError: (op_type:Sign): Inferred shape and existing shape differ"
    }
    assert {(row["stage"], row["status"]) for row in refused} == {("load", "fail")}
    assert all(texts[row["checker_id"]].startswith("ValidationError: No Op registered") for row in refused)
    assert all(texts[row["message_id"]] != texts[row["checker_id"]] for row in refused)
    assert {row["checker"] for row in rows.values() if row["stage"] == "export"} == {None}


def test_after_kill_9_measuring_goes_on_where_it_was(measured, tmp_path):
    home = replace(measured.home.copy(tmp_path / "home", with_rows=False), mark=f"mark-{random.randrange(10**9)}")
    kill_midway(home)
    before = {runner.name_of(row): row for row in runner.journal_rows(home.folder / "results-local")}
    assert 0 < len(before) < len(runner.expected("91.0.0"))

    home.caniexport("measure", "--release", "91.0.0", "--repeat", "0")

    rows = home.cells("91.0.0")
    assert {name: f"{row['stage']} {row['status']}" for name, row in rows.items()} == runner.expected("91.0.0")
    run_ids = {runner.name_of(row): row["run_id"] for row in home.rows()}
    again = {name[0] for name, row in before.items() if run_ids[name] != row["run_id"]}
    assert all(case.startswith("canary-") for case in again), "what was finished before the kill was measured again"


def _bytes(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _replaced(path: Path, old: str, new: str) -> str:
    text = path.read_text()
    assert text.count(old) >= 1
    return text.replace(old, new)


def kill_midway(home: Home) -> None:
    """Start measuring and kill every process of it after a random number of rows."""
    line = [sys.executable, "-c", "from caniexport.cli import main; main()", "measure", "--release", "91.0.0"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(line, cwd=home.folder, env=home.environ, **quiet)
    wanted, deadline = random.randint(20, 60), time.monotonic() + 60
    while len(runner.journal_rows(home.folder / "results-local")) < wanted and time.monotonic() < deadline:
        time.sleep(0.01)
    runner.kill_9(MARK, home.mark)
    assert process.wait() == -signal.SIGKILL
