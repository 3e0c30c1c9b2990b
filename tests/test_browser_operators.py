"""The tables of torch's operators: what is typed narrows them, whatever is drawn meanwhile."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from browser_fixtures import MARKS, served, visiting
from dashboard_data import build
from test_browser_pages import CONTRAST, barriers
from test_torch_operators import ENTRIES, NEW, TRACE, cell, of_release, write_samples

from caniexport.model.made_cases import OPERATORS
from caniexport.publish.operators import summarize

pytestmark = MARKS
#: enough of them for a list that is narrowed
MANY = [cell(f"op-made{number}", "float32-plain", TRACE, 20, "pass") for number in range(60)]
#: what is known of operators beside their rows
CASES = Path(__file__).resolve().parents[1] / "cases" / OPERATORS


@pytest.fixture(scope="module")
def operators(tmp_path_factory):
    """Where the app is served from rows with a summary of operators beside them."""
    home = build(tmp_path_factory.mktemp("home"))
    shutil.copytree(CASES, home / "cases" / OPERATORS)
    write_samples(home / "results", summarize(NEW, [*of_release(False), *MANY], ENTRIES))
    with served(home, tmp_path_factory.mktemp("log") / "server.log") as address:
        yield address


@pytest.fixture
def opened(chromium, operators):
    with visiting(chromium, operators) as visited:
        yield visited


def seen(page, where="#root"):
    return page.locator(f"{where} table.narrowed tbody tr:visible td:first-child").all_inner_texts()


def test_a_word_narrows_the_list_of_operators_and_unfolds_its_rest(opened):
    page = opened("/op")
    field, status = page.locator("#root input.narrow"), page.locator("#root p:has(input.narrow) [role=status]")
    first = seen(page)
    field.fill("grid")
    assert 1 < len(first) < 64
    assert seen(page) == ["nn.functional.grid_sample"]
    assert status.inner_text() == "1 of 64"
    field.fill("made59")
    assert seen(page) == ["made59"]
    field.fill("")
    assert seen(page) == first


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1440, 700)])
def test_the_box_and_the_first_rows_stand_on_the_first_screen(opened, width, height):
    page = opened("/op", width=width)
    box, row = (
        page.locator(f"#root {where}").first.bounding_box()["y"]
        for where in ("input.narrow", "table.narrowed tbody tr >> nth=2")
    )
    assert box < row < height


def test_a_word_that_narrows_goes_along_with_a_link(opened):
    page = opened("/op")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    field, status = page.locator("#root input.narrow"), page.locator("#root p:has(input.narrow) [role=status]")
    field.fill("of this name is nothing")
    assert status.inner_text() == "nothing of this name"

    field.fill("grid")
    page.get_by_role("button", name="Copy link").click()
    page.get_by_role("button", name="Copied").wait_for()
    sent = opened(page.evaluate("navigator.clipboard.readText()").removeprefix(opened.address))
    assert sent.locator("#root input.narrow").input_value() == "grid"
    assert seen(sent) == ["nn.functional.grid_sample"]


def test_the_table_of_all_operators_can_be_read_in_the_dark_and_every_column_has_a_head(opened):
    page = opened("/op", scheme="dark")
    assert page.evaluate(CONTRAST) == []
    table = page.locator("#root table.narrowed").first
    heads = table.locator("thead th").all_inner_texts()
    assert all(heads)
    assert len(heads) == table.locator("tbody tr").first.locator("th, td").count()


def test_a_word_stays_where_the_same_table_is_drawn_anew(opened):
    page = opened("/op")
    page.locator("#root input.narrow").fill("grid")
    page.locator("#root .stHtml:has(input.narrow)").evaluate(
        "node => { node.innerHTML = node.innerHTML.replace('data-seen', 'data-was') }"
    )
    page.wait_for_timeout(100)

    assert page.locator("#root input.narrow").input_value() == "grid"
    assert seen(page) == ["nn.functional.grid_sample"]


def test_the_messages_of_an_operators_page_unfold(opened):
    page = opened("/op?op=fold")
    for summary in page.locator("#root details > summary").all():
        summary.click()
    assert barriers(page) == []

    assert "words of op-fold" in page.locator("#root").inner_text()
