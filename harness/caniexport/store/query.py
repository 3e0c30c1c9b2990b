"""Cells by SQL: only the rows and columns that an answer looks at leave the parquet files, one row per cell.

The rules are those of :mod:`caniexport.store.merge` and hold for the same reasons: what says something speaks before
what does not, what is not ahead of the clock before what is, local before published, newer before older.
"""

from __future__ import annotations

import itertools
import time
import weakref
from collections.abc import Callable, Container, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.model.status import MEASURED
from caniexport.store import elsewhere, files, sql
from caniexport.store.elsewhere import On
from caniexport.store.memo import Memo
from caniexport.store.merge import IDENTITY

if TYPE_CHECKING:
    from caniexport.store.gates import Quarantined
    from caniexport.store.run_query import RunQuery
    from caniexport.store.scan import Part

#: what a cell is, on whatever version of a runtime
CELL = tuple(name for name in IDENTITY if not name.startswith("runtime"))
#: filters that hold for every row of a cell or for none: they may be applied before rows are compared
_EARLY = frozenset(CELL)
_SAYS = ", ".join(sql.literal(status.value) for status in sorted(MEASURED, key=lambda status: status.value))

#: what a comparison of competing rows says of the time: a text with it, here or of runs, is another one every moment
_CLOCK = "epoch_us(measured_at) <="

#: so many cases that their rows are rather compared than looked through beforehand
_FEW = 50
_NUMBERS = itertools.count()

#: makes the text of a relation and its values
_Source = Callable[[], tuple[str, list[Any]]]


