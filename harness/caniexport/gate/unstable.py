"""Files that one and the same runtime does not always answer alike: each of their rows is a repetition of the others.

A bundle's name is a hash over its file, inputs and expected outputs. Where rows of one variant have one bundle and one
runtime, and some work and some do not, neither is what the cell does: it does both.
"""

from __future__ import annotations

from caniexport.model.status import MEASURED, WORKS, Stage, Status
from caniexport.store import sql

#: what the worst row of a bundle gives to the others
_GIVEN = {name: name for name in ("stage", "status", "signature", "message_id")}
_GIVEN |= {name: f"CASE WHEN NOT isnan({name}) THEN {name} END" for name in ("max_abs_error", "max_rel_error")}
#: columns that :func:`query` changes
MARKED = (*_GIVEN, "unstable")
_KEY = ("bundle", "case", "variant", "runtime", "runtime_version", "provider", "device")
#: columns that :func:`query` looks at, as SQL
LISTED = ", ".join(sql.name(name) for name in (*_KEY, *MARKED))

_WORKS = ", ".join(sql.literal(status.value) for status in Status if status in WORKS)
_ORDER = ", ".join(sql.literal(status.value) for status in Status if status in MEASURED)
#: stages that a runtime has reached
_REACHED = ", ".join(
    sql.literal(stage.value)
    for stage in (Stage.LOAD, Stage.PARSE, Stage.BUILD, Stage.PLACE, Stage.RUN, Stage.COMPARE, Stage.DONE)
)


def query(rows: str, left_out: str) -> str:
    """The rows of a relation that differ: where they are, the values of the worst, the statuses seen.

    Rows that others have taken the place of count too: what was seen once is not unseen by measuring again.

    rows      has the columns :data:`LISTED`, and ``part``, ``file`` and ``line``, which order and name a row
    left_out  the variants (case, variant) whose session has options of its own: not one runtime, but two
    """
    key = ", ".join(sql.name(name) for name in _KEY)
    filled = ", ".join(f"coalesce({sql.name(name)}, '') AS {sql.name(name)}" for name in _KEY)
    given = ", ".join(f"first_value({value}) OVER worst AS {name}" for name, value in _GIVEN.items())
    return f"""
    WITH reached AS (
        SELECT * REPLACE ({filled}) FROM ({rows})
        WHERE bundle IS NOT NULL AND stage IN ({_REACHED}) AND status IN ({_ORDER})
        AND ("case", variant) NOT IN ({left_out})
    ), torn AS (
        SELECT {key} FROM reached GROUP BY ALL
        HAVING (bool_or(status IN ({_WORKS})) AND NOT bool_and(status IN ({_WORKS}))) OR bool_or(unstable IS NOT NULL)
    ), seen AS (
        SELECT {key}, list_sort(list_distinct(list_concat(list(status), flatten(list(coalesce(unstable, [])))))) AS seen
        FROM reached JOIN torn USING ({key}) GROUP BY ALL
    )
    SELECT part, file, line, {given}, seen AS unstable FROM reached JOIN seen USING ({key})
    WINDOW worst AS (
        PARTITION BY {key} ORDER BY list_position([{_ORDER}], status) DESC, part, file, line
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    )"""
