"""Cells of deliveries that are measured here too: whoever makes up rows is found out by them.

They are drawn after a delivery has come. Their rows are kept apart from the dataset, in its folder ``repeated``.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from caniexport.gate.contributed import Repetition
from caniexport.gate.repeats import identity
from caniexport.measure.arrived import ArrivedRelease, Delivery, Run, run_of
from caniexport.measure.cells import measure
from caniexport.measure.deliveries import REPEATED, Row, lines
from caniexport.measure.job import MeasureOptions
from caniexport.measure.overlaps import MEASURED_STATUSES, different_column
from caniexport.model.canaries import is_canary
from caniexport.profiles import find_profile
from caniexport.store import Dataset
from caniexport.store.journal_reader import read_journal


def measure_again(arrived: ArrivedRelease, new: Sequence[Delivery], repeat: int, say: Callable[[str], None]) -> None:
    """Measure ``repeat`` cells of each of the ``new`` deliveries here, drawn now, and keep what comes out."""
    drawn = _drawn(arrived, new, repeat)
    if not drawn:
        return
    with tempfile.TemporaryDirectory(prefix="caniexport-") as folder:
        options = MeasureOptions(
            home=replace(arrived.home, local=Path(folder)),
            releases=(arrived.origin.torch,),
            cells=drawn,
            provider=arrived.origin.provider,
            profile=find_profile(arrived.origin.profile),
            repeat=0,
        )
        measure(options, say)
        _keep(arrived, Dataset.open(None, Path(folder)))


def _drawn(arrived: ArrivedRelease, new: Sequence[Delivery], repeat: int) -> frozenset[str]:
    found: set[str] = set()
    new_ones = {item.digest for item in new}
    for item, rows in zip(arrived.deliveries, arrived.rows, strict=True):
        if repeat and item.digest in new_ones:
            names = {arrived.cell_name(row) for row in rows if not is_canary(row["case"])}
            found |= set(random.SystemRandom().sample(sorted(names), min(repeat, len(names))))
    return frozenset(found)


def _keep(arrived: ArrivedRelease, measured: Dataset) -> None:
    folder = arrived.home.local / REPEATED
    folder.mkdir(parents=True, exist_ok=True)
    rows = [row for row in measured.records("cells") if row["case"]]
    path = folder / f"{arrived.origin.environment}-{max((str(row['run_id']) for row in rows), default='none')}.jsonl"
    path.write_bytes(b"".join(lines(measured.records("environments"), rows, {})))


@dataclass
class _Counted:
    cells: int = 0
    differing: list[str] = field(default_factory=list)
    canaries_differ: bool = False

    def add(self, name: str, canary: bool, differs: bool) -> None:
        self.cells += not canary
        self.canaries_differ |= canary and differs
        self.differing += [name] if differs and not canary else []


def repetitions(arrived: ArrivedRelease) -> dict[Run, Repetition]:
    """By run how many of its cells were measured here too, and those that came out otherwise."""
    again, environments = _measured_here(arrived), arrived.environments
    found: dict[Run, _Counted] = {}
    for row in arrived.every_row:
        run = run_of(row)
        mine, cpu = again.get((*identity(row), row["case_hash"]), (None, ""))
        if mine is not None and {row["status"], mine["status"]} <= MEASURED_STATUSES and not row["unstable"]:
            differs = bool(different_column(row, mine, cpu == str(environments[run]["cpu"])))
            found.setdefault(run, _Counted()).add(arrived.cell_name(row), is_canary(row["case"]), differs)
    return {run: Repetition(some.cells, tuple(some.differing), some.canaries_differ) for run, some in found.items()}


def _measured_here(arrived: ArrivedRelease) -> dict[tuple[object, ...], tuple[Row, str]]:
    """The rows of cells that were measured here to compare them, with the processor."""
    found: dict[tuple[object, ...], tuple[Row, str]] = {}
    for path in sorted((arrived.home.local / REPEATED).glob(f"{arrived.origin.environment}-*.jsonl")):
        entries = read_journal(path)
        cpu = next((str(row["cpu"]) for row in entries.environments), "")
        found |= {(*identity(row), row["case_hash"]): (row, cpu) for row in entries.cells}
    return found
