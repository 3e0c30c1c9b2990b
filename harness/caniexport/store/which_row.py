"""Which of several rows of the same thing is taken: the one statement of the rule, in SQL.

Of rows with the same :data:`KEYS` the first is taken of, in this order:

1. of cells and replays, a row that measured something before one that did not (``invalid``, ``skip``, ``not_run``); of
   an environment and run, one that the gate has judged before one that it has not;
2. a row whose time has come before one that is ahead of the clock: a clock that had jumped must not win for ever;
3. of cells and replays, a local row before a published one;
4. the newer one;
5. the later one.

And a row of a cell that measured nothing about it is left out where another one, on whatever runtime, did: what was
lost before a runtime was reached carries none. Rows of quarantined runs are left out before
(:mod:`caniexport.store.gates`).
"""

from __future__ import annotations

from collections.abc import Sequence

from caniexport.model.rows import TABLES
from caniexport.model.status import MEASURED
from caniexport.store import sql

#: a cell's identity (docs/architecture.md)
IDENTITY = ("torch", "case", "variant", "exporter", "opset", "runtime", "runtime_version", "provider")
#: what a cell is, on whatever version of a runtime
CELL = tuple(name for name in IDENTITY if not name.startswith("runtime"))

#: what makes rows the same, by table
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
    "operators": ("op", "dtype", "form", "exporter", "opset", "torch"),
}

#: what a replay of a file is, in whatever environment; with options of its session a runtime is another one
REPLAY = ("bundle", "asks", "runtime", "runtime_version", "provider")
#: the same where it is published: with all options, and a node test of ONNX however its values were rounded
PUBLISHED_REPLAY = ("file", "session", "runtime", "runtime_version", "provider", "device")
#: parts of a key that are no columns
_MADE = {
    "asks": "session IS NOT NULL",
    "file": "CASE WHEN corpus = 'onnx-node' THEN \"case\" || '/' || variant ELSE bundle END",
}

_MEASURED = ", ".join(sql.literal(status.value) for status in sorted(MEASURED, key=lambda status: status.value))
#: whether a row measured something
HAS_MEASURED = f"status IN ({_MEASURED})"
_BETTER = {"cells": HAS_MEASURED, "runs": HAS_MEASURED, "environments": "gate IS NOT NULL"}


def choose_rows(relation: str, table: str, key: Sequence[str] = (), first: str = "") -> str:
    """The rows of a relation that are taken, one for each ``key`` (that of the table, unless another one is given).

    ``first`` is an order (SQL) that goes before that of the rule. The relation has the columns that the rule names,
    ``line`` (of equal rows the highest is the later one), and ``origin`` if its rows are cells or replays.
    """
    ranks = ", ".join(filter(None, (first, _order(table))))
    chosen = f"row_number() OVER (PARTITION BY {_names(key or KEYS[table])} ORDER BY {ranks}) = 1"
    if table == "cells" and set(key or IDENTITY) > set(CELL):
        chosen += f" AND ({HAS_MEASURED} OR NOT bool_or({HAS_MEASURED}) OVER (PARTITION BY {_names(CELL)}))"
    return f"SELECT * FROM ({relation}) QUALIFY {chosen}"


def _order(table: str) -> str:
    """The order among rows of the same thing, the one that is taken first."""
    parts = [f"{_BETTER[table]} DESC"] if table in _BETTER else []
    if any(column.name == "measured_at" for column in TABLES[table]):
        parts.append("coalesce(measured_at <= now(), false) DESC")
        parts += ["origin = 'local' DESC"] if table in ("cells", "runs") else []
        parts.append("measured_at DESC NULLS LAST")
    return ", ".join([*parts, "line DESC"])


def _names(columns: Sequence[str]) -> str:
    return ", ".join(_MADE.get(name) or sql.name(name) for name in columns)
