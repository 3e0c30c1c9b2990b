"""Alerts along torch: what a release made worse than the one before, what became of it, and two runs held together."""

from __future__ import annotations

import re
from datetime import date
from itertools import pairwise
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dashboard_data import HOSTILE, MARKED_ID, RELEASES, build
from drawn_pages import markup, words

from caniexport.alerts import noted
from caniexport.alerts.between import between, runs
from caniexport.alerts.expectations import Expectation
from caniexport.alerts.lifecycle import AlertStage, KnownAlert
from caniexport.alerts.releases import along
from caniexport.corpus.verdicts import Verdict
from caniexport.model.errors import CorpusError, UnknownName
from caniexport.model.status import Status
from caniexport.pages.kept import Kept
from caniexport.pages.site import build as copy
from caniexport.store import Dataset, writer

ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture
def home(tmp_path):
    return build(tmp_path)


def opened(home):
    return Dataset.open(home / "results", None)


def by_case(found):
    return {item.alert.members[0].case: item for item in found.alerts}


def changed(home, torch, **columns):
    """Write the cells file of a release again with other values in whole columns."""
    path = home / "results" / "cells" / writer.cells_file(torch, "cpu")
    table = pq.read_table(path)
    for name, value in columns.items():
        column = pa.array([value] * table.num_rows, table.schema.field(name).type)
        table = table.set_column(table.schema.get_field_index(name), name, column)
    writer.write(path, "cells", table)


def test_an_alert_is_open_while_its_cells_fail_and_resolved_after_two_good_releases(home):
    found = by_case(along(opened(home)))

    crash, marked = found["roll-negative"], found[MARKED_ID]
    assert set(found) == {"roll-negative", MARKED_ID}
    assert (crash.torch, crash.before, crash.state, crash.resolved) == ("2.0.1", "1.10.2", AlertStage.OPEN, None)
    assert crash.alert.kind == "regressed-crash"
    assert crash.opened.startswith("2026-11-20")
    assert (marked.state, marked.resolved, marked.text) == (AlertStage.RESOLVED, "2.8.0", HOSTILE)


def test_one_good_release_is_not_enough(home):
    (home / "results" / "cells" / writer.cells_file("2.15.0", "cpu")).unlink()

    item = by_case(along(opened(home)))[MARKED_ID]

    assert (item.state, item.resolved, item.good) == (AlertStage.OPEN, None, "2.8.0")


def test_every_cell_of_both_releases_is_in_the_counts(home):
    found = along(opened(home))

    for step in found.steps:
        assert sum(step.counts.values()) > 0
        assert set(step.counts) == set(Verdict)
    assert [(step.before, step.torch) for step in found.steps] == [*pairwise(RELEASES)][::-1]
    assert found.counts[Verdict.REGRESSED_CRASH] == 2  # traced, and the default call
    assert found.counts[Verdict.REGRESSED] == 2


def test_the_opset_is_named_where_the_new_release_still_works_at_the_old_one(home):
    # 2.0.1 takes opset 14 by itself, 1.10.2 opset 9: cells at 9 are made good
    path = home / "results" / "cells" / writer.cells_file("2.0.1", "cpu")
    rows = pq.read_table(path).to_pylist()
    for row in rows:
        if row["case"] == "roll-negative" and row["opset"] == 9:
            row.update(status="pass", stage="done", signature=None, message_id=None)
    writer.write(path, "cells", pa.Table.from_pylist(rows, schema=pq.read_schema(path)))

    assert "opset 9 → 14" in by_case(along(opened(home)))["roll-negative"].by


def test_another_run_of_the_same_gives_the_same_alerts(home):
    before = {item.alert.id for item in along(opened(home)).alerts}
    changed(home, "2.0.1", run_id="20261121T120000-again")

    assert {item.alert.id for item in along(opened(home)).alerts} == before


def test_what_people_noted_is_kept_and_what_is_expected_is_left_out(home):
    alert = by_case(along(opened(home)))["roll-negative"].alert
    known = KnownAlert(
        alert.id, alert.kind, alert.cause, AlertStage.ACKNOWLEDGED, date(2026, 11, 21), (), "being looked at"
    )
    expected = Expectation(1, MARKED_ID.replace("[", "[[]") + "/*", frozenset({Status.FAIL}), "known", date(2030, 1, 1))

    found = along(opened(home), (expected,), (known,))

    assert [(item.state, item.note) for item in found.alerts] == [(AlertStage.ACKNOWLEDGED, "being looked at")]
    assert found.expected == 2


