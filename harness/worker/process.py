"""What a process may ask of the operating system about its own end."""

from __future__ import annotations

import ctypes
import signal
import sys


def die_with_parent() -> None:
    """On Linux, end when the parent ends: a killed run must leave nothing running behind it. Elsewhere, nothing."""
    if sys.platform.startswith("linux"):
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
