"""How fast the dashboard answers: ``python benchmarks/dashboard.py [--rows 1000000]``, needs playwright and a Chromium.

First paint cold (a server that was just started) and warm, a filter change, a case page by a click, and the server's
memory with ten sessions; over the published rows, or over as many synthetic ones. Every line has the limit it is held
against (issue 6); a quiet machine with two cores is meant.
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

import pandas as pd
from playwright.sync_api import Browser, Page, sync_playwright

from harness.store import writer
from harness.store.schema import columns, to_arrow

ROOT = Path(__file__).resolve().parents[1]
SESSIONS = 10
LIMITS = {
    "first paint, cold": 2.0,
    "first paint, warm": 1.0,
    "filter change": 0.3,
    "case page": 0.5,
    "memory MB": 500.0,
}


def synthetic(folder: Path, rows: int) -> None:
    """A home whose cells are the published ones again and again, under further case names, until there are enough."""
    (folder / "cases").mkdir()
    (folder / "results" / "cells").mkdir(parents=True)
    for path in (ROOT / "results").glob("*.parquet"):
        shutil.copy(path, folder / "results")
    cells = {path.name: pd.read_parquet(path) for path in sorted((ROOT / "results" / "cells").glob("torch-*.parquet"))}
    times = max(1, round(rows / sum(map(len, cells.values()))))
    for name, frame in cells.items():
        copies = [frame if number == 0 else _renamed(frame, number) for number in range(times)]
        found = pd.concat(copies, ignore_index=True)[list(columns("cells"))]
        found = found.astype(object).where(found.notna(), None)
        writer.write(folder / "results" / "cells" / name, "cells", to_arrow("cells", found.to_dict("records")))


def _renamed(frame: pd.DataFrame, number: int) -> pd.DataFrame:
    return frame.assign(case=frame["case"] + f"-{number}")


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


def timed_goto(page: Page, address: str, shown: str) -> float:
    """Seconds until what is to be read is there."""
    begin = time.perf_counter()
    page.goto(address)
    page.wait_for_selector(shown)
    return time.perf_counter() - begin


def measure(home: Path, browser: Browser) -> dict[str, float]:
    """Every number of :data:`LIMITS`."""
    with served(home) as (address, pid):
        found = {"first paint, cold": timed_goto(page_of(browser), f"{address}/", ".questions")}
        found["first paint, warm"] = timed_goto(page_of(browser), f"{address}/", ".questions")
        page = page_of(browser)
        timed_goto(page, f"{address}/matrix?theme=geometry", ".matrix")
        timed_goto(page, f"{address}/matrix", ".matrix")
        rows = page.locator("tr.theme").count()
        begin = time.perf_counter()
        page.evaluate(
            "history.pushState({}, '', '/matrix?theme=pooling'); dispatchEvent(new PopStateEvent('popstate'))"
        )
        page.wait_for_function(f"document.querySelectorAll('tr.theme').length < {rows}")
        found["filter change"] = time.perf_counter() - begin
        begin = time.perf_counter()
        page.locator(".matrix td a").first.click()
        page.wait_for_selector(".strip")
        found["case page"] = time.perf_counter() - begin
        for _ in range(SESSIONS):
            timed_goto(page_of(browser), f"{address}/", ".questions")
        found["memory MB"] = _resident(pid)
    return found


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
            synthetic(home, rows)
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name, value in measure(home, browser).items():
            print(f"{name:18} {value:8.2f}  (limit {LIMITS[name]:g}){'' if value <= LIMITS[name] else '  OVER'}")
        browser.close()


if __name__ == "__main__":
    main()
