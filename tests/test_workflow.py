"""The workflow for GitHub Actions: its commands are there, its jobs are the whole plan, and they run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from mini import build
from mini.home import make_home

from caniexport.cli import main
from caniexport.measure import workflow
from caniexport.model import releases
from caniexport.model.plan import Cell

FILE = Path(__file__).resolve().parent.parent / "docs" / "nightly.yml"


def test_the_file_is_a_workflow_by_githubs_schema(tmp_path):
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(FILE.read_text().replace("runs-on:", "runs:"))

    done = [subprocess.run([*check, str(path)], capture_output=True, text=True, check=False) for path in (FILE, wrong)]

    assert [item.returncode for item in done] == [0, 1], done


def test_the_scripts_of_the_file_have_no_fault_that_shellcheck_knows(tmp_path):
    jobs = yaml.safe_load(FILE.read_text())["jobs"].values()
    texts = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    scripts = [tmp_path / f"{number}.sh" for number in range(len(texts))]
    for script, text in zip(scripts, texts, strict=True):
        # what GitHub puts in before the shell reads it
        script.write_text(re.sub(r"\$\{\{.*?\}\}", "value", text))

    line = [Path(sys.executable).parent / "shellcheck", "--shell=bash", *scripts]
    done = subprocess.run(line, capture_output=True, text=True, check=False)

    assert (bool(scripts), done.returncode, done.stdout) == (True, 0, "")


def test_every_command_of_the_file_is_one_that_there_is():
    jobs = yaml.safe_load(FILE.read_text())["jobs"]
    lines = "\n".join(step.get("run", "") for job in jobs.values() for step in job["steps"]).replace("\\\n", " ")
    words = [line.split("caniexport ", 1)[1].split() for line in lines.splitlines() if "caniexport " in line]

    assert {word[0] for word in words} == {"measure", "alerts", "publish"}
    for command, *options in words:
        shown = CliRunner().invoke(main, [command, "--help"]).output
        assert all(option in shown for option in options if option.startswith("--"))


@pytest.fixture
def plan_of(monkeypatch):
    """Releases of so many cells, each of which takes a second."""

    def make(cells):
        past = {release.torch: {("", "dynamo"): 980_000} for release in releases.table()}
        monkeypatch.setattr(workflow, "past_of_each", lambda *_: past)
        mine = [Cell(f"case{number}", "plain", "dynamo", 18, "h", "cpu") for number in range(cells)]
        monkeypatch.setattr(workflow.plan, "cells", lambda *_: mine)

    return make


@pytest.mark.parametrize(("cells", "shards"), [(0, 1), (4 * 2700, 1), (4 * 2700 + 40, 2), (4 * 2700 * 5, 5)])
def test_a_release_has_as_many_shards_as_it_has_hours(plan_of, cells, shards):
    plan_of(cells)

    jobs = workflow.matrix(releases.table()[-1:], {}, None, 1.0)["include"]

    assert [job["shard"] for job in jobs] == [f"{number}/{shards}" for number in range(1, shards + 1)]


def test_more_jobs_than_a_matrix_may_have_are_refused(plan_of):
    plan_of(4 * 2700 * 9)

    with pytest.raises(workflow.TooManyJobsError, match="270 jobs of 1 h are more than the 256"):
        workflow.matrix(releases.table(), {}, None, 1.0)


@pytest.mark.published
def test_all_releases_of_the_table_fit_into_one_matrix():
    jobs = json.loads(CliRunner().invoke(main, ["measure", "--matrix", "--release", "all"]).output)["include"]

    assert {job["torch"] for job in jobs} == {release.torch for release in releases.table()}
    assert len({job["name"] for job in jobs}) == len(jobs) <= workflow.MOST_JOBS


@pytest.mark.measures
def test_the_jobs_of_the_matrix_one_after_the_other_hand_in_all_cells_that_are_owed(tmp_path):
    """What the file's jobs run, with their commands."""
    home = make_home(tmp_path)
    old, _ = build.ERAS
    made = json.loads(home.caniexport("measure", "--matrix", "--release", old).stdout)["include"]
    jobs = [dict(made[0], shard=f"{number}/2", name=f"{old}-{number}-of-2") for number in (1, 2)]
    for job in jobs:
        machine = home.copy(tmp_path / job["name"], with_rows=False)
        artifact = tmp_path / "delivered" / f"shard-{job['name']}"
        machine.caniexport(
            "measure", "--release", job["torch"], "--shard", job["shard"], "--to", str(artifact), "--rolling"
        )

    (report,) = json.loads(home.caniexport("measure", "--merge", str(tmp_path / "delivered"), "--json").stdout)

    assert (report["missing"], report["owed"], report["problem"]) == ([], [], "")
    assert home.caniexport("alerts", "--format", "markdown").stdout
