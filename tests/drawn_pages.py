"""Pages of the dashboard drawn by Streamlit's own test runner from a dataset written by the store, and what is read."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from dashboard_data import build

from caniexport.home import VARIABLE

APP = Path(__file__).resolve().parents[1] / "dashboard" / "app.py"
PAGE = """
from dashboard import frame
frame.make_page("{0}")()
"""


@pytest.fixture(scope="module")
def pages_home(tmp_path_factory):
    return build(tmp_path_factory.mktemp("home"))


@pytest.fixture
def draw(pages_home, monkeypatch):
    """``draw("case", case="...")``: the page with these URL parameters."""
    monkeypatch.setenv(VARIABLE, str(pages_home))

    def drawn(page, **asked):
        app = app_of(page, **asked).run()
        assert not app.exception
        return app

    return drawn


def app_of(page, **asked):
    """The page with these URL parameters, not drawn yet."""
    testing = pytest.importorskip("streamlit.testing.v1", reason="the dashboard needs streamlit")
    app = testing.AppTest.from_string(PAGE.format(page), default_timeout=120)
    for name, value in asked.items():
        app.query_params[name] = value
    return app


def markup(app):
    """All HTML that a page writes itself."""
    return "\n".join(item.proto.body for item in app.get("html"))


def codes(app):
    """The texts of its blocks of code."""
    blocks = re.findall(r"<pre[^>]*>(.*?)</pre>", markup(app), re.DOTALL)
    return [html.unescape(re.sub(r"<[^>]+>", "", block)) for block in blocks]


def words(app):
    """The text a reader sees of it."""
    return html.unescape(re.sub(r"<[^>]+>", " ", markup(app)))


def cells(app, case, css="matrix"):
    """(class, text, address) of every cell of the row blocks whose links name the case."""
    table = next(part for part in markup(app).split("<table") if re.search(rf'class="{css}( chosen)?"', part))
    found = re.findall(r'<td class="([^"]*)"[^>]*><a [^>]*?href="([^"]*)"[^>]*>(.*?)</a>', table)
    return [(kind, html.unescape(text), html.unescape(link)) for kind, link, text in found if f"case={case}&" in link]
