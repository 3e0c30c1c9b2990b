"""Calls of tox for one job, and what went wrong in them."""

from __future__ import annotations

import os
import re
import shutil
import sys
from typing import TYPE_CHECKING

from caniexport import home as homes
from caniexport.home import DOCUMENTED
from caniexport.machine import calls
from caniexport.measure.progress import RowCount, write_plan
from caniexport.model.releases import Release
from caniexport.store.writer import disk_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from caniexport.home import Home
    from caniexport.measure.job import Job, MeasureOptions
    from caniexport.model.plan import Cell

#: of a user's variables: one names other environments, one a folder that tox empties
_NOT_PASSED = ("TOXENV", "CANIEXPORT_FOLDER")
#: how tox itself ends its log: which command it was, and that it failed
_SUMMARY = re.compile(r"^evaluation failed|^\S+: (exit \d|FAIL|commands|OK)")
#: lines that say why an environment could not be made
_REASONS = ("could not find python", "No interpreter found", "error:", "Error:", "ERROR:")


def run_job(job: Job, *, only: bool = False) -> int:
    """Measure what is not done, or ``only`` what is to be done; tox's exit code.

    Progress is read from the journals that are written meanwhile.
    """
    count = RowCount(job.options.local, job.table)
    keys = frozenset(item.key for item in job.todo) if only else job.done
    chosen = _write_keys(job, "only" if only else "done", keys)
    write_plan(job.options.local, job.environment, job.run_id, len(job.todo))

    def tick() -> None:
        job.progress.update(job.label, count.of(job.run_id), count.has_begun(job.run_id))

    return _run_tox(job, ["--run-id", job.run_id, *chosen], job.options.local, tick, False)


def run_again(job: Job, some: Sequence[Cell], local: Path, how: Sequence[str]) -> int:
    """Measure these and no others once more into ``local``; ``how`` are further options. tox's exit code."""
    chosen = _write_keys(job, "only", frozenset(item.key for item in some), "again")
    return _run_tox(job, ["--run-id", f"{job.run_id}-again", *chosen, *how], local, lambda: None, True)


def _write_keys(job: Job, option: str, keys: frozenset[str], folder: str = "") -> list[str]:
    """The option with a file of these keys, which lies in a folder of the local dataset."""
    path = job.options.local / (folder or option) / f"{job.environment}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(sorted(keys)), encoding="utf-8")
    return [f"--{option}", str(path)]


def _run_tox(job: Job, arguments: Sequence[str], local: Path, tick: Callable[[], None], append: bool) -> int:
    home = job.options.home
    # tox.ini names the first folder of cases
    folders = map(str, home.corpora[1:] if job.table == "cells" else ())
    line = [*_make_command(home, job.environment), "--", *job.arguments, *arguments, *folders]
    # tox empties its folders when it starts, whoever is in them, and an environment may be measured in twice at a time
    folder = local / "scratch" / job.environment
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    places = {"CANIEXPORT_LOCAL": str(local), "CANIEXPORT_FOLDER": str(folder)}
    places |= {"UV_CACHE_DIR": str(job.downloads)} if job.options.rolling else {}
    release = write_release(job.release, job.log.with_suffix(".py")) if isinstance(job.release, Release) else {}
    variables = {**_find_user_variables(), **job.variables, **release, **places}
    try:
        return calls.run(line, job.log, home.root, variables, tick, append)
    finally:
        # with what cases wrote where they were
        shutil.rmtree(folder, ignore_errors=True)


def make_environment(home: Home, name: str, log: Path, release: Release) -> int:
    """Make the tox environment of a release and run nothing in it; tox's exit code.

    Its packages are compiled: a process that measures writes none of what it compiles, and imports take twice as long.
    """
    variables = {**_find_user_variables(), "UV_COMPILE_BYTECODE": "1", **write_release(release, log.with_suffix(".py"))}
    return calls.run([*_make_command(home, name), "--notest"], log, home.root, variables, lambda: None)


def write_release(release: Release, path: Path) -> dict[str, str]:
    """The variable by which tox and its environment know a release: it names a file, which is written."""
    text = f"from caniexport.model.releases import Release\n\nRELEASES = ({release!r},)\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:  # another process may be reading it
        path.write_text(text, encoding="utf-8")
    return {"CANIEXPORT_RELEASES": str(path.resolve())}


def _make_command(home: Home, environment: str) -> list[str]:
    command = [sys.executable, "-m", "tox", "run", "-c", str(home.tox_ini), "--workdir", str(home.environments)]
    return [*command, "-e", environment]


def _find_user_variables() -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if name not in _NOT_PASSED}


def make_cells_variables(options: MeasureOptions) -> dict[str, str]:
    """The variables of a process that measures cells."""
    return {
        "CANIEXPORT_SUPERVISED": "1",
        "CANIEXPORT_WORKERS": str(options.workers),
        "CANIEXPORT_CASES": str(options.home.cases.resolve()),  # pytest follows no link to a folder
        "CANIEXPORT_CODE": str(make_code_folder(options.home)),
        "CANIEXPORT_TABLES": "yes" if options.whole and options.corpus == DOCUMENTED else "no",
    }


def make_code_folder(home: Home) -> Path:
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


def read_failure(log: Path) -> str:
    """Why tox failed, from its log: the reason in one line, then the end of the log."""
    text = log.read_text(encoding="utf-8", errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "\n".join([_find_reason(lines), *lines[-25:]]) if lines else "tox printed nothing"


def _find_reason(lines: list[str]) -> str:
    """uv's first ``Because`` (unwrapped), an error of uv's or tox's, else the last line that is no summary of tox's."""
    for start, line in enumerate(lines):
        if "Because " in line:
            words = [line[line.index("Because ") :]]
            for more in lines[start + 1 : start + 6]:
                if more.startswith(("hint", "torch", ".pkg")) or words[-1].endswith("."):
                    break
                words.append(more)
            return " ".join(words)
    own = [line for line in lines if not _SUMMARY.search(line)] or lines
    return next((line for line in lines if any(mark in line for mark in _REASONS)), own[-1])
