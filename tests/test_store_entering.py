"""What enters a dataset: one bad row is named with its file and line, and stops neither a command nor another row."""

from __future__ import annotations

import json
import os
import random
import zipfile

import pytest
from click.testing import CliRunner
from store_rows import cell, environment, write_journal

from caniexport.cli import main
from caniexport.model import corpus
from caniexport.model.errors import CorpusError, StoreError
from caniexport.model.journal import Journal
from caniexport.runner.archive import Archive, ArchiveEntry, UnusableArchive
from caniexport.store import Dataset, compact, writer
from caniexport.store.journal_reader import read_journal
from caniexport.store.schema import columns

RUN = {
    **{name: value for name, value in cell().items() if name in columns("runs")},
    "bundle": "b" * 24,
    "device": "cpu",
    "runtime_version": "1.19.2",
}


def plain(row, kind="cell", messages=None):
    """A line as it was written before lines had checksums, and as others may write it."""
    return json.dumps({"kind": kind, "row": row, "messages": messages or {}}).encode()


def changed(**changes):
    return plain(cell(**changes))


HOSTILE = {
    "a torch that is a path": (changed(torch="../../2.8.0"), "torch is '../../2.8.0'"),
    "a huger opset": (changed(opset=10**30), "opset"),
    "a case with a slash": (changed(case="a/b"), "case is 'a/b'"),
    "a case with a line feed": (changed(case="a\nimport os"), "case is 'a\\nimport os'"),
    "a variant with a quote": (changed(variant='x"""'), "variant is"),
    "a provider that is a path": (changed(provider="/tmp/x"), "provider is '/tmp/x'"),
    "a bundle that is a path": (changed(bundle="../" * 20 + "a" * 4), "bundle is"),
    "a number as text": (changed(opset="14"), "'14' is no value of column opset"),
    "a number that is true": (changed(opset=True), "True is no value of column opset"),
    "a status nobody knows": (changed(status="passed"), "'passed' is no value of column status"),
    "no status": (changed(status=None), "status must not be null"),
    "facts that are no JSON": (changed(facts="{'a': 1}"), "facts is \"{'a': 1}\", which is no JSON object"),
    "a column nobody knows": (changed(**{"colour\n": "red"}), "no column 'colour\\n'"),
    "JSON that is none": (b"{'kind': 'cell'}", "cannot be read"),
    "nothing": (b"", "cannot be read"),
    "a row that is a list": (b'{"kind": "cell", "row": []}', "a row is an object, this is a list"),
    "no row": (b'{"kind": "cell"}', "cannot be read ('row')"),
    "200,000 brackets": (b"[" * 200_000, "recursion depth"),
    "NUL bytes": (b"\0" * 500, "cannot be read"),
    "no UTF-8": (b'{"kind": "\xff\xfe"}', "cannot be read"),
    "a number of 10,000 digits": (
        plain(cell()).replace(b'"opset": 14', b'"opset": ' + b"1" * 10_000),
        "cannot be read",
    ),
    "a message that is a number": (plain(cell(), messages={"m": 7}), "cannot be read"),
    "a run beside the dataset": (plain({**RUN, "runtime": "../../outside"}, "run"), "runtime is '../../outside'"),
    "an exporter without a torch": (changed(torch=None), "a row with an exporter names its torch"),
    "a torch that is no version": (changed(torch="main"), "torch is 'main', which is not a version"),
    "a list that is a text": (changed(unstable="pass"), "'pass' is no value of column unstable"),
    "statuses nobody knows": (changed(unstable=["pass", "maybe"]), "which is not a list of statuses"),
    "a session that is no JSON": (plain({**RUN, "session": "0); import os"}, "run"), "session is"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_bad_line_is_named_with_its_number_and_the_others_are_used(tmp_path, name):
    line, why = HOSTILE[name]
    local = tmp_path / "local"
    path = write_journal(local, [cell(opset=9)], [environment()])
    path.write_bytes(path.read_bytes() + line + b"\n" + plain(cell(opset=10)) + b"\n")

    dataset = Dataset.open(None, local)
    assert dataset.select(("opset",)) == [(9,), (10,)]
    (problem,) = dataset.problems
    assert problem.startswith(f"{path}: line 3 ")
    assert why in problem
    assert len(problem) < 400
    assert "\n" not in problem

    assert compact(local).problems == (problem,)
    assert sorted(Dataset.open(None, local).cells()["opset"]) == [9, 10]
    assert list(tmp_path.iterdir()) == [local]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1e300])
