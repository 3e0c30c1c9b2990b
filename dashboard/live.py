"""Measurements that are going on: what the journals of the local dataset hold so far."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.progress import count_cells

_JOURNAL = re.compile(r"torch-(?P<torch>.+)-(?P<provider>[a-z]+)-(?P<run>\d{8}T\d{6}-\w+)-\d+\.jsonl")
#: a journal that was written to within these seconds belongs to a run that goes on
_ALIVE = 180.0


@dataclass(frozen=True)
class Going:
    """A run whose journals are still written: cells so far, seconds since it began and since its last row."""

    torch: str
    provider: str
    run_id: str
    cells: int
    seconds: float
    quiet: float
    expected: int | None

    @property
    def rate(self) -> float:
        """Cells a second since the run began."""
        return self.cells / self.seconds if self.seconds > 0 else 0.0

    @property
    def left(self) -> float | None:
        """Seconds left, where an earlier run says how many cells there are."""
        if self.expected is None or not self.rate or self.cells > self.expected:
            return None
        return (self.expected - self.cells) / self.rate


def going(local: Path, now: float, planned: Mapping[str, int]) -> list[Going]:
    """The runs that go on at ``now`` (seconds of the epoch). ``planned`` are the cells of earlier runs by release."""
    runs: dict[tuple[str, str, str], list[float]] = {}
    begun: dict[str, float] = {}
    for path in sorted((local / "journal").glob("*.jsonl")):
        found = _JOURNAL.fullmatch(path.name)
        if not found:
            continue
        try:
            status = path.stat()
        except FileNotFoundError:
            continue  # compacted in this moment
        runs.setdefault((found["torch"], found["provider"], found["run"]), []).append(status.st_mtime)
        begun.setdefault(found["run"], _started(found["run"]))
    return [
        Going(torch, provider, run, _count(local, run), now - begun[run], now - max(times), planned.get(torch))
        for (torch, provider, run), times in runs.items()
        if now - max(times) < _ALIVE
    ]


def _started(run: str) -> float:
    from datetime import UTC, datetime

    return datetime.strptime(run.partition("-")[0], "%Y%m%dT%H%M%S").replace(tzinfo=UTC).timestamp()


def _count(local: Path, run: str) -> int:
    try:
        return count_cells(local, run)
    except FileNotFoundError:
        return 0


def planned(rows: Iterable[Mapping[str, object]]) -> dict[str, int]:
    """By release: the cells that its last whole run planned, from rows of environments."""
    return {str(row["torch"]): int(str(row["planned"])) for row in rows if row.get("torch") and row.get("planned")}
