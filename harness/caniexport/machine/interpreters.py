"""Finding a Python of a given minor version: whatever the machine has, else what uv can fetch."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from caniexport import versions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from caniexport.model.releases import Release

#: the oldest Python that this project runs on, the first torch with wheels for it, and the pins it has no wheels of
_COMMON, _COMMON_SINCE = "3.11", "1.13"
_COMMON_PINS = {"numpy==2.5.5": "numpy==2.4.6"}
#: what a program writes to a terminal beside its words
_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PROBE = "import sys; print('%d.%d' % sys.version_info[:2])"


@functools.cache
def find_python(minor: str, fetch: bool = True) -> Path | None:
    """An interpreter of this minor version (``"3.8"``) that really starts, or ``None``.

    Looked for: on the path, in uv's, pyenv's, conda's and the system's usual folders. Where nothing is found and
    ``fetch`` is true, uv is asked to install one (which needs the network).
    """
    for candidate in _find_candidates(minor):
        if _starts_as(candidate, minor):
            return candidate
    return _fetch(minor).path if fetch else None


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


def explain_missing(minor: str) -> str:
    """Why uv could fetch no interpreter of a minor version that the machine has not, in one line."""
    return _fetch(minor).problem


def find_uv() -> str:
    """The uv executable: the one installed beside this Python, else the one on the path."""
    import sysconfig

    beside = Path(sysconfig.get_path("scripts")) / "uv"
    return str(beside) if beside.exists() else shutil.which("uv") or "uv"


def _find_candidates(minor: str) -> Iterator[Path]:
    name, home = f"python{minor}", Path.home()
    yield from (Path(folder) / name for folder in os.environ.get("PATH", "").split(os.pathsep) if folder)
    pyenv = Path(os.environ.get("PYENV_ROOT", home / ".pyenv"))
    uv_folder = Path(os.environ.get("UV_PYTHON_INSTALL_DIR", home / ".local" / "share" / "uv" / "python"))
    for place, pattern in (
        (uv_folder, f"cpython-{minor}.*/bin/{name}"),
        (pyenv / "versions", f"{minor}.*/bin/{name}"),
        (home / "miniconda3" / "envs", f"*/bin/{name}"),
        (home / "anaconda3" / "envs", f"*/bin/{name}"),
        (Path("/opt"), f"*/bin/{name}"),
        (Path("/usr/local/bin"), name),
        (Path("/usr/bin"), name),
    ):
        yield from sorted(place.glob(pattern), reverse=True)


def _starts_as(candidate: Path, minor: str) -> bool:
    """A shim may exist for a version that is not there, so the only test is to start it."""
    if not os.access(candidate, os.X_OK):
        return False
    try:
        reply = subprocess.run([candidate, "-c", _PROBE], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return reply.returncode == 0 and reply.stdout.strip() == minor


class _FetchResult(NamedTuple):
    """What uv installed; where that is nothing, what it said."""

    path: Path | None
    problem: str = ""


@functools.cache
def _fetch(minor: str) -> _FetchResult:
    def ask(*words: str, seconds: int) -> subprocess.CompletedProcess[str]:
        command = [find_uv(), "python", *words, minor]
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds, check=False)

    try:
        installed = ask("install", "--no-progress", "--color", "never", seconds=300)
        if installed.returncode != 0:
            lines = [line.strip() for line in _ESCAPE.sub("", installed.stderr).splitlines() if line.strip()]
            last = (
                lines[-1].removeprefix("cause: ") if lines else f"uv python install ended with {installed.returncode}"
            )
            return _FetchResult(None, last)
        path = Path(ask("find", "--managed-python", seconds=60).stdout.strip() or "no such file")
    except (OSError, subprocess.SubprocessError) as error:
        return _FetchResult(None, str(error))
    return _FetchResult(path) if _starts_as(path, minor) else _FetchResult(None, f"{path} does not start")
