"""Progress of a measurement over all its releases, for a terminal and for a log."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

_LINE_SECONDS = 15.0
_MARK = b'"kind": "cell"'


def count_cells(local: Path, run_id: str) -> int:
    """Finished cells in the journals of a run."""
    return CellCount(local).of(run_id)


class CellCount:
    """Counts finished cells in the journals of runs; what was counted is not read again."""

    def __init__(self, local: Path) -> None:
        self._folder = local / "journal"
        #: by journal: bytes that were read (whole lines only), cells in them
        self._known: dict[Path, tuple[int, int]] = {}

    def of(self, run_id: str) -> int:
        """Finished cells of a run as of now. A journal that is compacted in this moment counts as it did before."""
        return sum(self._count(path) for path in self._folder.glob(f"*{run_id}-*.jsonl"))

    def _count(self, path: Path) -> int:
        read, cells = self._known.get(path, (0, 0))
        try:
            with path.open("rb") as file:
                file.seek(read)
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    read += len(line)
                    cells += _MARK in line[:64]
        except FileNotFoundError:
            pass
        self._known[path] = read, cells
        return cells


def note_plan(local: Path, name: str, run_id: str, cells: int) -> None:
    """Write down how many cells a run is going to measure, for whoever looks at it while it goes on."""
    path = _plan(local, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"run_id": run_id, "cells": cells}), encoding="utf-8")


def noted_plan(local: Path, name: str, run_id: str) -> int | None:
    """The cells that this run of an environment said it was going to measure; ``None`` where it did not say."""
    try:
        found: Mapping[str, object] = json.loads(_plan(local, name).read_text(encoding="utf-8"))
        return int(str(found["cells"])) if found["run_id"] == run_id else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _plan(local: Path, name: str) -> Path:
    return local / "done" / f"{name}.plan.json"


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

    def planned(self, release: str) -> int:
        """The cells that are to be measured of a release."""
        return self._planned.get(release, 0)

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
