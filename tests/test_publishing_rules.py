"""The rules for publishing: a new row that breaks one is held back and named, a published one is named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from store_rows import cell, environment, write_cells
from test_publish import CASE, Home

from caniexport.gate.rules import read_rules
from caniexport.gate.staging import Staging
from caniexport.model import corpus
from caniexport.model.rows import RUNS
from caniexport.publish.publish import publish
from caniexport.store import Dataset, writer

SENTENCES = {name: rule.sentence for name, rule in read_rules().items()}
BUNDLE = "b" * 24
NAMED = {"opset_effective": 9, "exporter_effective": "torchscript-trace"}
FAILED = {"status": "fail", "stage": "load", "signature": "load|Fail|x"}
SETTLED = {"apart": True, "attempts": 2}
#: the bare call of 1.10.2, which writes opset 9
DEFAULT = {"exporter": "default", "opset": None, **NAMED}
#: the same where the release writes by dynamo
BY_DYNAMO = {"torch": "2.8.0", "exporter_effective": "dynamo", "opset_effective": 18}
DYNAMO = {**BY_DYNAMO, "exporter": "dynamo", "opset": 18}
DYNAMIC = CASE.replace('    sources = ("seed:000",)', '    sources = ("seed:000",)\n    dynamic = {"x": {0: "n"}}')
#: a variant whose session has options of its own
WITH_OPTIONS = CASE.replace(
    "    newer = fix(",
    '    plainly = fix("runtime-option", "o", session={"graph_optimization_level": 0})\n    newer = fix(',
)


@pytest.fixture
def home(tmp_path):
    """A folder with a corpus; ``publish`` promotes its local rows."""
    return Home(tmp_path)


def replay(**changes):
    """A run of the file of a cell on the runtime of the cell."""
    row = {name.name: value for name in RUNS if (value := cell().get(name.name)) is not None}
    return {**row, "bundle": BUNDLE, "device": "cpu", "run_id": "replays", **changes}


def write_replays(folder, *rows, gate="good", run="replays"):
    """Replays of a run as files of a dataset, beside the environments that it has."""
    (folder / "MANIFEST").unlink(missing_ok=True)
    writer.write_rows(folder / "runs" / "onnxruntime-cpu.parquet", "runs", rows)
    path = folder / "environments.parquet"
    known = [row for row in Dataset.open(folder, None).records("environments") if row["run_id"] != run]
    writer.write_rows(path, "environments", [*known, environment(run_id=run, gate=gate)])


def bare(home, **changes):
    return home.cell(**{**DEFAULT, **changes})


def named(home, **changes):
    return home.cell(**{"opset": 9, **NAMED, **changes})


@pytest.mark.parametrize(
    ("default_call", "named_call", "text", "held"),
    [
        (FAILED, {}, CASE, True),
        ({}, FAILED, CASE, True),
        ({"status": "fail", "stage": "export", "exporter_effective": None, "opset_effective": None}, {}, CASE, True),
        ({"status": "pass"}, {"status": "degraded"}, CASE, False),
        ({"unstable": ["fail", "pass"], **FAILED}, SETTLED, CASE, False),
        ({"runtime_version": "1.0.0", **FAILED}, {}, CASE, False),
        ({"opset_effective": 11, **FAILED}, {}, CASE, False),
        (BY_DYNAMO | FAILED, DYNAMO, CASE, True),
        (BY_DYNAMO | FAILED, DYNAMO, DYNAMIC, False),
        (FAILED, {}, DYNAMIC, True),
    ],
)
def test_a_default_call_that_ends_otherwise_than_the_named_call_is_held_back(
    home, default_call, named_call, text, held
):
    home.write_corpus(text)
    others = [bare(home, variant="rewrite")]
    home.measure(bare(home, **default_call), named(home, **named_call), *others)

    report = home.publish()

    torch, name = ("2.8.0", "dynamo/18") if named_call is DYNAMO else ("1.10.2", "torchscript-trace/9")
    both = [f"{torch}/cross-no-symbolic/plain/{call}" for call in ("default/default", name)]
    assert {reason: sorted(names) for reason, names in report.held.items()} == (
        {SENTENCES["default-call"]: both} if held else {}
    )
    assert len(home.answers().cells()) == (1 if held else 3)


@pytest.mark.parametrize(
    ("stage", "attempts", "held"),
    [
        ("check", 2, True),
        ("eager", 1, True),
        ("eager", 2, False),
        ("export", 1, False),
        ("load", 1, False),
        ("run", 1, False),
    ],
)
def test_a_crash_that_is_neither_the_exporters_nor_the_runtimes_is_held_back(home, stage, attempts, held):
    crash = home.cell(status="crash", stage=stage, signature=f"{stage}|SIGSEGV", attempts=attempts)
    home.measure(crash, home.cell(opset=9))

    report = home.publish()

    name = "1.10.2/cross-no-symbolic/plain/torchscript-trace/14"
    assert report.held == ({SENTENCES["crash-stage"]: [name]} if held else {})
    assert len(home.answers().cells()) == (1 if held else 2)


def test_a_published_cell_without_a_verdict_on_its_run_is_named_and_stays(home):
    home.measure(home.cell())
    home.publish()
    write_cells(home.published, [home.cell(torch="2.0.1", run_id="gone")])
    (home.published / "MANIFEST").unlink()

    report = publish(home.local.with_name("empty"), home.published, home.corpus)

    assert report.doubtful == {SENTENCES["no-gate"]: ["2.0.1/cross-no-symbolic/plain/torchscript-trace/14"]}
    assert report.is_whole
    assert len(home.answers().cells()) == 2


@pytest.mark.parametrize(
    ("mine", "theirs", "held"),
    [
        ({"status": "fail", "stage": "check"}, {}, True),
        (FAILED, {"status": "mismatch", "stage": "compare"}, True),
        ({"status": "degraded"}, {}, False),
        ({"status": "fail", "stage": "check"}, {"runtime_version": "1.20.0"}, False),
        ({"status": "fail", "stage": "check"}, {"provider": "cuda"}, False),
        ({"status": "fail", "stage": "check"}, {"bundle": "c" * 24}, False),
        ({"status": "fail", "stage": "check"}, {"session": "{}"}, False),
        ({"status": "fail", "stage": "check", "variant": "plainly"}, {"session": "{}"}, True),
        ({"status": "fail", "stage": "check", "unstable": ["fail", "pass"]}, {}, False),
    ],
)
def test_a_cell_that_ends_otherwise_than_its_own_files_replay_is_held_back(home, mine, theirs, held):
    home.write_corpus(WITH_OPTIONS)
    write_replays(home.published, replay(**theirs))
    row = home.cell(bundle=BUNDLE, **mine)
    home.measure(row, home.cell(opset=9, **SETTLED))

    report = home.publish()

    name = f"1.10.2/cross-no-symbolic/{row['variant']}/torchscript-trace/14"
    assert report.held == ({SENTENCES["own-replay"]: [name]} if held else {})


def test_a_replay_that_ends_otherwise_than_a_published_cell_is_held_back_by_name(home):
    home.measure(home.cell(bundle=BUNDLE, status="fail", stage="load"))
    home.publish()
    write_replays(home.local, replay(status="mismatch", stage="compare"))

    report = home.publish()

    assert report.held == {
        SENTENCES["own-replay"]: [f"cross-no-symbolic/plain (file {BUNDLE}) on onnxruntime 1.19.2 cpu"]
    }
    assert home.answers().records("runs") == []


def test_a_replay_of_a_file_that_no_cell_has_any_more_goes(home):
    write_cells(home.published, [home.cell(bundle=BUNDLE)])
    write_cells(home.published / "profiles" / "period", [home.cell(bundle="c" * 24)])
    others = [replay(bundle="c" * 24), replay(bundle="d" * 24), replay(bundle="e" * 24, corpus="onnx-node")]
    write_replays(home.published, replay(), *others)
    home.measure(home.cell(variant="rewrite"))

    report = home.publish()

    assert report.dropped == {f"published before, and {SENTENCES['orphan']}": 1}
    assert {row["bundle"][0] for row in home.answers().records("runs")} == {"b", "c", "e"}


def test_a_replay_whose_run_nobody_judged_goes(home):
    write_cells(home.published, [home.cell(bundle=BUNDLE)])
    write_replays(home.published, replay(), gate=None)
    home.measure(home.cell(variant="rewrite"))

    assert home.publish().dropped == {f"published before, and {SENTENCES['unjudged-replay']}": 1}


@pytest.mark.parametrize(("placement", "held"), [(None, 1), ('{"CUDAExecutionProvider": 1}', 0)])
def test_a_replay_on_a_provider_that_ran_no_node_is_held_back(home, placement, held):
    write_cells(home.published, [home.cell(bundle=BUNDLE)])
    write_replays(home.local, replay(provider="cuda", placement=placement))

    assert len(home.publish().held.get(SENTENCES["no-node"], [])) == held


def test_a_cell_of_another_profile_is_compared_with_the_replays_of_newest(home):
    write_replays(home.published, replay())
    home.local, home.published = (folder / "profiles" / "period" for folder in (home.local, home.published))
    home.measure(home.cell(bundle=BUNDLE, status="fail", stage="check"))

    report = home.publish()

    assert list(report.held) == [SENTENCES["own-replay"]]


def test_names_of_bundles_of_either_length_are_the_same_file(home):
    """Older rows have all 64 digits."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    write_replays(home.published, replay())
    path = home.published / "runs" / "onnxruntime-cpu.parquet"
    table = pq.read_table(path)
    column = table.schema.get_field_index("bundle")
    pq.write_table(table.set_column(column, "bundle", pa.array(["b" * 64])), path)
    home.measure(home.cell(bundle="b" * 64, status="fail", stage="check"))

    report = home.publish()

    assert list(report.held) == [SENTENCES["own-replay"]]
    home.measure(home.cell(bundle="b" * 64), run="run-2")
    home.publish()
    (row,) = pq.read_table(home.published / "cells").to_pylist()
    assert row["bundle"] == BUNDLE, "what is written has 24 digits"


