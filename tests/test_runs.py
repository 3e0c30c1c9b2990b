"""Bundles from the cells that made them to the answers: packed, run elsewhere, brought back, published, shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import stand_in_runtime
from click.testing import CliRunner
from store_rows import cell, environment, write_journal

from caniexport import home as homes
from caniexport.bundles import probes
from caniexport.bundles.pack import make_bundle
from caniexport.cli import main
from caniexport.corpus.refusals import Refusal, classify_refusal
from caniexport.gate.verdict import judge_run
from caniexport.model import corpus as corpus_module
from caniexport.model.errors import UnknownName
from caniexport.runner.archive import Archive
from caniexport.runtime_releases import RUNTIMES, RuntimeTarget, choose_releases, find_releases, find_target
from caniexport.store import Dataset, compact

CORPUS = """
from caniexport.model.case import Case, fix
from caniexport.model.tensors import f32

class CrossNoSymbolic(Case):
    '''torch.cross has no rule.'''
    sources = ("seed:000",)
    inputs = ((f32(3),), (f32(3),))

    def forward(self, x):
        return x

    @fix("rewrite", "slices")
    def rewrite(self, x):
        return x

    plainly = fix("runtime-option", "no optimisation", session={"graph_optimization_level": 0})
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home with one case, whose variants' files were exported by two releases; its bundles are on this machine."""
    root = tmp_path / "home"
    for folder in ("cases", "harness", "results"):
        (root / folder).mkdir(parents=True)
    (root / "tox.ini").touch()
    (root / "cases" / "vectors.py").write_text(CORPUS, encoding="utf-8")
    monkeypatch.setenv(homes.VARIABLE, str(root))
    place = homes.find()
    keep(place, "relu", "wrong")
    names = {word: name_of(word) for word in ("relu", "wrong")}
    rows = [
        exported(place, names["relu"], "plain", torch, opset) for torch in ("1.10.2", "2.15.0") for opset in (13, 14)
    ]
    rows += [exported(place, names["wrong"], "rewrite", "2.15.0", 14)]
    rows += [exported(place, names["relu"], "plainly", "2.15.0", 14)]
    rows += [exported(place, name_of("nowhere"), "rewrite", "1.10.2", 14)]
    write_journal(place.local, rows, [environment()])
    compact(place.local)
    return place


def name_of(word):
    return make_bundle(stand_in_runtime.bundle(word))[0]


def keep(place, *words):
    for word in words:
        name, data = make_bundle(stand_in_runtime.bundle(word))
        path = place.local / "bundles" / name[:2] / f"{name}.zip"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def exported(place, bundle, variant, torch, opset):
    case = corpus_module.load([place.cases], stand_in=True)["cross-no-symbolic"]
    return cell(bundle=bundle, variant=variant, torch=torch, opset=opset, case_hash=case.case_hash(variant))


def call(*words):
    return CliRunner().invoke(main, words, prog_name="caniexport")


def told(*words):
    """The answer of a command as JSON."""
    return json.loads(call(*words, "--json").stdout)


