"""``caniexport publish --audit``: published rows are measured again by a plain script, and a wrong one is named."""

from __future__ import annotations

import re
import shutil

import pytest
from mini import build, runner

from caniexport.audit import environments, judge, sample, saved
from caniexport.audit.judge import ScriptOutcome
from caniexport.pages.render import render
from caniexport.store import Dataset, digests, writer

pytestmark = pytest.mark.measures

OLD, NEW = build.ERAS


@pytest.fixture(scope="module")
def published(made_home, tmp_path_factory):
    """A home whose rows are published; nothing of what measured them is there any more."""
    home = made_home.copy(tmp_path_factory.mktemp("audit") / "a home")
    home.caniexport("measure", "--release", OLD, "--release", NEW, "--workers", "2", "--repeat", "0")
    home.caniexport("publish")
    shutil.rmtree(home.folder / "results-local")
    (home.folder / ".tox").unlink()
    (home.folder / ".tox").mkdir()
    return home


@pytest.fixture
def home(published, tmp_path):
    return published.copy(tmp_path / "home")


def keep(home, *cases):
    """Nothing is published but the rows of these cases: a row is measured again in a process of its own."""
    (home.folder / "results" / "MANIFEST").unlink()
    for release in (OLD, NEW):
        rows = [row for row in home.rows("results") if row["torch"] == release and row["case"] in cases]
        path = home.folder / "results" / "cells" / f"torch-{release}-cpu.parquet"
        writer.write_rows(path, "cells", rows)


def plant(home, release, chosen, **values):
    """Another content in the published row that ``chosen`` is true of; returns the row as it was."""
    path = home.folder / "results" / "cells" / f"torch-{release}-cpu.parquet"
    rows = [row for row in home.rows("results") if row["torch"] == release]
    row = next(row for row in rows if chosen(row))
    before = dict(row)
    row.update(values)
    writer.write_rows(path, "cells", rows)
    return before


def test_what_was_measured_is_what_the_plain_script_finds(published):
    reply = published.caniexport("publish", "--audit", "100000", "--seed", "1")

    cells = len(published.rows("results"))
    assert reply.stdout == f"{cells} of {cells} cells agree, of 2 torch releases (seed 1)\n"
    assert cells > 150
    statuses = {row["status"] for row in published.rows("results")}
    assert {"pass", "fail", "mismatch", "unsupported", "degraded"} <= statuses


def test_a_wrong_row_is_told_with_both_words_and_the_last_audit_is_kept_and_shown(home):
    keep(home, "passes", "fails-at-load", "fails-in-eager", "baked-value")
    passing, _ = (
        plant(home, NEW, lambda row: (row["case"], row["status"]) == ("passes", "pass"), **changes)
        for changes in (
            {"status": "fail", "stage": "run"},
            {"status": "fail", "stage": "run", "unstable": ["fail", "pass"]},
        )
    )
    failing = plant(home, NEW, lambda row: row["case"] == "fails-at-load", status="pass", stage="done")
    said = plant(home, OLD, lambda row: row["case"] == "fails-in-eager", message_id=passing["message_id"])
    lost = [{**row, "torch": "93.0.0"} for row in home.rows("results") if row["torch"] == NEW][:5]
    writer.write_rows(home.folder / "results" / "cells" / "torch-93.0.0-cpu.parquet", "cells", lost)

    reply = home.caniexport("publish", "--audit", "100000", "--seed", "7", "--save", code=1)

    told = re.findall(r"^(\S+)\n  published  (.*)\n  found      (.*)$", reply.stdout, re.MULTILINE)
    found = {cell.split("/")[1]: (published, again) for cell, published, again in told}
    assert found.keys() == {passing["case"], failing["case"], said["case"]}
    assert len(told) == 3, "a row that says itself that it varies is no difference"
    assert found["passes"] == ("fail at run", "pass")
    assert found["fails-at-load"][0].startswith("pass (")
    assert found["fails-at-load"][1].startswith("fail at load (")
    assert found["fails-in-eager"] == (
        "fail at eager",
        "fail at eager (ValueError: expected at least 3 features, got 2)",
    )
    assert "torch 93.0.0: not audited: no environment: " in reply.stdout
    assert "cells agree, of 2 torch releases (seed 7)" in reply.stdout

    dataset = Dataset.open(home.folder / "results", None)
    kept = saved.read_last_audit(dataset)
    assert dataset.problems == ()
    assert digests.find_faults(home.folder / "results") == []
    assert [(row["torch"], row["seed"]) for row in kept] == [(OLD, 7), (NEW, 7), ("93.0.0", 7)]
    assert [row["cells"] - row["agreeing"] for row in kept[:2]] == [1, 2]
    assert kept[2]["agreeing"] == 0, "no cell that was not measured counts as agreeing"
    shown = " ".join(render("audit.html", audit=kept).split())
    agreeing, cells = (sum(row[name] for row in kept) for name in ("agreeing", "cells"))
    assert f"{agreeing:,} of {cells:,} cells of 3 torch releases were as published" in shown
    assert kept[0]["measured_at"].date().isoformat() in shown
    (line,) = [line for line in kept[1]["differing"] if "/passes/" in line]
    assert line.endswith("published fail at run; found pass")
    assert line in shown
    for name in ("MANIFEST", "cells/torch-93.0.0-cpu.parquet"):
        (home.folder / "results" / name).unlink()
    home.caniexport("site", "-o", str(home.folder / "site"))
    assert line in (home.folder / "site" / "runs.html").read_text(encoding="utf-8")
    home.caniexport("publish")
    assert saved.read_last_audit(Dataset.open(home.folder / "results", None)) == kept


