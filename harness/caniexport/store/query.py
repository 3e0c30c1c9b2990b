"""The rows of a table as SQL: published files, local files and lines of journals together, one row per identity."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from caniexport.model.errors import StoreError
from caniexport.model.rows import BUNDLE_DIGITS
from caniexport.store import files, sql, which_row
from caniexport.store.schema import columns
from caniexport.store.which_row import KEYS
from caniexport.store.writer import WITH_FILES, file_name

#: the order in which rows are given
ORDER = {
    "cells": 'torch, "case", variant, exporter, opset, provider, runtime, runtime_version',
    "runs": "line, filename",
}
_NUMBERS = itertools.count()
#: where the rows of each origin begin among the lines of all
_FIRST_LINE = {"published": 0, "local": 1 << 40}


class Query:
    """The rows of a table in folders by origin.

    fresh     rows that journals hold
    problems  gets a sentence for each file that cannot be used
    """

    def __init__(
        self, table: str, folders: Mapping[str, Path], fresh: Iterable[dict[str, Any]], problems: list[str]
    ) -> None:
        self._table = table
        self._problems = problems
        #: the files by name and origin: rows of one thing lie in files of one name
        self._paths: dict[str, dict[str, Path]] = {}
        for origin, folder in folders.items():
            pattern = f"{table}/*.parquet" if table in WITH_FILES else f"{table}.parquet"
            usable, lost = files.find_usable(sorted(folder.glob(pattern)))
            problems += lost
            for path in usable:
                self._paths.setdefault(path.name, {})[origin] = path
        self._fresh = list(fresh)
        # the writer keeps one row of each thing in a file: rows of a file without another of its name do not compete
        competing = {file_name(table, row) for row in self._fresh}
        self._alone = {name for name, paths in self._paths.items() if len(paths) == 1} - competing

    @property
    def paths(self) -> list[Path]:
        """Every file, by name."""
        return [path for name in sorted(self._paths) for path in self._paths[name].values()]

    def select_rows(
        self,
        where: sql.Where | None = None,
        key: Sequence[str] = (),
        good: str = "true",
        *,
        stored: bool = False,
        compete: bool = False,
        superseded: bool = False,
    ) -> str:
        """The rows with these values by column, one for each ``key`` (that of the table, unless another one is given).

        good        a condition on the rows that may be used
        stored      give the status as it is stored, not ``unstable`` where several were seen
        compete     rows of files that stand alone compete as well: they may have several rows for such a key
        superseded  the rows of all that have these values compete, also those that another row is taken before
        """
        alone: set[str] = set() if compete else self._alone
        values = [] if stored or self._table not in WITH_FILES else [f"{sql.STATUS} AS status"]
        if "bundle" in columns(self._table):
            values.append(f"left(bundle, {BUNDLE_DIGITS}) AS bundle")
        replaced = f" REPLACE ({', '.join(values)})" if values else ""
        rows = f"SELECT * FROM (SELECT *{replaced} FROM ({{}})) WHERE {good} AND {{}}"
        text = rows.format(self._union(alone), sql.condition(where or {}))
        others = self._paths.keys() - alone
        if not others and not self._fresh:
            return text
        # a filter on the key holds for every row of a thing or for none, and is applied before they are compared
        early = {name for name in key or KEYS[self._table] if self._table != "cells" or name in which_row.CELL}
        first = {name: wanted for name, wanted in (where or {}).items() if superseded or name in early}
        late = {name: wanted for name, wanted in (where or {}).items() if name not in first}
        competing = rows.format(self._union(others, self._fresh), sql.condition(first))
        taken = f"SELECT * FROM ({which_row.choose_rows(competing, self._table, key)}) WHERE {sql.condition(late)}"
        return f"{text} UNION ALL BY NAME ({taken})"

    def everything(self) -> str:
        """All rows as they lie, whichever is taken, with their origin, their file, and the number of their line."""
        return self._union(self._paths, self._fresh)

    def leave_out_damaged(self) -> bool:
        """Leave out the files that cannot be read to their end; whether there was one."""
        found = False
        for paths in self._paths.values():
            for origin, path in list(paths.items()):
                try:
                    files.read_to_end(path)
                except StoreError as error:
                    self._problems.append(str(error))
                    del paths[origin]
                    found = True
        return found

    def _union(self, names: Collection[str], fresh: Collection[Any] = ()) -> str:
        nothing = "NULL::VARCHAR AS origin, NULL::VARCHAR AS filename, 0::BIGINT AS line"
        found = [f"SELECT *, {nothing} FROM ({sql.empty(self._table)})"]
        for origin, first in _FIRST_LINE.items():
            if some := [self._paths[name][origin] for name in sorted(names) if origin in self._paths[name]]:
                line = f"{first} + file_row_number AS line"
                found.append(f"SELECT *, '{origin}' AS origin, {line} FROM {sql.files(some)}")
        if fresh:
            line = f"{sql.AFTER_FILES} + line AS line"
            found.append(f"SELECT * REPLACE ({line}), 'local' AS origin FROM {self._journalled}")
        return " UNION ALL BY NAME ".join(found)

    @cached_property
    def _journalled(self) -> str:
        """The table in DuckDB with the rows that are still in journals, numbered in their order."""
        table = f"journalled_{next(_NUMBERS)}"
        sql.insert(sql.connection().cursor(), table, self._table, self._fresh)
        weakref.finalize(self, sql.fetch, f"DROP TABLE {table}")
        return table
