"""What several test files need of the machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from browser_fixtures import address, chromium, visit  # noqa: F401 - fixtures of the tests marked browser
from drawn_pages import draw, pages_home  # noqa: F401 - fixtures of the tests of pages
from hypothesis import HealthCheck, settings

from caniexport import home as homes
from caniexport.pages.kept import Kept
from caniexport.store import Dataset

# a busy machine is slow at whatever it draws; how fast is no matter of these tests; the same tree is tested with the
# same examples each time, and CANIEXPORT_EXAMPLES=other draws others, to look for more
settings.register_profile(
    "shared machine",
    deadline=None,
    derandomize=os.environ.get("CANIEXPORT_EXAMPLES") != "other",
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("shared machine")


#: tests with one of these marks are no part of the quick suite
_SLOW = {"real", "browser", "measures", "published"}


def pytest_collection_modifyitems(items):
    """Mark what asks for the published dataset, and as ``quick`` what has none of the slow marks."""
    for item in items:
        if "results" in getattr(item, "fixturenames", ()):
            item.add_marker("published")
        if not _SLOW & {mark.name for mark in item.iter_markers()}:
            item.add_marker("quick")


def pytest_addoption(parser):
    parser.addoption("--files-by-mark", metavar="FOLDER", help="write there, by mark, which files have such tests")


def pytest_collection_finish(session):
    """List the files of each mark, so that a process imports those alone that it runs."""
    folder = session.config.getoption("--files-by-mark")
    for mark in (*_SLOW, "quick") if folder else ():
        files = {item.nodeid.partition("::")[0] for item in session.items if item.get_closest_marker(mark)}
        (Path(folder) / mark).write_text("\n".join(sorted(files)) + "\n", encoding="utf-8")


@pytest.fixture(scope="session")
def results():
    """The published dataset, opened once and only read."""
    return Dataset.open(Path(__file__).resolve().parents[1] / "results", None)


@pytest.fixture(scope="session")
def kept_results(results):
    """The published dataset as the pages keep it, with what they have worked out of it, once for all tests."""
    return Kept.open(Path(__file__).resolve().parents[1] / "results", None)


@pytest.fixture(scope="module")
def opened_once():
    """All commands of a test file ask one published dataset, which keeps what it has worked out, as a dashboard's does.

    Any other dataset is opened each time.
    """
    published = Path(__file__).resolve().parents[1] / "results"
    opened, really = {}, Dataset.open.__func__

    def once(cls, folder, local):
        if folder is None or Path(folder).resolve() != published:
            return really(cls, folder, local)
        if (cls, local) not in opened:
            opened[cls, local] = really(cls, folder, local)
        return opened[cls, local]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Dataset, "open", classmethod(once))
        yield


@pytest.fixture(autouse=True)
def _width_of_a_pipe(monkeypatch):
    """Answers are as wide as in a pipe, however wide the terminal is that the tests were started from."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(autouse=True, scope="session")
def _answers_kept_apart():
    """Answers kept between processes lie in a folder of this run, not in the user's."""
    with tempfile.TemporaryDirectory(prefix="caniexport-kept-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("CANIEXPORT_CACHE", folder)
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_write_waits_for_the_disk():
    """A write that is not on the disk yet is lost with the machine only, which no test ends; waiting costs minutes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session")
def made_home(tmp_path_factory):
    """A home of the mini-matrix whose environments are made, once for all tests: each measures in a copy of it."""
    from mini.home import make_environments, make_home

    return make_environments(make_home(tmp_path_factory.mktemp("made")))


@pytest.fixture
def ordinary():
    """``ordinary(folder, "table")``: the command as a user who may write into no folder but his own, and his folder.

    Root may read and write whatever it likes; where the tests run as root they borrow another user's number.
    """
    own = Path(tempfile.mkdtemp(prefix="caniexport-ordinary-"))
    user = {"user": 65534, "group": 65534, "extra_groups": []} if os.name == "posix" and os.geteuid() == 0 else {}
    if user:
        os.chown(own, 65534, 65534)
    python = [sys.executable, "-c", "from caniexport.cli import main; main(prog_name='caniexport')"]
    environ = {**os.environ, "CANIEXPORT_CACHE": str(own), "HOME": str(own)}
    try:
        subprocess.run([*python, "--version"], cwd=own, env=environ, capture_output=True, check=True, **user)
    except (PermissionError, subprocess.CalledProcessError):
        pytest.skip("an ordinary user cannot read this checkout, or run this Python")

    def run(home, *words):
        named = {**environ, homes.VARIABLE: str(home)}
        return subprocess.run(
            [*python, *words], cwd=own, env=named, capture_output=True, text=True, check=False, **user
        )

    yield run, own
    shutil.rmtree(own)


@pytest.fixture
def small_disk(request, tmp_path):
    """A disk of its own, full when its few kibibytes are (``indirect`` parameter, default 256): a real tmpfs.

    A parameter may be mount's own words: ``size=4m,nr_inodes=100``.
    """
    asked = getattr(request, "param", 256)
    options = asked if isinstance(asked, str) else f"size={asked}k"
    if os.name != "posix" or os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("mounting a small tmpfs needs root and mount")
    folder = tmp_path / "small-disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)
