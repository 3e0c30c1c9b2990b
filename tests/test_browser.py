"""The dashboard in a real Chromium: read, clicked and linked to as a person would, at two widths, light and dark."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("streamlit", reason="the dashboard needs streamlit")
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser: pip install playwright")

from dashboard_data import CROSS, MARKED_ID, build  # noqa: E402 - nothing to import without the two above

from dashboard import links  # noqa: E402
from harness.home import VARIABLE  # noqa: E402

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
APP = Path(__file__).resolve().parents[1] / "dashboard" / "app.py"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
SECONDS = 40

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Where the app is served from a small dataset of its own."""
    home = build(tmp_path_factory.mktemp("home"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--server.port", str(port), "--server.address", "127.0.0.1", "--server.headless", "true"]
    line = [sys.executable, "-m", "streamlit", "run", str(APP), *options]
    log = tmp_path_factory.mktemp("log") / "server.log"
    with log.open("w") as output:
        server = subprocess.Popen(line, env={**os.environ, VARIABLE: str(home)}, stdout=output, stderr=output)
    try:
        _wait(f"http://127.0.0.1:{port}/_stcore/health", server, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)


def _wait(address, server, log):
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        assert server.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(address, timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"the app did not start: {log.read_text()}")


@pytest.fixture(scope="module")
def chromium():
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium, address):
    """``visit("/case?…", width=800)``: the page once it is drawn. What it logs as an error fails the test."""
    contexts, errors = [], []

    def visited(path, width=1440, scheme="light"):
        context = chromium.new_context(viewport={"width": width, "height": 1000}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(SECONDS * 1000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: errors.append(request.url) if not _ours(request.url, address) else None)
        page.goto(address + path)
        _drawn(page)
        return page

    yield visited
    for context in contexts:
        context.close()
    assert errors == []


def _ours(url, address):
    return url.startswith((address, address.replace("http", "ws"), "data:", "blob:"))


def _drawn(page):
    page.wait_for_selector("header.page h1, [data-testid=stAlertContentError]")
    assert page.locator("[data-testid=stAlertContentError]").all_inner_texts() == []
    page.wait_for_function("document.querySelector('[data-testid=stApp]').dataset.testScriptState === 'notRunning'")


def _cell(page, **asked):
    return page.locator(f'.matrix td a[href="{links.page("case", **asked)}"]')


PLAIN = {"case": "cross-no-symbolic", "exporter": "torchscript-trace", "torch": "1.10.2"}


@pytest.mark.parametrize("width", [1440, 800])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/?q=cross",
        "/matrix",
        "/case?case=cross-no-symbolic&torch=1.10.2&opset=14",
        "/op",
        "/workarounds",
        "/claims",
        "/about",
    ],
)
def test_every_page_fits_its_window_and_its_signs_can_be_read(visit, path, width, scheme):
    page = visit(path, width, scheme)

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".badge").count() > 2
    assert page.evaluate(_CONTRAST) == []


#: texts whose contrast with what is behind them is below 4.5, over the signs and cells of a page
_CONTRAST = """() => {
  const numbers = text => (text.match(/[\\d.]+/g) || []).map(Number)
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0)
  const behind = node => {
    for (; node; node = node.parentElement) {
      const colour = numbers(getComputedStyle(node).backgroundColor)
      if (colour.length === 3 || colour[3] > 0.9) return colour
    }
    return [255, 255, 255]
  }
  const found = []
  for (const node of document.querySelectorAll('.badge, .scroll td, .scroll th, .legend li, .hint, header.page p')) {
    if (!node.innerText.trim()) continue
    const [one, two] = [light(numbers(getComputedStyle(node).color)), light(behind(node))]
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05)
    if (ratio < 4.5) found.push(`${node.className} ${node.innerText.slice(0, 20)} ${ratio.toFixed(2)}`)
  }
  return [...new Set(found)]
}"""


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
    _drawn(page)

    assert "torch=1.10.2" in page.url
    page.get_by_text(CROSS.format(14)).first.wait_for()

    page.go_back()
    page.wait_for_selector(".matrix")
    _drawn(page)
    assert page.url.endswith("/matrix?theme=geometry")
    assert page.locator("tr.theme").count() == 1


