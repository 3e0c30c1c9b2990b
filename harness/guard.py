"""Runs a command for a caller, and leaves nothing of it running: ``python -m harness.guard CALLER COMMAND...``.

``CALLER`` is the number of the process that asked. When the command has ended, or the caller has (however it was
killed), whatever the command has started is ended too. An interrupt goes to the command, which may finish in order.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import NoReturn

from harness.worker.process_tree import adopt_orphans, die_with_parent, end_children

_POLL_SECONDS = 0.05


def guarded(command: list[str]) -> list[str]:
    """The command line that runs ``command`` for this very process; itself where the system has no such processes."""
    if os.name != "posix":
        return command
    return [sys.executable, "-P", "-m", "harness.guard", str(os.getpid()), *command]


def main() -> NoReturn:
    """Run the command and end with its exit code; 128 and the signal's number where it was killed."""
    caller, command = int(sys.argv[1]), sys.argv[2:]
    adopt_orphans()
    child = subprocess.Popen(command, preexec_fn=die_with_parent)
    signal.signal(signal.SIGINT, lambda *_: os.kill(child.pid, signal.SIGINT))
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, lambda number, _: sys.exit(128 + number))
    try:
        status = _wait(child.pid, caller)
    finally:
        end_children()
    sys.exit(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))


def _wait(child: int, caller: int) -> int:
    """The status with which the child ended, or that of a kill where the caller is gone. Orphans are reaped."""
    while os.getppid() == caller:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == child:
            return status
        if pid == 0:
            time.sleep(_POLL_SECONDS)
    return int(signal.SIGKILL)


if __name__ == "__main__":
    main()
