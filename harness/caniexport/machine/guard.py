"""Runs a command for a caller, and leaves nothing of it running.

When the command has ended, or the caller has (however it was killed), whatever the command has started is ended too.
An interrupt goes to the command, which may finish in order.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

from caniexport.worker.process_tree import adopt_orphans, die_with_parent, end_children

_POLL_SECONDS = 0.05
_ROOT = Path(__file__).resolve().parents[2]


def guard_command(command: list[str]) -> list[str]:
    """The command line that runs ``command`` for this very process; itself where the system has no such processes."""
    if os.name != "posix":
        return command
    # what is run may be told another path, or none, to look for modules
    start = f"import sys; sys.path.insert(0, {str(_ROOT)!r}); from caniexport.machine.guard import main; main()"
    return [sys.executable, "-P", "-c", start, str(os.getpid()), *command]


def main() -> NoReturn:
    """End as the command does, by its exit code or its signal. Arguments: the caller's number, the command."""
    caller, command = int(sys.argv[1]), sys.argv[2:]
    adopt_orphans()
    child = subprocess.Popen(command, preexec_fn=_prepare_child)
    signal.signal(signal.SIGINT, lambda *_: os.kill(child.pid, signal.SIGINT))
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, lambda number, _: sys.exit(128 + number))
    try:
        status = _wait(child.pid, caller)
    finally:
        end_children()
    if os.WIFSIGNALED(status):
        _die_by_signal(os.WTERMSIG(status))
    sys.exit(os.WEXITSTATUS(status))


def _prepare_child() -> None:
    """In the child: end with the guard, and hear an interrupt also where a shell started all this in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    die_with_parent()


def _die_by_signal(number: int) -> None:
    """End by a signal, without a second file of the memory of what it ended."""
    import resource  # not on Windows, where nothing is guarded

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _wait(child: int, caller: int) -> int:
    """The status with which the child ended, or that of a kill where the caller is gone. Orphans are reaped."""
    while os.getppid() == caller:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == child:
            return status
        if pid == 0:
            time.sleep(_POLL_SECONDS)
    return int(signal.SIGKILL)
