"""The commands as a user types them, over a small dataset (see small_dataset)."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
import small_dataset
from click.testing import CliRunner

from caniexport import home as homes
from caniexport.cli import main
from caniexport.cli.dashboard import streamlit_command

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home with a corpus of one case and a published dataset."""
    root = tmp_path_factory.mktemp("home")
    for folder in ("cases", "harness", "results"):
        (root / folder).mkdir()
    (root / "tox.ini").touch()
    small_dataset.write(root / "results")
    return root


@pytest.fixture
def run(home, monkeypatch):
    """``run("table", "--case", "cross")`` -> click's result, at 100 columns."""
    monkeypatch.setenv(homes.VARIABLE, str(home))
    monkeypatch.delenv("COLUMNS", raising=False)
    return lambda *words: CliRunner().invoke(main, words, prog_name="caniexport")


def lines(result):
    assert result.exit_code == 0, result.stderr
    return [line.rstrip() for line in result.stdout.splitlines()]


def test_the_table_reads_without_colour_in_a_hundred_columns(run):
    shown = lines(run("table", "--theme", "*"))
    assert any(line.split() == ["cross", "dynamo=False", *["✓", "7+"] * 3, "✗", "✗"] for line in shown)
    assert max(map(len, shown)) <= 100
    assert "\x1b" not in "".join(shown)


def test_a_table_too_wide_leaves_the_oldest_columns_out_and_says_how_to_have_them(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    shown = lines(run("table", "--case", "cross/plain", "--exporter", "trace"))
    assert max(map(len, shown)) <= 50
    assert shown[2].split() == ["case", "call", "2.15.0", "2.8.0", "2.0.1"]
    assert shown[-1] == "Not shown: 3 columns. --all shows them."

    monkeypatch.setenv("COLUMNS", "70")
    last = lines(run("table", "--case", "cross/plain", "--exporter", "trace"))[-1]
    assert last == "Not shown: 1 column (what fails). --all shows them."
    assert "Not shown" not in run("table", "--case", "cross/plain", "--exporter", "trace", "--all").stdout


def test_the_table_as_json_says_where_each_status_was_seen(run):
    found = json.loads(run("table", "--case", "grid-sample/plain", "--exporter", "trace", "--json").stdout)
    place = found["tables"][0]["rows"][0]["1.12.1"]
    assert place == {"word": "pass", "text": "16+", "at": {"pass": "16", "fail": "7-15", "unsupported": "17"}}


def test_operators_are_one_list_or_several_options(run):
    several = run("table", "--op", "cross", "--op", "item").stdout

    assert run("table", "--op", "cross, item").stdout == several


def test_a_bare_table_is_an_overview_by_theme(run):
    shown = lines(run("table"))

    assert shown[0] == "At torch 2.15.0 2 of 3 cases work with the default call."
    assert [line.split() for line in shown[2:5]] == [
        ["theme", "2.15.0", "2.8.0", "2.0.1", "1.12.1", "1.10.2"],
        ["baking", *["0/1"] * 5],
        ["geometry", "2/2", "2/2", "1/2", "0/2", "0/2"],
    ]
    assert not any("theme" in line for line in lines(run("table", "--op", "cross")))


def test_workaround_stops_a_build_only_for_the_words_that_it_is_told(run):
    assert run("workaround", "cross/stack_rewrite").exit_code == 0
    assert run("workaround", "cross/stack_rewrite", "--fail-on", "harmful").exit_code == 0
    assert run("workaround", "cross/stack_rewrite", "--fail-on", "obsolete").exit_code == 1


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("table", "--case", "cros"), "nearest: cross"),
        (("table", "--release", "2.7"), "nearest measured: 2.0.1, 2.8.0"),
        (("table", "--opset", "99"), "measured are 7 to 26"),
        (("table", "--opset", "many"), "is not an opset"),
        (("table", "--exporter", "tracer"), "torchscript-trace"),
        (("table", "--status", "passs"), "nearest: pass"),
        (("why", "grid-sampel"), "grid-sample"),
        (("workaround", "cross/stack"), "stack_rewrite"),
        (("workaround", "--fail-on", "obsolet"), "obsolete"),
        (("workaround", "SDPA"), "no case is about 'SDPA'"),
        (("case", "cros"), "nearest: cross"),
        (("case", "cross/stack_rewrit"), "stack_rewrite"),
        (("tabel",), "nearest: table"),
        (("table", "--torch", "two"), "is not a version"),
    ],
)
def test_wrong_use_is_exit_two_with_the_nearest_names_and_no_traceback(run, words, near):
    result = run(*words)
    assert result.exit_code == 2
    assert near in result.stderr
    assert "Traceback" not in result.output


def _every_path(command, path=()):
    """The words that call a command and each one below it."""
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from _every_path(command.get_command(context, name), (*path, name))


