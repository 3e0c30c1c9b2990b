"""The app served from a small dataset, and a real Chromium, for the tests marked ``browser``."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
from dashboard_data import build

from caniexport.home import VARIABLE

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
APP = Path(__file__).resolve().parents[1] / "dashboard" / "app.py"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
SECONDS = 60

MARKS = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium"),
]


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    """Where the app is served from a small dataset of its own."""
    home = build(tmp_path_factory.mktemp("home"))
    with served(home, tmp_path_factory.mktemp("log") / "server.log") as address:
        yield address


@contextmanager
def served(home, log, first_on_path=""):
    """The app over this home, with what lies in a folder imported before what is installed; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--server.port", str(port), "--server.address", "127.0.0.1", "--server.headless", "true"]
    line = [sys.executable, "-m", "streamlit", "run", str(APP), *options]
    path = os.pathsep.join(filter(None, (str(first_on_path), os.environ.get("PYTHONPATH"))))
    environ = {**os.environ, VARIABLE: str(home), "PYTHONPATH": path}
    with log.open("w") as output:
        server = subprocess.Popen(line, env=environ, stdout=output, stderr=output)
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


@pytest.fixture(scope="session")
def chromium():
    sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium, address):
    """``visit("/case?…", width=800)``: the page once it is drawn. What it logs as an error fails the test."""
    with visiting(chromium, address) as visited:
        yield visited


@contextmanager
def visiting(chromium, address):
    """The same of any address."""
    contexts, errors = [], []

    def visited(path, width=1440, scheme="light"):
        context = chromium.new_context(viewport={"width": width, "height": 1000}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(SECONDS * 1000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if _is_error(said) else None)
        page.on("request", lambda request: errors.append(request.url) if not _ours(request.url, address) else None)
        page.goto(address + path)
        drawn(page)
        return page

    visited.address = address
    yield visited
    for context in contexts:
        context.close()
    assert errors == []


def _is_error(said):
    """Below the first page Streamlit asks for its server at the page's own address, too."""
    return said.type == "error" and "/_stcore/" not in said.location.get("url", "")


def _ours(url, address):
    return url.startswith((address, address.replace("http", "ws"), "data:", "blob:"))


def drawn(page):
    """Wait until the app has drawn the page; fail where it could not."""
    page.wait_for_selector("#root header.page h1, [data-testid=stAlertContentError]")
    assert page.locator("[data-testid=stAlertContentError]").all_inner_texts() == []
    until(page, "document.querySelector('[data-testid=stApp]').dataset.testScriptState === 'notRunning'")


def until(page, expression):
    """Wait until an expression is true in the page."""
    end = time.monotonic() + SECONDS
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(20)
