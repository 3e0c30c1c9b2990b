"""The processes that a process has started: which they are, the memory that they hold, and ending them.

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
from typing import Collection, List

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


def find_descendants(pid: int) -> List[int]:
    """A process and its descendants."""
    found = [pid]
    for parent in found:
        found += find_children(parent)
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


class Memory:
    """What a process and its descendants have gained since this was made, shared mappings included.

    Pages that several of them share count once. That takes milliseconds to find out, so it is asked only where what
    each has mapped is more than the limit.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._first = sum(map(_read_mapped, find_descendants(pid)))

    def exceeds(self, limit: int) -> bool:
        """Whether they have gained more than ``limit`` KiB; never where the system does not say."""
        tree = find_descendants(self._pid)
        mapped = sum(map(_read_mapped, tree))
        if mapped - self._first <= limit:
            return False
        return len(tree) == 1 or sum(map(_read_proportional, tree)) - self._first > limit


def _read_mapped(pid: int) -> int:
    """KiB of memory that no file could give back."""
    return _sum_fields("/proc/{}/status".format(pid), ("RssAnon:", "RssShmem:", "VmSwap:"))


def _read_proportional(pid: int) -> int:
    """As :func:`_read_mapped`, but of a page that several processes share only this one's part."""
    return _sum_fields("/proc/{}/smaps_rollup".format(pid), ("Pss_Anon:", "Pss_Shmem:", "SwapPss:"))


def _sum_fields(path: str, names: Collection[str]) -> int:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            lines = [line.split() for line in file]
    except OSError:
        return 0
    return sum(int(words[1]) for words in lines if len(words) > 1 and words[0] in names)
