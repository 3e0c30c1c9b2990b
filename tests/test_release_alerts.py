"""Alerts along torch: what a release made worse than the one before, what became of it, and two runs held together."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from datetime import date
from itertools import pairwise
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from dashboard_data import HOSTILE, MARKED_ID, RELEASES, build
from drawn_pages import words

from caniexport.alerts import known
from caniexport.alerts.alert import AlertStage
from caniexport.alerts.comparison import compare_runs, list_runs
from caniexport.alerts.expectations import Expectation
from caniexport.alerts.releases import compare_releases
from caniexport.cli import main
from caniexport.corpus.verdicts import Verdict
from caniexport.model.errors import CorpusError, UnknownName
from caniexport.model.status import Status
from caniexport.pages.kept import Kept
from caniexport.pages.page import page
from caniexport.pages.views import alerts
from caniexport.store import Dataset, writer

LESS_MEASURED = "Nothing that is still measured is worse: 3 cells not measured now."
ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return build(tmp_path_factory.mktemp("releases"))


@pytest.fixture
def home(made, tmp_path):
    return shutil.copytree(made, tmp_path / "home")


def opened(home):
    return Dataset.open(home / "results", None)


def by_case(found):
    return {item.changes[0].place.case: item for item in found.alerts}


def changed(home, torch, change):
    """Write the cells file of a release again with its rows changed in place."""
    path = home / "results" / "cells" / writer.cells_file(torch, "cpu")
    rows = pq.read_table(path).to_pylist()
    change(rows)
    writer.write_rows(path, "cells", rows)


def test_an_alert_is_open_while_its_cells_fail_and_resolved_after_two_good_releases(home):
    found = by_case(compare_releases(opened(home)))

    crash, marked = found["roll-negative"], found[MARKED_ID]
    assert set(found) == {"roll-negative", MARKED_ID}
    assert (crash.torch, crash.stage, crash.since) == ("2.0.1", AlertStage.OPEN, "")
    assert crash.kind == "regressed-crash"
    assert (marked.stage, marked.since, marked.text) == (AlertStage.RESOLVED, "2.8.0", HOSTILE)
    (home / "results" / "cells" / writer.cells_file("2.15.0", "cpu")).unlink()  # one good release is not enough
    marked = by_case(compare_releases(opened(home)))[MARKED_ID]
    assert (marked.stage, marked.since) == (AlertStage.OPEN, "")


def test_every_cell_of_both_releases_is_in_the_counts(home):
    found = compare_releases(opened(home))

    assert [(step.before, step.torch) for step in found.steps] == [*pairwise(RELEASES)][::-1]
    assert all(sum(step.counts.values()) > 0 for step in found.steps)
    assert all(step.opened.startswith("2026-11-20") for step in found.steps)
    assert found.steps[-1].counts[Verdict.REGRESSED_CRASH] == 2  # traced, and the default call
    assert found.steps[-1].counts[Verdict.REGRESSED] == 2


def test_the_opset_is_named_where_the_new_release_still_works_at_the_old_one(home):
    # 2.0.1 takes opset 14 by itself, 1.10.2 opset 9: cells at 9 are made good
    def mend(rows):
        for row in rows:
            if row["case"] == "roll-negative" and row["opset"] == 9:
                row.update(status="pass", stage="done", signature=None, message_id=None)

    changed(home, "2.0.1", mend)

    assert "opset 9 → 14" in by_case(compare_releases(opened(home)))["roll-negative"].by


def test_what_people_noted_is_kept_and_what_is_expected_is_left_out(home):
    alert = by_case(compare_releases(opened(home)))["roll-negative"]
    noted = replace(alert, stage=AlertStage.ACKNOWLEDGED, note="being looked at")
    expected = Expectation(1, MARKED_ID.replace("[", "[[]") + "/*", frozenset({Status.FAIL}), "known", date(2030, 1, 1))

    found = compare_releases(opened(home), (expected,), (noted,))

    assert [(item.stage, item.note) for item in found.alerts] == [(AlertStage.ACKNOWLEDGED, "being looked at")]
    assert found.expected == 2


def test_a_file_of_people_that_cannot_be_read_is_named(home):
    (home / "alerts.toml").write_text("[[alert]]\nid = 1")

    with pytest.raises(CorpusError, match=r"alerts\.toml"):
        known.read_states(home / "alerts.toml")


def test_two_runs_are_compared_at_every_opset(home):
    found = compare_runs(opened(home), "1.10.2", "2.0.1")

    assert sum(found.counts.values()) == len({*_keys(home, "1.10.2"), *_keys(home, "2.0.1")})
    kinds = {alert.changes[0].place: alert.kind.value for alert in found.alerts}
    plain = {place.case: kind for place, kind in kinds.items() if place.variant == "plain"}
    assert plain["roll-negative"] == "regressed-crash"
    assert "cross-no-symbolic" in plain


def _keys(home, torch):
    """Case, variant, exporter and opset of the cells of a release that are compared."""
    rows = pq.read_table(home / "results" / "cells" / writer.cells_file(torch, "cpu")).to_pylist()
    return {
        (row["case"], row["variant"], row["exporter"], row["opset"]) for row in rows if row["variant"] != "exchanged"
    }


def test_the_runs_of_a_release_stand_beside_the_whole_where_there_are_several(home):
    assert list(list_runs(opened(home))) == list(reversed(RELEASES))
    before = {item.id for item in compare_releases(opened(home)).alerts}
    changed(home, "2.8.0", lambda rows: [row.update(run_id="20261121T120000-later") for row in rows[:10]])

    told = list_runs(opened(home))
    found = compare_runs(opened(home), "2.8.0/20261121T120000-later", "2.8.0/20261120T120000-test")

    assert list(told)[1:4] == ["2.8.0", "2.8.0/20261121T120000-later", "2.8.0/20261120T120000-test"]
    assert told["2.8.0/20261121T120000-later"][2] == 10
    assert found.counts[Verdict.UNKNOWN] == 10
    assert {item.id for item in compare_releases(opened(home)).alerts} == before
    with pytest.raises(UnknownName, match=r"2\.8\.0"):
        compare_runs(opened(home), "2.8.1", "2.8.0")


def test_the_feed_has_an_entry_for_each_alert_and_the_same_bytes_twice(home, monkeypatch):
    monkeypatch.setenv("CANIEXPORT_HOME", str(home))
    texts = [alerts.feed(Kept.open(home / "results", None)) for _ in range(2)]

    ids = [item.findtext(f"{ATOM}id") for item in ElementTree.fromstring(texts[0]).findall(f"{ATOM}entry")]
    assert texts[0] == texts[1]
    assert ids == [f"urn:caniexport:alert:{item.id}" for item in compare_releases(opened(home)).alerts] != []
    assert HOSTILE not in str(page("alerts", {}, Kept.open(home / "results", None), whole=True).body)


def test_a_release_against_the_one_before_is_asked_by_its_name(home, monkeypatch):
    monkeypatch.setenv("CANIEXPORT_HOME", str(home))

    broken, fine, both = (CliRunner().invoke(main, ["alerts", "--torch", torch]) for torch in ("2.0", "2.8.0", "all"))

    assert (broken.exit_code, broken.output.splitlines()[0]) == (1, "1 new regression in torch 2.0.1: roll-negative.")
    assert (fine.exit_code, fine.output.splitlines()[0]) == (0, "Nothing is worse in torch 2.8.0 than in 2.0.1.")
    # one case was measured in 2.8.0 alone
    assert (both.exit_code, both.output.splitlines()[0]) == (0, LESS_MEASURED)
    assert "roll-negative" in both.output.split("regressions that are still open")[1]
    assert CliRunner().invoke(main, ["alerts", "--torch", "2.0", "--save"]).exit_code == 2


def test_the_page_shows_what_is_open_then_what_was_resolved(draw):
    said = words(draw("alerts"))

    assert LESS_MEASURED in said
    assert "Still open, by release: 2.0.1 (1)." in said
    assert said.index("still open") < said.index("roll-negative") < said.index("resolved") < said.index(MARKED_ID)
    assert "killed by SIGSEGV" in said


def test_filters_that_hide_every_alert_are_no_all_clear(draw):
    said = words(draw("alerts", torch="2.0.1", q="of this name is nothing"))

    assert "No new regression in torch 2.0.1 matches of, this, name, is, nothing" in said
    assert "Nothing is worse" not in said


def test_the_runs_page_tells_what_differs_between_two_runs(draw):
    said = words(draw("runs", before="1.10.2", after="2.0.1"))

    assert "What differs between two runs" in said
    assert re.search(r"new regressions? in torch 2\.0\.1: .*roll-negative", said)
    assert "pass → crash" in said
