"""After a run of bundles: the gate's word on it, and compaction. Also brings in rows that another machine wrote."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.gate.replays_verdict import judge_runs
from caniexport.model.errors import CaniexportError
from caniexport.model.journal import Journal
from caniexport.store import compact
from caniexport.store.gates import GOOD
from caniexport.store.journal_reader import Entries, read_journal

if TYPE_CHECKING:
    from collections.abc import Iterable


#: characters of a journal's name that are kept, with room for a number behind them
_LONGEST_NAME = 60


class NothingToMergeError(CaniexportError):
    """A folder without a readable row of a run."""


@dataclass(frozen=True)
class ReplaysReport:
    """One run of bundles on a runtime: its rows, counted by status, and the gate's problem (empty for none)."""

    runtime: str
    version: str
    provider: str
    run_id: str
    rows: int
    statuses: dict[str, int]
    problem: str


def settle_runs(local: Path, run_ids: Iterable[str], pins: Sequence[str] = ()) -> list[ReplaysReport]:
    """Judge these runs, whose rows are in journals of the local dataset, write the word, compact."""
    entries = Entries()
    for path in sorted((local / "journal").glob("*.jsonl")):
        entries.add(read_journal(path))
    reports = []
    with Journal(local / "journal", "settle-runs") as journal:
        for run_id in run_ids:
            rows = [row for row in entries.runs if row["run_id"] == run_id]
            environments = [row for row in entries.environments if row["run_id"] == run_id]
            if rows and environments:
                reports.append(_settle_one(journal, rows, environments[-1], pins))
    compact(local)
    return reports


def _settle_one(
    journal: Journal, rows: list[dict[str, Any]], environment: dict[str, Any], pins: Sequence[str]
) -> ReplaysReport:
    first = rows[0]
    if first["bundle"] is None:
        word = f"not measured: {first['signature']}"
    else:
        planned = environment["planned"] or len(rows)
        word = judge_runs(rows, environment, planned, pins)
    told = dict(environment, gate=word, rows=len(rows), measured_at=environment["measured_at"].isoformat())
    journal.environment(told)
    statuses: dict[str, int] = {}
    for row in rows:
        statuses[row["status"]] = statuses.get(row["status"], 0) + 1
    return ReplaysReport(
        first["runtime"],
        first["runtime_version"] or "",
        first["provider"],
        first["run_id"],
        len(rows),
        dict(sorted(statuses.items())),
        "" if word == GOOD else word,
    )


def merge(folder: Path, local: Path) -> tuple[list[ReplaysReport], list[str]]:
    """Bring the rows that ``python bundles.zip -o folder`` wrote into the local dataset; (reports, problems).

    Bringing the same rows in again changes nothing. Raises :class:`NothingToMergeError`.
    """
    found: dict[Path, Entries] = {}
    problems: list[str] = []
    for path in sorted({*folder.glob("*.jsonl"), *(folder / "journal").glob("*.jsonl")}):
        entries = read_journal(path)
        problems += entries.problems
        if entries.runs:
            found[path] = entries
    if not found:
        why = f"; {problems[0]}" if problems else ""
        raise NothingToMergeError(
            f"{folder}: no rows of bundles in it (expected is the folder that `python bundles.zip -o` was given){why}"
        )
    for path, entries in found.items():
        _copy(path, local, entries)
    run_ids = dict.fromkeys(row["run_id"] for entries in found.values() for row in entries.runs)
    return settle_runs(local, run_ids), problems


def _copy(path: Path, local: Path, entries: Entries) -> None:
    """The journal's good lines as one of our own; what was in flight when its writer died stays behind."""
    texts = entries.messages
    with Journal(local / "journal", path.stem[:_LONGEST_NAME]) as journal:
        for row in entries.environments:
            journal.environment(_plain(row))
        for row in entries.runs:
            mine = {row["message_id"]: texts[row["message_id"]]} if row["message_id"] in texts else {}
            journal.run(_plain(row), mine)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row as a journal has it: times as text."""
    found: dict[str, Any] = json.loads(json.dumps(row, default=lambda value: value.isoformat()))
    return found
