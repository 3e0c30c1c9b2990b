"""The traps that systems of this kind fell into: each has a test that would fail if we fell in too.

``TRAPS`` names them; those that no other test file holds are here.
"""

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

#: trap, and the tests that hold it (file::test)
TRAPS: dict[str, tuple[str, ...]] = {
    "a whole-run failure shown as 0 %": (
        "test_gate::test_one_signature_before_the_case_may_not_explain_more_than_half_of_the_failures",
        "test_publish::test_a_run_that_is_quarantined_or_was_never_judged_is_left_out_with_the_reason",
    ),
    "a crash is missing from the results": ("test_isolation::test_rows_are_the_planned_cells_exactly",),
    "a row is lost when the process dies": (
        "test_isolation::test_a_faulty_cell_has_its_own_row_that_says_what_happened",
        "test_isolation::test_after_kill_9_the_next_run_does_only_what_is_missing",
    ),
    "a removed or new test is a regression": (
        "test_alerts::test_a_case_that_is_new_removed_or_changed_is_never_an_alert",
    ),
    "a changed test is compared with its old self": (
        "test_verdicts::test_cells_of_different_code_are_not_compared",
        "test_casehash::test_words_and_layout_change_no_hash",
    ),
    "the second side is retried and the first is not": ("test_verdicts::test_swapping_the_sides_mirrors_the_verdict",),
    "spurious volume is hidden": ("test_alerts::test_the_same_rows_are_no_news_and_every_cell_is_counted",),
    "an order of stages calls silently wrong a progress": (
        "test_verdicts::test_a_clean_failure_that_becomes_wrong_numbers_is_a_silent_regression_and_no_progress",
        "test_alerts::test_wrong_numbers_are_worse_also_where_it_failed_before",
    ),
    "an option is parsed and has no effect": (
        "test_worker_units::test_changing_the_tolerance_flips_a_borderline_case_and_is_in_the_result",
    ),
    "names differ between writer and reader": (
        "test_store::test_every_word_of_a_cell_comes_back_from_the_dataset_as_it_was_measured",
    ),
    "an equal entry overwrites the one of another day": (
        "test_traps::test_two_identical_runs_on_two_days_are_two_entries",
    ),
    "unmeasured looks measured": ("test_table::test_a_place_that_was_not_measured_says_so_and_inherits_nothing",),
    "an unknown version is read as unsupported": (
        "test_gaps::test_a_case_along_torch_invents_no_change",
        "test_workaround::test_a_release_that_was_not_measured_neither_ends_nor_begins_a_span",
    ),
    "a removal is never questioned again": (
        "test_workaround::test_a_rewrite_is_needed_before_and_obsolete_since_the_release_that_works",
        "test_alerts::test_an_acknowledged_alert_stops_nothing_and_is_resolved_by_two_good_measurements",
    ),
    "known crashers never run again": ("test_traps::test_a_case_that_is_expected_to_crash_and_passes_is_reported",),
    "a page of 287 MB": (
        "test_traps::test_an_answer_about_one_case_does_not_grow_with_the_others",
        "test_site::test_the_tables_are_there_as_files_for_other_tools",
    ),
    "pre-release versions compare wrongly": (
        "test_verdicts::test_versions_of_every_kind_are_ordered_as_they_were_released",
        "test_verdicts::test_a_release_comes_after_its_own_candidates_and_nightlies",
    ),
    "the requested provider is silently absent": (
        "test_gate::test_a_provider_that_silently_fell_back_on_every_canary_was_not_there",
    ),
    "a re-exported model hides a change of the runtime": (
        "test_runs::test_an_archive_has_each_file_once_with_the_cells_that_it_stands_for",
    ),
    "the expectations drift": (
        "test_alerts::test_an_entry_that_passes_or_speaks_of_nothing_fails_the_check",
        "test_alerts::test_an_entry_past_its_review_date_fails_the_check",
    ),
    "a timeout kills the run": (
        "test_isolation::test_every_other_row_is_what_it_is_without_the_faulty_cells",
        "test_isolation::test_what_may_come_from_the_machine_was_tried_again_and_nothing_else_was",
    ),
    "a second run gives new alerts": ("test_alerts::test_a_second_run_has_the_same_ids_and_no_new_alert",),
    "an overall score invites unfair ranking": ("test_traps::test_no_answer_has_a_percentage_over_exporters",),
    "a clock that jumped wins for ever": (
        "test_query::test_a_local_row_of_the_future_does_not_hide_what_is_measured_now",
    ),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_every_trap_has_a_test_that_is_there(trap):
    for name in TRAPS[trap]:
        file, _, test = name.partition("::")
        path = TESTS / f"{file}.py"
        assert path.is_file(), name
        assert re.search(rf"^def {test}\(", path.read_text(encoding="utf-8"), re.M), name


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
