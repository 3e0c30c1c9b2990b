"""The audit: draw cells, measure them again release by release, hold what is found against what is published.

Each release has an environment with its pins, made with uv alone and removed again, in which the plain script runs.
What that finds is what is published where stage, status and the words of the innermost cause are the same.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from caniexport import versions
from caniexport.audit.sample import Published, draw, published
from caniexport.home import DOCUMENTED, Home
from caniexport.machine import interpreters
from caniexport.machine.disk import GIGABYTE, Budget
from caniexport.model import releases
from caniexport.model.corpus import LoadedCase
from caniexport.model.errors import EnvironmentUnavailable, UnknownName
from caniexport.model.made_cases import OPERATORS
from caniexport.model.releases import Release
from caniexport.store import Dataset

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
_LOST = {
    "stage": "eager",
    "status": "invalid",
    "kind": "Lost",
    "text": "the script ended before it came to this cell",
}
_LINES = 4
#: characters of an error's words that are compared, at its beginning or at its end: between them long texts are cut
_COMPARED = 100
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FOLDERS = re.compile(r"(?:/[\w.+@-]+)+/(?=[\w.+@-])")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}|0x…")
#: what the script calls a difference, and how a row says it
_DIFFERENCES = {
    "count": re.compile(r"output\(s\) expected"),
    "dtype": re.compile(r"\bdtype \S+ expected"),
    "shape": re.compile(r"\bshape \[.*?\] expected"),
    "values": re.compile(r"values differ"),
    "memory": re.compile(r"is the memory of input"),
}


@dataclass(frozen=True)
class AuditOptions:
    """What is asked for; empty ``releases`` are all that are published. ``timeout`` is in seconds a cell."""

    home: Home
    corpus: str = DOCUMENTED
    cells: int = 300
    seed: int = 0
    releases: tuple[str, ...] = ()
    workers: int = 2
    timeout: float = 60.0
    disk_budget: int = 20 * GIGABYTE

    @property
    def has_local_rows(self) -> bool:
        """Whether the corpus is one whose rows stay where they were measured: torch's operators."""
        return self.corpus == OPERATORS


@dataclass(frozen=True)
class ReleaseAudit:
    """One release of the sample; ``problem`` says why none of its cells could be measured, empty where they were."""

    torch: str
    measured_at: datetime
    seed: int
    cells: int
    differing: tuple[AuditDifference, ...]
    problem: str = ""

    @property
    def agreeing(self) -> int:
        """Cells that are as they are published."""
        return 0 if self.problem else self.cells - len(self.differing)

    @property
    def lines(self) -> tuple[str, ...]:
        """What is not as published, as the dataset keeps it."""
        return tuple(item.text for item in self.differing) or ((self.problem,) if self.problem else ())


def audit(options: AuditOptions, say: Callable[[str], None]) -> list[ReleaseAudit]:
    """Measure a sample of the published cells again; a release that has no environment here does not stop the others.

    Raises :class:`UnknownName` for a release without published cells, before anything is made.
    """
    home = options.home.of_corpus(options.corpus)
    dataset = Dataset.open(None, home.local) if options.has_local_rows else Dataset.open(home.published, None)
    corpus = home.read_cases()
    sample = _sample(dataset, corpus, options)
    by_release: dict[str, list[Published]] = {}
    for cell in sample:
        by_release.setdefault(cell.torch, []).append(cell)
    with tempfile.TemporaryDirectory(prefix="caniexport-audit-", ignore_cleanup_errors=True) as folder:
        budget = Budget(options.disk_budget, Path(folder), Path(folder) / "downloads")
        budget.check()
        found = []
        for release in versions.ordered(by_release):
            say(f"torch {release}: {len(by_release[release])} cells, making an environment")
            budget.make_room(say)
            found.append(_release(dataset, corpus, options, release, by_release[release], Path(folder)))
            say(_words(found[-1]))
    return found