def test_no_help_is_cut_at_eighty_columns_and_every_command_takes_json(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    paths = list(_every_path(main))
    assert ("bundles", "pack") in paths
    for path in paths:
        result = run(*path, "--help")
        assert result.exit_code == 0, path
        # what is cut ends in a word and points; «cpu, cuda, ...» is meant so
        assert not re.findall(r"^(?!Usage).*\w(?:\.\.\.|…)$", result.stdout, re.MULTILINE), path
        assert all(len(line) <= 80 for line in result.stdout.splitlines()), path
        # a command with commands of its own has the option in each of these
        assert "--json" in result.stdout or path in ((), ("bundles",)), path


def test_a_damaged_file_is_a_warning_and_the_rest_answers(run, home):
    bad = home / "results" / "cells" / "torch-9.9.9-cpu.parquet"
    bad.write_bytes(b"PAR1 and then nothing")
    try:
        result = run("table", "--case", "cross/plain", "--exporter", "trace")
    finally:
        bad.unlink()
    assert result.exit_code == 0
    assert "torch-9.9.9-cpu.parquet" in result.stderr
    assert "cross" in result.stdout


def test_measure_refuses_a_case_or_release_nobody_knows_before_it_starts_anything(run, home):
    (home / "cases" / "geometry.py").write_text((ROOT / "cases" / "geometry.py").read_text(encoding="utf-8"))
    assert run("measure", "--case", "crosss").exit_code == 2
    assert run("measure", "--release", "7.7").exit_code == 2
    assert run("measure", "--exporter", "onxx").exit_code == 2
    assert not (home / "results-local").exists()


def _process(home, *words, **environ):
    env = {**os.environ, homes.VARIABLE: str(home), **environ}
    line = [sys.executable, "-c", "from caniexport.cli import main; main()", *words]
    return subprocess.run(line, cwd=ROOT, env=env, capture_output=True, check=False)


def test_an_output_that_knows_ascii_only_gets_ascii_signs(home):
    found = _process(home, "table", "--case", "item/plain", PYTHONIOENCODING="ascii")
    assert found.returncode == 0, found.stderr.decode()
    assert re.search(r"dynamo=False +#", found.stdout.decode("ascii"))


def test_help_loads_neither_pandas_nor_torch(home):
    code = (
        "import sys; from caniexport.cli import main; main(['--help'], standalone_mode=False); print(list(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True, text=True)
    assert "'caniexport.cli.table'" in found.stdout
    for heavy in ("pandas", "pyarrow", "duckdb", "streamlit", "rich.table", "torch"):
        assert f"'{heavy}'" not in found.stdout


def test_the_dashboard_listens_on_this_machine_only_and_watches_no_files(run, home):
    found = json.loads(run("dashboard", "--port", "8600", "--json").stdout)
    assert found["url"] == "http://127.0.0.1:8600"
    assert found["home"] == str(home)
    words = streamlit_command(8600, "192.0.2.7", ("measured.example",))
    assert words[words.index("--server.fileWatcherType") + 1] == "none"
    assert words[words.index("--server.address") + 1] == "192.0.2.7"
    hosts = {value for name, value in itertools.pairwise(words) if name == "--server.allowedHosts"}
    assert hosts == {"localhost", "127.0.0.1", "::1", "192.0.2.7", "measured.example"}


@pytest.mark.skipif(os.name != "posix", reason="elsewhere the server is a process of its own")
def test_what_ends_the_dashboard_ends_its_server(home, tmp_path):
    server = tmp_path / "streamlit"
    server.mkdir()
    (server / "__init__.py").write_text("")
    (server / "__main__.py").write_text(
        "import os, time\nprint('serves as', os.getpid(), flush=True)\ntime.sleep(60)\n"
    )
    line = [sys.executable, "-c", "from caniexport.cli import main; main()", "dashboard"]
    environ = {**os.environ, "PYTHONPATH": str(tmp_path), homes.VARIABLE: str(home)}
    with subprocess.Popen(line, env=environ, stdout=subprocess.PIPE, text=True) as started:
        said = [started.stdout.readline() for _ in range(2)]
        started.terminate()
    assert said[1] == f"serves as {started.pid}\n"
    assert started.returncode == -signal.SIGTERM


def test_the_home_is_the_checkout_around_the_working_folder(home):
    below = home / "cases"
    found = homes.find(cwd=below, environ={})
    assert (found.root, found.published, found.local) == (home, home / "results", home / "results-local")


def test_a_file_of_cells_that_is_no_text_is_wrong_use(run, tmp_path):
    (tmp_path / "cells").write_bytes(b"\x80\xff\x00")

    found = run("measure", "--plan", "--cells", str(tmp_path / "cells"))

    assert found.exit_code == 2
    assert "is no torch/case/variant/exporter/opset" in found.output


@pytest.mark.parametrize("words", [("table", "--case", "a\udcff"), ("why", "\udcff")])
def test_half_of_a_character_on_the_command_line_is_wrong_use(home, words):
    done = _process(home, *words)

    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert done.stderr


@pytest.mark.parametrize("words", [("case", "cross"), ("table", "--json")])
def test_an_output_that_lacks_a_character_gets_it_escaped(home, words):
    done = _process(home, *words, PYTHONIOENCODING="latin-1")

    assert done.returncode == 0, done.stderr
    assert done.stdout.decode("latin-1")
    if "--json" in words:
        json.loads(done.stdout.decode("latin-1"))


def test_a_list_that_never_ends_is_refused():
    reply = CliRunner().invoke(main, ["alerts", "--baseline", str(ROOT / "results"), "--expectations", "/dev/zero"])
    assert (reply.exit_code, "larger than 8 MiB" in reply.stderr) == (2, True)
