"""After the export: tools and plugins as adapters of the runner, their rows, and what is answered from them."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess

import numpy as np
import pytest
from click.testing import CliRunner
from onnx_bytes import field, node, value
from store_rows import cell, environment

from caniexport import home as homes
from caniexport.bundles.pack import archive_bytes, make_bundle
from caniexport.check.road import read_steps
from caniexport.cli import main
from caniexport.machine import interpreters
from caniexport.model.errors import UnknownName
from caniexport.model.journal import Journal
from caniexport.runner import adapters, one
from caniexport.runner.archive import ArchiveEntry
from caniexport.runtime_releases import KINDS, RUNTIMES, Kind, find_target
from caniexport.store import compact
from caniexport.store.journal_reader import read_journals

AFTER = [release for release in RUNTIMES if release.kind is not Kind.RUNTIME]


def test_each_release_has_an_adapter_that_takes_what_it_is_asked_for():
    for release in AFTER:
        for asked in release.providers:
            assert adapters.find_adapter(release.runtime, asked).name == release.runtime


def test_the_name_of_each_environment_leads_back_to_its_release():
    for release in AFTER:
        for asked in release.providers:
            target = find_target(release.environment(asked))
            assert (target.release, target.provider) == (release, asked)


def test_a_plugin_is_installed_beside_the_onnxruntime_that_loads_it():
    plugin = next(release for release in AFTER if release.runtime == "onnxruntime-qnn")

    assert {"onnxruntime-qnn==2.3.0", "onnxruntime==1.24.4"} <= {*plugin.requirements("ort1.24")}


def run(bundle, tool, version, status="pass", stage="done", asked="cpu", **more):
    facts = {"nodes": [10, 5], "bytes": [100, 80], "cpu": {"status": more.pop("untouched", "pass")}}
    row = {"case": "cross-no-symbolic", "variant": "plain", "corpus": "documented", "device": "cpu", "env_id": "env-1"}
    row |= {"run_id": "run-1", "measured_at": "2026-01-02T03:04:05Z", "facts": json.dumps(facts), "bundle": bundle}
    return {
        **row,
        "runtime": tool,
        "runtime_version": version,
        "provider": asked,
        "stage": stage,
        "status": status,
        **more,
    }


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Ask about a dataset with these runs; its one case has four files."""
    for folder in ("cases", "harness", "results"):
        (tmp_path / folder).mkdir()
    (tmp_path / "tox.ini").touch()
    monkeypatch.setenv(homes.VARIABLE, str(tmp_path))
    local = homes.find().local

    def answer(rows, *words):
        with Journal(local / "journal", "measure") as journal:
            journal.environment(environment(planned=4, rows=4))
            for number in range(4):
                journal.cell(cell(bundle=f"{number}" * 24, opset=10 + number), {})
            for row in rows:
                journal.run(row, {"m": row["signature"]} if row.get("message_id") else {})
        compact(local)
        said = CliRunner().invoke(main, ["table", *words, "--json"])
        assert said.exit_code == 0, said.output
        return json.loads(said.stdout)

    return answer


FAILS = {"status": "fail", "stage": "tool", "signature": "tool|RuntimeError|No Adapter", "message_id": "m"}


def test_a_tool_is_judged_by_the_files_that_work_without_it(ask):
    found = ask(
        [
            run("0" * 24, "onnxslim", "0.1.98"),
            run("1" * 24, "onnxslim", "0.1.98", "mismatch", "compare"),
            run("2" * 24, "onnxslim", "0.1.98", "fail", "load", untouched="fail"),
            run("0" * 24, "onnx-converter", "1.23.2", asked="to13", **FAILS),
        ],
        *("--by", "tool"),
    )

    lines = {row["tool"]: row for row in found["tables"][0]["rows"]}
    assert lines["onnxslim 0.1.98"]["still work"] == {"works": 1, "measured": 2}
    assert (lines["onnxslim 0.1.98"]["wrong"], lines["onnxslim 0.1.98"]["nodes"]) == (1, "0.50")
    assert lines["onnx-converter 1.23.2 to13"]["tool fails"] == 1
    assert found["verdict"] == "Every file works after 0 of 2 tools; after onnx-converter 1.23.2 to13 0 of 1."
    broken = found["tables"][1]["rows"]
    assert [row["how"] for row in broken] == ["mismatch at compare", "fail at tool"]


