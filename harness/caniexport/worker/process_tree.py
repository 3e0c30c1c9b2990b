"""The processes that a process has started: which they are, and ending them.

A case may fork, start programs, and let them begin sessions of their own. On Linux whatever it leaves is found: an
orphan goes to the nearest process that has called :func:`adopt_orphans`. Elsewhere the group of a process is all that
is known of it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from typing import List

#: seconds after which a process that is killed again and again, and starts others each time, is left alone
_PATIENCE = 5.0
_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36
_waitpid, _kill, _monotonic = os.waitpid, os.kill, time.monotonic
_DEFAULT_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


def die_with_parent() -> None:
    """On Linux, end when the parent ends: a killed run must leave nothing running behind it. Elsewhere, nothing."""
    _prctl(_SET_PDEATHSIG, int(_DEFAULT_KILL))


def adopt_orphans() -> None:
    """On Linux, become the parent of what this process's descendants leave behind, in whatever session it is."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def find_children(pid: int) -> List[int]:
    """The living processes and zombies whose parent is ``pid``; none where the system does not say."""
    found: List[int] = []
    folder = "/proc/{}/task".format(pid)
    try:
        for thread in os.listdir(folder):
            with open("{}/{}/children".format(folder, thread), encoding="ascii") as file:
                found += map(int, file.read().split())
    except OSError:
        pass  # it ended meanwhile
    return found


def end_children() -> None:
    """Kill and reap every child of this process, and the children that it inherits from these."""
    deadline = _monotonic() + _PATIENCE
    while _monotonic() < deadline:
        found = find_children(os.getpid())
        if not found:
            break
        for pid in found:
            _kill_and_reap(pid)


def _kill_and_reap(pid: int) -> None:
    """Kill and reap one child; what it has started becomes this process's own."""
    try:
        _kill(pid, _DEFAULT_KILL)
        _waitpid(pid, 0)
    except OSError:
        pass  # reaped already


def kill_group(pid: int) -> None:
    """End a process that began a group of its own, and whatever it started in that group and left behind."""
    kill = getattr(os, "killpg", None)
    if kill is None:  # no groups on Windows: whoever holds the process ends it alone
        return
    try:
        kill(pid, signal.SIGKILL)
    except OSError:
        pass  # nothing is left of it
