"""Every page in a real Chromium: it fits laptop, tablet and phone, and can be read, light and dark, by everybody."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from browser_fixtures import MARKS, until

pytestmark = MARKS
WIDTHS = (1440, 800, 390)
PAGES = [
    "/",
    "/?q=RuntimeError: Exporting the operator cross to ONNX opset version 12 is not supported",
    "/matrix",
    "/case?case=cross-no-symbolic&torch=1.10.2&opset=14",
    "/case",
    "/op",
    "/op?op=aten::cross",
    "/upgrade?from=1.10.2",
    "/workarounds",
    "/claims",
    "/declared",
    "/alerts",
    "/runs?before=1.10.2&after=2.0.1",
    "/glossary",
    "/about",
]


@pytest.mark.parametrize("path", PAGES)
def test_every_page_fits_its_window_can_be_read_and_has_no_barrier(visit, path):
    for scheme in ("light", "dark"):
        page = visit(path, WIDTHS[0], scheme)
        assert page.evaluate(CONTRAST) == [], scheme
        assert barriers(page) == [], scheme
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            # the app lays itself out anew a moment after its window has changed
            until(page, f"Math.max(...{BOXES}.map(box => box.scrollWidth)) <= {width}")
        assert barriers(page) == [], (scheme, WIDTHS[-1])


#: what would scroll sideways
BOXES = "[document.documentElement, document.querySelector('[data-testid=stMain]')]"


def barriers(page):
    """What axe finds wrong on the page: (rule, where)."""
    source = Path(find_spec("axe_playwright_python").origin).with_name("axe.min.js")
    page.evaluate(source.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [(rule["id"], [node["html"][:160] for node in rule["nodes"][:3]]) for rule in found["violations"]]


#: texts whose contrast with what is behind them is below 4.5, over the signs and cells of a page
CONTRAST = """() => {
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
  const texts = '.badge, .scroll td, .scroll th, .legend li, .hint, header.page p, #root :is(input, textarea)'
  for (const node of document.querySelectorAll(texts)) {
    if (!(node.placeholder ?? node.innerText).trim()) continue
    const style = getComputedStyle(node, node.placeholder && '::placeholder')
    const [one, two] = [light(numbers(style.color)), light(behind(node))]
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05)
    const said = (node.placeholder ?? node.innerText).slice(0, 20)
    if (ratio < 4.5) found.push(`${node.className} ${said} ${ratio.toFixed(2)}`)
  }
  return [...new Set(found)]
}"""


def test_the_tab_has_the_apps_own_sign(visit):
    icon = visit("/matrix").locator("link[rel~=icon]").first.get_attribute("href")

    assert icon.startswith("data:image/svg+xml")
