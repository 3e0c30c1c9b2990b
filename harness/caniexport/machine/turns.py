"""One process at a time measures a release in a folder; another waits until it has ended, however it ends."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@contextmanager
def wait_for_turn(local: Path, name: str, say: Callable[[str], None]) -> Iterator[bool]:
    """This process's turn to measure ``name`` into the dataset ``local``; gives whether it had to wait for it.

    The lock is the system's: it is free again when the process that held it is gone.
    """
    folder = local / "turns"
    folder.mkdir(parents=True, exist_ok=True)
    lock, holder = FileLock(folder / f"{name}.lock"), folder / f"{name}.pid"
    waited = False
    try:
        lock.acquire(timeout=0)
    except Timeout:
        waited = True
        who = "?"
        with suppress(OSError):  # it has ended in this moment
            who = holder.read_text(encoding="utf-8") or who
        say(f"{name}: process {who} is measuring it into this folder; waiting until it has ended")
        lock.acquire()
    try:
        holder.write_text(str(os.getpid()), encoding="utf-8")
        yield waited
    finally:
        holder.unlink(missing_ok=True)
        lock.release()
