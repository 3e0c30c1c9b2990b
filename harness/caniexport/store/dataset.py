"""The dataset as its readers see it: published and local rows together, one per identity.

Opening reads the journals and the footers of the parquet files; each question then reads the files and columns that
it needs, through DuckDB. Nothing that cannot be read is dropped silently: it is named in :attr:`Dataset.problems`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from caniexport import names
from caniexport.home import DOCUMENTED, NEWEST, PROFILES, holds_dataset
from caniexport.model.made_cases import OPERATORS
from caniexport.store import files, sql, summary
from caniexport.store.declared import read_declared
from caniexport.store.gates import is_quarantined
from caniexport.store.journal_reader import Entries, read_journals
from caniexport.store.query import ORDER, Query
from caniexport.store.schema import columns as columns_of
from caniexport.store.which_row import CELL, REPLAY
from caniexport.store.writer import WITH_FILES

if TYPE_CHECKING:
    import pandas as pd

#: columns by which cells are counted in the written summary, in its column ``cells``
COUNTED_BY = (
    *("torch", "exporter", "opset", "provider", "runtime", "runtime_version"),
    *("stage", "status", "exporter_effective", "opset_effective", "origin"),
)
_ORIGINS = ("published", "local")

Found = TypeVar("Found")


class Dataset:
    """A published and a local dataset. Make it with :meth:`open`."""

    def __init__(self, folders: dict[str, Path], journals: Entries) -> None:
        self._folders = folders
        self._problems = list(journals.problems)
        self._journalled = journals.tables
        for folder in folders.values():
            self._problems += files.find_put_aside(folder)
        self._queries: dict[str, Query] = {}
        self._query("cells")
        #: the summaries that answers were read from; ``None`` where none is used (rows are still in journals)
        self._summaries: set[Path] | None = None if journals.cells or journals.runs else set()
        #: the corpus of its cases
        self.corpus = DOCUMENTED
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
            made._siblings, made.corpus = self._siblings, self.corpus
            self._siblings.setdefault(self.profile, self)
            self._siblings[profile] = made
        return self._siblings[profile]

    def of_corpus(self, corpus: str) -> Self:
        """Return the dataset of another corpus, whose folders lie in those of ``newest``; it may be empty."""
        if corpus not in self.cache:
            around = {origin: folder / corpus for origin, folder in self._around.items()}
            self.cache[corpus] = type(self).open(around.get("published"), around.get("local"))
            self.cache[corpus].corpus = corpus
        made: Self = self.cache[corpus]
        return made

    def holding(self, case: str) -> Self:
        """Return the dataset that has rows of a case: this one, unless only that of another corpus has some."""
        every = (self, *(self.of_corpus(name) for name in self.other_corpora()))
        return next((found for found in every if found.select(("case",), {"case": (case,)})), self)

    def other_corpora(self) -> list[str]:
        """The names of the other corpora that have rows of their own; of operators only sums are published."""
        found = {path.name for folder in self._around.values() for path in folder.glob("*") if holds_dataset(path)}
        return sorted(found - {OPERATORS})

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

    @property
    def problems(self) -> tuple[str, ...]:
        """One sentence for every file or line that cannot be used, as far as the questions so far have read."""
        others = [problem for other in self._siblings.values() if other is not self for problem in other._problems]
        return tuple(dict.fromkeys([*self._problems, *others]))

    def cells(self, columns: Sequence[str] | None = None, **where: Sequence[Any]) -> pd.DataFrame:
        """One row per identity with these values by column: the columns of ``CELLS`` (or those asked for), ``origin``.

        ``None`` among several opsets is the release's default. Which row is taken where several have one identity:
        see :mod:`caniexport.store.which_row`; those of quarantined runs are left out.
        """
        listed = list_columns((*(columns or columns_of("cells")), "origin"))
        return self._attempt(
            lambda: sql.fetch_frame(
                f"SELECT {listed} FROM ({self._select('cells', where, stored=True)}) ORDER BY {ORDER['cells']}"
            )
        )

    def replays(self, bundles: Iterable[str], columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """How these bundles ended on each release of a runtime, with and without options of its session.

        One row for each of these, as plain values: these ``columns`` of ``RUNS``, then the origin. ``measured_at`` is
        in microseconds UTC. Rows of quarantined runs are left out.
        """
        return self._rows("runs", (*columns, "origin"), {"bundle": tuple(bundles)}, REPLAY, compete=True)

    def run_groups(
        self, by: Sequence[str], measures: Mapping[str, str], where: sql.Where | None = None
    ) -> list[tuple[Any, ...]]:
        """For each group of bundles run by further runtimes: its columns ``by``, then the measures (SQL over ``RUNS``).

        There is one row per bundle, session options, runtime, version, provider, device and environment.
        """
        return self._grouped(by, measures, lambda: self._select("runs", where))

    def select(
        self, wanted: Sequence[str], where: sql.Where | None = None, *, runtimes: bool = False
    ) -> list[tuple[Any, ...]]:
        """One row per cell as plain values: the ``wanted`` columns of ``CELLS``, ``origin`` too if asked for.

        ``where`` names the values taken of some columns (``None`` among them takes null). Where a cell was measured
        on several versions of a runtime the local, then the newest row is used, unless ``runtimes`` asks for all.
        ``measured_at`` is in microseconds UTC. Rows of quarantined runs are left out.
        """
        return self._rows("cells", wanted, where or {}, () if runtimes else CELL, compete=not runtimes)

    def grouped(
        self, by: Sequence[str], measures: Mapping[str, str], where: sql.Where | None = None
    ) -> list[tuple[Any, ...]]:
        """For each group of cells: its columns ``by``, then the measures (SQL over columns of ``CELLS``)."""
        return self._grouped(by, measures, lambda: self._select("cells", where, CELL, compete=True))

    def counted(self, by: Sequence[str], measures: Mapping[str, str]) -> list[tuple[Any, ...]]:
        """The same about all cells, at once: measures over :data:`COUNTED_BY` and the number of ``cells``, in which a
        cell counts once for each version of a runtime that it was measured on.
        """
        return self._grouped(by, measures, self.places)

    def distinct(self, by: Sequence[str], where: sql.Where | None = None) -> list[tuple[Any, ...]]:
        """Return each combination of values of columns of cells, on whatever version of a runtime."""

        def query() -> str:
            rows = f"SELECT DISTINCT {list_columns(by)} FROM ({self._select('cells', where)}) ORDER BY ALL"
            return rows if where else f"FROM {self._written(rows)}"

        return self._attempt(lambda: sql.fetch(query()))

    def records(self, table: str, where: sql.Where | None = None) -> list[dict[str, Any]]:
        """Rows of any table as dictionaries, a local one before a published one, those of quarantined runs too."""
        wanted = columns_of(table)
        listed = ", ".join(map(sql.select_column, wanted))

        def query() -> str:
            rows = self._query(table).select_rows(where, stored=True, superseded=True)
            return f"SELECT {listed} FROM ({rows}) ORDER BY line, filename"

        found = [dict(zip(wanted, row, strict=True)) for row in self._attempt(lambda: sql.fetch(query()))]
        for row in found:
            if row.get("measured_at") is not None:
                row["measured_at"] = sql.moment(row["measured_at"])
        return found

    def relation(self, table: str, *, stored: bool = False) -> str:
        """The rows of a table as SQL, one per identity; of cells one for each, on whatever version of a runtime.

        Cells files that hold all rows of theirs alone are taken to have one row for each. With the status as it is
        ``stored``, of cells too one per identity.
        """
        return self._select(table, key=CELL if table == "cells" and not stored else (), stored=stored)

    def places(self) -> str:
        """The number of cells by :data:`COUNTED_BY`, as SQL."""
        columns, rows = list_columns(COUNTED_BY), self._select("cells")
        counted = f'SELECT {columns}, count(*) AS cells FROM ({rows}) WHERE "case" IS NOT NULL GROUP BY {columns}'
        return f"SELECT * FROM {self._written(f'{counted} ORDER BY ALL')}"

    def leave_out_damaged(self) -> bool:
        """Leave out the files that cannot be read to their end; whether there was one."""
        summaries, self._summaries = self._summaries, None
        for path in summaries or ():
            path.unlink(missing_ok=True)
        return any([bool(summaries), *(query.leave_out_damaged() for query in list(self._queries.values()))])

    def _query(self, table: str) -> Query:
        """The rows of a table, whose files are found when they are first asked for."""
        if table not in self._queries:
            local = self._folders.get("local")
            fresh: Iterable[dict[str, Any]] = self._journalled.get(table, ())
            if table == "declared" and local is not None:
                fresh = read_declared(local, self._problems)
            self._queries[table] = Query(table, self._folders, fresh, self._problems)
        return self._queries[table]

    def _select(self, table: str, where: sql.Where | None = None, key: Sequence[str] = (), **how: bool) -> str:
        """The rows of a table that are no quarantined run's, as :meth:`Query.select_rows` gives them."""
        return self._query(table).select_rows(where, key, self._good if table in WITH_FILES else "true", **how)

    def _attempt(self, fetch: Callable[[], Found]) -> Found:
        """Ask once; where a file turns out to be damaged, without it again."""
        try:
            return fetch()
        except sql.error_class() as error:
            if not self.leave_out_damaged():
                raise sql.explain_failure(error) from error
            return self._attempt(fetch)

    def _rows(
        self, table: str, wanted: Sequence[str], where: sql.Where, key: Sequence[str], *, compete: bool
    ) -> list[tuple[Any, ...]]:
        listed = ", ".join(map(sql.select_column, wanted))
        return self._attempt(
            lambda: sql.fetch(
                f"SELECT {listed} FROM ({self._select(table, where, key, compete=compete)}) ORDER BY {ORDER[table]}"
            )
        )

    def _grouped(
        self, by: Sequence[str], measures: Mapping[str, str], rows: Callable[[], str]
    ) -> list[tuple[Any, ...]]:
        """For each group of rows its columns ``by``, then the measures; sorted by the columns."""
        columns = list_columns(by)
        asked = ", ".join([columns, *(f"{text} AS {sql.name(name)}" for name, text in measures.items())])
        return self._attempt(lambda: sql.fetch(f"SELECT {asked} FROM ({rows()}) GROUP BY {columns} ORDER BY {columns}"))

    def _written(self, query: str) -> str:
        """The rows of a query about all cells, which are kept; where no row is ahead of the clock, which would be
        another one tomorrow.
        """
        cells = self._query("cells")
        if self._summaries is not None:
            ahead = f"SELECT count(*) FROM ({cells.everything()}) WHERE measured_at > now()"
            path = summary.keep(query, cells.paths, lambda: sql.fetch(ahead) == [(0,)])
            if path is not None:
                self._summaries.add(path)
                return f"read_parquet({sql.literal(str(path))})"
        return f"({query})"

    def quarantined_environments(self) -> list[dict[str, Any]]:
        """The environments whose run is quarantined: its rows are left out."""
        return [row for row in self.records("environments") if is_quarantined(row["gate"])]

    def count_quarantined_rows(self) -> int:
        """How many rows are left out because their run is quarantined."""
        query = f"SELECT count(*) FROM ({self._query('cells').everything()}) WHERE NOT {self._good}"
        ((count,),) = self._attempt(lambda: sql.fetch(query))
        return int(count)

    @cached_property
    def _good(self) -> str:
        """The condition on a row of a run that is not quarantined."""
        bad = [sql.listed((row["env_id"], row["run_id"])) for row in self.quarantined_environments()]
        return f"((env_id, run_id) IN ({', '.join(bad)})) IS NOT TRUE" if bad else "true"

    def environment_records(self) -> list[dict[str, Any]]:
        """One row per environment and run as plain values, times as text: the columns of ``ENVIRONMENTS``, ``origin``,
        and whether ``quarantined``.
        """
        published = Dataset.open(self.folder("published"), None).records("environments")
        known = {(row["env_id"], row["run_id"]) for row in published}
        return [
            {
                **row,
                "measured_at": row["measured_at"].isoformat() if row["measured_at"] else None,
                "origin": "published" if (row["env_id"], row["run_id"]) in known else "local",
                "quarantined": is_quarantined(row["gate"]),
            }
            for row in self.records("environments")
        ]

    def message(self, message_id: str) -> str | None:
        """The text of an error or warning; ``None`` where the dataset does not have it."""
        return self.messages([message_id]).get(message_id)

    def messages(self, ids: Iterable[str | None]) -> dict[str, str]:
        """The texts of these ids, as far as the dataset has them."""
        wanted = {item for item in ids if isinstance(item, str)}
        rows = self.records("messages", {"message_id": wanted}) if wanted else []
        return {row["message_id"]: row["text"] for row in rows}


def list_columns(wanted: Sequence[str]) -> str:
    """Columns as SQL lists them."""
    return ", ".join(map(sql.name, wanted))


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