def test_a_file_at_which_a_tool_dies_is_counted_as_lost(ask):
    rows = [run("0" * 24, "onnxsim", "0.8.1"), {**run("1" * 24, "onnxsim", "0.8.1", "crash", "tool"), "facts": None}]

    (line,) = ask(rows, "--by", "tool")["tables"][0]["rows"]
    assert (line["still work"], line["lost"]) == ({"works": 1, "measured": 2}, 1)


def test_what_works_at_the_basic_level_alone_is_broken_by_an_optimization(ask):
    rows = [
        run("0" * 24, "onnxslim", "0.1.98"),
        run("0" * 24, "onnxruntime-basic", "1.26.0", untouched="fail"),
        run("1" * 24, "onnxruntime-basic", "1.26.0"),
    ]

    (table,) = [table for table in ask(rows, "--by", "tool")["tables"] if "optimization" in table["title"]]
    assert [(row["files"], row["onnxruntime"]) for row in table["rows"]] == [(1, "1.26.0")]


def test_a_plugin_that_does_not_load_is_said_so_in_its_place(ask):
    refused = {"status": "fail", "stage": "load", "signature": "load|Unavailable|no", "message_id": "m"}
    found = ask(
        [
            run("0" * 24, "onnxruntime-qnn", "2.7.0", asked="ort1.32"),
            run("1" * 24, "onnxruntime-qnn", "2.7.0", "unsupported", "place", asked="ort1.32"),
            run(None, "onnxruntime-qnn", "2.3.0", asked="ort1.32", case=None, variant=None, corpus=None, **refused),
        ],
        *("--by", "plugin"),
    )

    rows = {row["plugin"]: row["ort1.32"] for row in found["tables"][0]["rows"]}
    # of the files of which it takes a node
    assert rows == {"onnxruntime-qnn 2.7.0": {"works": 1, "measured": 1}, "onnxruntime-qnn 2.3.0": "fails"}
    assert found["tables"][-1]["rows"][0]["the newest says"] == "load|Unavailable|no"


def test_tools_and_plugins_are_no_runtimes(ask):
    found = ask([run("0" * 24, "onnxslim", "0.1.98"), run("0" * 24, "openvino", "2026.4.1")], "--by", "runtime")

    assert [row["runtime"] for row in found["tables"][0]["rows"]] == ["openvino 2026.4.1"]


def test_facts_of_files_are_counted_by_release_and_exporter(ask):
    facts = {
        "strict": "ok",
        "value_info": "y: shape [1] is stated, [2] inferred",
        "nodes": 3,
        "bytes": 9,
        "repeated": 0,
    }
    other = {**facts, "strict": "refused", "value_info": "ok", "repeated": 2}
    rows = [
        {**run(f"{number}" * 24, "onnx-file", "1.23.2", asked="none"), "facts": json.dumps(found)}
        for number, found in enumerate((facts, other))
    ]

    (row,) = ask(rows, "--by", "file")["tables"][0]["rows"]
    assert {name: row[name] for name in ("torch", "files", "not strict", "value_info", "repeats")} == {
        **{"torch": "1.10.2", "files": 2, "not strict": 1, "value_info": 1, "repeats": 1}
    }


@pytest.mark.parametrize("kind", ["float32", "int64", "bool", "O"])
@pytest.mark.parametrize("shape", [(), (2,), (0,)])
def test_a_tool_that_rounds_moves_an_output_of_any_type_and_shape_by_no_more_than_it_may(kind, shape):
    entry, want = ArchiveEntry("b" * 24, "own", "c", "plain"), np.ones(shape, kind)
    got = want + np.asarray(0.009, kind) if kind == "float32" else want.copy()

    assert one.measure_difference(entry, [[want]], [[got]], "it", may_change=0.01).problem == ""
    if kind == "float32" and want.size:
        assert one.measure_difference(entry, [[want]], [[got + 0.009]], "it", may_change=0.01).problem