def test_a_file_of_people_that_cannot_be_read_is_named(home):
    (home / "alerts.toml").write_text("[[alert]]\nid = 1")

    with pytest.raises(CorpusError, match=r"alerts\.toml"):
        noted.read(home)


def test_two_runs_are_compared_at_every_opset(home):
    found = between(opened(home), "1.10.2", "2.0.1")

    assert sum(found.counts.values()) >= found.after.cells
    kinds = {alert.members[0].case: alert.kind.value for alert in found.changes if alert.members[0].variant == "plain"}
    assert kinds["roll-negative"] == "regressed-crash"
    assert "cross-no-symbolic" in kinds


def test_the_runs_of_a_release_stand_beside_the_whole_where_there_are_several(home):
    assert list(runs(opened(home))) == list(reversed(RELEASES))
    path = home / "results" / "cells" / writer.cells_file("2.8.0", "cpu")
    rows = pq.read_table(path).to_pylist()
    for row in rows[:10]:
        row["run_id"] = "20261121T120000-later"
    writer.write(path, "cells", pa.Table.from_pylist(rows, schema=pq.read_schema(path)))

    known = runs(opened(home))
    found = between(opened(home), "2.8.0/20261121T120000-later", "2.8.0/20261120T120000-test")

    assert list(known)[1:4] == ["2.8.0", "2.8.0/20261121T120000-later", "2.8.0/20261120T120000-test"]
    assert known["2.8.0/20261121T120000-later"].cells == 10
    assert found.counts[Verdict.UNKNOWN] == 10
    with pytest.raises(UnknownName, match=r"2\.8\.0"):
        between(opened(home), "2.8.1", "2.8.0")


def test_the_feed_has_an_entry_for_each_alert_and_the_same_bytes_twice(home, tmp_path, monkeypatch):
    monkeypatch.setenv("CANIEXPORT_HOME", str(home))
    texts = []
    for name in ("one", "two"):
        copy(Kept.open(home / "results", None), tmp_path / name)
        texts.append((tmp_path / name / "alerts.atom").read_text(encoding="utf-8"))

    feed = ElementTree.fromstring(texts[0])
    found = along(opened(home))
    assert texts[0] == texts[1]
    assert [item.findtext(f"{ATOM}id") for item in feed.findall(f"{ATOM}entry")] == [
        f"urn:caniexport:alert:{item.alert.id}" for item in found.alerts
    ]
    assert HOSTILE not in (tmp_path / "one" / "alerts.html").read_text(encoding="utf-8")
    page = (tmp_path / "one" / "alerts.html").read_text(encoding="utf-8")
    assert set(re.findall(r'id="?alert-([\w-]+)', page)) >= {item.alert.id for item in found.alerts}


def test_the_page_shows_open_alerts_first_and_the_others_when_asked(draw):
    said = words(draw("alerts"))
    assert "roll-negative/plain" in said
    assert f"{MARKED_ID}/fix" not in said
    assert "killed by SIGSEGV" in said
    assert "1 thing is still worse: all came with torch 2.0.1. With the 1 that was mended since: all came" in said
    assert said.index("still worse") < said.index("Hidden by «State»: 1 resolved") < said.index("roll-negative/plain")

    resolved = words(draw("alerts", state="resolved"))
    assert f"{MARKED_ID}/fix" in resolved
    assert "since 2.8.0" in resolved
    assert "roll-negative/plain" not in resolved


def test_a_dataset_in_which_nothing_got_worse_says_so_with_every_class(tmp_path, monkeypatch, draw):
    home = build(tmp_path)
    for torch in RELEASES[:-2]:
        (home / "results" / "cells" / writer.cells_file(torch, "cpu")).unlink()
    monkeypatch.setenv("CANIEXPORT_HOME", str(home))

    app = draw("alerts")

    assert "nothing got worse" in words(app)
    cells = sum(along(opened(home)).counts.values())
    assert f"{cells} cells compared" in words(app)
    assert 'class="none"' in markup(app)


def test_the_runs_page_tells_what_differs_between_two_runs(draw):
    said = words(draw("runs", before="1.10.2", after="2.0.1"))

    assert "What differs between two runs" in said
    assert "roll-negative/plain" in said
    assert "crashes" in said
