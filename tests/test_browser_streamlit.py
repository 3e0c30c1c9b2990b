"""The oldest Streamlit that is allowed draws the pages; every other browser test does so with the newest."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version

import pytest
from browser_fixtures import APP, MARKS, drawn, served, visiting
from dashboard_data import build
from packaging.requirements import Requirement
from packaging.version import Version

pytestmark = MARKS


@pytest.fixture(scope="module")
def oldest():
    project = tomllib.loads((APP.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (wanted,) = [
        Requirement(text) for text in project["optional-dependencies"]["dashboard"] if text.startswith("streamlit")
    ]
    return next(part.version for part in wanted.specifier if part.operator == ">=")


@pytest.fixture(scope="module")
def address(tmp_path_factory, oldest):
    # elsewhere Streamlit takes itself for a checkout of its developers
    folder = tmp_path_factory.mktemp("streamlit") / "site-packages"
    if shutil.which("uv") is None:
        pytest.skip("uv is not on the path, and installs the oldest Streamlit")
    line = ["uv", "pip", "install", "-q", "--python", sys.executable, "--target", str(folder), "--no-deps"]
    reply = subprocess.run([*line, f"streamlit=={oldest}"], capture_output=True, text=True, check=False)
    if reply.returncode:
        pytest.skip(f"streamlit {oldest} cannot be had here: {reply.stderr[-300:]}")
    home = build(tmp_path_factory.mktemp("home"))
    with served(home, tmp_path_factory.mktemp("log") / "server.log", first_on_path=folder) as address:
        yield address


def test_the_oldest_streamlit_of_the_range_draws_filters_and_leads_on(chromium, address, oldest):
    assert Version(oldest) < Version(version("streamlit"))
    with visiting(chromium, address) as visit:
        page = visit("/matrix?rows=cases")
        page.get_by_role("button", name="trace", exact=True).click()
        page.wait_for_url("**exporter=torchscript-trace**")
        drawn(page)
        page.get_by_role("link", name="Workarounds", exact=True).first.click()
        page.wait_for_url("**/workarounds?exporter=torchscript-trace")
        page.locator("table.plain tbody tr").first.wait_for()
        page.locator("table.plain tbody a").first.click()
        page.wait_for_url("**/case?**")
        page.locator(".strip").wait_for()
        visit("/upgrade?from=1.10.2").locator("p.decision").wait_for()
