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
#: where a run of an environment notes its plan
_PLANS = "done/{}.plan.json"


class RowCount:
    """Counts rows of a table in the journals of runs; what was counted is not read again."""

    def __init__(self, local: Path, table: str = "cells") -> None:
        self._folder = local / "journal"
        self._mark = f'"kind": "{table.removesuffix("s")}"'.encode()
        #: by journal: bytes that were read (whole lines only), rows in them
        self._known: dict[Path, tuple[int, int]] = {}

    def has_begun(self, run_id: str) -> bool:
        """Whether a run has a journal: before, its environment is being made."""
        return any(self._folder.glob(f"*{run_id}-*.jsonl"))

    def of(self, run_id: str) -> int:
        """Rows of a run as of now. A journal that is compacted in this moment counts as it did before."""
        return sum(self._count(path) for path in self._folder.glob(f"*{run_id}-*.jsonl"))

    def _count(self, path: Path) -> int:
        read, rows = self._known.get(path, (0, 0))
        try:
            with path.open("rb") as file:
                file.seek(read)
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    read += len(line)
                    rows += self._mark in line[:64]
        except FileNotFoundError:
            pass
        self._known[path] = read, rows
        return rows


def write_plan(local: Path, name: str, run_id: str, cells: int) -> None:
    """Write the number of cells that a run plans to measure, for readers while it runs."""
    path = local / _PLANS.format(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"run_id": run_id, "cells": cells}), encoding="utf-8")


def read_plan(local: Path, name: str, run_id: str) -> int | None:
    """Return the number of cells that this run plans to measure, ``None`` if it is unknown."""
    try:
        found: Mapping[str, object] = json.loads((local / _PLANS.format(name)).read_text(encoding="utf-8"))
        return int(str(found["cells"])) if found["run_id"] == run_id else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


@dataclass
class Progress:
    """Counts, rate and time left. On a terminal one line that is rewritten, elsewhere a line every 15 s.

    Environments go by their labels; ``things`` are ``cells`` or ``bundles``.
    """

    say: Callable[[str], None]
    things: str = "cells"
    _planned: dict[str, int] = field(default_factory=dict)
    _finished: dict[str, int] = field(default_factory=dict)
    #: by label: when its environment was there
    _since: dict[str, float] = field(default_factory=dict)
    _said: float = 0.0

    def begin(self, planned: dict[str, int]) -> None:
        """Set how many are to be measured, by label, and say the sum."""
        self._planned = planned
        if planned:
            self.say(f"{len(planned)} release(s), {sum(planned.values())} {self.things} to measure")

    def update(self, label: str, finished: int, has_begun: bool = True) -> None:
        """Show how many of a label are finished. A run that has not begun is waiting for its environment."""
        place = f"release {list(self._planned).index(label) + 1}/{len(self._planned)}"
        if label not in self._finished and not has_begun:
            self._show(f"{label}: installing its environment · {place}")
            return
        self._finished[label] = finished
        seconds = time.monotonic() - self._since.setdefault(label, time.monotonic())
        line = f"{label}: {finished}/{self._planned[label]} {self.things} · {place}"
        if not finished:
            self._show(f"{line} · measuring")
            return
        rate = finished / max(seconds, 1e-6)
        left = sum(self._planned.values()) - sum(self._finished.values())
        self._show(f"{line} · {rate:.0f} {self.things}/s · {_format_duration(left / rate)} left")

    def _show(self, line: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()
        elif time.monotonic() - self._said > _LINE_SECONDS:
            self._said = time.monotonic()
            self.say(line)

    def end(self, label: str, planned: int, measured: int, problem: str) -> None:
        """An environment is finished, or given up."""
        self._finished[label] = planned
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")
        if not problem:
            self.say(f"{label}: {measured} {self.things} measured")


def _format_duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
