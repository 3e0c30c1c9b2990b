"""A home that cannot be one: every command says so in one line, with an exit code that a script can use."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = (
    ["table"],
    ["why", "cross-no-symbolic"],
    ["measure", "--release", "2.8.0", "--plan"],
    ["cases", "lint"],
    ["upgrade", "--from", "torch=1.13.1", "--to", "torch=2.8.0"],
    ["alerts"],
    ["claims"],
    ["publish"],
    ["dashboard", "--json"],
)


def refused(reply, code, words):
    assert reply.returncode == code, reply.stdout + reply.stderr
    (said,) = reply.stderr.strip().splitlines()
    assert said.startswith("caniexport: ")
    assert words in said
    assert reply.stdout == ""


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_home_that_is_none_is_refused_by_every_command(ordinary, words):
    run, own = ordinary

    refused(run(own / "away", *words), 2, f"CANIEXPORT_HOME names {own / 'away'}, which is not there")


def test_what_a_home_is_instead_is_said(ordinary):
    run, own = ordinary
    (own / "a file").touch()
    (own / "empty").mkdir()
    (own / "circle").symlink_to(own / "circle")

    refused(run(own / "a file", "table"), 2, f"CANIEXPORT_HOME names {own / 'a file'}, which is a file")
    refused(run(own / "empty", "table"), 2, "which has no folder cases/")
    refused(run(own / "circle", "table"), 1, "which cannot be read")
    refused(run("~nobody-of-this-name/x", "table"), 1, "which cannot be read")
    refused(run("x" * 5000, "table"), 1, "which cannot be read")


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_home_that_may_not_be_read_is_refused_by_every_command(ordinary, words):
    run, own = ordinary
    cases = own / "home" / "cases"
    cases.mkdir(parents=True)
    for closed in (own / "home", cases):
        closed.chmod(0)
        reply = run(own / "home", *words)
        closed.chmod(0o700)
        refused(reply, 1, "which cannot be read ([Errno 13] Permission denied")


def test_a_home_that_may_not_be_written_is_said_before_anything_is_measured(ordinary):
    run, own = ordinary
    home = own / "home"
    shutil.copytree(ROOT / "cases", home / "cases", ignore=shutil.ignore_patterns("__pycache__"))
    home.chmod(0o500)
    if os.geteuid() == 0:
        os.chown(home, 0, 0)
        home.chmod(0o555)
    try:
        refused(run(home, "measure", "--release", "2.8.0", "--case", "cross-no-symbolic"), 1, "permission denied")
    finally:
        home.chmod(0o700)
