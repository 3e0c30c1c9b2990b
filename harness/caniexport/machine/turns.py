"""One process at a time measures a release, or makes its environment; another waits until it has ended."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@contextmanager
def wait_for_turn(local: Path, name: str, say: Callable[[str], None]) -> Iterator[bool]:
    """This process's turn to work on ``name`` in a folder; gives whether it had to wait for it.

    The lock is the system's: it is free again when the process that held it is gone.
    """
    folder = local / "turns"
    folder.mkdir(parents=True, exist_ok=True)
    lock, waited = FileLock(folder / f"{name}.lock"), False
    try:
        lock.acquire(timeout=0)
    except Timeout:
        waited = True
        say(f"{name}: another process has it in this folder; waiting until it has ended")
        lock.acquire()
    try:
        yield waited
    finally:
        lock.release()
