"""Plausibility: which cells fail in one release only, in a way that a fault of the measurement has too. Pure.

A cell is *isolated* where it does not work and works in the release before and in the release after, with the same
exporter and opset. Torch does break things and mend them at once; so does a broken measurement, and it does it to many
cells in the same words. Which of the two it was is known when the cells were measured apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from caniexport import versions
from caniexport.model.status import MEASURED, WORKS
from caniexport.store import sql
from caniexport.store.schema import schema

if TYPE_CHECKING:
    import pandas as pd

#: columns that :func:`implausible` looks at
COLUMNS = ("torch", "provider", "case", "variant", "exporter", "opset", "status", "signature")

#: isolated cells and cases that one signature must have with an exporter, where other releases know it too
MANY_CELLS = 20
MANY_CASES = 5

_WORKS = ", ".join(sql.literal(status.value) for status in sorted(WORKS))
_BROKEN = ", ".join(sql.literal(status.value) for status in sorted(MEASURED - WORKS))


def implausible(cells: pd.DataFrame) -> pd.Series[bool]:
    """Which rows of a frame with :data:`COLUMNS` are not to be believed before they were measured apart."""
    import pandas as pd
    import pyarrow as pa

    given = pa.schema([schema("cells").field(name) for name in COLUMNS])
    rows = pa.Table.from_pandas(cells[list(COLUMNS)], schema=given, preserve_index=False)
    lines = {line for (line,) in sql.fetch_of(rows, query("FROM incoming", "line", cells["torch"].dropna().unique()))}
    return pd.Series([line in lines for line in range(len(cells))], index=cells.index, dtype=bool)


def query(cells: str, wanted: str, torches: Iterable[str]) -> str:
    """The ``wanted`` columns of the rows of a relation that are not to be believed before they were measured apart.

    Where a signature is known from one release alone and any of its cells is isolated: all of its cells. Where other
    releases know it: its isolated cells, as far as they are many and of many cases with one exporter. ``torches`` are
    the releases of the relation, which has :data:`COLUMNS`.
    """
    order = enumerate(sorted(set(torches), key=versions.parse))
    steps = ", ".join(f"({sql.literal(torch)}, {step})" for step, torch in order) or "(NULL, NULL)"
    key = "concat_ws(chr(0), coalesce(provider, ''), \"case\", variant, coalesce(exporter, ''), coalesce(opset, -1))"
    return f"""
    WITH steps(torch, step) AS (VALUES {steps}),
    measured AS (
        SELECT {wanted}, torch, exporter, provider, "case", status, signature, step, {key} AS cell
        FROM ({cells}) JOIN steps USING (torch) WHERE "case" IS NOT NULL
    ), working AS (
        SELECT DISTINCT cell, step FROM measured WHERE status IN ({_WORKS})
    ), isolated AS (
        SELECT m.* FROM measured m
        SEMI JOIN working b ON b.cell = m.cell AND b.step = m.step - 1
        SEMI JOIN working a ON a.cell = m.cell AND a.step = m.step + 1
        WHERE m.status IN ({_BROKEN})
    ), of_one_release AS (
        SELECT signature FROM measured GROUP BY signature HAVING count(DISTINCT torch) = 1
        AND signature IN (SELECT signature FROM isolated)
    ), in_bulk AS (
        SELECT torch, provider, exporter, signature FROM isolated GROUP BY ALL
        HAVING count(*) >= {MANY_CELLS} AND count(DISTINCT "case") >= {MANY_CASES}
    )
    SELECT {wanted} FROM measured SEMI JOIN of_one_release USING (signature) WHERE status IN ({_BROKEN})
    UNION
    SELECT {wanted} FROM isolated SEMI JOIN in_bulk USING (torch, provider, exporter, signature)"""