def test_a_dataset_without_published_cells_and_a_release_that_nobody_measured_are_worded(published, tmp_path):
    empty = published.copy(tmp_path / "home")
    shutil.rmtree(empty.folder / "results")
    (empty.folder / "results").mkdir()

    assert (
        "no published cells: there is nothing to audit" in empty.caniexport("publish", "--audit", "300", code=2).stderr
    )
    assert "4.5.6" in published.caniexport("publish", "--audit", "300", "--release", "4.5.6", code=2).stderr


HOSTILE = '''
import os, signal, sys, time
import torch
from caniexport.model.case import Case
from caniexport.model.tensors import f32


class _Hostile(Case):
    sources = ("x",)
    inputs = ((f32(2),), (f32(2),))


class Hangs(_Hostile):
    """hangs"""

    def forward(self, x):
        time.sleep(1000008)


class Dies(_Hostile):
    """dies"""

    def forward(self, x):
        os.kill(os.getpid(), signal.SIGSEGV)


class Leaves(_Hostile):
    """leaves"""

    def forward(self, x):
        os._exit(3)


class Forks(_Hostile):
    """forks, and both sides go on"""

    def forward(self, x):
        os.fork()
        return x + x


class Starts(_Hostile):
    """starts a process that stays"""

    def forward(self, x):
        if os.fork() == 0:
            time.sleep(1000009)
        return x + x


class Ends(_Hostile):
    """raises SystemExit"""

    def forward(self, x):
        sys.exit(0)


class Good(_Hostile):
    """adds"""

    def forward(self, x):
        return x + x


class Peeks(_Hostile):
    """imports what measures"""

    def forward(self, x):
        import caniexport.worker.cell
        return x
'''


