"""What a person sees first, and takes along: rows on a phone and at 200 %, a link, a page on paper."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from browser_fixtures import MARKS, drawn, until

pytestmark = MARKS
TABLES = [
    "/matrix",
    "/matrix?rows=cases&fixes=1",
    "/op?op=aten::cross",
    "/upgrade?from=1.10.2",
    "/workarounds",
    "/claims",
    "/declared",
    "/alerts",
]
#: a phone, and a laptop of 1440 by 900 at 200 %
SMALL = [(390, 844), (720, 450)]


@pytest.mark.parametrize("path", TABLES)
def test_the_first_screen_shows_rows_on_a_phone_and_at_200_per_cent(visit, path):
    for width, height in SMALL:
        page = visit(path, width)
        page.set_viewport_size({"width": width, "height": height})
        until(page, "document.querySelector('#root .scroll tbody tr, #root .hits li') !== null")
        row = page.locator("#root .scroll tbody tr:not(.theme), #root .hits li").first
        assert row.bounding_box()["y"] + 20 < height, (width, row.inner_text())


def test_the_link_of_what_is_shown_is_copied(visit):
    page = visit("/matrix?torch=2.0..2.8&rows=cases")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    page.get_by_role("button", name="Copied").wait_for()

    assert page.evaluate("navigator.clipboard.readText()") == page.url
    assert page.url.endswith("/matrix?torch=2.0..2.8&rows=cases")


def test_the_cells_that_are_seen_can_be_kept_as_a_file(visit):
    page = visit("/matrix?torch=2.8.0&rows=cases&exporter=trace")
    with page.expect_download() as taken:
        page.get_by_role("button", name="table.csv").click()
    rows = list(csv.DictReader(io.StringIO(Path(taken.value.path()).read_text(encoding="utf-8"))))

    assert {row["call"] for row in rows if not row["table"]} == {"dynamo=False"}
    assert "2.8.0" in rows[0]
    assert "2.15.0" not in rows[0]


@pytest.mark.parametrize("path", ["/matrix?rows=cases&fixes=1", "/workarounds"])
def test_a_page_on_paper_has_its_table_whole_and_no_filters(visit, path):
    pypdf = pytest.importorskip("pypdf", reason="pip install pypdf")
    page = visit(path)
    names = page.locator("#root .scroll tbody a:visible").all_inner_texts()
    last = page.locator("#root .scroll thead th:visible").last.inner_text()
    pages = pypdf.PdfReader(io.BytesIO(page.pdf(prefer_css_page_size=True))).pages
    text = "".join("\n".join(sheet.extract_text() for sheet in pages).split())

    assert len(names) > 2
    for name in (*names, last):
        assert "".join(name.split())[:20] in text
    # a sentence may name a filter
    assert "Mytorch" not in text.replace("«Mytorch»", "")
    page.emulate_media(media="print")
    # a sheet of A3 across, less its margins
    assert page.locator("#root .scroll table").first.evaluate("table => table.scrollWidth") <= 1512


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("/case?case=cross-no-symbolik", "/case?case=cross-no-symbolic"),
        ("/op?op=aten::croos", "/op?op=aten%3A%3Across"),
    ],
)
def test_what_is_not_there_is_answered_with_links_to_what_is_meant(visit, path, near):
    page = visit(path)
    page.get_by_text("Did you mean").locator("a").first.click()
    page.wait_for_url(f"**{near}")


def test_filters_that_are_unfolded_on_a_phone_stay_open_from_choice_to_choice(visit):
    page = visit("/workarounds?q=cross", 390)
    page.set_viewport_size({"width": 390, "height": 844})
    folded = page.get_by_label("Filters", exact=True)
    assert not page.get_by_role("combobox", name="My torch").is_visible()

    folded.check()
    page.get_by_role("combobox", name="My torch").click()
    page.get_by_role("option", name="2.8.0", exact=True).click()
    page.wait_for_url("**torch=2.8.0**")
    page.locator("#root p.decision", has_text="2.8.0").wait_for()
    page.get_by_role("combobox", name="My opset").click()
    page.get_by_role("option", name="18", exact=True).click()
    page.wait_for_url("**opset=18**")
    assert folded.is_checked()

    folded.uncheck()
    assert not page.get_by_role("combobox", name="My opset").is_visible()


def test_a_page_that_is_not_there_yet_is_said_to_be_loading(visit):
    page = visit("/workarounds")
    waiting = page.get_by_text("Loading the page")
    assert not waiting.is_visible()

    page.evaluate("document.querySelector('#root .body').remove()")
    waiting.wait_for()
    begins = page.locator("[class*=st-key-bar-]").last.bounding_box()
    assert waiting.bounding_box()["y"] >= begins["y"] + begins["height"]


@pytest.mark.parametrize("setting", ["", "?torch=2.8.0"])
def test_a_page_chosen_from_the_menu_of_a_phone_is_seen(visit, setting):
    page = visit(f"/{setting}", 390)
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Workarounds").click()
    page.wait_for_url(f"**/workarounds{setting}")
    until(page, "document.querySelector('[data-testid=stSidebar]').getBoundingClientRect().right <= 0")


def test_a_link_that_only_changes_what_is_shown_leaves_a_reader_where_they_are(visit):
    page = visit("/case?case=cross-no-symbolic&torch=2.8.0&opset=14")
    page.set_viewport_size({"width": 1440, "height": 400})
    link = page.locator(".strip td a").last
    # where the reader is when the link is pressed: the page may have moved while it was being drawn
    main = "document.querySelector('[data-testid=stMain]')"
    page.evaluate(f"addEventListener('click', () => {{ window.at = {main}.scrollTop }}, true)")
    link.click()
    assert page.evaluate("window.at") > 0
    page.wait_for_url("**torch=1.10.2**")
    drawn(page)
    until(page, f"{main}.scrollTop === window.at")


def test_a_table_says_how_many_columns_lie_out_of_its_window(visit):
    page = visit("/matrix?rows=cases", 390)
    corner = page.locator("#root .matrix thead th.case small")
    until(page, "document.querySelector('#root .matrix thead th.case small')?.textContent.endsWith('more →')")
    hidden = int(corner.inner_text().split()[0])
    assert 1 <= hidden < 4

    page.locator("#root .scroll:has(.matrix)").evaluate("box => { box.scrollLeft = box.scrollWidth }")
    until(page, "document.querySelector('#root .matrix thead th.case small').textContent.startsWith('← ')")
    assert page.locator("#root .scroll.goes-left").count() == 1


def test_the_newest_columns_of_a_phone_are_seen_first(visit):
    page = visit("/matrix?rows=cases&by=opset", 390)
    page.locator("#root .matrix").wait_for()
    newest = page.locator("#root .matrix thead th:not(.case, .by)").first
    box = newest.bounding_box()

    assert newest.inner_text() == "20"
    assert page.locator("#root .matrix thead .by").bounding_box()["x"] < box["x"] < box["x"] + box["width"] <= 390


def test_folded_filters_of_a_phone_say_what_is_set_and_unfolded_have_from_and_to_apart(visit):
    page = visit("/upgrade?from=1.10.2&to=2.8.0&opset=9&exporter=trace", 390)
    folding = page.locator("#root .folding")
    assert folding.inner_text().split() == ["Filters", "From", "torch:", "1.10.2", "·", "To", "torch:", "2.8.0"]

    page.get_by_label("Filters", exact=True).check()
    at = {name: page.locator(f".st-key-url-{name}").bounding_box() for name in ("from", "from_opset", "to", "to_opset")}
    assert at["from"]["x"] == at["from_opset"]["x"] < at["to"]["x"] == at["to_opset"]["x"]
    assert at["from"]["y"] == at["to"]["y"] < at["from_opset"]["y"]
