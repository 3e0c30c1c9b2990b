"""The written summary: what answers about the whole dataset look at, as small files in the user's cache folder.

Every answer needs to know which releases, exporters, opsets, runtimes and variants there are: counting a million cells
takes a third of a second, and a command begins anew each time. It is written when it is first asked for, under
everything it depends on: the query, and path, size, times and inode of every parquet file of the dataset.
It is less than half a megabyte in all. ``CANIEXPORT_CACHE`` names the folder in which
``caniexport/`` is made for them; empty, nothing is written.

Nothing rests on it: where a file is not what was written, or cannot be, the dataset's own files answer.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from caniexport.store import sql

VARIABLE = "CANIEXPORT_CACHE"
#: megabytes that our files may take; the oldest go first
_MOST = 16
#: how the files are named that are written here; no other is ever removed
_OURS = re.compile(r"(?:[0-9a-f]{32}(?:-[0-9a-f]{32})?\.(?:parquet|z)|digests-[0-9a-f]{32}\.json|caniexport-new-\w{8})")


def cache_folder() -> Path | None:
    """Where summaries and digests are kept: a folder of ours alone. ``None`` where they are not kept."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named) / "caniexport" if named else None
    above = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(above) if above else Path.home() / ".cache") / "caniexport"
    except RuntimeError:  # a user without a home
        return None


class WrittenSummary:
    """The summaries of one state of these files."""

    def __init__(self, paths: Iterable[Path], where: Path | None) -> None:
        self._where = where
        self._state = _state(paths) if where is not None else None
        self._known: dict[str, Path] = {}

    def relation(self, name: str, query: Callable[[], str], lasts: Callable[[], bool]) -> str:
        """The rows of a query as SQL names them: those written under its name, else the query itself.

        ``lasts`` tells whether they stay the same as long as the files do. It is asked before they are written.
        """
        if name not in self._known:
            kept = self._kept(name) or (self._write(name, query()) if self._state and lasts() else None)
            if kept is None:
                return f"({query()} ORDER BY ALL)"
            self._known[name] = kept
        return f"read_parquet({sql.literal(str(self._known[name]))})"

    def _kept(self, name: str) -> Path | None:
        found = self._where.glob(f"{self._key(name)}-*.parquet") if self._where is not None and self._state else ()
        return next(filter(_is_whole, found), None)

    def _key(self, name: str) -> str:
        return hashlib.sha256(f"{self._state}\0{name}".encode()).hexdigest()[:32]

    def _write(self, name: str, query: str) -> Path | None:
        """The file with the rows of a query, named for its content too; ``None`` where it cannot be written."""
        assert self._where is not None
        path = self._where / f"{self._key(name)}.parquet"
        copy = f"COPY ({query} ORDER BY ALL) TO {{}} (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)"
        with contextlib.suppress(
            sql.error_class()
        ):  # a full disk; or a file of the dataset is damaged: who asks will see
            put_file(path, lambda made: sql.fetch(copy.format(sql.literal(str(made)))))
        with contextlib.suppress(OSError):
            return path.replace(path.with_name(f"{path.stem}-{_digest(path)}.parquet"))
        return None

    def forget_lost(self) -> bool:
        """Forget the files that are not what was written any more; whether there was one."""
        lost = [query for query, path in self._known.items() if not _is_whole(path)]
        for query in lost:
            del self._known[query]
        return bool(lost)


def _state(paths: Iterable[Path]) -> str | None:
    digest = hashlib.sha256()
    for path in sorted(paths):
        try:
            at = path.stat()
        except OSError:
            return None
        entry = f"{path.resolve()}\0{at.st_size} {at.st_mtime_ns} {at.st_ctime_ns} {at.st_ino}\n"
        digest.update(entry.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:32]


def _is_whole(path: Path) -> bool:
    try:
        return _digest(path) == path.stem.rpartition("-")[2]
    except OSError:
        return False


def keep_file(name: str, data: bytes) -> None:
    """Keep something under a name, in place of what was kept there, if that can be done."""
    where = cache_folder()
    if where is None:
        return
    path = where / f"{name}-{hashlib.sha256(data).hexdigest()[:32]}.z"
    put_file(path, lambda made: made.write_bytes(data))
    for older in where.glob(f"{name}-*.z") if path.exists() else ():
        if older != path:
            with contextlib.suppress(OSError):
                older.unlink()


def put_file(path: Path, write: Callable[[Path], object]) -> None:
    """Keep a file in the cache folder, if that can be done; ``write`` fills it under another name."""
    with contextlib.suppress(OSError):  # a full disk
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix="caniexport-new-")
        os.close(handle)
        try:
            write(Path(name))
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)
        _prune(path.parent)


def _prune(above: Path) -> None:
    ours = (item for item in above.iterdir() if _OURS.fullmatch(item.name))
    found = sorted((item.stat().st_mtime_ns, item.stat().st_size, item) for item in ours)
    taken = sum(size for _, size, _ in found)
    for _, size, item in found:
        if taken <= _MOST * 1_000_000:
            return
        with contextlib.suppress(OSError):
            item.unlink()
        taken -= size