def test_a_filter_chosen_is_in_the_address_and_the_address_shows_the_same_elsewhere(visit):
    page = visit("/matrix")
    assert page.locator("tr.theme").count() > 1
    page.get_by_label("Search").fill("slice products")
    page.get_by_label("Search").press("Enter")
    page.wait_for_url("**q=slice**")
    page.wait_for_function("document.querySelectorAll('tr.theme').length === 1")
    page.get_by_role("button", name="dynamo").click()
    page.wait_for_url("**exporter=torchscript-trace**")
    _drawn(page)
    page.wait_for_function("document.querySelectorAll('.matrix tbody tr').length === 2")
    here = page.locator(".matrix").inner_text()

    there = visit(page.url.split("/", 3)[3].join(["/", ""]))

    assert there.locator(".matrix").inner_text() == here
    sync_api.expect(there.get_by_label("Search")).to_have_value("slice products")


def test_back_and_forward_step_through_the_filters(visit):
    page = visit("/matrix")
    every = page.locator(".matrix tbody tr").count()
    page.get_by_label("Search").fill("torch.cross")
    page.get_by_label("Search").press("Enter")
    page.wait_for_function("document.querySelectorAll('tr.theme').length === 1")

    page.go_back()
    page.wait_for_function(f"document.querySelectorAll('.matrix tbody tr').length === {every}")
    sync_api.expect(page.get_by_label("Search")).to_have_value("")

    page.go_forward()
    page.wait_for_function("document.querySelectorAll('tr.theme').length === 1")
    sync_api.expect(page.get_by_label("Search")).to_have_value("torch.cross")


def test_the_heads_of_the_matrix_stay_while_it_is_scrolled(visit):
    page = visit("/matrix?fixes=1", width=500)
    # scrolled and measured in one go: nothing can redraw the page in between
    down, right, below, beside = page.locator(".scroll:has(.matrix)").evaluate("""node => {
      node.style.maxHeight = '200px'
      node.scrollTop = 150
      node.scrollLeft = 200
      const [box, head] = [node, node.querySelector('thead th.case')].map(item => item.getBoundingClientRect())
      return [node.scrollTop, node.scrollLeft, head.y - box.y, head.x - box.x]
    }""")

    assert down == 150
    assert right > 0
    assert abs(below) < 3
    assert abs(beside) < 3


def test_another_exporter_and_form_of_a_case_are_one_click_each(visit):
    page = visit("/case?case=cross-no-symbolic&torch=2.15.0&opset=14")
    page.get_by_role("radio", name="dynamo").or_(page.get_by_role("button", name="dynamo")).first.click()
    page.wait_for_url("**exporter=dynamo**")
    page.get_by_text("opset 18 by dynamo").wait_for()

    page.locator(".strip td a").first.click()
    page.wait_for_url("**opset=9**")
    _drawn(page)
    assert page.locator(".strip td.chosen").count() == 1


def test_is_this_workaround_still_needed_is_answered_from_the_front_page(visit):
    page = visit("/")
    page.get_by_role("link", name="Workarounds").click()
    page.wait_for_url("**/workarounds")
    page.get_by_label("Search").fill("stack_rewrite")
    page.get_by_label("Search").press("Enter")
    page.wait_for_url("**q=stack_rewrite**")
    page.wait_for_function("document.querySelectorAll('table.plain tbody tr').length === 2")

    assert "obsolete since 2.0.1 (needed at 1.10.2)" in page.locator("table.plain").inner_text()

    page.get_by_role("link", name="kind").click()
    page.wait_for_url(re.compile("sort=kind"))
    _drawn(page)
    assert "q=stack_rewrite" in page.url


@pytest.mark.parametrize(
    "path",
    ["/matrix?fixes=1", "/case?case={}", "/workarounds", "/claims", "/matrix?theme={}&q={}", "/?q={}", "/op?op={}"],
)
def test_hostile_texts_stay_texts(visit, path):
    page = visit(path.replace("{}", links.page("x", case=MARKED_ID).partition("=")[2]))

    assert page.title() != "taken"
    assert page.locator(".stHtml img, .stHtml script, .stAlert img").count() == 0
