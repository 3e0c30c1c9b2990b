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
#: runs commands in a process in which these modules cannot be imported
WITHOUT = """
import json, sys
sys.modules.update(dict.fromkeys({modules!r}))
from click.testing import CliRunner
from caniexport.cli import main
replies = [CliRunner().invoke(main, words.split(), prog_name="caniexport") for words in {lines!r}]
print(json.dumps([(reply.exit_code, reply.stdout, reply.stderr) for reply in replies]))
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


@pytest.fixture(scope="module")
def replies(tmp_path_factory):
    """The exit code and both outputs of every command, by its words."""
    lines = [f"{words} --json" for words in ANSWERS] + list(COMMANDS)
    line = [sys.executable, "-c", WITHOUT.format(modules=optional_modules(), lines=lines)]
    environ = {**os.environ, "CANIEXPORT_HOME": str(ROOT)}
    folder = tmp_path_factory.mktemp("elsewhere")
    reply = subprocess.run(line, cwd=folder, env=environ, capture_output=True, text=True, check=True)
    return dict(zip(lines, json.loads(reply.stdout), strict=True))


def test_the_modules_left_out_are_those_that_are_large():
    assert {"altair", "numpy", "pandas", "streamlit", "tox"} <= set(optional_modules())


@pytest.mark.published
@pytest.mark.parametrize("words", ANSWERS)
def test_an_answer_needs_no_extra(words, replies):
    code, stdout, stderr = replies[f"{words} --json"]

    assert code in (0, 1), stderr
    assert stderr in ("", "- read as: a case\n")
    assert json.loads(stdout)


@pytest.mark.published
@pytest.mark.parametrize(("words", "extra"), COMMANDS.items())
def test_a_command_without_its_extra_says_in_one_line_what_to_install(words, extra, replies):
    code, stdout, stderr = replies[words]

    assert (code, stdout) == (1, "")
    assert re.fullmatch(rf"caniexport: {words.split()[0]} needs \w+: pip install 'caniexport\[{extra}\]'\n", stderr)