def test_a_number_that_is_none_is_kept_as_null_and_named(tmp_path, value):
    path = write_journal(tmp_path, [cell(max_abs_error=value)])

    dataset = Dataset.open(None, tmp_path)

    assert dataset.select(("max_abs_error", "status")) == [(None, "pass")]
    assert dataset.problems == (f"{path}: line 1: max_abs_error is {value}, which is not a finite number: null",)


def test_half_of_a_surrogate_pair_in_a_text_stops_no_measurement_merge_or_publication(tmp_path):
    # the bytes of a journal that an older caniexport left behind
    row = cell(message_id="m", signature="export|RuntimeError|bad \udcff", ops="Relu\ud800")
    journal = write_journal(tmp_path, [], [environment()])
    journal.write_bytes(journal.read_bytes() + plain(row, messages={"m": "bad \udcff"}) + b"\n")

    assert Dataset.open(None, tmp_path).message("m") == "bad \\udcff"
    assert compact(tmp_path).problems == ()

    after = Dataset.open(None, tmp_path)
    assert after.message("m") == "bad \\udcff"
    assert after.select(("signature", "ops")) == [("export|RuntimeError|bad \\udcff", "Relu\\ud800")]


def test_a_pipe_among_the_journals_is_named_and_stops_nothing(tmp_path):
    write_journal(tmp_path, [cell()])
    os.mkfifo(tmp_path / "journal" / "z.jsonl")

    dataset = Dataset.open(None, tmp_path)
    assert dataset.select(("opset",)) == [(14,)]
    assert dataset.problems == (f"{tmp_path / 'journal' / 'z.jsonl'}: is no file, and cannot be a journal",)


# --- changed bits


@pytest.mark.parametrize("end", [b"", b"\x0b"])
def test_a_last_line_whose_newline_was_lost_is_named_and_not_taken_for_one_in_flight(tmp_path, end):
    path = write_journal(tmp_path, [cell(opset=9), cell(opset=10)])
    path.write_bytes(path.read_bytes()[:-1] + end)

    dataset = Dataset.open(None, tmp_path)
    assert dataset.select(("opset",)) == [(9,)]
    assert "has been changed at its end" in dataset.problems[0]


def test_no_changed_bit_of_a_journal_gives_another_value(tmp_path):
    rows = [cell(opset=opset, seconds_run=0.25, message_id="m", ops="Relu Conv*2") for opset in range(9, 13)]
    path = write_journal(tmp_path, rows, [environment()], {"m": "a text"})
    whole = path.read_bytes()
    before = read_journal(path)
    drawn = random.Random(18)
    named = 0
    for bit in (drawn.randrange(len(whole) * 8) for _ in range(600)):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        found = read_journal(path)
        assert all(row in before.cells for row in found.cells)
        assert all(row in before.environments for row in found.environments)
        assert found.messages in ({}, before.messages)
        same = (found.cells, found.environments) == (before.cells, before.environments)
        assert found.problems or same
        named += bool(found.problems)
    assert named > 590


def test_journals_without_checksums_are_read(tmp_path):
    path = write_journal(tmp_path, [])
    path.write_bytes(plain(cell()) + b"\n")

    assert [row["opset"] for row in read_journal(path).cells] == [14]
    assert read_journal(path).problems == []


@pytest.mark.parametrize("rows", [[["dynamo", "a", []]], [["dynamo"]], 7, [["a", {}, [9]]]])
def test_declared_operators_that_are_none_are_named(tmp_path, rows):
    path = tmp_path / "declared" / "torch-2.8.0.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"release": "2.8.0", "torch": "2.8.0", "onnx": "1.17.0", "rows": rows}))
    dataset = Dataset.open(None, tmp_path)

    assert dataset.records("declared") == []
    assert str(path) in dataset.problems[0]


# --- rows of others


