"""Writing parquet: the same rows give the same bytes, and a file is whole or not there.

A file is written to a temporary name in its own folder, flushed to the disk and renamed, so that neither a kill nor
a full disk leaves half a file or takes the old one away.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.model.errors import DiskFull, StoreError
from caniexport.store import digests
from caniexport.store.merge import in_order
from caniexport.store.schema import schema

if TYPE_CHECKING:
    import pyarrow as pa

#: rows in a row group: small enough that one case of a release is one or two of them; runs are many, and each group
#: names its bundles once
ROW_GROUP = {"cells": 8192, "messages": 1024, "runs": 65536, "graphs": 1024}
_DEFAULT_ROW_GROUP = 8192

_FULL = (errno.ENOSPC, errno.EDQUOT)
_TEMPORARY = ".writing"


def cells_file(torch: str | None, provider: str | None) -> str:
    """Name of the file in ``cells/`` that holds a row: one per release and provider."""
    return _name(f"torch-{torch}-{provider or 'none'}.parquet") if torch else "environment-cases.parquet"


def runs_file(runtime: str | None, provider: str | None) -> str:
    """Name of the file in ``runs/`` that holds a row: one per runtime and provider, all versions beside each other."""
    return _name(f"{runtime or 'none'}-{provider or 'none'}.parquet")


def file_name(table: str, row: Mapping[str, Any]) -> str:
    """Name of the file that holds a row of cells or replays."""
    if table == "cells":
        return cells_file(row["torch"], row["provider"])
    return runs_file(row["runtime"], row["provider"])


def _name(text: str) -> str:
    """A file's name made of a row's words, which no row can have that has entered through a journal otherwise."""
    if "/" in text or "\\" in text or "\0" in text:
        raise StoreError(f"{text!r} cannot be the name of a file")
    return text


#: arrow's own copy of the schema is left out: it differs between arrow releases and says nothing new
_WRITTEN: Any = {"compression": "zstd", "compression_level": 9, "store_schema": False, "write_page_checksum": True}


def encode(table: str, rows: pa.Table) -> bytes:
    """The parquet file of these rows, in the file's order whatever order they come in."""
    import pyarrow.parquet as pq

    fixed = in_order(table, rows.select(schema(table).names).cast(schema(table))).combine_chunks()
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, fixed.schema, **_WRITTEN) as file:
        file.write_table(fixed, row_group_size=ROW_GROUP.get(table, _DEFAULT_ROW_GROUP))
        file.add_key_value_metadata(schema(table).metadata)
    return sink.getvalue()


def write(path: Path, table: str, rows: pa.Table) -> None:
    """Write a table to ``path``, durable when this returns.

    Raises :class:`DiskFull` or :class:`StoreError`; the file that was there before is then untouched.
    """
    put(path, encode(table, rows))


def put(path: Path, data: bytes) -> None:
    """Write a file of a dataset and its line in ``MANIFEST``, if the dataset has one; whole whenever it is cut off."""
    folder, name, content = digests.home(path), digests.name_of(path), digests.content_of(data)
    manifest = digests.read(folder)
    if manifest is not None:
        _list(folder, manifest.expecting(name, content))
    replace_file(path, data)
    if manifest is not None:
        _list(folder, manifest.holding(name, content))


def remove(path: Path) -> None:
    """Remove a file of a dataset, its line first. Raises :class:`StoreError`."""
    forget(path)
    guarded(path, path.unlink)


def forget(path: Path) -> None:
    """Take a file's line out of ``MANIFEST``."""
    manifest = digests.read(digests.home(path))
    if manifest is not None and manifest.takes(digests.name_of(path)):
        _list(digests.home(path), manifest.holding(digests.name_of(path), None))


def list_files(folder: Path) -> list[str]:
    """Bring ``MANIFEST`` up to what is there: a line for each file that can be read, a sentence for each that cannot.

    A line that a file has already stays: what a file was to hold is not asked of the file.
    """
    from caniexport.store import files

    before = digests.read(folder)
    manifest, problems = digests.settled(folder), []
    for path in digests.without_line(folder, manifest):
        try:
            files.read(path, path.parent.name if path.parent != folder else path.stem)
            content = digests.content_of(path.read_bytes())
        except (StoreError, OSError) as error:
            problems.append(str(error))
        else:
            manifest = (manifest or digests.Manifest()).holding(digests.name_of(path), content)
    if manifest is not None and manifest != before:
        _list(folder, manifest)
    return problems


def _list(folder: Path, manifest: digests.Manifest) -> None:
    replace_file(folder / digests.NAME, manifest.text().encode())


def replace_file(path: Path, data: bytes) -> None:
    """Put ``data`` at ``path`` in one step, durably. Raises :class:`DiskFull` or :class:`StoreError`."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}{_TEMPORARY}")
    guarded(path, lambda: _replace(temporary, path, data), lambda: temporary.unlink(missing_ok=True))


def guarded(path: Path, act: Callable[[], None], tidy: Callable[[], None] = lambda: None) -> None:
    """Do ``act``; an error of the disk becomes one of ours, after ``tidy``."""
    try:
        act()
    except OSError as error:
        with contextlib.suppress(OSError):
            tidy()
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


def _replace(temporary: Path, path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)
