"""The dataset as its readers see it: the published one and the local one beside it, one row per identity.

Opening reads the journals and the footers of the parquet files; each question then reads the files and columns that
it needs. :meth:`Dataset.select`, :meth:`Dataset.grouped` and :meth:`Dataset.records` answer with plain values through
DuckDB, in milliseconds; the others give pandas frames. Nothing that cannot be read is dropped silently: it is named in
:attr:`Dataset.problems`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.model.errors import StoreError
from caniexport.store import digests, files, memo, small, sql
from caniexport.store.declared import gather
from caniexport.store.elsewhere import On, Runtime
from caniexport.store.frames import to_frame
from caniexport.store.gates import Gates, mask
from caniexport.store.journal_reader import Entries, read_journals
from caniexport.store.memo import Memo
from caniexport.store.merge import newest
from caniexport.store.query import Query
from caniexport.store.run_query import RunQuery
from caniexport.store.runs import empty, read_runs
from caniexport.store.scan import Part, PartReader, needed, select, speaking
from caniexport.store.schema import columns as columns_of
from caniexport.store.schema import from_normalised, schema, to_arrow
from caniexport.store.writer import cells_file

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

#: a filter's value: one, several of which any will do, or ``None`` for all
Asked = str | int | Iterable[Any] | None

_ORIGINS = ("published", "local")


class Dataset:
    """Frames of a published and a local dataset. Make it with :meth:`open`."""

    def __init__(self, folders: dict[str, Path], journals: Entries) -> None:
        self._folders = folders
        self._problems = list(journals.problems)
        self._texts = journals.messages
        self._journalled = {"cells": journals.cells, "runs": journals.runs, "environments": journals.environments}
        self._parts = self._find_parts(journals)
        self._scan = PartReader(self._problems)
        self._environments: pa.Table | None = None
        #: what readers of this dataset keep beside it, by their own names
        self.beside: dict[str, Any] = {}

    @classmethod
    def open(cls, published: Path | None, local: Path | None) -> Dataset:
        """Open a published and a local dataset; a folder that is ``None`` or not there is an empty one.

        Journals are read before the parquet files are listed: what is compacted in between is seen twice, not lost.
        """
        folders = {
            origin: folder for origin, folder in zip(_ORIGINS, (published, local), strict=True) if folder is not None
        }
        return cls(folders, read_journals(local) if local is not None else Entries())

    @property
    def problems(self) -> tuple[str, ...]:
        """One sentence for every file or line that cannot be used, as far as the questions so far have read."""
        return tuple(dict.fromkeys(self._problems))

    def fingerprint(self) -> str:
        """Changes when the files of the dataset do; looks at their names, sizes and times only."""
        return fingerprint(self._folders.get("published"), self._folders.get("local"))

    def cells(
        self,
        case: Asked = None,
        variant: Asked = None,
        torch: Asked = None,
        exporter: Asked = None,
        opset: Asked = None,
        provider: Asked = None,
        status: Asked = None,
        corpus: Asked = None,
        *,
        columns: Sequence[str] | None = None,
        quarantined: bool = False,
    ) -> pd.DataFrame:
        """One row per identity that passes the filters: the columns of ``CELLS`` (or those asked for) and ``origin``.

        A filter takes one value or several; ``None`` among several opsets is the release's default. A local row
        speaks before a published one, a newer before an older. Rows of runs that the gate has not passed are left
        out, or with ``quarantined`` given too, marked in a column of that name; they then never take the place of a
        good row.
        """
        asked = (case, variant, torch, exporter, opset, provider, status, corpus)
        filters = {name: _values(value) for name, value in zip(_FILTERS, asked, strict=True) if value is not None}
        wanted = _known(columns)
        tables = self._cells(filters, wanted, quarantined)
        return _cells_frame(tables, [*wanted, "origin", *(["quarantined"] if quarantined else [])])

    def runs(self, bundles: Iterable[str] | None = None, *, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Bundles run by further runtimes: the columns of ``RUNS`` (or those asked for) and ``origin``.

        One row per bundle, session options, runtime, version, provider, device and environment; ``bundles`` takes
        only these. Rows of runs that the gate has not passed are left out.
        """
        import pyarrow as pa

        wanted = list(columns_of("runs") if columns is None else columns)
        taken = None if bundles is None else frozenset(bundles)
        parts = read_runs(self._folders, self._journalled["runs"], self._gates(), taken, wanted, self._problems)
        frame = to_frame(pa.concat_tables([empty(wanted), *(table.select(wanted) for _, table in parts)]))
        frame["origin"] = [origin for origin, table in parts for _ in range(table.num_rows)]
        return frame

    def run_rows(self, bundles: Iterable[str], columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """The rows of :meth:`runs` as plain values: these columns of ``RUNS``, then the origin.

        ``measured_at`` is in microseconds UTC.
        """
        return self._run_query.rows((*columns, "origin"), {"bundle": tuple(bundles)})

    def run_groups(
        self, by: Sequence[str], measures: Mapping[str, str], where: sql.Where | None = None
    ) -> list[tuple[Any, ...]]:
        """For each group of the rows of :meth:`runs`: its columns ``by``, then the measures (SQL over ``RUNS``)."""
        return self._run_query.grouped(by, measures, where or {})

    def select(
        self,
        wanted: Sequence[str],
        where: sql.Where | None = None,
        *,
        runtimes: bool = False,
        on: On | None = None,
    ) -> list[tuple[Any, ...]]:
        """One row per cell as plain values: the ``wanted`` columns of ``CELLS``, ``origin`` too if asked for.

        ``where`` names the values taken of some columns (``None`` among them takes null). Where a cell was measured
        on several versions of a runtime the local, then the newest row speaks, unless ``runtimes`` asks for all;
        ``on`` asks how each ends on one runtime (:mod:`caniexport.store.elsewhere`). ``measured_at`` is in microseconds
        UTC. Rows of quarantined runs are left out.
        """
        return self._query.rows(wanted, where, runtimes=runtimes, on=on)

    def runtimes(self) -> list[Runtime]:
        """The releases of runtimes that ran files of the corpus."""
        columns = ("runtime", "runtime_version", "provider")
        cells = self.grouped(columns, {}, None)
        runs = self.run_groups((*columns, "corpus"), {"files": 'count("case")'})
        files_of_cells = [row[:3] for row in runs if row[3] not in ("onnx-node", "probe") and row[4]]
        return [Runtime(*row) for row in dict.fromkeys([*cells, *files_of_cells]) if None not in row]

    def grouped(
        self,
        by: Sequence[str],
        measures: Mapping[str, str],
        where: sql.Where | None = None,
        *,
        exactly: bool = False,
        on: On | None = None,
    ) -> list[tuple[Any, ...]]:
        """For each group of cells: its columns ``by``, then the measures (SQL over columns of ``CELLS``).

        Rows whose place a newer row has taken may count too, unless it has to be ``exactly`` one row per cell: which
        releases, opsets and words occur does not depend on them.
        """
        return self._query.grouped(by, measures, where or {}, exactly=exactly, on=on)

    def folded(
        self, by: Sequence[str], along: str, measure: str, where: sql.Where, *, exactly: bool, on: On | None = None
    ) -> list[tuple[Any, ...]]:
        """For each group of cells: its columns ``by``, its values of the column ``along``, the measure at each of them.

        Both as lists of one length, in no order. ``exactly`` as for :meth:`grouped`.
        """
        return self._query.folded(by, along, measure, where, exactly=exactly, on=on)

    def records(self, table: str, where: sql.Where | None = None) -> list[dict[str, Any]]:
        """Rows of any table as dictionaries, a local one before a published one, those of quarantined runs too."""
        return small.records(table, self._small_files(table), self._fresh(table), where or {}, self._problems)

    def _fresh(self, table: str) -> Iterable[Mapping[str, Any]]:
        """Rows of a table that are in no parquet file yet."""
        if table in self._journalled:
            return self._journalled[table]
        local = self._folders.get("local")
        return gather(local, self._problems) if table == "declared" and local is not None else ()

    def silenced(self) -> list[dict[str, Any]]:
        """The environments whose run is quarantined: its rows are left out."""
        rows = self.records("environments")
        gates = Gates(rows)
        return [row for row in rows if gates.quarantined(row["env_id"], row["run_id"])]

    def silenced_rows(self) -> int:
        """How many rows are left out because their run is quarantined."""
        return self._query.silenced_rows()

    @cached_property
    def _query(self) -> Query:
        gates = Gates(self.records("environments"))
        quarantined = gates.quarantined if gates.silencing else None
        return Query(self._parts, quarantined, self._problems, self._run_query, self._memo)

    @cached_property
    def _memo(self) -> Memo:
        """Answers of this state of the files; where rows are in journals yet, none is kept."""
        paths = [path for home in self._folders.values() for at in ("cells", "runs") for path in (home / at).glob("*")]
        settled = not self._journalled["runs"] and all(part.fresh is None for part in self._parts)
        return Memo(paths, memo.folder() if settled else None)

    @cached_property
    def _run_query(self) -> RunQuery:
        gates = Gates(self.records("environments"))
        return RunQuery(
            self._folders, self._journalled["runs"], gates.quarantined if gates.silencing else None, self._problems
        )

    def _small_files(self, table: str) -> list[Path]:
        """The files of a table, published before local, as far as they are there and can be read."""
        names = f"{table}/*.parquet" if table in ("cells", "runs") else f"{table}.parquet"
        paths = [path for folder in self._folders.values() for path in sorted(folder.glob(names))]
        usable, problems = files.usable(paths)
        self._problems += problems
        return usable

    def environments(self) -> pd.DataFrame:
        """One row per environment and run: the columns of ``ENVIRONMENTS``, ``origin``, and whether ``quarantined``."""
        frame = to_frame(self._environment_rows())
        published = to_frame(self._small("published", "environments"))
        known = set(zip(published["env_id"], published["run_id"], strict=True))
        gates = self._gates()
        keys = list(zip(frame["env_id"], frame["run_id"], strict=True))
        frame["origin"] = ["published" if key in known else "local" for key in keys]
        frame["quarantined"] = [gates.quarantined(*key) for key in keys]
        return frame

    def environment_records(self) -> list[dict[str, Any]]:
        """The rows of :meth:`environments` as plain values, times as text."""
        published = self._folders.get("published")
        kept = [path for path in self._small_files("environments") if path.parent == published]
        return small.environments(self.records("environments"), kept, self._problems)

    def cases(self) -> pd.DataFrame:
        """One row per case and variant, a local one before a published one."""
        return to_frame(self._both("cases"))

    def claims(self) -> pd.DataFrame:
        """One row per claim as it was adjudicated when the dataset was written; local before published."""
        return to_frame(self._both("claims"))

    def declared(self) -> pd.DataFrame:
        """One row per release, table and operator: what torch's and onnx's own tables say; local before published."""
        local = self._folders.get("local")
        fresh = to_arrow("declared", gather(local, self._problems) if local is not None else [])
        return to_frame(newest("declared", [self._small("published", "declared"), fresh]))

    def message(self, message_id: str) -> str | None:
        """The text of an error or warning; ``None`` where the dataset does not have it."""
        return self.messages([message_id]).get(message_id)

    def messages(self, ids: Iterable[str | None]) -> dict[str, str]:
        """The texts of these ids, as far as the dataset has them."""
        wanted = {item for item in ids if isinstance(item, str)}
        found = {item: self._texts[item] for item in wanted & self._texts.keys()}
        missing = wanted - found.keys()
        rows = self.records("messages", {"message_id": missing}) if missing else []
        return {**{row["message_id"]: row["text"] for row in rows}, **found}

    def _find_parts(self, journals: Entries) -> list[Part]:
        parts: dict[str, Part] = {}
        for origin, folder in self._folders.items():
            self._problems += [*files.put_aside(folder), *digests.told(folder)]
            usable, problems = files.usable(files.cells_files(folder))
            self._problems += problems
            for path in usable:
                parts.setdefault(path.name, Part(path.name)).paths[origin] = path
        fresh: dict[str, list[dict[str, Any]]] = {}
        for row in journals.cells:
            fresh.setdefault(cells_file(row["torch"], row["provider"]), []).append(row)
        for name, rows in fresh.items():
            parts.setdefault(name, Part(name)).fresh = from_normalised("cells", rows)
        return [parts[name] for name in sorted(parts)]

    def _cells(
        self, filters: dict[str, frozenset[Any]], wanted: Sequence[str], quarantined: bool
    ) -> list[tuple[str, bool, pa.Table]]:
        """Tables with their origin and whether they are of quarantined runs."""
        read = needed(wanted, filters)
        found = []
        for origin, table in self._scan.rows(self._parts, filters, read):
            found += [(origin, bad, rows) for bad, rows in self._gated(table)]
        for part in self._parts:
            if not part.alone and part.takes(filters):
                found += self._merged(part, filters, read)
        return [item for item in found if quarantined or not item[1]]

    def _merged(
        self, part: Part, filters: dict[str, frozenset[Any]], read: Sequence[str]
    ) -> list[tuple[str, bool, pa.Table]]:
        sides: dict[bool, list[tuple[str, pa.Table]]] = {False: [], True: []}
        for origin, table in self._scan.shared(part, filters, read):
            for bad, rows in self._gated(table):
                sides[bad].append((origin, rows))
        return [
            (origin, bad, select(rows, filters))
            for bad, tables in sides.items()
            if tables
            for origin, rows in speaking(tables)
        ]

    def _gated(self, rows: pa.Table) -> list[tuple[bool, pa.Table]]:
        """The rows that speak and those of quarantined runs, each marked."""
        import pyarrow.compute as pc

        bad = mask(rows, self._gates().quarantined)
        if bad is None:
            return [(False, rows)]
        return [(False, rows.filter(pc.invert(bad))), (True, rows.filter(bad))]

    def _gates(self) -> Gates:
        return Gates(self.records("environments"))

    def _environment_rows(self) -> pa.Table:
        if self._environments is None:
            fresh = from_normalised("environments", self._journalled["environments"])
            kept = [self._small(origin, "environments") for origin in _ORIGINS]
            self._environments = newest("environments", [*kept, fresh])
        return self._environments

    def _both(self, table: str) -> pa.Table:
        return newest(table, [self._small(origin, table) for origin in _ORIGINS])

    def _small(self, origin: str, table: str) -> pa.Table:
        """A whole table of one dataset; empty where it is not there or cannot be read, which is reported."""
        path = self._folders[origin] / f"{table}.parquet" if origin in self._folders else None
        if path is not None and path.is_file():
            try:
                return files.read(path, table)
            except StoreError as error:
                self._problems.append(str(error))
        return schema(table).empty_table()


_FILTERS = ("case", "variant", "torch", "exporter", "opset", "provider", "status", "corpus")


def fingerprint(published: Path | None, local: Path | None, *, journals: bool = True) -> str:
    """Sixteen hex digits over names, sizes and times of the files of both datasets, without opening any.

    Without ``journals`` rows that a measurement appends change nothing.
    """
    digest = hashlib.sha256()
    for folder in (published, local):
        if folder is None:
            continue
        for pattern in ("*.parquet", "cells/*", "runs/*", *(["journal/*"] if journals else [])):
            for path in sorted(folder.glob(pattern)):
                try:
                    status = path.stat()
                except FileNotFoundError:
                    continue
                digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


def _values(asked: Any) -> frozenset[Any]:
    if isinstance(asked, str | int):
        return frozenset({asked})
    return frozenset(asked)


def _known(asked: Sequence[str] | None) -> list[str]:
    every = columns_of("cells")
    if asked is None:
        return list(every)
    unknown = [name for name in asked if name not in every]
    if unknown:
        raise StoreError(f"cells have no column {', '.join(unknown)}")
    return list(asked)


def _cells_frame(tables: Sequence[tuple[str, bool, pa.Table]], wanted: Sequence[str]) -> pd.DataFrame:
    import numpy as np
    import pyarrow as pa

    from caniexport.store.scan import coded_schema

    names = [name for name in wanted if name not in ("origin", "quarantined")]
    parts = [coded_schema(names).empty_table(), *(table.select(names) for _, _, table in tables)]
    frame = to_frame(pa.concat_tables(parts))
    counts = [table.num_rows for _, _, table in tables]
    frame["origin"] = np.repeat(np.array([origin for origin, _, _ in tables], dtype=object), counts)
    if "quarantined" in wanted:
        frame["quarantined"] = np.repeat(np.array([bad for _, bad, _ in tables], dtype=bool), counts)
    return frame
