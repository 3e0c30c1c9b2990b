"""Listing the operators of a release in its own environment, where the table of operators lacks it."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from caniexport.corpus import operator_table
from caniexport.measure.tox_calls import code_folder, environment_failure, make_environment, table_with
from caniexport.model import releases
from caniexport.model.errors import EnvironmentUnavailable
from caniexport.model.made_cases import numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from caniexport.home import Home
    from caniexport.model.releases import Release

#: the first release whose database is worth asking
FIRST = "1.9"
_SECONDS = 1800
_LINES = 5


def list_operators(home: Home, chosen: Sequence[str], say: Callable[[str], None], *, rolling: bool = False) -> None:
    """Add those of these releases to the table of operators that it lacks; ``("all",)`` takes the table of releases.

    Raises :class:`EnvironmentUnavailable` for one whose environment cannot be made, or whose database cannot be read.
    """
    every = [entry.torch for entry in releases.table()]
    path = operator_table.table_path(home)
    known = operator_table.listed_releases(operator_table.read_entries(path), every)
    for name in every if chosen == ("all",) else chosen:
        if name not in known and numbers(name) >= numbers(FIRST):
            say(f"torch {name}: listing its operators, once")
            listed = _listed(home, releases.find(name), rolling and len(chosen) > 1)
            entries = operator_table.read_entries(path)
            operator_table.write_table(path, operator_table.joined(entries, dict([listed]), every))


def _listed(home: Home, release: Release, removes: bool) -> tuple[str, dict[str, object]]:
    """What a release's environment lists."""
    name = f"torch{release.torch}-cpu"
    log = home.local / "logs" / f"{name}.list.log"
    with table_with(release, home.root):
        if make_environment(home, name, log):
            raise EnvironmentUnavailable(f"torch {release.torch} could not be installed: {environment_failure(log)}")
    folder = home.environments / name
    out = home.local / "listed" / f"{release.torch}.json"
    try:
        _run(folder / "bin" / "python", out, home)
    finally:
        if removes:
            shutil.rmtree(folder, ignore_errors=True)
    return operator_table.read_listed(out)


def _run(python: Path, out: Path, home: Home) -> None:
    environ = {**os.environ, "PYTHONPATH": str(code_folder(home)), "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [str(python), "-m", "caniexport.worker.list_operators", "--out", str(out)],
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode:
        words = "\n".join(done.stderr.strip().splitlines()[-_LINES:])
        raise EnvironmentUnavailable(f"the operators of {out.stem} could not be listed: {words}")
