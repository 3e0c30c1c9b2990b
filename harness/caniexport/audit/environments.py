"""An environment with a release's pins, made with uv alone and removed again, and the plain script run in it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from caniexport.home import DOCUMENTED
from caniexport.machine import interpreters
from caniexport.model.errors import EnvironmentUnavailable
from caniexport.model.made_cases import OPERATORS
from caniexport.model.releases import Release

_PACKAGE = Path(__file__).resolve().parent.parent
#: all of the harness that the script's process can import: what case files are written with
_VOCABULARY = {"model": ("__init__", "case", "tensors", "errors", "status")}
#: what makes the calls of torch's operators
_OPERATORS = {
    "model": (*_VOCABULARY["model"], "casehash", "made_cases", "releases"),
    "worker": ("__init__", "codehash", "distinct", "operators", "opinfo", "promotion"),
}
_SCRIPT = Path(__file__).with_name("plain.py")
#: variables that would let this process's environment decide what the other one imports
_HIDDEN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION")
_LINES = 4


@contextlib.contextmanager
def environment(release: Release, folder: Path, downloads: Path) -> Iterator[Path]:
    """The Python of an environment with the release's pins, below ``folder`` for as long as it is used.

    Raises :class:`EnvironmentUnavailable` with uv's words.
    """
    python = interpreters.find(release.python)
    if python is None:
        raise EnvironmentUnavailable(f"no Python {release.python} on this machine, and uv can fetch none")
    place = folder / release.torch
    made = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    try:
        _uv(downloads, "venv", "--no-project", "--python", str(python), str(place))
        _uv(downloads, "pip", "install", "--only-binary", ":all:", "--python", str(made), *release.requirements)
        yield made
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _uv(downloads: Path, *arguments: str) -> None:
    command = [interpreters.uv(), arguments[0], "--quiet", "--color", "never", *arguments[1:]]
    environ = {**_environ(), "UV_CACHE_DIR": str(downloads)}
    done = subprocess.run(
        command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode:
        raise EnvironmentUnavailable(
            "\n".join(done.stderr.strip().splitlines()[-_LINES:]) or "uv ended without a message"
        )


def measured(
    python: Path,
    cells: Sequence[Mapping[str, Any]],
    folder: Path,
    seconds: float,
    workers: int,
    corpus: str = DOCUMENTED,
) -> list[dict[str, Any] | None]:
    """How each cell ends in that environment, ``None`` for one whose script said nothing of it."""
    vocabulary(folder / "code", corpus)
    shares = [cells[worker::workers] for worker in range(min(workers, len(cells)))]
    running = [_start(python, share, folder / f"share-{place}", seconds) for place, share in enumerate(shares)]
    found: list[dict[str, Any] | None] = [None] * len(cells)
    try:
        for place, process in enumerate(running):
            process.wait()
            for line in _lines(folder / f"share-{place}" / "found.jsonl"):
                found[place + line.pop("number") * workers] = line
    finally:
        for process in running:
            process.terminate()
            process.wait()
    return found


def vocabulary(folder: Path, corpus: str) -> None:
    """Write the only modules of the harness that the script may import."""
    for room, names in (_OPERATORS if corpus == OPERATORS else _VOCABULARY).items():
        (folder / "caniexport" / room).mkdir(parents=True, exist_ok=True)
        for name in names:
            shutil.copy(_PACKAGE / room / f"{name}.py", folder / "caniexport" / room)
    shutil.copy(_PACKAGE / "__init__.py", folder / "caniexport")


def _start(python: Path, cells: Sequence[Mapping[str, Any]], folder: Path, seconds: float) -> subprocess.Popen[bytes]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "cells.json").write_text(json.dumps(cells), encoding="utf-8")
    environ = {**_environ(), "PYTHONPATH": str(folder.parent / "code"), "PYTHONDONTWRITEBYTECODE": "1"}
    environ.update(OMP_NUM_THREADS="1", ORT_DISABLE_TELEMETRY="1", PYTHONHASHSEED="0")
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [str(python), str(_SCRIPT), "cells.json", "found.jsonl", str(seconds)],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with contextlib.suppress(FileNotFoundError):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def _environ() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _HIDDEN}
