"""The pages of torch's operators: the list of all, one of them, what exporters register."""

from __future__ import annotations

import re
import shutil

import pytest
from test_torch_operators import ENTRIES, NEW, OLD, TRACE, cell, of_release, write_samples

from caniexport import home as homes
from caniexport.answers.declared import Agreement
from caniexport.model.made_cases import OPERATORS
from caniexport.pages.kept import Kept
from caniexport.pages.page import page
from caniexport.publish.operators import summarize

#: an operator that no case is about
ZETA = cell("op-special.zeta", "float32-plain", TRACE, 20, "fail")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The published rows with a summary of a few operators beside them."""
    folder = tmp_path_factory.mktemp("results") / "results"
    shutil.copytree(homes.find().published, folder, ignore=shutil.ignore_patterns("profiles", "runs", OPERATORS))
    cells = {release: [*of_release(release == OLD), ZETA] for release in (OLD, NEW)}
    write_samples(folder, [row for release, own in cells.items() for row in summarize(release, own, ENTRIES)])
    return Kept.open(folder, None)


def body(kept, **asked):
    return str(page("op", asked, kept).body)


def test_the_list_has_every_operator_with_how_it_ends(kept):
    text = body(kept)

    assert "At torch 2.13.0 2 of 5 operators work with dynamo=False, 1 of 3 with dynamo=True." in text
    for name in ("nn.functional.grid_sample", "fold", "special.zeta"):
        assert f">{name}</a>" in text
    # an operator of cases that has no samples leads to its page, too
    assert re.search(r'<a href="[^"]*op\?op=aten[^"]*lstm[^"]*">aten::lstm</a>', text)


@pytest.mark.parametrize(
    ("asked", "verdict"),
    [
        ({"status": "mismatch"}, "At torch 2.13.0 1 of 5 operators end with mismatch."),
        ({"torch": "2.12.1"}, "At torch 2.12.1 3 of 5 operators work with dynamo=False, 3 of 3 with dynamo=True."),
        ({"exporter": "dynamo"}, "At torch 2.13.0 1 of 3 operators work with dynamo=True."),
        ({"dtype": "int64"}, "Not measured at torch 2.13.0: these operators."),
    ],
)
def test_the_list_takes_a_release_a_status_a_dtype_and_an_exporter(kept, asked, verdict):
    assert verdict in body(kept, **asked)


def test_an_operator_that_no_case_is_about_has_a_page_over_the_releases(kept):
    shown = page("op", {"op": "torch.special.zeta"}, kept)

    assert (shown.title, shown.warnings) == ("torch.special.zeta", ())
    assert "special.zeta does not export at torch 2.13.0" in str(shown.body)


@pytest.mark.parametrize("spelling", ["F.grid_sample", "aten::grid_sampler", "grid_sampler_2d", "GridSample"])
def test_every_spelling_leads_to_the_page_with_the_samples_and_the_cases(kept, spelling):
    text = body(kept, op=spelling)

    assert "grid-sample-bicubic" in text
    assert "grid_sample: all samples pass since" in text
    assert text.index("grid_sample: all samples pass since") < text.index("<b>Cases by torch release</b>")


def test_a_name_nobody_knows_is_answered_with_the_nearest_and_the_list(kept):
    shown = page("op", {"op": "grid_samplee"}, kept)

    assert shown.warnings == ("unknown operator 'grid_samplee'",)
    assert str(shown.body).count("Did you mean") == 1
    assert "operators work with" in str(shown.body)


def test_what_is_registered_stands_beside_what_passes_by_how_they_agree(kept):
    text = str(page("declared", {}, kept).body)

    assert f"At torch {kept.inventory.torch[-1]} " in text
    assert [word for word in Agreement if f": {word.value}</summary>" not in text] == []
    one = str(page("declared", {"q": "index_put", "is": "fewer"}, kept).body)
    assert "index_put" in one
    assert Agreement.AGREES.value not in one


def test_without_samples_the_page_of_an_operator_has_its_cases(tmp_path):
    shutil.copytree(homes.find().published, tmp_path / "results", ignore=shutil.ignore_patterns("profiles", OPERATORS))
    bare = Kept.open(tmp_path / "results", None)

    assert "documented cases about aten::cross." in body(bare, op="aten::cross")
    assert body(bare) == ""
