"""The pages of torch's operators: the table of all, the lists, one over the releases."""

from __future__ import annotations

import re
import shutil

import pytest
from test_torch_operators import ENTRIES, NEW, OLD, TRACE, cell, of_release

from caniexport import home as homes
from caniexport.model.made_cases import OPERATORS
from caniexport.pages.kept import Kept
from caniexport.pages.page import page
from caniexport.pages.views import torch_op
from caniexport.publish.operators import summarised
from caniexport.store import writer
from caniexport.store.schema import to_arrow

#: an operator that no case is about
ZETA = cell("op-special.zeta", "float32-plain", TRACE, 20, "fail")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The published rows with a summary of three operators beside them."""
    folder = tmp_path_factory.mktemp("results") / "results"
    shutil.copytree(homes.find().published, folder, ignore=shutil.ignore_patterns("profiles", "runs", OPERATORS))
    cells = {release: [*of_release(release == OLD), ZETA] for release in (OLD, NEW)}
    rows = [row for release, own in cells.items() for row in summarised(release, own, ENTRIES)]
    (folder / OPERATORS).mkdir()
    writer.write(folder / OPERATORS / "operators.parquet", "operators", to_arrow("operators", rows))
    return Kept.open(folder, None)


def body(kept, **asked):
    return str(page("op", asked, kept).body)


def test_every_operator_is_in_the_table_with_the_words_that_narrow_it(kept):
    text = body(kept)

    assert 'data-words="nn.functional.grid_sample gridsampler"' in text
    assert 'data-words="fold ' in text


def test_the_share_of_calls_that_pass_is_a_picture_with_its_numbers(kept):
    text = body(kept)

    assert "Share of the calls that pass at the newest opset, in per cent, by torch release" in text
    assert re.search(r'<th scope="row">dynamo, by use in models</th><td class="number">100</td>', text)


def test_what_onnxscripts_tests_expect_is_a_list_with_what_is_measured(kept):
    text = body(kept, list="onnxscript")

    assert "expected to fail (onnxruntime): not measured" in text
    assert "ops.aten.col2im" in text


def test_an_operator_that_no_case_is_about_has_a_page_over_the_releases(kept):
    shown = page("op", {"op": "torch.special.zeta"}, kept)

    assert (shown.title, shown.warnings) == ("special.zeta", ())
    assert "special.zeta does not export at torch 2.13.0" in str(shown.body)


@pytest.mark.parametrize("spelling", ["F.grid_sample", "aten::grid_sampler", "grid_sampler_2d", "GridSample"])
def test_every_spelling_leads_to_the_page_with_the_cases_and_the_releases(kept, spelling):
    text = body(kept, op=spelling)

    assert "grid-sample-bicubic" in text
    assert "grid_sample exports since" in text
    assert text.index("grid_sample exports since") < text.index("documented failure")


@pytest.mark.parametrize(("which", "operator"), [("silent", "fold"), ("regressed", "nn.functional.grid_sample")])
def test_a_list_names_its_operators(kept, which, operator):
    assert f">{operator}</a>" in body(kept, list=which)


def test_a_list_says_what_stands_for_what_differs(kept):
    assert "N stands for a whole number" in body(kept, list="silent")
    assert re.search(
        r'<p class="decision">\d+ operators? of torch, in some dtype \((dynamo|trace) \d', body(kept, list="silent")
    )


def test_declared_names_its_release_and_says_that_it_tells_of_documented_cases(kept):
    text = str(page("declared", {}, kept).body)

    assert f"Torch {kept.rows().torch[-1]}, the newest measured" in text
    assert "no case passes" in text


def test_every_list_has_a_page(kept):
    for which in torch_op.LISTS:
        shown = page("op", {"list": which}, kept)
        assert not shown.warnings
        assert torch_op.LISTS[which] in shown.lead


def test_without_a_summary_the_page_has_the_cases_operators_alone(kept):
    bare = Kept.open(homes.find().root / "nowhere", None)

    assert torch_op.names(bare, "torch.sub") == ()
