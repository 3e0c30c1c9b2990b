"""The first answer of a page: plain HTML in the reply that has the app's scripts, right and harmless."""

from __future__ import annotations

import asyncio
import html
import re
import threading

import pytest

pytest.importorskip("streamlit", reason="the dashboard needs streamlit")

from dashboard_data import HOSTILE, RELEASES, build

from caniexport.answers import search as searching
from caniexport.answers.filters import Filters
from caniexport.answers.matrix import table
from caniexport.home import VARIABLE
from caniexport.pages import first, matrix_html
from caniexport.pages.kept import Kept
from dashboard import serve

PAGE = b'<html><head><script type="module" crossorigin src="./a.js"></script></head><body><div id="root"></div></body>'


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return build(tmp_path_factory.mktemp("home"))


@pytest.fixture
def ask(home, monkeypatch):
    """``ask("/case", "case=a")``: the reply's status, headers and body, and the request that the app was given."""
    monkeypatch.setenv(VARIABLE, str(home))

    def run(path, query="", status=200, body=PAGE):
        given, sent = [], []

        async def app(scope, receive, send):
            given.append(scope)
            headers = [(b"content-type", b"text/html"), (b"etag", b"x"), (b"content-length", str(len(body)).encode())]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body[:40], "more_body": True})
            await send({"type": "http.response.body", "body": body[40:]})

        async def receive():
            return {"type": "http.request"}

        async def send(message):
            sent.append(message)

        headers = [(b"accept-encoding", b"gzip"), (b"if-none-match", b"x"), (b"host", b"here")]
        scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": headers}
        asyncio.run(serve.FirstAnswers(app)(scope, receive, send))
        whole = b"".join(message.get("body", b"") for message in sent)
        return sent[0]["status"], dict(sent[0]["headers"]), whole.decode(), dict(given[0]["headers"])

    return run


def read(body):
    # a part of a line of code that has a colour of its own is no word of its own
    body = re.sub(r"</?span[^>]*>", "", body)
    return html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"<(style|script).*?</\1>", "", body, flags=re.DOTALL)))


def test_a_link_to_a_case_says_where_it_works_before_any_script_is_loaded(ask, home):
    status, headers, body, asked = ask("/case", "case=cross-no-symbolic")
    answer = body[body.index('<div id="first"') :]

    assert status == 200
    assert int(headers[b"content-length"]) == len(body.encode())
    assert b"etag" not in headers and headers[b"cache-control"] == b"no-store"
    assert asked == {b"host": b"here"}
    for line in Kept.open(home / "results", None).supports("cross-no-symbolic", "plain"):
        assert " ".join(line.text.split()) in " ".join(read(answer).split())
    assert all(f">{torch}<" in answer for torch in RELEASES)
    assert "def forward(self, x):" in read(answer)


def test_a_link_to_a_matrix_has_the_table_before_any_script_is_loaded(ask, home):
    _, _, body, _ = ask("/matrix", "theme=geometry&exporter=torchscript-trace")
    answer = body[body.index('<div id="first"') :]
    shown = table(
        Kept.open(home / "results", None),
        Filters(themes=("geometry",), variants=("plain",), exporters=("torchscript-trace",)),
    )
    places = [place for line in shown.lines for place in line.places.values()]

    assert answer.count("<td class=") == len(places) > 0
    assert all(place.short in read(answer) for place in places)


@pytest.mark.parametrize(("rows", "head"), [("cases", "case"), ("operators", "operator"), ("themes", "theme")])
def test_a_large_matrix_begins_with_its_first_rows(ask, home, monkeypatch, rows, head):
    whole = ask("/matrix", f"rows={rows}")[2]
    monkeypatch.setattr(first, "_LARGEST", 100)
    monkeypatch.setattr(matrix_html, "LIGHT", 2 * len(RELEASES))
    begun = ask("/matrix", f"rows={rows}")[2]
    names = [re.findall(r'<th class="by" scope="row">', body) for body in (whole, begun)]

    assert len(names[0]) > len(names[1]) == 2
    assert "The first 2 rows; the others follow." in begun and "the others follow" not in whole
    assert f'<th class="case" scope="col">{head}</th>' in begun


def test_a_link_to_a_search_has_what_was_found_before_any_script_is_loaded(ask):
    _, _, body, _ = ask("/", "q=slice+products")

    assert 'class="hits"' in body
    assert "case=cross-no-symbolic" in body[body.index('class="hits"') :]


def test_the_first_page_that_is_opened_has_the_index_of_the_search_made(ask, monkeypatch):
    made = threading.Event()
    index = searching.index
    monkeypatch.setattr(searching, "index", lambda kept: made.set() or index(kept))
    monkeypatch.setattr(serve, "_PREPARED", set())
    ask("/case", "case=cross-no-symbolic")

    assert made.wait(30)


def test_the_scripts_wait_in_the_reply_until_the_answer_is_painted(ask):
    _, _, body, _ = ask("/")
    held = '<template data-later><script type="module" crossorigin src="./a.js"></script></template>'

    assert held in body
    assert body.index("</body>") > body.index('class="questions"') > body.index(held)


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/case", "case=nobody-knows-it"),
        ("/case", ""),
        ("/matrix", "theme=nobody-knows-it"),
        ("/matrix", "q=nobody+knows+it"),
        ("/upgrade", ""),
        ("/_stcore/health", ""),
    ],
)
def test_where_the_app_alone_answers_the_reply_is_as_it_was(ask, path, query):
    _, headers, body, asked = ask(path, query)

    assert body == PAGE.decode()
    assert headers[b"etag"] == b"x"
    assert asked[b"accept-encoding"] == b"gzip"


def test_what_is_no_page_is_left_as_it_is(ask):
    assert ask("/", status=500, body=b"broken on the way to a page of its own, with no end")[::2] == (
        500,
        "broken on the way to a page of its own, with no end",
    )


def test_a_home_that_cannot_be_read_is_the_apps_to_explain(ask, monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere"))

    assert ask("/")[2] == PAGE.decode()


def test_texts_of_the_dataset_and_of_the_address_never_become_tags(ask, home):
    kept = Kept.open(home / "results", None)
    for case in {case for case, _ in kept.rows().catalogue}:
        told = first.answer(kept, "/case", {"case": case, "exporter": HOSTILE}) or ""
        assert HOSTILE not in told
        assert "<img" not in told and "onerror" not in re.sub(r"&lt;.*?&gt;", "", told)
    for path, asked in (("/matrix", {"rows": "cases"}), ("/matrix", {"q": HOSTILE}), ("/", {"q": HOSTILE})):
        told = first.answer(kept, path, asked) or ""
        assert HOSTILE not in told and "<img" not in told


def test_a_home_without_rows_is_the_apps_to_explain(ask, monkeypatch, tmp_path):
    (tmp_path / "cases").mkdir()
    monkeypatch.setenv(VARIABLE, str(tmp_path))

    assert ask("/")[2] == PAGE.decode()
