"""A model's file and what is written of it again, held against the opset and IR version that a runtime takes."""

from __future__ import annotations

import pytest
from onnx_bytes import field
from small_dataset import append, bundle, cell, write
from test_touching import TRACE, drawn, graphs, model

import caniexport
from caniexport.answers.answer import AnswerOutcome
from caniexport.answers.model_file import make_model_file
from caniexport.answers.onnx_ops import read_bytes
from caniexport.pages.page import page

#: what onnxruntime 1.15.1 was measured to take, with probes
TAKEN = "onnxruntime 1.15.1 takes opset 19 and IR version 9 at most"


@pytest.fixture
def by_dynamo(tmp_path):
    """A file as torch 2.13 writes it by default: opset 20, IR version 10."""
    content = model("MatMul", "Relu", written_by="2.13.0", opset=20, domain="pkg.torch.ops")
    path = tmp_path / "m.onnx"
    path.write_bytes(content + field(1, 10))
    return path


@pytest.mark.parametrize("before", ["", "ort=1.15.1"], ids=["from its own runtime", "from the same runtime"])
def test_a_model_whose_file_its_runtime_refuses_is_not_said_to_be_spared(results, by_dynamo, before):
    found = caniexport.upgrade(results, before, "2.15.0,ort=1.15.1", model=by_dynamo)

    assert any(TAKEN in note and "a file written there has opset 20 and IR version 10" in note for note in found.notes)
    assert (found.verdict.partition(":")[0], found.outcome) == ("Fails", AnswerOutcome.FAILS)


def test_the_page_judges_a_file_on_the_readers_runtime(kept_results, by_dynamo):
    from dashboard import upload

    file = upload.read_origin(kept_results, "m.onnx", by_dynamo.read_bytes())
    own = page("upgrade", {}, kept_results, file=file).body
    old = page("upgrade", {"runtime": "onnxruntime==1.15.1"}, kept_results, file=file).body

    assert "Not enough measured: too few cases at 2.15.0 with dynamo=True, opset_version=20 are like m.onnx." in own
    assert TAKEN in old
    assert "no known failure touches" not in old


def test_of_a_way_that_its_runtime_takes_the_file_as_it_lies_there_is_told(results, by_dynamo):
    to_trace = caniexport.upgrade(results, "", "2.15.0,exporter=trace,opset=17,ort=1.15.1", model=by_dynamo)

    assert f"The file itself has opset 20 and IR version 10: {TAKEN}, and refuses it." in to_trace.notes


def test_a_file_that_its_runtime_takes_is_told_as_before(results, by_dynamo):
    found = caniexport.upgrade(results, "", "2.15.0,ort=1.31", model=by_dynamo)
    assert not any("refuses" in note for note in found.notes)
    assert make_model_file(read_bytes(by_dynamo.read_bytes(), "m"), "m", ["2.13.0"]).versions.ir == 10


def test_where_every_measured_graph_fails_no_model_is_said_to_be_spared(tmp_path):
    """The two cases that tell of it fail at the target, and neither is in the model."""
    local = write(tmp_path / "results-local", keep=lambda row: False)
    ops = {"relu": ("Relu",), "tanh": ("Tanh",)}
    rows = [cell(torch, case, "plain", TRACE, 18) | {"bundle": bundle(case)} for case in ops for torch in AT]
    append(local, *(row | AT[row["torch"]] for row in rows))
    graphs(local, {bundle(case): drawn(*nodes) for case, nodes in ops.items()})
    path = tmp_path / "m.onnx"
    path.write_bytes(model("Sin", "Cos"))
    found = caniexport.upgrade(caniexport.open(None, local=local), "", "2.15.0,exporter=trace,opset=18", path)

    assert found.verdict == "Fails: nothing written by 2.15.0 with dynamo=False, opset_version=18 runs there."


AT = {"2.8.0": {"status": "pass", "stage": "done"}, "2.15.0": {"status": "fail", "stage": "load"}}
