"""An archive as a conformance suite: what is run, what a CI job gates on, and a runtime that has no adapter here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import stand_in_runtime
from click.testing import CliRunner
from store_rows import environment
from test_runner import ends, rows

from caniexport import home as homes
from caniexport.bundles.pack import archive_bytes, make_bundle, probe_entries
from caniexport.cli import main
from caniexport.model.errors import UnknownName
from caniexport.model.journal import Journal
from caniexport.runner import chosen
from caniexport.runner.archive import Archive, ArchiveEntry
from caniexport.runner.contents import Contents, read_contents

#: a runtime that nobody has heard of: it computes Relu, and fails where the model asks for more
_RUNTIME = """
import numpy as np
__version__ = "1.5"
def load(model):
    if b"refuse" in model:
        raise NotImplementedError("Loop is not supported")
    return lambda x: np.maximum(x, 0) + (b"wrong" in model)
"""
_ADAPTER = """
from caniexport.runner.own_runtime import adapter

def load(model):
    import newcomer
    run = newcomer.load(model)
    return lambda feeds: [run(*feeds.values())]

ADAPTER = adapter("newcomer", load)
"""


def relu(name: str, opset: int = 17) -> list[tuple[str, bytes]]:
    """A bundle with a model of one Relu, whose graph has a name that the runtime looks at."""
    from caniexport.bundles import probes

    _, _, files = next(probes.make_probes())
    return [("model.onnx", probes._model(4, opset) + probes._text(6, name)), *files[1:]]


@pytest.fixture
def newcomer(tmp_path):
    site = tmp_path / "site"
    (site / "newcomer-1.5.dist-info").mkdir(parents=True)
    (site / "newcomer-1.5.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: newcomer\nVersion: 1.5\n")
    (site / "newcomer.py").write_text(_RUNTIME)
    (tmp_path / "newcomer_adapter.py").write_text(_ADAPTER)
    entries, sources = [], {}
    for word, opset in (("good", 17), ("wrong", 17), ("refuse", 18)):
        name, data = make_bundle(relu(word, opset))
        entries.append(ArchiveEntry(name, "documented", word, "plain"))
        sources[name] = data
    probe, data = next(probe_entries())
    entries.append(probe)
    sources[probe.bundle] = data
    made = archive_bytes(entries, {name: lambda data=data: data for name, data in sources.items()}, {})
    (tmp_path / "b.zip").write_bytes(made)
    return tmp_path


def run(folder: Path, *more: str):
    command = [sys.executable, "b.zip", "--runtime", "newcomer_adapter.py", "-o", "rows", *more]
    environment = {**os.environ, "PYTHONPATH": str(folder / "site")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_runtime_without_an_adapter_of_ours_is_run_by_one_of_ten_lines(newcomer):
    done = run(newcomer)

    assert done.returncode == 0, done.stderr
    found, _ = rows(newcomer / "rows")
    assert ends(newcomer / "rows")["good"] == ("done", "pass")
    assert found["wrong"]["status"] == "mismatch"
    assert found["refuse"]["signature"] == "load|NotImplementedError|Loop is not supported"
    assert (found["good"]["runtime"], found["good"]["runtime_version"]) == ("newcomer", "1.5")
    assert list(json.loads(found["good"]["facts"])) == ["adapter"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ADAPTER = 3", "is no adapter"),
        ("import nothing_of_this_name", "ModuleNotFoundError"),
        (_ADAPTER.replace('"newcomer"', '"openvino"'), "has an adapter already"),
        (_ADAPTER.replace('"newcomer"', '"a/b"'), "is no name of a runtime"),
    ],
)
def test_a_file_that_has_no_adapter_is_refused_with_the_reason(newcomer, text, says):
    (newcomer / "newcomer_adapter.py").write_text(text)

    done = run(newcomer)

    assert done.returncode == 2
    assert says in done.stderr


def test_a_runtime_that_is_not_installed_is_one_row(newcomer):
    (newcomer / "newcomer_adapter.py").write_text(_ADAPTER.replace('"newcomer"', '"latecomer"'))

    done = run(newcomer)

    assert done.returncode == 1
    assert "latecomer is not installed" in done.stderr


def test_what_fails_is_written_as_a_list_that_then_expects_it(newcomer):
    run(newcomer, "--write-expectations", "list.toml")

    again = run(newcomer, "--expectations", "list.toml")

    assert again.returncode == 0, again.stdout
    assert "1 pass, 2 expected, 0 skipped, 0 news" in again.stdout


def entry(**changes) -> str:
    """An entry of a list of expectations, to be reviewed in the far future unless ``review`` says when."""
    review = changes.pop("review", "2999-01-01")
    found = {"case": "refuse", "allowed": ["fail"], "reason": "no Loop", **changes}
    lines = [f"{key} = {json.dumps(value)}" for key, value in found.items()]
    return "\n".join(["[[expect]]", *lines, f"review = {review}", ""])


@pytest.mark.parametrize(
    ("entries", "code", "says"),
    [
        ((entry(),), 1, "wrong/plain opset 17"),
        ((entry(), entry(case="wrong", allowed=["mismatch"])), 0, "1 pass, 2 expected"),
        ((entry(case="*", allowed=["fail", "mismatch"], opset=">=17"),), 1, "entry 1 is unexpected-pass"),
        ((entry(), entry(case="wrong", allowed=["mismatch"], op="Loop")), 1, "entry 2 is unmatched"),
        ((entry(), entry(case="wrong", allowed=["mismatch"], op="Rel*", provider="cpu")), 0, "2 expected"),
        ((entry(torch="<2.0"),), 2, "entry 1: a file is the same whichever release wrote it: leave torch out"),
        ((entry(casse="x"),), 2, "entry 1: unknown key 'casse' (nearest: case)"),
        (
            *((entry(case="*", allowed=["fail", "mismatch", "pass"], review="2020-01-01"),), 1),
            "entry 1 is expired: was to be reviewed by 2020-01-01",
        ),
    ],
)
def test_a_job_gates_on_a_list_of_its_own(newcomer, entries, code, says):
    (newcomer / "list.toml").write_text("".join(entries))

    done = run(newcomer, "--expectations", "list.toml")

    assert done.returncode == code, done.stdout + done.stderr
    assert says in done.stdout + done.stderr


def test_the_result_is_junit_with_a_test_for_each_file_and_each_entry_that_does_not_hold(newcomer):
    (newcomer / "list.toml").write_text(entry() + entry(case="gone"))

    done = run(newcomer, "--expectations", "list.toml", "--junit", "r.xml", "--by", "Jane", "--at", "a board")

    assert "1 pass, 1 expected, 0 skipped, 1 news" in done.stdout
    assert "entry 2 is unmatched" in done.stdout
    suite = ET.parse(newcomer / "r.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "2", "1")
    named = [test.get("name").split("/")[0] for test in suite]
    assert named == ["good", "wrong", "refuse", "gone (fail)"]
    kinds = [child.tag for test in suite for child in test]
    assert kinds == ["failure", "skipped", "failure"]
    lines = next((newcomer / "rows" / "journal").glob("*.jsonl")).read_text(encoding="utf-8").splitlines()
    (about,) = [line["row"] for line in map(json.loads, lines) if line["kind"] == "environment"]
    assert (about["contributor"], about["contributed_from"]) == ("Jane", "a board")


def test_only_some_files_are_run_and_the_probes_go_along(newcomer):
    run(newcomer, "--only", "op=Rel*", "--only", "opset=18")

    found = [row for row in ends(newcomer / "rows") if row in ("good", "wrong", "refuse")]
    assert found == ["refuse"]
    assert "probe-opset" in ends(newcomer / "rows")


@pytest.mark.parametrize(
    ("word", "says"), [("op=Conv", "no file of"), ("operator=Conv", "wanted is KEY=PATTERN"), ("op", "wanted is")]
)
def test_a_choice_of_nothing_is_refused(newcomer, word, says):
    done = run(newcomer, "--only", word)

    assert done.returncode == 2
    assert says in done.stderr


def test_a_sample_is_another_one_for_another_seed_and_the_same_for_the_same(tmp_path):
    stand_in_runtime.archive(tmp_path / "b.zip", *map(str, range(40)))
    archive = Archive(tmp_path / "b.zip")

    def drawn(seed):
        return chosen.choose_entries(archive, sample=5, seed=seed)

    assert len(drawn("a")) == 5
    assert drawn("a") == drawn("a") != drawn("b")


def test_an_archive_says_what_its_files_are_made_of(newcomer):
    archive = Archive(newcomer / "b.zip")

    made = archive.contents()

    assert [made[item.bundle] for item in archive.entries[:3]] == [
        Contents(number, ["Relu"]) for number in (17, 17, 18)
    ]
    with pytest.raises(UnknownName):
        chosen.parse_patterns(["opset"])


def test_operators_within_subgraphs_count_and_bytes_that_are_no_model_have_none():
    from caniexport.bundles import probes

    inner = probes._bytes(1, probes._text(4, "Add"))
    node = probes._text(4, "If") + probes._bytes(5, probes._bytes(6, inner))
    model = probes._bytes(7, probes._bytes(1, node)) + probes._bytes(8, probes._int(2, 13))

    assert read_contents(model) == Contents(13, ["Add", "If"])
    assert read_contents(b"\xff\xff") == Contents(0, [])


def handed_in(folder: Path, name: str, *statuses: str, differ: int = 0, contributor: str | None = "Jane") -> Path:
    """A folder of rows as an archive writes it: files named by their number, ``differ`` of which end as fail."""
    out = folder / name
    with Journal(out / "journal", name) as journal:
        about = environment(torch=None, run_id=name, env_id=f"env-{name}", gate="good", repeated=99)
        journal.environment(
            {**about, "planned": len(statuses), "contributor": contributor, "contributed_from": "a board"}
        )
        for number, status in enumerate(statuses):
            ended = "fail" if number < differ else status
            row = {"run_id": name, "env_id": f"env-{name}", "measured_at": "2026-01-02T03:04:05Z"}
            row.update(bundle=f"{number:024x}", corpus="documented", case=f"c{number}", variant="plain", stage="run")
            row.update(runtime="newcomer", runtime_version="1.5", provider="cpu", device="cpu", status=ended)
            journal.run(row, {})
    return out


@pytest.fixture
def home(tmp_path, monkeypatch):
    root = tmp_path / "home"
    for folder in ("cases", "harness", "results", "results-local"):
        (root / folder).mkdir(parents=True)
    (root / "tox.ini").touch()
    monkeypatch.setenv(homes.VARIABLE, str(root))
    return root


def call(*words: str):
    return CliRunner().invoke(main, list(words))


def counted() -> dict[str, int]:
    """The files that answers count of the runtime."""
    rows = {table["title"]: table["rows"] for table in by_runtime()["tables"]}.get("", [])
    return {row["runtime"].split()[1]: row["pass"]["measured"] for row in rows}


def by_runtime():
    return json.loads(call("table", "--by", "runtime", "--json").output)


def contributed():
    (rows,) = [table["rows"] for table in by_runtime()["tables"] if table["title"] == "runs that others handed in"]
    return rows


def test_rows_of_others_are_judged_as_ours_and_name_their_contributor(home, tmp_path):
    said = call("bundles", "merge", str(handed_in(tmp_path, "theirs", *["pass"] * 60)))

    assert said.exit_code == 0, said.output
    assert counted() == {"1.5": 60}
    (run,) = contributed()
    assert (run["by"], run["files"], run["rows are"]) == ("Jane a board", 60, "used")


def test_rows_of_others_that_the_gate_refuses_are_counted_nowhere(home, tmp_path):
    said = call("bundles", "merge", str(handed_in(tmp_path, "theirs", *["crash"] * 3, *["pass"] * 7)))

    assert said.exit_code == 1
    assert "quarantined: 3 crash of 10 rows" in said.output
    assert counted() == {}
    assert [run["rows are"] for run in contributed()] == ["quarantined: 3 crash of 10 rows (at most 10% may end so)"]


def test_rows_without_a_name_are_somebodys_unless_they_are_said_to_be_ours(home, tmp_path):
    nameless = handed_in(tmp_path, "nameless", "pass", contributor=None)

    call("bundles", "merge", str(nameless))
    assert [run["by"] for run in contributed()] == ["somebody"]
    call("bundles", "merge", "--ours", str(nameless))
    assert [table["title"] for table in by_runtime()["tables"]] == [""]
    assert call("bundles", "merge", "--ours", str(nameless), "--by", "Jane").exit_code == 2
