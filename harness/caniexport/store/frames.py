"""Rows as pandas frames: strings as objects with ``None``, whole numbers as nullable integers, lists as lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from caniexport.model.rows import TABLES
from caniexport.store.writer import ORDER

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@cache
def schema(table: str) -> pa.Schema:
    """The arrow schema of a table of the row contract."""
    import pyarrow as pa

    types: dict[str, pa.DataType] = {
        "string": pa.string(),
        "int32": pa.int32(),
        "int64": pa.int64(),
        "float32": pa.float32(),
        "float64": pa.float64(),
        "bool": pa.bool_(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "list<string>": pa.list_(pa.string()),
    }
    return pa.schema([pa.field(column.name, types[column.type]) for column in TABLES[table]])


def rows_frame(table: str, rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows of a table as a frame, in the order of its file."""
    import pyarrow as pa

    every = pa.Table.from_pylist(list(rows), schema=schema(table))
    return to_frame(every.sort_by([(name, "ascending") for name in ORDER[table]]))


def to_frame(rows: pa.Table) -> pd.DataFrame:
    """The rows with a fresh index. Equal strings of a column are one object, so that a million rows stay small."""
    import pandas as pd

    columns = {name: _column(rows.column(name)) for name in rows.column_names}
    return pd.DataFrame(columns, index=pd.RangeIndex(rows.num_rows), copy=False)


def _column(column: pa.ChunkedArray) -> Any:
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind) or pa.types.is_string(kind):
        return pd.Series(_strings(column), dtype=object)
    if pa.types.is_integer(kind):
        values = column.fill_null(0).to_numpy()
        mask = column.is_null().to_numpy()
        return pd.arrays.IntegerArray(values.astype(kind.to_pandas_dtype()), mask)
    if pa.types.is_list(kind):
        found = np.empty(len(column), dtype=object)
        found[:] = column.to_pylist()
        return pd.Series(found, dtype=object)
    if pa.types.is_boolean(kind):
        return pd.array(column.to_pylist(), dtype="boolean")
    return column.to_pandas()


def _strings(column: pa.ChunkedArray) -> Any:
    import numpy as np
    import pyarrow as pa

    whole = column.combine_chunks()
    coded = whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()
    words = np.array([*coded.dictionary.to_pylist(), None], dtype=object)
    return words[coded.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)]
