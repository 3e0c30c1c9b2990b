"""Rows of replays that another machine wrote: brought into the local dataset, and judged."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.gate import contributed
from caniexport.measure.settle import Row, judged, timed, verdict, write_verdicts
from caniexport.model.errors import CaniexportError
from caniexport.model.journal import Journal
from caniexport.store import Dataset
from caniexport.store.gates import GOOD
from caniexport.store.journal_reader import Entries, read_journal

if TYPE_CHECKING:
    from caniexport.home import Home

#: what a file of rows says of its own verdict
_VERDICT = ("gate", "rows", "repeated", "differing", "codes")
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


def merge(folder: Path, home: Home, *, ours: bool, by: str = "", at: str = "") -> tuple[list[ReplaysReport], list[str]]:
    """Bring the rows that ``python bundles.zip -o folder`` wrote into the local dataset; (reports, problems).

    Unless they are ``ours``, they are contributed: ``by`` whom and measured ``at`` what place, where the rows do not
    say it. Bringing the same rows in again changes nothing. Raises :class:`NothingToMergeError`.
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
    for entries in found.values():
        entries.environments[:] = [_named(row, ours, by, at) for row in entries.environments]
    for path, entries in found.items():
        _copy(path, home.local, entries)
    every = Entries()
    for entries in found.values():
        every.add(entries)
    return _settle(home, every), problems


def _named(environment: Row, ours: bool, by: str, at: str) -> Row:
    """The row of an environment with whose it is; what it says of its own verdict is not taken over, nor a torch that
    lies beside the runtime: it exported nothing.
    """
    row = {**environment, **dict.fromkeys((*_VERDICT, "torch", "torch_build"))}
    if ours:
        return {**row, "contributor": None, "contributed_from": None}
    row["contributor"] = contributed.name(row["contributor"] or by) or contributed.SOMEBODY
    row["contributed_from"] = contributed.name(row["contributed_from"] or at) or None
    # in quarantine from the first line on
    return {**row, "gate": contributed.word(row, (), contributed.NOT_REPEATED)}


def _settle(home: Home, entries: Entries) -> list[ReplaysReport]:
    """Judge the runs of these rows, which lie in the local dataset by now, and compact it."""
    environments = {row["run_id"]: row for row in entries.environments}
    rows: dict[str, list[Row]] = defaultdict(list)
    for row in entries.runs:
        if row["run_id"] in environments:
            rows[row["run_id"]].append(row)
    write_verdicts(home.local, [_judged(environments[run_id], mine) for run_id, mine in rows.items()])
    judge_contributed(home)
    words = {row["run_id"]: row["gate"] for row in Dataset.open(None, home.local).records("environments")}
    return [replays_report(mine, words[run_id].replace(GOOD, "")) for run_id, mine in rows.items()]


def _judged(environment: Row, rows: Sequence[Row]) -> Row:
    planned = environment["planned"] or len(rows)
    word = verdict("runs", rows, environment, planned, ())
    if word == GOOD and environment["contributor"]:
        word = contributed.word(environment, rows, contributed.NOT_REPEATED)
    return judged(environment, word, rows, planned)


def judge_contributed(home: Home) -> None:
    """Judge the contributed runs of the local dataset by the rows that were measured here of the same files."""
    local = Dataset.open(None, home.local)
    held = [row for row in local.records("environments") if contributed.is_contributed(row["gate"])]
    runs = {row["run_id"]: local.records("runs", {"run_id": (row["run_id"],)}) for row in held}
    # those of cells are judged by `measure --merge`
    waiting = [row for row in held if runs[row["run_id"]]]
    if not waiting:
        return
    dataset = Dataset.open(home.published, home.local)
    own = {
        _run(row) for row in dataset.records("environments") if row["gate"] in (None, GOOD) and not row["contributor"]
    }
    verdicts = []
    for environment in waiting:
        rows = runs[environment["run_id"]]
        found = dataset.run_groups(contributed.COMPARED, {}, {"bundle": tuple({row["bundle"] for row in rows})})
        others = [dict(zip(contributed.COMPARED, row, strict=True)) for row in found]
        agreed = contributed.repetition(rows, [row for row in others if _run(row) in own])
        word = contributed.word(environment, rows, agreed)
        verdicts.append({**environment, "gate": word, "repeated": agreed.files, "differing": list(agreed.differing)})
    write_verdicts(home.local, [row for row, before in zip(verdicts, waiting, strict=True) if row != before])


def _run(row: Row) -> tuple[Any, Any]:
    return row["env_id"], row["run_id"]


def _copy(path: Path, local: Path, entries: Entries) -> None:
    """The journal's good lines as one of our own; what was in flight when its writer died stays behind."""
    texts = entries.messages
    with Journal(local / "journal", path.stem[:_LONGEST_NAME]) as journal:
        for row in entries.environments:
            journal.environment(timed(row))
        for row in entries.runs:
            mine = {row["message_id"]: texts[row["message_id"]]} if row["message_id"] in texts else {}
            journal.run(timed(row), mine)
