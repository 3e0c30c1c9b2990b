"""Deliveries of shards: brought into the local dataset, and judged over all that has come of a release.

Deliveries (:mod:`caniexport.measure.deliveries`) are kept in the folder ``shards`` of the local dataset, and each merge
looks at all of a release that lie there: in whatever order they come, the dataset is the same in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from caniexport.measure.arrived import (
    ArrivedRelease,
    Contributor,
    Delivery,
    Run,
    arrived_releases,
    read_delivery,
)
from caniexport.measure.deliveries import TEXTS, Row, delivered_files
from caniexport.measure.judge_arrived import words_on_runs
from caniexport.measure.merge_replays import NothingToMergeError
from caniexport.measure.merged_release import MergedRelease, merged_release
from caniexport.measure.overlaps import refuse_overlaps
from caniexport.measure.repeated_here import measure_again
from caniexport.measure.settle import judged, timed, write_verdicts
from caniexport.model.journal import Journal
from caniexport.store.journal_reader import read_journal

if TYPE_CHECKING:
    from caniexport.home import Home


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
