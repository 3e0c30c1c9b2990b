"""What a person must be able to tell at a glance, in a real Chromium: shares, signs, sentences, pictures, stops."""

from __future__ import annotations

import itertools
import re

import pytest
from browser_fixtures import MARKS, until
from test_browser_pages import PAGES

from caniexport.pages.charts import Series, draw_line_chart, find_chart

pytestmark = MARKS


def colour(node):
    return node.evaluate("node => getComputedStyle(node).backgroundColor + getComputedStyle(node).backgroundImage")


def test_a_cell_of_which_some_cases_work_has_a_share_of_its_own_colour(visit):
    page = visit("/matrix?rows=themes")
    mixed = page.locator(".matrix td.s-mixed").first

    assert mixed.inner_text() == "1/2"
    others = {colour(cell) for cell in page.locator(".matrix td:not(.s-mixed)").all()}
    assert len(others) == 2
    assert colour(mixed) not in others


def test_a_legend_has_the_signs_of_its_page_and_no_cell_contradicts_itself(visit):
    page = visit("/matrix?rows=cases&exporter=trace")
    shown = page.locator("details.signs summary .swatch").evaluate_all("nodes => nodes.map(node => node.classList[1])")
    cells = page.locator(".matrix td[class]").evaluate_all(
        "nodes => nodes.map(node => [node.className, node.innerText])"
    )
    hints = page.locator(".matrix td").evaluate_all("cells => cells.map(cell => cell.title).join()")

    assert {kind for kind, _ in cells} == set(shown)
    # a release that refuses an opset and works at another says so where it is pointed at
    assert "refused: 15" in hints
    assert [text for kind, text in cells if (kind == "s-pass") != ("✓" in text) or re.search("✓.*[✗≠!]", text)] == []


@pytest.mark.parametrize("path", ["/workarounds", "/upgrade?from=1.10.2", "/case?case=cross-no-symbolic", "/claims"])
def test_since_when_is_said_in_words_and_never_as_an_interval(visit, path):
    said = visit(path).locator("#root .body").inner_text()

    assert re.search(r"\d\.\d", said)
    assert not re.search(r"[\[(]\d+\.[\d.]+, \d+\.[\d.]+[\])]", said)


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/upgrade?from=1.10.2", "p.decision"),
        ("/workarounds?q=stack_rewrite&torch=2.8", "p.decision"),
        ("/?q=RuntimeError: Exporting the operator cross to ONNX opset version 12 is not supported", "p.decision"),
    ],
)
def test_the_first_screen_has_the_answer(visit, path, answer, width, height):
    page = visit(path, width)
    page.set_viewport_size({"width": width, "height": height})
    box = page.locator(f"#root {answer}").first.bounding_box()

    assert box["y"] + box["height"] < height


def test_an_upgrade_shows_the_default_call_beside_the_exporter_that_is_kept(visit):
    page = visit("/upgrade?from=2.0.1&from_exporter=torchscript-trace&to=2.15.0")
    calls = page.get_by_role("table").first.locator("tbody code").all_inner_texts()

    assert len(set(calls)) == len(calls) > 1
    assert [call.startswith("default (") for call in calls].count(True) == 1


@pytest.mark.parametrize("path", ["/matrix?rows=cases", "/alerts", "/case?case=item-baked&picture=1", "/runs"])
def test_a_picture_is_drawn_when_it_is_looked_at_and_its_numbers_are_a_table(visit, path):
    page = visit(path)
    figures = page.locator("#root figure.chart")
    for folded in page.locator("#root details:has(> figure.chart) > summary").all():
        folded.click()
    if path == "/runs" and not figures.count():
        pytest.skip("no second runtime in this dataset")
    for figure in figures.all():
        picture = figure.locator("img")
        picture.scroll_into_view_if_needed()
        until(page, "[...document.querySelectorAll('#root figure.chart img')].some(image => image.naturalWidth > 100)")
        assert picture.get_attribute("alt") == figure.locator("figcaption").inner_text()
    assert figures.count() == 0 or page.locator("#root table td.number, #root .strip td").count() > 3


def test_no_name_in_a_legend_runs_into_the_next_mark(chromium):
    names = ("dynamo, all operators", "dynamo, by use in models", "trace, all operators", "trace, by use in models")
    made = draw_line_chart(("2.8.0", "2.9.1"), [Series(name, (90, 70)) for name in names], "shares")
    page = chromium.new_page()
    pictures = set(re.findall(r"picture\?name=(\w+)", made))
    for picture in pictures:
        page.set_content(find_chart(picture))
        texts = page.locator("text").filter(has_text=re.compile("operators|models")).all()
        boxes = [text.bounding_box() for text in texts]
        # a mark is 14 wide, and stands before its name; a phone's legend has two lines
        for box, behind in itertools.pairwise(boxes):
            assert behind["y"] > box["y"] or box["x"] + box["width"] + 14 < behind["x"], boxes
        assert len(boxes) == 4
    assert len(pictures) == 2
    page.close()


def test_every_page_has_a_title_of_its_own(visit):
    titles = [visit(path).title() for path in PAGES]

    assert titles[0] == "Can I export it?"
    assert all(title.endswith(" · Can I export it?") for title in titles[1:])
    assert len(set(titles)) == len(PAGES)
    assert visit("/upgrade?from=1.10.2").title().startswith("torch 1.10.2 to 2.15.0")


@pytest.mark.parametrize("path", ["/matrix?rows=cases", "/workarounds", "/upgrade?from=1.10.2"])
def test_at_most_sixty_stops_of_the_tab_key_lie_before_a_table(visit, path):
    page = visit(path)
    before = page.evaluate("""() => {
      const box = document.querySelector('#root .body .scroll')
      const stops = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')]
      return stops.filter(node => node.tabIndex >= 0 && node.checkVisibility()
        && node.compareDocumentPosition(box) & Node.DOCUMENT_POSITION_FOLLOWING).length
    }""")

    assert 5 < before <= 60


def test_no_counter_of_letters_stands_over_what_is_typed(visit):
    page = visit("/workarounds")
    page.get_by_label("Search", exact=True).press_sequentially("cross")

    assert [item.is_visible() for item in page.get_by_test_id("InputInstructions").all()] in ([], [False])
