"""Text of files that others wrote: no control character of it reaches the terminal, no depth or size of it breaks."""

from __future__ import annotations

import io
import json
import re
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from onnx_bytes import model, node
from small_dataset import write

from caniexport.answers.samples import Samples
from caniexport.cli import main, output
from caniexport.model.printable import escape_control
from caniexport.store import Dataset

ROOT = Path(__file__).resolve().parents[1]
#: names the window, makes a link, turns colours on in seven and eight bits, turns the direction of letters
HOSTILE = "\x1b]0;title\x07\x1b]8;;http://evil\x1b\\Sneaky\x00\x9b31m\x7f\u202e\r"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
DEEP = 100_000


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    (folder / "cases").mkdir()
    write(folder / "results")
    return folder


@pytest.fixture
def run(home, monkeypatch, tmp_path):
    monkeypatch.setenv("CANIEXPORT_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    return lambda *words, text=None: CliRunner().invoke(main, words, input=text)


def test_a_name_of_an_operator_of_a_file_is_printed_without_its_control_characters(run, tmp_path, monkeypatch):
    monkeypatch.setenv("CANIEXPORT_HOME", str(ROOT))
    (tmp_path / "model.onnx").write_bytes(model([node(HOSTILE, ["x"], ["y"])]))
    words = ("upgrade", "--model", "model.onnx", "--from", "torch=1.12.1", "--to", "torch=2.8.0")

    told, data = run(*words).output, run(*words, "--json").stdout

    assert "Sneaky" in told and not RAW.search(told)
    assert "Sneaky" in str(json.loads(data)) and not RAW.search(data)


def test_an_error_text_is_printed_without_its_control_characters(run):
    reply = run("why", "-", text=f"RuntimeError: {HOSTILE} aten::cross is not supported\n")
    assert "cross" in reply.output and not RAW.search(reply.output)


@pytest.mark.parametrize("words", [("why", HOSTILE), ("table", "--case", HOSTILE), ("upgrade", HOSTILE)])
def test_a_message_is_printed_without_the_control_characters_of_what_it_names(run, words):
    reply = run(*words)
    assert reply.exit_code == 2 and "]0;title" in reply.output and not RAW.search(reply.output)


def test_a_terminal_gets_our_colours_and_none_of_the_texts(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    output.console().print("\x1b[31mred\x1b]0;t\x07", style="bold")
    assert sys.stdout.getvalue().startswith("\x1b[1m\\u001b[31mred\\u001b]0;t")


def test_what_is_escaped_in_json_is_the_same_text():
    text = json.dumps({"a": HOSTILE}, ensure_ascii=False)
    assert not RAW.search(escape_control(text)) and json.loads(escape_control(text)) == {"a": HOSTILE}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("Pipfile.lock", '{"default":' + "[" * DEEP, ("upgrade", "--to", "torch=2.8.0", "--lock")),
        ("uv.lock", "[[package]]\nname = " + "[" * DEEP, ("upgrade", "--to", "torch=2.8.0", "--lock")),
        ("mine.py", "x = " + "-" * DEEP + "1\n", ("check",)),
    ],
)
def test_a_file_of_many_brackets_is_an_error_that_names_it(run, tmp_path, name, text, words):
    (tmp_path / name).write_text(text, encoding="utf-8")
    target = f"{name}:make" if words == ("check",) else name
    reply = run(*words, target)
    assert isinstance(reply.exception, SystemExit) and f"caniexport: {name}" in reply.output.replace("\n", " ")


def test_many_names_of_operators_are_looked_up_within_seconds():
    summary = Samples(Dataset.open(ROOT / "results", None))
    began = time.process_time()
    found = [summary.called(f"Op{number}") for number in range(50_000)]
    assert not any(found) and summary.called("GridSample")[0] == "nn.functional.grid_sample"
    assert time.process_time() - began < 5
