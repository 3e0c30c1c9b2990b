"""A process that measures cells with a release's Python, one request after the other (:mod:`worker.session`)."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from caniexport.check.environments import Environment
from caniexport.check.inside.factory import NOTES
from caniexport.measure.tox_calls import write_release
from caniexport.model.plan import Cell

#: seconds in which it ends what it has started
_PATIENCE = 5.0


@dataclass(frozen=True)
class WorkPlace:
    """Where and how cells are measured: the environment, the folder of the code, one for all that is written (with the
    case files in ``cases``). ``timeout`` is seconds and ``memory`` MiB for a cell; the exported files go to
    ``bundles``, where that is given.
    """

    environment: Environment
    code: Path
    folder: Path
    timeout: float
    memory: int
    bundles: Path | None = None

    @property
    def cases(self) -> Path:
        """The case files."""
        return self.folder / "cases"

    @property
    def notes(self) -> Path:
        """What was made of the user's factory."""
        return self.folder / f"notes-{self.environment.release.torch}.json"

    @property
    def log(self) -> Path:
        """What the processes wrote beside rows."""
        return self.folder / f"session-{self.environment.release.torch}.log"

    def command(self, run_id: str, *, dynamo: bool) -> list[str]:
        """The line that begins a session; ``dynamo`` warms that exporter too."""
        line = [str(self.environment.python), "-m", "caniexport.worker.session"]
        line += ["--release", self.environment.release.torch, "--run-id", run_id]
        line += ["--timeout", str(self.timeout), "--memory", str(self.memory)]
        line += ["--dynamo"] if dynamo else []
        line += ["--bundles", str(self.bundles)] if self.bundles else []
        return [*line, str(self.cases)]

    def environ(self) -> dict[str, str]:
        """Its variables: nothing of the Python that asks, but for the path of a user's own."""
        kept = {
            name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "TOX", "VIRTUAL_ENV"))
        }
        own = os.environ.get("PYTHONPATH") if self.environment.is_own else None
        release = write_release(self.environment.release, self.folder / "release.py")
        path = os.pathsep.join(filter(None, [str(self.code), own]))
        return {**kept, **release, "PYTHONPATH": path, NOTES: str(self.notes)}


class CheckSession:
    """One such process; it ends with this one, however that ends."""

    def __init__(self, place: WorkPlace, run_id: str, *, dynamo: bool) -> None:
        scratch = place.folder / "scratch"  # some releases write reports where they are
        scratch.mkdir(exist_ok=True)
        self._log = place.log.open("ab")
        self._process = subprocess.Popen(
            place.command(run_id, dynamo=dynamo),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=scratch,
            env=place.environ(),
        )
        self.environment: Mapping[str, Any] = self._read().get("environment", {})

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

    def measure(self, cells: Sequence[Cell]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, str]]]:
        """Row and texts of each of the cells of one variant and exporter, as soon as it is there."""
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
