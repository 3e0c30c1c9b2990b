"""The three tasks of a person who has never seen it: from the front page, at most four clicks and keys each, and the
answer stands on the first screen, on a laptop and on a phone.
"""

from __future__ import annotations

import pytest
from browser_fixtures import MARKS, drawn
from dashboard_data import CROSS

pytestmark = MARKS
SCREENS = [(1440, 900), (390, 844)]
#: clicks, texts typed or pasted, and keys pressed after them
MOST = 4


class Reader:
    """Somebody at a page whose every click, text and key is counted."""

    def __init__(self, page):
        self.page = page
        self.actions = 0

    def click(self, found):
        self.actions += 1
        found.click()

    def follows(self, card):
        """Click a card of the front page, which has a box of the same name, and wait for the page behind it."""
        self.click(self.page.get_by_role("link", name=card))
        self.page.locator("#root header.page h1", has_not_text="Can I export it?").wait_for()
        drawn(self.page)

    def say(self, box, text):
        """Type or paste a text, and press Enter."""
        self.actions += 2
        box.fill(text)
        box.press("Enter")

    def sees(self, text):
        """Whether the answer is there without scrolling."""
        answer = self.page.locator("#root p.decision", has_text=text).first
        answer.wait_for()
        drawn(self.page)
        answer.wait_for()
        box, size = answer.bounding_box(), self.page.viewport_size
        return box["y"] >= 0 and box["y"] + box["height"] <= size["height"] and box["x"] + box["width"] <= size["width"]


@pytest.fixture(params=SCREENS, ids=["laptop", "phone"])
def reader(visit, request):
    width, height = request.param
    page = visit("/", width)
    page.set_viewport_size({"width": width, "height": height})
    return Reader(page)


def test_my_export_fails(reader):
    box = reader.page.get_by_role("textbox", name="A case, an operator, or your error")
    reader.say(box, f"RuntimeError: {CROSS.format(12)}")

    assert reader.sees("stack_rewrite")
    assert reader.actions <= MOST


def test_is_my_workaround_still_needed(reader):
    reader.follows("Is this workaround still needed?")
    reader.say(reader.page.get_by_label("Search", exact=True), "stack_rewrite")
    reader.page.wait_for_url("**q=stack_rewrite**")

    assert reader.sees("Not needed at torch 2.15.0: the original exports since 2.0.1")
    assert reader.actions <= MOST
