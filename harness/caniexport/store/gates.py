"""Which runs' rows may be used: the gate's verdict on each run, looked up for the rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

GOOD = "good"
#: whether the rows of the run (env_id, run_id) may not be used
Quarantined = Callable[[str | None, str | None], bool]


class Gates:
    """The gate's verdicts on the runs of an environment table."""

    def __init__(self, environments: Iterable[Mapping[str, Any]]) -> None:
        self._runs: dict[tuple[str | None, str | None], Mapping[str, Any]] = {}
        for row in environments:
            self._runs[row["env_id"], row["run_id"]] = row

    @property
    def has_quarantined(self) -> bool:
        """Whether any run is quarantined at all."""
        return any(row["gate"] not in (None, GOOD) for row in self._runs.values())

    def verdict(self, env_id: str | None, run_id: str | None) -> str | None:
        """Return ``good``, or why the run is quarantined; ``None`` where no verdict was kept."""
        own = self._runs.get((env_id, run_id))
        return None if own is None or own["gate"] is None else str(own["gate"])

    def is_quarantined(self, env_id: str | None, run_id: str | None) -> bool:
        """Whether the run has been judged, and not as good."""
        return self.verdict(env_id, run_id) not in (None, GOOD)
