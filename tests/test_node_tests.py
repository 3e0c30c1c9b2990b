"""ONNX's own node tests as bundles, and the answers from their rows."""

from __future__ import annotations

import hashlib
import json

import pytest
import stand_in_runtime
from click.testing import CliRunner
from store_rows import environment
from test_runner import ends, field, rows, run

from caniexport import home as homes
from caniexport.answers.runtimes import read_runtimes
from caniexport.bundles import node_tests
from caniexport.bundles.pack import archive_bytes, make_bundle
from caniexport.cli import main
from caniexport.model.journal import Journal
from caniexport.publish.publish import publish
from caniexport.runner import tensors
from caniexport.runner.archive import Archive, ArchiveEntry
from caniexport.store import Dataset, compact, writer

MONDAY = (
    field(1, 0, b"\x03") + field(2, 0, b"\x08") + b"".join(field(6, 2, b"\x01" + text) for text in (b"0", b"b", b"c"))
)


@pytest.mark.parametrize("variant", ["CenterCropPad-18", "Bernoulli-22.random", "Cast-25.dtype"])
def test_a_variant_names_the_operator_the_opset_and_the_mark(variant):
    found = node_tests.parse_variant(variant)

    assert found.variant == variant
    assert (found.operator, found.opset) == (variant.split("-")[0], int(variant.split("-")[1].split(".")[0]))


def test_texts_are_compared_as_texts(tmp_path):
    packages = stand_in_runtime.install(tmp_path / "site")
    model, data, _ = stand_in_runtime.bundle("text")
    other = MONDAY.replace(b"\x01c", b"\x01d")
    entries, sources = [], {}
    for case, expected in (("same", MONDAY), ("another", other)):
        name, content = make_bundle([model, data, ("test_data_set_0/output_0.pb", expected)])
        entries.append(ArchiveEntry(name, node_tests.CORPUS, case, "Identity-1"))
        sources[name] = lambda content=content: content
    (tmp_path / "b.zip").write_bytes(archive_bytes(entries, sources, {}))

    run(tmp_path / "b.zip", tmp_path / "out", packages)

    assert ends(tmp_path / "out") == {"same": ("done", "pass"), "another": ("compare", "mismatch")}
    found, texts = rows(tmp_path / "out")
    assert "1 of 3 values differ, most at [2]" in texts[found["another"]["message_id"]]


def test_a_sequence_is_no_tensor_and_a_damaged_tensor_is_no_sequence():
    with pytest.raises(tensors.NoNumpyType, match="sequence"):
        tensors.read_tensor(field(2, 0, b"\x01") + field(3, 2, b"\x02\x10\x01"))
    with pytest.raises(tensors.NoNumpyType, match="sequence"):
        tensors.read_tensor(field(2, 0, b"\x01"))
    sequence = field(2, 2, b"\x02" + field(4, 2, b"\x00"))
    tensor = field(2, 2, b"\x02" + field(1, 2, b"\x00"))
    graphs = [field(11, 2, bytes([len(kind)]) + kind) for kind in (sequence, tensor)]
    found = [tensors.has_only_tensors(field(7, 2, bytes([len(graph)]) + graph)) for graph in graphs]
    assert found == [False, True]
    assert tensors.has_only_tensors(b"\xff\xff")


def write_runs(local, *items):
    """Rows of node tests: (case, variant, runtime version, status)."""
    with Journal(local / "journal", "node") as journal:
        journal.environment(environment(torch=None, run_id="run-1"))
        for place, (case, variant, version, status) in enumerate(items):
            done = "done" if status == "pass" else "load"
            row = {
                "run_id": "run-1",
                "env_id": "env-1",
                "measured_at": "2026-01-02T03:04:05Z",
                "bundle": hashlib.sha256(f"{case}{place}".encode()).hexdigest(),
            }
            row.update(corpus="onnx-node", case=case, variant=variant, runtime="onnxruntime", runtime_version=version)
            journal.run({**row, "provider": "cpu", "device": "cpu", "stage": done, "status": status}, {})
    compact(local)


@pytest.fixture
def dataset(tmp_path, monkeypatch):
    (tmp_path / "cases").mkdir()
    monkeypatch.setenv(homes.VARIABLE, str(tmp_path))
    write_runs(
        tmp_path / "results-local",
        ("test_pad", "CenterCropPad-18", "1.14.1", "crash"),
        ("test_pad", "CenterCropPad-18", "1.16.3", "pass"),
        ("test_crop", "CenterCropPad-18", "1.14.1", "pass"),
        ("test_dice", "Bernoulli-15.random", "1.14.1", "fail"),
        ("test_abs", "Abs-13", "1.14.1", "pass"),
    )
    return Dataset.open(None, tmp_path / "results-local")


