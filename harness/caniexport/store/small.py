"""The small tables of a dataset (catalogue, environments, texts, claims, ...) as plain dictionaries, through DuckDB."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from caniexport.store import files, sql
from caniexport.store.gates import Gates
from caniexport.store.merge import KEYS
from caniexport.store.schema import columns

Row = dict[str, Any]


def records(
    table: str, paths: Sequence[Path], fresh: Iterable[Mapping[str, Any]], where: sql.Where, problems: list[str]
) -> list[Row]:
    """One row per identity out of ``paths`` and then ``fresh``, by the rules of :func:`caniexport.store.merge.newest`.

    In the order in which they lie in the files, those of a later file behind. A file that turns out to be damaged is
    left out and told to ``problems``.
    """
    rows: list[Row] = []
    for path in paths:
        rows += _read(path, table, where, problems)
    rows += [dict(row) for row in fresh if all(row[name] in wanted for name, wanted in where.items())]
    found: dict[tuple[Any, ...], Row] = {}
    now = time.time()
    for row in rows:
        key = tuple(row[name] for name in KEYS[table])
        if key not in found or _rank(row, now) >= _rank(found[key], now):
            found[key] = row
    return list(found.values())


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


def _rank(row: Mapping[str, Any], now: float) -> tuple[bool, bool, float]:
    """Judged by the gate, not of the future, newest."""
    seconds = row["measured_at"].timestamp() if row.get("measured_at") else 0.0
    return row.get("gate") is not None, seconds <= now, seconds


def _read(path: Path, table: str, where: sql.Where, problems: list[str]) -> list[Row]:
    names = columns(table)
    condition, values = sql.condition(where)
    shown = ", ".join(sql.shown(name) for name in names)
    text = f"SELECT {shown} FROM (({sql.empty(table)}) UNION ALL BY NAME SELECT * FROM {sql.files([path])})"
    try:
        rows = sql.fetch(f"{text} WHERE {condition}", values)
    except sql.error() as error:
        problem = files.fault(path, table)
        if not problem:
            raise sql.unanswered(error) from error
        problems.append(problem)
        return []
    return [_row(names, row) for row in rows]


def _row(names: Sequence[str], values: Sequence[Any]) -> Row:
    row = dict(zip(names, values, strict=True))
    if row.get("measured_at") is not None:
        row["measured_at"] = sql.moment(row["measured_at"])
    return row