@pytest.fixture
def home(tmp_path, monkeypatch):
    for folder in ("cases", "harness", "results"):
        (tmp_path / "home" / folder).mkdir(parents=True)
    (tmp_path / "home" / "tox.ini").touch()
    monkeypatch.setenv("CANIEXPORT_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_merging_rows_of_others_writes_nothing_beside_the_dataset(home, tmp_path):
    rows = tmp_path / "rows"
    lines = [
        plain(environment(torch=None, run_id="run-1"), "environment"),
        plain({**RUN, "runtime": "../../../outside"}, "run"),
        plain({**RUN, "provider": "/tmp/outside"}, "run"),
        plain({**RUN, "case": "a\n__import__('os')"}, "run"),
        b"[" * 200_000,
        plain({**RUN, "corpus": "probe", "case": "probe-opset", "variant": "opset_9"}, "run"),
    ]
    (rows / "journal").mkdir(parents=True)
    (rows / "journal" / f"{'n' * 240}.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    before = {path for path in tmp_path.rglob("*") if home not in path.parents}

    said = CliRunner().invoke(main, ["bundles", "merge", "--ours", str(rows)])

    assert said.exit_code == 0, said.output
    assert [f"line {number} " in said.stderr for number in range(1, 7)] == [False, True, True, True, True, False]
    assert "onnxruntime 1.19.2 on cpu: 1 pass" in said.stdout
    assert {path for path in tmp_path.rglob("*") if home not in path.parents} == before
    assert [path.name for path in (home / "results-local" / "runs").iterdir()] == ["onnxruntime-cpu.parquet"]


def test_a_row_cannot_name_a_file_elsewhere_however_it_came_in():
    for make in (writer.cells_file, writer.runs_file):
        with pytest.raises(StoreError, match="cannot be the name of a file"):
            make("../../x", "cpu")


GOOD = ArchiveEntry("a" * 24, "probe", "probe-opset", "opset_9")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"bundle": 7}, "7 is no bundle's name"),
        ({"bundle": "../" + "a" * 61}, "is no bundle's name"),
        ({"case": "a\nb"}, "its case is 'a\\nb'"),
        ({"case": "../b"}, "its case is"),
        ({"variant": None}, "its variant is None"),
        ({"corpus": {"a": 1}}, "its corpus is"),
        ({"rtol": "wide"}, "its rtol is 'wide'"),
        ({"rtol": float("nan")}, "its rtol is nan"),
        ({"atol": -1.0}, "its atol is -1.0"),
        ({"options": ["a"]}, "its options are no session options"),
        ({"options": {"a": {"b": 1}}}, "its options are no session options"),
        ({"more": 1}, "unexpected keyword"),
    ],
)
def test_an_archive_whose_entries_are_not_what_they_should_be_is_refused_with_the_reason(tmp_path, changes, why):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", json.dumps({"format": 2, "entries": [{**GOOD._asdict(), **changes}]}))

    with pytest.raises(UnusableArchive) as error:
        Archive(path)

    assert why in str(error.value)
    assert str(path) in str(error.value)


def test_a_manifest_of_200000_brackets_is_no_manifest(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("manifest.json", "[" * 200_000)

    with pytest.raises(UnusableArchive, match="cannot be read"):
        Archive(tmp_path / "a.zip")


@pytest.mark.parametrize("name", ["a/b", "..", "a b", "a\n", '"""'])
def test_a_case_whose_id_is_no_name_is_refused_before_it_is_measured(tmp_path, name):
    path = tmp_path / "mine.py"
    path.write_text(
        "from caniexport.model.case import Case\nfrom caniexport.model.tensors import f32\n\n\n"
        f"class A(Case):\n    'A title.'\n    id = {name!r}\n    sources = ('caniexport',)\n"
        "    inputs = ((f32(2),), (f32(3),))\n\n"
        "    def forward(self, x):\n        return x\n"
    )

    with pytest.raises(CorpusError, match="is no name"):
        corpus.load([path], stand_in=True)


def test_what_the_writer_writes_enters_as_it_was_written(tmp_path):
    with Journal(tmp_path / "journal", "a") as journal:
        journal.cell(cell(case="größe", ops="Relu"), {"m": "ein Text ✓"})

    found = read_journal(journal.path)

    assert (found.cells[0]["case"], found.messages, found.problems) == ("größe", {"m": "ein Text ✓"}, [])
