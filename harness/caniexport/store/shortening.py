"""What the published dataset keeps of times: two digits say what a time on one machine can say.

Every further digit is noise, and noise does not compress: three columns of seconds were a third of a release's file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_SECONDS = ("seconds_export", "seconds_load", "seconds_run")


def shortened(rows: pa.Table) -> pa.Table:
    """The rows with every column of seconds rounded to two significant digits."""
    import pyarrow as pa

    for name in _SECONDS:
        field = rows.schema.field(name)
        values = [None if value is None else float(f"{value:.2g}") for value in rows[name].to_pylist()]
        rows = rows.set_column(rows.schema.get_field_index(name), field, pa.array(values, field.type))
    return rows
