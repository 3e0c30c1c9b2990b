"""The public names of the package: the answers as functions, their filters and their errors."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

import pytest
from small_dataset import write

import caniexport
from caniexport import UnknownName
from caniexport.answers.filters import read_filters

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return caniexport.open(write(tmp_path_factory.mktemp("published")))


def test_every_command_that_answers_is_a_function(here):
    assert caniexport.workaround(here, "cross", torch="1.12.1").verdict == "Needed at torch 1.12.1: use stack_rewrite."
    assert caniexport.upgrade(here, "2.0.1", "1.12.1").tables
    assert caniexport.upgrade(here, "2.0.1").tables
    assert caniexport.table(here, by="opset", case=["cross"]).tables[0].rows
    assert caniexport.case(here, "cross").verdict.startswith("Works at torch 2.15.0")
    assert caniexport.changes(here, "cross").tables
    assert caniexport.claims(here).counts is not None
    assert caniexport.declared(here).verdict.startswith("At torch 2.15.0 0 registered operators")
    assert caniexport.runtimes(here).verdict.startswith("Not measured")
    assert caniexport.compare_datasets(here, here).verdict == "Nothing is worse than it was."


def test_rows_are_filtered_as_on_the_command_line(here):
    rows = caniexport.cells(here, case=["cross/plain", "item/tensor_scale"], exporter="trace", opset="9-11")

    assert set(zip(rows["case"], rows["variant"], strict=True)) == {("cross", "plain"), ("item", "tensor_scale")}
    assert (set(rows["exporter"]), set(rows["opset"])) == ({"torchscript-trace"}, {9, 10, 11})
    assert set(caniexport.cells(here, status="mismatch", theme="*")["status"]) == {"mismatch"}
    assert caniexport.cells(here, exporter="default", opset="default")["opset"].isna().all()


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        ({"status": "zzzzzzzz"}, "unknown status 'zzzzzzzz' .known: pass, degraded, .*, not_run, invalid"),
        ({"case": "cros"}, "unknown case 'cros' .nearest: cross"),
        ({"cases": "cross"}, "unknown filter of cells 'cases' .nearest: case"),
        ({"opset": 99}, "opset 99 has not been measured"),
    ],
)
def test_an_unknown_name_raises_with_the_nearest_ones(here, filters, words):
    with pytest.raises(UnknownName, match=words):
        caniexport.cells(here, **filters)


def test_a_filter_that_the_command_does_not_take_is_refused(here):
    with pytest.raises(UnknownName, match="unknown filter of claims 'torch'"):
        caniexport.claims(here, torch="2.8")
    with pytest.raises(UnknownName, match="unknown axis 'opsets'"):
        caniexport.table(here, by="opsets")


def test_a_version_is_text():
    with pytest.raises(TypeError, match=r"torch=2\.1: text"):
        read_filters("table", {"torch": 2.10})


def test_a_dataset_that_is_not_there_raises(tmp_path, monkeypatch):
    with pytest.raises(UnknownName, match="is no folder"):
        caniexport.open("/nonexistent")
    with pytest.raises(UnknownName, match="has no dataset"):
        caniexport.open(local=tmp_path)
    (tmp_path / "cases").mkdir()
    monkeypatch.setenv("CANIEXPORT_HOME", str(tmp_path))
    with pytest.raises(UnknownName, match="nothing has been measured yet"):
        caniexport.open()


def test_the_home_of_the_commands_is_opened(tmp_path, monkeypatch):
    (tmp_path / "cases").mkdir()
    write(tmp_path / "results-local")
    monkeypatch.setenv("CANIEXPORT_HOME", str(tmp_path))

    assert set(caniexport.cells(caniexport.open(), torch="2.8")["origin"]) == {"local"}


def test_no_public_name_is_a_module_of_the_package():
    package = ROOT / "harness" / "caniexport"

    assert [
        name for name in caniexport.__all__ if (package / name).is_dir() or (package / f"{name}.py").is_file()
    ] == []


def test_every_public_name_is_on_its_page():
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")

    assert [name for name in caniexport.__all__ if f"`{name}" not in page and f"`caniexport.{name}`" not in page] == []


def test_the_examples_of_the_page_are_true(monkeypatch):
    monkeypatch.chdir(ROOT)
    ended = doctest.testfile(str(ROOT / "docs" / "api.md"), module_relative=False, encoding="utf-8")

    assert (ended.failed, ended.attempted > 10) == (0, True)


def test_importing_the_package_loads_nothing():
    code = (
        "import caniexport, sys; print([m for m in ('pandas', 'duckdb', 'click', 'dataclasses') if m in sys.modules])"
    )

    assert subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True).strip() == "[]"
