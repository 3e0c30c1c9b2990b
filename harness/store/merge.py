"""Which of several rows of the same thing speaks: pure functions of arrow tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.store.schema import schema

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

#: a cell's identity (docs/architecture.md)
IDENTITY = ("torch", "case", "variant", "exporter", "opset", "runtime", "runtime_version", "provider")

#: what makes rows of the other tables the same
KEYS: dict[str, tuple[str, ...]] = {
    "cells": IDENTITY,
    "environments": ("env_id", "run_id"),
    "messages": ("message_id",),
    "cases": ("case", "variant"),
    "claims": ("claim",),
}

#: the order of rows in a file: what is asked for together lies together
ORDER: dict[str, tuple[str, ...]] = {
    **KEYS,
    "cells": ("case", "variant", "exporter", "opset", "torch", "runtime", "runtime_version", "provider"),
}


def newest(table: str, parts: Sequence[pa.Table]) -> pa.Table:
    """One row per identity, sorted: the newest by ``measured_at``; among equals a later part, then a later row.

    Of an environment and run, a row that has been judged by the gate goes before one that has not.
    """
    import pyarrow as pa

    whole = pa.concat_tables([part.select(schema(table).names) for part in parts]).combine_chunks()
    keep = winners(identity_frame(table, whole))
    return in_order(table, whole.take(pa.array(keep)))


def winners(frame: pd.DataFrame) -> list[int]:
    """Positions of the rows that speak, for a frame of :func:`identity_frame` (perhaps with ``_rank`` set)."""
    keys = [name for name in frame.columns if not name.startswith("_")]
    ranked = frame.sort_values(["_rank", "_time"], kind="stable", na_position="first")
    position = ranked.drop_duplicates(keys, keep="last").index
    return sorted(int(index) for index in position)


def identity_frame(table: str, rows: pa.Table) -> pd.DataFrame:
    """The key columns of arrow rows with ``_time`` and ``_rank`` (higher speaks), indexed by position."""
    import pandas as pd

    frame = pd.DataFrame({name: _codes(rows.column(name)) for name in KEYS[table]})
    timed = "measured_at" in rows.column_names
    frame["_time"] = rows.column("measured_at").cast("int64").to_numpy() if timed else 0
    frame["_rank"] = rows.column("gate").is_valid().to_numpy().astype("int8") if table == "environments" else 0
    return frame


def in_order(table: str, rows: pa.Table) -> pa.Table:
    """The rows in the order of their file; nulls first, text by its bytes."""
    keys = [(name, "ascending") for name in ORDER[table]]
    return rows.sort_by(keys) if rows.num_rows < 2 else rows.take(_sorted(rows, keys))


def _sorted(rows: pa.Table, keys: list[tuple[str, str]]) -> pa.Array:
    import pyarrow.compute as pc

    return pc.sort_indices(rows, sort_keys=keys, null_placement="at_start")


def _codes(column: pa.ChunkedArray) -> pd.Series:
    """A column as small integers (equal values, equal integers; null is one of them), cheap to compare."""
    import pandas as pd
    import pyarrow as pa

    encoded = column.combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks() if encoded.num_chunks else pa.array([], column.type)
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode(null_encoding="mask")
    return pd.Series(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False))
