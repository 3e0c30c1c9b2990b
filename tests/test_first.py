"""The pages as documents of their own, as the server answers them first: read and asked without a script."""

from __future__ import annotations

import asyncio
import csv
import html
import io
import re
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser

import pytest

pytest.importorskip("streamlit", reason="the dashboard needs streamlit")

from dashboard_data import CROSS, HOSTILE, MARKED_ID, RELEASES, build
from starlette.applications import Starlette

from caniexport.answers.filters import Filters
from caniexport.answers.matrix import table
from caniexport.home import VARIABLE
from caniexport.match import search as searching
from caniexport.pages import grid, links
from caniexport.pages.kept import Kept
from caniexport.pages.page import PAGES
from caniexport.pages.sheet import Sheet
from dashboard import serve


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return build(tmp_path_factory.mktemp("home"))


@pytest.fixture
def ask(home, monkeypatch):
    """``ask("/case", "case=a")``: the reply's status, headers and body, of the address that one leads on to too."""
    monkeypatch.setenv(VARIABLE, str(home))

    def run(path, query="", *, follow=True):
        sent = []

        async def receive():
            return {"type": "http.request"}

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": []}
        scope |= {"scheme": "http", "server": ("127.0.0.1", 80), "root_path": ""}
        with ThreadPoolExecutor(1) as apart:  # in this thread a browser of other tests may have a loop
            apart.submit(lambda: asyncio.run(Starlette(routes=serve.ROUTES)(scope, receive, send))).result()
        whole = b"".join(message.get("body", b"") for message in sent)
        headers = dict(sent[0]["headers"])
        if follow and sent[0]["status"] == 307:
            return run(path, headers[b"location"].decode().partition("?")[2])
        return sent[0]["status"], headers, whole.decode()

    return run


def read(body):
    """What a person reads of it."""
    body = re.sub(r"<(style|script|template).*?</\1>", "", body, flags=re.DOTALL)
    # a part of a line of code that has a colour of its own is no word of its own
    return html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"</?span[^>]*>", "", body)))


#: what is asked of each page, and a part of the answer
ANSWERS = {
    "search": ("q=slice+products", "torch.cross before a convolution is refused"),
    "matrix": ("theme=geometry", "torch.cross before a convolution is refused"),
    "case": ("case=cross-no-symbolic&torch=1.10.2&opset=14", CROSS.format(14)),
    "op": ("op=aten::cross", "torch.cross before a convolution is refused"),
    "upgrade": ("from=1.10.2", "cross-no-symbolic / stack_rewrite"),
    "workarounds": ("torch=2.15.0", "obsolete since 2.0.1 (needed at 1.10.2)"),
    "claims": ("", "cross is refused at opset 14"),
    "declared": ("", "aten::roll"),
    "alerts": ("", "killed by SIGSEGV"),
    "runs": ("before=1.10.2&after=2.0.1", "1.10.2+cpu"),
    "glossary": ("", "one variant with one torch release, exporter and opset"),
    "about": ("", "When, and in which environments"),
}


@pytest.mark.parametrize("name", PAGES)
def test_each_page_can_be_read_before_any_script_is_loaded(ask, name):
    query, said = ANSWERS[name]
    status, headers, body = ask(f"/{name}", query)

    assert status == 200
    assert headers[b"cache-control"] == b"no-store"
    assert said in read(body)
    assert re.search(rf'<a href="{re.escape(links.page("glossary"))}(\?[^"]*)?">Glossary</a>', body)


def test_a_link_to_a_case_says_where_it_works(ask, home):
    _, _, body = ask("/case", "case=cross-no-symbolic")

    for line in Kept.open(home / "results", None).supports("cross-no-symbolic", "plain"):
        assert " ".join(line.text.split()) in " ".join(read(body).split())
    assert all(f">{torch}<" in body for torch in RELEASES)
    assert "def forward(self, x):" in read(body)


def test_a_link_to_a_matrix_has_the_table(ask, home):
    _, _, body = ask("/matrix", "theme=geometry&exporter=torchscript-trace")
    filters = Filters(themes=("geometry",), variants=("plain",), exporters=("torchscript-trace",))
    shown = table(Kept.open(home / "results", None), filters)
    places = [place for line in shown.lines for place in line.places.values()]

    assert body.partition('<figure class="chart">')[0].count("<td class=") == len(places) > 0
    assert all(place.short in read(body) for place in places)


