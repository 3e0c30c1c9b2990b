"""Progress of a measurement over all its releases, for a terminal and for a log."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_LINE_SECONDS = 15.0
_MARK = b'"kind": "cell"'


def count_cells(local: Path, run_id: str) -> int:
    """Finished cells in the journals of a run."""
    total = 0
    for path in (local / "journal").glob(f"*{run_id}-*.jsonl"):
        with path.open("rb") as file:
            total += sum(line.startswith(b'{"kind": "cell"') or _MARK in line[:64] for line in file)
    return total


@dataclass
class Progress:
    """Counts, rate and time left. On a terminal one line that is rewritten, elsewhere a line every 15 s."""

    say: Callable[[str], None]
    _planned: dict[str, int] = field(default_factory=dict)
    _finished: dict[str, int] = field(default_factory=dict)
    _started: float = 0.0
    _said: float = 0.0

    def begin(self, planned: dict[str, int]) -> None:
        """``planned`` has the cells to measure by release."""
        self._planned = planned
        self._started = time.monotonic()
        if planned:
            self.say(f"{len(planned)} release(s), {sum(planned.values())} cells to measure")

    def update(self, release: str, cells: int) -> None:
        """``cells`` of this release are finished."""
        self._finished[release] = cells
        line = self.line(release)
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()
        elif time.monotonic() - self._said > _LINE_SECONDS:
            self._said = time.monotonic()
            self.say(line)

    def end_release(self, release: str, planned: int, measured: int, problem: str) -> None:
        """A release is finished, or given up."""
        self._finished[release] = planned
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")
        if not problem:
            self.say(f"torch {release}: {measured} cells measured")

    def line(self, release: str) -> str:
        """``torch 2.8.0: 120/3400 cells · release 2/6 · 41 cells/s · 1 min left``."""
        total, done = sum(self._planned.values()), sum(self._finished.values())
        seconds = max(time.monotonic() - self._started, 1e-6)
        rate = done / seconds
        left = f"{_duration((total - done) / rate)} left" if done else "installing"
        place = list(self._planned).index(release) + 1
        return (
            f"torch {release}: {self._finished[release]}/{self._planned[release]} cells · "
            f"release {place}/{len(self._planned)} · {rate:.0f} cells/s · {left}"
        )


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
