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
from caniexport.store.parts import WITH_FILES
from caniexport.store.which_row import choose_rows

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
        written, problems = _merge(local, list(finished.values()))
        _remove(local, finished)
    return CompactReport(
        len(finished),
        sum(len(entries.cells) + len(entries.runs) for entries in finished.values()),
        tuple(written),
        (*problems, *(problem for entries in finished.values() for problem in entries.problems)),
    )


@contextmanager
def dataset_lock(local: Path) -> Iterator[None]:
    """Hold the dataset's lock: one process at a time rewrites its files. A killed holder releases it."""
    from filelock import FileLock, Timeout

    writer.do_on_disk(local, lambda: local.mkdir(parents=True, exist_ok=True))
    lock = FileLock(local / ".lock")
    try:
        writer.do_on_disk(local / ".lock", lambda: _acquire(lock))
    except Timeout:
        raise StoreError(f"{local} has been in use by another process for {PATIENCE:.0f} s; try again later") from None
    try:
        yield
    finally:
        lock.release()


def _acquire(lock: Any) -> None:
    lock.acquire(timeout=PATIENCE)


@contextmanager
def claim(path: Path) -> Iterator[bool]:
    """Whether a journal is finished; while true, no writer can take it up again."""
    try:
        file = path.open("rb+")
    except FileNotFoundError:
        yield False
        return
    with file:
        yield _lock(file) and not _just_made(path)


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


def _just_made(path: Path) -> bool:
    status = path.stat()
    return status.st_size == 0 and time.time() - status.st_mtime < _YOUNG


def _merge(local: Path, finished: list[Entries]) -> tuple[list[Path], list[str]]:
    """Write messages and environments first, so that no cell is ever without them."""
    written: list[Path] = []
    problems: list[str] = []
    with closing(sql.open_bounded()) as database:
        for path, table, rows in _targets(finished):
            whole = [local / path] if _is_whole(local / path, problems) else []
            sql.insert(database, "journalled", table, rows)
            if writer.copy_rows(database, _newest(local, table, whole), local / path, table):
                written.append(local / path)
    return written, problems


def _targets(finished: list[Entries]) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    """The files that journals have rows for, with the table and the rows of each."""
    every = Entries()
    for entries in finished:
        every.add(entries)
    if every.messages:
        yield (
            "messages.parquet",
            "messages",
            [{"message_id": key, "text": text} for key, text in every.messages.items()],
        )
    if every.environments:
        yield "environments.parquet", "environments", every.environments
    by_file: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for table, found in (("cells", every.cells), ("runs", every.runs)):
        for row in found:
            by_file.setdefault((table, writer.file_name(table, row)), []).append(row)
    for (table, name), rows in sorted(by_file.items()):
        yield f"{table}/{name}", table, rows


def _newest(local: Path, table: str, paths: list[Path]) -> str:
    """One row per identity, one more where a run in quarantine has it too: it must not cost the good one."""
    parts = [f"SELECT *, -1::BIGINT AS line FROM ({sql.empty(table)}) WHERE false"]
    if paths:
        parts.append(f"SELECT * EXCLUDE filename RENAME (file_row_number AS line) FROM {sql.files(paths)}")
    parts.append(f"SELECT * REPLACE (line + {sql.AFTER_FILES} AS line) FROM journalled")
    short = f" REPLACE (left(bundle, {BUNDLE_DIGITS}) AS bundle)" if table in WITH_FILES else ""
    rows = f"SELECT *{short}, 'local' AS origin FROM ({' UNION ALL BY NAME '.join(parts)})"
    environments = local / "environments.parquet"
    try:
        if table not in WITH_FILES or not environments.is_file():
            return choose_rows(rows, table)
        files.read_to_end(environments)
    except files.DamagedFileError:  # readers report it; which runs were good is no longer known
        return choose_rows(rows, table)
    bad = f"(SELECT env_id, run_id FROM {sql.files([environments])} WHERE gate <> '{GOOD}')"
    return " UNION ALL ".join(
        choose_rows(f"FROM ({rows}) {join} JOIN {bad} USING (env_id, run_id)", table) for join in ("ANTI", "SEMI")
    )


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
            writer.do_on_disk(path, path.unlink)
    writer.sync_folder(local / "journal")


def _put_aside(path: Path) -> Path:
    number, aside = 0, path.with_name(path.name + files.DAMAGED)
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.{number}{files.DAMAGED}")
    writer.do_on_disk(path, lambda: _rename(path, aside))
    return aside


def _rename(path: Path, aside: Path) -> None:
    path.rename(aside)
    writer.sync_folder(path.parent)
