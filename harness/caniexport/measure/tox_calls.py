"""Calls of tox for one release, and what went wrong in them."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from caniexport import home as homes
from caniexport import versions
from caniexport.machine import calls
from caniexport.measure.progress import CellCount, Progress, note_plan
from caniexport.model import releases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from caniexport.home import Home
    from caniexport.measure.job import MeasureOptions
    from caniexport.model import plan
    from caniexport.model.releases import Release

#: names the file with the table of releases that tox reads
_TABLE = "CANIEXPORT_RELEASES"


@dataclass(frozen=True)
class ToxCall:
    """Calls of tox for one release: its environment ``name`` and the file its output goes to."""

    options: MeasureOptions
    release: Release
    run_id: str
    name: str
    log: Path

    def run(self, done: frozenset[str], progress: Progress, only: frozenset[str] = frozenset()) -> int:
        """Measure what is not ``done``, or these cells ``only``; progress is read from the journals that it writes."""
        chosen = ["--only", str(self._write("only", only))] if only else ["--done", str(self._write("done", done))]
        arguments = [*_pytest_arguments(self.options), "--run-id", self.run_id, *chosen]
        local = self.options.home.local
        count = CellCount(local)
        note_plan(local, self.name, self.run_id, progress.planned(self.release.torch))
        return self._tox(arguments, local, lambda: progress.update(self.release.torch, count.of(self.run_id)), False)

    def again(self, cells: Sequence[plan.Cell], local: Path, how: Sequence[str]) -> int:
        """Measure these cells and no others once more into ``local``; ``how`` are further options of the plugin."""
        only_file = self._write("again", frozenset(cell.key for cell in cells))
        arguments = [*_limits(self.options), "--run-id", f"{self.run_id}-again", "--only", str(only_file), *how]
        return self._tox(arguments, local, lambda: None, True)

    def _write(self, folder: str, keys: frozenset[str]) -> Path:
        path = self.options.home.local / folder / f"{self.name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(sorted(keys)), encoding="utf-8")
        return path

    def _tox(self, arguments: list[str], local: Path, tick: Callable[[], None], append: bool) -> int:
        home = self.options.home
        command = [sys.executable, "-m", "tox", "run", "-c", str(home.tox_ini), "--workdir", str(home.root / ".tox")]
        # tox.ini names the first folder of cases
        line = [*command, "-e", self.name, "--", *arguments, *map(str, home.corpora[1:])]
        return calls.run(line, self.log, home.root, _tox_environment(self.options, local), tick, append)


def _limits(options: MeasureOptions) -> Iterator[str]:
    yield from ("--cell-timeout", str(options.timeout))
    if options.memory is not None:
        yield from ("--cell-memory", str(options.memory))


def _pytest_arguments(options: MeasureOptions) -> Iterator[str]:
    yield from _limits(options)
    for case in options.cases:
        yield from ("--case", case)
    for exporter in options.exporters:
        yield from ("--exporter", exporter)
    for opset in options.opsets:
        yield from ("--opset", str(opset))


def _tox_environment(options: MeasureOptions, local: Path) -> dict[str, str]:
    home = options.home
    environment = dict(os.environ)
    environment.pop("TOXENV", None)
    environment.update(
        CANIEXPORT_SUPERVISED="1",
        CANIEXPORT_WORKERS=str(options.workers),
        CANIEXPORT_LOCAL=str(local),
        CANIEXPORT_CASES=str(home.cases),
        CANIEXPORT_CODE=str(_code(home)),
    )
    if options.rolling:
        environment["UV_CACHE_DIR"] = str(options.budget.cache)
    return environment


def _code(home: Home) -> Path:
    """A folder that holds ``caniexport`` and nothing else, to be put on the measured environment's path."""
    code = homes.code_folder()
    if (code.parent / "tox.ini").is_file():
        return code
    # an installed package lies among everything else that is installed; the environment must not see that
    staged = home.local / "code"
    shutil.rmtree(staged, ignore_errors=True)
    for room in ("model", "worker"):
        shutil.copytree(
            code / "caniexport" / room, staged / "caniexport" / room, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(code / "caniexport" / "__init__.py", staged / "caniexport" / "__init__.py")
    return staged


@contextmanager
def table_with(release: Release, folder: Path) -> Iterator[None]:
    """tox reads its environments from a table of releases: one, in ``folder``, with this release for its own entry."""
    others = [entry for entry in releases.table() if entry.torch != release.torch]
    entries = sorted([*others, release], key=lambda entry: versions.parse(entry.torch))
    lines = ["from caniexport.model.releases import Release", f"RELEASES = ({', '.join(map(repr, entries))},)", ""]
    path = folder / f"releases-{release.torch}.py"
    path.write_text("\n".join(lines), encoding="utf-8")
    before = os.environ.get(_TABLE)
    os.environ[_TABLE] = str(path.resolve())
    try:
        yield
    finally:
        os.environ.pop(_TABLE)
        if before is not None:
            os.environ[_TABLE] = before


def failure(log: Path) -> str:
    """Why tox failed, from its log: the reason in one line, then the end of the log."""
    text = log.read_text(encoding="utf-8", errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return "tox printed nothing"
    return "\n".join([_reason(lines), *lines[-25:]])


def _reason(lines: list[str]) -> str:
    """The line that says why: uv's first ``Because`` (unwrapped), an error of uv's or tox's, else the last line."""
    for start, line in enumerate(lines):
        if "Because " in line:
            words = [line[line.index("Because ") :]]
            for more in lines[start + 1 : start + 6]:
                if more.startswith(("hint", "torch", ".pkg")) or words[-1].endswith("."):
                    break
                words.append(more)
            return " ".join(words)
    marks = ("could not find python", "No interpreter found", "error:", "Error:", "ERROR:")
    return next((line for line in lines if any(mark in line for mark in marks)), lines[-1])
