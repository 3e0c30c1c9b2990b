"""Commands that run for long: their output in a log, a full disk reported at once, nothing of them left running."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

from caniexport.machine.guard import guard_command
from caniexport.model.errors import DiskFull, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_POLL_SECONDS = 0.5
#: seconds in which an interrupted command may finish in order, and in which the last of its output is read
_PATIENCE = 30.0
_DRAINED = 5.0
_TAIL = 64 * 1024
_NO_SPACE = re.compile(rb"[^\n]*(?:no space left|disk quota exceeded)[^\n]*", re.IGNORECASE)
_KEPT = "everything measured is kept, and the same command continues from there"


def run(
    command: list[str],
    log: Path,
    cwd: Path,
    environment: Mapping[str, str],
    tick: Callable[[], None],
    append: bool = False,
) -> int:
    """Exit code of a command whose output goes to ``log``; ``tick`` is called twice a second while it runs.

    Raises :class:`DiskFull` where it, or its log, found no space. However this process ends, what was started does too.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab" if append else "wb", buffering=0) as file:
        process = subprocess.Popen(
            guard_command(command),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            start_new_session=True,
        )
        assert process.stdout is not None
        output = _Output(process.stdout, file)
        try:
            output.start()
            while process.poll() is None and output.problem is None:
                time.sleep(_POLL_SECONDS)
                tick()
        finally:
            _end(process)
            output.join(_DRAINED)
    if output.problem is not None:
        if output.problem.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"no space left for {log}; {_KEPT}")
        raise StoreError(f"cannot write {log}: {output.problem.strerror}")
    if process.returncode and (found := _NO_SPACE.findall(output.tail)):
        # pytest draws a line of exclamation marks around the reason of its end
        line = found[-1].decode("utf-8", "replace").strip("! ").removeprefix("_pytest.outcomes.Exit: ")
        raise DiskFull(f"{line.partition(';')[0]}; {_KEPT}")
    return process.returncode


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt it where it still runs: pytest ends its workers then, and every finished cell is in a journal."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.wait()


class _Output(threading.Thread):
    """Copies output into a log; reads it to its end even where that fails: a full pipe would stop its writer."""

    def __init__(self, source: IO[bytes], log: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self.problem: OSError | None = None
        self.tail = b""
        self._source, self._log = source, log

    def run(self) -> None:
        """Copy until the output ends."""
        for chunk in iter(lambda: os.read(self._source.fileno(), 1 << 16), b""):
            self.tail = (self.tail + chunk)[-_TAIL:]
            try:
                while chunk and self.problem is None:
                    chunk = chunk[self._log.write(chunk) :]
            except OSError as error:
                self.problem = error
