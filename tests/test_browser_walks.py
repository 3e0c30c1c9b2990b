"""The three questions, each asked from the front page by clicking and typing: on a laptop and on a phone.

What a page answers is held against the same question asked of the dataset; its address, opened anew, says the same.
"""

from __future__ import annotations

import pytest
from browser_fixtures import MARKS, drawn, until
from dashboard_data import CROSS, build
from onnx_bytes import model, node
from test_touching import model as written

from caniexport import api
from caniexport.answers.filters import Filters
from caniexport.answers.table import answer_table
from caniexport.pages import looks
from caniexport.store import Dataset

pytestmark = MARKS
laptop_and_phone = pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return Dataset.open(build(tmp_path_factory.mktemp("same")) / "results", None)


def choose(page, label, value):
    """Pick a value in a drop-down, typing it as one does in a long list."""
    box = page.get_by_role("combobox", name=label)
    box.click()
    box.fill(value)
    page.get_by_role("option", name=value, exact=True).click()


def unfold(page, width):
    """A phone shows the answer first, where one was asked for: its filters are one touch away."""
    page.locator("#root header.page h1", has_not_text="Can I export it?").wait_for()
    folded = page.get_by_label("Filters", exact=True)
    if width < 600 and folded.count():
        folded.check()


def same_elsewhere(visit, page, width, scheme, what):
    """The part of the page, and of its address opened by somebody else."""
    here = page.locator(what).inner_text()
    there = visit("/" + page.url.split("/", 3)[3], width, scheme)
    there.locator(what).wait_for()
    assert there.locator(what).inner_text() == here
    return here


#: the first table of an answer: the calls of a release, new regressions
CALLS = "table.answer >> nth=0"


@laptop_and_phone
def test_which_torch_may_i_move_to(visit, dataset, width, scheme):
    page = visit("/", width, scheme)
    page.get_by_role("link", name="Which torch may I move to?").click()
    page.wait_for_url("**/upgrade")
    drawn(page)
    unfold(page, width)
    choose(page, "From torch", "1.10.2")
    page.wait_for_url("**from=1.10.2**")
    page.locator("p.decision", has_text=api.upgrade(dataset, "1.10.2", "2.15.0").verdict).wait_for()

    page.get_by_text("1 row: workarounds you can remove").click()
    page.get_by_role("cell", name="stack_rewrite", exact=True).wait_for()
    assert "default (" in same_elsewhere(visit, page, width, scheme, CALLS)


@laptop_and_phone
def test_which_torch_may_i_move_to_with_the_operators_of_my_model(visit, width, scheme):
    page = visit("/", width, scheme)
    page.get_by_role("link", name="Which torch may I move to?").click()
    page.wait_for_url("**/upgrade")
    drawn(page)
    unfold(page, width)
    mine = {"name": "mine.onnx", "mimeType": "application/octet-stream", "buffer": model([node("Sub", ["x"], ["y"])])}
    page.locator("input[type=file]").set_input_files(mine)
    page.wait_for_url("**ops=Sub**")
    page.get_by_text("mine.onnx: cases are about 1 of its 1 operator").wait_for()
    unfold(page, width)
    choose(page, "From torch", "1.10.2")
    page.wait_for_url("**from=1.10.2**")

    page.locator("p.decision", has_text="mine.onnx").wait_for()
    page.get_by_text("1 row: workarounds you can remove").wait_for()

    unfold(page, width)
    page.locator("input[type=file]").set_input_files({**mine, "name": "<b>.onnx", "buffer": mine["buffer"][:-9]})
    page.get_by_text("<b>.onnx is truncated or damaged").wait_for()
    is_whole = "!location.search.includes('ops=') && document.querySelector('.st-key-url-ops input').value === ''"
    until(page, is_whole)

    page.locator("input[type=file]").set_input_files(mine)
    page.wait_for_url("**ops=Sub**")
    drawn(page)
    unfold(page, width)
    page.get_by_role("button", name="Remove mine.onnx").click()
    until(page, is_whole)
    until(page, "!document.body.innerText.includes('mine.onnx')")


