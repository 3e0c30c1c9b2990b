"""A Dask cluster of processes of Dask's own, each with a home of its own, that can be killed."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mini import build, runner
from mini.home import MARK, Home

OLD = next(iter(build.ERAS))
#: how long anything may take on a busy machine
SECONDS = 300
#: the canaries say nothing of a sample measured again, which starts tox twice more for each shard
WORDS = ("measure", "--release", OLD, "--repeat", "0", "--shards", "3")
#: a scheduler that has gone is noticed soon
_SOON = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s"}


@dataclass
class Cluster:
    """A scheduler and workers; ``home`` is the client's."""

    home: Home
    folder: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Where the scheduler is, once it has started."""
        file = self.folder / "scheduler.json"
        wait_for(lambda: file.is_file() and file.read_text().rstrip().endswith("}"))
        return str(json.loads(file.read_text())["address"])

    def start(self, name: str, module: str, *words: str, home: Home | None = None) -> None:
        """Start a command of Dask's, with a log of its own."""
        home = home or self.home
        (self.folder / name).mkdir(exist_ok=True)
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{module}", *words],
                cwd=home.folder,
                env={**home.environ, **_SOON},
                stdout=log,
                stderr=log,
            )

    def scheduler(self) -> None:
        """Start one, which need not be the first."""
        file = self.folder / "scheduler.json"
        file.unlink(missing_ok=True)
        self.start("scheduler", "dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))

    def worker(self, name: str, home: Home | None = None) -> None:
        """Start one that ends with its scheduler, and is not started again."""
        home = home or self.home.copy(self.folder / f"home-{name}", with_rows=False)
        words = ["--nthreads", "1", "--no-nanny", "--resources", "caniexport=1", "--no-dashboard", "--name", name]
        words += ["--local-directory", str(self.folder / name), "--memory-limit", "0"]
        self.start(name, "dask_worker", self.address, *words, home=home)

    def registered(self, *names: str) -> None:
        """Wait until the scheduler knows these workers."""
        wait_for(lambda: all(b"Registered to" in (self.folder / f"{name}.log").read_bytes() for name in names))

    def kill(self, name: str) -> None:
        """Kill a process at once."""
        self.processes[name].kill()
        self.processes[name].wait()

    def client(self, home: Home, *words: str) -> subprocess.Popen[str]:
        """Start a measurement on the cluster."""
        return subprocess.Popen(
            home.line(*WORDS, "--on", self.address, *words),
            cwd=home.folder,
            env={**home.environ, **_SOON},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self) -> list[int]:
        """Kill all of it; the processes that anything of it has left behind, which are then killed too."""
        for name in reversed(self.processes):
            self.kill(name)
        end = time.monotonic() + 30
        while runner.processes(MARK, self.home.mark) and time.monotonic() < end:
            time.sleep(0.05)
        left = runner.processes(MARK, self.home.mark)
        runner.kill_9(MARK, self.home.mark)
        return left


@contextlib.contextmanager
def started(measured: Home, folder: Path) -> Iterator[Cluster]:
    """A scheduler without workers, and a client's home like ``measured`` without rows; nothing of it is left."""
    home = replace(measured.copy(folder / "home", with_rows=False), mark=f"mark-{random.randrange(10**9)}")
    cluster = Cluster(home, folder)
    cluster.scheduler()
    try:
        yield cluster
    finally:
        left = cluster.end()
    assert left == []


def wait_for(found: Callable[[], object], process: subprocess.Popen[Any] | None = None) -> None:
    """Wait until something is so; an error where a process ends before."""
    end = time.monotonic() + SECONDS
    while not found():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)


def ended(process: subprocess.Popen[str], code: int = 0) -> str:
    """What a client has said when it has ended, which must be with this code."""
    said, complaints = process.communicate(timeout=SECONDS)
    assert process.returncode == code, said[-2000:] + complaints[-4000:]
    return said + complaints


def rows_sent(home: Home) -> list[dict[str, Any]]:
    """The rows that have come to the client so far."""
    return cells_in((home.folder / "results-local" / "shards").glob("*.jsonl"))


def cells_in(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """The rows of cells in the whole lines of files that grow or go meanwhile."""
    lines: list[bytes] = []
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # the whole delivery has come in this moment
            lines += path.read_bytes().split(b"\n")[:-1]
    return [entry["row"] for entry in map(json.loads, lines) if entry["kind"] == "cell"]