@pytest.mark.parametrize(("rows", "head"), [("cases", "documented failure"), ("operators", "operator")])
def test_a_large_matrix_has_all_rows_the_cells_of_its_first_and_is_whole_without_scripts(ask, monkeypatch, rows, head):
    # an answer without a filter is kept
    query = f"rows={rows}&exporter=trace,dynamo"
    whole = ask("/matrix", query)[2]
    monkeypatch.setattr(grid, "LIGHT", 10)
    monkeypatch.setattr(grid, "LARGE", 10)
    monkeypatch.setattr(grid, "FIRST", 2 * len(RELEASES))
    begun = ask("/matrix", query)[2]
    names = [re.findall(r'<th class="by">(?!exporter)', body) for body in (whole, begun)]

    assert len(names[0]) == len(names[1]) > 2
    assert len(re.findall(r'<tr[^>]* data-leads="[^"]*">', begun)) == 2
    assert len(re.findall(r'<tr[^>]* data-cells="[\d* ]+">', begun)) == len(names[0]) - 2
    assert "data-cells=" not in whole and "Without scripts" not in whole
    assert f'<th class="case">{head}</th>' in begun
    (address,) = re.findall(r'<noscript><p class="hint">.*?href="\./([^"]*)"', begun)
    path, _, query = html.unescape(address).partition("?")
    alone = ask(f"/{path}", query)[2]
    assert len(re.findall(r'<th class="by">(?!exporter)', alone)) == len(names[0])
    wide = [
        sum(int(many or 1) for many in re.findall(r'<td(?: colspan="(\d+)")? class="s-', body))
        for body in (alone, whole)
    ]
    assert wide[0] == wide[1] == len(names[0]) * len(RELEASES)
    assert "<template" not in alone and "<script" not in alone


class _Form(HTMLParser):
    """The parameters that a form sends as it stands."""

    def __init__(self):
        super().__init__()
        self.sent, self._select = [], ""

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag == "select":
            self._select = found["name"]
        elif tag == "option" and "selected" in found:
            self.sent.append((self._select, found["value"]))
        elif tag == "input" and (found.get("type") not in ("checkbox", "radio") or "checked" in found):
            self.sent.append((found["name"], found["value"]))


def test_the_filters_of_a_page_are_a_form_that_asks_for_the_same_again(ask):
    query = "by=opset&torch=2.8.0&exporter=torchscript-trace,dynamo,default&fixes=1&q=cross&unknown=kept"
    body = ask("/matrix", query)[2]
    form = _Form()
    form.feed(re.findall(r"<form.*?</form>", body, re.DOTALL)[0])

    assert [value for name, value in form.sent if name == "exporter"] == ["torchscript-trace", "dynamo", "default"]
    assert ("unknown", "kept") in form.sent
    again = ask("/matrix", "&".join(f"{name}={value}" for name, value in form.sent))[2]
    assert re.findall(r"<table.*?</table>", again, re.DOTALL) == re.findall(r"<table.*?</table>", body, re.DOTALL) != []


def test_a_form_with_several_values_of_a_filter_asks_for_what_one_with_commas_does(ask):
    table = re.compile(r"<table.*?</table>", re.DOTALL)
    with_commas, several, last = (
        table.findall(ask("/workarounds", f"q=cross&torch=2.8&{query}")[2])
        for query in (
            "exporter=torchscript-trace,dynamo",
            "opset=&exporter=torchscript-trace&profile=&exporter=&exporter=dynamo",
            "exporter=dynamo",
        )
    )

    assert several == with_commas != last


def test_the_first_page_that_is_opened_has_the_index_of_the_search_made(ask, monkeypatch):
    made = threading.Event()
    index = searching.index
    monkeypatch.setattr(searching, "index", lambda kept: made.set() or index(kept))
    monkeypatch.setattr(serve, "_PREPARED", set())
    ask("/case", "case=cross-no-symbolic")

    assert made.wait(30)


