"""Deliveries of shards: brought into the local dataset, and judged over all that has come of a release.

Deliveries (:mod:`caniexport.measure.deliveries`) are kept in the folder ``shards`` of the local dataset, and each merge
looks at all of a release that lie there: in whatever order they come, the dataset is the same in the end.
The gate judges each run of a release's deliveries on what its files have of it, then on all together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from caniexport.gate import contributed
from caniexport.gate.contributed import Repetition
from caniexport.gate.repeats import identity
from caniexport.gate.verdict import DIFFERING, judge
from caniexport.machine.interpreters import on_the_common_python
from caniexport.measure.arrived import (
    ArrivedRelease,
    Contributor,
    Delivery,
    Run,
    arrived_releases,
    read_delivery,
    run_of,
)
from caniexport.measure.deliveries import TEXTS, Row, delivered_files
from caniexport.measure.merge_replays import NothingToMergeError
from caniexport.measure.merged_release import MergedRelease, merged_release
from caniexport.measure.overlaps import refuse_overlaps
from caniexport.measure.repeated_here import measure_again, repetitions
from caniexport.measure.settle import judged, timed, verdict, write_verdicts
from caniexport.model.canaries import is_canary
from caniexport.model.journal import Journal
from caniexport.store.gates import GOOD
from caniexport.store.journal_reader import read_journal

if TYPE_CHECKING:
    from caniexport.home import Home

_OTHER_PINS = "quarantined: it was measured with other packages than the table of releases asks for"


def merge(
    folders: Sequence[Path],
    home: Home,
    repeat: int = 0,
    say: Callable[[str], None] = print,
    whose: Contributor | None = None,
) -> tuple[list[MergedRelease], list[str]]:
    """Bring what lies in these folders into the local dataset; (a report for each release, problems).

    Of each delivery ``repeat`` cells are measured here too: whoever makes up rows is found out then. Those of a
    contributor (``whose``) are used only once such cells agree. Bringing the same ones in again changes nothing.
    Raises :class:`NothingToMergeError`, :class:`UnusableDeliveryError` and, before anything is written,
    :class:`OverlapError`.
    """
    new, problems = _read(folders, whose)
    releases = arrived_releases(new, home, home.read_cases())
    for arrived in releases:
        refuse_overlaps(arrived)
    for arrived in releases:
        measure_again(arrived, [item for item in new if item.origin == arrived.origin], repeat, say)
    for arrived in releases:
        arrived.keep(new)
    return [_write(arrived) for arrived in releases], problems


def _read(folders: Sequence[Path], whose: Contributor | None) -> tuple[list[Delivery], list[str]]:
    found, problems = [], []
    for path in (path for folder in folders for path in delivered_files(folder)):
        entries = read_journal(path)
        problems += entries.problems
        if entries.cells:
            found.append(read_delivery(path, entries, whose))
    if not found:
        why = f"; {problems[0]}" if problems else ""
        raise NothingToMergeError(f"{', '.join(map(str, folders))}: no rows in it{why}")
    return found, problems


def _write(arrived: ArrivedRelease) -> MergedRelease:
    """Judge the runs, write rows and verdicts, compact; what has come and what has not."""
    words, rows = words_on_runs(arrived), arrived.rows_once
    _write_rows(arrived, rows)
    write_verdicts(arrived.home.local, _verdicts(arrived, words))
    return merged_release(arrived, words, rows)


def _write_rows(arrived: ArrivedRelease, rows: Sequence[Row]) -> None:
    if not rows:
        return
    texts = {name: text for item in arrived.deliveries for name, text in item.entries.messages.items()}
    with Journal(arrived.home.local / "journal", f"merge-{arrived.origin.environment}") as journal:
        for row in rows:
            journal.cell(timed(row), {row[name]: texts[row[name]] for name in TEXTS if row[name] in texts})


def _verdicts(arrived: ArrivedRelease, words: Mapping[Run, str]) -> list[Row]:
    """The environments' rows of the runs, each with the gate's word."""
    environments = arrived.environments
    return [
        judged(environments[run], words[run], rows, environments[run]["planned"])
        for run, rows in arrived.rows_by_run.items()
    ]


def words_on_runs(arrived: ArrivedRelease) -> dict[Run, str]:
    """``good`` for each run whose rows may be used; else why they may not, or whose they are."""
    environments, again, rows = arrived.environments, repetitions(arrived), arrived.rows_by_run
    found = dict(_words_on_machines(arrived, environments, rows))
    for run, word in found.items():
        if word == GOOD:
            found[run] = _word_by_repetition(environments[run], rows[run], again.get(run, contributed.NOT_REPEATED))
    whole = _word_on_all(arrived, [run for run in sorted(found, key=str) if found[run] == GOOD], environments)
    return {run: whole if word == GOOD else word for run, word in found.items()}


def _words_on_machines(
    arrived: ArrivedRelease, environments: Mapping[Run, Row], rows: Mapping[Run, Sequence[Row]]
) -> Iterator[tuple[Run, str]]:
    """The word on what each machine has measured in an environment, for each run in it."""
    for runs in _machines(arrived):
        mine = [row for run in sorted(runs, key=str) for row in rows[run]]
        first = min(runs, key=str)
        environment = dict(environments[first], repeated=None, differing=None)
        pins = _pins(arrived, environment)
        every = [*mine, *_canaries_for(arrived, mine, first[0])]
        word = _OTHER_PINS if pins is None else verdict("cells", every, environment, len(every), pins)
        yield from ((run, word) for run in runs)


def _machines(arrived: ArrivedRelease) -> list[frozenset[Run]]:
    """The runs of an environment that came in one file, or in files that share a run: a half and then the whole."""
    found: list[frozenset[Run]] = []
    for rows in arrived.rows:
        for env_id in {row["env_id"] for row in rows}:
            runs = frozenset(run_of(row) for row in rows if row["env_id"] == env_id)
            joined = runs.union(*(other for other in found if other & runs))
            found = [*(other for other in found if not other & runs), joined]
    return found


def _canaries_for(arrived: ArrivedRelease, rows: Sequence[Row], env_id: str | None) -> list[Row]:
    """Where a machine has sent none: the canaries that others measured in the same environment."""
    if any(is_canary(row["case"]) for row in rows):
        return []
    return [row for row in arrived.every_row if is_canary(row["case"]) and row["env_id"] == env_id]


def _pins(arrived: ArrivedRelease, environment: Row) -> Sequence[str] | None:
    """What the table of releases asks for, none in other profiles; ``None`` where it was asked for other pins."""
    if arrived.origin.profile != "newest":
        return ()
    entries = (arrived.release, on_the_common_python(arrived.release))
    return next((entry.requirements for entry in entries if entry.spec == environment["spec"]), None)


def _word_by_repetition(environment: Row, rows: Sequence[Row], again: Repetition) -> str:
    """The word on a run that is good by itself, by those of its cells that were measured here too."""
    if environment["contributor"]:
        return contributed.word(environment, rows, again, "cells were measured")
    if len(again.differing) > max(1, DIFFERING * again.files):
        count = f"{len(again.differing)} of {again.files}"
        return f"quarantined: {count} cells came out otherwise when they were measured here"
    return GOOD


def _word_on_all(arrived: ArrivedRelease, good: Sequence[Run], environments: Mapping[Run, Row]) -> str:
    """The gate's word on all good runs together, with their A/A samples."""
    rows = {identity(row): row for row in arrived.every_row if run_of(row) in set(good)}
    if not rows:
        return GOOD
    mine = [environments[run] for run in good]
    if len({row["spec"] for row in mine}) > 1 and arrived.origin.profile != "newest":
        return "quarantined: the machines were asked for different packages"
    together = dict(
        mine[-1],
        shard=None,
        repeated=sum(row["repeated"] or 0 for row in mine),
        differing=sorted({line for row in mine for line in row["differing"] or ()}),
    )
    return judge("cells", list(rows.values()), together, len(rows), ())
