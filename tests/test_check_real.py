"""A user's own models in a real environment, which is made once for all of them.

One passes, one fails as a known case, one is of a package; and some export, agree on their one input, and are wrong on
others.
"""

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
MODELS = """
import torch
import torch.nn.functional as F


class Warp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(4)

    def forward(self, image, grid):
        return F.grid_sample(self.norm(self.conv(image)), grid, align_corners=False)


class Scaled(torch.nn.Module):
    def forward(this, x, factor):
        return x * factor


def scaled():
    return Scaled(), (torch.rand(2, 3), 1.5)


def warp():
    return Warp(), (torch.rand(1, 3, 8, 8), torch.rand(1, 6, 6, 2) * 2 - 1)
"""
BOXES = """
import torch
import torchvision


class Chosen(torch.nn.Module):
    def forward(self, boxes, scores):
        return torchvision.ops.nms(boxes, scores, 0.5)


def chosen():
    corners = torch.rand(20, 2) * 10
    return Chosen(), (torch.cat([corners, corners + 5], dim=1), torch.rand(20))
"""

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Checks a factory of these files, or of the tests' own folder, at some opsets: one environment for all."""
    folder = tmp_path_factory.mktemp("check-real")
    (folder / "models.py").write_text(MODELS, encoding="utf-8")
    (folder / "boxes.py").write_text(BOXES, encoding="utf-8")
    home = homes.find(HERE)
    corpus = Dataset.open(home.published, None)
    lines: list[str] = []

    def checked(target, opsets, dynamic, exporters=(TRACE, DYNAMO), cwd=folder, **more):
        request = CheckRequest((RELEASE,), exporters, opsets, packages=("einops", "torchvision"))
        options = Options(dynamic, packages=request.packages, **more)
        into = folder / "into"
        found = check(target, request, options, into=into, home=home, corpus=corpus, cwd=cwd, say=lines.append)
        if RELEASE in found.problems:
            pytest.skip(f"torch {RELEASE} cannot be installed here: {found.problems[RELEASE]}")
        return found

    return checked


@pytest.fixture(scope="module")
def checked(run):
    """A model at an opset that has its operator, and at one that has not."""
    return {opset: run("models:warp", (opset,), {"image": {0: "n"}, "grid": {0: "n"}}) for opset in (18, 14)}


def test_the_model_passes_where_its_operator_has_a_rule(checked):
    found = checked[18]
    assert (found.module, found.findings, found.failures) == ("Warp", (), ())
    (works,) = found.works
    assert {line.exporter: line.status.value for line in works.lines} == {
        "torchscript-trace": "pass",
        "dynamo": "pass",
    }


def test_the_model_fails_as_a_known_case_does_and_its_fix_is_needed_there(checked):
    found = checked[14]
    failure = next(item for item in found.failures if item.where[0].exporter == "torchscript-trace")
    assert (failure.stage, failure.operator) == ("export", "aten::grid_sampler")
    case = next(match for match in failure.matches if match.case == "grid-sampler-unsupported-opset-11")
    assert {fix.variant: fix.word.value for fix in case.fixes}["gather_rewrite"] == "needed"
    assert "torch 2.15.0: nothing works with torchscript-trace" in found.findings


def test_a_number_that_cannot_be_fed_as_the_file_wants_it_is_no_failure_of_the_model(run):
    """TorchScript makes an input of double precision of it; ``self`` has another name there, too."""
    found = run("models:scaled", (18,), {"x": {0: "n"}})
    (ours,) = [failure for failure in found.failures if failure.where[0].exporter == "torchscript-trace"]
    assert (ours.is_ours, ours.matches) == (True, ())
    assert "by trace not judged: a Python number is an input of the file" in found.headline
    assert not [text for text in found.findings if "trace" in text]
    wrong = [failure for failure in found.failures if failure.where[0].exporter == "dynamo"]
    assert [(failure.stage, failure.differs) for failure in wrong] == [("compare", ("factor = 4.0 instead of 1.5",))]


def test_an_opset_that_dynamo_replaces_is_measured_and_the_first_line_names_what_the_file_has(run):
    found = run("models:warp", (12,), {}, exporters=(DYNAMO,))
    assert found.headline == "works by dynamo; asked for opset 12 dynamo writes opset 18 without an error"


