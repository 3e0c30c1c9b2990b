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

from caniexport.audit.judge import ScriptOutcome
from caniexport.home import DOCUMENTED
from caniexport.machine import interpreters
from caniexport.model.errors import EnvironmentUnavailable
from caniexport.model.made_cases import OPERATORS
from caniexport.model.releases import Release

_PACKAGE = Path(__file__).resolve().parent.parent
#: all of the harness that the script's process can import: what case files are written with, and the plain script
_VOCABULARY = ("model/case", "model/tensors", "model/errors", "model/status", "reproduce/plain")
#: what makes the calls of torch's operators
_OPERATORS = (
    *("model/casehash", "model/made_cases", "model/releases"),
    *("worker/codehash", "worker/distinct", "worker/operators", "worker/opinfo", "worker/promotion"),
)
#: variables that would let this process's environment decide what the other one imports
_HIDDEN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION")
_LINES = 4


@contextlib.contextmanager
def make_environment(release: Release, folder: Path, downloads: Path) -> Iterator[Path]:
    """The Python of an environment with the release's pins, below ``folder`` for as long as it is used.

    Raises :class:`EnvironmentUnavailable` with uv's words.
    """
    python = interpreters.find_python(release.python)
    if python is None:
        raise EnvironmentUnavailable(f"no Python {release.python} on this machine, and uv can fetch none")
    place = folder / release.torch
    made = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    try:
        _run_uv(downloads, "venv", "--no-project", "--python", str(python), str(place))
        _run_uv(downloads, "pip", "install", "--only-binary", ":all:", "--python", str(made), *release.requirements)
        yield made
    finally:
        for made_here in (place, downloads):
            shutil.rmtree(made_here, ignore_errors=True)


def _run_uv(downloads: Path, *arguments: str) -> None:
    """Run uv with its downloads in a folder. Raises :class:`EnvironmentUnavailable` with its last lines."""
    command = [interpreters.find_uv(), arguments[0], "--quiet", "--color", "never", *arguments[1:]]
    environ = _environ(UV_CACHE_DIR=str(downloads))
    done = subprocess.run(
        command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["uv ended without a message"]
        raise EnvironmentUnavailable("\n".join(lines[-_LINES:]))


def measure_cells(
    python: Path,
    cells: Sequence[Mapping[str, Any]],
    folder: Path,
    seconds: float,
    workers: int,
    corpus: str = DOCUMENTED,
) -> list[ScriptOutcome | None]:
    """How each cell ends in that environment, ``None`` for one of which the script has no line."""
    _copy_vocabulary(folder / "code", corpus)
    shares = [cells[worker::workers] for worker in range(min(workers, len(cells)))]
    running = [_start(python, share, folder / f"share-{place}", seconds) for place, share in enumerate(shares)]
    found: list[ScriptOutcome | None] = [None] * len(cells)
    try:
        for place, process in enumerate(running):
            process.wait()
            lines = folder / f"share-{place}" / "found.jsonl"
            for line in lines.read_text(encoding="utf-8").splitlines() if lines.exists() else ():
                number, (stage, status, errors) = json.loads(line)
                found[place + number * workers] = ScriptOutcome(stage, status, *(errors[-1] if errors else ()))
    finally:
        for process in running:
            process.terminate()
            process.wait()
    return found


def _copy_vocabulary(folder: Path, corpus: str) -> None:
    for name in (*_VOCABULARY, *(_OPERATORS if corpus == OPERATORS else ())):
        place = folder / "caniexport" / f"{name}.py"
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(_PACKAGE / f"{name}.py", place)
        shutil.copy(_PACKAGE / name.partition("/")[0] / "__init__.py", place.parent)
    shutil.copy(_PACKAGE / "__init__.py", folder / "caniexport")


def _start(python: Path, cells: Sequence[Mapping[str, Any]], folder: Path, seconds: float) -> subprocess.Popen[bytes]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "cells.json").write_text(json.dumps(cells), encoding="utf-8")
    environ = _environ(PYTHONPATH=str(folder.parent / "code"), PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1")
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [str(python), str(Path(__file__).with_name("script.py")), "cells.json", "found.jsonl", str(seconds)],
            cwd=folder,
            env={**environ, "ORT_DISABLE_TELEMETRY": "1", "PYTHONHASHSEED": "0"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def _environ(**more: str) -> dict[str, str]:
    return {**{name: value for name, value in os.environ.items() if name not in _HIDDEN}, **more}
