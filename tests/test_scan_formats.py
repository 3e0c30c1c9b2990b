"""A scan as annotations and as SARIF, and the hook that runs it."""

from __future__ import annotations

import json
from pathlib import Path

import click
import yaml
from click.testing import CliRunner
from small_dataset import write

from caniexport.cli import main

SOURCE = (
    "import torch\nfrom torch.onnx import register_custom_op_symbolic\n"
    'register_custom_op_symbolic("aten::cross", rule, 9)\n'
)


def scan(tmp_path, monkeypatch, *words):
    (tmp_path / "cases").mkdir()
    write(tmp_path / "results")
    monkeypatch.setenv("CANIEXPORT_HOME", str(tmp_path))
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "m.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return CliRunner().invoke(main, ["scan", "a b", "--torch", "2.8", "--exporter", "trace", *words])


def test_findings_are_annotations_at_their_lines(tmp_path, monkeypatch):
    reply = scan(tmp_path, monkeypatch, "--format", "github", "--fail-on", "obsolete")

    assert reply.exit_code == 1
    first, last = reply.stdout.splitlines()
    assert first.startswith("::warning file=a b/m.py,line=3,title=obsolete%3A symbolic of aten%3A%3Across::")
    assert last == "::notice title=caniexport::Remove 1 of 1 workaround found at torch 2.8.0."


def test_findings_are_results_of_sarif(tmp_path, monkeypatch):
    (run,) = json.loads(scan(tmp_path, monkeypatch, "--format", "sarif").stdout)["runs"]

    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "obsolete"
    assert (result["level"], place["artifactLocation"]["uri"]) == ("warning", "a%20b/m.py")
    assert place["region"]["startLine"] == 3


def test_the_hook_calls_what_there_is():
    (hook,) = yaml.safe_load((Path(__file__).parents[1] / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    words = [*hook["entry"].split(), *hook["args"]]

    command = main.get_command(click.Context(main), words[1])
    assert command.make_context("scan", words[2:]).params["fail_on"] == ("obsolete", "harmful")
    assert (Path(__file__).parents[1] / hook["additional_dependencies"][0] / "pyproject.toml").is_file()
