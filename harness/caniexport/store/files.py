"""Opening a dataset's parquet files: each is checked before it is used, and named when it cannot be."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from caniexport.model.errors import StoreError
from caniexport.model.rows import SCHEMA_VERSION
from caniexport.store import digests, sql
from caniexport.store.schema import VERSION_KEY, check_version

#: ending of a file that compaction found damaged and put aside
DAMAGED = ".damaged"
#: where a dataset has files of its own
_FOLDERS = ("", "cells", "runs", "journal")
_VERSION = str(SCHEMA_VERSION).encode()
#: key and value of the version of the row contract, as a footer has them: parquet writes a text behind its length
_WRITTEN = VERSION_KEY.encode() + bytes((0x18, len(_VERSION))) + _VERSION


class DamagedFileError(StoreError):
    """A parquet file that cannot be read: truncated, overwritten, or unreadable."""


def cells_files(dataset: Path) -> list[Path]:
    """The cells files of a dataset, by name."""
    return sorted((dataset / "cells").glob("*.parquet"))


def check_footer(path: Path) -> None:
    """Look at a file's footer; DuckDB is asked only where it does not name the version of this contract.

    Raises :class:`DamagedFileError` or :class:`SchemaMismatch`.
    """
    with contextlib.suppress(OSError), path.open("rb") as file:
        file.seek(-8, os.SEEK_END)
        size, magic = int.from_bytes(file.read(4), "little"), file.read(4)
        file.seek(-8 - size, os.SEEK_END)
        if magic == b"PAR1" and _WRITTEN in file.read(size):
            return
    try:
        text = "SELECT key::VARCHAR, decode(value) FROM parquet_kv_metadata(?)"
        versions = dict(sql.fetch(text, [str(path)]))
    except sql.error_class() as error:
        raise damaged_error(path, error) from error
    check_version(versions.get(VERSION_KEY), str(path))


def find_usable(paths: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """The files that can be read under this row contract; why the others cannot."""
    good, problems = [], []
    for path in paths:
        try:
            check_footer(path)
            good.append(path)
        except StoreError as error:
            problems.append(str(error))
    return good, problems


def read_to_end(path: Path) -> None:
    """Read a file to its end. Raises :class:`DamagedFileError` or :class:`SchemaMismatch`."""
    check_footer(path)
    try:
        sql.fetch(f"SELECT bit_xor(hash(COLUMNS(*))) FROM {sql.files([path])}")
    except sql.error_class() as error:
        raise damaged_error(path, error) from error


def damaged_error(path: Path, error: Exception) -> DamagedFileError:
    """The sentence for a file that cannot be read."""
    first = str(error).strip().split("\n")[0].rstrip(".")
    return DamagedFileError(f"{path}: damaged, its rows are left out ({first}); {digests.describe_restoring(path)}")


def find_put_aside(dataset: Path) -> list[str]:
    """A sentence for every file that compaction put aside as damaged.

    Only where a dataset has files: environments and downloads may lie below it as well, and change meanwhile.
    """
    found = sorted(path for folder in _FOLDERS for path in (dataset / folder).glob(f"*{DAMAGED}"))
    return [f"{path}: was damaged and has been put aside; delete it when it is no longer needed" for path in found]
