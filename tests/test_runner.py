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
from caniexport.runner.archive import Archive, UnusableArchive, unpack


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


def test_an_archive_runs_itself_and_writes_a_row_for_each_bundle(tmp_path, packages):
    archive(tmp_path / "b.zip", "relu", "wrong", "refuse")

    done = run(tmp_path / "b.zip", tmp_path / "out", packages)

    assert done.returncode == 0, done.stderr
    assert "onnxruntime 9.9.9 on cpu: 3 bundles" in done.stdout
    assert ends(tmp_path / "out") == {
        "relu": ("done", "pass"),
        "wrong": ("compare", "mismatch"),
        "refuse": ("load", "fail"),
    }
    found, texts = rows(tmp_path / "out")
    assert found["relu"]["runtime_version"] == "9.9.9"
    assert found["relu"].keys() <= {column.name for column in RUNS}
    assert found["refuse"]["signature"].startswith("load|RuntimeError|Fatal error: my.dom:FooBar")
    assert "3 of 3 values differ" in texts[found["wrong"]["message_id"]]


def test_a_runtime_that_gives_the_same_memory_for_each_input_set_is_judged_by_what_it_gave(tmp_path, packages):
    archive(tmp_path / "b.zip", "reuse")

    done = run(tmp_path / "b.zip", tmp_path / "out", packages)

    assert done.returncode == 0, done.stderr
    assert ends(tmp_path / "out") == {"reuse": ("done", "pass")}


def test_a_crash_or_a_hang_is_that_bundles_row_and_its_neighbours_have_theirs(tmp_path, packages):
    archive(tmp_path / "b.zip", "relu", "segfault", "wrong", "hang", "abort", "refuse")

    done = run(tmp_path / "b.zip", tmp_path / "out", packages, "--timeout", "3")

    assert done.returncode == 0, done.stderr
    assert ends(tmp_path / "out") == {
        "relu": ("done", "pass"),
        "segfault": ("load", "crash"),
        "wrong": ("compare", "mismatch"),
        "hang": ("load", "timeout"),
        "abort": ("run", "crash"),
        "refuse": ("load", "fail"),
    }
    found, texts = rows(tmp_path / "out")
    assert "SIGSEGV" in found["segfault"]["signature"]
    assert "terminate called" in texts[found["abort"]["message_id"]]
    assert "still running after 6 s" in texts[found["hang"]["message_id"]]


def test_a_process_that_a_runtime_starts_ends_with_the_run(tmp_path, packages):
    """OpenVINO forks one at import that may never end: it would hold the archive, and memory, for ever."""
    archive(tmp_path / "b.zip", "relu", "fork", "wrong")

    done = run(tmp_path / "b.zip", tmp_path / "out", packages)

    assert done.returncode == 0, done.stderr
    assert ends(tmp_path / "out")["fork"] == ("done", "pass")
    left = subprocess.run(["pgrep", "-f", str(tmp_path / "b.zip")], capture_output=True, text=True, check=False)
    assert left.stdout == ""


def test_memory_that_a_runtime_maps_as_shared_counts_too(tmp_path, packages):
    archive(tmp_path / "b.zip", "relu", "shared", "wrong")

    run(tmp_path / "b.zip", tmp_path / "out", packages, "--memory", "256")

    assert ends(tmp_path / "out") == {
        "relu": ("done", "pass"),
        "shared": ("load", "oom"),
        "wrong": ("compare", "mismatch"),
    }


def test_a_process_that_dies_once_does_not_cost_the_bundle_its_row(tmp_path, packages):
    archive(tmp_path / "b.zip", "relu", "once", "wrong")

    run(tmp_path / "b.zip", tmp_path / "out", packages)

    assert ends(tmp_path / "out")["once"] == ("done", "pass")


