"""The rules that decide words of answers, each on rows made for it."""

from __future__ import annotations

import pytest
from small_dataset import append, cell, write

from caniexport.answers.point import Points, parse_point
from caniexport.answers.scope import resolve_name
from caniexport.answers.workaround import read_standings
from caniexport.store import Dataset
from caniexport.store.views import Views

TRACE, DYNAMO = "torchscript-trace", "dynamo"


@pytest.fixture
def local(tmp_path):
    return write(tmp_path / "results-local")


def test_every_answer_judges_dynamo_at_the_opset_that_dynamo_writes(local):
    row = cell("2.8.0", "item", "tensor_scale", "default", None)
    append(local, {**row, "exporter_effective": DYNAMO, "opset_effective": 22, "measured_at": "2026-11-21T10:00:00Z"})
    dataset = Dataset.open(None, local)
    judged = read_standings(dataset, "2.8.0", resolve_name(Views.of(dataset), "cross"), exporters=(DYNAMO, TRACE))

    assert {item.exporter: item.opset for item in judged} == {DYNAMO: 22, TRACE: 18}
    assert Points(dataset).find(parse_point("torch=2.8.0,exporter=dynamo"))[0].opset == 22
