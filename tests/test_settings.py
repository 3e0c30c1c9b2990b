"""``[tool.caniexport]`` of a user's project: defaults that the command line overrides, and the answer names."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from small_dataset import write

from caniexport.cli import main
from caniexport.model.errors import UnknownName
from caniexport.settings import ProjectSettings, read_settings

SAYS = "[tool.caniexport]\ntorch = '>=1.12,<2.9'\nopset = 14\nexporter = 'trace'\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A user's project with settings, beside a dataset of five releases."""
    (tmp_path / "home" / "cases").mkdir(parents=True)
    write(tmp_path / "home" / "results")
    monkeypatch.setenv("CANIEXPORT_HOME", str(tmp_path / "home"))
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(SAYS, encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


def ask(*words):
    return CliRunner().invoke(main, list(words))


def verdict(*words):
    """The verdict of the cell that ``why`` tells."""
    return json.loads(ask("why", "cross", "--json", *words).stdout)["verdict"]


def test_a_cell_is_completed_by_the_settings_of_the_project_and_says_so_beside_json_too(project):
    reply, as_json = ask("why", "cross", "--torch", "2.0"), ask("why", "cross", "--torch", "2.0", "--json")

    assert reply.output.endswith("- opset 14, exporter trace: [tool.caniexport] of pyproject.toml\n")
    works = "Works (torch 2.0.1, torch.onnx.export, opset_version=14)."
    assert json.loads(as_json.stdout)["verdict"] == works
    assert "[tool.caniexport] of pyproject.toml" in as_json.stderr


def test_a_case_as_such_is_not_about_the_settings_of_a_project(project):
    reply = ask("why", "cross")

    assert reply.output.startswith("Works at torch 2.15.0")
    assert "tool.caniexport" not in reply.output


def test_the_command_line_overrides_each_setting_and_what_is_not_used_is_not_told(project):
    words = ("--torch", "1.10", "--exporter", "default", "--opset", "default")

    assert verdict(*words).startswith("Fails at export (torch 1.10.2, default (")
    assert "tool.caniexport" not in ask("why", "cross", *words).output


def test_of_a_range_a_command_about_one_release_takes_the_newest(project):
    fixes = ask("workaround", "cross")
    moved = json.loads(ask("upgrade", "--to", "2.15", "--json").stdout)
    error = "RuntimeError: Exporting the operator cross to ONNX opset version 14 is not supported."
    explained = json.loads(ask("why", error, "--json").stdout)

    assert "torch 2.8.0" in fixes.output.splitlines()[0]
    assert moved["notes"][0] == "From torch 2.8.0, dynamo=False, opset_version=14 to torch 2.15.0."
    assert "torch 2.8.0" in explained["tables"][0]["rows"][0]["where"]


def test_a_scan_takes_the_settings_of_the_project_that_is_scanned(project, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "pyproject.toml").write_text("[tool.caniexport]\ntorch = '2.0'\n", encoding="utf-8")
    (other / "model.py").write_text("import torch\ntorch.onnx.export(m, x, 'f')\n", encoding="utf-8")

    mine, theirs = (json.loads(ask("scan", path, "--json").stdout)["notes"] for path in (".", str(other)))

    assert mine[0].endswith("judged at torch 1.12.1 to 2.8.0")
    assert "export by dynamo=False, opset_version=14" in mine
    assert theirs[0].endswith("judged at torch 2.0.1")
    assert any("[tool.caniexport] of" in note for note in theirs)


@pytest.mark.parametrize(
    ("says", "words"),
    [
        ("opst = 14", r"unknown key of \[tool.caniexport\] in pyproject.toml 'opst' \(nearest: opset\)"),
        ("opset = '14'", "opset = '14': a number is wanted"),
        ("torch = 2.9", "torch = 2.9: a version"),
        ("torch = '>=2.4,<<3'", "is not a version specifier"),
        ("torch = 'newest'", "'newest' is not a version"),
    ],
)
def test_a_key_or_a_value_that_means_nothing_is_refused(project, says, words):
    (project / "pyproject.toml").write_text(f"[tool.caniexport]\n{says}\n", encoding="utf-8")

    with pytest.raises(UnknownName, match=words):
        read_settings(project)
    assert ask("why", "cross").exit_code == 2
    assert ask("--version").exit_code == 0


def test_a_range_without_a_measured_release_and_an_unknown_exporter_are_refused(project):
    (project / "pyproject.toml").write_text("[tool.caniexport]\ntorch = '>=3'\n", encoding="utf-8")
    assert "no measured torch is within >=3 (measured: 1.10.2 to 2.15.0)" in ask("workaround", "cross").output

    (project / "pyproject.toml").write_text("[tool.caniexport]\nexporter = 'tracer'\n", encoding="utf-8")
    assert "unknown exporter 'tracer'" in ask("workaround", "cross").output


def test_the_settings_are_those_of_the_repository_around_and_of_no_other(project, tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.caniexport]\nopset = 9\n", encoding="utf-8")
    assert read_settings(project / "src").opset == "14"

    (project / "pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
    assert read_settings(project / "src").opset == "9"

    (project / ".git").mkdir()
    assert read_settings(project / "src") == ProjectSettings()


def test_releases_are_named_by_a_range_on_the_command_line_too(project):
    (project / "pyproject.toml").unlink()

    assert verdict("--torch", ">=2.0,<2.9", "--opset", "14") == "Works (torch 2.8.0, dynamo=False, opset_version=14)."
