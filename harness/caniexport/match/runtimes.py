"""An error that a runtime gives for the file of a case that works where it was measured: on which of its releases."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from caniexport import versions
from caniexport.answers.on_runtimes import ON_CPU, on_runtimes
from caniexport.answers.reading import Rows
from caniexport.answers.rows import MeasuredCell
from caniexport.match.error_index import read_known
from caniexport.match.evidence import ErrorEvidence
from caniexport.match.judged import CaseAt, FixAt
from caniexport.model.case import PLAIN
from caniexport.store import Dataset


@dataclass(frozen=True)
class RuntimeSpan:
    """The releases of a runtime that give an error for a case's file, oldest first.

    ``later`` is the oldest one behind them from which on the file works; empty where none is. ``fix`` works on the
    newest of those that give the error.
    """

    runtime: str
    failing: tuple[str, ...]
    later: str
    fix: FixAt | None

    @property
    def told(self) -> str:
        """What fails, and what to do about it."""
        first, last = self.failing[0], self.failing[-1]
        span = last if first == last else f"{first} to {last}"
        fails = f"{self.runtime} {span} {'gives' if first == last else 'give'} this error for its file"
        ways = [f"upgrade {self.runtime}"] if self.later else []
        ways += [f"use the workaround `{self.fix.variant}` ({self.fix.told})"] if self.fix else []
        works = f", and from {self.later} on it works" if self.later else ""
        way = f": {', or '.join(ways)}" if ways else ""
        return f"{fails}{works}{way}."


def runtime_span(dataset: Dataset, rows: Rows, at: CaseAt, evidence: ErrorEvidence) -> RuntimeSpan | None:
    """On which releases of a runtime the file that a case works with at a point has an error; ``None`` for on none."""
    where = {"torch": (at.torch,), "exporter": (at.exporter,), "opset": (at.opset,), "provider": ("cpu",)}
    cells = [cell for cell in rows.cells(case=(at.entry.case,), **where) if cell.works]
    ends: dict[tuple[str, str], list[MeasuredCell]] = defaultdict(list)
    for cell in [*cells, *on_runtimes(dataset, cells, rows.catalogue)]:
        if cell.provider in ON_CPU and cell.runtime:
            ends[cell.variant, cell.runtime].append(cell)
    for (variant, runtime), found in ends.items():
        failing = [cell for cell in found if variant == PLAIN and not cell.works and _has(dataset, cell, evidence)]
        if failing:
            return _span(runtime, found, _ordered(failing), at, ends)
    return None


def _span(
    runtime: str,
    found: list[MeasuredCell],
    failing: tuple[str, ...],
    at: CaseAt,
    ends: dict[tuple[str, str], list[MeasuredCell]],
) -> RuntimeSpan:
    newer = [cell for cell in found if versions.parse(cell.runtime_version or "0") > versions.parse(failing[-1])]
    later = _ordered(newer)[:1] if all(cell.works for cell in newer) else ()
    works = {
        variant
        for (variant, name), cells in ends.items()
        if name == runtime and any(cell.works and cell.runtime_version == failing[-1] for cell in cells)
    }
    fix = next((fix for fix in at.fixes if fix.variant in works and not fix.caution), None)
    return RuntimeSpan(runtime, failing, "".join(later), fix)


def _has(dataset: Dataset, cell: MeasuredCell, evidence: ErrorEvidence) -> bool:
    """Whether a cell ends with an error of a text, but for names and numbers."""
    text = dataset.message(cell.message_id) if cell.message_id else None
    return text is not None and read_known(text).speaks_alike(evidence)


def _ordered(cells: list[MeasuredCell]) -> tuple[str, ...]:
    return tuple(versions.ordered({cell.runtime_version for cell in cells if cell.runtime_version}))
