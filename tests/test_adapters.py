"""The runtimes: what is asked for is what runs, or the row says what is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from onnx_bytes import field, node, value
from stand_in_runtime import archive, install
from test_runner import ends, rows, run

from caniexport.bundles.pack import archive_bytes, make_bundle, probe_entries
from caniexport.machine import interpreters
from caniexport.runner import adapters
from caniexport.runner.adapters import placement
from caniexport.runner.archive import ArchiveEntry


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    return install(tmp_path_factory.mktemp("site"))


DRIVER = "CUDA failure 35: CUDA driver version is insufficient for CUDA runtime version"
NOT_LOADED = "asked for CUDAExecutionProvider, the session runs on CPUExecutionProvider"


@pytest.mark.parametrize(
    ("provider", "logged", "says", "text"),
    [
        ("cuda", "", NOT_LOADED, "libcublasLt.so.13: cannot open"),
        ("cuda", DRIVER, NOT_LOADED, DRIVER),
        ("tensorrt", "", "no TensorrtExecutionProvider compiled in (it has CUDAExecutionProvider", "compiled in"),
    ],
    ids=["a library lacks", "the driver is too old", "not compiled in"],
)
def test_a_provider_that_does_not_work_is_one_row_with_the_logged_reason(
    tmp_path, packages, monkeypatch, provider, logged, says, text
):
    if logged:
        monkeypatch.setenv("CUDA_SAYS", logged)
    archive(tmp_path / "b.zip", "relu", "wrong")

    done = run(tmp_path / "b.zip", tmp_path / "out", packages, provider=provider)

    assert done.returncode == 1
    assert says in done.stderr
    assert ends(tmp_path / "out") == {None: ("resolve", "not_run")}
    found, texts = rows(tmp_path / "out")
    assert text in texts[found[None]["message_id"]]
    assert found[None]["runtime_version"] == "9.9.9"


def test_nodes_that_stay_on_the_cpu_are_counted_and_the_row_is_degraded(tmp_path, packages):
    archive(tmp_path / "b.zip", "relu", "split", "oom", "left", "refuse")

    done = run(tmp_path / "b.zip", tmp_path / "out", packages, provider="openvino")

    assert done.returncode == 0, done.stderr
    assert ends(tmp_path / "out") == {
        "relu": ("done", "pass"),
        "split": ("done", "degraded"),
        "oom": ("run", "oom"),
        "left": ("place", "unsupported"),
        "refuse": ("load", "fail"),
    }
    found, texts = rows(tmp_path / "out")
    assert json.loads(found["relu"]["placement"]) == {"OpenVINOExecutionProvider": 1}
    assert json.loads(found["split"]["placement"]) == {"CPUExecutionProvider": 2, "OpenVINOExecutionProvider": 1}
    said = texts[found["split"]["message_id"]]
    assert said == "2 of 3 nodes run elsewhere; CPUExecutionProvider: Gather, Relu"
    assert "no node runs on OpenVINOExecutionProvider" in texts[found["left"]["message_id"]]


def test_a_node_in_a_loop_counts_once_and_what_is_no_kernel_does_not():
    def event(name, provider, op):
        return {"cat": "Node", "name": name, "args": {"provider": provider, "op_name": op, "node_index": "3"}}

    events = [event("a_kernel_time", "A", "Relu")] * 2 + [event("b_kernel_time", "B", "Gather")]
    events += [event("a_fence_before", "A", "Relu"), {"cat": "Session", "name": "model_run"}]

    found = placement.count_nodes(events)
    assert {provider: dict(ops) for provider, ops in found.items()} == {"A": {"Relu": 1}, "B": {"Gather": 1}}


@pytest.mark.parametrize("runtime", adapters.ADAPTERS)
def test_a_runtime_whose_package_is_not_there_is_one_row_that_says_so(tmp_path, runtime):
    archive(tmp_path / "b.zip", "relu", "wrong")
    command = [sys.executable, "-S", str(tmp_path / "b.zip"), "--runtime", runtime, "-o", str(tmp_path / "out")]
    environment = {**os.environ, "PYTHONPATH": numpy_alone(tmp_path)}

    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 1, done.stderr
    assert "does not import: No module named" in done.stderr
    assert ends(tmp_path / "out") == {None: ("resolve", "not_run")}
    provider = rows(tmp_path / "out")[0][None]["provider"]
    assert provider == adapters.find_adapter(runtime, "").providers[0]


def numpy_alone(folder):
    """A folder that has numpy and nothing else of this environment."""
    import numpy

    place = folder / "site"
    place.mkdir()
    package = os.path.dirname(numpy.__file__)  # noqa: PTH120  # beside its libraries' folder
    for name in (package, package + ".libs"):
        if os.path.isdir(name):  # noqa: PTH112
            (place / os.path.basename(name)).symlink_to(name)  # noqa: PTH119
    return str(place)


REAL = [
    ("onnxruntime", "cpu", "onnxruntime==1.31.1", 0),
    ("onnxruntime", "cuda", "onnxruntime==1.31.1", 1),
    ("onnxruntime", "openvino", "onnxruntime-openvino==1.24.1", 0),
    ("onnx-reference", "cpu", "onnx==1.23.2", 0),
    ("openvino", "cpu", "openvino==2026.4.1", 0),
    ("tract", "cpu", "tract==0.23.9", 0),
    ("tensorrt-rtx", "none", "tensorrt-rtx-cu13-libs==1.7.1.116 tensorrt-rtx-cu13-bindings==1.7.1.116", 0),
    ("tensorrt", "none", "tensorrt-cu13-bindings==11.4.0.106", 1),
]


def with_packages(folder, packages, *words):
    """Run ``b.zip`` in an environment that has numpy and these packages; its rows are in ``out``."""
    python = str(interpreters.find_python("3.12"))
    command = [interpreters.find_uv(), "run", "-q", "--no-project", "--isolated", "--python", python, "--with", "numpy"]
    for package in packages.split():
        command += ["--with", package]
    command += ["python", "b.zip", *words, "-o", "out"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.real
@pytest.mark.parametrize(("runtime", "provider", "packages", "code"), REAL)
def test_the_probes_run_on_the_real_runtime(tmp_path, runtime, provider, packages, code):
    every = list(probe_entries())
    sources = {entry.bundle: lambda data=data: data for entry, data in every}
    (tmp_path / "b.zip").write_bytes(archive_bytes([entry for entry, _ in every], sources, {}))

    done = with_packages(tmp_path, packages, "--runtime", runtime, "--provider", provider)

    assert done.returncode == code, done.stderr
    if code:
        assert ends(tmp_path / "out") == {None: ("resolve", "not_run")}
        return
    lines = next((tmp_path / "out" / "journal").glob("*.jsonl")).read_text(encoding="utf-8").splitlines()
    found = [entry["row"] for entry in map(json.loads, lines) if entry["kind"] == "run"]
    assert len(found) == len(every)
    assert {row["status"] for row in found if row["variant"] == "opset_17"} == {"pass"}
    if provider == "openvino":
        # the real provider, held against the CPU provider in its process
        facts = [json.loads(row["facts"]) for row in found if row["status"] == "pass"]
        assert {item["precision"] for item in facts} == {"float32"}
        assert all(item["cpu"]["status"] == "pass" and item["cpu"]["agrees"] for item in facts)


#: what each runtime does with a size that the file fixes at another number
OTHER_SIZE = [
    ("onnxruntime", "onnxruntime==1.31.1", "Got: 5 Expected: 4"),
    ("openvino", "openvino==2026.4.1", "incompatible"),
    ("tract", "tract==0.23.9", "4=4 != 5"),
]


@pytest.mark.real
@pytest.mark.parametrize(("runtime", "packages", "words"), OTHER_SIZE)
def test_a_size_that_a_file_with_a_free_axis_fixes_is_refused_and_not_answered_with_the_output_before(
    tmp_path, monkeypatch, runtime, packages, words
):
    """y = Conv(x, 2) of sizes [batch, 1, 4]: the second input set has the size 5."""
    files = [("model.onnx", convolution())]
    for place, shape in enumerate([(1, 1, 4), (1, 1, 5)]):
        values = np.arange(1, 1 + shape[-1], dtype="<f4").reshape(shape) + place
        files.append((f"test_data_set_{place}/input_0.pb", tensor(values)))
        files.append((f"test_data_set_{place}/output_0.pb", tensor(values * 2)))
    name, data = make_bundle(files)
    entry = ArchiveEntry(name, "documented", "conv", "plain")
    (tmp_path / "b.zip").write_bytes(archive_bytes([entry], {name: lambda: data}, {}))

    monkeypatch.setenv("RUST_BACKTRACE", "1")
    done = with_packages(tmp_path, packages, "--runtime", runtime)

    assert done.returncode == 0, done.stderr
    found, texts = rows(tmp_path / "out")
    said = texts[found["conv"]["message_id"]]
    assert (ends(tmp_path / "out"), said.partition(":")[0]) == ({"conv": ("run", "fail")}, "input set 1")
    assert words in said
    assert "Stack backtrace" not in said


def convolution():
    """``ModelProto``: a batch of one row of four floats, each times two, opset 13."""
    weight = tensor(np.full((1, 1, 1), 2, "<f4")) + field(8, "w")
    graph = field(1, node("Conv", ["x", "w"], ["y"])) + field(2, "g") + field(5, weight)
    return opset_13(graph + field(11, value("x", 1, "batch", 1, 4)) + field(12, value("y", 1, "batch", 1, 4)))


def opset_13(graph):
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13))


def tensor(values):
    """``TensorProto`` of float32 values in their shape."""
    return b"".join(field(1, size) for size in values.shape) + field(2, 1) + field(9, values.tobytes())


@pytest.mark.real
def test_the_real_tensorrt_rtx_builds_a_file_whose_input_is_a_shape(tmp_path):
    """y = Reshape(x, s): the values of s come from the bundle, without which nothing can be built."""
    shape = field(1, 2) + field(2, 7) + field(9, np.array([2, 3], "<i8").tobytes())
    name, data = make_bundle(
        [
            ("model.onnx", reshape()),
            ("test_data_set_0/input_0.pb", tensor(np.arange(6, dtype="<f4"))),
            ("test_data_set_0/input_1.pb", shape),
            ("test_data_set_0/output_0.pb", tensor(np.arange(6, dtype="<f4"))),
        ]
    )
    entry = ArchiveEntry(name, "documented", "reshape", "plain")
    (tmp_path / "b.zip").write_bytes(archive_bytes([entry], {name: lambda: data}, {}))
    packages = "tensorrt-rtx-cu13-libs==1.7.1.116 tensorrt-rtx-cu13-bindings==1.7.1.116"

    done = with_packages(tmp_path, packages, "--runtime", "tensorrt-rtx")

    assert done.returncode == 0, done.stderr
    assert ends(tmp_path / "out") == {"reshape": ("done", "pass")}, rows(tmp_path / "out")[1]


def reshape():
    """``ModelProto``: six floats and a shape of two sizes in, opset 13."""
    inputs = field(11, value("x", 1, 6)) + field(11, value("s", 7, 2))
    graph = field(1, node("Reshape", ["x", "s"], ["y"])) + field(2, "g") + inputs
    return opset_13(graph + field(12, value("y", 1, "a", "b")))
