"""Traps that systems of this kind fell into, those that no other test file holds."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from small_dataset import append, cell, environment, write

from caniexport.alerts import expectations
from caniexport.answers.filters import Filters
from caniexport.answers.table import answer_table
from caniexport.store import Dataset
from caniexport.store.views import Views

TESTS = Path(__file__).resolve().parent
TORCH = "2.8.0"


def test_two_identical_runs_on_two_days_are_two_entries(tmp_path):
    write(tmp_path, (TORCH,))
    again = {**environment(TORCH), "run_id": "run-tomorrow", "measured_at": "2026-11-21T10:00:00Z"}
    append(tmp_path, environments=[again])

    found = Dataset.open(None, tmp_path).records("environments")
    assert sorted(row["run_id"] for row in found) == [f"run-{TORCH}", "run-tomorrow"]


def test_a_case_that_is_expected_to_crash_and_passes_is_reported(tmp_path):
    """Expectations are read by `alerts` only: nothing that is expected is ever left out of a measurement."""
    write(tmp_path / "results", (TORCH,))
    path = tmp_path / "expectations.toml"
    path.write_text('[[expect]]\ncase = "cross"\nallowed = ["crash"]\nreason = "x"\nreview = 2999-01-01\n')

    views = Views.of(Dataset.open(tmp_path / "results", None))
    (finding,) = expectations.find_unmet(expectations.read_expectations(path), views, date(2026, 11, 22))
    assert finding.trouble is expectations.Trouble.UNEXPECTED_PASS

    readers = [
        file.name for file in (TESTS.parent / "harness").rglob("*.py") if "expectations" in file.read_text("utf-8")
    ]
    assert not {"plan.py", "measure.py", "plugin.py", "cell.py", "supervisor.py"} & set(readers)


def test_an_answer_about_one_case_does_not_grow_with_the_others(tmp_path):
    from caniexport.answers.plain import to_plain

    small, large = write(tmp_path / "small"), write(tmp_path / "large")
    append(large, *(cell(TORCH, f"other-{n}", "plain", "torchscript-trace", 14) for n in range(200)))

    answers = [
        repr(to_plain(answer_table(Dataset.open(None, path), Filters(cases=("cross",))))) for path in (small, large)
    ]
    assert answers[0] == answers[1]


PACKAGE = "harness/caniexport"
FRONT = ("cli/table.py", "answers/table.py", "pages/views/search.py", "answers/inventory.py")


@pytest.mark.parametrize("name", FRONT)
def test_no_answer_has_a_percentage_over_exporters(name):
    """Passing cells are shown with how many there are (`3/14`), never as one number for an exporter."""
    text = (TESTS.parent / PACKAGE / name).read_text("utf-8")

    assert not re.search(r"\bscore\b|%\}|percent", text)
