"""The matrix: themes first where there are many cases, and links that are made when a cell is pointed at."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from browser_fixtures import MARKS
from dashboard_data import build

from caniexport import pages
from caniexport.answers.filters import Filters
from caniexport.answers.matrix import By, table
from caniexport.pages import grid, links, looks
from caniexport.pages.grid import Cells
from caniexport.pages.kept import Kept
from caniexport.pages.page import page as page_of
from caniexport.pages.render import render

ROOT = Path(__file__).resolve().parents[1]
STYLE = Path(pages.__file__).with_name("style.css")
SCRIPTS = [Path(pages.__file__).with_name(name) for name in ("cells.js", "nav.js")]


#: height of all, left edges of the heads
SIZES = """[document.querySelector('.matrix').offsetHeight,
    ...[...document.querySelectorAll('.matrix thead th')].map(head => head.offsetLeft)].map(Math.round)"""


@pytest.fixture(scope="module")
def published():
    return Kept.open(ROOT / "results", None)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return Kept.open(build(tmp_path_factory.mktemp("home")) / "results", None)


def _drawn(kept, *ways, by=By.TORCH):
    shown = table(kept, Filters(variants=("plain",)), by)
    made = [grid.of_lines(shown.lines, shown.columns, {}, by, drawn=way) for way in ways]
    return shown, [render("grid.html", grid=item) for item in made]


@pytest.mark.parametrize("by", [By.TORCH, By.OPSET, By.EXPORTER, By.RUNTIME])
def test_a_light_table_has_the_same_texts_and_says_once_where_its_cells_lead(small, by, monkeypatch):
    monkeypatch.setattr(grid, "FIRST", 10**6)
    _, (full, light) = _drawn(small, Cells.LINKED, Cells.SEEN, by=by)

    words = [re.sub(r"<[^>]+>", "\n", text).split("\n") for text in (full, light)]
    assert [item for item in words[0] if item] == [item for item in words[1] if item]
    adds = [html.unescape(item) for item in re.findall(r'data-adds="([^"]*)"', light)]
    made = [
        "&".join(filter(None, (html.unescape(leads), add)))
        for leads, cells in re.findall(r'data-leads="([^"]*)">(.*?)</tr>', light, re.DOTALL)
        for add, _ in zip(adds, re.findall("<td class=", cells), strict=True)
    ]
    wanted = [html.unescape(item) for item in re.findall(r'<td class="[^"]*"><a href="([^"]*)"', full)]
    assert [_asked(item) for item in made] == [_asked(item) for item in wanted]
    assert "<td><a" not in light and len(light) < len(full)


def test_the_cells_that_a_script_draws_are_those_of_the_table(small, monkeypatch):
    monkeypatch.setattr(grid, "FIRST", 0)
    shown, (text,) = _drawn(small, Cells.SEEN)
    kinds = json.loads(html.unescape(re.findall(r'data-kinds="([^"]*)"', text)[0]))
    rows = [
        [kinds[int(run.partition("*")[0])] for run in given.split() for _ in range(int(run.partition("*")[2] or 1))]
        for given in re.findall(r'data-cells="([^"]*)"', text)
    ]

    assert len(rows) == len(shown.lines)
    for line, cells in zip(shown.lines, rows, strict=True):
        for column, (css, said, hint) in zip(shown.columns, cells, strict=True):
            place = line.places[column]
            assert css.split()[0] == looks.STATUS[place.status].css
            assert place.short in said
            assert (hint == "not measured") == (not place.at)


def _asked(address):
    return sorted(address.partition("?")[2].split("&"))


def test_many_cases_are_first_shown_by_theme_and_a_theme_leads_to_its_cases(published):
    told = page_of("matrix", {"exporter": "dynamo"}, published).body
    (theme,) = re.findall(r'<a href="([^"]*)">geometry</a>', told)

    assert html.unescape(theme) == "./matrix?theme=geometry&exporter=dynamo"
    inside = page_of("matrix", {"theme": "geometry", "exporter": "dynamo"}, published).body
    cases = set(re.findall(r'<th class="case"><a href="([^"]*)"', inside))
    assert f"{len(cases)} cases</small>" in told[told.index(">geometry</a>") :][:80]


def test_a_share_counts_the_cases_that_work(published):
    told = page_of("matrix", {"rows": "themes", "exporter": "dynamo"}, published).body
    cells = table(published, Filters(themes=("geometry",), variants=("plain",), exporters=("dynamo",)))
    newest = cells.columns[-1]
    works = [line.case for line in cells.lines if line.places[newest].status.value in ("pass", "degraded")]
    row = told[told.index(">geometry</a>") :].partition("</tr>")[0]

    assert re.findall(r"(\d+)/\d+(?:</a>)?</td>$", row) == [str(len(works))]


def test_few_cases_are_shown_at_once(small):
    assert '<th class="case">documented failure</th>' in page_of("matrix", {}, small).body
    assert '<th class="case">theme</th>' in page_of("matrix", {"rows": "themes"}, small).body


def test_a_share_of_nothing_is_told_as_what_it_is(published):
    told = page_of("matrix", {"rows": "themes"}, published).body

    assert "work at some opset" in told
    assert "not measured" in told
    assert "0 of 0" not in told


@pytest.mark.parametrize(
    "asked", [{"theme": "x"}, {"by": "moon"}, {"torch": "9", "by": "opset"}, {"exporter": "dynamo,x"}]
)
def test_an_unknown_value_counts_as_not_given_and_is_named(small, asked):
    (warning,) = page_of("matrix", asked, small).warnings

    assert warning.startswith("unknown ") or "torch 9 has not been measured" in warning


class TestInABrowser:
    pytestmark = MARKS

    @pytest.fixture
    def page(self, chromium, published):
        shown, (light,) = _drawn(published, Cells.SEEN)
        page = chromium.new_context(viewport={"width": 1200, "height": 800}).new_page()
        style = STYLE.read_text(encoding="utf-8") + ".scroll{height:700px;overflow:auto}"
        scripts = "".join(f"<script>{path.read_text(encoding='utf-8')}</script>" for path in SCRIPTS)
        page.set_content(f'<style>{style}</style><div class="stHtml">{light}</div>{scripts}')
        yield page, shown
        page.context.close()

    def test_a_cell_that_is_pointed_at_is_a_link_to_its_evidence(self, page):
        page, shown = page
        line = shown.lines[3]
        cell = page.locator(".matrix tr[data-leads]").nth(3).locator("td").nth(20)
        text = cell.inner_text()
        assert page.locator(".matrix td a").count() == 0

        cell.hover()

        link = cell.locator("a")
        wanted = links.page("case", case=line.case, exporter=line.exporter, torch=shown.columns[20])
        assert link.get_attribute("href") == wanted
        assert link.inner_text() == text
        assert link.get_attribute("title").startswith(f"{shown.columns[20]}, ")
        # the table may move under a pointer: what it crosses becomes a link too
        assert page.locator(".matrix td a").count() < len(shown.columns)

    def test_cells_are_drawn_where_rows_are_seen_and_move_nothing(self, page):
        page, shown = page
        end = page.locator(".matrix tr[data-leads]").last
        before = page.evaluate(SIZES)
        assert end.locator("td").count() == 1

        end.scroll_into_view_if_needed()

        end.locator("td").nth(len(shown.columns) - 1).wait_for()
        line = shown.lines[-1]
        assert [cell.replace("\n", "") for cell in end.locator("td").all_inner_texts()] == [
            grid._said(line.places[column], True) for column in shown.columns
        ]
        assert page.evaluate(SIZES) == before
        assert page.locator("tr[data-cells]").count() > len(shown.lines) / 2

    @pytest.mark.parametrize("act", ["print", "find"])
    def test_paper_and_a_search_on_the_page_have_every_cell(self, page, act):
        page, shown = page
        assert page.locator("tr[data-cells]").count() > len(shown.lines) / 2

        if act == "print":
            page.pdf()
        else:
            page.keyboard.press("Control+f")

        assert page.locator("tr[data-cells]").count() == 0
        assert page.locator(".matrix tr[data-leads] td").count() == len(shown.lines) * len(shown.columns)

    def test_arrows_go_on_into_rows_that_no_observer_has_drawn(self, page):
        page, shown = page
        # the first row of a case in the middle of the table
        cases = [line.case for line in shown.lines]
        at = next(at for at in range(len(cases) // 2, len(cases)) if cases[at] != cases[at - 1])
        page.evaluate(
            "at => document.querySelectorAll('.matrix tr[data-leads]')[at].querySelector('th.case a').focus()", at
        )
        page.evaluate(
            "window.cells.draw = (draw => row => { window.byKey = row ?? window.byKey; draw(row) })(window.cells.draw)"
        )
        for key in ("ArrowRight", "ArrowDown"):
            page.keyboard.press(key)

        where = page.evaluate("document.activeElement.getAttribute('href')")
        assert page.evaluate("window.byKey.matches('[data-leads]')")
        line = shown.lines[at + 1]
        assert where == links.page("case", case=line.case, exporter=line.exporter, torch=shown.columns[0])

    def test_arrows_go_from_a_case_through_its_cells(self, page):
        page, shown = page
        page.locator(".matrix th.case a").first.focus()
        for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
            page.keyboard.press(key)

        where = page.evaluate("document.activeElement.getAttribute('href')")
        below = shown.lines[1]
        assert where == links.page("case", case=below.case, exporter=below.exporter, torch=shown.columns[1])


def test_a_place_where_something_fails_is_never_said_to_work_at_all_opsets(published):
    every = Filters(variants=("*",), exporters=("*",))
    for by in (By.TORCH, By.OPSET, By.EXPORTER):
        shown = table(published, every, by)
        contradictions = {
            place.text
            for line in shown.lines
            for place in line.places.values()
            if "all" in place.text and set(place.at) - {"pass", "degraded", "unsupported"}
        }
        assert contradictions == set()


def test_a_cell_of_an_operator_or_theme_leads_to_its_release_and_exporter(small):
    for rows, leads in (("operators", "./op?"), ("themes", "./matrix?")):
        body = str(page_of("matrix", {"rows": rows, "opset": "14"}, small).body)
        found = [html.unescape(item) for item in re.findall(r'<td class="[^"]*"><a href="([^"]*)"', body)]
        assert len(found) > 8
        for address in found:
            assert address.startswith(leads)
            assert re.search(r"torch=\d+\.\d+\.\d+", address), address
            assert re.search(r"exporter=(torchscript-trace|dynamo)", address), address
            assert "opset=14" in address

    by_exporter = str(page_of("matrix", {"rows": "operators", "by": "exporter"}, small).body)
    assert re.search(r'<td class="[^"]*"><a href="[^"]*exporter=dynamo', by_exporter)


def test_the_operators_of_torch_stand_apart_from_those_of_onnx(small):
    body = str(page_of("matrix", {"rows": "operators"}, small).body)
    torch, _, onnx = body.partition(">operators of ONNX <")
    assert ">operators of torch <" in torch
    names = [re.findall(r'<th class="case"[^>]*><a href="[^"]*"[^>]*>([^<]*)</a>', part) for part in (torch, onnx)]

    assert all("::" in name for name in names[0])
    assert names[1]
    assert not any("::" in name for name in names[1])
