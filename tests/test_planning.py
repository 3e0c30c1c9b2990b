"""What a project depends on: its ONNX file, its operators, where it may go."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from onnx_bytes import field, varint
from small_dataset import append, cell, write

from caniexport.answers import onnx_ops
from caniexport.cli import main
from caniexport.operators import operator_key

ROOT = Path(__file__).resolve().parents[1]
TRACE, DEFAULT = "torchscript-trace", ("default", None)


@pytest.fixture
def home(tmp_path, monkeypatch):
    (tmp_path / "cases").mkdir()
    write(tmp_path / "results-local")
    monkeypatch.setenv("CANIEXPORT_HOME", str(tmp_path))
    return tmp_path


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def data(*words):
    return json.loads(run(*words, "--json").stdout)


# --- an ONNX file, written by hand: the answering half has no onnx


def node(op, domain="", inner=b"", fx=""):
    metadata = field(9, field(1, "pkg.torch.onnx.fx_node") + field(2, fx)) if fx else b""
    attribute = field(5, field(1, "body") + field(6, inner)) if inner else b""
    return field(1, field(4, op) + field(7, domain) + attribute + metadata)


def model(graph):
    opsets = field(8, field(1, "") + field(2, 18)) + field(8, field(1, "pkg") + field(2, 1))
    return field(1, 8) + field(2, "pytorch") + opsets + field(7, graph)


def write_model(path, graph=None):
    fx = "%grid : call_function[target=torch.ops.aten.grid_sampler.default](args = (%x))"
    loop = node("Loop", inner=node("Relu"))
    path.write_bytes(model(graph if graph is not None else node("GridSample", fx=fx) + loop + node("Own", "custom")))
    return path


def test_the_operators_of_a_model_are_those_of_its_subgraphs_too_and_torchs_where_they_are_left(home, tmp_path):
    path = write_model(tmp_path / "m.onnx")
    assert onnx_ops.read(path).torch == ("aten::grid_sampler",)
    found = run("upgrade", "--from", "1.12.1", "--to", "2.8.0", "--model", path)

    assert "m.onnx: opset 18, 4 nodes of 3 ONNX operators, written by pytorch with dynamo" in found.output


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"# a text file\n", "is not an ONNX file"),
        (b"PK\x03\x04" + b"\0" * 400, "is not an ONNX file"),
        (model(node("Relu"))[:-3], "is truncated or damaged"),
        (field(1, 8) + field(2, "pytorch"), "is not an ONNX file"),
    ],
)
def test_a_file_that_is_no_readable_model_is_an_error_in_one_line(home, tmp_path, content, says):
    path = tmp_path / "bad.onnx"
    path.write_bytes(content)

    reply = run("upgrade", "--from", "1.12.1", "--to", "2.8.0", "--model", path)
    assert reply.exit_code == 1
    assert says in reply.output
    assert "bad.onnx" in reply.output
    assert isinstance(reply.exception, SystemExit)


def test_a_model_that_is_not_there_is_wrong_use_in_one_line(home, tmp_path):
    reply = run("upgrade", "--from", "1.12.1", "--to", "2.8.0", "--model", tmp_path / "none.onnx")

    assert (reply.exit_code, isinstance(reply.exception, SystemExit)) == (2, True)


def test_external_data_that_is_missing_is_named_and_the_answer_given(home, tmp_path):
    pair = field(13, field(1, "location") + field(2, "weights.bin"))
    path = write_model(tmp_path / "m.onnx", node("GridSample") + field(5, pair))

    reply = run("upgrade", "--from", "1.12.1", "--to", "2.8.0", "--model", path)
    assert "weights.bin" in reply.output
    assert "1 ONNX operator" in reply.output
    (tmp_path / "weights.bin").write_bytes(b"")
    assert onnx_ops.read(path).missing == ()


def test_a_huge_model_is_read_without_its_weights_in_memory(tmp_path):
    path = tmp_path / "huge.onnx"
    size = 3 * 2**30
    weights = field(1, node("Relu")[2:])[:0] + varint(5 << 3 | 2) + varint(size + 6) + varint(9 << 3 | 2) + varint(size)
    graph_head = node("GridSample") + weights
    total = len(graph_head) + size
    with path.open("wb") as file:
        file.write(field(1, 8) + varint(7 << 3 | 2) + varint(total) + graph_head)
        file.truncate(file.tell() + size)  # sparse: no disk is used

    assert onnx_ops.read(path).onnx == ("GridSample",)


def test_subgraphs_that_never_end_are_refused(tmp_path):
    graph = node("Relu")
    for _ in range(300):
        graph = node("Loop", inner=graph)

    with pytest.raises(onnx_ops.BadModel, match="deep"):
        onnx_ops.read(write_model(tmp_path / "deep.onnx", graph))


# --- operators by their names


@pytest.mark.parametrize(
    "names",
    [
        "aten::grid_sampler, aten::grid_sampler.default, torch.grid_sampler, GridSampler, F.grid_sample, GridSample",
        "SDPA, GQA, F.scaled_dot_product_attention, aten::_scaled_dot_product_flash_attention, flash attention",
        "MHA, nn.MultiheadAttention, aten::_native_multi_head_attention",
        "NMS, torchvision.ops.nms, torchvision::nms",
        "nn.LSTM, torch.lstm, LSTM, aten::lstm.input",
        "Tensor.index_put_, torch.ops.aten.index_put_.default, index_put",
        "F.interpolate, nn.Upsample, Resize",
        "nn.BatchNorm2d, BatchNormalization, aten::batch_norm",
        "nn.InstanceNorm2d, InstanceNormalization, F.instance_norm",
        "nn.LayerNorm, LayerNormalization, layer norm",
        "torch.linalg.inv, torch.inverse",
        "torch.linalg.cross, aten::linalg_cross",
        "torch.fft.rfft, aten::fft_rfft",
        "F.avg_pool2d, nn.AvgPool2d, AveragePool",
        "torch.tensor_split, aten::tensor_split",
        "x.view, Tensor.view, aten::view",
        "RoPE, RotaryEmbedding",
    ],
)
def test_an_operator_is_known_by_any_of_its_names(names):
    assert len({operator_key(name) for name in names.split(", ")}) == 1


@pytest.mark.parametrize("command", [("table",), ("upgrade", "--from", "1.12", "--to", "2.8"), ("workaround",)])
def test_every_command_takes_an_operator_by_any_of_its_names_and_a_release_by_its_series(home, command):
    for name in ("torch.cross", "torch.ops.aten.cross.default"):
        release = () if command[0] == "upgrade" else ("--torch", "2.8")
        # 1: so small a dataset knows too little
        assert run(*command, "--op", name, *release).exit_code < 2


def test_an_operator_where_a_case_is_wanted_is_answered_with_its_cases(home):
    asked = run("why", "F.grid_sample")
    assert asked.exit_code == 0
    assert "documented cases" in asked.stdout and "grid-sample" in asked.stdout

    refused = run("table", "--case", "F.grid_sample")
    assert refused.exit_code == 2
    assert "'F.grid_sample' is no case, and an operator of 1 case: grid-sample" in refused.output


def test_an_operator_that_is_known_and_no_case_is_about_is_told_apart_from_a_typo(home):
    for name in ("NMS", "SDPA"):
        assert "no case of the corpus is about it (`caniexport check`" in run("table", "--op", name).output
    asked = run("why", "NMS")
    assert (asked.exit_code, "nearest" in asked.output) == (2, False)
    assert "'NMS' is no case, and an operator that no case of the corpus is about" in asked.output
    assert "nearest: aten::cross" in run("table", "--op", "corss").output


def test_tox_lists_the_releases_and_nothing_that_means_none():
    line = [sys.executable, "-m", "tox", "list"]
    reply = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    listed = [text.split(" ")[0] for text in reply.stdout.splitlines() if "->" in text]
    assert reply.returncode == 0, reply.stderr
    assert listed[0].startswith("torch")
    assert "py" not in listed


# --- how far one can go


def test_what_failed_before_and_crashes_there_is_no_break_and_is_told(home):
    crash = {"status": "crash", "stage": "run", "measured_at": "2026-11-21T10:00:00Z"}
    failed = {**crash, "status": "fail", "stage": "export"}
    append(
        home / "results-local",
        *(cell("2.8.0", "cross", "plain", *DEFAULT) | failed, cell("2.15.0", "cross", "plain", TRACE, 18) | crash),
    )

    found = data("upgrade", "--from", "2.8.0", "--to", "2.15.0,opset=18")
    (row,) = found["tables"][1]["rows"]
    assert (row["case"]["case"], row["becomes"]) == ("cross", {"word": "crash", "text": "error→crash"})


def test_a_case_that_crashes_where_it_worked_breaks_and_is_told_with_its_workaround(home):
    crash = {"status": "crash", "stage": "run", "measured_at": "2026-11-21T10:00:00Z"}
    append(home / "results-local", *(cell("2.15.0", "cross", "plain", *at) | crash for at in (DEFAULT, (TRACE, 20))))

    named = data("upgrade", "--from", "2.8.0", "--to", "2.15.0,opset=20")
    assert [(row["case"]["case"], row["workaround"]) for row in named["tables"][1]["rows"]] == [
        ("cross", "stack_rewrite")
    ]


def test_what_failed_before_and_is_silently_wrong_there_is_no_break_and_is_told(home):
    wrong = {"status": "mismatch", "stage": "compare", "measured_at": "2026-11-21T10:00:00Z"}
    failed = {**wrong, "status": "fail", "stage": "export"}
    local = home / "results-local"
    append(
        local, cell("2.8.0", "cross", "plain", *DEFAULT) | failed, cell("2.15.0", "cross", "plain", TRACE, 18) | wrong
    )

    found = data("upgrade", "--from", "2.8.0", "--to", "2.15.0,opset=18")
    assert (found["tables"][0]["rows"][0]["breaks"], found["tables"][0]["rows"][0]["error→wrong"]) == (0, 1)
    (row,) = found["tables"][1]["rows"]
    assert (row["case"]["case"], row["becomes"]) == ("cross", {"word": "mismatch", "text": "error→wrong"})