def test_published_rows_that_break_a_rule_are_named_until_they_are_measured_again(home):
    write_cells(home.published, [bare(home, **FAILED), named(home)])
    at = "2026-05-01T00:00:00Z"
    home.measure(named(home, variant="rewrite"), run="run-1", at=at)

    report = home.publish()

    assert report.held == {}
    assert report.doubtful == {SENTENCES["default-call"]: ["1.10.2/cross-no-symbolic/plain/default/default"]}
    assert len(home.answers().cells()) == 3

    settled = {"apart": True, "attempts": 2, "measured_at": at}
    home.measure(bare(home, **settled), run="run-2", at=at)
    assert home.publish().doubtful == {}


#: rows of November 2026 that break a rule, by profile: each number may only fall
KNOWN = {"newest": {"unstable": 5}, "period": {"implausible": 1085, "unstable": 2, "own-replay": 2}}
ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.published
@pytest.mark.parametrize("profile", sorted(KNOWN))
def test_no_further_published_row_breaks_a_rule(profile):
    newest = ROOT / "results"
    folder = newest if profile == "newest" else newest / "profiles" / profile
    with Staging.open(folder, folder / "no-local", corpus.load([ROOT / "cases"], stand_in=True)) as staging:
        broken = {rule.name: len(staging.fetch(rule.query)) for rule in read_rules().values()}
        assert {name: count for name, count in broken.items() if count > KNOWN[profile].get(name, 0)} == {}

        # a file that one runtime does not always answer alike is unstable in every row
        marked = staging.fetch("SELECT count(*), count(*) FILTER (len(unstable) < 2) FROM marks")
        known = (
            "SELECT count(unstable) FROM (SELECT unstable FROM every_cells UNION ALL SELECT unstable FROM every_runs)"
        )
        assert profile != "newest" or marked == [(staging.fetch(known)[0][0], 0)]


@pytest.mark.published
def test_publishing_takes_less_than_a_gigabyte(tmp_path):
    """All rows of November 2026 took three."""
    code = (
        "from pathlib import Path; from caniexport.model import corpus\n"
        "from caniexport.publish.publish import publish\n"
        f"cases = corpus.load([Path({str(ROOT / 'cases')!r})], stand_in=True)\n"
        f"publish(Path({str(tmp_path)!r}), Path({str(ROOT / 'results')!r}), cases, write=False)\n"
        # of this program alone: getrusage hands on the peak of the process that started it
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])"
    )

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert int(found.stdout) < 1024 * 1024
