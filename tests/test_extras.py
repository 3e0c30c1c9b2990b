"""What an installation without extras answers, and what it says about the commands that need one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: runs a command in a process in which these modules cannot be imported
WITHOUT = """
import sys
sys.modules.update(dict.fromkeys({modules!r}))
from caniexport.cli import main
main({words!r}, prog_name="caniexport")
"""
ANSWERS = (
    "table --op cross",
    "case cross-no-symbolic --torch 1.10.2 --opset 14",
    "case cross-no-symbolic --along torch",
    "workaround cross --torch 2.8",
    "upgrade --from 2.8 --to 2.9",
    "table --by runtime",
)
COMMANDS = {
    "measure --release 2.8.0 --plan": "measure",
    "check x:make --release 2.8.0": "measure",
    "bisect cross-no-symbolic --good 2.8.0 --bad 2.9.1": "measure",
    "publish --audit 1 --seed 1": "measure",
    "reproduce cross-no-symbolic --torch 1.10.2 --opset 14": "frames",
    "publish --check": "frames",
    "site -o site": "site",
    "dashboard": "dashboard",
}


def names(requirements):
    """The packages that these requirements name, other extras of the project's own left out."""
    found = {re.match(r"[\w.-]+", text)[0].lower().replace("_", "-") for text in requirements}
    return found - {PROJECT["name"]}


def optional_modules():
    """The modules of every package that is in an extra for users alone."""
    extras = {name: names(listed) for name, listed in PROJECT["optional-dependencies"].items() if name != "dev"}
    wanted = set().union(*extras.values()) - names(PROJECT["dependencies"]) - {"pygments"}  # rich needs that one
    return sorted(
        module
        for module, owners in packages_distributions().items()
        if wanted & {owner.lower().replace("_", "-") for owner in owners}
    )


def run(words, folder):
    code = WITHOUT.format(modules=optional_modules(), words=words.split())
    environ = {**os.environ, "CANIEXPORT_HOME": str(ROOT)}
    line = [sys.executable, "-c", code]
    return subprocess.run(line, cwd=folder, env=environ, capture_output=True, text=True, check=False)


def test_the_modules_left_out_are_those_that_are_large():
    assert {"altair", "numpy", "pandas", "streamlit", "tox"} <= set(optional_modules())


@pytest.mark.published
@pytest.mark.parametrize("words", ANSWERS)
def test_an_answer_needs_no_extra(words, tmp_path):
    reply = run(f"{words} --json", tmp_path)

    assert reply.returncode in (0, 1), reply.stderr
    assert reply.stderr in ("", "- read as: a case\n")
    assert json.loads(reply.stdout)


@pytest.mark.published
@pytest.mark.parametrize(("words", "extra"), COMMANDS.items())
def test_a_command_without_its_extra_says_in_one_line_what_to_install(words, extra, tmp_path):
    reply = run(words, tmp_path)

    assert (reply.returncode, reply.stdout) == (1, "")
    assert re.fullmatch(
        rf"caniexport: {words.split()[0]} needs \w+: pip install 'caniexport\[{extra}\]'\n", reply.stderr
    )
