"""What several test files need of the machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile

import pytest
from browser_fixtures import address, chromium, visit  # noqa: F401 - fixtures of the tests marked browser
from drawn_pages import draw, pages_home  # noqa: F401 - fixtures of the tests of pages
from hypothesis import HealthCheck, settings

# a busy machine is slow at whatever it draws; how fast is no matter of these tests
settings.register_profile("shared machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared machine")


@pytest.fixture(autouse=True, scope="session")
def _answers_kept_apart():
    """Answers kept between processes lie in a folder of this run, not in the user's."""
    with tempfile.TemporaryDirectory(prefix="caniexport-kept-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("CANIEXPORT_CACHE", folder)
        yield


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
