"""What is owed after a run: rows for cells that got none, the gate's word, and compaction."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.worker.canaries import surprises
from harness.worker.journal import Journal
from harness.worker.rows import CELLS, ENVIRONMENTS
from harness.worker.status import Status

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from harness.worker.plan import Cell
    from harness.worker.releases import Release


class Settled(NamedTuple):
    """How many rows a run wrote, what the gate said of them (empty where they are good), the invalid ones by reason."""

    rows: int
    problem: str
    invalid: dict[str, int]


def settle(
    local: Path,
    release: Release,
    provider: str,
    todo: list[Cell],
    run_id: str,
    reason: str,
    again: Path | None = None,
) -> Settled:
    """Complete a run: as many rows as planned cells, judged, compacted.

    ``reason`` is why tox ended with an error; a run that wrote no row at all gets one ``resolve`` row with it.
    ``again`` is the local dataset of a second measurement of some of its cells, if there was one.
    """
    from harness.gate import judge
    from harness.measure import owed_row
    from harness.repeats import differing
    from harness.store import compact
    from harness.store.gates import GOOD

    rows, environment = _written(local, run_id)
    written = len(rows)
    measured = {_identity(row) for row in rows}
    lost = [cell for cell in todo if (cell.case, cell.variant, cell.exporter, cell.opset) not in measured]
    surprise = next(surprises(rows), "")
    why = f"the run was ended: {surprise}" if surprise else "the process that measured it was lost"
    with Journal(local / "journal", f"settle-{run_id}") as journal:
        if not rows:
            journal.cell(*owed_row(release, provider, run_id, None, reason or "the environment wrote no row"))
            word = "not measured"
        else:
            for cell in lost:
                row, messages = owed_row(release, provider, run_id, cell, why)
                row["env_id"] = environment.get("env_id")
                journal.cell(row, messages)
                rows.append(row)
            if again is not None:
                environment["repeated"], environment["differing"] = differing(rows, _all_rows(again))
            word = judge(rows, environment, len(todo), list(release.requirements))
            if environment:
                environment["measured_at"] = str(environment["measured_at"])
                journal.environment(dict(environment, gate=word, planned=len(todo), rows=len(rows)))
    compact(local)
    return Settled(written, "" if word == GOOD else word, _invalid(rows))


def _invalid(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Rows that measured nothing, by the reason that their signatures end with; the most frequent first."""
    found = Counter(str(row["signature"]).rpartition("|")[2] for row in rows if row["status"] == Status.INVALID.value)
    return dict(found.most_common())


def _written(local: Path, run_id: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Rows and environment of a run, wherever they are by now: another process may have compacted its journals."""
    from harness.store import Dataset

    dataset = Dataset.open(None, local)
    cells = dataset.cells(quarantined=True)
    environments = dataset.environments()
    rows = _records(cells[cells["run_id"] == run_id], [column.name for column in CELLS])
    found = _records(environments[environments["run_id"] == run_id], [column.name for column in ENVIRONMENTS])
    return rows, found[-1] if found else {}


def _all_rows(local: Path) -> list[dict[str, Any]]:
    from harness.store import Dataset

    return _records(Dataset.open(None, local).cells(quarantined=True), [column.name for column in CELLS])


def _records(frame: pd.DataFrame, columns: list[str]) -> list[dict[str, Any]]:
    frame = frame[columns].astype(object)
    rows = frame.where(frame.notna(), None).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]


def _identity(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["case"], row["variant"], row["exporter"], row["opset"])
