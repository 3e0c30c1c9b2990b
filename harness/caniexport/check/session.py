"""A process that measures cells with a release's Python, one request after the other (:mod:`worker.session`)."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caniexport.check.environments import Environment
from caniexport.check.inside.factory import NOTES
from caniexport.machine.guard import guard_command
from caniexport.measure.tox_calls import write_release
from caniexport.model.plan import Cell

#: seconds to wait until the process ends
_PATIENCE = 5.0


@dataclass(frozen=True)
class MeasurementSetup:
    """The environment, the code folder and a work folder (with the case files in ``cases``) of a measurement.

    ``timeout`` is seconds and ``memory`` MiB for a cell; the exported files go to ``bundles``, if it is given.
    """

    environment: Environment
    code: Path
    folder: Path
    timeout: float
    memory: int
    bundles: Path | None = None

    @property
    def notes(self) -> Path:
        """The file with the notes about the user's factory."""
        return self.folder / f"notes-{self.environment.release.torch}.json"

    @property
    def log(self) -> Path:
        """The log of the processes."""
        return self.folder / f"session-{self.environment.release.torch}.log"

    def command(self, run_id: str, *, dynamo: bool) -> list[str]:
        """The command line of a session; ``dynamo`` warms that exporter too."""
        line = [str(self.environment.python), "-m", "caniexport.worker.session"]
        line += ["--release", self.environment.release.torch, "--run-id", run_id]
        line += ["--timeout", str(self.timeout), "--memory", str(self.memory)]
        line += ["--dynamo"] if dynamo else []
        line += ["--bundles", str(self.bundles)] if self.bundles else []
        return [*line, str(self.folder / "cases")]

    def environ(self) -> dict[str, str]:
        """Its environment variables, without those of this Python, except the path for a user's own Python."""
        kept = {
            name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "TOX", "VIRTUAL_ENV"))
        }
        own = os.environ.get("PYTHONPATH") if self.environment.is_own else None
        release = write_release(self.environment.release, self.folder / "release.py")
        path = os.pathsep.join(filter(None, [str(self.code), own]))
        return {**kept, **release, "PYTHONPATH": path, NOTES: str(self.notes)}


class CheckSession:
    """A measuring process; it ends when this one does."""

    def __init__(self, setup: MeasurementSetup, run_id: str, *, dynamo: bool) -> None:
        scratch = setup.folder / "scratch"  # some releases write reports into the working directory
        scratch.mkdir(exist_ok=True)
        self._log = setup.log.open("ab")
        self._process = subprocess.Popen(
            guard_command(setup.command(run_id, dynamo=dynamo)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=scratch,
            env=setup.environ(),
            encoding="utf-8",
        )
        self.environment: Mapping[str, Any] = self._read().get("environment", {})

    def close(self) -> None:
        """Close the pipes and wait until the process ends."""
        for pipe in filter(None, (self._process.stdin, self._process.stdout)):
            # a broken pipe has nothing to flush
            with suppress(OSError):
                pipe.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
        self._log.close()

    def kill(self) -> None:
        """Stop the process and its children."""
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def measure(self, cells: Sequence[Cell]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, str]]]:
        """Yield row and texts of each cell of one variant and exporter as it is measured."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(cells) + "\n")
            self._process.stdin.flush()
        except OSError:
            return  # the process ended; its log has the reason
        for _ in cells:
            message = self._read()
            if not message:
                return
            yield message["row"], message["messages"]

    def _read(self) -> Mapping[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        found: Mapping[str, Any] = json.loads(line) if line.endswith("\n") else {}
        return found
