"""The dataset as its readers see it: published and local rows together, one per identity.

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
from typing import TYPE_CHECKING, Any, Self

from caniexport import names
from caniexport.home import NEWEST, PROFILES, holds_dataset
from caniexport.model.errors import StoreError
from caniexport.store import files, sql, summary
from caniexport.store.cells_query import CellsQuery
from caniexport.store.declared import read_declared
from caniexport.store.frames import rows_frame, to_frame
from caniexport.store.gates import Gates, Quarantined
from caniexport.store.journal_reader import Entries, read_journals
from caniexport.store.parts import Part, find_parts
from caniexport.store.query import Query
from caniexport.store.schema import columns as columns_of
from caniexport.store.summary import WrittenSummary
from caniexport.store.which_row import REPLAY

if TYPE_CHECKING:
    import pandas as pd

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
        for folder in folders.values():
            self._problems += files.find_put_aside(folder)
        self._parts: dict[str, list[Part]] = {}
        self._records: dict[str, Query] = {}
        self._parts_of("cells")
        #: what readers of this dataset keep in memory, by their own names
        self.cache: dict[str, Any] = {}
        self._siblings: dict[str, Dataset] = {}

    @classmethod
    def open(cls, published: Path | None, local: Path | None) -> Self:
        """Open a published and a local dataset; a folder that is ``None`` or not there is an empty one.

        Journals are read before the parquet files are listed: what is compacted in between is seen twice, not lost.
        """
        folders = {
            origin: folder for origin, folder in zip(_ORIGINS, (published, local), strict=True) if folder is not None
        }
        return cls(folders, read_journals(local) if local is not None else Entries())

    @property
    def profile(self) -> str:
        """Return the profile of its environments: ``newest`` unless the dataset lies in a folder ``profiles``."""
        above = next(iter(self._folders.values()), None)
        return above.name if above is not None and above.parent.name == PROFILES else NEWEST

    def profiles(self) -> tuple[str, ...]:
        """The profiles that have rows, ``newest`` first. Each is a dataset of its own: :meth:`of`."""
        found = {path.name for folder in self._around.values() for path in (folder / PROFILES).glob("*")}
        return (NEWEST, *sorted(name for name in found if any(map(holds_dataset, self._of(name).values()))))

    def of(self, profile: str) -> Dataset:
        """Return the dataset of another profile. Raises :class:`UnknownName` for one without rows."""
        if profile == self.profile:
            return self
        if profile not in self._siblings:
            names.require("profile", profile, self.profiles())
            folders = self._of(profile)
            made = type(self).open(folders.get("published"), folders.get("local"))
            made._siblings = self._siblings
            self._siblings.setdefault(self.profile, self)
            self._siblings[profile] = made
        return self._siblings[profile]

    @property
    def _around(self) -> dict[str, Path]:
        """The folders of ``newest``."""
        if self.profile == NEWEST:
            return self._folders
        return {origin: folder.parent.parent for origin, folder in self._folders.items()}

    def folder(self, origin: str) -> Path | None:
        """The folder of the ``published`` or of the ``local`` rows."""
        return self._folders.get(origin)

    def add_problems(self, problems: Iterable[str]) -> None:
        """Name what another reader of the same files could not use."""
        self._problems += problems

    def published_subfolder(self, name: str) -> Path | None:
        """The folder of another dataset that lies in that of the published rows of ``newest``."""
        folder = self._around.get("published")
        return folder and folder / name

    def _of(self, profile: str) -> dict[str, Path]:
        if profile == NEWEST:
            return self._around
        return {origin: folder / PROFILES / profile for origin, folder in self._around.items()}

    def _parts_of(self, table: str) -> list[Part]:
        """The parts of a table, found when they are first asked for."""
        if table not in self._parts:
            self._parts[table] = find_parts(table, self._folders, self._fresh(table), self._problems)
        return self._parts[table]

    @property
    def problems(self) -> tuple[str, ...]:
        """One sentence for every file or line that cannot be used, as far as the questions so far have read."""
        others = [problem for other in self._siblings.values() if other is not self for problem in other._problems]
        return tuple(dict.fromkeys([*self._problems, *others]))

    def fingerprint(self) -> str:
        """Changes when the files of the dataset do; looks at their names, sizes and times only."""
        return fingerprint(self.folder("published"), self.folder("local"))

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
    ) -> pd.DataFrame:
        """One row per identity that passes the filters: the columns of ``CELLS`` (or those asked for) and ``origin``.

        A filter takes one value or several; ``None`` among several opsets is the release's default. Which row is taken
        where several have one identity: see :mod:`caniexport.store.which_row`; those of quarantined runs are
        left out.
        """
        asked = (case, variant, torch, exporter, opset, provider, status, corpus)
        where = {name: _values(value) for name, value in zip(_FILTERS, asked, strict=True) if value is not None}
        return self._frame("cells", columns, where)

    def runs(self, bundles: Iterable[str] | None = None, *, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Bundles run by further runtimes: the columns of ``RUNS`` (or those asked for) and ``origin``.

        One row per bundle, session options, runtime, version, provider, device and environment; ``bundles`` takes
        only these. Rows of quarantined runs are left out.
        """
        return self._frame("runs", columns, {} if bundles is None else {"bundle": frozenset(bundles)})

    def _frame(self, table: str, columns: Sequence[str] | None, where: sql.Where) -> pd.DataFrame:
        wanted = _known(table, columns)
        query = Query(table, self._parts_of(table), self._quarantined, self._problems, stored=True)
        return to_frame(query.arrow(wanted, where))

    def replays(self, bundles: Iterable[str], columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """How these bundles ended on each release of a runtime, with and without options of its session.

        One row for each of these, as plain values: these ``columns`` of ``RUNS``, then the origin. ``measured_at`` is
        in microseconds UTC. Rows of quarantined runs are left out.
        """
        return self._replays.rows((*columns, "origin"), {"bundle": tuple(bundles)}, REPLAY)

    def run_groups(
        self, by: Sequence[str], measures: Mapping[str, str], where: sql.Where | None = None
    ) -> list[tuple[Any, ...]]:
        """For each group of the rows of :meth:`runs`: its columns ``by``, then the measures (SQL over ``RUNS``)."""
        return self._replays.grouped(by, measures, where or {})

    def select(
        self, wanted: Sequence[str], where: sql.Where | None = None, *, runtimes: bool = False
    ) -> list[tuple[Any, ...]]:
        """One row per cell as plain values: the ``wanted`` columns of ``CELLS``, ``origin`` too if asked for.

        ``where`` names the values taken of some columns (``None`` among them takes null). Where a cell was measured
        on several versions of a runtime the local, then the newest row is used, unless ``runtimes`` asks for all.
        ``measured_at`` is in microseconds UTC. Rows of quarantined runs are left out.
        """
        return self._cells.cells(wanted, where or {}, runtimes=runtimes)

    def grouped(
        self, by: Sequence[str], measures: Mapping[str, str], where: sql.Where | None = None
    ) -> list[tuple[Any, ...]]:
        """For each group of cells: its columns ``by``, then the measures (SQL over columns of ``CELLS``)."""
        return self._cells.grouped_cells(by, measures, where or {})

    def counted(self, by: Sequence[str], measures: Mapping[str, str]) -> list[tuple[Any, ...]]:
        """The same about all cells, at once: measures over :data:`~caniexport.store.cells_query.COUNTED_BY` and the
        number of ``cells``, in which a cell counts once for each version of a runtime that it was measured on.
        """
        return self._cells.counted(by, measures)

    def distinct(self, by: Sequence[str], where: sql.Where | None = None) -> list[tuple[Any, ...]]:
        """Return each combination of values of columns of cells, on whatever version of a runtime."""
        return self._cells.distinct(by, where or {})

    def records(self, table: str, where: sql.Where | None = None) -> list[dict[str, Any]]:
        """Rows of any table as dictionaries, a local one before a published one, those of quarantined runs too."""
        if table not in self._records:
            self._records[table] = Query(table, self._parts_of(table), None, self._problems, stored=True)
        return self._records[table].records(where or {})

    def relation(self, table: str) -> str:
        """The rows of a table as SQL, one per identity; of cells one for each, on whatever version of a runtime."""
        if table == "cells":
            return self._cells.relation()
        if table == "runs":
            return self._replays.select_rows({})[0]
        return Query(table, self._parts_of(table), None, self._problems).select_rows({})[0]

    def places(self) -> str:
        """The number of cells by the columns of :data:`~caniexport.store.cells_query.COUNTED_BY`, as SQL."""
        return self._cells.counted_relation()

    def leave_out_damaged(self) -> bool:
        """Leave out the files of cells and replays that cannot be read to their end; whether there was one."""
        return any([self._cells.leave_out_damaged(), self._replays.leave_out_damaged()])

    def _fresh(self, table: str) -> Iterable[dict[str, Any]]:
        """Rows of a table that are in no parquet file yet."""
        if table in self._journalled:
            return self._journalled[table]
        local = self._folders.get("local")
        return read_declared(local, self._problems) if table == "declared" and local is not None else ()

    def quarantined_environments(self) -> list[dict[str, Any]]:
        """The environments whose run is quarantined: its rows are left out."""
        rows = self.records("environments")
        gates = Gates(rows)
        return [row for row in rows if gates.is_quarantined(row["env_id"], row["run_id"])]

    def count_quarantined_rows(self) -> int:
        """How many rows are left out because their run is quarantined."""
        return self._cells.count_quarantined_rows()

    @cached_property
    def _quarantined(self) -> Quarantined | None:
        """Whether a run's rows may not be used; ``None`` where all may."""
        gates = Gates(self.records("environments"))
        return gates.is_quarantined if gates.has_quarantined else None

    @cached_property
    def _cells(self) -> CellsQuery:
        """Where rows are in journals yet, no summary is written."""
        settled = not (self._journalled["cells"] or self._journalled["runs"])
        paths = [path for part in self._parts_of("cells") for path in part.paths.values()]
        written = WrittenSummary(paths, summary.cache_folder() if settled else None)
        return CellsQuery(self._parts_of("cells"), self._quarantined, self._problems, written)

    @cached_property
    def _replays(self) -> Query:
        return Query("runs", self._parts_of("runs"), self._quarantined, self._problems)

    def environments(self) -> pd.DataFrame:
        """One row per environment and run: the columns of ``ENVIRONMENTS``, ``origin``, and whether ``quarantined``."""
        frame = self._records_frame("environments")
        known = {(row["env_id"], row["run_id"]): row for row in self.environment_records()}
        rows = [known[key] for key in zip(frame["env_id"], frame["run_id"], strict=True)]
        return frame.assign(**{name: [row[name] for row in rows] for name in ("origin", "quarantined")})

    def environment_records(self) -> list[dict[str, Any]]:
        """The rows of :meth:`environments` as plain values, times as text."""
        rows = self.records("environments")
        folders = {origin: folder for origin, folder in self._folders.items() if origin == "published"}
        parts = find_parts("environments", folders, (), self._problems)
        published = Query("environments", parts, None, self._problems).records({})
        known = {(row["env_id"], row["run_id"]) for row in published}
        gates = Gates(rows)
        return [
            {
                **row,
                "measured_at": row["measured_at"].isoformat() if row["measured_at"] else None,
                "origin": "published" if (row["env_id"], row["run_id"]) in known else "local",
                "quarantined": gates.is_quarantined(row["env_id"], row["run_id"]),
            }
            for row in rows
        ]

    def cases(self) -> pd.DataFrame:
        """One row per case and variant, a local one before a published one."""
        return self._records_frame("cases")

    def claims(self) -> pd.DataFrame:
        """One row per claim as it was adjudicated when the dataset was written; local before published."""
        return self._records_frame("claims")

    def declared(self) -> pd.DataFrame:
        """One row per release, table and operator: what torch's and onnx's own tables say; local before published."""
        return self._records_frame("declared")

    def _records_frame(self, table: str) -> pd.DataFrame:
        """The rows of :meth:`records` as a frame, in the order of the table's file."""
        return rows_frame(table, self.records(table))

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


_FILTERS = ("case", "variant", "torch", "exporter", "opset", "provider", "status", "corpus")


def fingerprint(published: Path | None, local: Path | None, *, journals: bool = True) -> str:
    """Sixteen hex digits over names, sizes and times of the files of both datasets, without opening any.

    Without ``journals`` rows that a measurement appends change nothing.
    """
    digest = hashlib.sha256()
    for folder in (published, local):
        if folder is None:
            continue
        patterns = ("*.parquet", "cells/*", "runs/*", *(["journal/*"] if journals else []))
        for pattern in (*patterns, *(f"{PROFILES}/*/{pattern}" for pattern in patterns)):
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


def _known(table: str, asked: Sequence[str] | None) -> list[str]:
    every = columns_of(table)
    unknown = [name for name in asked or () if name not in every]
    if unknown:
        raise StoreError(f"{table} have no column {', '.join(unknown)}")
    return list(every if asked is None else asked)
