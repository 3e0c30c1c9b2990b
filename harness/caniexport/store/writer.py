"""Writing parquet: the same rows give the same bytes, and a file is whole or not there.

A file is written to a temporary name in its own folder, flushed to the disk and renamed, so that neither a kill nor
a full disk leaves half a file or takes the old one away.
"""

from __future__ import annotations

import contextlib
import errno
import filecmp
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.model.errors import DiskFull, StoreError
from caniexport.model.rows import SCHEMA_VERSION
from caniexport.store import sql
from caniexport.store.schema import VERSION_KEY, columns, normalise
from caniexport.store.which_row import KEYS

if TYPE_CHECKING:
    import duckdb

#: tables of which a dataset has several files
WITH_FILES = ("cells", "runs")
#: the order of rows in a file: what is asked for together lies together
ORDER: dict[str, tuple[str, ...]] = {
    **KEYS,
    "cells": ("case", "variant", "exporter", "opset", "torch", "runtime", "runtime_version", "provider"),
    "runs": ("case", "variant", "bundle", "session", "runtime", "runtime_version", "provider", "device", "env_id"),
}
#: rows in a row group: small enough that one case of a release is one or two of them; runs are many, and each group
#: names its bundles once
ROW_GROUP = {"runs": 65536, "messages": 2048, "graphs": 2048}
_DEFAULT_ROW_GROUP = 8192

_FULL = (errno.ENOSPC, errno.EDQUOT)
_TEMPORARY = ".writing"


def cells_file(torch: str | None, provider: str | None) -> str:
    """Name of the file in ``cells/`` that holds a row: one per release and provider."""
    return _name(f"torch-{torch}-{provider or 'none'}.parquet") if torch else "environment-cases.parquet"


def runs_file(runtime: str | None, provider: str | None) -> str:
    """Name of the file in ``runs/`` that holds a row: one per runtime and provider, with all versions."""
    return _name(f"{runtime or 'none'}-{provider or 'none'}.parquet")


def file_name(table: str, row: Mapping[str, Any]) -> str:
    """Name of the file that holds a row."""
    if table == "cells":
        return cells_file(row["torch"], row["provider"])
    return runs_file(row["runtime"], row["provider"]) if table == "runs" else f"{table}.parquet"


def _name(text: str) -> str:
    """A file's name made of a row's words, which no row can have that has entered through a journal otherwise."""
    if "/" in text or "\\" in text or "\0" in text:
        raise StoreError(f"{text!r} cannot be the name of a file")
    return text


def write_rows(path: Path, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows of a table to ``path``, durable when this returns.

    Raises :class:`DiskFull` or :class:`StoreError`; the file that was there before is then untouched.
    """
    with contextlib.closing(sql.open_bounded()) as database:
        sql.insert(database, "given", table, [normalise(table, row) for row in rows])
        copy_rows(database, "FROM given", path, table)


def copy_rows(database: duckdb.DuckDBPyConnection, query: str, path: Path, table: str) -> bool:
    """Write the rows of a query as :func:`write_rows` does; false where the file has these bytes already."""
    # a quarantined run may have a row of the same thing
    order = dict.fromkeys((*ORDER[table], *(name for name in ("run_id", "measured_at") if name in columns(table))))
    listed, ordered = (", ".join(map(sql.name, names)) for names in (columns(table), order))
    rows = f"SELECT {listed} FROM ({query}) ORDER BY {ordered}"
    options = (
        "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 9, USE_TMP_FILE false, "
        f"ROW_GROUP_SIZE {ROW_GROUP.get(table, _DEFAULT_ROW_GROUP)}, KV_METADATA {{{VERSION_KEY}: '{SCHEMA_VERSION}'}}"
    )

    def put(temporary: Path) -> None:
        try:
            database.execute(f"COPY ({rows}) TO {sql.literal(str(temporary))} ({options})")
        except sql.error_class() as error:
            if os.strerror(errno.ENOSPC) in str(error):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
            raise StoreError(f"cannot write {path}: {str(error).strip().splitlines()[0]}") from error

    return _replace(path, put)


def replace_file(path: Path, data: bytes) -> None:
    """Put ``data`` at ``path`` in one step, durably. Raises :class:`DiskFull` or :class:`StoreError`."""
    _replace(path, lambda temporary: temporary.write_bytes(data))


def _replace(path: Path, put: Callable[[Path], object]) -> bool:
    """Let ``put`` write another file, and put it in the place of ``path``; false where it is the same."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}{_TEMPORARY}")
    try:
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            put(temporary)
            if path.is_file() and filecmp.cmp(path, temporary, shallow=False):
                return False
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
            sync_folder(path.parent)
            return True
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """An error of the disk becomes one of ours."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFull(f"no space left to write {path}; everything written before is intact") from error
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from error


def remove_leftovers(folder: Path) -> None:
    """Remove what killed writers left in a folder. Only for a caller that holds the dataset's lock."""
    for path in folder.glob(f".*{_TEMPORARY}"):
        path.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make renames and removals in a folder durable, where the platform can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
