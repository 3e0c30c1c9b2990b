"""Measurements that are going on: what the journals of the local dataset hold so far."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from caniexport.measure.progress import RowCount, read_plan

_JOURNAL = re.compile(r"torch-(?P<torch>.+)-(?P<provider>[a-z]+)-(?P<run>\d{8}T\d{6}-\w+)-\d+\.jsonl")
#: a journal that was written to within these seconds belongs to a run that goes on
_ALIVE = 180.0


@dataclass(frozen=True)
class RepeatedSample:
    """The cells of a finished run that are measured a second time: so far, of how many."""

    cells: int
    expected: int


@dataclass(frozen=True)
class RunningMeasurement:
    """A run whose journals are still written: cells so far, seconds since it began and since its last row."""

    torch: str
    provider: str
    run_id: str
    cells: int
    seconds: float
    quiet: float
    expected: int | None
    sample: RepeatedSample | None = None

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


def find_running(
    local: Path, now: float, planned: Mapping[str, int], count: RowCount | None = None
) -> list[RunningMeasurement]:
    """The runs that go on at ``now`` (seconds of the epoch).

    How many cells a run measures it has noted itself; where it has not, ``planned`` by release is guessed from. With
    the ``count`` of an earlier call only what is new in the journals is read.
    """
    count = count or RowCount(local)
    runs: dict[tuple[str, str, str], list[float]] = {}
    begun: dict[str, float] = {}
    for path in sorted((local / "journal").glob("*.jsonl")):
        named = _JOURNAL.fullmatch(path.name)
        if not named:
            continue
        try:
            status = path.stat()
        except FileNotFoundError:
            continue  # compacted in this moment
        runs.setdefault((named["torch"], named["provider"], named["run"]), []).append(status.st_mtime)
        begun.setdefault(named["run"], _started(named["run"]))
    found = []
    for (torch, provider, run), times in runs.items():
        name = f"torch{torch}-{provider}"
        quiet = now - max(times + _written(local / "again" / name))
        if quiet < _ALIVE:
            expected = read_plan(local, name, run) or planned.get(torch)
            sample = _sample(local, name, run)
            found.append(
                RunningMeasurement(torch, provider, run, count.of(run), now - begun[run], quiet, expected, sample)
            )
    return found


def _written(local: Path) -> list[float]:
    """When each journal of a folder was last written to."""
    found = []
    for path in (local / "journal").glob("*.jsonl"):
        try:
            found.append(path.stat().st_mtime)
        except FileNotFoundError:
            continue
    return found


def _sample(local: Path, name: str, run: str) -> RepeatedSample | None:
    """How far the second measurement of a run's sample is; ``None`` where it has not begun, or is over."""
    folder = local / "again" / name
    if not folder.is_dir():
        return None
    try:
        expected = len(folder.with_name(f"{name}.txt").read_text(encoding="utf-8").split())
    except OSError:
        return None
    return RepeatedSample(RowCount(folder).of(f"{run}-again"), expected)


def _started(run: str) -> float:
    from datetime import UTC, datetime

    return datetime.strptime(run.partition("-")[0], "%Y%m%dT%H%M%S").replace(tzinfo=UTC).timestamp()


def planned(rows: Iterable[Mapping[str, object]]) -> dict[str, int]:
    """By release: the most cells that a run of it planned, from rows of environments."""
    found: dict[str, int] = {}
    for row in rows:
        if row.get("torch") and row.get("planned"):
            torch = str(row["torch"])
            found[torch] = max(found.get(torch, 0), int(str(row["planned"])))
    return found
