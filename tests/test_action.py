"""The GitHub Action, its steps as the shell runs them: a summary where a lock file moves, nothing where it stays."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ACTION = Path(__file__).resolve().parents[1] / ".ci" / "action"
BEFORE = "torch==2.8.0\nonnx==1.18.0\nonnxruntime==1.22.1\n"
AFTER = "torch==2.9.1\nonnx==1.19.1\nonnxruntime==1.23.2\n"


@pytest.fixture
def run(tmp_path):
    """``run(text)``: the second step on a clone whose lock file is changed to ``text``; its reply, summary, outputs."""
    clone, temp = tmp_path / "clone", tmp_path / "temp"
    for folder in (clone, temp):
        folder.mkdir()
    lock = clone / "requirements.txt"
    lock.write_text(BEFORE)
    author = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
    for words in (["init", "-q"], ["add", "-A"], [*author, "commit", "-qm", "before"]):
        subprocess.run(["git", *words], cwd=clone, check=True)
    page, outputs = temp / "page.md", temp / "outputs"
    named = {"RUNNER_TEMP": temp, "GITHUB_STEP_SUMMARY": page, "GITHUB_OUTPUT": outputs}
    asked = {
        "LOCK": "requirements.txt",
        "BASE": "HEAD",
        "FILTERS": "--op grid_sampler --op lstm --op scaled_dot_product_attention",
        "MODEL": "",
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**os.environ, **{name: str(value) for name, value in named.items()}, **asked, "PATH": path}

    def step(text):
        lock.write_text(text)
        line = ["bash", str(ACTION / "upgrade.sh")]
        reply = subprocess.run(line, cwd=clone, env=environ, capture_output=True, text=True, check=False)
        return reply, *(file.read_text() if file.exists() else "" for file in (page, outputs))

    return step


def test_the_action_hands_every_input_to_its_steps():
    action = yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8"))
    steps = action["runs"]["steps"]
    given = " ".join(value for step in steps for value in step.get("env", {}).values())

    assert action["runs"]["using"] == "composite"
    assert all(step["shell"] == "bash" for step in steps)
    assert all("${{" not in step["run"] for step in steps), "text of a pull request is never a part of a script"
    assert all(f"inputs.{name} " in given for name in action["inputs"])


def test_the_workflow_of_the_docs_is_one_by_githubs_schema_and_gives_the_action_what_it_takes(tmp_path):
    text = (ACTION.parents[1] / "docs" / "using.md").read_text(encoding="utf-8")
    (asked,) = re.findall(r"```yaml\n(# \.github/workflows/.*?)```", text, re.DOTALL)
    file = tmp_path / "onnx.yml"
    file.write_text(asked)
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(file)]
    (*_, step) = yaml.safe_load(asked)["jobs"]["onnx"]["steps"]

    done = subprocess.run(check, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout
    assert set(step["with"]) <= set(yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8"))["inputs"])


def test_the_action_is_one_by_githubs_schema_and_its_scripts_have_no_fault_that_shellcheck_knows(tmp_path):
    scripts = [ACTION / "upgrade.sh"]
    for number, step in enumerate(yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]):
        scripts.append(tmp_path / f"{number}.sh")
        scripts[-1].write_text(step["run"])
    schema = ["-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions", str(ACTION / "action.yml")]
    checks = [[sys.executable, *schema], [Path(sys.executable).parent / "shellcheck", "--shell=bash", *scripts]]

    done = [subprocess.run(line, capture_output=True, text=True, check=False) for line in checks]

    assert [item.returncode for item in done] == [0, 0], done


@pytest.mark.published
def test_a_lock_file_that_moves_gives_a_summary_and_fails_where_something_breaks(run):
    reply, page, outputs = run(AFTER)

    assert reply.returncode == 1, reply.stderr
    assert page.startswith("## caniexport\n\nMove to 2.9.1 with default (dynamo=True, opset 20): ")
    assert "\n  dynamo=False, opset_version=" in page
    assert re.search(r"\nFrom torch 2\.8\.0, default \(dynamo=False, opset 18\).* to torch 2\.9\.1\.\n", page)
    assert "+torch==2.9.1" in page
    assert page.count("<details>") == page.count("</details>") == 2
    assert Path(outputs.strip().removeprefix("summary=")).read_text() == page


@pytest.mark.published
def test_what_breaks_has_its_cause_where_other_packages_beside_torch_answer(run):
    _, page, _ = run(f"{AFTER}onnxscript==0.5.6\n")

    assert re.search("✗ breaks +sdpa-three-dims +AssertionError: only 4D query", page)


@pytest.mark.published
def test_a_lock_file_that_stays_gives_nothing(run):
    reply, page, outputs = run(BEFORE)

    assert (reply.returncode, page, outputs) == (0, "", "")
