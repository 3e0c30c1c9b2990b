"""A process that measures cells in a release's environment, one request after the other (:mod:`worker.session`)."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from caniexport.check.inside import NOTES
from caniexport.home import Home
from caniexport.model.plan import Cell

#: seconds in which it ends what it has started
_PATIENCE = 5.0
#: a row and the texts that it refers to
Told = tuple[Mapping[str, Any], Mapping[str, str]]


@dataclass(frozen=True)
class WorkPlace:
    """Where and how a session works: the environment's Python, the release, the table of releases that has it,
    the folder of the code.
    ``timeout`` is seconds and ``memory`` MiB for a cell; ``bundles`` keeps the exported files.
    """

    python: Path
    torch: str
    home: Home
    table: Path
    code: Path
    timeout: float = 60.0
    memory: int = 2048
    dynamo: bool = False
    bundles: bool = False

    @property
    def notes(self) -> Path:
        """What was made of the user's factory."""
        return self.home.local / f"notes-{self.torch}.json"

    def command(self, run_id: str) -> list[str]:
        """The line that begins a session."""
        line = [str(self.python), "-m", "caniexport.worker.session", "--release", self.torch, "--run-id", run_id]
        line += ["--timeout", str(self.timeout), "--memory", str(self.memory)]
        line += ["--dynamo"] if self.dynamo else []
        line += ["--bundles", str(self.home.local / "bundles")] if self.bundles else []
        return [*line, *map(str, self.home.corpora)]

    def environ(self) -> dict[str, str]:
        """Its variables: nothing of the Python that asks."""
        left_out = ("PYTHON", "TOX", "VIRTUAL_ENV")
        kept = {name: text for name, text in os.environ.items() if not name.startswith(left_out)}
        return {
            **kept,
            "PYTHONPATH": str(self.code),
            "CANIEXPORT_RELEASES": str(self.table),
            NOTES: str(self.notes),
        }


class CheckSession:
    """One such process. Use as a context manager; it ends with this one, however that ends."""

    def __init__(self, place: WorkPlace, run_id: str) -> None:
        logs = place.home.local / "logs"
        work = place.python.parents[1] / "tmp"
        for folder in (logs, work):
            folder.mkdir(parents=True, exist_ok=True)
        self._log = (logs / f"session-{place.torch}.log").open("ab")
        self._process = subprocess.Popen(
            place.command(run_id),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=work,
            env=place.environ(),
        )
        self.environment: Mapping[str, Any] = self._read().get("environment", {})

    def __enter__(self) -> CheckSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the process end in order."""
        for pipe in (self._process.stdin, self._process.stdout):
            # what could not be written before is not to be written now
            with suppress(OSError):
                _pipe(pipe).close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
        self._log.close()

    def kill(self) -> None:
        """End the process wherever it is, with what it has started."""
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def measure(self, cells: Sequence[Cell]) -> Iterator[Told]:
        """The rows of cells of one variant and exporter, each as soon as it is there."""
        requests = _pipe(self._process.stdin)
        try:
            requests.write((json.dumps(cells) + "\n").encode("utf-8"))
            requests.flush()
        except OSError:
            return  # it is gone; what it said is in its log
        for _ in cells:
            message = self._read()
            if not message:
                return
            yield message["row"], message["messages"]

    def _read(self) -> Mapping[str, Any]:
        line = _pipe(self._process.stdout).readline()
        found: Mapping[str, Any] = json.loads(line) if line.endswith(b"\n") else {}
        return found


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
