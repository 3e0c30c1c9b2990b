"""Cells by SQL: one row for each, whatever version of a runtime it was measured on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from caniexport.store import sql
from caniexport.store.gates import Quarantined
from caniexport.store.parts import Part
from caniexport.store.query import Query, group_query, list_columns
from caniexport.store.summary import WrittenSummary
from caniexport.store.which_row import CELL

#: columns by which cells are counted in the written summary, in its column ``cells``
COUNTED_BY = (
    *("torch", "exporter", "opset", "provider", "runtime", "runtime_version"),
    *("stage", "status", "exporter_effective", "opset_effective", "origin"),
)


class CellsQuery(Query):
    """Questions to the cells of a dataset; what all of them come to is in its written ``summary``."""

    def __init__(
        self, parts: Sequence[Part], quarantined: Quarantined | None, problems: list[str], summary: WrittenSummary
    ) -> None:
        super().__init__("cells", parts, quarantined, problems)
        self._summary = summary

    def cells(self, wanted: Sequence[str], where: sql.Where, *, runtimes: bool = False) -> list[tuple[Any, ...]]:
        """One row per cell with the ``wanted`` columns, as :meth:`rows` gives them.

        Where a cell was measured on several versions of a runtime one of them is taken, unless ``runtimes`` asks for
        each.
        """
        return self._rows(wanted, lambda: self.select_rows(where) if runtimes else self._cell(where))

    def grouped_cells(self, by: Sequence[str], measures: Mapping[str, str], where: sql.Where) -> list[tuple[Any, ...]]:
        """Measures (SQL) over groups of cells."""
        return self._ask(lambda: self._cell(where), group_query(by, measures), sql.fetch)

    def counted(self, by: Sequence[str], measures: Mapping[str, str]) -> list[tuple[Any, ...]]:
        """Measures (SQL over :data:`COUNTED_BY` and ``cells``, their number) over groups of cells, from the summary.

        A cell counts once for each version of a runtime that it was measured on.
        """
        return self._ask(lambda: (self.counted_relation(), []), group_query(by, measures), sql.fetch)

    def distinct(self, by: Sequence[str], where: sql.Where) -> list[tuple[Any, ...]]:
        """Return each combination of values of some columns; of all cells from the summary."""
        text = f"SELECT DISTINCT {list_columns(by)} FROM ({{}})"
        if where:
            return self._ask(lambda: self.select_rows(where), text, sql.fetch)
        return self._ask(lambda: (self._written(text), []), "FROM {}", sql.fetch)

    def relation(self) -> str:
        """All cells as SQL, one row for each: files that hold all rows of theirs alone are taken to have one."""
        return self._apart(self._parts, self._alone, {}, CELL)[0]

    def counted_relation(self) -> str:
        """The number of cells by :data:`COUNTED_BY` as SQL, from the summary."""
        columns = list_columns(COUNTED_BY)
        counted = f'SELECT {columns}, count(*) AS cells FROM ({{}}) WHERE "case" IS NOT NULL GROUP BY {columns}'
        return f"SELECT * FROM {self._written(counted)}"

    def leave_out_damaged(self) -> bool:
        """Leave out the files that cannot be read to their end; whether there was one."""
        return any([self._summary.forget_lost(), super().leave_out_damaged()])

    def _cell(self, where: sql.Where) -> tuple[str, list[Any]]:
        return self._one_each(self._taken(where), where, CELL)

    @property
    def _alone(self) -> set[str]:
        return {part.name for part in self._parts if part.is_alone}

    def _written(self, query: str) -> str:
        """The rows of a query about all cells, which are kept."""
        every = self._apart(self._parts, self._alone, {})[0]
        return self._summary.relation(f"{query}{self._good()}", lambda: query.format(every), self._lasts)

    def _lasts(self) -> bool:
        """Whether no row is ahead of the clock: such a row is another one tomorrow."""
        ((ahead,),) = sql.fetch(f"SELECT count(*) FROM ({self._union(self._parts)}) WHERE measured_at > now()")
        return not ahead