def test_streamlits_page_waits_in_a_template_and_has_what_the_front_takes_from_it(ask):
    """Where this fails the installed Streamlit has another page: see what first.js takes from it."""
    index = serve.INDEX.read_text(encoding="utf-8")
    body = ask("/")[2]

    assert f'<template id="app">{index}</template>' in body
    assert index.count("<div") == index.count('<div id="root"></div>') == 1
    assert re.search(r'<script type="module"[^>]* src="\./static/', index)
    assert "<template" not in index
    # scripts without an address are not taken: nothing but this one
    inline = re.findall(r"<script>(.*?)</script>", index, re.DOTALL)
    assert [" ".join(text.split()) for text in inline] == ["window.prerenderReady = false"]


def test_a_cell_can_be_saved_as_a_script_or_it_is_said_why_not(ask):
    status, _, body = ask("/script", "case=cross-no-symbolic&torch=1.10.2&opset=14&exporter=torchscript-trace")

    assert status == 404
    assert "its case file is not" in body
    assert ask("/script", "case=nobody-knows-it")[0] == 404


@pytest.mark.parametrize(
    ("path", "query", "said"),
    [
        ("/case", "case=nobody-knows-it", "unknown case 'nobody-knows-it'"),
        ("/matrix", "theme=nobody-knows-it", "unknown theme 'nobody-knows-it'"),
        ("/matrix", "q=nobody+knows+it", "No case has all of these words"),
        ("/case", "case=numpy-2-breaks", "numpy.core.multiarray failed to import"),
    ],
)
def test_what_is_not_known_is_said(ask, path, query, said):
    assert said in read(ask(path, query)[2])


