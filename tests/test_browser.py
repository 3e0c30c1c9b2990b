"""The dashboard in a real Chromium: read, clicked and linked to as a person would."""

from __future__ import annotations

import pytest
from browser_fixtures import MARKS, drawn, until
from dashboard_data import CROSS, MARKED_ID

from caniexport.pages import links
from dashboard import frame

sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
pytestmark = MARKS


def _cell(page, **asked):
    return page.locator(f'.matrix td a[href="{links.page("case", **asked)}"]')


PLAIN = {"case": "cross-no-symbolic", "exporter": "torchscript-trace", "torch": "1.10.2"}


def test_failure_mismatch_crash_pass_and_not_measured_differ_in_sign_and_in_colour(visit):
    page = visit("/matrix?exporter=torchscript-trace")
    kinds = ["s-pass", "s-fail", "s-mismatch", "s-crash", "s-not-run"]
    first = [page.locator(f".matrix td.{kind}").first for kind in kinds]

    looks = [
        cell.evaluate("node => getComputedStyle(node).background + getComputedStyle(node).color") for cell in first
    ]

    assert len({cell.inner_text().strip()[0] for cell in first}) == len(kinds)
    assert len(set(looks)) == len(kinds)


def test_a_click_on_a_cell_leads_to_its_error_text_and_back_leads_to_the_matrix(visit):
    page = visit("/matrix?theme=geometry")
    _cell(page, **PLAIN).click()
    page.wait_for_url("**/case?**")
    drawn(page)

    assert "torch=1.10.2" in page.url
    page.get_by_text(CROSS.format(9)).locator("visible=true").first.wait_for()

    page.go_back()
    page.locator(".matrix").wait_for()
    assert page.url.endswith("/matrix?theme=geometry")


def test_a_link_to_another_page_of_the_app_loads_nothing_anew_and_one_out_of_it_is_left_alone(visit):
    page = visit("/matrix?theme=geometry")
    page.evaluate("window.mark = 'kept'")
    _cell(page, **PLAIN).click()
    page.wait_for_selector(".strip")
    drawn(page)
    assert page.evaluate("window.mark") == "kept"

    page.route("https://**", lambda route: route.fulfill(body="elsewhere"))
    page.locator("a.src").first.click(modifiers=["Control"])
    assert page.evaluate("window.mark") == "kept"


def test_the_button_beside_code_copies_it_as_it_stands(visit):
    page = visit("/case?case=cross-no-symbolic&torch=1.10.2&opset=14")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_text("rows: code").click()
    block = page.locator(".code").first
    block.get_by_role("button", name="Copy").click()
    block.get_by_role("button", name="Copied").wait_for()

    for beside in page.locator("#root .code").all():
        code = beside.locator("pre").bounding_box()
        assert beside.locator(".copy").bounding_box()["x"] >= code["x"] + code["width"]
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == block.locator("pre").text_content()
    assert copied.startswith("def forward(self, x):")


def test_a_filter_chosen_is_in_the_address_and_the_address_shows_the_same_elsewhere(visit):
    page = visit("/matrix")
    assert page.locator(".matrix tbody th.case").count() > 1
    page.get_by_label("Search", exact=True).fill("slice products")
    page.get_by_label("Search", exact=True).press("Enter")
    page.wait_for_url("**q=slice**")
    until(page, "document.querySelectorAll('.matrix tbody th.case').length === 1")
    page.get_by_role("button", name="trace", exact=True).click()
    page.wait_for_url("**exporter=torchscript-trace**")
    drawn(page)
    until(page, "document.querySelectorAll('.matrix tbody tr').length === 1")
    here = page.locator(".matrix").inner_text()

    there = visit(page.url.split("/", 3)[3].join(["/", ""]))

    assert there.locator(".matrix").inner_text() == here
    sync_api.expect(there.get_by_label("Search", exact=True)).to_have_value("slice products")