@pytest.mark.parametrize("words", [("once", "relu"), ("killed", "relu"), ("relu", "killed")])
def test_a_kill_from_outside_is_no_crash_of_a_bundle(tmp_path, packages, words):
    archive(tmp_path / "b.zip", *words)

    run(tmp_path / "b.zip", tmp_path / "out", packages)

    outcomes = {"once": ("done", "pass"), "relu": ("done", "pass"), "killed": ("run", "invalid")}
    assert ends(tmp_path / "out") == {word: outcomes[word] for word in words}


def test_a_bundle_whose_content_is_another_ones_says_nothing_about_the_runtime(tmp_path, packages):
    archive(tmp_path / "b.zip", "relu", "wrong", spoilt="wrong")

    run(tmp_path / "b.zip", tmp_path / "out", packages)

    assert ends(tmp_path / "out") == {"relu": ("done", "pass"), "wrong": ("load", "invalid")}
    found, texts = rows(tmp_path / "out")
    assert "its content is that of" in texts[found["wrong"]["message_id"]]


def test_bundles_that_are_done_are_not_run_again(tmp_path, packages):
    first, _ = archive(tmp_path / "b.zip", "relu", "wrong")
    (tmp_path / "done").write_text(first.key, encoding="utf-8")

    run(tmp_path / "b.zip", tmp_path / "out", packages, "--done", str(tmp_path / "done"))

    assert ends(tmp_path / "out") == {"wrong": ("compare", "mismatch")}


def test_two_packages_of_onnxruntime_in_one_folder_are_refused(tmp_path):
    packages = install(tmp_path / "site", "onnxruntime-1.30.0", "onnxruntime-gpu-1.31.1")
    archive(tmp_path / "b.zip", "relu", "wrong")

    done = run(tmp_path / "b.zip", tmp_path / "out", packages)

    assert done.returncode == 1
    assert "onnxruntime 1.30.0 and onnxruntime-gpu 1.31.1 are installed together" in done.stderr
    assert ends(tmp_path / "out") == {None: ("resolve", "not_run")}


def test_a_runtime_that_is_not_installed_is_one_row(tmp_path):
    archive(tmp_path / "b.zip", "relu", "wrong")
    (tmp_path / "empty").mkdir()

    done = run(tmp_path / "b.zip", tmp_path / "out", tmp_path / "empty")

    assert done.returncode == 1
    assert "onnxruntime does not import" in done.stderr
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


@pytest.mark.parametrize("name", ["../evil.py", "/etc/evil", "..\\evil"])
def test_an_entry_that_points_outside_the_archive_is_refused(tmp_path, name):
    archive(tmp_path / "b.zip", "relu")
    with zipfile.ZipFile(tmp_path / "b.zip", "a") as file:
        file.writestr(zipfile.ZipInfo(name), b"x")

    with pytest.raises(UnusableArchive, match="points outside"):
        Archive(tmp_path / "b.zip")


def test_a_file_in_a_bundle_that_points_outside_is_refused():
    from caniexport.runner.archive import UnusableBundle

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


@pytest.mark.parametrize("cut", [1, 5, 12])
def test_a_tensor_that_is_cut_off_is_no_tensor(cut):
    whole = field(1, 2, b"\x01\x02") + field(2, 0, b"\x01") + field(9, 2, b"\x08" + np.zeros(2, "f4").tobytes())
    assert tensors.read_tensor(whole).tolist() == [0.0, 0.0]

    with pytest.raises(wire.Malformed):
        tensors.read_tensor(whole[:cut])


def test_a_type_that_numpy_has_not_is_named():
    with pytest.raises(tensors.NoNumpyType, match="bfloat16"):
        tensors.read_tensor(field(1, 0, b"\x01") + field(2, 0, b"\x10") + field(5, 0, b"\x00"))


def test_the_archive_carries_what_the_runner_imports_and_no_more(tmp_path):
    archive(tmp_path / "b.zip", "relu")
    with zipfile.ZipFile(tmp_path / "b.zip") as file:
        carried = {name for name in file.namelist() if name.startswith("caniexport/")}

    assert all(Path(name).parts[1] in ("model", "runner", "worker", "__init__.py") for name in carried)
    assert "caniexport/worker/cell.py" not in carried
