"""Which runs may speak: the gate's word on each run, looked up for the rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

GOOD = "good"


class Gates:
    """The gate's words on the runs of an environment table."""

    def __init__(self, environments: Iterable[Mapping[str, Any]]) -> None:
        self._runs: dict[tuple[str | None, str | None], Mapping[str, Any]] = {}
        self._by_environment: dict[str | None, list[Mapping[str, Any]]] = {}
        for row in environments:
            self._runs[row["env_id"], row["run_id"]] = row
            self._by_environment.setdefault(row["env_id"], []).append(row)

    @property
    def silencing(self) -> bool:
        """Whether any run is quarantined at all."""
        return any(row["gate"] not in (None, GOOD) for row in self._runs.values())

    def word(self, env_id: str | None, run_id: str | None) -> str | None:
        """``good``, why the run is quarantined, or ``None`` where nobody has judged it yet.

        A run that ended unjudged (killed) takes the word of the newest run in the same environment that was judged
        after it: that run resumed it, and was judged with its rows.
        """
        own = self._runs.get((env_id, run_id))
        if own is not None and own["gate"] is not None:
            return str(own["gate"])
        later = [row for row in self._by_environment.get(env_id, ()) if row["gate"] is not None and _after(row, own)]
        return str(max(later, key=_time)["gate"]) if later else None

    def quarantined(self, env_id: str | None, run_id: str | None) -> bool:
        """Whether the run has been judged, and not as good."""
        return self.word(env_id, run_id) not in (None, GOOD)


def mask(rows: pa.Table, wanted: Callable[[str | None, str | None], bool]) -> pa.ChunkedArray | None:
    """True for the rows whose environment and run are ``wanted``; ``None`` where no row's are."""
    import pyarrow.compute as pc

    keys = rows.select(["env_id", "run_id"]).unify_dictionaries()
    pairs = keys.group_by(["env_id", "run_id"]).aggregate([]).to_pylist()
    found = None
    for pair in pairs:
        if wanted(pair["env_id"], pair["run_id"]):
            hit = pc.and_(_equals(rows, "env_id", pair["env_id"]), _equals(rows, "run_id", pair["run_id"]))
            found = hit if found is None else pc.or_(found, hit)
    return found


def _equals(rows: pa.Table, name: str, value: str | None) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    column = rows.column(name)
    return column.is_null() if value is None else pc.equal(column, value).fill_null(False)


def _after(row: Mapping[str, Any], own: Mapping[str, Any] | None) -> bool:
    return own is None or _time(row) >= _time(own)


def _time(row: Mapping[str, Any]) -> float:
    return float(row["measured_at"].timestamp()) if row["measured_at"] else 0.0
