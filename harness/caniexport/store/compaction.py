"""Compaction: finished journals become parquet, and no row is lost whoever is killed when.

Everything that is written is durable before the journal it came from is removed, and doing it again changes nothing;
so a compaction that dies at any point is made good by the next one. A journal is finished when nobody holds its lock.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from caniexport.model.errors import StoreError
from caniexport.model.rows import BUNDLE_DIGITS
from caniexport.store import files, sql, writer
from caniexport.store.gates import GOOD
from caniexport.store.journal_reader import Entries, journals, read_journal
from caniexport.store.which_row import KEYS, choose_rows

#: seconds that a compaction waits for another one
PATIENCE = 300.0
#: an empty journal younger than this many seconds may be about to be locked by the process that made it
_YOUNG = 60.0


@dataclass(frozen=True)
class CompactReport:
    """What a compaction did: journals taken up, rows read from them, files written, and what could not be read."""

    journals: int = 0
    rows: int = 0
    written: tuple[Path, ...] = ()
    problems: tuple[str, ...] = ()


def compact(local: Path) -> CompactReport:
    """Merge the finished journals of a local dataset into its parquet files, and remove them.

    The newest row of an identity is kept. A damaged file is put aside under its name with ``.damaged`` and reported;
    nothing of it is removed. Raises :class:`DiskFull`, :class:`SchemaMismatch` (a file there is of another version)
    or :class:`StoreError`; the journals are then still there.
    """
    if not journals(local):
        return CompactReport()
    with dataset_lock(local), ExitStack() as held:
        for folder in (local, local / "cells", local / "runs"):
            writer.remove_leftovers(folder)
        finished = {path: read_journal(path) for path in journals(local) if held.enter_context(claim(path))}
        if not finished:
            return CompactReport()
        every = Entries()
        for entries in finished.values():
            every.add(entries)
        written, problems = _merge(local, every)
        _remove(local, finished)
    rows = len(every.cells) + len(every.runs)
    return CompactReport(len(finished), rows, tuple(written), (*problems, *every.problems))


@contextmanager
def dataset_lock(local: Path) -> Iterator[None]:
    """Hold the dataset's lock: one process at a time rewrites its files. A killed holder releases it."""
    from filelock import FileLock, Timeout

    with writer.disk_errors(local):
        local.mkdir(parents=True, exist_ok=True)
    lock = FileLock(local / ".lock")
    try:
        with writer.disk_errors(local / ".lock"):
            lock.acquire(timeout=PATIENCE)
    except Timeout:
        raise StoreError(f"{local} has been in use by another process for {PATIENCE:.0f} s; try again later") from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def claim(path: Path) -> Iterator[bool]:
    """Whether a journal is finished; while true, no writer can take it up again."""
    try:
        file = path.open("rb+")
    except FileNotFoundError:
        yield False
        return
    with file:
        status = path.stat()
        is_new = status.st_size == 0 and time.time() - status.st_mtime < _YOUNG
        yield _lock(file) and not is_new


def _lock(file: IO[bytes]) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows keeps an open file from being removed by itself
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _merge(local: Path, every: Entries) -> tuple[list[Path], list[str]]:
    """Write messages and environments first, so that no cell is ever without them."""
    written: list[Path] = []
    problems: list[str] = []
    with closing(sql.open_bounded()) as database:
        for table, rows in every.tables.items():
            by_file: dict[str, list[dict[str, Any]]] = {}
            for row in rows:
                by_file.setdefault(writer.file_name(table, row), []).append(row)
            environments = [local / "environments.parquet"] if table in writer.WITH_FILES else []
            judged = [path for path in environments if _is_whole(path, problems)]
            for name, mine in sorted(by_file.items()):
                path = local / table / name if table in writer.WITH_FILES else local / name
                whole = [path] if _is_whole(path, problems) else []
                sql.insert(database, "journalled", table, mine)
                if writer.copy_rows(database, _newest(table, whole, judged), path, table):
                    written.append(path)
    return written, problems


def _newest(table: str, paths: list[Path], environments: list[Path]) -> str:
    """One row per identity, one more where a run in quarantine has it too: it must not cost the good one."""
    parts = [f"SELECT *, -1::BIGINT AS line FROM ({sql.empty(table)})"]
    if paths:
        parts.append(f"SELECT * EXCLUDE filename RENAME (file_row_number AS line) FROM {sql.files(paths)}")
    parts.append(f"SELECT * REPLACE (line + {sql.AFTER_FILES} AS line) FROM journalled")
    short = f" REPLACE (left(bundle, {BUNDLE_DIGITS}) AS bundle)" if table in writer.WITH_FILES else ""
    rows = f"SELECT *{short}, 'local' AS origin FROM ({' UNION ALL BY NAME '.join(parts)})"
    if not environments:
        return choose_rows(rows, table)
    bad = f"(SELECT env_id, run_id FROM {sql.files(environments)} WHERE gate <> '{GOOD}')"
    apart = f"SELECT *, coalesce((env_id, run_id) IN {bad}, false) AS is_bad FROM ({rows})"
    return choose_rows(apart, table, (*KEYS[table], "is_bad"))


def _is_whole(path: Path, problems: list[str]) -> bool:
    """Whether there is a file that can be read; a damaged one is put aside and reported."""
    if not path.is_file():
        return False
    try:
        files.read_to_end(path)
    except files.DamagedFileError as error:
        problems.append(f"{error}; put aside as {_put_aside(path).name}")
        return False
    return True


def _remove(local: Path, finished: dict[Path, Entries]) -> None:
    for path, entries in finished.items():
        if entries.problems:
            _put_aside(path)
        else:
            with writer.disk_errors(path):
                path.unlink()
    writer.sync_folder(local / "journal")


def _put_aside(path: Path) -> Path:
    number, aside = 0, path.with_name(path.name + files.DAMAGED)
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.{number}{files.DAMAGED}")
    with writer.disk_errors(path):
        path.rename(aside)
        writer.sync_folder(path.parent)
    return aside
