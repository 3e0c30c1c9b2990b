"""The pages of torch's operators: the table of all, the lists, one over the releases."""

from __future__ import annotations

import html
import re
import shutil

import pytest
from test_torch_operators import ENTRIES, NEW, OLD, TRACE, cell, of_release

from caniexport import home as homes
from caniexport.answers.operator_at import operator_at
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
    assert "special.zeta in float32, torch 2.13.0: TorchScript does not (fail)" in str(shown.body)


def decided(kept, **asked):
    return html.unescape(re.search(r'<p class="decision">(.*?)</p>', body(kept, **asked))[1])


def without_code(text):
    return re.sub(r"</?code>", "`", text)


@pytest.mark.parametrize("op", ["special.zeta", "aten::grid_sampler"])
def test_the_decision_is_about_the_readers_own_release_as_the_terminal_tells_it(kept, op):
    name = torch_op.names(kept, op)[0]
    said = without_code(decided(kept, op=op, torch=OLD))

    assert said == operator_at(kept.operators(), name, OLD).told
    assert f"On torch {OLD} " in said
    assert decided(kept, op=op).startswith(f"{name} in float32, torch {NEW}: ")


def test_the_decision_is_about_the_readers_own_exporter_and_opset(kept):
    asked = {"op": "F.grid_sample", "torch": OLD}

    assert "TorchScript" not in decided(kept, **asked, exporter="dynamo")
    assert "at opset 18 (" in decided(kept, **asked, exporter="dynamo", opset="18")
    assert "Opset 17 was not tried for it by" in decided(kept, **asked, opset="17")
    assert "By script it was not measured." in decided(kept, **asked, exporter="script")


@pytest.mark.parametrize("spelling", ["F.grid_sample", "aten::grid_sampler", "grid_sampler_2d", "GridSample"])
def test_every_spelling_leads_to_the_page_with_the_cases_and_the_releases(kept, spelling):
    text = body(kept, op=spelling)

    assert "grid-sample-bicubic" in text
    assert "nn.functional.grid_sample: the calls of torch" in text


def test_what_the_operators_own_calls_come_to_stands_before_the_documented_failures(kept):
    text = body(kept, op="F.grid_sample")
    told, failures = (text.index(words) for words in ("nn.functional.grid_sample in float32, ", "documented failures "))

    assert told < failures
    assert text.count("nn.functional.grid_sample in float32, ") == 1


def test_a_cell_says_how_the_calls_end(kept):
    text = body(kept, op="fold")

    assert "opset 20, " in text
    assert "words of op-fold" in text


def test_cells_of_one_end_lead_to_its_text_which_stands_once(kept):
    text = body(kept, op="fold")
    (anchor,) = set(re.findall(r'<a href="#(end-[^"]*)"', text))

    assert text.count(f'id="{anchor}"') == 1
    assert text.count("words of op-fold") == 1


@pytest.mark.published
def test_an_operator_that_older_releases_call_otherwise_has_its_own_place():
    published = Kept.open(homes.find().published, None)

    found = torch_op.places(published, ["clamp", "clamp.scalar", "_masked.amax", "index_reduce"])
    assert [place.op for place in found] == ["clamp", "clamp.scalar", "_masked.amax", "index_reduce"]
    assert "clamp.scalar: the calls of torch's database" in str(page("op", {"op": "Clip"}, published).body).replace(
        "&#39;", "'"
    )


def test_numbers_and_other_dtypes_are_folded_below_the_plain_calls(kept):
    assert "with a Python number, or another dtype" in body(kept, op="torch.sub")


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
