"""Commands that run for long: their output in a log, a full disk reported, nothing of them left running."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from caniexport.machine.guard import guard_command
from caniexport.model.errors import DiskFull

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_POLL_SECONDS = 0.5
#: seconds in which an interrupted command may finish in order
_PATIENCE = 30.0
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
    with log.open("ab" if append else "wb") as file:
        process = subprocess.Popen(
            guard_command(command),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            start_new_session=True,
        )
    try:
        while process.poll() is None:
            time.sleep(_POLL_SECONDS)
            tick()
    finally:
        _end(process)
    if process.returncode:
        if shutil.disk_usage(log.parent).free < _TAIL:
            raise DiskFull(f"no space left for {log}; {_KEPT}")
        if found := _NO_SPACE.findall(log.read_bytes()[-_TAIL:]):
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
