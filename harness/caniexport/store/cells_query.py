"""Cells by SQL: one row for each, whatever version of a runtime it was measured on, or as it ends on one asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from caniexport.store import elsewhere, sql
from caniexport.store.elsewhere import On
from caniexport.store.gates import Quarantined
from caniexport.store.memo import Memo
from caniexport.store.parts import Part
from caniexport.store.query import Query, Source
from caniexport.store.which_row import CELL

#: so many cases that their rows are rather compared than looked through beforehand
_FEW = 50


class CellsQuery(Query):
    """Questions to the cells of a dataset; ``replays`` are questions to the replays of their bundles."""

    def __init__(
        self,
        parts: Sequence[Part],
        quarantined: Quarantined | None,
        problems: list[str],
        replays: Query | None = None,
        memo: Memo | None = None,
    ) -> None:
        super().__init__("cells", parts, quarantined, problems, memo)
        self._replays = replays
        self._known_single: dict[str, bool] = {}

    def cells(
        self, wanted: Sequence[str], where: sql.Where, *, runtimes: bool = False, on: On | None = None
    ) -> list[tuple[Any, ...]]:
        """One row per cell with the ``wanted`` columns, as :meth:`rows` gives them.

        Where a cell was measured on several versions of a runtime one of them is taken, unless ``runtimes`` asks for
        each; ``on`` asks how it ends on one runtime.
        """
        return self._rows(wanted, lambda: self._on(where, on) if on else self._speaking(where, runtimes))

    def counted(
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
        return self._ask(self._source(where, exactly, on), text, self._fetch)

    def folded(
        self, by: Sequence[str], along: str, measure: str, where: sql.Where, *, exactly: bool, on: On | None = None
    ) -> list[tuple[Any, ...]]:
        """The measure (SQL) over groups of rows at each value of a column ``along``, as two lists for each group."""
        keys = ", ".join(sql.name(name) for name in by)
        column = sql.name(along)
        inner = f"SELECT {keys}, {column}, {measure} AS said FROM ({{}}) GROUP BY {keys}, {column}"
        text = f"SELECT {keys}, list({column}), list(said) FROM ({inner}) GROUP BY {keys}"
        return self._ask(self._source(where, exactly, on), text, self._fetch)

    def leave_out_damaged(self) -> bool:
        """Leave out the files of cells and replays that cannot be read to their end; whether there was one."""
        found = super().leave_out_damaged()
        return (self._replays is not None and self._replays.leave_out_damaged()) or found

    def _source(self, where: sql.Where, exactly: bool, on: On | None) -> Source:
        if on:
            return lambda: self._on(where, on)
        return lambda: self._speaking(where, runtimes=False) if exactly else self._roughly(where)

    def _speaking(self, where: sql.Where, runtimes: bool) -> tuple[str, list[Any]]:
        """The rows that speak. Comparing rows is dear: a question about everything spares it where it cannot matter."""
        taken, key = self._taken(where), () if runtimes else CELL
        if len(where.get("case", ())) in range(1, _FEW):
            return self._one_each(taken, where, key)
        return self._apart(taken, self._single(taken), where, key)

    def _on(self, where: sql.Where, on: On) -> tuple[str, list[Any]]:
        """The cells as they end on another runtime."""
        early = {name: wanted for name, wanted in where.items() if name not in elsewhere.MOVED}
        parts = self._taken(early)
        taken = {part.name for part in parts}
        once = taken <= self._single(parts) and len({name.rpartition("-")[2] for name in taken if "-" in name}) < 2
        cells, values = self._speaking(early, runtimes=True)
        late, more = sql.condition({name: wanted for name, wanted in where.items() if name in elsewhere.MOVED})
        runs, theirs = self._replays.speaking(on.where) if self._replays else elsewhere.NO_RUNS
        text = elsewhere.moved(cells, runs, on, once=once)
        return f"SELECT * FROM ({text}) WHERE {late}", [*values, *theirs, *more]

    def _roughly(self, where: sql.Where) -> tuple[str, list[Any]]:
        """As :meth:`_speaking`, without asking whether rows of one file compete."""
        taken = self._taken(where)
        return self._apart(taken, {part.name for part in taken if part.alone}, where, CELL)

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
