"""Reading runs: bundles by further runtimes, of the published and the local dataset, one row per identity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.model.errors import StoreError
from caniexport.store import files
from caniexport.store.gates import Gates, mask
from caniexport.store.merge import identity_frame, winners
from caniexport.store.schema import columns, from_normalised, schema

if TYPE_CHECKING:
    import pyarrow as pa

_NEEDED = frozenset({"bundle", "session", "runtime", "runtime_version", "provider", "device", "env_id"})


def read_runs(
    folders: Mapping[str, Path],
    fresh: list[dict[str, Any]],
    gates: Gates,
    bundles: frozenset[str] | None,
    wanted: Sequence[str],
    problems: list[str],
) -> list[tuple[str, pa.Table]]:
    """(origin, rows) of runs that the gate has not held back: the ``wanted`` columns and those of the identity.

    folders  dataset folders by origin; ``fresh`` are rows still in journals, which are local
    bundles  only these; ``None`` for all

    A local row speaks before a published one, a newer before an older. A file that cannot be read is told to
    ``problems``.
    """
    names = [name for name in columns("runs") if name in _NEEDED | {*wanted, "run_id", "measured_at"}]
    tables = [
        (origin, table)
        for origin, folder in folders.items()
        for path in sorted((folder / "runs").glob("*.parquet"))
        if (table := _read(path, bundles, names, problems)) is not None
    ]
    if fresh:
        taken = [row for row in fresh if bundles is None or row["bundle"] in bundles]
        tables.append(("local", from_normalised("runs", taken).select(names)))
    tables = [(origin, _good(table, gates)) for origin, table in tables]
    return _speaking(tables) if len({origin for origin, _ in tables}) > 1 or fresh else tables


def _read(path: Path, bundles: frozenset[str] | None, names: Sequence[str], problems: list[str]) -> pa.Table | None:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    try:
        files.check(path)
        expression = None if bundles is None else pc.field("bundle").isin(pa.array(sorted(bundles), pa.string()))
        return files.conform("runs", pq.read_table(path, filters=expression, page_checksum_verification=True)).select(
            names
        )
    except StoreError as error:
        problems.append(str(error))
    except (pa.ArrowException, OSError) as error:
        problems.append(str(files.damaged(path, error)))
    return None


def _good(table: pa.Table, gates: Gates) -> pa.Table:
    import pyarrow.compute as pc

    bad = mask(table, gates.quarantined)
    return table if bad is None else table.filter(pc.invert(bad))


def _speaking(tables: list[tuple[str, pa.Table]]) -> list[tuple[str, pa.Table]]:
    import pyarrow as pa

    if not tables:
        return []
    whole = pa.concat_tables([table for _, table in tables])
    frame = identity_frame("runs", whole)
    frame["_rank"] += [int(origin == "local") for origin, table in tables for _ in range(table.num_rows)]
    keep = winners(frame)
    found, start = [], 0
    for origin, table in tables:
        mine = [place - start for place in keep if start <= place < start + table.num_rows]
        found.append((origin, table.take(pa.array(mine, pa.int64()))))
        start += table.num_rows
    return found


def empty(wanted: Sequence[str]) -> pa.Table:
    """No rows, with these columns."""
    return schema("runs").empty_table().select(list(wanted))
