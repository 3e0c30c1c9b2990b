"""Rows that other machines measured: copied into the local dataset, and judged by the same gate.

A folder holds journals, or what they were compacted into: ``results-local`` of another machine, or what an archive of
bundles wrote. Its verdicts are not believed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from caniexport.home import NEWEST
from caniexport.machine.interpreters import use_common_python
from caniexport.measure.done import find_done_cells
from caniexport.measure.job import RunReport, format_cell
from caniexport.measure.settle import copy_bundles, judge_rows, with_text_time, with_texts, with_verdict, write_rows
from caniexport.model import plan, releases
from caniexport.model.errors import CaniexportError
from caniexport.model.journal import Journal
from caniexport.store import Dataset, compact
from caniexport.store.gates import GOOD, is_quarantined

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from caniexport.home import Home
    from caniexport.measure.settle import Row

_OTHER_PINS = "quarantined: it was measured with other packages than the table of releases asks for"
_LONGEST_NAME = 200


class NothingToMergeError(CaniexportError):
    """A folder without a readable row of a run."""


class Contributor(NamedTuple):
    """Who measured rows and where, in their own words; empty for this project's own."""

    by: str = ""
    at: str = ""


def merge(folders: Sequence[Path], home: Home, whose: Contributor | None = None) -> tuple[list[RunReport], list[str]]:
    """Bring the rows of these folders into the local dataset. Bringing the same rows in again changes nothing.

    Returns a report for each environment, and a line for each thing that cannot be read. ``whose`` is the contributor
    of rows that name none. Raises :class:`NothingToMergeError`.
    """
    reports: list[RunReport] = []
    problems: list[str] = []
    shards: dict[str, tuple[int, Row]] = {}
    for folder in folders:
        source = Dataset.open(None, folder)
        environments = {(row["env_id"], row["run_id"]): row for row in source.records("environments")}
        found: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
        for table in ("cells", "runs"):
            for row in source.records(table):
                run = row["env_id"], row["run_id"]
                if run in environments and not is_quarantined(environments[run]["gate"]):
                    found[table, row["env_id"]].append(row)
        problems += [*source.problems, *([] if found else [f"{folder}: no rows of a run in it"])]
        for (table, env_id), rows in found.items():
            used = {(row["env_id"], row["run_id"]) for row in rows}
            runs = {run: _marked(row, table, whose) for run, row in environments.items() if run in used}
            local = home.of(next(iter(runs.values()))["profile"] or NEWEST).local
            copy_bundles([folder], local)
            environment = _write(source, table, rows, runs, local)
            reports.append(RunReport.of(rows, environment["gate"].replace(GOOD, "")))
            if environment["shard"]:
                shards[env_id] = len(reports) - 1, environment
    if not reports:
        raise NothingToMergeError("; ".join(problems))
    for place, environment in shards.values():
        reports[place] = replace(reports[place], missing=_find_missing(home, environment, reports[place].provider))
    return reports, problems


def _marked(environment: Row, table: str, whose: Contributor | None) -> Row:
    """An environment's row with its contributor. A torch beside a runtime has exported nothing."""
    row = {**environment, **(dict.fromkeys(("torch", "torch_build")) if table == "runs" else {})}
    if whose is None:
        return row
    told = (row["contributor"], row["contributed_from"]) if whose.by and row["contributor"] else whose
    lines = (" ".join((text or "").split()) for text in told)
    by, at = ("".join(filter(str.isprintable, line))[:_LONGEST_NAME] or None for line in lines)
    return {**row, "contributor": by, "contributed_from": at}


def _write(source: Dataset, table: str, rows: Sequence[Row], runs: Mapping[tuple[str, str], Row], local: Path) -> Row:
    """Copy what one machine measured in an environment, judged as one run; the environment's row with the verdict."""
    last = max(runs.values(), key=lambda row: str(row["run_id"]))
    whole = {
        **last,
        "repeated": sum(row["repeated"] or 0 for row in runs.values()),
        "differing": [line for row in runs.values() for line in row["differing"] or ()],
    }
    pins = _find_pins(last) if table == "cells" and last["profile"] in (None, NEWEST) else ()
    word = _OTHER_PINS if pins is None else judge_rows(table, rows, whole, len(rows), pins)
    with Journal(local / "journal", f"merge-{last['run_id']}") as journal:
        # verdicts first: wherever this ends, rows that are refused are not used
        for run, environment in runs.items():
            mine = [row for row in rows if (row["env_id"], row["run_id"]) == run]
            journal.environment(
                with_text_time(with_verdict(environment, word, mine, environment["planned"] or len(mine)))
            )
        write_rows(journal, table, with_texts(rows, source))
    compact(local)
    return {**last, "gate": word}


def _find_pins(environment: Row) -> Sequence[str] | None:
    """What the table of releases asks for; ``None`` where the environment was asked for something else."""
    release = releases.find(environment["torch"])
    entries = (release, use_common_python(release))
    return next((entry.requirements for entry in entries if entry.spec == environment["spec"]), None)


def _find_missing(home: Home, environment: Row, provider: str) -> tuple[str, ...]:
    """The cells of a release that was measured in shards which have no row yet."""
    torch, home = environment["torch"], home.of(environment["profile"] or NEWEST)
    done = find_done_cells(Dataset.open(None, home.local), torch, environment["spec"], provider)
    planned = plan.cells(home.read_cases(), releases.find(torch), provider)
    return tuple(format_cell(torch, cell) for cell in planned if cell.key not in done)