def _sample(dataset: Dataset, corpus: Mapping[str, LoadedCase], options: AuditOptions) -> list[Published]:
    have = [torch for (torch,) in dataset.grouped(("torch",), {}, {"provider": ("cpu",)}) if torch]
    if not have:
        home = options.home.of_corpus(options.corpus)
        where = f"{home.local} has no cells" if options.has_local_rows else f"{home.published} has no published cells"
        raise UnknownName(f"{where}: there is nothing to audit")
    wanted = [versions.resolve(text, have) for text in options.releases] or have
    kept: list[Published] = []
    for release in wanted:
        # no more than the sample can take of one release: the whole dataset would be a million rows
        kept += draw(published(dataset, release, corpus), options.cells, options.seed)
    return draw(kept, options.cells, options.seed)


def _release(
    dataset: Dataset,
    corpus: Mapping[str, LoadedCase],
    options: AuditOptions,
    release: str,
    cells: Sequence[Published],
    folder: Path,
) -> ReleaseAudit:
    asked = [
        {
            "file": str(corpus[cell.case].path.resolve()),
            **{name: getattr(cell, name) for name in ("case", "variant", "exporter", "opset")},
        }
        for cell in cells
    ]
    problem = ""
    ends: list[dict[str, Any] | None] = []
    try:
        with environment(releases.find(release), folder, folder / "downloads") as python:
            ends = measured(python, asked, folder, options.timeout, options.workers, options.corpus)
    except (EnvironmentUnavailable, UnknownName) as error:
        problem = f"no environment: {error}"
    if ends and not any(ends):
        problem = "the script measured nothing in this environment: torch, onnx or onnxruntime does not import"
    texts = dataset.messages(cell.message_id for cell in cells)
    differing = (
        []
        if problem
        else [
            found
            for cell, end in zip(cells, ends, strict=True)
            if (found := difference(cell, texts.get(cell.message_id or "", ""), ScriptOutcome(**(end or _LOST))))
        ]
    )
    return ReleaseAudit(release, datetime.now(UTC), options.seed, len(cells), tuple(differing), problem)


def _words(found: ReleaseAudit) -> str:
    if found.problem:
        return f"torch {found.torch}: not audited: {found.problem}"
    return f"torch {found.torch}: {found.agreeing} of {found.cells} cells agree"


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


@dataclass(frozen=True)
class ScriptOutcome:
    """How a cell ended in the plain script; ``kind`` and ``text`` are its innermost exception's."""

    stage: str
    status: str
    kind: str = ""
    text: str = ""


@dataclass(frozen=True)
class AuditDifference:
    """A cell whose row is not what the script found, both in words."""

    cell: str
    published: str
    found: str

    @property
    def text(self) -> str:
        """One line, as the dataset keeps it."""
        return f"{self.cell}: published {self.published}; found {self.found}"


def difference(cell: Published, text: str, found: ScriptOutcome) -> AuditDifference | None:
    """What is not the same; ``text`` is the published message.

    ``None`` where all is, or where the row says that the cell ends so at times.
    """
    same_end = (cell.stage, cell.status) == (found.stage, found.status)
    if (same_end and _same_words(cell.status, text, found)) or found.status in cell.unstable:
        return None
    innermost = text.rpartition("\ncaused by ")[2]
    return AuditDifference(
        cell.name,
        _said(cell.stage, cell.status, innermost),
        _said(found.stage, found.status, f"{found.kind}: {found.text}" if found.kind else found.text),
    )


def _said(stage: str, status: str, words: str) -> str:
    line = _first_line(words)
    end = status if stage == "done" else f"{status} at {stage}"
    return f"{end} ({line[:160]})" if line else end


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.split("\n") if line.strip()), "")


def _same_words(status: str, text: str, found: ScriptOutcome) -> bool:
    if status in ("pass", "timeout", "oom"):
        return True
    if status == "mismatch":
        return {name for name, pattern in _DIFFERENCES.items() if pattern.search(text)} == set(found.text.split())
    if status == "crash":
        return found.kind in text
    kept = _plain(text)
    # what follows the first line may be the stack of the process that measured
    first, last = _plain(_first_line(found.text))[:_COMPARED], _plain(found.text)[-_COMPARED:]
    return found.kind in kept and (first in kept or last in kept)


def _plain(text: str) -> str:
    """A text without what differs from machine to machine: colours, folders, addresses, line breaks."""
    return " ".join(_ADDRESS.sub("0x", _FOLDERS.sub("", _COLOUR.sub("", text))).split())