@laptop_and_phone
def test_what_happens_by_each_call_is_seen_whole_and_on_a_phone_the_call_is(visit, width, scheme):
    page = visit("/upgrade?from=2.0.1&to=2.15.0&ops=Sub,aten::grid_sampler,aten::cross", width, scheme)
    calls = page.locator("#root .scroll:has(> table.answer)").first
    calls.wait_for()
    drawn(page)

    assert calls.locator("tbody tr").count() > 1
    phone = width < 500
    assert phone or calls.evaluate("box => box.scrollWidth <= box.clientWidth")
    # the counts are scrolled to, within their box, and the call is not broken into its letters
    line = calls.locator("tbody td code").first
    assert line.evaluate("code => code.getClientRects().length") <= (2 if phone else 1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@laptop_and_phone
def test_a_file_is_asked_from_where_it_says_that_it_was_written_whatever_the_address_said(visit, width, scheme):
    page = visit("/upgrade?from=1.10.2&from_opset=9", width, scheme)
    unfold(page, width)
    content = written("Sub", written_by="2.0.1", opset=17)
    mine = {"name": "mine.onnx", "mimeType": "application/octet-stream", "buffer": content}
    page.locator("input[type=file]").set_input_files(mine)
    page.locator("p.decision", has_text="mine.onnx").wait_for()

    page.get_by_text("It comes from torch 2.0.1, torch.onnx.export, opset_version=17.").wait_for()
    assert "from=" not in page.url


@laptop_and_phone
def test_is_this_workaround_still_needed(visit, dataset, width, scheme):
    page = visit("/", width, scheme)
    page.get_by_role("link", name="Is this workaround still needed?").click()
    page.wait_for_url("**/workarounds")
    drawn(page)
    # on a phone, too, without a touch before
    page.get_by_label("Search", exact=True).fill("stack_rewrite")
    page.get_by_label("Search", exact=True).press("Enter")
    page.wait_for_url("**q=stack_rewrite**")
    # the page opens with the workarounds of all cases: their verdict stands until the search is answered
    page.locator("p.decision", has_text=api.workaround(dataset, "stack_rewrite").verdict).wait_for()

    same_elsewhere(visit, page, width, scheme, "p.decision")
    assert "stack_rewrite" in page.locator("table.answer").first.inner_text()


@laptop_and_phone
def test_my_error_leads_to_its_case_and_to_the_fix_that_works(visit, width, scheme):
    page = visit("/", width, scheme)
    box = page.get_by_role("textbox", name="A case, an operator, or your error")
    box.fill(f"RuntimeError: {CROSS.format(12)}")
    box.press("Enter")
    page.get_by_text("the same error").first.wait_for()
    page.get_by_role("link", name="stack_rewrite").click()
    page.wait_for_url("**/case?**variant=stack_rewrite**")

    page.get_by_role("heading", name="torch.cross before a convolution is refused").first.wait_for()
    assert "since 2.0.1" in same_elsewhere(visit, page, width, scheme, "p.decision >> nth=0")


@laptop_and_phone
def test_show_me_the_table_and_the_cell_behind_it(visit, dataset, width, scheme):
    page = visit("/", width, scheme)
    page.get_by_role("link", name="Show me the table").click()
    page.wait_for_url("**/matrix")
    drawn(page)
    unfold(page, width)
    page.get_by_label("Search", exact=True).fill("torch.cross")
    page.get_by_label("Search", exact=True).press("Enter")
    until(page, one_case := "document.querySelectorAll('.matrix tbody th.case').length === 1")

    shown = answer_table(dataset, Filters(cases=("cross-no-symbolic/plain",), exporters=("trace",))).tables[0]
    said = " ".join(same_elsewhere(visit, page, width, scheme, ".matrix").split())
    assert " ".join(map(looks.signed, shown.rows[0][shown.heads :])) in said

    page.locator(".matrix td.s-fail a").first.click()
    page.wait_for_url("**/case?**")
    page.get_by_text(CROSS.format(9)).locator("visible=true").first.wait_for()
    page.go_back()
    page.wait_for_url("**/matrix?q=torch.cross")
    until(page, one_case)


@laptop_and_phone
def test_what_did_a_release_break_and_the_cell_behind_an_alert(visit, dataset, width, scheme):
    page = visit("/", width, scheme)
    page.get_by_role("link", name="What did a release break?").click()
    page.wait_for_url("**/alerts")
    drawn(page)
    unfold(page, width)
    choose(page, "My torch", "2.0.1")
    page.wait_for_url("**torch=2.0.1**")
    page.locator("p.decision", has_text="1 new regression in torch 2.0.1: roll-negative.").wait_for()

    said = same_elsewhere(visit, page, width, scheme, CALLS)
    assert "pass → crash" in said

    page.locator(CALLS).get_by_role("link", name="roll-negative").click()
    page.wait_for_url("**/case?case=roll-negative**torch=2.0.1**")
    page.get_by_text("killed by SIGSEGV").locator("visible=true").first.wait_for()
    page.go_back()
    page.wait_for_url("**/alerts?torch=2.0.1")
