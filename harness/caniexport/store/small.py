"""The small tables of a dataset (catalogue, environments, texts, claims, ...) as plain dictionaries, through DuckDB."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from caniexport.store import files, sql, which_row
from caniexport.store.gates import Gates
from caniexport.store.schema import columns, to_arrow

Row = dict[str, Any]

_UNION = " UNION ALL BY NAME "


def records(
    table: str, paths: Sequence[Path], fresh: Iterable[Mapping[str, Any]], where: sql.Where, problems: list[str]
) -> list[Row]:
    """One row per identity out of ``paths`` and then ``fresh``, in the order in which they lie there.

    Which row is taken is said in :mod:`caniexport.store.which_row`. A file that turns out to be damaged is left out
    and told to ``problems``.
    """
    new = [dict(row) for row in fresh if all(row[name] in wanted for name, wanted in where.items())]
    paths = list(paths)
    while True:
        try:
            return _read(table, paths, new, where)
        except sql.error() as error:
            damaged = {path: problem for path in paths if (problem := files.fault(path, table))}
            if not damaged:
                raise sql.unanswered(error) from error
            problems += damaged.values()
            paths = [path for path in paths if path not in damaged]


def environments(rows: Iterable[Row], published: Sequence[Path], problems: list[str]) -> list[Row]:
    """Rows of ``environments`` with their origin, whether they are quarantined, and times as text."""
    rows = list(rows)
    known = {(row["env_id"], row["run_id"]) for row in records("environments", published, (), {}, problems)}
    gates = Gates(rows)
    return [
        {
            **row,
            "measured_at": row["measured_at"].isoformat() if row["measured_at"] else None,
            "origin": "published" if (row["env_id"], row["run_id"]) in known else "local",
            "quarantined": gates.quarantined(row["env_id"], row["run_id"]),
        }
        for row in rows
    ]


def _read(table: str, paths: Sequence[Path], fresh: list[Row], where: sql.Where) -> list[Row]:
    names = columns(table)
    condition, values = sql.condition(where)
    lines = "{} AS part, file_row_number + 1 AS line"
    found = [f"SELECT *, 0 AS part, 0 AS line FROM ({sql.empty(table)})"]
    found += [
        f"SELECT *, {lines.format(part)} FROM {sql.files([path], numbered=True)} WHERE {condition}"
        for part, path in enumerate(paths)
    ]
    found += [f"SELECT *, {len(paths)} AS part FROM incoming"] if fresh else []
    rows = f"SELECT * REPLACE (part * 4294967296 + line AS line), 'local' AS origin FROM ({_UNION.join(found)})"
    taken = which_row.taken(rows, table) if fresh or len(paths) > 1 else rows
    text = f"SELECT {', '.join(map(sql.shown, names))} FROM ({taken}) ORDER BY line"
    every = values * len(paths)
    answer = sql.fetch_of(to_arrow(table, fresh), text, every) if fresh else sql.fetch(text, every)
    return [_row(names, row) for row in answer]


def _row(names: Sequence[str], values: Sequence[Any]) -> Row:
    row = dict(zip(names, values, strict=True))
    if row.get("measured_at") is not None:
        row["measured_at"] = sql.moment(row["measured_at"])
    return row