def test_a_home_that_cannot_be_read_is_explained(ask, monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere"))

    assert "a folder with cases/ is wanted" in read(ask("/")[2])


class _Tags(HTMLParser):
    """Tags and attributes that no page of ours has."""

    def __init__(self):
        super().__init__()
        self.strange = []

    def handle_starttag(self, tag, attrs):
        known = tag != "img" or dict(attrs)["src"].startswith(("data:image/svg+xml;base64,", "./picture?name="))
        if not known or tag in ("script", "c") or any(name.startswith("on") for name, _ in attrs):
            self.strange.append((tag, attrs))


def test_texts_of_the_dataset_and_of_the_address_never_become_tags(ask):
    queries = [f"case={name}&exporter={html.escape(HOSTILE)}" for name in ("cross-no-symbolic", "item-baked")]
    mark = "".join(f"%{byte:02x}" for byte in MARKED_ID.encode())
    hostile = "".join(f"%{byte:02x}" for byte in HOSTILE.encode())
    queries += [f"case={mark}", f"q={hostile}", f"case={hostile}", f"rows=cases&fixes=1&x={hostile}&{hostile}=x"]
    for name in PAGES:
        for query in queries:
            body = re.sub(r"<(style|script|template).*?</\1>", "", ask(f"/{name}", query)[2], flags=re.DOTALL)
            tags = _Tags()
            tags.feed(body)
            assert tags.strange == []


def test_a_home_without_rows_says_how_to_measure(ask, monkeypatch, tmp_path):
    (tmp_path / "cases").mkdir()
    monkeypatch.setenv(VARIABLE, str(tmp_path))

    for name in PAGES:
        assert name == "glossary" or "caniexport measure --release" in read(ask(f"/{name}")[2])


def test_the_cells_that_a_matrix_shows_can_be_kept(ask):
    asked = "theme=geometry&exporter=torchscript-trace"
    status, headers, body = ask("/cells", f"{asked}&format=csv")
    rows = list(csv.DictReader(io.StringIO(body)))

    assert status == 200
    assert b"cells.csv" in headers[b"content-disposition"]
    assert {row["exporter"] for row in rows} == {"torchscript-trace"}
    assert "/cells?format=csv" in ask("/matrix", asked)[2]
    assert ask("/cells", f"{asked}&format=xls")[0] == 404


@pytest.mark.parametrize(
    "asked", ["", "by=opset&torch=1.10..2.15&", "by=exporter&", "by=opset&torch=1.10..2.15&fixes=1&"]
)
def test_the_cells_to_keep_are_those_of_the_rows_that_are_shown(ask, asked):
    shown = read(ask("/matrix", f"rows=cases&{asked}status=mismatch")[2])
    body = ask("/cells", f"rows=cases&{asked}status=mismatch&format=csv")[2]
    rows = list(csv.DictReader(io.StringIO(body)))
    counted = Counter(row["status"] for row in rows)

    assert len(counted) > 1
    for status, number in counted.items():
        assert re.search(rf"{'refused' if status == 'unsupported' else status}\s+{number}\b", shown), status
    assert ask("/cells", "rows=cases&q=nothing-like-this&format=csv")[2].count("\n") == 1


#: pages with a filter, and a column of what they give to keep that has this value alone then
KEPT = [
    ("upgrade", "from=1.10.2&to=2.15.0", "from", "torch 1.10.2"),
    ("workarounds", "word=needed&torch=1.10.2", "status", "needed"),
    ("claims", "outcome=reproduced", "outcome", "reproduced"),
    ("declared", "exporter=trace", "exporter", "torchscript-trace"),
    ("alerts", "torch=2.0.1&state=open", "torch", "2.0.1"),
    ("op", "op=aten::cross&exporter=dynamo", "exporter", "dynamo"),
]


@pytest.mark.parametrize(("name", "asked", "column", "value"), KEPT)
def test_the_rows_of_a_page_can_be_kept_as_they_are_filtered(ask, name, asked, column, value):
    shown = html.unescape(ask(f"/{name}", asked)[2])
    (link,) = re.findall(r'href="\./([^"]*format=csv)" download', shown)
    path, _, query = link.partition("?")
    status, headers, body = ask(f"/{path}", query)
    rows = list(csv.DictReader(io.StringIO(body)))

    assert (status, path) == (200, name)
    assert f'filename="{name}.csv"'.encode() in headers[b"content-disposition"]
    assert all(row[column].startswith(value) for row in rows)
    case = next(key for key in rows[0] if key.startswith("case") and "pass" not in key)
    assert all(re.split("[/;]", row[case])[0] in shown for row in rows)
    if name in ("claims", "declared", "workarounds"):
        (table,) = re.findall("<table.*</table>", shown, re.DOTALL)
        assert len(rows) == table.count("<tr") - 1


def test_a_page_without_a_table_has_none_to_keep_and_an_empty_one_has_its_heads(ask):
    assert "format=csv" not in ask("/glossary")[2]
    assert ask("/glossary", "format=csv")[0] == ask("/claims", "format=xls")[0] == 404
    assert ask("/claims", "q=nothing+like+this&format=csv")[2].startswith("outcome,why not,the source says")
    assert ask("/claims", "q=nothing+like+this&format=csv")[2].count("\n") == 1


def test_a_text_of_the_dataset_never_becomes_a_formula():
    given = ["=1+1", "+1", "-1", "@x", "\t=1", 'a "b", c\nd', -1, ""]
    kept = list(csv.reader(io.StringIO(Sheet(("text",), lambda: [[text] for text in given]).csv)))

    assert kept == [["text"], ["'=1+1"], ["'+1"], ["'-1"], ["'@x"], ["'\t=1"], ['a "b", c\nd'], ["-1"], [""]]


def test_a_case_or_an_operator_that_is_not_there_is_not_found_and_the_nearest_is_named(ask):
    for page, asked, nearest in (
        ("case", "cross-no-symbolik", "cross-no-symbolic"),
        ("op", "aten::croos", "aten::cross"),
    ):
        status, _, body = ask(f"/{page}", f"{page}={asked}")
        assert (status, nearest in read(body)) == (404, True)


def test_a_picture_of_a_page_is_drawn_when_it_is_asked_for(ask):
    name = re.search(r'src="\./picture\?name=(\w+)"', ask("/matrix", "rows=cases")[2])[1]
    status, headers, body = ask("/picture", f"name={name}")

    assert (status, headers[b"content-type"]) == (200, b"image/svg+xml")
    assert b"immutable" in headers[b"cache-control"]
    assert "<svg" in body
    assert "2.15.0" in body
    assert ask("/picture", "name=0123456789abcdef")[0] == 404


def test_fields_that_a_form_sends_empty_do_not_stay_in_the_address(ask):
    status, headers, _ = ask("/", "q=cross&torch=&opset=&exporter=dynamo&exporter=trace", follow=False)
    assert status == 307
    assert headers[b"location"] == b"./?q=cross&exporter=dynamo&exporter=trace"

    assert ask("/matrix", "torch=", follow=False)[1][b"location"] == b"./matrix"
    assert ask("/matrix", "torch=2.8.0", follow=False)[0] == 200