def ask(*words):
    return CliRunner().invoke(main, ["table", "--by", "runtime", "--corpus", "onnx-node", *words])


def test_operators_are_counted_by_opset_and_release(dataset):
    rows = json.loads(ask("--op", "CenterCropPad", "--json").output)["tables"][0]["rows"]

    assert {row["runtime"]: row["CenterCropPad 18"] for row in rows} == {
        "onnxruntime 1.14.1": {"works": 1, "measured": 2},
        "onnxruntime 1.16.3": {"works": 1, "measured": 1},
    }
    shown = ask("--op", "CenterCropPad")
    assert "CenterCropPad 18" in shown.output and "1/2" in shown.output


def test_an_operator_nobody_knows_is_said_to_be_with_the_nearest_one(dataset):
    assert "CenterCropPad" in ask("--op", "CentreCropPad").output


def test_marked_tests_are_not_counted_and_node_tests_are_no_exported_files(dataset):
    old, new = read_runtimes(dataset, "onnx-node")

    assert old.statuses == {"crash": 1, "pass": 2} and new.statuses == {"pass": 1}
    assert all(line.bundles == 0 for line in read_runtimes(dataset))


def test_node_tests_have_no_torch_release(tmp_path):
    words = ["bundles", "pack", "--corpus", "onnx-node", "--release", "2.8.0", "-o", str(tmp_path / "b.zip")]

    done = CliRunner().invoke(main, words)

    assert done.exit_code == 2
    assert "no torch releases" in done.output


@pytest.mark.parametrize(
    ("onnx", "installed"),
    [
        ("1.23.2", "onnx==1.23.2"),
        ("weekly", "onnx-weekly"),
        ("1.24.0.dev20261026", "onnx-weekly==1.24.0.dev20261026"),
    ],
)
def test_the_weekly_build_is_another_package(onnx, installed):
    assert node_tests.requirement(onnx) == installed


@pytest.mark.real
@pytest.mark.parametrize(("onnx", "least"), [("weekly", 1900), ("1.17.0", 1200)])
def test_the_node_tests_of_other_releases_are_packed(tmp_path, onnx, least):
    assert node_tests.pack_node_tests(tmp_path / "b.zip", onnx).bundles > least


@pytest.mark.real
def test_the_node_tests_of_a_release_of_onnx_are_packed_with_their_marks(tmp_path):
    report = node_tests.pack_node_tests(tmp_path / "b.zip")

    entries = {entry.case: entry for entry in Archive(tmp_path / "b.zip").entries if entry.corpus == "onnx-node"}
    assert report.bundles == len(entries) + 40
    assert len(entries) == 1884
    assert entries["test_center_crop_pad_crop_negative_axes_hwc"].variant == "CenterCropPad-18"
    assert entries["test_bernoulli"].variant.endswith(".random")


def test_a_test_made_on_another_machine_takes_the_older_ones_place_in_what_is_published(tmp_path):
    """Values of another rounding make another bundle of it."""

    def row(bundle, corpus, day, status="pass"):
        return {
            **{"bundle": bundle, "corpus": corpus, "case": "test_a", "variant": "Attention-23", "run_id": "r"},
            **{"runtime": "openvino", "runtime_version": "1", "provider": "cpu", "device": "cpu", "env_id": "e"},
            **{"measured_at": f"2026-01-{day:02}T03:04:05Z", "status": status, "stage": "done"},
        }

    before = [row("a", node_tests.CORPUS, 1), row("c", "probe", 1)]
    local = [row("b", node_tests.CORPUS, 2, "mismatch"), row("d", "probe", 2)]
    for side, mine in (("published", before), ("local", local)):
        writer.write_rows(tmp_path / side / "runs" / "openvino-cpu.parquet", "runs", mine)
        runs = [environment(env_id="e", run_id="r")]
        writer.write_rows(tmp_path / side / "environments.parquet", "environments", runs)
    publish(tmp_path / "local", tmp_path / "published", {})
    found = Dataset.open(tmp_path / "published", None).records("runs")

    tests = [(item["bundle"], item["status"]) for item in found if item["corpus"] == node_tests.CORPUS]
    assert tests == [("b", "mismatch")]
    assert sorted(item["bundle"] for item in found if item["corpus"] == "probe") == ["c", "d"]
