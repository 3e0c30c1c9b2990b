"""How fast the dashboard answers: ``python benchmarks/dashboard.py [--rows 1000000]``, needs playwright and a Chromium.

First paint cold (a server that was just started) and warm; then, of a server at rest, a filter change, a case page by
a click, a search, the matrix of every case (its first rows, and its last), twelve tabs at once; then the server's
memory with ten sessions open, each of which has looked at the front page, the whole matrix, a case and an upgrade. Over
the published rows, or over as many synthetic ones (benchmarks/answers.py).

Beside the seconds on the wall the processor seconds of the server and of the browser: on a busy machine only these say
something. Every line has the limit that the wall, or the memory, is held against on a quiet machine with two cores.
``--only`` measures one part, ``--home`` any other home.
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
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
SESSIONS = 10
LIMITS = {
    "first paint, cold": 4.0,
    "first paint, warm": 3.0,
    "matrix": 3.0,
    "every case": 3.0,
    "every case, whole": 5.0,
    "filter change": 0.5,
    "case page": 0.5,
    "search": 3.0,
    "twelve tabs": 15.0,
}
MEGABYTES = 500.0
#: seconds without work after which a server rests
RESTED = 4
#: what every session has looked at, and what of it must be there before the next
TOUR = (
    ("/", ".questions"),
    ("/matrix?rows=cases", ".matrix"),
    ("/case?case=cross-no-symbolic&torch=2.15.0&opset=14", ".strip"),
    ("/upgrade?from=1.13.1", "table.answer"),
)
#: what a person looks at in twelve tabs
TABS = (
    "/", "/matrix", "/matrix?rows=cases", "/case?case=cross-no-symbolic", "/op?op=aten::grid_sampler", "/upgrade",
    "/workarounds", "/claims", "/alerts", "/runs", "/?q=grid_sampler", "/?q=is not a registered function/op",
)  # fmt: skip
#: milliseconds that a page may take on a busy machine
PATIENCE = 300_000


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
    """A fresh session, of a person who was never here."""
    return tab_of(browser.new_context(viewport={"width": 1440, "height": 1000}))


def tab_of(person: BrowserContext) -> Page:
    """A fresh session in a further tab of somebody's browser."""
    page = person.new_page()
    page.set_default_timeout(PATIENCE)
    return page