def test_what_a_package_registers_when_it_is_imported_is_there_at_every_opset(run):
    """By trace torchvision's symbolics; by dynamo torchlib's functions, which are found once it is imported."""
    found = run("boxes:chosen", (16, 17, 18), {})
    assert [failure.message for failure in found.failures] == []
    assert found.findings == ()
    (works,) = found.works
    assert {line.exporter: line.status.value for line in works.lines} == {
        "torchscript-trace": "pass",
        "dynamo": "pass",
    }


@pytest.fixture(scope="module")
def found_in(run):
    """The sets of inputs on which the file of a model is wrong, in words."""
    told = []

    def found(factory, exporter, dynamic, **more):
        checked = run(f"silent_models.py:{factory}", (18,), dynamic, (exporter,), HERE, **more)
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
        ("branch_beside_scales", TRACE, "values with the opposite sign"),
        ("one_tensor_twice", DYNAMO, "other values of the same range"),
        ("baked_count", TRACE, "other values of the same range"),
        ("baked_nonzero", TRACE, "flags that are all set (mask)"),
        ("negative_indices", TRACE, "negative integers (index)"),
        ("integer_division", TRACE, "negative integers"),
        ("quotient_of_two", TRACE, "integers of which every other one is negative"),
        ("branch_on_item", TRACE, "task = 1 instead of 0"),
        ("threshold_of_integer", TRACE, "n = 301 instead of 5"),
        ("rare_branch", TRACE, "x scaled to 200.0 at most"),
        ("threshold_of_size", DYNAMO, "x:0 of size 513"),
        ("loop_over_time", TRACE, "as given, set 2"),
    ],
)
def test_wrong_values_that_one_example_hides_are_found(found_in, factory, exporter, words):
    axes = {"baked_size": {"x": {2: "h"}}, "threshold_of_size": {"x": {0: "n"}}}
    assert words in found_in(factory, exporter, axes.get(factory, {}))


def test_an_input_that_a_file_lacks_is_named_where_eager_depends_on_it(run):
    needed = run("silent_models.py:branch_on_item", (18,), {}, (TRACE,), HERE)
    assert "by trace wrong values without an error: the file ignores task" in needed.headline
    unused = run("silent_models.py:unused_input", (18,), {}, (TRACE,), HERE)
    assert unused.headline == "works by trace"
    assert [note for note in unused.notes if note.startswith("a file that works ignores unused: ")]


def test_inputs_for_which_a_loop_never_ends_are_left_out(run):
    found = run("silent_models.py:loop_until_large", (18,), {}, (TRACE,), HERE)
    assert "values with the opposite sign (it goes round and round)" in found.refused
    assert [line.status.value for line in found.works[0].lines] == ["mismatch"]


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


def test_what_is_drawn_at_random_is_not_judged(run):
    found = run("silent_models.py:dropped_at_random", (18,), {}, (TRACE, DYNAMO), HERE)
    told = "each file runs, but what is drawn at random cannot be compared: a limit of this check"
    assert found.headline == f"by trace and by dynamo not judged: {told}"
    assert not found.findings
    assert not [note for note in found.notes if "rounding" in note]


def test_weights_that_are_drawn_at_the_first_call_are_no_random_output(run):
    found = run("silent_models.py:lazily_made", (18,), {}, (TRACE,), HERE)
    assert found.headline.startswith("by trace an error at export (Attempted to use an uninitialized parameter")
    assert not [note for note in (found.headline, *found.notes) if "at random" in note]


def test_a_branch_on_a_size_is_told_where_sizes_vary(run):
    told = "the trace has an `if` on a size as the first inputs decide it, so that others may come out wrong"
    assert run("silent_models.py:branch_on_size", (18,), {}, (TRACE,), HERE).headline == "works by trace"
    varied = run("silent_models.py:branch_on_size", (18,), {"x": {1: "n"}}, (TRACE,), HERE)
    assert varied.headline == f"works by trace; {told}"


def test_a_squeeze_that_only_the_file_has_is_no_squeeze_of_the_model(run):
    found = run("silent_models.py:far_from_others", (18,), {}, (DYNAMO,), HERE)
    (failure,) = found.failures
    assert (failure.operator, failure.is_as_made, failure.matches) == ("Squeeze", True, ())


def test_a_model_that_needs_gradients_is_not_told_to_fail_in_eager(run):
    found = run("silent_models.py:forces", (18,), {}, (TRACE,), HERE)
    told = (
        "this check calls a model without gradients, and it needs some (torch.enable_grad() in its forward gives them)"
    )
    assert found.headline == f"by trace not judged: {told}: a limit of this check"
