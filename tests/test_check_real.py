"""A user's own models in a real environment, which is made once for all of them.

One passes, one fails as a known case, one is of a package; and some export, agree on their one input, and are wrong on
others.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from caniexport import home as homes
from caniexport.answers.answer import as_json
from caniexport.check.check import CheckRequest, check
from caniexport.check.target import Options
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

    def checked(target, opsets, dynamic, exporters=(TRACE, DYNAMO), cwd=folder, **more):
        request = CheckRequest((RELEASE,), exporters, opsets, packages=("einops", "torchvision"))
        options = Options(dynamic, **more)
        found = check(target, request, options, home=home, corpus=corpus, cwd=cwd, say=lambda _: None)
        if "could not be installed" in found.verdict:
            pytest.skip(f"torch {RELEASE} cannot be installed here: {found.notes}")
        return found

    return checked


def facts(found, name):
    """The facts of that name of every failure of an answer."""
    rows = [row for table in as_json(found)["tables"] for row in table["rows"]]
    return [row["value"] for row in rows if row.get("fact") == name]


def ends(found):
    """By call how it ends, with its opsets."""
    return {row["call"]: row[RELEASE] for row in as_json(found)["tables"][0]["rows"]}


PASSES = {"dynamo=True": {"word": "pass", "text": "18+"}, "dynamo=False": {"word": "pass", "text": "18+"}}


def test_the_model_passes_where_its_operator_has_a_rule_and_fails_as_a_known_case_does_where_not(run):
    axes = {"image": {0: "n"}, "grid": {0: "n"}}
    assert ends(run("models:warp", (18,), axes)) == PASSES
    fails = run("models:warp", (14,), axes, (TRACE,))
    assert "grid-sampler-unsupported-opset-11" in fails.verdict
    assert "gather_rewrite" in str(facts(fails, "to try"))


def test_a_number_that_cannot_be_fed_as_the_file_wants_it_is_no_failure_of_the_model(run):
    """TorchScript makes an input of double precision of it; ``self`` has another name there, too."""
    found = run("models:scaled", (18,), {"x": {0: "n"}}, (TRACE,))
    assert found.verdict == "Not judged: a Python number became an input of double precision."
    wrong = run("models:scaled", (18,), {"x": {0: "n"}}, (DYNAMO,))
    assert facts(wrong, "inputs") == ["factor = 4.0 instead of 1.5"]


def test_an_opset_that_dynamo_replaces_is_measured_and_the_first_line_names_what_the_file_has(run):
    found = run("models:warp", (12,), {}, exporters=(DYNAMO,))
    assert found.verdict == "Not at opset 12: dynamo=True writes opset 18 without an error."


def test_what_a_package_registers_when_it_is_imported_is_there_at_every_opset(run):
    """By trace torchvision's symbolics; by dynamo torchlib's functions, which are found once it is imported."""
    found = run("boxes:chosen", (16, 17, 18), {})
    assert found.outcome.value == "works"
    assert ends(found)["dynamo=False"] == {"word": "pass", "text": "16+"}


@pytest.fixture(scope="module")
def found_in(run):
    """The answer about a model that is silently wrong, and the sets of inputs that show it, in words."""

    def found(factory, exporter, dynamic, **more):
        answer = run(f"silent_models.py:{factory}", (18,), dynamic, (exporter,), HERE, **more)
        return answer, {words for fact in facts(answer, "inputs") for words in fact.split("; ")}

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
        ("baked_nonzero", TRACE, "ones throughout (mask)"),
        ("negative_indices", TRACE, "negative integers (index)"),
        ("integer_division", TRACE, "negative integers"),
        ("quotient_of_two", TRACE, "integers of which every other one is negative"),
        ("branch_on_item", TRACE, "task = 1 instead of 0"),
        ("threshold_of_integer", TRACE, "n = 301 throughout"),
        ("rare_branch", TRACE, "x scaled to 200.0 at most"),
        ("threshold_of_size", DYNAMO, "x:0 of size 513"),
        ("loop_over_time", TRACE, "as given, set 2"),
    ],
)
def test_wrong_values_that_one_example_hides_are_found(found_in, factory, exporter, words):
    axes = {"baked_size": {"x": {2: "h"}}, "threshold_of_size": {"x": {0: "n"}}}
    answer, shown = found_in(factory, exporter, axes.get(factory, {}))
    assert words in shown
    assert answer.verdict.startswith("Wrong values with ")


def test_an_input_that_a_file_lacks_is_named_where_eager_depends_on_it(found_in):
    needed, _ = found_in("branch_on_item", TRACE, {})
    assert facts(needed, "ignores") == ["task"]
    unused, _ = found_in("unused_input", TRACE, {})
    assert unused.verdict == "Works with dynamo=False, opset 18."
    assert [note for note in unused.notes if note.startswith("A working file ignores unused: ")]


def test_inputs_for_which_a_loop_never_ends_are_left_out(found_in):
    found, _ = found_in("loop_until_large", TRACE, {})
    sets = {row["inputs"]: row["ran"] for row in as_json(found)["tables"][-1]["rows"]}
    assert sets["values with the opposite sign (time limit exceeded: the loop depends on input values)"] != "yes"
    assert found.verdict.startswith("Wrong values")


def test_without_further_inputs_they_are_hidden(found_in):
    assert found_in("integer_division", TRACE, {}, further=False)[0].outcome.value == "works"


@pytest.mark.parametrize(
    ("factory", "note"),
    [
        ("counts_calls", "In eager, a second call on the same inputs gives other values"),
        ("half_layers", "Rounding alone moves the outputs this far"),
    ],
)
def test_what_is_to_be_known_of_the_models_values_is_told(found_in, factory, note):
    found, shown = found_in(factory, DYNAMO, {})
    assert [text for text in found.notes if text.startswith(note)]
    assert bool(shown) is (factory == "half_layers")


def test_a_tensor_beside_a_dictionary_keeps_its_name_to_itself(found_in):
    """Names of arguments given to the inputs one by one would name two of them alike."""
    assert found_in("dictionary_and_scale", DYNAMO, {})[0].verdict == "Works with dynamo=True, opset 18."


def test_what_is_drawn_at_random_is_not_judged(run):
    found = run("silent_models.py:dropped_at_random", (18,), {}, (TRACE, DYNAMO), HERE)
    assert found.verdict == "Not judged: the file runs, but random outputs cannot be compared."
    assert not [note for note in found.notes if "ounding" in note]


def test_weights_that_are_drawn_at_the_first_call_are_no_random_output(found_in):
    found, _ = found_in("lazily_made", TRACE, {})
    assert found.verdict.startswith("Every call fails: ValueError: Attempted to use an uninitialized parameter")


def test_a_branch_on_a_size_is_told_where_sizes_vary(run):
    fixed = "`if` on a size"
    still, varied = (run("silent_models.py:branch_on_size", (), axes, (TRACE,), HERE) for axes in ({}, {"x": {1: "n"}}))
    assert fixed not in " ".join([still.verdict, *still.notes])
    assert fixed in " ".join([varied.verdict, *varied.notes])


def test_a_model_that_needs_gradients_is_not_told_to_fail_in_eager(found_in):
    assert found_in("forces", TRACE, {})[0].verdict == "Not judged: the check calls it without gradients."
