"""Marks the rows whose file one runtime does not always answer alike: those of one file repeat each other."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from caniexport.gate.unstable import COLUMNS, GIVEN, unstable
from caniexport.store.frames import to_frame

if TYPE_CHECKING:
    import pyarrow as pa


def marked(
    rows: Mapping[str, pa.Table], replaced: Mapping[str, pa.Table], left_out: Collection[tuple[str, str]]
) -> tuple[dict[str, pa.Table], int]:
    """The rows by the name of their file, those marked that differ; how many these are.

    ``replaced`` are published rows of which some give way to them: what was seen once is not unseen. ``left_out`` are
    the variants (case, variant) whose session has options of its own.
    """
    import pandas as pd

    parts = [_compared(part) for part in (*rows.values(), *replaced.values())]
    if not parts:
        return {}, 0
    changes = unstable(pd.concat([to_frame(part) for part in parts], ignore_index=True), left_out)
    found, first, count = dict(rows), 0, 0
    for name, part in zip(rows, parts, strict=False):
        mine = {place - first: values for place, values in changes.items() if first <= place < first + part.num_rows}
        first, count = first + part.num_rows, count + len(mine)
        if mine:
            at = part["_at"].to_pylist()
            found[name] = _changed(found[name], {at[place]: values for place, values in mine.items()})
    return found, count


def _compared(rows: pa.Table) -> pa.Table:
    """What is looked at of rows, and their places. With options for its session a runtime is another one."""
    import numpy as np
    import pyarrow as pa

    rows = rows.append_column("_at", pa.array(np.arange(rows.num_rows)))
    if "session" in rows.column_names:
        rows = rows.filter(rows["session"].is_null())
    return rows.select([*COLUMNS, "_at"])


def _changed(rows: pa.Table, changes: Mapping[int, Mapping[str, Any]]) -> pa.Table:
    """The rows with other values at some places."""
    import pyarrow as pa

    for name in (*GIVEN, "unstable"):
        field, values = rows.schema.field(name), rows[name].to_pylist()
        for place, new in changes.items():
            values[place] = new[name]
        rows = rows.set_column(rows.schema.get_field_index(name), field, pa.array(values, field.type))
    return rows