def test_back_and_forward_step_through_the_filters(visit):
    page = visit("/matrix")
    every = page.locator(".matrix tbody tr").count()
    page.get_by_label("Search", exact=True).fill("torch.cross")
    page.get_by_label("Search", exact=True).press("Enter")
    until(page, "document.querySelectorAll('.matrix tbody th.case').length === 1")

    page.go_back()
    until(page, f"document.querySelectorAll('.matrix tbody tr').length === {every}")
    sync_api.expect(page.get_by_label("Search", exact=True)).to_have_value("")

    page.go_forward()
    until(page, "document.querySelectorAll('.matrix tbody th.case').length === 1")
    sync_api.expect(page.get_by_label("Search", exact=True)).to_have_value("torch.cross")


def test_the_heads_of_the_matrix_stay_in_the_window_while_its_rows_go_by(visit):
    page = visit("/matrix?fixes=1", width=500)
    page.set_viewport_size({"width": 500, "height": 420})
    box = page.locator(".scroll:has(.matrix)")
    box.evaluate("node => { node.scrollLeft = 200 }")
    page.mouse.move(250, 300)
    page.mouse.wheel(0, 600)
    # a wheel's way is drawn frame by frame
    until(page, "document.querySelector('.matrix').getBoundingClientRect().top < -200")
    until(
        page,
        """(() => {
          const [bar, box, head] = ['[data-testid=stHeader]', '.scroll:has(.matrix)', '.matrix thead th.case']
            .map(name => document.querySelector(name).getBoundingClientRect())
          return Math.abs(head.y - bar.bottom) < 3 && Math.abs(head.x - box.x) < 3
        })()""",
    )
    inner = box.evaluate("node => node.scrollHeight - node.clientHeight")
    assert inner <= 1, "the page scrolls, not a box in it"


def test_one_stop_of_the_tab_key_leads_into_a_table_and_arrows_move_inside(visit):
    page = visit("/matrix?theme=pooling")
    box = page.locator(".scroll:has(.matrix)")
    stops = box.evaluate("node => node.querySelectorAll('a[href]:not([tabindex=\"-1\"])').length")
    box.focus()
    page.keyboard.press("ArrowDown")
    first = page.evaluate("document.activeElement.closest('td') && document.activeElement.href")
    page.keyboard.press("ArrowRight")

    assert stops <= 60
    assert "/case?" in first
    assert page.evaluate("document.activeElement.href") != first


def test_another_exporter_and_form_of_a_case_are_one_click_each(visit):
    page = visit("/case?case=cross-no-symbolic&torch=2.15.0&opset=14")
    page.get_by_role("radio", name="dynamo").or_(page.get_by_role("button", name="dynamo")).first.click()
    page.wait_for_url("**exporter=dynamo**")
    page.get_by_text("opset 18 by dynamo").wait_for()

    page.locator(".strip td a").first.click()
    page.wait_for_url("**opset=9**")
    drawn(page)
    assert page.locator(".strip td.chosen").count() == 1
    # in a narrow window, too, each is seen
    page.set_viewport_size({"width": 280, "height": 900})
    choices = "[...document.querySelectorAll('[role=radiogroup] button')]"
    until(page, f"{choices}.every(choice => choice.getBoundingClientRect().right <= 280)")
    assert page.evaluate(f"{choices}.length") > 4


@pytest.mark.parametrize(
    "path",
    [
        "/matrix?fixes=1",
        "/case?case={}",
        "/workarounds",
        "/claims",
        "/matrix?theme={}&q={}",
        "/?q={}",
        "/op?op={}",
        "/alerts?q={}",
    ],
)
def test_hostile_texts_stay_texts(visit, path):
    page = visit(path.replace("{}", links.page("x", case=MARKED_ID).partition("=")[2]))

    assert page.title() != "taken"
    assert page.locator(".stHtml img:not([src^='data:image/svg']), .stAlert img").count() == 0
    # the page has two scripts, which are the app's own
    scripts = page.locator(".stHtml script, .stAlert script").all_text_contents()
    assert set(scripts) <= {frame.script()}
