"""Append-only JSON lines: each finished cell is durable at once, one file per writing process.

The file is locked while it is written (``fcntl.flock``), so that a reader can tell a finished journal from one that
grows. A line that the writer could not finish has no newline and counts as never written.
"""

from __future__ import annotations

import errno
import json
import os
import zlib
from pathlib import Path
from typing import Any, Dict, Optional, Tuple

from caniexport.model.errors import DiskFull, StoreError


class Journal:
    """One process's journal. Use as a context manager, or :meth:`close` it."""

    def __init__(self, folder: Path, name: str) -> None:
        """Begin one in ``folder``. Raises :class:`DiskFull`."""
        self._file: Optional[Any] = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            while self._file is None:
                self.path, self._file = _create_file(folder, "{}-{}".format(name, os.getpid()))
        except OSError as error:
            raise _make_store_error(folder, error) from error

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, which releases its lock."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def cell(self, row: Dict[str, Any], messages: Dict[str, str]) -> None:
        """Append one cell's row with the texts it refers to. Raises :class:`DiskFull`."""
        self._append({"kind": "cell", "row": row, "messages": messages})

    def run(self, row: Dict[str, Any], messages: Dict[str, str]) -> None:
        """Append the row of a bundle run by a further runtime, with its texts. Raises :class:`DiskFull`."""
        self._append({"kind": "run", "row": row, "messages": messages})

    def environment(self, row: Dict[str, Any]) -> None:
        """Append an environment's row. Raises :class:`DiskFull`."""
        self._append({"kind": "environment", "row": row})

    def _append(self, entry: Dict[str, Any]) -> None:
        if self._file is None:
            raise StoreError("journal {} is closed".format(self.path))
        data = encode_entry(entry)
        position = self._file.seek(0, os.SEEK_END)
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            # leave no half line behind: the next line would be joined to it
            self._file.truncate(position)
            raise _make_store_error(self.path, error) from error


def _make_store_error(path: Path, error: OSError) -> StoreError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull("no space left for {}; every finished cell is kept".format(path))
    return StoreError("cannot write {}: {}".format(path, error))


def encode_entry(entry: Dict[str, Any]) -> bytes:
    """An entry's line: first the checksum of the object without it, so that a changed bit is no value."""
    text = json.dumps(entry, sort_keys=True).encode("utf-8")
    return b'{"crc": "%08x", %s\n' % (zlib.crc32(text), text[1:])


def _create_file(folder: Path, name: str) -> Tuple[Path, Optional[Any]]:
    """A new, locked file; ``None`` for it where a compaction took it away before it was locked."""
    number = 0
    while True:
        path = folder / "{}{}.jsonl".format(name, "-{}".format(number) if number else "")
        try:
            file = open(str(path), "xb", buffering=0)
            break
        except FileExistsError:
            # left by a killed process that had this process's number
            number += 1
    _lock_file(file)
    try:
        if os.stat(str(path)).st_ino == os.fstat(file.fileno()).st_ino:
            return path, file
    except FileNotFoundError:
        pass
    file.close()
    return path, None


def _lock_file(file: Any) -> None:
    try:
        import fcntl
    except ImportError:  # Windows keeps an open file from being removed by itself
        return
    fcntl.flock(file.fileno(), fcntl.LOCK_EX)
