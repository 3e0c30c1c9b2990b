"""A home that cannot be one: every command says so in one line, with an exit code that a script can use."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from store_rows import cell, environment, write_journal

from caniexport import home as homes
from caniexport.cli import main
from caniexport.cli.publish import promote
from caniexport.home.data_package import read_version
from caniexport.model import corpus
from caniexport.model.errors import CaniexportError
from caniexport.publish.publish import publish
from caniexport.store import Dataset

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = (["table"], ["measure", "--release", "2.8.0", "--plan"], ["publish"])


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


# --- an installed package, to which nothing is written

CASE = """
from caniexport import Case, f32

class Double(Case):
    '''Twice the input.'''

    sources = ("owner/repo#1",)
    inputs = ((f32(2),), (f32(3),))

    def forward(self, x):
        return x + x
"""


def measured(local, cases, **changes):
    """A local dataset with one row of a good run."""
    row = cell(case="double", case_hash=cases["double"].case_hash("plain"), **changes)
    write_journal(local, [row], [environment()])


@pytest.fixture
def installed(tmp_path):
    """The home of an installed package with one published row, its corpus, and what is in its folder."""
    package, own = tmp_path / "package", tmp_path / "own"
    (package / "cases").mkdir(parents=True)
    own.mkdir()
    (package / "cases" / "sums.py").write_text(CASE)
    cases = corpus.load([package / "cases"], stand_in=True)
    measured(tmp_path / "elsewhere", cases, opset=9)
    publish(tmp_path / "elsewhere", package / "results", cases)
    places = (package / "cases", package / "results", own / "results-local", package / "tox.ini")
    return homes.Home(own, *places, own / "cases", own / "results"), cases


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_published_from_an_installed_package_goes_into_a_copy_of_its_dataset(installed):
    home, cases = installed
    before = contents(home.published)
    measured(home.local, cases, opset=14)

    assert sum(promote(home, cases, write=False).promoted.values()) == 1
    assert not home.own_results.exists()
    assert sum(promote(home, cases, write=True).promoted.values()) == 1
    assert set(Dataset.open(home.own_results, None).cells()["opset"]) == {9, 14}
    assert contents(home.published) == before


def test_publishing_raises_the_version_of_the_dataset_and_publishing_nothing_does_not(tmp_path, monkeypatch):
    monkeypatch.setenv(homes.VARIABLE, str(tmp_path))
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "sums.py").write_text(CASE)
    measured(tmp_path / "results-local", corpus.load([tmp_path / "cases"], stand_in=True))

    def published():
        reply = CliRunner().invoke(main, ["publish", "--json"])
        assert reply.exit_code == 0, reply.output
        return json.loads(reply.stdout)["written"]

    assert published()
    version = read_version(tmp_path / "results")
    assert version.again == 0
    assert published() == []
    assert read_version(tmp_path / "results") == version
    assert f"Dataset {version} " in CliRunner().invoke(main, ["--version"]).stdout


def test_a_list_that_the_installed_dataset_does_not_have_yet_is_told_with_what_helps():
    with pytest.raises(CaniexportError, match=r"no nothing\.txt: pip install --upgrade caniexport-data"):
        homes.packaged_list("nothing.txt")


def test_nothing_is_copied_for_a_run_that_may_not_be_published(installed):
    home, cases = installed
    row = cell(case="double", case_hash=cases["double"].case_hash("plain"))
    write_journal(home.local, [row], [environment(gate="quarantined: canary-fail passed")])

    assert not promote(home, cases, write=True).is_whole
    assert not home.own_results.exists()


def test_an_unrelated_folder_of_cases_is_not_run(installed):
    home, _ = installed
    home.new_cases.mkdir()
    (home.new_cases / "unrelated.py").write_text("raise SystemExit")

    assert home.corpora == (home.cases,)
    (home.new_cases / "products.py").write_text(CASE.replace("Double", "Square"))
    (home.new_cases / "unrelated.py").unlink()
    assert list(corpus.load(home.corpora, stand_in=True)) == ["double", "square"]
