"""Listing the operators of a release in its own environment, where the table of operators lacks it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from caniexport.corpus import operator_table
from caniexport.measure.tox_calls import make_code_folder, make_environment, read_failure
from caniexport.model import releases
from caniexport.model.errors import EnvironmentUnavailable
from caniexport.model.made_cases import parse_release, read_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from caniexport.home import Home
    from caniexport.model.releases import Release

#: the first release whose database is worth asking
FIRST = "1.9"
_SECONDS = 1800


def list_operators(home: Home, chosen: Sequence[Release], say: Callable[[str], None], *, rolling: bool = False) -> None:
    """Add those of these releases to the table of operators that it lacks.

    Raises :class:`EnvironmentUnavailable` for one whose environment cannot be made, or whose database cannot be read.
    """
    every = [entry.torch for entry in releases.read_table()]
    path = operator_table.table_path(home)
    known = operator_table.find_listed_releases(read_entries(path), every)
    for release in chosen:
        if release.torch not in known and parse_release(release.torch) >= parse_release(FIRST):
            say(f"torch {release.torch}: listing its operators, once")
            out = home.local / "listed" / f"{release.torch}.json"
            folder = home.environments / f"torch{release.torch}-cpu"
            try:
                _list_in_environment(home, release, folder, out)
            finally:
                if rolling and len(chosen) > 1:
                    shutil.rmtree(folder, ignore_errors=True)
            found = json.loads(out.read_text(encoding="utf-8"))
            listed = {found["torch"]: found["operators"]}
            operator_table.write_table(path, operator_table.join_entries(read_entries(path), listed, every))


def _list_in_environment(home: Home, release: Release, folder: Path, out: Path) -> None:
    log = home.local / "logs" / f"{folder.name}.list.log"
    if make_environment(home, folder.name, log, release):
        raise EnvironmentUnavailable(
            f"torch {release.torch} could not be installed: {read_failure(log).splitlines()[0]}"
        )
    environ = {**os.environ, "PYTHONPATH": str(make_code_folder(home)), "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [str(folder / "bin" / "python"), "-m", "caniexport.worker.list_operators", "--out", str(out)],
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode:
        last = "\n".join(done.stderr.strip().splitlines()[-5:])
        raise EnvironmentUnavailable(f"the operators of {release.torch} could not be listed: {last}")
