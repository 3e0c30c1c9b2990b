"""A table by SQL: only the rows and columns that an answer looks at leave the parquet files, one row per identity."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Container, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from caniexport.model.rows import BUNDLE_DIGITS
from caniexport.store import parts as dataset_parts
from caniexport.store import sql, which_row
from caniexport.store.frames import schema
from caniexport.store.parts import WITH_FILES
from caniexport.store.schema import columns
from caniexport.store.which_row import KEYS

if TYPE_CHECKING:
    import pyarrow as pa

    from caniexport.store.gates import Quarantined
    from caniexport.store.parts import Part

#: the order in which rows are given
ORDER = {
    "cells": 'torch, "case", variant, exporter, opset, provider, runtime, runtime_version',
    "runs": "line, filename",
}
_NUMBERS = itertools.count()
#: where the rows of each origin begin among the lines of all
_FIRST_LINE = {"published": 0, "local": 1 << 40}

Found = TypeVar("Found")
#: makes the text of a relation and its values
Source = Callable[[], tuple[str, list[Any]]]


class Query:
    """Questions to the parts of a table.

    quarantined  whether the rows of a run may not be used; ``None`` where all may
    problems     gets a sentence for each file that cannot be read and is left out
    stored       give the status as it is stored, not ``unstable`` where several were seen
    """

    def __init__(
        self,
        table: str,
        parts: Sequence[Part],
        quarantined: Quarantined | None,
        problems: list[str],
        *,
        stored: bool = False,
    ) -> None:
        self._table = table
        self._parts = list(parts)
        self._quarantined = quarantined
        self._problems = problems
        values = [] if stored or table not in WITH_FILES else [f"{sql.STATUS} AS status"]
        if "bundle" in columns(table):
            values.append(f"left(bundle, {BUNDLE_DIGITS}) AS bundle")
        self._replaced = f" REPLACE ({', '.join(values)})" if values else ""
        self._silenced: str | None = None
        self._tables: dict[str, str] = {}

    def rows(self, wanted: Sequence[str], where: sql.Where, key: Sequence[str]) -> list[tuple[Any, ...]]:
        """One row for each ``key`` with the ``wanted`` columns, ``origin`` too if asked for; times in microseconds.

        Cells by what they are; replays as they lie in the files, those of journals last.
        """
        return self._rows(wanted, lambda: self._one_each(self._taken(where), where, key))

    def records(self, where: sql.Where) -> list[dict[str, Any]]:
        """The rows with these values by column, one per identity of them, as they lie: published, local, journalled."""
        condition, values = sql.condition(where)

        def source() -> tuple[str, list[Any]]:
            parts = self._taken(where)
            rows = f"SELECT * FROM ({self._union(parts)}) WHERE {condition}"
            alone = all(part.is_alone for part in parts)
            return rows if alone else which_row.choose_rows(rows, self._table), values

        wanted = columns(self._table)
        text = f"SELECT {', '.join(map(sql.select_column, wanted))} FROM ({{}}) ORDER BY line, filename"
        return [_record(wanted, row) for row in self._ask(source, text, sql.fetch)]

    def grouped(self, by: Sequence[str], measures: Mapping[str, str], where: sql.Where) -> list[tuple[Any, ...]]:
        """For each group of rows its columns ``by``, then the measures (SQL); sorted by the columns."""
        return self._ask(lambda: self.select_rows(where), group_query(by, measures), sql.fetch)

    def arrow(self, wanted: Sequence[str], where: sql.Where) -> pa.Table:
        """The ``wanted`` columns of one row per identity, and ``origin``; first those of files that stand alone."""
        import pyarrow as pa

        taken = self._taken(where)
        alone = [part for part in taken if part.is_alone]
        others = [part for part in taken if not part.is_alone]
        columns = ", ".join(map(sql.name, (*wanted, "origin")))
        found = [self._ask(lambda: self._all_of(alone, where), f"SELECT {columns} FROM ({{}})", sql.fetch_arrow)]
        if others:
            text = f"SELECT {columns} FROM ({{}}) ORDER BY {ORDER[self._table]}"
            found.append(self._ask(lambda: self._one_each(others, where), text, sql.fetch_arrow))
        return pa.concat_tables(found).cast(with_origin(self._table, wanted))

    def select_rows(self, where: sql.Where) -> tuple[str, list[Any]]:
        """The rows with these values as a relation, one per identity, with the values of its parameters."""
        taken = self._taken(where)
        return self._apart(taken, {part.name for part in taken if part.is_alone}, where)

    def count_quarantined_rows(self) -> int:
        """How many rows belong to quarantined runs."""
        if self._quarantined is None:
            return 0
        return sum(rows for env, run, rows in self._runs if self._quarantined(env, run))

    def leave_out_damaged(self) -> bool:
        """Leave out the files that cannot be read to their end; whether there was one."""
        return dataset_parts.leave_out_damaged(self._parts, self._problems)

    def _rows(self, wanted: Sequence[str], source: Source) -> list[tuple[Any, ...]]:
        columns = ", ".join(sql.select_column(name) for name in wanted)
        return self._ask(source, f"SELECT {columns} FROM ({{}}) ORDER BY {ORDER[self._table]}", sql.fetch)

    def _ask(self, source: Source, around: str, fetch: Callable[[str, Sequence[Any]], Found]) -> Found:
        """Ask once; where a file turns out to be damaged, without it again."""
        try:
            inner, values = source()
            return fetch(around.format(inner), values)
        except sql.error_class() as error:
            if not self.leave_out_damaged():
                raise sql.explain_failure(error) from error
            return self._ask(source, around, fetch)

    def _taken(self, where: sql.Where) -> list[Part]:
        """The parts that may have rows with these values."""
        filters = {name: frozenset(values) for name, values in where.items()}
        return [part for part in self._parts if part.may_match(filters)]

    def _apart(
        self, parts: Sequence[Part], single: Container[str], where: sql.Where, key: Sequence[str] = ()
    ) -> tuple[str, list[Any]]:
        """The rows of these parts; those of the parts that are not ``single`` compete."""
        mine = [part for part in parts if part.name in single]
        others = [part for part in parts if part.name not in single]
        text, values = self._all_of(mine, where)
        if not others:
            return text, values
        more, its_values = self._one_each(others, where, key)
        return f"{text} UNION ALL BY NAME ({more})", [*values, *its_values]

    def _all_of(self, parts: Sequence[Part], where: sql.Where) -> tuple[str, list[Any]]:
        condition, values = sql.condition(where)
        return f"SELECT * FROM ({self._union(parts)}) WHERE {condition}{self._good()}", values

    def _one_each(self, parts: Sequence[Part], where: sql.Where, key: Sequence[str] = ()) -> tuple[str, list[Any]]:
        """One row for each ``key`` (that of the table, unless another one is given).

        A filter on the key holds for every row of a thing or for none, and is applied before they are compared.
        """
        early = set(key or KEYS[self._table])
        if self._table == "cells":
            early &= set(which_row.CELL)
        first, values = sql.condition({name: wanted for name, wanted in where.items() if name in early})
        late, more = sql.condition({name: wanted for name, wanted in where.items() if name not in early})
        rows = f"SELECT * FROM ({self._union(parts)}) WHERE {first}{self._good()}"
        return f"SELECT * FROM ({which_row.choose_rows(rows, self._table, key)}) WHERE {late}", [*values, *more]

    def _union(self, parts: Sequence[Part]) -> str:
        """The rows of these parts with their origin, their file, and the number of their line."""
        by_origin: dict[str, list[Path]] = {}
        for part in parts:
            for origin, path in part.paths.items():
                by_origin.setdefault(origin, []).append(path)
        nothing = "NULL::VARCHAR AS origin, NULL::VARCHAR AS filename, 0::BIGINT AS line"
        found = [f"SELECT *, {nothing} FROM ({sql.empty(self._table)})"]
        found += [
            f"SELECT *, '{origin}' AS origin, {_FIRST_LINE[origin]} + file_row_number AS line FROM {sql.files(some)}"
            for origin, some in by_origin.items()
        ]
        found += [
            f"SELECT * REPLACE ({sql.AFTER_FILES} + line AS line), 'local' AS origin FROM {self._journalled(part)}"
            for part in parts
            if part.fresh is not None
        ]
        return f"SELECT *{self._replaced} FROM ({' UNION ALL BY NAME '.join(found)})"

    def _journalled(self, part: Part) -> str:
        """The table in DuckDB with the rows of a part that are still in journals, numbered in their order."""
        if part.name not in self._tables:
            table = self._tables[part.name] = f"journalled_{next(_NUMBERS)}"
            sql.insert(sql.connection().cursor(), table, part.table, part.fresh or [])
            weakref.finalize(self, sql.fetch, f"DROP TABLE {table}")
        return self._tables[part.name]

    def _good(self) -> str:
        """A clause that leaves out the rows of quarantined runs; empty where none is."""
        if self._quarantined is None:
            return ""
        if self._silenced is None:
            self._silenced = sql.exclude_runs((env, run) for env, run, _ in self._runs if self._quarantined(env, run))
        return self._silenced

    @cached_property
    def _runs(self) -> list[tuple[Any, ...]]:
        text = "SELECT env_id, run_id, count(*) FROM ({}) GROUP BY env_id, run_id"
        return self._ask(lambda: (self._union(self._parts), []), text, sql.fetch)


def _record(wanted: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    row = dict(zip(wanted, values, strict=True))
    if row.get("measured_at") is not None:
        row["measured_at"] = sql.moment(row["measured_at"])
    return row


def group_query(by: Sequence[str], measures: Mapping[str, str]) -> str:
    """A query for each group of the rows of a relation, which is to be put in: its columns, then the measures."""
    asked = ", ".join([list_columns(by), *(f"{text} AS {sql.name(name)}" for name, text in measures.items())])
    return f"SELECT {asked} FROM ({{}}) GROUP BY {list_columns(by)} ORDER BY {list_columns(by)}"


def with_origin(table: str, wanted: Sequence[str]) -> pa.Schema:
    """The schema of these columns of a table, and of the origin of a row."""
    import pyarrow as pa

    return pa.schema([*(schema(table).field(name) for name in wanted), pa.field("origin", pa.string())])


def list_columns(wanted: Sequence[str]) -> str:
    """Columns as SQL lists them."""
    return ", ".join(sql.name(name) for name in wanted)
