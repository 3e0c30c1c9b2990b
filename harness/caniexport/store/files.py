"""Opening a dataset's parquet files: each is checked before it is used, and named when it cannot be."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from caniexport.model.errors import StoreError
from caniexport.model.rows import BUNDLE_DIGITS, SCHEMA_VERSION
from caniexport.store import digests, sql
from caniexport.store.schema import VERSION_KEY, check_version, schema

if TYPE_CHECKING:
    import pyarrow as pa

#: ending of a file that compaction found damaged and put aside
DAMAGED = ".damaged"
#: where a dataset has files of its own
_FOLDERS = ("", "cells", "runs", "journal")
_VERSION = str(SCHEMA_VERSION).encode()
#: key and value of the version of the row contract, as a footer has them: parquet writes a text behind its length
_WRITTEN = VERSION_KEY + bytes((0x18, len(_VERSION))) + _VERSION


class DamagedFileError(StoreError):
    """A parquet file that cannot be read: truncated, overwritten, or unreadable."""


def cells_files(dataset: Path) -> list[Path]:
    """The cells files of a dataset, by name."""
    return sorted((dataset / "cells").glob("*.parquet"))


def check(path: Path) -> None:
    """Hold a file against ``MANIFEST`` and look at its footer.

    Raises :class:`DamagedFileError` or :class:`SchemaMismatch`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    for sentence in digests.changed([path]).values():
        raise DamagedFileError(sentence)
    try:
        metadata = pq.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        raise damaged(path, error) from error
    check_version(metadata.metadata, str(path))


def usable(paths: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """The files that hold what ``MANIFEST`` says and can be read under this row contract; why the others do not."""
    changed = digests.changed(paths)
    good, problems = [], list(changed.values())
    for path in paths:
        try:
            if path not in changed:
                _check_footer(path)
                good.append(path)
        except StoreError as error:
            problems.append(str(error))
    return good, problems


def _check_footer(path: Path) -> None:
    """Raise as :func:`check` does; arrow is asked only where a footer does not name the version of this contract."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        file.seek(-8, os.SEEK_END)
        size, magic = int.from_bytes(file.read(4), "little"), file.read(4)
        file.seek(-8 - size, os.SEEK_END)
        if magic == b"PAR1" and _WRITTEN in file.read(size):
            return
    check(path)


def read(path: Path, table: str) -> pa.Table:
    """A whole file with exactly the contract's columns (missing ones null), every page checked.

    Raises :class:`DamagedFileError` or :class:`SchemaMismatch`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    check(path)
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            return conform(table, file.read(columns=[n for n in schema(table).names if n in file.schema_arrow.names]))
    except (pa.ArrowException, OSError) as error:
        raise damaged(path, error) from error


def conform(table: str, rows: pa.Table) -> pa.Table:
    """The contract's columns in its order; one that is not there is null, a longer name of a bundle is cut."""
    import pyarrow as pa
    import pyarrow.compute as pc

    want = schema(table)
    if "bundle" in rows.column_names:
        names = pc.utf8_slice_codeunits(rows["bundle"].cast(pa.string()), 0, BUNDLE_DIGITS)
        rows = rows.set_column(rows.column_names.index("bundle"), "bundle", names)
    arrays = [
        rows.column(field.name).cast(field.type)
        if field.name in rows.column_names
        else pa.nulls(rows.num_rows, field.type)
        for field in want
    ]
    return pa.Table.from_arrays(arrays, schema=want)


def damaged(path: Path, error: Exception) -> DamagedFileError:
    """The sentence for a file that cannot be read."""
    first = str(error).strip().split("\n")[0].rstrip(".")
    return DamagedFileError(f"{path}: damaged, its rows are left out ({first}); {digests.restore(path)}")


def fault(path: Path, table: str) -> str:
    """Why a file cannot be read to its end, by arrow and by DuckDB; empty where it can."""
    try:
        read(path, table)
        sql.fetch(f"SELECT bit_xor(hash(COLUMNS(*))) FROM {sql.files([path])}")
    except StoreError as error:
        return str(error)
    except sql.error() as error:
        return str(damaged(path, error))
    return ""


def put_aside(dataset: Path) -> list[str]:
    """A sentence for every file that compaction put aside as damaged.

    Only where a dataset has files: environments and downloads may lie below it as well, and change meanwhile.
    """
    found = sorted(path for folder in _FOLDERS for path in (dataset / folder).glob(f"*{DAMAGED}"))
    return [f"{path}: was damaged and has been put aside; delete it when it is no longer needed" for path in found]
