"""DuckDB over the parquet files: what every query is made of. Loads neither pandas nor arrow.

Answers look at few columns of few rows out of a million; here filters are pushed into the files, and what comes back
are plain Python values.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from caniexport.model.errors import StoreError
from caniexport.model.rows import TABLES

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

#: a filter's values by column; ``None`` among them takes null
Where = Mapping[str, Collection[Any]]

#: above the numbers of the lines of a file: rows of journals are later ones
AFTER_FILES = 1 << 41

#: memory of a database that is bounded
_BOUND = "600MB"

#: what a row says happened: repetitions that differ are a word of their own, for whoever asks
STATUS = "CASE WHEN len(unstable) > 0 THEN 'unstable' ELSE status END"

_TYPES = {
    "string": "VARCHAR",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "bool": "BOOLEAN",
    "timestamp": "TIMESTAMPTZ",
    "list<string>": "VARCHAR[]",
}


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """One database in memory for the process; a query takes a cursor of its own, so that threads may ask at once."""
    made: duckdb.DuckDBPyConnection = _engine().connect()
    # nothing is ever fetched, and a file that has changed is read anew: only footers are kept
    made.execute("SET autoinstall_known_extensions = false; SET parquet_metadata_cache = true")
    return made


def open_bounded(folder: Path | None = None) -> duckdb.DuckDBPyConnection:
    """A database of its own that takes little memory: what does not fit goes to files in ``folder``, if given."""
    spilled = str(folder / "spilled") if folder else ""
    settings = {"memory_limit": _BOUND, "temp_directory": spilled, "threads": 2, "preserve_insertion_order": False}
    made: duckdb.DuckDBPyConnection = _engine().connect(config=settings)
    made.execute("SET enable_progress_bar = false; SET autoinstall_known_extensions = false")
    return made


def fetch(query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """The rows of a query. Raises ``duckdb.Error`` where a file cannot be read."""
    cursor = connection().cursor()
    try:
        return cursor.execute(query, list(values)).fetchall()
    finally:
        cursor.close()


def fetch_frame(query: str) -> pd.DataFrame:
    """The rows of a query as a pandas frame. Raises ``duckdb.Error`` where a file cannot be read."""
    importlib.import_module("duckdb")  # frames are made by its Python layer
    cursor = connection().cursor()
    try:
        return cursor.execute(query).df()
    finally:
        cursor.close()


def error_class() -> type[Exception]:
    """What DuckDB raises."""
    kind: type[Exception] = _engine().Error
    return kind


def explain_failure(error: Exception) -> StoreError:
    """What to raise where a question fails and no file of the dataset is found damaged."""
    first = str(error).strip().split("\n")[0]
    return StoreError(f"the dataset cannot be asked, though each of its files can be read ({first})")


def _engine() -> ModuleType:
    """DuckDB itself. Its Python layer (relations, expressions) is not used and is slower to import than an answer."""
    try:
        return importlib.import_module("_duckdb")
    except ImportError:
        return importlib.import_module("duckdb")


def empty(table: str) -> str:
    """A relation with the contract's columns and no row: it gives its types to what is put under it by name."""
    columns = ", ".join(f"NULL::{_TYPES[column.type]} AS {name(column.name)}" for column in TABLES[table])
    return f"SELECT {columns} WHERE false"


def files(paths: Iterable[Path]) -> str:
    """A relation of these parquet files, with ``filename`` and ``file_row_number``.

    A column that one of them does not have is null there.
    """
    listed = ", ".join(literal(str(path)) for path in paths)
    return f"read_parquet([{listed}], union_by_name = true, filename = true, file_row_number = true)"


def insert(cursor: duckdb.DuckDBPyConnection, into: str, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Make a table with these rows of a table of the row contract, and the column ``line``, which numbers them."""
    listed = ", ".join(
        f"unnest(${number}::{_TYPES[column.type]}[]) AS {name(column.name)}"
        for number, column in enumerate(TABLES[table], start=1)
    )
    values = [[row.get(column.name) for row in rows] for column in TABLES[table]]
    lines = f"unnest(range({len(rows)})) AS line"
    cursor.execute(f"CREATE OR REPLACE TABLE {into} AS SELECT {listed}, {lines}", values)


def select_column(column: str) -> str:
    """A column as a query gives it: times in microseconds, for a time as DuckDB gives it needs another package."""
    return "epoch_us(measured_at) AS measured_at" if column == "measured_at" else name(column)


def literal(text: str) -> str:
    """``text`` as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def listed(values: Iterable[Any]) -> str:
    """Values as SQL lists them behind ``IN``: ``('a', 14)``; none of them is null."""
    return f"({', '.join(str(item) if isinstance(item, int) else literal(item) for item in values) or 'NULL'})"


def name(column: str) -> str:
    """A column as SQL writes it: ``case`` is also a word of the language."""
    return f'"{column}"'


def condition(where: Where) -> str:
    """The filters as a condition."""
    parts = ["true"]
    for column, wanted in where.items():
        given = listed(sorted(value for value in wanted if value is not None))
        null = f" OR {name(column)} IS NULL" if None in wanted else ""
        parts.append(f"({name(column)} IN {given}{null})")
    return " AND ".join(parts)


def moment(microseconds: int) -> datetime:
    """A time as the queries give it, in UTC."""
    return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=microseconds)
