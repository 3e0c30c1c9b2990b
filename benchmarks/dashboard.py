"""How fast the dashboard answers: ``python benchmarks/dashboard.py [--rows 1000000]``, needs playwright and a Chromium.

First paint cold (a server that was just started) and warm, a filter change, a case page by a click, and the server's
memory with ten sessions; over the published rows, or over as many synthetic ones (benchmarks/answers.py). Beside the
seconds on the wall the processor seconds of the server: on a busy machine only these say something. Every line has the
limit that the wall is held against on a quiet machine with two cores.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from answers import enlarge
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
SESSIONS = 10
LIMITS = {
    "first paint, cold": 2.0,
    "first paint, warm": 1.0,
    "filter change": 0.3,
    "case page": 0.5,
    "search": 1.0,
    "memory MB": 500.0,
}


@contextmanager
def served(home: Path) -> Iterator[tuple[str, int]]:
    """The app over this home; its address and process id."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--server.port", str(port), "--server.address", "127.0.0.1", "--server.headless", "true"]
    line = [sys.executable, "-m", "streamlit", "run", str(ROOT / "dashboard" / "app.py"), *options]
    line += ["--server.fileWatcherType", "none"]
    server = subprocess.Popen(line, env={**os.environ, "CANIEXPORT_HOME": str(home)}, stdout=subprocess.DEVNULL)
    try:
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}", server.pid
    finally:
        server.terminate()
        server.wait(30)


def page_of(browser: Browser) -> Page:
    """A fresh session."""
    page = browser.new_context(viewport={"width": 1440, "height": 1000}).new_page()
    page.set_default_timeout(120_000)
    return page


class Watch:
    """Seconds on the wall and processor seconds of the server, by what was done."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.found: dict[str, tuple[float, float]] = {}

    @contextmanager
    def over(self, name: str) -> Iterator[None]:
        """Time what is done inside."""
        work, begin = _processor(self._pid), time.perf_counter()
        yield
        self.found[name] = time.perf_counter() - begin, _processor(self._pid) - work


def go(page: Page, address: str, shown: str) -> None:
    """Open a page and wait until what is to be read is there."""
    page.goto(address)
    page.wait_for_selector(shown)


def measure(home: Path, browser: Browser) -> dict[str, tuple[float, float]]:
    """Every number of :data:`LIMITS`; the memory is no time and stands in the first place."""
    with served(home) as (address, pid):
        watch = Watch(pid)
        for name in ("first paint, cold", "first paint, warm"):
            page = page_of(browser)
            with watch.over(name):
                go(page, f"{address}/", ".questions")
        page = page_of(browser)
        go(page, f"{address}/matrix?theme=geometry", ".matrix")
        go(page, f"{address}/matrix", ".matrix")
        rows = page.locator("tr.theme").count()
        with watch.over("filter change"):
            page.evaluate(
                "history.pushState({}, '', '/matrix?theme=pooling'); dispatchEvent(new PopStateEvent('popstate'))"
            )
            page.wait_for_function(f"document.querySelectorAll('tr.theme').length < {rows}")
        with watch.over("case page"):
            page.locator(".matrix td a").first.click()
            page.wait_for_selector(".strip")
        with watch.over("search"):
            go(page, f"{address}/?q=grid_sampler", ".hits")
        for _ in range(SESSIONS):
            go(page_of(browser), f"{address}/", ".questions")
        return {**watch.found, "memory MB": (_resident(pid), 0.0)}


def _processor(pid: int) -> float:
    """User and system seconds of a process and its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=0, help="synthetic rows; 0: the published dataset")
    rows = parser.parse_args().rows
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        raise SystemExit("no Chromium here: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        home = ROOT
        if rows:
            home = Path(folder) / "home"
            home.mkdir()
            print(f"{enlarge(ROOT / 'results', home, rows):,} rows")
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name, (value, work) in measure(home, browser).items():
            over = "" if value <= LIMITS[name] else "  OVER"
            print(f"{name:18} {value:8.2f}  (processor {work:.2f}; limit {LIMITS[name]:g}){over}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
