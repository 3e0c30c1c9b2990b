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
    box = reader.page.get_by_role("textbox", name="Ask in words, or paste your error")
    reader.say(box, f"RuntimeError: {CROSS.format(12)}")

    assert reader.sees("stack_rewrite")
    assert reader.actions <= MOST


def test_is_my_workaround_still_needed(reader):
    reader.follows("Is this workaround still needed?")
    reader.say(reader.page.get_by_label("Search", exact=True), "stack_rewrite")
    reader.page.wait_for_url("**q=stack_rewrite**")

    assert reader.sees("cross-no-symbolic/stack_rewrite is obsolete at torch 2.15.0")
    assert reader.actions <= MOST


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("is my cross workaround needed on 2.8 at opset 18", "is obsolete at torch 2.8.0, opset 18"),
        ("cross torch 2.8 opset 18", "is obsolete at torch 2.8.0, opset 18"),
        ("which torch may I move to from 1.10 with opset 9", "torch 2.15.0"),
        ("1.10 to 2.8", "torch 2.8.0"),
    ],
)
def test_a_question_in_one_line_is_answered_below_it(reader, query, answer):
    reader.say(reader.page.get_by_role("textbox", name="Ask in words, or paste your error"), query)

    assert reader.sees(answer)
    assert reader.page.get_by_text("Read as:").is_visible()
    assert reader.actions == 2


def test_a_table_is_shown_where_one_is_asked_for(reader):
    box = reader.page.get_by_role("textbox", name="Ask in words, or paste your error")
    reader.say(box, "geometry table")
    row = reader.page.locator("#root .matrix tbody tr", has_text="torch.cross before a convolution").first
    row.wait_for()

    drawn(reader.page)
    assert row.bounding_box()["y"] < reader.page.viewport_size["height"]


@pytest.mark.parametrize(
    ("card", "line", "answer", "end"),
    [
        (
            "Which torch may I move to?",
            "from 1.10 to 2.8 opset 9 cross",
            "torch 2.8.0",
            "/upgrade?from=1.10.2&to=2.8.0&opset=9&ops=cross",
        ),
        ("Which torch may I move to?", "1.10", "torch 2.15.0", "/upgrade?from=1.10.2&to=2.15.0"),
        (
            "Is this workaround still needed?",
            "stack_rewrite torch 2.8 opset 18 trace",
            "is obsolete at torch 2.8.0, opset 18",
            "/workarounds?torch=2.8.0&opset=18&exporter=trace&q=stack_rewrite",
        ),
        ("Is this workaround still needed?", "1.10 to 2.8", "torch 2.8.0", ""),
    ],
)
def test_the_page_behind_a_card_takes_the_whole_question_in_its_first_box(reader, card, line, answer, end):
    reader.follows(card)
    box = reader.page.locator(".st-key-url-q input")
    others = reader.page.locator("[class*=st-key-bar-] :is(input, button):visible")
    assert box.bounding_box()["y"] <= others.first.bounding_box()["y"]
    reader.say(box, line)
    # the page before has a sentence too
    reader.page.wait_for_url(lambda url: url.endswith(end))

    assert reader.sees(answer)
    assert reader.actions == 3


def test_the_page_of_the_table_takes_the_whole_question_in_its_first_box(reader):
    reader.follows("Show me the table")
    reader.say(reader.page.locator(".st-key-url-q input"), "geometry table 2.0 to 2.8")
    reader.page.wait_for_url("**/matrix?torch=2.0.1..2.8.0&q=geometry")
    row = reader.page.locator("#root .matrix tbody tr", has_text="torch.cross before a convolution").first
    row.wait_for()

    drawn(reader.page)
    assert row.bounding_box()["y"] < reader.page.viewport_size["height"]
    heads = reader.page.locator("#root .matrix thead th:not(.case, .by)").all_inner_texts()
    assert heads == ["2.0.1", "2.8.0"]
    assert reader.actions == 3
