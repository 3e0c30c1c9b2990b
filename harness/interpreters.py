"""Finding a Python of a given minor version: whatever the machine has, else what uv can fetch."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROBE = "import sys; print('%d.%d' % sys.version_info[:2])"


@functools.cache
def find(minor: str, fetch: bool = True) -> Path | None:
    """An interpreter of this minor version (``"3.8"``) that really starts, or ``None``.

    Looked for: on the path, in uv's, pyenv's, conda's and the system's usual folders. Where nothing is found and
    ``fetch`` is true, uv is asked to install one (which needs the network).
    """
    for candidate in _candidates(minor):
        if _starts_as(candidate, minor):
            return candidate
    return _fetched(minor) if fetch else None


def uv() -> str:
    """The uv executable: the one installed beside this Python, else the one on the path."""
    import sysconfig

    beside = Path(sysconfig.get_path("scripts")) / "uv"
    return str(beside) if beside.exists() else shutil.which("uv") or "uv"


def _candidates(minor: str) -> Iterator[Path]:
    name = f"python{minor}"
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if folder:
            yield Path(folder) / name
    home = Path.home()
    pyenv = Path(os.environ.get("PYENV_ROOT", home / ".pyenv"))
    uv_folder = Path(os.environ.get("UV_PYTHON_INSTALL_DIR", home / ".local" / "share" / "uv" / "python"))
    patterns: list[tuple[Path, str]] = [
        (uv_folder, f"cpython-{minor}.*/bin/{name}"),
        (pyenv / "versions", f"{minor}.*/bin/{name}"),
        (home / "miniconda3" / "envs", f"*/bin/{name}"),
        (home / "anaconda3" / "envs", f"*/bin/{name}"),
        (Path("/opt"), f"*/bin/{name}"),
        (Path("/usr/local/bin"), name),
        (Path("/usr/bin"), name),
    ]
    for place, pattern in patterns:
        if place.is_dir():
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


def _fetched(minor: str) -> Path | None:
    command = [uv(), "python", "install", "--quiet", minor]
    try:
        if subprocess.run(command, capture_output=True, timeout=300, check=False).returncode != 0:
            return None
        reply = subprocess.run(
            [uv(), "python", "find", "--managed-python", minor], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    path = Path(reply.stdout.strip() or "/nonexistent")
    return path if _starts_as(path, minor) else None
