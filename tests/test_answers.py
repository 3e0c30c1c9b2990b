"""Answers over a small dataset written through the store (see small_dataset): what a person is told."""

from __future__ import annotations

import pytest
import small_dataset
from caniexport.answers.reasons import why

from caniexport.answers.documents import claims
from caniexport.answers.filters import Filters
from caniexport.answers.outcomes import short_cause
from caniexport.store import Dataset


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    return small_dataset.write(tmp_path_factory.mktemp("published"))


@pytest.fixture
def dataset(published, tmp_path):
    return Dataset.open(published, tmp_path / "local")


def test_why_gives_the_real_message_and_how_often_it_was_seen(dataset):
    (answer,) = why(dataset, Filters(cases=("cross",)))
    failing = [
        group for group in answer.groups if group.status.value == "fail" and group.exporter == "torchscript-trace"
    ]
    assert [(group.torch, group.opsets) for group in failing] == [
        ("1.10.2", tuple(range(7, 15))),
        ("1.12.1", tuple(range(7, 17))),
    ]
    assert {answer.messages[group.message] for group in failing} == {small_dataset.CROSS}


def test_why_of_one_cell_names_versions_errors_and_the_command_that_repeats_it(dataset):
    filters = Filters(cases=("item/plain",), torch=("2.8",), exporters=("trace",), opsets=("14",))
    (answer,) = why(dataset, filters)
    assert answer.cells == 1
    assert answer.detail.packages["onnxruntime"] == "1.31.1"
    assert answer.detail.row["max_abs_error"] == pytest.approx(0.5)
    assert answer.detail.repeat == (
        "caniexport measure --release 2.8.0 --case item/plain --exporter torchscript-trace --opset 14 --fresh"
    )


def test_why_names_only_the_claims_that_speak_of_the_cells(dataset):
    (old,) = why(dataset, Filters(cases=("cross",), torch=("1.10",), opsets=("14",)))
    (new,) = why(dataset, Filters(cases=("cross",), torch=("2.8",)))
    assert [claim.claim for claim in old.claims] == ["cross/1"]
    assert [claim.claim for claim in new.claims] == ["cross/2"]


def test_why_of_something_known_but_not_measured_there_is_an_answer_without_cells(dataset):
    (answer,) = why(dataset, Filters(cases=("cross",), torch=("1.10",), exporters=("dynamo",)))
    assert answer.cells == 0
    assert answer.groups == ()


def test_claims_are_counted_by_every_outcome_and_filtered_by_source(dataset):
    found = claims(dataset, Filters())
    assert found.counts == {"reproduced": 1, "partly": 0, "not-reproduced": 1, "pending": 0, "not-measured": 0}
    assert claims(dataset, Filters(statuses=("reproduced",))).counts == found.counts
    assert [claim.claim for claim in claims(dataset, Filters(), ("onnx/*",)).claims] == ["cross/2"]
    assert found.claims[0].versions == "torch ==1.10.*, torchscript-trace, opset 14"


def test_an_empty_dataset_has_no_claims(tmp_path):
    assert claims(Dataset.open(tmp_path / "no", tmp_path / "none"), Filters()).claims == ()


def test_of_a_chain_of_causes_the_innermost_says_why():
    text = "ConversionError: Failed.\nStep 2/3\ncaused by E: outer\ncaused by ValueError: why\nat"

    assert short_cause(text) == "ValueError: why"
    assert short_cause("\n RuntimeError: alone\nmore") == "RuntimeError: alone"
    assert short_cause("x" * 300, 200) == "x" * 199 + "…"
