"""The gate's word on each run of the deliveries of a release: on what its files have of it, then on all together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from caniexport.gate import contributed
from caniexport.gate.contributed import Repetition
from caniexport.gate.repeats import identity
from caniexport.gate.verdict import DIFFERING, judge
from caniexport.machine.interpreters import on_the_common_python
from caniexport.measure.arrived import ArrivedRelease, Run, run_of
from caniexport.measure.deliveries import Row, key_of
from caniexport.measure.repeated_here import repetitions
from caniexport.measure.settle import verdict
from caniexport.model.canaries import is_canary
from caniexport.store.gates import GOOD

_OTHER_PINS = "quarantined: it was measured with other packages than the table of releases asks for"


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
        ended = any(environments[run]["planned"] is not None for run in runs)
        every = [*mine, *_canaries_for(arrived, mine, first[0], ended)]
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


def _canaries_for(arrived: ArrivedRelease, rows: Sequence[Row], env_id: str | None, ended: bool) -> list[Row]:
    """The canaries that others measured in the same environment, of those that a machine has not sent.

    A machine whose run has ``ended`` lacks none where it has sent any: it was killed among them otherwise.
    """
    mine = {key_of(row) for row in rows if is_canary(row["case"])}
    if mine and ended:
        return []
    return [
        row
        for row in arrived.every_row
        if is_canary(row["case"]) and row["env_id"] == env_id and key_of(row) not in mine
    ]


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
