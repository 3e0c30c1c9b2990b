"""What one example hides is found: each of these models exports, agrees on its one input, and is wrong on others."""

from __future__ import annotations

from pathlib import Path

import pytest

from caniexport import home as homes
from caniexport.check.check import check
from caniexport.check.run import CheckRequest
from caniexport.check.subject import Options
from caniexport.store import Dataset

RELEASE = "2.15.0"
HERE = Path(__file__).parent
TRACE, DYNAMO = "torchscript-trace", "dynamo"

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def found_in(tmp_path_factory):
    """The sets of inputs on which the file of a model is wrong, in words."""
    into = tmp_path_factory.mktemp("check-silent") / "into"
    home = homes.find(HERE)
    corpus = Dataset.open(home.published, None)
    told = []

    def found(factory, exporter, dynamic, **more):
        request = CheckRequest((RELEASE,), (exporter,), (18,))
        checked = check(
            f"silent_models.py:{factory}",
            request,
            Options(dynamic, **more),
            into=into,
            home=home,
            corpus=corpus,
            cwd=HERE,
            say=lambda _: None,
        )
        if RELEASE in checked.problems:
            pytest.skip(f"torch {RELEASE} cannot be installed here: {checked.problems[RELEASE]}")
        told.append(checked.headline)
        wrong = [failure for failure in checked.failures if failure.status.value == "mismatch"]
        assert bool(wrong) == any("wrong values without an error" in finding for finding in checked.findings)
        return {words for failure in wrong for words in failure.differs}

    found.told = told
    return found


@pytest.mark.parametrize(
    ("factory", "exporter", "words"),
    [
        ("topk_of_ties", TRACE, "two values only, so that many tie"),
        ("duplicate_indices", TRACE, "integers that are all the same (index)"),
        ("baked_size", TRACE, "x:2 of size 17"),
        ("python_number", TRACE, "power = 3 instead of 2"),
        ("data_dependent_branch", TRACE, "values with the opposite sign"),
        ("branch_beside_scales", TRACE, "values of which every other one has the opposite sign"),
        ("one_tensor_twice", DYNAMO, "other values of the same range"),
        ("baked_count", TRACE, "other values of the same range"),
        ("baked_nonzero", TRACE, "flags that are all set (mask)"),
        ("negative_indices", TRACE, "negative integers (index)"),
        ("integer_division", TRACE, "negative integers"),
        ("quotient_of_two", TRACE, "integers of which every other one is negative"),
    ],
)
def test_wrong_values_that_one_example_hides_are_found(found_in, factory, exporter, words):
    assert words in found_in(factory, exporter, {"x": {2: "h"}} if factory == "baked_size" else {})


def test_without_further_inputs_they_are_hidden(found_in):
    assert found_in("integer_division", TRACE, {}, further=False) == set()


def test_a_model_that_goes_on_from_call_to_call_is_told_so(found_in):
    assert found_in("counts_calls", DYNAMO, {}) == set()
    assert "called again on the same inputs the model gives other values in eager" in found_in.told[-1]
    assert "rounding" not in found_in.told[-1]


def test_wrong_values_that_are_the_rounding_of_half_precision_are_told_so(found_in):
    assert found_in("half_layers", DYNAMO, {})
    assert "rounding alone moves the outputs as much" in found_in.told[-1]
    assert "called again" not in found_in.told[-1]


def test_a_tensor_beside_a_dictionary_keeps_its_name_to_itself(found_in):
    """Names of arguments given to the inputs one by one would name two of them alike."""
    assert found_in("dictionary_and_scale", DYNAMO, {}) == set()
    assert found_in.told[-1] == "works by dynamo"
