"""How a measurement ends: killed in three ways, beside another of the same release, on a machine without a Python."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from mini import build, runner
from mini.home import MARK

from caniexport.store.gates import GOOD

pytestmark = pytest.mark.measures

OLD, NEW = build.ERAS
SECONDS = 300

#: a case whose children outlive it: one in a session of its own, one that has lost its parent
LEAVING = """
import os
import subprocess

from caniexport.model.case import Case
from caniexport.model.tensors import values


class Leaving(Case):
    "A case that leaves processes behind."

    sources = ("harness",)
    exporters = ("torchscript-trace",)
    inputs = ((values([1.0, 2.0]),), (values([3.0, 4.0]),))

    def forward(self, x):
        subprocess.Popen(["sleep", "600"], start_new_session=True)
        subprocess.call(["sh", "-c", "sleep 601 &"])
        __import__("time").sleep({seconds})
        return x
"""


@pytest.fixture
def home(made_home, tmp_path):
    """A home whose processes carry a mark; none of them may be left at the end."""
    home = replace(made_home.copy(tmp_path / "a home"), mark=f"mark-{random.randrange(10**9)}")
    yield home
    left = runner.processes(MARK, home.mark)
    runner.kill_9(MARK, home.mark)
    assert left == []


def start(home, *words):
    return subprocess.Popen(
        home.line("measure", "--workers", "2", *words),
        cwd=home.folder,
        env=home.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # a shell's background command ignores interrupts, and so does all that it starts
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_for(found, process):
    end = time.monotonic() + SECONDS
    while not found():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


def command_lines(home):
    lines = []
    for pid in runner.processes(MARK, home.mark):
        try:
            with Path(f"/proc/{pid}/cmdline").open("rb") as file:
                lines.append(file.read().replace(b"\0", b" ").decode())
        except OSError:
            continue  # it ended meanwhile
    return lines


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_measurement_that_is_ended_leaves_no_process_and_every_finished_row(home, how):
    (home.cases / "leaving.py").write_text(LEAVING.format(seconds=3))
    process = start(home, "--release", NEW)

    def everyone_is_there():
        said = "\n".join(command_lines(home))
        return all(
            word in said
            for word in ("caniexport.machine.guard", "tox", "caniexport.worker.server", "sleep 600", "sleep 601")
        )

    wait_for(everyone_is_there, process)
    os.kill(process.pid, how)
    process.communicate(timeout=SECONDS)

    assert process.returncode == {signal.SIGINT: 1}.get(how, -how)
    end = time.monotonic() + 30
    while runner.processes(MARK, home.mark) and time.monotonic() < end:
        time.sleep(0.05)
    assert command_lines(home) == []
    assert runner.journal_rows(home.folder / "results-local")


def test_what_a_case_left_running_is_ended_with_its_release(home):
    (home.cases / "leaving.py").write_text(LEAVING.format(seconds=0))

    home.caniexport("measure", "--release", OLD, "--case", "leaving", "--opset", "9")

    assert command_lines(home) == []


def test_of_two_measurements_of_one_release_the_second_waits_and_measures_nothing_again(home):
    """Its cases lie behind a symbolic link."""
    home.cases.rename(home.folder / "elsewhere")
    home.cases.symlink_to(home.folder / "elsewhere")
    first = start(home, "--release", OLD)
    wait_for(lambda: runner.journal_rows(home.folder / "results-local"), first)
    second = start(home, "--release", OLD)
    told = [process.communicate(timeout=SECONDS) for process in (first, second)]

    assert [process.returncode for process in (first, second)] == [0, 0], told
    (said,) = [line for line in told[1][1].splitlines() if "waiting" in line]
    assert "another process has it in this folder" in said
    assert f"torch {OLD}: nothing new to measure" in told[1][1]
    rows = home.cells(OLD)
    assert {name: f"{row['stage']} {row['status']}" for name, row in rows.items()} == runner.expected(OLD)
    assert [row["gate"] for row in home.table_rows("results-local", "environments")] == [GOOD]


def test_where_the_first_of_two_is_killed_the_second_goes_on_where_it_was(home):
    other = replace(home, mark=f"{home.mark}-first")
    first = start(other, "--release", OLD)
    wait_for(lambda: len(runner.journal_rows(home.folder / "results-local")) > 20, first)
    second = start(home, "--release", OLD, "--repeat", "0")
    said = second.stderr.readline() + second.stderr.readline()
    assert "another process has it in this folder" in said
    runner.kill_9(MARK, other.mark)
    first.communicate()
    complaints = second.communicate(timeout=SECONDS)[1]

    assert second.returncode == 0, complaints
    rows = home.cells(OLD)
    assert {name: f"{row['stage']} {row['status']}" for name, row in rows.items()} == runner.expected(OLD)
    assert len({row["run_id"] for row in home.rows()}) == 2
    gates = {row["run_id"]: row["gate"] for row in home.table_rows("results-local", "environments")}
    assert {gates[row["run_id"]] for row in home.rows()} == {GOOD}


def test_a_release_whose_python_is_nowhere_is_left_out_and_another_python_serves_where_it_can(home, tmp_path):
    text = home.table.read_text()
    home = replace(home, table=tmp_path / home.table.name)
    # older than anything that Python 3.11 takes; and one that it takes in its own Python's stead
    text = text.replace(f"Release('93.0.0', '{_minor()}'", "Release('1.2.0', '3.98'")
    home.table.write_text(text.replace(f"Release('{NEW}', '{_minor()}'", f"Release('{NEW}', '3.99'"))

    reply = home.caniexport("measure", "--release", "1.2.0", "--release", NEW, "--case", "passes")

    (said,) = [line for line in reply.stderr.splitlines() if line.startswith("torch 1.2.0: could not be measured")]
    assert "it needs Python 3.98, which is not on this machine and which uv could not fetch (" in said
    assert f"torch {NEW}: measured with Python 3.11, for this machine has no 3.99" in reply.stderr
    assert {row["python"].rpartition(".")[0] for row in home.rows() if row["torch"] == NEW} == {"3.11"}
    assert [(row["stage"], row["status"]) for row in home.rows() if row["torch"] == "1.2.0"] == [("resolve", "not_run")]
    assert [line for line in reply.stdout.splitlines() if line.startswith("  passes")]

    again = home.caniexport("measure", "--release", "1.2.0", "--release", NEW, "--case", "passes", "--json")
    old, new = json.loads(again.stdout)
    assert (old["lacks"], old["measured"]) == ("Python 3.98", 0)
    assert (new["lacks"], new["problem"], new["planned"]) == ("", "", 0)
    home.caniexport("measure", "--release", "1.2.0", "--release", NEW, "--case", "passes", "--strict", code=1)

    # nothing of what was asked for could be entered
    home.caniexport("measure", "--release", "1.2.0", "--case", "passes", code=1)


def _minor():
    return ".".join(map(str, sys.version_info[:2]))
