"""What a question to the whole dataset gave, kept for the next process that asks it of the same files.

Folding a million cells takes half a second, and a command line begins anew each time. An answer is kept in the user's
cache folder under everything it depends on: the text of the query, its values, and path, size, times and inode of
every parquet file of the dataset. ``CANIEXPORT_CACHE`` names another folder; empty, nothing is kept.

Nothing rests on it: a file that cannot be read or written counts as not there.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

VARIABLE = "CANIEXPORT_CACHE"
#: raised when rows are kept in another form
_FORM = 2
#: megabytes that answers may take; the oldest go first
_MOST = 64

Rows = list[tuple[Any, ...]]


def folder() -> Path | None:
    """Where answers are kept; ``None`` where they are not."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named) if named else None
    above = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(above) if above else Path.home() / ".cache") / "caniexport"
    except RuntimeError:  # a user without a home
        return None


class Memo:
    """The answers kept for one state of these files."""

    def __init__(self, paths: Iterable[Path], where: Path | None) -> None:
        self._where = where
        self._state = _state(paths) if where is not None else None

    def rows(self, query: str, values: Sequence[Any], ask: Callable[[], Rows]) -> Rows:
        """The rows of a query: those kept, else those that ``ask`` gives, which are then kept."""
        if self._where is None or self._state is None:
            return ask()
        path = self._where / f"{_key(self._state, query, values)}.json"
        kept = _read(path)
        if kept is not None:
            return kept
        found = ask()
        _write(path, found)
        return found


def _state(paths: Iterable[Path]) -> str | None:
    digest = hashlib.sha256(f"{_FORM}\n".encode())
    for path in sorted(paths):
        try:
            at = path.stat()
        except OSError:
            return None
        said = f"{path.resolve()}\0{at.st_size} {at.st_mtime_ns} {at.st_ctime_ns} {at.st_ino}\n"
        digest.update(said.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _key(state: str, query: str, values: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps([state, query, list(values)]).encode()).hexdigest()[:40]


def _read(path: Path) -> Rows | None:
    try:
        checksum, _, text = path.read_text(encoding="utf-8").partition("\n")
        rows = json.loads(text) if checksum == _checksum(text) else None
    except (OSError, ValueError):
        return None
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        return None
    return [tuple(row) for row in rows]


def _write(path: Path, rows: Rows) -> None:
    with contextlib.suppress(TypeError, ValueError):  # a value that JSON has no word for
        text = json.dumps(rows, separators=(",", ":"))
        put(path, f"{_checksum(text)}\n{text}")


def put(path: Path, text: str) -> None:
    """Keep a text in the cache folder, if that can be done."""
    with contextlib.suppress(OSError):  # a full disk
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix="new-", delete=False, encoding="utf-8") as file:
            file.write(text)
        Path(file.name).replace(path)
        _prune(path.parent)


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def _prune(above: Path) -> None:
    found = sorted((item.stat().st_mtime_ns, item.stat().st_size, item) for item in above.glob("*"))
    taken = sum(size for _, size, _ in found)
    for _, size, item in found:
        if taken <= _MOST * 1_000_000:
            return
        with contextlib.suppress(OSError):
            item.unlink()
        taken -= size
