"""Answers over a small dataset written through the store (see small_dataset): what a person is told."""

from __future__ import annotations

import pytest
import small_dataset

from caniexport.answers.documents import find_claims
from caniexport.answers.filters import Filters
from caniexport.answers.outcomes import short_cause
from caniexport.store import Dataset


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    return small_dataset.write(tmp_path_factory.mktemp("published"))


@pytest.fixture
def dataset(published, tmp_path):
    return Dataset.open(published, tmp_path / "local")


def test_claims_are_counted_by_every_outcome_and_filtered_by_source(dataset):
    found = find_claims(dataset, Filters())
    assert found.counts == {"reproduced": 1, "partly": 0, "not-reproduced": 1, "pending": 0, "not-measured": 0}
    assert find_claims(dataset, Filters(statuses=("reproduced",))).counts == found.counts
    assert [claim.claim for claim in find_claims(dataset, Filters(), ("onnx/*",)).claims] == ["cross/2"]
    assert found.claims[0].versions == "torch ==1.10.*, torchscript-trace, opset 14"


def test_of_a_chain_of_causes_the_innermost_says_why():
    text = "ConversionError: Failed.\nStep 2/3\ncaused by E: outer\ncaused by ValueError: why\nat"

    assert short_cause(text) == "ValueError: why"
    assert short_cause("\n RuntimeError: alone\nmore") == "RuntimeError: alone"
    assert short_cause("x" * 300, 200) == "x" * 199 + "…"
