"""Which of several rows of the same thing speaks: pure functions of arrow tables."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from caniexport.model.status import MEASURED
from caniexport.store.schema import schema

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

#: a cell's identity (docs/architecture.md)
IDENTITY = ("torch", "case", "variant", "exporter", "opset", "runtime", "runtime_version", "provider")

_MEASURED = frozenset(status.value for status in MEASURED)

#: what makes rows of the other tables the same
KEYS: dict[str, tuple[str, ...]] = {
    "cells": IDENTITY,
    "runs": ("bundle", "session", "runtime", "runtime_version", "provider", "device", "env_id"),
    "environments": ("env_id", "run_id"),
    "messages": ("message_id",),
    "cases": ("case", "variant"),
    "claims": ("claim",),
    "sources": ("source",),
    "declared": ("release", "by", "op"),
    "graphs": ("bundle",),
    "audit": ("torch",),
}

#: the order of rows in a file: what is asked for together lies together
ORDER: dict[str, tuple[str, ...]] = {
    **KEYS,
    "cells": ("case", "variant", "exporter", "opset", "torch", "runtime", "runtime_version", "provider"),
    "runs": ("case", "variant", "bundle", "session", "runtime", "runtime_version", "provider", "device", "env_id"),
}


def newest(table: str, parts: Sequence[pa.Table]) -> pa.Table:
    """One row per identity, sorted: the newest by ``measured_at``; among equals a later part, then a later row.

    Of an environment and run, a row that has been judged by the gate goes before one that has not; of a cell, a row
    that says something goes before one that does not (``invalid``, ``skip``, ``not_run``). After that, a row of the
    future (the clock had jumped when it was measured) goes behind every other: it must not win for ever.
    """
    import pyarrow as pa

    whole = pa.concat_tables([part.select(schema(table).names) for part in parts]).combine_chunks()
    keep = winners(identity_frame(table, whole))
    return in_order(table, whole.take(pa.array(keep, pa.int64())))


def winners(frame: pd.DataFrame) -> list[int]:
    """Positions of the rows that speak, for a frame of :func:`identity_frame` (perhaps with ``_rank`` raised).

    A row that says nothing about its cell is left out where another one, on whatever runtime, does: what was lost
    before a runtime was reached carries none.
    """
    keys = [name for name in frame.columns if not name.startswith("_")]
    ranked = frame.sort_values(["_rank", "_time"], kind="stable", na_position="first")
    best = ranked.drop_duplicates(keys, keep="last")
    if "_says" in frame:
        cell = [name for name in keys if not name.startswith("runtime")]
        best = best[best["_says"] | ~best.groupby(cell)["_says"].transform("any")]
    return sorted(int(index) for index in best.index)


def identity_frame(table: str, rows: pa.Table) -> pd.DataFrame:
    """The key columns of arrow rows with ``_time`` and ``_rank`` (higher speaks), indexed by position.

    For cells also ``_says``: whether the row is a measurement at all.
    """
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    frame = pd.DataFrame({name: _codes(rows.column(name)) for name in KEYS[table]})
    timed = "measured_at" in rows.column_names
    frame["_time"] = rows.column("measured_at").cast("int64").to_numpy() if timed else 0
    # two below what says something or was judged, one above what is local (store.scan)
    frame["_rank"] = (frame["_time"] <= time.time() * 1e6).astype("int8") * 2
    if table == "environments":
        frame["_rank"] += rows.column("gate").is_valid().to_numpy().astype("int8") * 4
    if table == "cells":
        says = pc.is_in(rows.column("status").cast(pa.string()), value_set=pa.array(sorted(_MEASURED)))
        frame["_says"] = says.to_numpy()
        frame["_rank"] += frame["_says"].astype("int8") * 4
    return frame


def in_order(table: str, rows: pa.Table) -> pa.Table:
    """The rows in the order of their file; text by its bytes, nulls last."""
    return rows.sort_by([(name, "ascending") for name in ORDER[table]])


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
