"""My setting in a real Chromium: chosen once, in the address, on every page."""

from __future__ import annotations

from browser_fixtures import MARKS, drawn, until

pytestmark = MARKS


def heads(page):
    """The releases that are columns of the matrix."""
    return page.locator(".matrix thead th:not(.case, .by)").all_inner_texts()


def type_into(page, label, text):
    """Type a value that the list of a filter does not have."""
    box = page.get_by_role("combobox", name=label)
    box.click()
    box.fill(text)
    box.press("Enter")


def test_a_range_typed_once_is_in_the_address_and_goes_along_to_every_page_by_the_navigation(visit):
    page = visit("/matrix?rows=cases")
    type_into(page, "My torch", "2.0..2.8")
    page.wait_for_url("**torch=2.0..2.8**")
    until(page, "document.querySelectorAll('.matrix thead th:not(.case, .by)').length === 2")
    page.get_by_role("button", name="trace", exact=True).click()
    page.wait_for_url("**exporter=torchscript-trace**")
    drawn(page)
    assert heads(page) == ["2.8.0", "2.0.1"]

    for name in ("Workarounds", "Upgrade", "Data & method", "Operators", "Search", "Table"):
        # whether or not the page before it is drawn already
        page.get_by_role("link", name=name, exact=True).first.click()
        assert "torch=2.0..2.8" in page.url, name
        assert "exporter=torchscript-trace" in page.url, name
    until(page, "document.querySelectorAll('.matrix thead th:not(.case, .by)').length === 2")


def test_the_cell_that_is_looked_at_does_not_change_the_setting(visit):
    page = visit("/matrix?rows=cases&torch=1.10..2.0&exporter=trace")
    page.locator(".matrix td.s-fail a").first.click()
    page.wait_for_url("**/case?**torch=1.10.2**")
    drawn(page)
    page.get_by_text("My setting: torch 1.10..2.0; exporter trace.").wait_for()

    page.locator(".strip td a").first.click()
    page.wait_for_url("**torch=2.15.0**")
    drawn(page)
    page.get_by_role("link", name="Workarounds").first.click()
    page.wait_for_url("**/workarounds?torch=1.10..2.0&exporter=trace")
