"""Finding a Python of a given minor version: whatever uv finds on this machine, else what it can fetch."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

from caniexport import versions

if TYPE_CHECKING:
    from caniexport.model.releases import Release

#: the oldest Python that this project runs on, the first torch with wheels for it, and the pins it has no wheels of
_COMMON, _COMMON_SINCE = "3.11", "1.13"
_COMMON_PINS = {"numpy==2.5.5": "numpy==2.4.6"}
#: where uv looks beside the path and its own folder: pyenv's and conda's Pythons, below a user's folder
_FOLDERS = (".pyenv/versions/3*/bin", "miniconda3/envs/*/bin", "anaconda3/envs/*/bin")


@functools.cache
def find_python(minor: str, fetch: bool = True) -> Path | None:
    """An interpreter of this minor version (``"3.8"``) that really starts, or ``None``.

    Where there is none and ``fetch`` is true, uv is asked to install one (which needs the network).
    """
    words = ("find", "--system", "--no-project", "--no-python-downloads", minor)
    reply = _ask_uv(*words)
    if reply.returncode and fetch and not explain_missing(minor):
        reply = _ask_uv(*words)
    return None if reply.returncode else Path(reply.stdout.strip())


@functools.cache
def explain_missing(minor: str) -> str:
    """Have uv fetch an interpreter that the machine has not: why it could not, in one line; empty where it could."""
    reply = _ask_uv("install", "--no-progress", minor)
    lines = [line.strip() for line in reply.stderr.splitlines() if line.strip()]
    return (lines or ["uv said nothing"])[-1].removeprefix("cause: ") if reply.returncode else ""


def _ask_uv(*words: str) -> subprocess.CompletedProcess[str]:
    folders = [str(path) for pattern in _FOLDERS for path in sorted(Path.home().glob(pattern), reverse=True)]
    environ = {**os.environ, "PATH": os.pathsep.join([os.environ.get("PATH", ""), *folders])}
    command = [find_uv(), "python", *words, "--color", "never"]
    try:
        return subprocess.run(
            command, env=environ, capture_output=True, text=True, errors="replace", timeout=300, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))


def find_fitting(release: Release) -> Release | None:
    """The release with a Python that this machine has or uv fetches: its own, else 3.11 from torch 1.13 on.

    ``None`` where there is neither. On the other Python pins that are not made for it give way to their next older.
    """
    if find_python(release.python) is not None:
        return release
    if versions.parse(release.torch) < versions.parse(_COMMON_SINCE) or find_python(_COMMON) is None:
        return None
    return use_common_python(release)


def use_common_python(release: Release) -> Release:
    """The release as it is measured where its own Python is not to be had."""
    return release._replace(python=_COMMON, pins=tuple(_COMMON_PINS.get(pin, pin) for pin in release.pins))


def find_uv() -> str:
    """The uv executable: the one installed beside this Python, else the one on the path."""
    beside = Path(sysconfig.get_path("scripts")) / "uv"
    return str(beside) if beside.exists() else shutil.which("uv") or "uv"