def test_the_steps_of_a_road_are_tools_and_what_people_call_them():
    slim, half, converter = read_steps(["onnxslim==0.1.90", "fp16", "onnx-converter:to17"])

    assert (slim.release.version, half.text, converter.text) == ("0.1.90", "onnxruntime-half", "onnx-converter:to17")


@pytest.mark.parametrize(
    ("step", "problem"),
    [("onnxslin", "nearest: onnxslim"), ("openvino", "unknown tool"), ("onnx-converter:to19", "nearest: to1")],
)
def test_a_step_that_nobody_knows_is_refused_with_the_nearest(step, problem):
    with pytest.raises(UnknownName, match=problem):
        read_steps([step])


BAD = """
import os, signal, time
from caniexport.runner.adapters.tool import Tool

class Bad(Tool):
    name = "bad"
    packages = ("onnx",)
    providers = ("hangs", "dies", "nothing", "to13", "wrong", "raises", "harmless", "leaves-out")

    def change(self, model, given):
        asked = self.provider
        if asked == "hangs":
            time.sleep(1000)
        if asked == "dies":
            os.kill(os.getpid(), signal.SIGSEGV)
        if asked == "raises":
            raise OSError("no licence for this machine")
        if asked == "wrong":
            model.graph.node[0].op_type = "Neg"
        if asked == "leaves-out":  # two inputs, of which the second is used
            del model.graph.input[0]
        return None if asked == "nothing" else model

ADAPTER = Bad
"""


def relu_with_an_unused_input():
    def tensor(*values):
        return field(1, len(values)) + field(2, 1) + field(9, struct.pack(f"<{len(values)}f", *values))

    graph = field(1, node("Relu", ["x"], ["y"])) + field(2, "g")
    graph += field(11, value("unused", 1, 2)) + field(11, value("x", 1, 2)) + field(12, value("y", 1, 2))
    files = [("model.onnx", field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)))]
    files += [("test_data_set_0/input_0.pb", tensor(7.0, 7.0)), ("test_data_set_0/input_1.pb", tensor(-1.0, 2.0))]
    return [*files, ("test_data_set_0/output_0.pb", tensor(0.0, 2.0))]


@pytest.mark.real
@pytest.mark.parametrize(
    ("asked", "stage", "status", "word"),
    [
        ("hangs", "tool", "timeout", "Timeout"),
        ("dies", "tool", "crash", "SIGSEGV"),
        ("nothing", "tool", "fail", "WroteNothing"),
        ("to13", "tool", "unsupported", "KeptOpset"),
        ("wrong", "compare", "mismatch", "Mismatch"),
        ("raises", "tool", "fail", "no licence"),
        ("harmless", "done", "pass", ""),
        ("leaves-out", "done", "pass", ""),
    ],
)
def test_whatever_a_tool_does_is_a_row_with_the_reason(tmp_path, asked, stage, status, word):
    python = interpreters.find_python("3.12") or interpreters.find_python("3.11")
    if shutil.which("uv") is None or python is None:
        pytest.skip("no uv, or no Python of the tools")
    name, data = make_bundle(relu_with_an_unused_input())
    (tmp_path / "b.zip").write_bytes(
        archive_bytes([ArchiveEntry(name, "own", "relu", "plain")], {name: lambda: data}, {})
    )
    (tmp_path / "bad.py").write_text(BAD, encoding="utf-8")
    packages = [word for pin in ("onnx==1.23.2", "onnxruntime==1.32.0") for word in ("--with", pin)]
    command = ["uv", "run", "--no-project", "--quiet", "--python", str(python), *packages]
    command += ["python", "b.zip", "--runtime", "bad.py", "--provider", asked, "-o", "out", "--timeout", "3"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    (row,) = read_journals(tmp_path / "out").runs
    assert (row["stage"], row["status"]) == (stage, status)
    assert word in (row["signature"] or "")
    # what ends the process comes before the untouched file is run
    untouched = json.loads(row["facts"] or "{}").get("cpu", {}).get("status")
    assert untouched == (None if status in ("timeout", "crash") else "pass")


def test_every_kind_has_a_member():
    assert {*KINDS.values()} == {*Kind}
