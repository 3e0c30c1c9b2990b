"""SQL over a dataset: the views of ``views.sql``, over the rows of all its profiles."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from typing import TYPE_CHECKING, Any, Self, TypeVar

from caniexport import versions
from caniexport.home import NEWEST
from caniexport.model.made_cases import OPERATORS
from caniexport.runtime_releases import KINDS, Kind
from caniexport.store import sql

if TYPE_CHECKING:
    from caniexport.store.dataset import Dataset

Found = TypeVar("Found")
#: tables of answers that are kept at once: more than one answer makes
_NUMBERS = itertools.cycle(range(64))
#: the views that are held in memory for whoever asks about everything, and what each is sorted by
_HELD = {
    "cells": '"case"',
    "replays": "bundle",
    "steps": "bundle",
    "message": "message_id",
    "samples": "op",
    "judged": "op",
    "variants": '"case"',
}


class Views:
    """A connection on which the views are made; one for a dataset (:meth:`of`), asked by any thread."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self._lock = threading.Lock()
        self._profiles = dict.fromkeys((NEWEST, dataset.profile))
        self._cursor = sql.connection().cursor()
        self._is_held = False
        self._attempt(self._make)

    @classmethod
    def of(cls, dataset: Dataset) -> Self:
        """The views of a dataset, made when they are first asked for."""
        if "views" not in dataset.cache:
            dataset.cache["views"] = cls(dataset)
        made: Self = dataset.cache["views"]
        return made

    def fetch(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query. A file that turns out to be damaged is left out, and named by the dataset.

        Raises :class:`StoreError` where the query fails and every file can be read.
        """
        with self._lock:
            return self._attempt(lambda: self._cursor.execute(query, list(values)).fetchall())

    def _attempt(self, step: Callable[[], Found]) -> Found:
        try:
            return step()
        except sql.error_class() as error:
            if not self.dataset.leave_out_damaged():
                raise sql.explain_failure(error) from error
            self._make()
            return step()

    def keep(self, query: str) -> str:
        """The name of a table with the rows of a query, for further queries of the same answer."""
        name = f"kept_{next(_NUMBERS)}"
        self.fetch(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}")
        return name

    def hold(self) -> None:
        """Hold all rows in memory, for whoever asks about every case."""
        with self._lock:
            self._is_held = True
            self._attempt(self._hold)

    def include(self, profile: str) -> bool:
        """Read the rows of another profile too; whether they were not read before."""
        if profile in self._profiles:
            return False
        with self._lock:
            self._profiles[profile] = None
            self._attempt(self._make)
        return True

    def _make(self) -> None:
        """Make the views, anew where a profile has come or a file is left out: the tables that are kept stay."""
        cursor = self._cursor
        known = self.dataset.profiles()
        every = {name: self.dataset.of(name) for name in self._profiles if name in known}
        for view, table in (("cells", "cells"), ("every_replay", "runs"), ("message", "messages")):
            of_each = (
                f"SELECT *, {sql.literal(name)} AS profile FROM ({dataset.relation(table)})"
                for name, dataset in every.items()
            )
            cursor.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS {' UNION ALL BY NAME '.join(of_each)}")
        # tools and plugins are no runtime on which a user's file runs as it is
        others = sql.listed(name for name, kind in KINDS.items() if kind is not Kind.RUNTIME)
        for view, condition in (("replays", f"runtime NOT IN {others}"), ("steps", f"runtime IN {others}")):
            cursor.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS FROM every_replay WHERE {condition}")
        # a profile that only this machine measured has no catalogue of its own
        cursor.execute(f"CREATE OR REPLACE TEMP VIEW variants AS {self.dataset.of(NEWEST).relation('cases')}")
        counted = (
            f"SELECT *, {sql.literal(name)} AS profile FROM ({dataset.places()})" for name, dataset in every.items()
        )
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE places AS {' UNION ALL BY NAME '.join(counted)}")
        self._number("version", (torch for (torch,) in self.dataset.distinct(("torch",)) if torch))
        self._make_samples()
        cursor.execute(resources.files("caniexport.store").joinpath("views.sql").read_text(encoding="utf-8"))
        if self._is_held:
            self._hold()

    def _hold(self) -> None:
        for view, order in _HELD.items():
            self._cursor.execute(f"CREATE OR REPLACE TEMP TABLE held_{view} AS SELECT * FROM {view} ORDER BY {order}")
            self._cursor.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS SELECT * FROM held_{view}")
        # many small questions: a second thread costs them more than it saves
        self._cursor.execute("SET threads = 1")

    @contextmanager
    def narrow(self, cases: Collection[str]) -> Iterator[None]:
        """Read of the held rows those of these cases alone, within it."""
        some = f"""CREATE OR REPLACE TEMP TABLE some_cells AS FROM held_cells WHERE "case" IN {sql.listed(cases)};
            CREATE OR REPLACE TEMP TABLE some_replays AS FROM held_replays SEMI JOIN some_cells USING (bundle);"""
        view = "CREATE OR REPLACE TEMP VIEW cells AS FROM {0}_cells;"
        view += "CREATE OR REPLACE TEMP VIEW replays AS FROM {0}_replays"
        self.fetch(some + view.format("some"))
        try:
            yield
        finally:
            self.fetch(view.format("held"))

    def _make_samples(self) -> None:
        """Operator samples, which are published as their sums and of one profile."""
        folder = self.dataset.published_subfolder(OPERATORS)
        file = folder / f"{OPERATORS}.parquet" if folder else None
        samples = f"FROM read_parquet({sql.literal(str(file))})" if file and file.is_file() else sql.empty(OPERATORS)
        self._cursor.execute(f"CREATE OR REPLACE TEMP VIEW samples AS {samples}")
        releases = self._cursor.execute("SELECT DISTINCT torch FROM samples").fetchall()
        self._number("sampled_release", (torch for (torch,) in releases))

    def _number(self, table: str, releases: Iterable[str]) -> None:
        """Make a table of releases with the number of each, the oldest first."""
        query = f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT unnest($1) AS torch, unnest(range(len($1))) AS n"
        self._cursor.execute(query, [versions.ordered(releases)])
