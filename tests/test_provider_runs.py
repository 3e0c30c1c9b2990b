"""What a provider beside the CPU's does with the exported files: left to the CPU, failing there alone, other values."""

from __future__ import annotations

import hashlib
import json

import pytest
from click.testing import CliRunner
from store_rows import cell, environment

from caniexport.answers.case import answer_case
from caniexport.answers.filters import Filters
from caniexport.answers.provider_runs import ProviderOutcome, provider_runs
from caniexport.answers.table import By, answer_table
from caniexport.cli import main
from caniexport.home import VARIABLE
from caniexport.model.journal import Journal
from caniexport.model.rows import RUNS
from caniexport.pages import looks
from caniexport.store import Dataset

pytestmark = pytest.mark.usefixtures("opened_once")

TEXTS = {
    "left": "2 of 5 nodes run elsewhere; CPUExecutionProvider: Gather*2",
    "none": "no node runs on CUDAExecutionProvider; CPUExecutionProvider: Gather",
    "no kernel": "input set 0: InvalidArgument: [ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Non-zero status code "
    "returned while running GridSample node. Name:'/GridSample' Status Message: Only 4-D tensor is supported",
    "values": "input set 0, output 0: 3 of 4 values differ",
}
#: bundle -> stage, status, message, how the CPU provider ends, whether the values agree
ENDS = {
    "whole": ("done", "pass", None, "pass", True),
    "partly": ("done", "degraded", "left", "pass", True),
    "absent": ("place", "unsupported", "none", "pass", None),
    "fails": ("run", "fail", "no kernel", "pass", None),
    "fails-twice": ("run", "fail", "no kernel", "fail", None),
    "values": ("compare", "mismatch", "values", "pass", False),
    "wrong-twice": ("compare", "mismatch", "values", "mismatch", True),
    "only": ("done", "pass", None, "mismatch", False),
}


def named(word, digits=24):
    return hashlib.sha256(word.encode()).hexdigest()[:digits]


def row(bundle, stage, status, message, cpu, agrees):
    facts = {"tf32": "off", "cpu": {"status": cpu, **({} if agrees is None else {"agrees": agrees})}}
    return {
        **dict.fromkeys(column.name for column in RUNS),
        **{"run_id": "run-2", "env_id": "env-2", "measured_at": "2026-01-03T00:00:00Z", "corpus": "documented"},
        **{"case": f"case-{bundle}", "variant": "plain", "bundle": named(bundle), "runtime": "onnxruntime"},
        **{"runtime_version": "1.31.1", "provider": "cuda", "device": "NVIDIA H100", "stage": stage},
        **{"status": status, "message_id": message and named(message, 16), "facts": json.dumps(facts)},
    }


@pytest.fixture
def home(tmp_path):
    (tmp_path / "cases").mkdir()
    texts = {named(word, 16): text for word, text in TEXTS.items()}
    with Journal(tmp_path / "results-local" / "journal", "measured") as journal:
        journal.environment(environment())
        journal.environment(environment(env_id="env-2", run_id="run-2", release="onnxruntime==1.31.1", torch=None))
        for opset, bundle in enumerate(ENDS, start=9):
            journal.cell(cell(case=f"case-{bundle}", bundle=named(bundle), opset=opset, ops="Gather*3 Relu"), {})
        for bundle, end in ENDS.items():
            journal.run(row(bundle, *end), texts)
        journal.run({**row("probe", *ENDS["fails"]), "corpus": "probe"}, texts)
    return tmp_path


def test_files_are_told_apart_by_how_they_end_on_the_provider_and_on_the_cpu(home):
    (found,) = provider_runs(Dataset.open(None, home / "results-local"), "cuda")

    assert found.ends == {
        **{ProviderOutcome.WHOLE: 1, ProviderOutcome.PARTLY: 1, ProviderOutcome.ABSENT: 1, ProviderOutcome.FAILS: 1},
        **{ProviderOutcome.VALUES: 1, ProviderOutcome.ONLY: 1, ProviderOutcome.BOTH: 2},
    }
    assert (found.runtime, found.version, found.device) == ("onnxruntime", "1.31.1", "NVIDIA H100")
    (gather,) = found.left
    assert (gather.operator, gather.files, gather.nodes) == ("Gather", 2, 3)
    assert gather.of == 4, "of those that work: wholly there, in part, on the CPU alone, and there alone"
    assert {(item.case, item.end) for item in found.apart} == {
        ("case-fails", ProviderOutcome.FAILS),
        ("case-values", ProviderOutcome.VALUES),
        ("case-only", ProviderOutcome.ONLY),
    }


def test_a_file_that_ran_on_two_devices_counts_once_and_as_the_worse_of_the_two(home):
    texts = {named(word, 16): text for word, text in TEXTS.items()}
    again = {"device": "NVIDIA H200", "env_id": "env-3", "run_id": "run-3"}
    with Journal(home / "results-local" / "journal", "later") as journal:
        journal.environment(environment(env_id="env-3", run_id="run-3", release="onnxruntime==1.31.1", torch=None))
        for bundle in ("whole", "fails", "only"):
            journal.run({**row(bundle, *ENDS["whole"]), "case": f"case-{bundle}", **again}, texts)
        journal.run({**row("partly", *ENDS["values"]), **again}, texts)
    (found,) = provider_runs(Dataset.open(None, home / "results-local"), "cuda")

    assert found.device == "NVIDIA H100, NVIDIA H200"
    assert found.ends[ProviderOutcome.VALUES] == 2
    assert found.ends[ProviderOutcome.FAILS] == 1, "it works on the other device"
    assert ProviderOutcome.PARTLY not in found.ends


def test_the_command_says_what_is_left_to_the_cpu_and_what_ends_otherwise(home, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(home))

    shown = CliRunner().invoke(main, ["table", "--by", "runtime", "--provider", "CUDA"])
    unknown = CliRunner().invoke(main, ["table", "--by", "runtime", "--provider", "rocm"])

    whole = CliRunner().invoke(main, ["table", "--by", "runtime", "--provider", "cuda", "--all"])
    assert shown.exit_code == 0, shown.output
    assert "Gather" in shown.stdout and "case-absent" in shown.stdout
    assert "Status Message: Only 4-D tensor is supported" in whole.stdout
    assert unknown.exit_code == 2
    assert "unknown provider 'rocm' (known: cuda)" in unknown.stderr


def test_a_case_says_what_another_provider_does_to_files_that_work_on_the_cpu(home, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(home))
    dataset = Dataset.open(None, home / "results-local")
    there = "On cuda (onnxruntime 1.31.1), of the files that work on the CPU,"

    assert f"{there} 1 give wrong values." in answer_case(dataset, "case-values").notes
    assert f"{there} 1 fail." in answer_case(dataset, "case-fails").notes
    for bundle in ("whole", "partly", "absent", "only"):
        assert not any("cuda" in note for note in answer_case(dataset, f"case-{bundle}").notes), bundle


def test_the_matrix_by_runtime_has_a_column_for_each_provider_and_adds_nothing_up(home):
    found = answer_table(
        Dataset.open(None, home / "results-local"), Filters(cases=("case-values", "case-whole")), By.RUNTIME
    )

    made = found.tables[0]
    assert made.columns[made.heads :] == ("onnxruntime 1.19.2", "onnxruntime 1.31.1 on cuda")
    shown = {row[0].text: [looks.signed(cell) for cell in row[made.heads :]] for row in made.rows}
    assert shown["case-values"] == ["✓ 14", "≠"]
    assert len(made.rows) == 2
