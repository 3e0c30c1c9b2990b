"""Runs by SQL, as :mod:`caniexport.store.query` reads cells: rows of bundles on further runtimes, as plain values."""

from __future__ import annotations

import itertools
import time
import weakref
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.store import files, sql
from caniexport.store.merge import KEYS

if TYPE_CHECKING:
    from caniexport.store.gates import Quarantined

_ORDER = "origin = 'local', line, filename, file_row_number"
_NUMBERS = itertools.count()


class RunQuery:
    """Questions to the runs of a dataset, one row per identity: local before published, newer before older.

    folders      dataset folders by origin, the published one first
    fresh        rows still in journals, which are local
    quarantined  whether the run of an environment may not speak; ``None`` where all may
    problems     what cannot be read is left out and told to it
    """

    def __init__(
        self,
        folders: Mapping[str, Path],
        fresh: list[dict[str, Any]],
        quarantined: Quarantined | None,
        problems: list[str],
    ) -> None:
        self._fresh = fresh
        self._quarantined = quarantined
        self._problems = problems
        self._paths: dict[str, list[Path]] = {}
        for origin, folder in folders.items():
            usable, lost = files.usable(sorted((folder / "runs").glob("*.parquet")))
            self._problems += lost
            if usable:
                self._paths[origin] = usable

    def rows(self, wanted: Sequence[str], where: sql.Where) -> list[tuple[Any, ...]]:
        """The ``wanted`` columns (``origin`` among them, if asked) of the rows with these values, as they lie in the
        files, those of journals last. Times are in microseconds UTC.
        """
        shown = ", ".join(sql.shown(name) for name in wanted)
        return self._ask(f"SELECT {shown} FROM ({{}}) ORDER BY {_ORDER}", where)

    def grouped(self, by: Sequence[str], measures: Mapping[str, str], where: sql.Where) -> list[tuple[Any, ...]]:
        """For each group of rows its columns ``by``, then the measures (SQL), in the order in which groups occur."""
        keys = ", ".join(sql.name(name) for name in by)
        said = ", ".join([keys, *(f"{text} AS {sql.name(name)}" for name, text in measures.items())])
        numbered = f"SELECT *, row_number() OVER (ORDER BY {_ORDER}) AS place FROM ({{}})"
        return self._ask(f"SELECT {said} FROM ({numbered}) GROUP BY {keys} ORDER BY min(place)", where)

    def _ask(self, around: str, where: sql.Where) -> list[tuple[Any, ...]]:
        """Ask once; where a file turns out to be damaged, without it again."""
        try:
            text, values = self.speaking(where)
            return sql.fetch(around.format(text), values)
        except sql.error() as error:
            if not self.leave_out_damaged():
                raise sql.unanswered(error) from error
            return self._ask(around, where)

    def speaking(self, where: sql.Where) -> tuple[str, list[Any]]:
        """The rows with these values as a relation, with the values of its parameters."""
        keys = KEYS["runs"]
        compete = len(self._paths) > 1 or bool(self._fresh)
        early, values = sql.condition({name: wanted for name, wanted in where.items() if name in keys or not compete})
        late, more = sql.condition({name: wanted for name, wanted in where.items() if name not in keys and compete})
        text = f"SELECT * FROM ({self._union()}) WHERE {early}{self._good}"
        if not compete:
            return text, values
        now = round(time.time() * 1e6)
        speaks = (
            f"coalesce(epoch_us(measured_at) <= {now}, false) DESC, origin = 'local' DESC, "
            "measured_at DESC NULLS LAST, line DESC, filename DESC, file_row_number DESC"
        )
        key = ", ".join(sql.name(name) for name in keys)
        text += f" QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY {speaks}) = 1"
        return f"SELECT * FROM ({text}) WHERE {late}", [*values, *more]

    def _union(self) -> str:
        places = "NULL::VARCHAR AS filename, 0::BIGINT AS file_row_number"
        found = [f"SELECT *, NULL::VARCHAR AS origin, 0::BIGINT AS line, {places} FROM ({sql.empty('runs')})"]
        found += [
            f"SELECT *, '{origin}' AS origin, 0 AS line FROM {sql.files(paths, named=True, numbered=True)}"
            for origin, paths in self._paths.items()
        ]
        if self._fresh:
            found.append(f"SELECT *, 'local' AS origin FROM {self._journalled}")
        return f"SELECT * REPLACE ({sql.STATUS} AS status) FROM ({' UNION ALL BY NAME '.join(found)})"

    @cached_property
    def _journalled(self) -> str:
        """The table in DuckDB with the rows that are still in journals, numbered in their order."""
        from caniexport.store.schema import from_normalised

        table = f"journalled_runs_{next(_NUMBERS)}"
        sql.keep(table, from_normalised("runs", self._fresh))
        weakref.finalize(self, sql.fetch, f"DROP TABLE {table}")
        return table

    @cached_property
    def _good(self) -> str:
        """A clause that leaves out the rows of quarantined runs; empty where none is."""
        if self._quarantined is None:
            return ""
        pairs = sql.fetch(f"SELECT env_id, run_id FROM ({self._union()}) GROUP BY env_id, run_id")
        return sql.none_of(pair for pair in pairs if self._quarantined(*pair))

    def leave_out_damaged(self) -> bool:
        """Leave out the files that cannot be read to their end; whether there was one."""
        found = False
        for paths in self._paths.values():
            for path in list(paths):
                problem = files.fault(path, "runs")
                if problem:
                    self._problems.append(problem)
                    paths.remove(path)
                    found = True
        self._paths = {origin: paths for origin, paths in self._paths.items() if paths}
        return found
