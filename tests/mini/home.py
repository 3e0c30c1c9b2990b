"""A checkout in small for the stand-in releases: cases, results and tox.ini of its own, the project's own harness."""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from mini import build, runner

from caniexport.model.releases import make_environment_name

#: a variable that every process of one run inherits
MARK = "CANIEXPORT_TEST_MARK"


@dataclass(frozen=True)
class Home:
    """A checkout in small: cases, results, tox.ini; the harness is the project's own."""

    folder: Path
    table: Path
    wheels: Path
    mark: str = "none"
    extra: tuple[tuple[str, str], ...] = ()

    @property
    def cases(self) -> Path:
        return self.folder / "cases"

    @property
    def environ(self) -> dict[str, str]:
        places = {"CANIEXPORT_HOME": str(self.folder), "UV_FIND_LINKS": str(self.wheels), MARK: self.mark}
        return {**runner.environ(self.table, **places), **dict(self.extra)}

    def caniexport(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a command as a user does; it must end with ``code``."""
        reply = subprocess.run(
            self.line(*arguments), cwd=self.folder, env=self.environ, capture_output=True, text=True, check=False
        )
        assert reply.returncode == code, reply.stdout[-2000:] + reply.stderr[-4000:]
        return reply

    def answer(self, *arguments: str) -> Any:
        return json.loads(self.caniexport(*arguments, "--json").stdout)

    def rows(self, dataset: str = "results-local") -> list[dict[str, Any]]:
        """Every row of every cells file."""
        paths = sorted((self.folder / dataset / "cells").glob("*.parquet"))
        return [row for path in paths for row in pq.read_table(path).to_pylist()]

    def table_rows(self, dataset: str, table: str) -> list[dict[str, Any]]:
        return pq.read_table(self.folder / dataset / f"{table}.parquet").to_pylist()

    def cells(self, version: str, dataset: str = "results-local") -> dict[runner.Name, dict[str, Any]]:
        """The rows of one release by name; two rows for one name are an error."""
        found = [row for row in self.rows(dataset) if row["torch"] == version]
        return runner.by_name(found)

    def copy(self, folder: Path, *, with_rows: bool = True) -> Home:
        """Another home with the same cases and rows, on the same environments."""
        left_out = {".tox", *(() if with_rows else ("results-local",))}
        shutil.copytree(self.folder, folder, symlinks=True, ignore=lambda _, names: left_out & set(names))
        (self.folder / ".tox").mkdir(exist_ok=True)
        (folder / ".tox").symlink_to(self.folder / ".tox")
        return replace(self, folder=folder)

    def line(self, *arguments: str) -> list[str]:
        """The command line of ``caniexport``, as this Python has it; one process measures unless more are asked for."""
        few = ["--workers", "1"] if arguments[:1] == ("measure",) and "--workers" not in arguments else []
        command = "from caniexport.cli import main; main(prog_name='caniexport')"
        return [sys.executable, "-c", command, *arguments, *few]


def make_home(parent: Path) -> Home:
    """A home below ``parent`` with the cases of the mini-matrix, no rows, and wheels for its releases."""
    python = ".".join(map(str, sys.version_info[:2]))
    table = runner.releases_file(parent, python, importlib.metadata.version("numpy"))
    # a path with a space, as people have them
    home = Home(parent / "a home", table, build.build(parent))
    runner.copy_cases(home.cases, runner.CASES)
    (home.folder / "results").mkdir()
    for name in ("tox.ini", "toxfile.py"):
        shutil.copy(runner.ROOT / name, home.folder)
    (home.folder / "harness").symlink_to(runner.ROOT / "harness")
    return home


def make_environments(home: Home) -> Home:
    """The home with the environments of the stand-in releases, which take seconds each: its copies have them too."""
    names = ",".join(make_environment_name(version, "newest", "cpu") for version in build.ERAS)
    line = [sys.executable, "-m", "tox", "run", "-e", names, "--notest"]
    environ = {**home.environ, "CANIEXPORT_CODE": str(runner.ROOT / "harness")}
    reply = subprocess.run(line, cwd=home.folder, env=environ, capture_output=True, text=True, check=False)
    assert reply.returncode == 0, reply.stdout[-3000:] + reply.stderr[-1000:]
    return home
