"""What the runs page says of a measurement that goes on, from the journals it writes."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from dashboard import live, runs_html

NOW = datetime(2026, 11, 22, 1, 10, 0, tzinfo=UTC).timestamp()
RUN = "20261122T010000-ab12"


def journal(local, name, cells, age):
    """A journal with so many finished cells and one in flight, written to ``age`` seconds ago."""
    path = local / "journal" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text('{"kind": "environment", "row": {}}\n' + '{"kind": "cell", "row": {}}\n' * cells)
    os.utime(path, (NOW - age, NOW - age))


def test_a_run_is_told_with_its_cells_its_rate_and_the_time_left(tmp_path):
    journal(tmp_path, f"torch-2.8.0-cpu-{RUN}-11.jsonl", 400, 30)
    journal(tmp_path, f"torch-2.8.0-cpu-{RUN}-12.jsonl", 200, 2)

    (run,) = live.going(tmp_path, NOW, {"2.8.0": 1200})

    assert (run.torch, run.provider, run.run_id, run.cells) == ("2.8.0", "cpu", RUN, 600)
    assert (run.seconds, run.quiet, run.rate, run.left) == (600, 2, 1.0, 600)
    assert "600 of about 1,200 cells, 1 a second, about 10 min left" in runs_html.progress([run])


def test_without_an_earlier_run_no_time_is_guessed(tmp_path):
    journal(tmp_path, f"torch-2.8.0-cpu-{RUN}-11.jsonl", 60, 1)

    (run,) = live.going(tmp_path, NOW, {})

    assert run.left is None
    assert "left" not in runs_html.progress([run])


def test_a_run_that_was_ended_and_files_of_others_are_not_going_on(tmp_path):
    journal(tmp_path, f"torch-2.8.0-cpu-{RUN}-11.jsonl", 10, 4000)
    journal(tmp_path, "notes.jsonl", 10, 1)

    assert live.going(tmp_path, NOW, {}) == []
    assert live.going(tmp_path / "nowhere", NOW, {}) == []


def environment(torch, **more):
    return {"torch": torch, "release": torch, "run_id": RUN, "measured_at": None, "gate": "good", **more}


def test_the_false_alarm_rate_counts_over_the_runs_that_were_measured_twice():
    rows = [
        environment("2.0.1", repeated=500, differing=["a/plain/dynamo/18: status"]),
        environment("2.8.0", repeated=500, differing=[]),
        environment("2.9.1", repeated=None, differing=None),
    ]

    said = runs_html.repeats(rows)

    assert "0.10%" in said
    assert "1 of 1,000 cells of 2 runs" in said
    assert "a/plain/dynamo/18</th><td><div>status</div>" in said


def test_a_quarantined_run_is_named_with_its_reason():
    said = runs_html.quarantined([environment("2.0.1", quarantined=True) | {"gate": "canary <failed>"}])

    assert "canary &lt;failed&gt;" in said
    assert "2.0.1" in said
