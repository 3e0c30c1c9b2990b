"""Cells by SQL: one row for each, whatever version of a runtime it was measured on, or as it ends on one asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.store import elsewhere, sql
from caniexport.store.elsewhere import On
from caniexport.store.gates import Quarantined
from caniexport.store.parts import Part
from caniexport.store.query import ORDER, Query, Source, group_text, names, with_origin
from caniexport.store.summary import WrittenSummary
from caniexport.store.which_row import CELL

if TYPE_CHECKING:
    import pyarrow as pa

#: columns by which cells are counted in the written summary, in its column ``cells``
COUNTED_BY = (
    *("torch", "exporter", "opset", "provider", "runtime", "runtime_version"),
    *("stage", "status", "exporter_effective", "opset_effective", "origin"),
)


class CellsQuery(Query):
    """Questions to the cells of a dataset; ``replays`` are questions to the replays of their bundles."""

    def __init__(
        self,
        parts: Sequence[Part],
        quarantined: Quarantined | None,
        problems: list[str],
        replays: Query,
        summary: WrittenSummary,
    ) -> None:
        super().__init__("cells", parts, quarantined, problems)
        self._replays = replays
        self._summary = summary

    def cells(
        self, wanted: Sequence[str], where: sql.Where, *, runtimes: bool = False, on: On | None = None
    ) -> list[tuple[Any, ...]]:
        """One row per cell with the ``wanted`` columns, as :meth:`rows` gives them.

        Where a cell was measured on several versions of a runtime one of them is taken, unless ``runtimes`` asks for
        each; ``on`` asks how it ends on one runtime.
        """
        return self._rows(wanted, (lambda: self.speaking(where)) if runtimes else self._source(where, on))

    def table(
        self, wanted: Sequence[str], where: sql.Where, *, runtimes: bool = False, on: On | None = None
    ) -> pa.Table:
        """The same rows as a table, with their ``origin``."""
        source = (lambda: self.speaking(where)) if runtimes else self._source(where, on)
        text = f"SELECT {names((*wanted, 'origin'))} FROM ({{}}) ORDER BY {ORDER['cells']}"
        return self._ask(source, text, sql.fetch_arrow).cast(with_origin("cells", wanted))

    def grouped_cells(
        self, by: Sequence[str], measures: Mapping[str, str], where: sql.Where, on: On | None
    ) -> list[tuple[Any, ...]]:
        """Measures (SQL) over groups of cells."""
        return self._ask(self._source(where, on), group_text(by, measures), sql.fetch)

    def kept_groups(self, by: Sequence[str], measures: Mapping[str, str], where: sql.Where) -> list[tuple[Any, ...]]:
        """Measures (SQL) over groups of all cells, from the summary; the filters are on the columns ``by``."""
        text = f"SELECT * FROM ({group_text(by, measures)})"
        return self._ask(lambda: self._written(text, CELL, where), "{}", sql.fetch)

    def counted(self, by: Sequence[str], measures: Mapping[str, str], where: sql.Where) -> list[tuple[Any, ...]]:
        """Measures (SQL over :data:`COUNTED_BY` and ``cells``, their number) over groups of cells, from the summary.

        A cell counts once for each version of a runtime that it was measured on.
        """
        return self._ask(lambda: self._counted(where), group_text(by, measures), sql.fetch)

    def distinct(self, by: Sequence[str], where: sql.Where) -> list[tuple[Any, ...]]:
        """The values of columns that occur beside each other; of all cells from the summary."""
        text = f"SELECT DISTINCT {names(by)} FROM ({{}})"
        if where:
            return self._ask(lambda: self.speaking(where), text, sql.fetch)
        return self._ask(lambda: self._written(text, (), {}), "{}", sql.fetch)

    def relation(self) -> str:
        """All cells as SQL, one row for each: files that hold all rows of theirs alone are taken to have one."""
        single = {part.name for part in self._parts if part.alone}
        return self._apart(self._parts, single, {}, CELL)[0]

    def counted_relation(self) -> str:
        """The number of cells by :data:`COUNTED_BY` as SQL, from the summary."""
        return self._counted({})[0]

    def leave_out_damaged(self) -> bool:
        """Leave out the files of cells and replays that cannot be read to their end; whether there was one."""
        lost = [self._summary.forget_lost(), super().leave_out_damaged(), self._replays.leave_out_damaged()]
        return any(lost)

    def _counted(self, where: sql.Where) -> tuple[str, list[Any]]:
        columns = names(COUNTED_BY)
        count = f'SELECT {columns}, count(*) AS cells FROM ({{}}) WHERE "case" IS NOT NULL GROUP BY {columns}'
        return self._written(count, (), where)

    def _source(self, where: sql.Where, on: On | None) -> Source:
        return lambda: self._on(where, on) if on else self._one_each(self._taken(where), where, CELL)

    def _written(self, query: str, key: Sequence[str], where: sql.Where) -> tuple[str, list[Any]]:
        """The rows with these values of a query about all cells (one for each ``key``) that is kept."""
        condition, values = sql.condition(where)
        name = f"{query}{key}{self._good()}"
        kept = self._summary.relation(name, lambda: query.format(self._all(key)), self._lasts)
        return f"SELECT * FROM {kept} WHERE {condition}", values

    def _all(self, key: Sequence[str]) -> str:
        """All rows, one for each ``key``."""
        alone = [part for part in self._parts if part.alone]
        single = self._single(alone) if key else {part.name for part in alone}
        return self._apart(self._parts, single, {}, key)[0]

    def _single(self, parts: Sequence[Part]) -> set[str]:
        """Those of the parts in which every cell has one row only, so that none competes."""
        paths = {str(path): part.name for part in parts for path in part.paths.values()}
        if not paths:
            return set()
        source = sql.files(map(Path, paths))
        counted = f"SELECT filename, count(*) = count(DISTINCT hash({names(CELL)})) FROM {source} GROUP BY filename"
        return {paths[path] for path, single in sql.fetch(counted) if single}

    def _lasts(self) -> bool:
        """Whether no row is ahead of the clock: such a row is another one tomorrow."""
        ((ahead,),) = sql.fetch(f"SELECT count(*) FROM ({self._union(self._parts)}) WHERE measured_at > now()")
        return not ahead

    def _on(self, where: sql.Where, on: On) -> tuple[str, list[Any]]:
        """The cells as they end on another runtime."""
        early = {name: wanted for name, wanted in where.items() if name not in elsewhere.MOVED}
        cells, values = self.speaking(early)
        late, more = sql.condition({name: wanted for name, wanted in where.items() if name in elsewhere.MOVED})
        runs, theirs = self._replays.speaking(on.where)
        return f"SELECT * FROM ({elsewhere.moved(cells, runs, on)}) WHERE {late}", [*values, *theirs, *more]
