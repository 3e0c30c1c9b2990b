"""Calls of tox for one job, and what went wrong in them."""

from __future__ import annotations

import os
import re
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from caniexport import home as homes
from caniexport import versions
from caniexport.machine import calls
from caniexport.measure.progress import RowCount, note_plan
from caniexport.model import releases
from caniexport.store.writer import guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from caniexport.home import Home
    from caniexport.measure.job import Job, MeasureOptions, Planned
    from caniexport.model.releases import Release

#: names the file with the table of releases that tox reads
_TABLE = "CANIEXPORT_RELEASES"
#: of a user's variables: one names other environments, one a folder that tox empties
_NOT_PASSED = ("TOXENV", "CANIEXPORT_FOLDER")
#: how tox itself ends its log: which command it was, and that it failed
_SUMMARY = re.compile(r"^evaluation failed|^\S+: (exit \d|FAIL|commands|OK)")


def run_job(job: Job, *, only: bool = False) -> int:
    """Measure what is not done, or ``only`` what is to be done; tox's exit code.

    Progress is read from the journals that are written meanwhile.
    """
    count = RowCount(job.options.local, job.table)
    keys = frozenset(item.key for item in job.todo) if only else job.done
    chosen = _chosen(job, "only" if only else "done", keys)
    arguments = [*job.limits, *job.selection, "--run-id", job.run_id, *chosen]
    note_plan(job.options.local, job.environment, job.run_id, job.progress.planned(job.label))

    def tick() -> None:
        job.progress.update(job.label, count.of(job.run_id), count.has_begun(job.run_id))

    return _tox(job, arguments, job.options.local, tick, False)


def run_again(job: Job, some: Sequence[Planned], local: Path, how: Sequence[str]) -> int:
    """Measure these and no others once more into ``local``; ``how`` are further options. tox's exit code."""
    chosen = _chosen(job, "only", frozenset(item.key for item in some), "again")
    arguments = [*job.limits, "--run-id", f"{job.run_id}-again", *chosen, *how]
    return _tox(job, arguments, local, lambda: None, True)


def _chosen(job: Job, option: str, keys: frozenset[str], folder: str = "") -> list[str]:
    """The option with a file of these keys, which lies in a folder of the local dataset."""
    path = job.options.local / (folder or option) / f"{job.environment}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(sorted(keys)), encoding="utf-8")
    return [f"--{option}", str(path)]


def _tox(job: Job, arguments: Sequence[str], local: Path, tick: Callable[[], None], append: bool) -> int:
    home = job.options.home
    line = [*_tox_line(home, job.environment), "--", *arguments, *job.folders]
    # tox empties its folders when it starts, whoever is in them, and an environment may be measured in twice at a time
    folder = local / "scratch" / job.environment
    guarded(folder, lambda: folder.mkdir(parents=True, exist_ok=True))
    variables = {**_own_variables(), **job.variables, "CANIEXPORT_LOCAL": str(local), "CANIEXPORT_FOLDER": str(folder)}
    try:
        return calls.run(line, job.log, home.root, variables, tick, append)
    finally:
        # with what cases wrote where they were
        shutil.rmtree(folder, ignore_errors=True)


def make_environment(home: Home, name: str, log: Path) -> int:
    """Make a tox environment and run nothing in it; tox's exit code.

    Its packages are compiled: a process that measures writes none of what it compiles, and imports take twice as long.
    """
    variables = {**_own_variables(), "UV_COMPILE_BYTECODE": "1"}
    return calls.run([*_tox_line(home, name), "--notest"], log, home.root, variables, lambda: None)


def make_shared_environment(job: Job) -> None:
    """Make a job's environment, one process at a time: shards that are measured side by side have it in common.

    Where it cannot be made, the call of tox that measures says why.
    """
    home = job.options.home
    folder = home.environments
    guarded(folder, lambda: folder.mkdir(parents=True, exist_ok=True))
    made = folder / job.environment / f".made-{job.pins_hash}"
    with FileLock(folder / f"{job.environment}.lock"):
        if not made.is_file() and make_environment(home, job.environment, job.log) == 0:
            made.touch()


def _tox_line(home: Home, environment: str) -> list[str]:
    command = [sys.executable, "-m", "tox", "run", "-c", str(home.tox_ini), "--workdir", str(home.environments)]
    return [*command, "-e", environment]


def _own_variables() -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if name not in _NOT_PASSED}


def cells_variables(options: MeasureOptions) -> dict[str, str]:
    """The variables of a process that measures cells."""
    found = {
        "CANIEXPORT_SUPERVISED": "1",
        "CANIEXPORT_WORKERS": str(options.workers),
        "CANIEXPORT_CASES": str(options.home.cases.resolve()),  # pytest follows no link to a folder
        "CANIEXPORT_CODE": str(code_folder(options.home)),
        "CANIEXPORT_TABLES": "yes" if options.tables else "no",
    }
    return {**found, "UV_CACHE_DIR": str(options.budget.cache)} if options.rolling else found


def code_folder(home: Home) -> Path:
    """A folder that holds ``caniexport`` and nothing else, to be put on the measured environment's path."""
    code = homes.code_folder()
    if (code.parent / "tox.ini").is_file():
        return code
    # an installed package lies among everything else that is installed; the environment must not see that
    staged = home.local / "code"
    shutil.rmtree(staged / "caniexport", ignore_errors=True)
    for room in ("model", "worker", "check/inside"):
        shutil.copytree(
            code / "caniexport" / room, staged / "caniexport" / room, ignore=shutil.ignore_patterns("__pycache__")
        )
    for package in ("", "check"):
        shutil.copy(code / "caniexport" / package / "__init__.py", staged / "caniexport" / package / "__init__.py")
    return staged


@contextmanager
def table_with(release: Release, folder: Path) -> Iterator[Path]:
    """tox reads its environments from a table of releases: one, in ``folder``, with this release for its own entry.

    Gives the file of the table.
    """
    others = [entry for entry in releases.table() if entry.torch != release.torch]
    entries = sorted([*others, release], key=lambda entry: versions.parse(entry.torch))
    lines = ["from caniexport.model.releases import Release", f"RELEASES = ({', '.join(map(repr, entries))},)", ""]
    path = folder / f"releases-{release.torch}.py"
    path.write_text("\n".join(lines), encoding="utf-8")
    before = os.environ.get(_TABLE)
    os.environ[_TABLE] = str(path.resolve())
    try:
        yield path
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


def environment_failure(log: Path) -> str:
    """Why tox failed, from its log, in one line."""
    return failure(log).splitlines()[0]


def _reason(lines: list[str]) -> str:
    """The line that says why: uv's first ``Because`` (unwrapped), an error of uv's or tox's, else the last line that is
    not tox's own summary.
    """
    for start, line in enumerate(lines):
        if "Because " in line:
            words = [line[line.index("Because ") :]]
            for more in lines[start + 1 : start + 6]:
                if more.startswith(("hint", "torch", ".pkg")) or words[-1].endswith("."):
                    break
                words.append(more)
            return " ".join(words)
    marks = ("could not find python", "No interpreter found", "error:", "Error:", "ERROR:")
    said = [line for line in lines if not _SUMMARY.search(line)] or lines
    return next((line for line in lines if any(mark in line for mark in marks)), said[-1])