class Query:
    """Questions to the parts of a dataset; what cannot be read is left out and told to ``problems``."""

    def __init__(
        self,
        parts: Sequence[Part],
        quarantined: Quarantined | None,
        problems: list[str],
        runs: RunQuery | None = None,
        memo: Memo | None = None,
    ) -> None:
        self._parts = list(parts)
        self._quarantined = quarantined
        self._problems = problems
        self._runs_elsewhere = runs
        self._silenced: str | None = None
        self._tables: dict[str, str] = {}
        self._known_single: dict[str, bool] = {}
        self._memo = memo or Memo((), None)

    def rows(
        self,
        wanted: Sequence[str],
        where: sql.Where | None = None,
        *,
        runtimes: bool = False,
        on: On | None = None,
    ) -> list[tuple[Any, ...]]:
        """One row per cell with the ``wanted`` columns (``origin`` among them, if asked; times in microseconds).

        Where a cell was measured on several versions of a runtime the row that speaks is one of them, unless
        ``runtimes`` asks for each; ``on`` asks how it ends on one runtime. Ordered by torch, case, variant, exporter,
        opset.
        """
        where = where or {}
        columns = ", ".join(sql.shown(name) for name in wanted)
        order = ", ".join(sql.name(name) for name in ("torch", "case", "variant", "exporter", "opset", "provider"))
        text = f"SELECT {columns} FROM ({{}}) ORDER BY {order}"
        return self._ask(lambda: self._on(where, on) if on else self._speaking(where, runtimes), text)

    def grouped(
        self,
        by: Sequence[str],
        measures: Mapping[str, str],
        where: sql.Where,
        *,
        exactly: bool,
        on: On | None = None,
    ) -> list[tuple[Any, ...]]:
        """Measures (SQL) over groups of rows; one row per cell only where it has to be ``exactly`` so, or ``on``."""
        keys = ", ".join(sql.name(name) for name in by)
        said = ", ".join([keys, *(f"{text} AS {sql.name(name)}" for name, text in measures.items())])

        text = f"SELECT {said} FROM ({{}}) GROUP BY {keys} ORDER BY {keys}"
        return self._ask(self._counted(where, exactly, on), text, kept=True)

    def folded(
        self, by: Sequence[str], along: str, measure: str, where: sql.Where, *, exactly: bool, on: On | None = None
    ) -> list[tuple[Any, ...]]:
        """The measure (SQL) over groups of rows at each value of a column ``along``, as two lists for each group."""
        keys = ", ".join(sql.name(name) for name in by)
        column = sql.name(along)
        inner = f"SELECT {keys}, {column}, {measure} AS said FROM ({{}}) GROUP BY {keys}, {column}"
        text = f"SELECT {keys}, list({column}), list(said) FROM ({inner}) GROUP BY {keys}"
        return self._ask(self._counted(where, exactly, on), text, kept=True)

    def _counted(self, where: sql.Where, exactly: bool, on: On | None) -> _Source:
        if on:
            return lambda: self._on(where, on)
        return lambda: self._speaking(where, runtimes=False) if exactly else self._roughly(where)

    def _ask(self, source: _Source, around: str, *, kept: bool = False) -> list[tuple[Any, ...]]:
        """Ask once; where a file turns out to be damaged, without it again. ``kept``: few rows made of very many."""
        try:
            inner, values = source()
            return self._fetch(around.format(inner), values) if kept else sql.fetch(around.format(inner), values)
        except sql.error() as error:
            if not self._leave_out_damaged():
                raise sql.unanswered(error) from error
            return self._ask(source, around)

    def _fetch(self, text: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """As :func:`sql.fetch`, kept for the next process where it depends on nothing but parquet files."""
        if _CLOCK in text or self._tables:
            return sql.fetch(text, values)
        return self._memo.rows(text, values, lambda: sql.fetch(text, values))

    def _leave_out_damaged(self) -> bool:
        found = False
        for part in self._parts:
            for origin, path in list(part.paths.items()):
                problem = files.fault(path, "cells")
                if problem:
                    self._problems.append(problem)
                    del part.paths[origin]
                    found = True
        runs = self._runs_elsewhere
        return (runs is not None and runs.leave_out_damaged()) or found

    def _speaking(self, where: sql.Where, runtimes: bool) -> tuple[str, list[Any]]:
        """The rows that speak. Comparing rows is dear: a question about everything spares it where it cannot matter."""
        taken = [part for part in self._parts if part.takes(_frozen(where))]
        if len(where.get("case", ())) in range(1, _FEW):
            return self._one_per_cell(taken, where, runtimes)
        return self._apart(taken, self._single(taken), where, runtimes)

    def _on(self, where: sql.Where, on: On) -> tuple[str, list[Any]]:
        """The cells as they end on another runtime."""
        early = {name: wanted for name, wanted in where.items() if name not in elsewhere.MOVED}
        parts = [part for part in self._parts if part.takes(_frozen(early))]
        taken = {part.name for part in parts}
        once = taken <= self._single(parts) and len({name.rpartition("-")[2] for name in taken if "-" in name}) < 2
        cells, values = self._speaking(early, runtimes=True)
        late, more = sql.condition({name: wanted for name, wanted in where.items() if name in elsewhere.MOVED})
        runs, theirs = self._runs_elsewhere.speaking(on.where) if self._runs_elsewhere else elsewhere.NO_RUNS
        text = elsewhere.moved(cells, runs, on, once=once)
        return f"SELECT * FROM ({text}) WHERE {late}", [*values, *theirs, *more]

    def _roughly(self, where: sql.Where) -> tuple[str, list[Any]]:
        """As :meth:`_speaking`, without asking whether rows of one file compete."""
        taken = [part for part in self._parts if part.takes(_frozen(where))]
        return self._apart(taken, {part.name for part in taken if part.alone}, where, runtimes=False)

    def _apart(
        self, parts: Sequence[Part], single: Container[str], where: sql.Where, runtimes: bool
    ) -> tuple[str, list[Any]]:
        condition, values = sql.condition(where)
        mine = [part for part in parts if part.name in single]
        text = f"SELECT * FROM ({self._union(mine)}) WHERE {condition}{self._good()}"
        others = [part for part in parts if part.name not in single]
        if not others:
            return text, values
        more, its_values = self._one_per_cell(others, where, runtimes)
        return f"{text} UNION ALL BY NAME ({more})", [*values, *its_values]

    def _single(self, parts: Sequence[Part]) -> set[str]:
        """Those of the parts in which every cell has one row only, so that none competes; each is looked at once."""
        new = {path: part.name for part in parts if part.alone for path in part.paths.values()}
        new = {path: name for path, name in new.items() if name not in self._known_single}
        if new:
            key = ", ".join(sql.name(name) for name in CELL)
            counted = f"SELECT filename, count(*) = count(DISTINCT hash({key})) FROM {sql.files(new, named=True)}"
            counts = dict(self._fetch(f"{counted} GROUP BY filename"))
            self._known_single.update({name: counts.get(str(path), True) for path, name in new.items()})
        return {part.name for part in parts if self._known_single.get(part.name)}

    def _one_per_cell(self, parts: Sequence[Part], where: sql.Where, runtimes: bool) -> tuple[str, list[Any]]:
        early, values = sql.condition({name: wanted for name, wanted in where.items() if name in _EARLY})
        late, more = sql.condition({name: wanted for name, wanted in where.items() if name not in _EARLY})
        key = ", ".join(sql.name(name) for name in (IDENTITY if runtimes else CELL))
        now = round(time.time() * 1e6)
        speaks = (
            f"status IN ({_SAYS}) DESC, coalesce({_CLOCK} {now}, false) DESC, origin = 'local' DESC, "
            "measured_at DESC NULLS LAST, line DESC, run_id DESC"
        )
        text = (
            f"SELECT * FROM (SELECT * FROM ({self._union(parts)}) WHERE {early}{self._good()} "
            f"QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY {speaks}) = 1) WHERE {late}"
        )
        return text, [*values, *more]

    def _union(self, parts: Sequence[Part]) -> str:
        """The rows of these parts with their origin, and the number of the journal's line where they are in one."""
        by_origin: dict[str, list[Path]] = {}
        for part in parts:
            for origin, path in part.paths.items():
                by_origin.setdefault(origin, []).append(path)
        found = [f"SELECT *, NULL::VARCHAR AS origin, 0::BIGINT AS line FROM ({sql.empty('cells')})"]
        found += [
            f"SELECT *, '{origin}' AS origin, 0 AS line FROM {sql.files(some)}" for origin, some in by_origin.items()
        ]
        found += [
            f"SELECT *, 'local' AS origin FROM {self._journalled(part)}" for part in parts if part.fresh is not None
        ]
        return f"SELECT * REPLACE ({sql.STATUS} AS status) FROM ({' UNION ALL BY NAME '.join(found)})"

    def _journalled(self, part: Part) -> str:
        """The table in DuckDB with the rows of a part that are still in journals, numbered in their order."""
        if part.name not in self._tables:
            table = self._tables[part.name] = f"journalled_{next(_NUMBERS)}"
            sql.keep(table, part.fresh)
            weakref.finalize(self, sql.fetch, f"DROP TABLE {table}")
        return self._tables[part.name]

    def _good(self) -> str:
        """A clause that leaves out the rows of quarantined runs; empty where none is."""
        if self._quarantined is None:
            return ""
        if self._silenced is None:
            self._silenced = sql.none_of((env, run) for env, run, _ in self._runs if self._quarantined(env, run))
        return self._silenced

    @cached_property
    def _runs(self) -> list[tuple[Any, ...]]:
        text = "SELECT env_id, run_id, count(*) FROM ({}) GROUP BY env_id, run_id"
        return self._ask(lambda: (self._union(self._parts), []), text)

    def silenced_rows(self) -> int:
        """How many rows belong to quarantined runs."""
        if self._quarantined is None:
            return 0
        return sum(rows for env, run, rows in self._runs if self._quarantined(env, run))


def _frozen(where: sql.Where) -> dict[str, frozenset[Any]]:
    return {name: frozenset(values) for name, values in where.items()}
