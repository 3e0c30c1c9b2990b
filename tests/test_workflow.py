"""The workflow for GitHub Actions: it is one by GitHub's schema, and its commands are there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import yaml
from click.testing import CliRunner

from caniexport.cli import main

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
    words = [
        line.split("caniexport ", 1)[1].split("|")[0].split() for line in lines.splitlines() if "caniexport " in line
    ]

    assert {word[0] for word in words} == {"measure", "alerts", "publish"}
    for command, *options in words:
        shown = CliRunner().invoke(main, [command, "--help"]).output
        assert all(option in shown for option in options if option.startswith("--"))
