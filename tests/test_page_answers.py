"""What the pages say, read from their text: of a small dataset, and of the published one where that alone has it."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from dashboard_data import build

from caniexport.pages.kept import Kept
from caniexport.pages.page import page

ROOT = Path(__file__).resolve().parents[1]
CHOOSE = "(the newest; choose «My torch»)"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return Kept.open(build(tmp_path_factory.mktemp("home")) / "results", None)


@pytest.fixture(scope="module")
def published():
    return Kept.open(ROOT / "results", None)


def read(kept, name, **asked):
    """The text of a page below its filters."""
    body = str(page(name, asked, kept).body)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def rows_of(kept, name, **asked):
    """The texts of the rows of its tables."""
    rows = re.findall(r"<tr.*?</tr>", str(page(name, asked, kept).body), re.DOTALL)
    return [" ".join(html.unescape(re.sub(r"<[^>]+>", " ", row)).split()) for row in rows]


@pytest.mark.parametrize("query", ["stack_rewrite", "cross-no-symbolic/stack_rewrite"])
@pytest.mark.parametrize("name", ["search", "workarounds"])
def test_a_fix_typed_alone_gets_its_word_and_the_release_that_it_is_about(small, name, query):
    newest, chosen = read(small, name, q=query), read(small, name, q=query, torch="1.10.2")

    assert f"is obsolete at torch 2.15.0 {CHOOSE}" in newest
    assert "is needed at torch 1.10.2" in chosen
    assert CHOOSE not in chosen


def test_the_fixes_beside_the_one_asked_for_are_a_click_away_and_not_listed(small):
    rows = rows_of(small, "workarounds", q="stack_rewrite")

    assert len(rows) == 3
    assert all("/ stack_rewrite" in row for row in rows[1:])
    assert "Every fix of its case: cross-no-symbolic" in read(small, "workarounds", q="stack_rewrite")
    assert any("/ exchanged" in row for row in rows_of(small, "workarounds", q="cross", careful="1"))
    assert not any("/ exchanged" in row for row in rows_of(small, "workarounds", q="stack_rewrite", careful="1"))


@pytest.mark.published
def test_a_fix_that_leaves_an_exporter_names_both_and_is_none_of_the_one_that_it_goes_to(published):
    rows = [row for row in rows_of(published, "workarounds", q="and-in-place", torch="2.8") if "/ dynamo" in row]

    assert len(rows) == 1
    assert "trace → dynamo, 18" in rows[0]
    said = str(page("search", {"q": "and-in-place torch 2.8 opset 18"}, published).body)
    of_dynamo = re.findall(r"torch 2\.8\.0, dynamo, opset 18</a>(.*?)</li>", said, re.DOTALL)
    assert of_dynamo
    assert all(">dynamo</a>" not in line for line in of_dynamo)


def test_what_is_needed_stands_first_where_nothing_is_searched_for(small):
    words = [row.split()[1] for row in rows_of(small, "workarounds", torch="2.15.0")[1:]]

    assert set(words) >= {"needed", "obsolete"}
    assert words == sorted(words, key=["needed", "obsolete", "broken", "harmful", "unknown"].index)


@pytest.mark.published
def test_what_breaks_by_the_readers_own_way_has_its_texts_and_the_order_of_the_sentence(published):
    asked = {"from": "2.0.1", "to": "2.10.0", "opset": "17", "exporter": "trace"}
    said = read(published, "upgrade", **asked)

    own = said.split("What breaks on the way to torch 2.10.0 with dynamo=False, opset_version=17")[1]
    assert "torch.cdist of two matrices, the number of rows dynamic" in own
    assert "✓ pass → ✗ fail" in own
    assert "works there: written_out" in own
    assert said.index("as called by default") < said.index("with dynamo=False"), "the sentence begins with the default"
    heads = re.findall('<th scope="col">(.*?)</th>', str(page("upgrade", asked, published).body), re.DOTALL)[:2]
    assert ["default" in head for head in heads] == [True, False]


@pytest.mark.published
def test_a_way_that_alone_breaks_nothing_is_the_first_of_sentence_and_table(published):
    asked = {"from": "2.6.0", "to": "2.15.0", "ops": "aten::lstm"}
    said = read(published, "upgrade", **asked)
    heads = re.findall('<th scope="col">(.*?)</th>', str(page("upgrade", asked, published).body), re.DOTALL)[:2]

    assert said.startswith("Move to torch 2.15.0 with dynamo=False")
    assert ["dynamo=False" in head for head in heads] == [True, False]
    assert said.index("What breaks on the way") < said.index("→ torch 2.15.0")


def test_folded_filters_say_what_is_set(small):
    shown = page(
        "matrix", {"torch": "2.0.1", "opset": "14", "exporter": "torchscript-trace", "theme": "geometry"}, small
    )

    assert shown.chosen == ("Theme: geometry", "torch 2.0.1", "opset 14", "trace")
    assert page("matrix", {}, small).chosen == ()