def test_the_script_outlives_what_a_cell_does_and_leaves_no_process(tmp_path, monkeypatch):
    python = runner.environment(tmp_path, NEW)
    (tmp_path / "hostile.py").write_text(HOSTILE, encoding="utf-8")
    monkeypatch.setenv("CANIEXPORT_TEST_MARK", str(tmp_path))
    names = ["hangs", "good", "dies", "leaves", "forks", "good", "starts", "ends", "peeks", "good"]
    asked = [
        {
            "file": str(tmp_path / "hostile.py"),
            "case": name,
            "variant": "plain",
            "export": "by_torchscript",
            "opset": 9,
        }
        for name in names
    ]

    found = environments.measure_cells(python, asked, tmp_path, 2.0, 2)

    told = [(name, end.stage, end.status, end.kind) for name, end in zip(names, found, strict=True)]
    # which side of a fork comes first is chance
    ends = [end for end in told if end[0] != "forks"]
    assert len(told) == len(names)
    assert ends == [
        ("hangs", "eager", "timeout", "Timeout"),
        ("good", "done", "pass", ""),
        ("dies", "eager", "crash", "SIGSEGV"),
        ("leaves", "eager", "crash", "exit 3"),
        ("good", "done", "pass", ""),
        ("starts", "done", "pass", ""),
        ("ends", "eager", "fail", "SystemExit"),
        ("peeks", "eager", "fail", "ModuleNotFoundError"),
        ("good", "done", "pass", ""),
    ]
    assert runner.processes("CANIEXPORT_TEST_MARK", str(tmp_path)) == []


def cell(torch="2.8.0", exporter="dynamo", status="pass", case="a", stage="done", unstable=()):
    return sample.PublishedCell(torch, case, "plain", exporter, 18, stage, status, None, unstable)


def test_every_status_is_in_a_sample_however_rare_and_so_is_every_release_and_exporter():
    cells = [cell(case=f"case-{number}") for number in range(1000)]
    cells += [cell(torch=torch, exporter=exporter) for torch in ("1.0.1", "2.8.0") for exporter in ("trace", "script")]
    cells += [cell(status=status) for status in ("crash", "mismatch", "fail")]

    drawn = sample.draw_sample(cells, 9, 3)

    assert {item.status for item in drawn} == {"pass", "crash", "mismatch", "fail"}
    assert {(item.torch, item.exporter) for item in drawn} == {(item.torch, item.exporter) for item in cells}
    assert len(drawn) == 9
    assert sample.draw_sample(reversed(cells), 9, 3) == drawn
    assert sample.draw_sample(cells, 9, 4) != drawn
    assert len(sample.draw_sample(cells, 5000, 4)) == len(cells)


VALUES = "input set 1, output 0: 3 of 4 values differ, most at"
MEMORY = "output 0: it is the memory of input x, and goes with it"
CAUSED = "A: outer\ncaused by B: the reason"
CUT = "B: " + "x" * 3000 + "\n…\n" + "tail" * 30
SAME = [
    (
        "fail",
        "E: no rule for /home/a/c.py at 0x…",
        ScriptOutcome("run", "fail", "E", "no rule for c.py at 0xffff12"),
        True,
    ),
    ("fail", CAUSED, ScriptOutcome("run", "fail", "B", "the reason"), True),
    ("fail", CAUSED, ScriptOutcome("run", "fail", "B", "another reason"), False),
    ("fail", "B: the reason", ScriptOutcome("run", "fail", "C", "the reason"), False),
    (
        "fail",
        "E: no rule\n\nat cases/a.py(7): forward",
        ScriptOutcome("run", "fail", "E", "no rule\n\nat plain.py(9): called"),
        True,
    ),
    ("fail", CUT, ScriptOutcome("run", "fail", "B", "y" * 9000 + "tail" * 30), True),
    ("mismatch", VALUES, ScriptOutcome("run", "mismatch", "", VALUES), True),
    ("mismatch", VALUES, ScriptOutcome("run", "mismatch", "", "output 0: shape [1] expected"), False),
    ("mismatch", MEMORY, ScriptOutcome("run", "mismatch", "", MEMORY), True),
    ("crash", "ended by SIGABRT", ScriptOutcome("run", "crash", "SIGSEGV"), False),
    ("pass", "", ScriptOutcome("run", "pass"), True),
    ("pass", "", ScriptOutcome("load", "pass"), False),
    ("pass", "", ScriptOutcome("run", "fail", "B", "c"), False),
]


@pytest.mark.parametrize(("status", "text", "found", "same"), SAME)
def test_stage_status_and_the_words_of_the_innermost_cause_are_compared(status, text, found, same):
    assert (judge.find_difference(cell(stage="run", status=status), text, found) is None) == same
