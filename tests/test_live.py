"""What the runs page says of a measurement that goes on, from the journals it writes."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from caniexport import home as homes
from caniexport.home import VARIABLE
from caniexport.measure.progress import RowCount, write_plan
from caniexport.pages import live
from caniexport.pages.answered import render_answer
from caniexport.pages.views import runs

NOW = datetime(2026, 11, 22, 1, 10, 0, tzinfo=UTC).timestamp()
RUN = "20261122T010000-ab12"


def said(run):
    return " ".join(runs.render_progress([run]).split())


def journal(local, name, cells, age):
    """A journal with so many finished cells and one in flight, written to ``age`` seconds ago."""
    path = local / "journal" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text('{"kind": "environment", "row": {}}\n' + '{"kind": "cell", "row": {}}\n' * cells)
    os.utime(path, (NOW - age, NOW - age))


def test_a_run_is_told_with_its_cells_its_rate_and_the_time_left(tmp_path):
    journal(tmp_path, f"torch-2.8.0-cpu-{RUN}-11.jsonl", 400, 30)
    journal(tmp_path, f"torch-2.8.0-cpu-{RUN}-12.jsonl", 200, 2)

    (run,) = live.find_running(tmp_path, NOW, {"2.8.0": 1200})

    assert (run.torch, run.provider, run.run_id, run.cells) == ("2.8.0", "cpu", RUN, 600)
    assert (run.seconds, run.quiet, run.rate, run.left) == (600, 2, 1.0, 600)
    assert "600 of about 1,200 cells for 10 min, 1 a second, about 10 min left" in " ".join(
        runs.render_progress([run]).split()
    )


def test_without_an_earlier_run_no_time_is_guessed(tmp_path):
    journal(tmp_path, f"torch-2.8.0-cpu-{RUN}-11.jsonl", 60, 1)

    (run,) = live.find_running(tmp_path, NOW, {})

    assert run.left is None
    assert "left" not in said(run)


def test_a_run_that_noted_its_plan_is_held_against_it_and_not_against_an_earlier_one(tmp_path):
    journal(tmp_path, f"torch-2.8.0-cpu-{RUN}-11.jsonl", 600, 1)
    write_plan(tmp_path, "torch2.8.0-cpu", RUN, 2400)

    (run,) = live.find_running(tmp_path, NOW, {"2.8.0": 500})
    assert (run.expected, run.left) == (2400, 1800)

    write_plan(tmp_path, "torch2.8.0-cpu", "20261121T000000-0000", 9)
    (run,) = live.find_running(tmp_path, NOW, {"2.8.0": 500})
    told = said(run)
    assert "600 cells for 10 min" in told
    assert "500" not in told
    assert "<progress" not in told


def test_cells_are_counted_as_they_come_and_a_line_in_flight_is_none(tmp_path):
    name = f"torch-2.8.0-cpu-{RUN}-11.jsonl"
    journal(tmp_path, name, 3, 0)
    path = tmp_path / "journal" / name
    count = RowCount(tmp_path)
    assert count.of(RUN) == 3

    with path.open("a", encoding="utf-8") as file:
        file.write('{"kind": "cell", "row": {}}\n{"kind": "cell", "ro')
    assert count.of(RUN) == 4
    with path.open("a", encoding="utf-8") as file:
        file.write('w": {}}\n')
    assert count.of(RUN) == 5
    assert count.of("20261121T000000-0000") == 0


def test_the_second_measurement_of_a_sample_is_told_as_such(tmp_path):
    journal(tmp_path, f"torch-2.8.0-cpu-{RUN}-11.jsonl", 600, 400)
    again = tmp_path / "again" / "torch2.8.0-cpu"
    again.mkdir(parents=True)
    again.with_name("torch2.8.0-cpu.txt").write_text("\n".join(map(str, range(500))), encoding="utf-8")
    journal(again, f"torch-2.8.0-cpu-{RUN}-again-12.jsonl", 40, 3)

    (run,) = live.find_running(tmp_path, NOW, {"2.8.0": 600})

    assert run.quiet == 3
    assert "a sample is measured a second time: 40 of 500; the last row 3 s ago" in " ".join(
        runs.render_progress([run]).split()
    )


def test_what_earlier_runs_planned_is_that_of_the_largest():
    rows = [environment("2.8.0", planned=1152), environment("2.8.0", planned=12565), environment("2.0.1", planned=None)]

    assert live.planned(rows) == {"2.8.0": 12565}


def test_rows_that_a_measurement_appends_do_not_open_the_dataset_anew_for_every_page(tmp_path, monkeypatch):
    from dashboard import reading

    (tmp_path / "cases").mkdir()
    (tmp_path / "results").mkdir()
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    local = homes.find().local
    local.mkdir()
    journal(local, f"torch-2.8.0-cpu-{RUN}-11.jsonl", 0, 5)
    first = reading.source()
    journal(local, f"torch-2.8.0-cpu-{RUN}-11.jsonl", 0, 1)

    assert reading.source() is first
    reading._journals.clear()  # what its time to live does
    later = reading.source()
    assert later is not first
    assert reading.source() is later, "no row was added"

    (tmp_path / "results" / "claims.parquet").write_bytes(b"")
    assert reading.source() is not later, "a file that was published is seen at once"


def test_a_run_that_was_ended_and_files_of_others_are_not_going_on(tmp_path):
    journal(tmp_path, f"torch-2.8.0-cpu-{RUN}-11.jsonl", 10, 4000)
    journal(tmp_path, "notes.jsonl", 10, 1)

    assert live.find_running(tmp_path, NOW, {}) == []
    assert live.find_running(tmp_path / "nowhere", NOW, {}) == []


def environment(torch, **more):
    return {"torch": torch, "release": torch, "run_id": RUN, "measured_at": None, "gate": "good", **more}


def shown(*rows):
    blank = dict.fromkeys(("packages", "python", "platform", "cpu", "gpu", "rows", "planned"))
    blank |= dict.fromkeys(("torch_build", "repeated", "differing"))
    return runs.environments([{**blank, "origin": "published", "quarantined": False, **row} for row in rows])


def test_the_false_alarm_rate_counts_over_the_runs_that_were_measured_twice():
    said = shown(
        environment("2.0.1", repeated=500, differing=["a/plain/dynamo/18: status"]),
        environment("2.8.0", repeated=500, differing=[]),
        environment("2.9.1", repeated=None, differing=None),
    )

    assert "0.10%, 1 of 1,000 cells of 2 runs" in said.notes[0]
    assert said.tables[1].rows == (("2.0.1", "a/plain/dynamo/18", "status"),)


def test_a_quarantined_run_is_named_with_its_reason():
    said = render_answer(shown(environment("2.0.1", quarantined=True) | {"gate": "canary <failed>"}))

    assert "canary &lt;failed&gt;" in said
    assert "2.0.1" in said
