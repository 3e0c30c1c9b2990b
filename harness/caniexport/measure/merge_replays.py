"""Rows of replays that another machine wrote: brought into the local dataset, and judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caniexport.measure.settle import judged, timed, verdict, write_verdicts
from caniexport.model.errors import CaniexportError
from caniexport.model.journal import Journal
from caniexport.store.gates import GOOD
from caniexport.store.journal_reader import Entries, read_journal

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


def replays_report(rows: Sequence[Mapping[str, Any]], problem: str) -> ReplaysReport:
    """The report of a run with these rows, of which there is one at least."""
    first, statuses = rows[0], Counter(row["status"] for row in rows)
    return ReplaysReport(
        first["runtime"],
        first["runtime_version"] or "",
        first["provider"],
        first["run_id"],
        len(rows),
        dict(sorted(statuses.items())),
        problem,
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
    every = Entries()
    for entries in found.values():
        every.add(entries)
    return _settle(local, every), problems


def _settle(local: Path, entries: Entries) -> list[ReplaysReport]:
    """Judge the runs of these rows, which lie in the local dataset by now, and compact it."""
    reports, verdicts = [], []
    environments = {row["run_id"]: row for row in entries.environments}
    for run_id in dict.fromkeys(row["run_id"] for row in entries.runs if row["run_id"] in environments):
        rows = [row for row in entries.runs if row["run_id"] == run_id]
        environment = environments[run_id]
        planned = environment["planned"] or len(rows)
        word = verdict("runs", rows, environment, planned, ())
        verdicts.append(judged(environment, word, rows, planned))
        reports.append(replays_report(rows, "" if word == GOOD else word))
    write_verdicts(local, verdicts)
    return reports


def _copy(path: Path, local: Path, entries: Entries) -> None:
    """The journal's good lines as one of our own; what was in flight when its writer died stays behind."""
    texts = entries.messages
    with Journal(local / "journal", path.stem[:_LONGEST_NAME]) as journal:
        for row in entries.environments:
            journal.environment(timed(row))
        for row in entries.runs:
            mine = {row["message_id"]: texts[row["message_id"]]} if row["message_id"] in texts else {}
            journal.run(timed(row), mine)