def run_elsewhere(file, out, packages, *more):
    """As on another machine: nothing but the archive, numpy and the runtime."""
    environment = {**os.environ, "PYTHONPATH": str(packages)}
    command = [sys.executable, str(file), "--runtime", "onnxruntime", "-o", str(out), *more]
    done = subprocess.run(command, cwd=file.parent, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_archive_has_each_file_once_with_the_cells_that_it_stands_for(home, tmp_path):
    said = call("bundles", "pack", "-o", str(tmp_path / "b.zip"))

    assert said.exit_code == 0, said.output
    assert "1 more are not on this machine" in said.stdout
    mine = [entry for entry in Archive(tmp_path / "b.zip").entries if entry.corpus != probes.CORPUS]
    assert [(entry.variant, entry.options) for entry in mine] == [
        ("plain", {}),
        ("plainly", {"graph_optimization_level": 0}),
        ("rewrite", {}),
    ]
    assert Archive(tmp_path / "b.zip").cells()[mine[0].key] == [
        f"{torch}/cross-no-symbolic/plain/torchscript-trace/{opset}"
        for torch in ("1.10.2", "2.15.0")
        for opset in (13, 14)
    ]
    call("bundles", "pack", "-o", str(tmp_path / "same.zip"))
    assert (tmp_path / "same.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_an_archive_of_chosen_opsets_and_exporters_has_the_bundles_of_those_cells(home, tmp_path):
    words = ["--opset", "13", "--exporter", "trace"]
    assert call("bundles", "pack", *words, "-o", str(tmp_path / "b.zip")).exit_code == 0

    (mine,) = [entry for entry in Archive(tmp_path / "b.zip").entries if entry.corpus != probes.CORPUS]
    assert Archive(tmp_path / "b.zip").cells()[mine.key] == [
        f"{torch}/cross-no-symbolic/plain/torchscript-trace/13" for torch in ("1.10.2", "2.15.0")
    ]
    said = call("bundles", "pack", "--exporter", "dynamo", "-o", str(tmp_path / "c.zip"))
    assert (said.exit_code, "no cell within these filters has a bundle" in said.stderr) == (1, True)


def test_a_release_or_case_that_nobody_knows_is_answered_with_the_nearest(home, tmp_path):
    for words in (("--case", "cros-no-symbolic"), ("--release", "1.11")):
        said = call("bundles", "pack", *words, "-o", str(tmp_path / "b.zip"))

        assert said.exit_code == 2
        assert "cross-no-symbolic" in said.stderr or "1.10.2" in said.stderr
        assert not (tmp_path / "b.zip").exists()


def test_bundles_that_are_not_on_this_machine_are_said_to_be(home, tmp_path):
    for path in (home.local / "bundles").rglob("*.zip"):
        path.unlink()

    said = call("bundles", "pack", "-o", str(tmp_path / "b.zip"))

    assert said.exit_code == 1
    assert "none of the 3 bundles" in said.stderr


def test_rows_that_come_back_are_judged_answered_and_published(home, tmp_path):
    assert call("bundles", "pack", "-o", str(tmp_path / "b.zip")).exit_code == 0
    site = stand_in_runtime.install(tmp_path / "site")
    (site / "torch-2.11.0.dist-info").mkdir()
    (site / "torch-2.11.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0\n")
    run_elsewhere(tmp_path / "b.zip", tmp_path / "rows", site)
    reports = told("bundles", "merge", "--ours", str(tmp_path / "rows"))
    told_of = [(report["runtime"], report["version"], report["problem"]) for report in reports]
    assert told_of == [("onnxruntime", "9.9.9", "")]
    assert reports[0]["statuses"]["mismatch"] == 1

    # a torch that lies beside the runtime is no release that was measured
    (mine,) = Dataset.open(None, home.local).records("environments", {"release": ["onnxruntime==9.9.9"]})
    assert json.loads(mine["packages"])["torch"] == "2.11.0"
    assert (mine["torch"], mine["torch_build"]) == (None, None)

    # the ceilings: the stand-in takes every opset and IR version, and its bundles are three
    (row,) = told("table", "--by", "runtime")["tables"][0]["rows"]
    assert (row["opset"], row["IR"]) == (max(probes.OPSETS), max(probes.IR_VERSIONS))
    assert (row["pass"], row["wrong"], row["rows"]) == ({"works": 2, "measured": 3}, 1, "local")

    def by_runtime(name, *words):
        return told("table", "--by", "runtime", "--case", f"cross-no-symbolic{name}", *words)["tables"][0]["rows"]

    assert list(by_runtime("")[0])[-2:] == ["onnxruntime 9.9.9", "onnxruntime 1.19.2"]
    assert {row["onnxruntime 9.9.9"]["word"] for row in by_runtime("/rewrite", "--torch", "2.15.0")} == {"mismatch"}
    # a run with session options answers for the variant that asks for them
    runs = Dataset.open(None, home.local).records("runs")
    mine = [row["session"] or "" for row in runs if row["bundle"] == name_of("relu")]
    assert sorted(mine) == ["", '{"graph_optimization_level": 0}']
    plainly = by_runtime("/plainly", "--torch", "all")
    assert [list(row.values())[-2:] for row in plainly] == [[{"works": 1, "measured": 1}] * 2]

    # again: nothing changes
    assert call("bundles", "merge", "--ours", str(tmp_path / "rows")).exit_code == 0
    assert Dataset.open(None, home.local).records("runs") == runs

    said = json.loads(call("publish", "--json").stdout)
    assert "runs/onnxruntime-cpu.parquet" in said["written"]
    published = Dataset.open(home.published, None)
    runs = published.records("runs")
    assert said["promoted"]["runs/onnxruntime-cpu.parquet"] == len(runs)
    wrong = next(row for row in runs if row["status"] == "mismatch")
    assert "values differ" in (published.message(wrong["message_id"]) or "")
    assert {row["env_id"] for row in runs} <= {row["env_id"] for row in published.records("environments")}
    assert json.loads(call("publish", "--json").stdout)["written"] == []


def test_a_folder_without_rows_is_named(home, tmp_path):
    (tmp_path / "rows").mkdir()

    said = call("bundles", "merge", "--ours", str(tmp_path / "rows"))

    assert said.exit_code == 1
    assert "no rows of a run in it" in said.stderr


def run_row(**changes):
    row = {"bundle": "b", "corpus": "probe", "case": "probe-opset", "variant": "opset_9", "status": "pass"}
    return {**row, "stage": "done", "max_abs_error": 0.0, "signature": None, **changes}


@pytest.mark.parametrize(
    ("rows", "planned", "word"),
    [
        ([run_row()], 1, "good"),
        ([run_row(), run_row(corpus="canary", case="canary-mismatch", status="mismatch")], 2, "good"),
        ([run_row(), run_row(corpus="canary", case="canary-mismatch")], 2, "canary-mismatch came out as pass"),
        ([run_row(), run_row(corpus="canary", case="canary-pass", status="mismatch")], 2, "canary-pass came out as"),
        ([run_row(status="fail")], 1, "no probe and no canary passes"),
        ([run_row()], 3, "1 rows of 3 planned"),
        ([run_row(), run_row(status="invalid")], 2, "1 of 2 rows are invalid"),
        ([run_row(), run_row(status="crash")], 2, "1 crash of 2 rows"),
    ],
)
def test_the_gate_says_why_a_run_may_not_speak(rows, planned, word):
    assert word in judge_run("runs", rows, {"packages": "{}"}, planned, [])


def test_a_version_that_was_not_asked_for_is_held_back():
    packages = json.dumps({"onnxruntime": "1.13.1"})

    assert "onnxruntime==1.14.1 was asked for, 1.13.1" in judge_run(
        "runs", [run_row()], {"packages": packages}, 1, ["onnxruntime==1.14.1"]
    )


@pytest.mark.parametrize(
    ("signature", "cause"),
    [
        ("load|Fail|[ONNXRuntimeError] : N : FAIL : Unsupported model IR version: N, max supported", Refusal.IR),
        ("load|Fail|… models stamped with official released onnx opset versions. Opset N", Refusal.OPSET),
        ("load|NotImplemented|… : Could not find an implementation for Erf(13) node with name", Refusal.KERNEL),
        ("load|Fail|… Fatal error: my.dom:FooBar(-N) is not a registered function/op", Refusal.OPERATOR),
        ("load|InvalidGraph|… Error No Op registered for GridSample with domain_version of N", Refusal.OPERATOR),
        ("parse|RuntimeError|No conversion rule found for operations: CumProd", Refusal.OPERATOR),
        ("load|InvalidGraph|… This is an invalid model. Type Error: Type …", Refusal.MODEL),
        ("load|Fail|something new", Refusal.OTHER),
    ],
)
def test_refusals_are_told_apart_by_their_words(signature, cause):
    assert classify_refusal("load", signature) is cause
    assert classify_refusal("run", signature) is None


def test_every_environment_has_a_name_that_means_it():
    for release in RUNTIMES:
        for provider in release.providers:
            one = release.on(provider)
            assert find_target(one.environment(provider)) == RuntimeTarget(one, provider)
    (older,) = choose_releases(["onnxruntime==1.14.0"], "")
    assert older.environment("cpu") == "ort1.14.0-cpu"
    assert find_target("ort1.14.0-cpu") == RuntimeTarget(older, "cpu")
    assert find_target("torch2.8-cpu") is None and find_target("ort99.1-cpu") is None


def test_a_provider_brings_its_package_in_the_version_that_package_has():
    def installed(text, provider):
        return [item.requirements(provider)[:-1] for item in choose_releases([text], provider)]

    assert installed("ort1.20", "cuda") == [("onnxruntime-gpu==1.20.2",)]
    assert installed("ort1.24", "openvino") == [("onnxruntime-openvino==1.24.1",)]
    assert installed("ort1.31", "openvino") == [("onnxruntime==1.31.1", "onnxruntime-ep-openvino==1.8.1")]
    assert installed("tensorrt", "") == [("tensorrt-cu13-bindings==11.4.0.106",)]
    assert len(choose_releases(["onnxruntime"], "cuda")) == len(choose_releases(["onnxruntime"], "")) - 4
    with pytest.raises(UnknownName, match=r"provider of onnxruntime==1.10.0 'cuda'"):
        choose_releases(["ort1.10"], "cuda")
    with pytest.raises(UnknownName, match=r"provider of tract==0.23.9 'cuda'"):
        choose_releases(["tract"], "cuda")


def test_a_release_is_named_as_a_user_names_it():
    assert [item.version for item in find_releases("ort1.14")] == ["1.14.1"]
    assert [item.version for item in find_releases("onnxruntime==1.14.0")] == ["1.14.0"]
    assert find_releases("onnxruntime") == tuple(item for item in RUNTIMES if item.runtime == "onnxruntime")
    with pytest.raises(UnknownName, match=r"unknown release of onnxruntime '1\.5'"):
        find_releases("onnxruntime==1.5")
    with pytest.raises(UnknownName, match="nearest: onnxruntime"):
        find_releases("onnxruntim")


def test_files_whose_values_are_not_the_cpu_providers_are_counted(home, tmp_path):
    stand_in_runtime.archive(tmp_path / "b.zip", "relu", "drift", "wrong", "near")
    packages = stand_in_runtime.install(tmp_path / "site")
    run_elsewhere(tmp_path / "b.zip", tmp_path / "rows", packages, "--provider", "openvino")
    assert call("bundles", "merge", "--ours", str(tmp_path / "rows")).exit_code == 0

    (row,) = told("table", "--by", "runtime")["tables"][0]["rows"]
    assert (row["on"], row["pass"], row["wrong"]) == ("openvino", {"works": 2, "measured": 4}, 2)
    # one is wrong on the provider alone, the other on both
    assert row["unlike its CPU"] == 1
