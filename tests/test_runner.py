"""The runner: an archive that runs itself, and whatever a bundle does to the process, a row for each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from stand_in_runtime import archive, install

from caniexport.bundles.pack import make_bundle, probe_entries
from caniexport.model.rows import RUNS
from caniexport.runner import tensors, wire
from caniexport.runner.archive import Archive, UnusableArchive, UnusableBundle, unpack


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    return install(tmp_path_factory.mktemp("site"))


def run(file, out, packages, *more, provider="cpu"):
    """Run an archive as a user does on a box that has nothing of ours: no code of this repository on the path."""
    environment = {**os.environ, "PYTHONPATH": str(packages), "ONCE": str(out) + ".once"}
    command = [sys.executable, str(file), "--runtime", "onnxruntime", "--provider", provider, "-o", str(out), *more]
    return subprocess.run(
        command, cwd=out.parent, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def rows(out):
    """The rows by case, and the texts."""
    found, texts = {}, {}
    for path in (out / "journal").glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if entry["kind"] == "run":
                found[entry["row"].get("case")] = entry["row"]
                texts.update(entry["messages"])
    return found, texts


def ends(out):
    return {case: (row["stage"], row["status"]) for case, row in rows(out)[0].items()}


def test_an_archive_runs_itself_and_whatever_a_bundle_does_it_and_its_neighbours_have_their_rows(tmp_path, packages):
    """A process that OpenVINO forks at import may never end: it would hold the archive, and memory, for ever."""
    faults = ("segfault", "killed", "hang", "abort", "once", "refuse", "fork", "shared", "reuse", "spoilt")
    done_before, *_ = archive(tmp_path / "b.zip", "before", "relu", *faults, "wrong", spoilt="spoilt")
    (tmp_path / "done").write_text(done_before.key, encoding="utf-8")

    words = ["--timeout", "3", "--memory", "256", "--done", str(tmp_path / "done")]
    done = run(tmp_path / "b.zip", tmp_path / "out", packages, *words)

    assert done.returncode == 0, done.stderr
    assert "onnxruntime 9.9.9 on cpu: 12 bundles" in done.stdout
    assert ends(tmp_path / "out") == {
        "relu": ("done", "pass"),
        "segfault": ("load", "crash"),
        # from outside, as far as anybody can see: no crash of the bundle
        "killed": ("run", "invalid"),
        "hang": ("load", "timeout"),
        "abort": ("run", "crash"),
        # its process died once
        "once": ("done", "pass"),
        "refuse": ("load", "fail"),
        "fork": ("done", "pass"),
        # memory that is mapped as shared counts too
        "shared": ("load", "oom"),
        # the same memory for each input set
        "reuse": ("done", "pass"),
        "spoilt": ("load", "invalid"),
        "wrong": ("compare", "mismatch"),
    }
    found, texts = rows(tmp_path / "out")
    assert found["relu"]["runtime_version"] == "9.9.9"
    assert found["relu"].keys() <= {column.name for column in RUNS}
    assert found["refuse"]["signature"].startswith("load|RuntimeError|Fatal error: my.dom:FooBar")
    assert "SIGSEGV" in found["segfault"]["signature"]
    for word, said in (
        ("wrong", "3 of 3 values differ"),
        ("abort", "terminate called"),
        ("hang", "still running after 6 s"),
        ("spoilt", "its content is that of"),
    ):
        assert said in texts[found[word]["message_id"]]
    left = subprocess.run(["pgrep", "-f", str(tmp_path / "b.zip")], capture_output=True, text=True, check=False)
    assert left.stdout == ""


def test_two_packages_of_onnxruntime_in_one_folder_are_refused(tmp_path):
    packages = install(tmp_path / "site", "onnxruntime-1.30.0", "onnxruntime-gpu-1.31.1")
    archive(tmp_path / "b.zip", "relu", "wrong")

    done = run(tmp_path / "b.zip", tmp_path / "out", packages)

    assert done.returncode == 1
    assert "onnxruntime 1.30.0 and onnxruntime-gpu 1.31.1 are installed together" in done.stderr
    assert ends(tmp_path / "out") == {None: ("resolve", "not_run")}


def test_an_unknown_runtime_or_provider_is_wrong_use(tmp_path, packages):
    archive(tmp_path / "b.zip", "relu")

    assert run(tmp_path / "b.zip", tmp_path / "out", packages, provider="cdua").returncode == 2
    assert not (tmp_path / "out").exists()


def test_an_archive_that_was_cut_off_is_said_to_be(tmp_path):
    archive(tmp_path / "b.zip", "relu", "wrong")
    data = (tmp_path / "b.zip").read_bytes()
    (tmp_path / "b.zip").write_bytes(data[: len(data) // 2])

    with pytest.raises(UnusableArchive, match=r"b\.zip: no archive of bundles, or cut off"):
        Archive(tmp_path / "b.zip")


def test_a_file_in_a_bundle_that_points_outside_is_refused():
    name, data = make_bundle([("model.onnx", b"relu"), ("../../evil.pb", b"x")])

    with pytest.raises(UnusableBundle, match="does not belong into a bundle"):
        unpack(name, data)


def test_the_probes_are_models_of_their_opset_and_ir_version():
    found = {(entry.case, entry.variant): unpack(entry.bundle, data) for entry, data in probe_entries()}

    model = wire.group_fields(found["probe-opset", "opset_17"].model)
    opset = wire.group_fields(model[8][0][1])
    assert wire.read_integers(model[1]) == [4]
    assert wire.read_integers(opset[2]) == [17]
    assert wire.read_integers(wire.group_fields(found["probe-ir", "ir_9"].model)[1]) == [9]
    expected = found["probe-opset", "opset_17"].outputs[0][0]
    assert tensors.read_tensor(expected).tolist() == [0.0, 0.0, 2.5]


def field(number, kind, content):
    """One field of the wire format; ``content`` as it is behind the tag."""
    return bytes([number << 3 | kind]) + content


def test_tensors_are_read_in_every_form_that_the_format_has():
    packed = field(1, 2, b"\x02\x02\x01") + field(2, 0, b"\x07") + field(7, 2, b"\x0b\x05" + b"\xff" * 9 + b"\x01")
    half = field(1, 0, b"\x01") + field(2, 0, b"\x0a") + field(5, 0, b"\x80\x78")
    text = field(1, 0, b"\x01") + field(2, 0, b"\x08") + field(6, 2, b"\x03abc")
    raw = field(2, 0, b"\x06") + field(9, 2, b"\x04" + np.int32(-7).tobytes())

    assert tensors.read_tensor(packed).tolist() == [[5], [-1]]
    assert tensors.read_tensor(half).tolist() == [1.0] and tensors.read_tensor(half).dtype == "float16"
    assert tensors.read_tensor(text).tolist() == ["abc"]
    assert tensors.read_tensor(raw).shape == () and int(tensors.read_tensor(raw)) == -7


def test_a_type_that_numpy_has_not_is_named():
    with pytest.raises(tensors.NoNumpyType, match="bfloat16"):
        tensors.read_tensor(field(1, 0, b"\x01") + field(2, 0, b"\x10") + field(5, 0, b"\x00"))


def test_an_archive_carries_what_the_runner_imports_and_nothing_that_needs_torch(tmp_path):
    archive(tmp_path / "b.zip", "relu")
    with zipfile.ZipFile(tmp_path / "b.zip") as file:
        carried = {name for name in file.namelist() if name.startswith("caniexport/")}

    assert all(Path(name).parts[1] in ("model", "runner", "worker", "__init__.py") for name in carried)
    assert "caniexport/worker/cell.py" not in carried