class Watch:
    """Times what is done: seconds on the wall, processor seconds of the server and of the browser."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    @contextmanager
    def over(self, name: str) -> Iterator[None]:
        """Time what is done inside, and print it."""
        server, browser, begin = _processor(self._pid), self._browser(), time.perf_counter()
        yield
        wall = time.perf_counter() - begin
        server, browser = _processor(self._pid) - server, self._browser() - browser
        over = "" if wall <= LIMITS[name] else "  OVER"
        spent = f"processor: server {server:.2f}, browser {browser:.2f}"
        print(f"{name:18} {wall:8.2f} s of {LIMITS[name]:g}  ({spent}){over}", flush=True)

    def _browser(self) -> float:
        return sum(_processor(pid) for pid in _below(os.getpid()) if pid != self._pid)


def go(page: Page, address: str, shown: str) -> None:
    """Open a page and wait until what is to be read is there; the rest may still be loading."""
    page.goto(address, wait_until="commit")
    page.wait_for_selector(shown)


def settled(page: Page) -> None:
    """Wait until the page is drawn, and as long as a person looks at the least."""
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    page.wait_for_timeout(1000)


def scroll_to_the_end(page: Page) -> None:
    """Look at the last row of the matrix until its cells are there."""
    while not page.evaluate(
        """() => { const row = [...document.querySelectorAll('#root .matrix tr')].pop()
        row?.scrollIntoView()
        return row?.cells.length > 3 }"""
    ):
        page.wait_for_timeout(20)


def rested(pid: int) -> None:
    """Wait until the processor time of a server stands still."""
    still, spent = 0, _processor(pid)
    while still < RESTED:
        time.sleep(1)
        still, spent = (still + 1 if _processor(pid) - spent < 0.1 else 0), _processor(pid)


def times(home: Path, browser: Browser) -> None:
    """Every number of :data:`LIMITS` but those of the tabs."""
    with served(home) as (address, pid):
        watch = Watch(pid)
        for name in ("first paint, cold", "first paint, warm"):
            page = page_of(browser)
            with watch.over(name):
                go(page, f"{address}/", ".questions")
        rested(pid)
        page = page_of(browser)
        go(page, f"{address}/matrix?theme=geometry", ".matrix")
        settled(page)
        with watch.over("matrix"):
            go(page, f"{address}/matrix", ".matrix")
        settled(page)
        with watch.over("filter change"):
            page.evaluate(
                "history.pushState({}, '', '/matrix?theme=pooling'); dispatchEvent(new PopStateEvent('popstate'))"
            )
            # one row of a theme, and no second
            page.wait_for_selector("table:not(:has(tr.theme ~ tr.theme)) tr.theme")
        settled(page)
        with watch.over("case page"):
            page.locator(".matrix tr.theme + tr td").last.click()
            page.wait_for_selector(".strip")
        settled(page)
        page = page_of(browser)
        with watch.over("search"):
            go(page, f"{address}/?q=grid_sampler", ".hits")
        settled(page)
        with watch.over("every case, whole"):
            with watch.over("every case"):
                go(page, f"{address}/matrix?rows=cases", ".matrix")
            scroll_to_the_end(page)


def tabs(home: Path, browser: Browser) -> None:
    """Twelve tabs that a person opens in one moment, of a server at rest whose front page they have seen: until all
    are drawn.
    """
    with served(home) as (address, pid):
        first = page_of(browser)
        go(first, f"{address}/", ".questions")
        settled(first)
        rested(pid)
        watch, pages = Watch(pid), [tab_of(first.context) for _ in TABS]
        with watch.over("twelve tabs"):
            for page, path in zip(pages, TABS, strict=True):
                page.evaluate("address => { setTimeout(() => { location = address }) }", address + path)
            for page in pages:
                page.wait_for_selector("#root header.page h1")


def memory(home: Path, browser: Browser) -> None:
    """What the server holds when ten sessions are open and have looked around."""
    with served(home) as (address, pid):
        pages = [page_of(browser) for _ in range(SESSIONS)]
        for number, page in enumerate(pages, start=1):
            for path, shown in TOUR:
                go(page, address + path, shown)
            if number == 1:
                rested(pid)
            if number in (1, SESSIONS):
                rss, pss = _memory(pid)
                over = "" if rss <= MEGABYTES else "  OVER"
                print(f"memory, {number:2} sessions {rss:8.0f} MB of {MEGABYTES:g} (PSS {pss:.0f}){over}", flush=True)


def _processor(pid: int) -> float:
    """User and system seconds of a process and its threads; 0 where it has gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _below(pid: int) -> list[int]:
    """The processes below one, at any depth."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text(encoding="ascii").rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = [pid]
    for above in found:
        found += [child for child, parent in parents.items() if parent == above]
    return found[1:]


def _memory(pid: int) -> tuple[float, float]:
    """Resident megabytes of a process, and its share of them where pages are shared."""
    told = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    rss, pss = (int(told.split(f"\n{name}:")[1].split()[0]) / 1024 for name in ("Rss", "Pss"))
    return rss, pss


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=0, help="synthetic rows; 0: the published dataset")
    parser.add_argument("--home", type=Path, default=ROOT, help="whose dataset is shown; this checkout's by default")
    parser.add_argument("--only", choices=("pages", "tabs", "memory"), help="only a part")
    asked = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        raise SystemExit("no Chromium here: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        home = asked.home.resolve()
        if asked.rows:
            home = Path(folder) / "home"
            home.mkdir()
            print(f"{enlarge(ROOT / 'results', home, asked.rows):,} rows", flush=True)
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for part, measure in (("pages", times), ("tabs", tabs), ("memory", memory)):
            if asked.only in (None, part):
                measure(home, browser)
        browser.close()


if __name__ == "__main__":
    main()
