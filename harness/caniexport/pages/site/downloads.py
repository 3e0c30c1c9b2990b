"""The tables of the static copy as files for other tools: parquet, and the matrix and the fixes as CSV."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

from caniexport.answers.filters import Filters
from caniexport.answers.scope import Scope
from caniexport.answers.table import answer_table
from caniexport.answers.workaround import read_standings
from caniexport.pages.kept import Kept
from caniexport.render.plain import as_csv, rows_as_csv
from caniexport.store import sql, writer
from caniexport.store.dataset import list_columns
from caniexport.store.schema import columns

#: what the file of the table has: every case, every form, every exporter
_EVERYTHING = Filters(variants=("*",), exporters=("*",))


#: signs of the hash of a file in the table of cells
_BUNDLE = 10
#: files that a reader may take, with what each is
WHAT = {
    "cells.parquet": f"every measured cell; a file is {_BUNDLE} signs of its hash, a time whole hours",
    "table.csv.gz": "the table: a line for each case, form and call, a column for each release",
    "workarounds.csv.gz": "every workaround: needed, obsolete, broken or harmful at the newest release",
    "environments.parquet": "every environment with all of its versions",
    "messages.parquet": "the error texts",
    "cases.parquet": "the cases with their sources and code",
    "claims.parquet": "what sources say, and what was measured of it",
}


def write(kept: Kept, folder: Path) -> None:
    """Write every file of :data:`WHAT` into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    found = answer_table(kept, _EVERYTHING)
    _compressed(folder / "table.csv.gz", as_csv(replace(found, tables=found.tables[:1])))
    _compressed(folder / "workarounds.csv.gz", rows_as_csv(_fixes(kept)))
    options = "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 19"
    for name, query in _tables(kept):
        sql.fetch(f"COPY ({query}) TO {sql.literal(f'{folder / name}.parquet')} ({options})")


def _fixes(kept: Kept) -> list[dict[str, Any]]:
    found = read_standings(kept, kept.inventory.torch[-1], Scope())
    return [
        {name: value.value if isinstance(value, Enum) else value for name, value in vars(item).items()}
        for item in found
    ]


def _compressed(path: Path, text: str) -> None:
    """A text in gzip, which spreadsheets read as CSV; the same text gives the same bytes."""
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def _tables(kept: Kept) -> Iterable[tuple[str, str]]:
    """The tables as SQL; neighbours that are alike are packed best."""
    rounded = ", ".join(f"round({name}, 2) AS {name}" for name in ("seconds_export", "seconds_load", "seconds_run"))
    # whole hashes of files are a half of the table, and so are minutes, which a run's id has, and further digits
    shorter = f"left(bundle, {_BUNDLE}) AS bundle, date_trunc('hour', measured_at) AS measured_at, {rounded}"
    cells = f"SELECT * REPLACE ({shorter}) FROM ({kept.relation('cells', stored=True)})"
    environments = f"SELECT *, coalesce(gate <> 'good', false) AS quarantined FROM ({kept.relation('environments')})"
    for name, rows, more in (
        ("cells", cells, ("origin",)),
        ("messages", kept.relation("messages"), ()),
        ("environments", environments, ("origin", "quarantined")),
        ("cases", kept.relation("cases"), ()),
        ("claims", kept.relation("claims"), ()),
    ):
        order = "text" if name == "messages" else list_columns(writer.ORDER[name])
        yield name, f"SELECT {list_columns((*columns(name), *more))} FROM ({rows}) ORDER BY {order}"
