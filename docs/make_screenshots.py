"""Pictures of the dashboard for the README, from the rows of this checkout.

``python docs/make_screenshots.py`` takes all of them, names behind it only these.
Needs playwright and a Chromium (``apt-get install chromium``). Writes ``docs/img/*.png``, each below 300 kB.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "img"
LARGEST = 300_000
#: name -> (page, width, height, colour scheme)
PICTURES = {
    "search": ("/?q=grid_sampler to ONNX opset version 11 is not supported", 1440, 1000, "light"),
    "matrix": ("/matrix", 1440, 1000, "light"),
    "matrix-narrow": ("/matrix", 800, 1000, "light"),
    "matrix-dark": ("/matrix", 1440, 1000, "dark"),
    "case": ("/case?case=cross-no-symbolic&exporter=torchscript-trace&torch=2.15.0&opset=14", 1440, 1640, "light"),
    "workarounds": ("/workarounds", 1440, 1000, "light"),
    "alerts": ("/alerts", 1440, 1000, "light"),
    "upgrade": ("/upgrade?from=1.13.1", 1440, 1000, "light"),
    "upgrade-phone": ("/upgrade?from=1.13.1", 390, 844, "light"),
}
#: milliseconds that a page may take on a busy machine
PATIENCE = 180_000


@contextmanager
def served() -> Iterator[str]:
    """The app on a free port of this machine; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--server.port", str(port), "--server.address", "127.0.0.1", "--server.headless", "true"]
    line = [sys.executable, "-m", "streamlit", "run", str(ROOT / "dashboard" / "app.py"), *options]
    server = subprocess.Popen(line, env={**os.environ, "CANIEXPORT_HOME": str(ROOT)}, stdout=subprocess.DEVNULL)
    try:
        _wait(f"http://127.0.0.1:{port}/_stcore/health")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)


def _wait(address: str) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(address, timeout=2).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def picture(browser: Browser, address: str, name: str) -> Path:
    """Take one picture; raises where the page could not be drawn."""
    path, width, height, scheme = PICTURES[name]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]  # a literal
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(address + path)
    page.wait_for_selector("#root header.page h1, [data-testid=stAlertContentError]")
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    # boxes and code are drawn by parts of the app that come later than the page
    page.wait_for_selector("[data-testid=stSkeleton]", state="detached")
    page.wait_for_timeout(800)
    if page.locator("[data-testid=stAlertContentError]").count():
        raise SystemExit(f"{path} could not be drawn: {page.inner_text('[data-testid=stAlertContentError]')}")
    made = IMAGES / f"{name}.png"
    page.screenshot(path=str(made))
    context.close()
    return made


def main() -> None:
    """Take every picture, or those that are named."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        raise SystemExit("no Chromium here: apt-get install chromium")
    IMAGES.mkdir(parents=True, exist_ok=True)
    with served() as address, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name in sys.argv[1:] or PICTURES:
            made = picture(browser, address, name)
            size = made.stat().st_size
            print(f"{made.relative_to(ROOT)}  {size // 1000} kB{'  TOO LARGE' if size > LARGEST else ''}")
        browser.close()


if __name__ == "__main__":
    main()
