"""The rules that decide words of answers and stand in docs/verdicts.md, each on rows made for it."""

from __future__ import annotations

import pytest
from small_dataset import append, bundle, cell, write

from caniexport.answers.defaults import DefaultFiles, OwnOpsets, choose_opset
from caniexport.answers.points import Places, parse
from caniexport.answers.reading import load
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.scope import named
from caniexport.answers.workaround import standings
from caniexport.model.rows import RUNS
from caniexport.model.status import Status
from caniexport.store import Dataset
from caniexport.store.views import Views

TRACE, DYNAMO = "torchscript-trace", "dynamo"


@pytest.fixture
def local(tmp_path):
    return write(tmp_path / "results-local")


def canary(torch, exporter, opset, **changes):
    row = cell(torch, "cross", "plain", exporter, opset)
    row.update(corpus="canary", case="canary-pass", status="pass", stage="done", signature=None, message_id=None)
    row.update(opset_effective=opset, exporter_effective=exporter, measured_at="2026-11-21T10:00:00Z")
    return {**row, **changes}


def later():
    """Newer than the rows of the small dataset."""
    return {"measured_at": "2026-11-21T10:00:00Z"}


def replayed(name, **changes):
    row = dict.fromkeys(column.name for column in RUNS)
    row.update(bundle=bundle(name), corpus="canary", case="canary-pass", variant="plain", runtime="onnxruntime")
    row.update(runtime_version="1.20.1", provider="cpu", env_id="env-ort", run_id="r", status="pass", stage="done")
    return {**row, **later(), **changes}


# --- the opset at which a release is judged


def test_an_exporter_is_judged_at_the_opset_that_it_writes_by_itself():
    """torch 2.5: a default call takes the TorchScript exporter and writes 17; dynamo, when only it is named, 18."""
    own = OwnOpsets(
        [
            DefaultFiles("2.5.1", TRACE, 17, 850),
            DefaultFiles("2.5.1", DYNAMO, 18, 20),
            DefaultFiles("2.5.1", None, None, 9),
        ]
    )

    assert own.bare == {"2.5.1": 17}
    assert choose_opset("2.5.1", TRACE, own, (9, 17, 18)).opset == 17
    dynamo = choose_opset("2.5.1", DYNAMO, own, (17, 18, 19))
    assert (dynamo.opset, dynamo.why) == (18, "the exporter's own")
    assert choose_opset("2.5.1", "torchscript-script", own, (9, 17)) == choose_opset("2.5.1", TRACE, own, (9, 17))


def test_every_answer_judges_dynamo_at_the_opset_that_dynamo_writes(local):
    row = cell("2.8.0", "item", "tensor_scale", "default", None)
    append(local, {**row, "exporter_effective": DYNAMO, "opset_effective": 22, "measured_at": "2026-11-21T10:00:00Z"})
    dataset = Dataset.open(None, local)
    judged = standings(dataset, "2.8.0", named(Views.of(dataset), "cross"), exporters=(DYNAMO, TRACE))

    assert {item.exporter: item.opset for item in judged} == {DYNAMO: 22, TRACE: 18}
    assert load(dataset).opset("2.8.0", DYNAMO) == 22
    assert Places(load(dataset)).fill(parse("torch=2.8.0,exporter=dynamo")).opset == 22


# --- a fraction in a table


def place(status, opset=14, torch="2.8.0"):
    values = dict.fromkeys(MeasuredCell._fields)
    return MeasuredCell(
        **{**values, "torch": torch, "opset": opset, "status": Status(status), "local": False, "stage": ""}
    )
