"""One row per identity out of several arrow tables, by the rule of :mod:`caniexport.store.which_row`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from caniexport.store import sql, which_row
from caniexport.store.schema import schema
from caniexport.store.which_row import KEYS

if TYPE_CHECKING:
    import pyarrow as pa

#: the order of rows in a file: what is asked for together lies together
ORDER: dict[str, tuple[str, ...]] = {
    **KEYS,
    "cells": ("case", "variant", "exporter", "opset", "torch", "runtime", "runtime_version", "provider"),
    "runs": ("case", "variant", "bundle", "session", "runtime", "runtime_version", "provider", "device", "env_id"),
}

#: columns that the rule looks at, beside those of the identity
_LOOKED_AT = frozenset({"measured_at", "status", "gate", "corpus", "case", "variant"})


def newest(table: str, parts: Sequence[pa.Table]) -> pa.Table:
    """One row per identity, in the order of its file; a later part is the later one."""
    names = schema(table).names
    return in_order(table, taken(table, [("", part.select(names)) for part in parts]))


def taken(table: str, parts: Sequence[tuple[str, pa.Table]], key: Sequence[str] = ()) -> pa.Table:
    """One row for each ``key`` (the identity, unless another one is given) out of (origin, rows), in their order."""
    import numpy as np
    import pyarrow as pa

    whole = pa.concat_tables([rows for _, rows in parts]).combine_chunks()
    looked_at = whole.select([name for name in whole.column_names if name in {*KEYS[table], *_LOOKED_AT}])
    origins = np.repeat([origin for origin, _ in parts], [rows.num_rows for _, rows in parts])
    looked_at = looked_at.append_column("origin", pa.array(origins, pa.string()))
    relation = which_row.taken("SELECT * FROM incoming", table, key)
    lines = sql.fetch_of(looked_at, f"SELECT line FROM ({relation}) ORDER BY line")
    return whole.take(pa.array([line for (line,) in lines], pa.int64()))


def in_order(table: str, rows: pa.Table) -> pa.Table:
    """The rows in the order of their file; text by its bytes, nulls last."""
    return rows.sort_by([(name, "ascending") for name in ORDER[table]])
