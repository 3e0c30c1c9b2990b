"""Rows that somebody else handed in: they are told apart until a sample of them was repeated here and agrees.

Until then the gate's word on their run says whose they are, so that no answer counts them among ours and nothing
publishes them. What is repeated, files or cells, is drawn here, after the rows came in. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from caniexport.bundles import probes
from caniexport.gate.verdict import DIFFERING
from caniexport.model.canaries import CANARY
from caniexport.store.gates import GOOD

#: how many files or cells are to be repeated, or all where there are fewer
SAMPLE = 50
#: who is named where a file of rows names nobody
SOMEBODY = "somebody"
_CONTRIBUTED = "contributed by "
_LONGEST = 200
_PLACE = ("bundle", "session", "runtime", "runtime_version", "provider")
#: what is looked at of a row of ours
COMPARED = (*_PLACE, "env_id", "run_id", "stage", "status")

Row = Mapping[str, Any]


class Repetition(NamedTuple):
    """How many files or cells of a run were repeated here, and which of them, with what is known, ended otherwise."""

    files: int
    differing: tuple[str, ...]
    known_differ: bool


NOT_REPEATED = Repetition(0, (), known_differ=False)


def is_contributed(gate: str | None) -> bool:
    """Whether a gate's word says that a run's rows are somebody's, and not confirmed."""
    return (gate or "").startswith(_CONTRIBUTED)


def name(text: str | None) -> str:
    """A contributor's name, or their words on a place, as they are kept: one line, not long."""
    return "".join(char if char.isprintable() else " " for char in " ".join((text or "").split()))[:_LONGEST]


def repetition(rows: Iterable[Row], ours: Iterable[Row]) -> Repetition:
    """A run's rows held against ours of the same files, on the same release of the runtime and provider."""
    known = {_place(row): (row["stage"], row["status"]) for row in ours}
    both = [(row, known[_place(row)]) for row in rows if row["bundle"] and _place(row) in known]
    apart = [row for row, end in both if (row["stage"], row["status"]) != end]
    files = sum(not _is_known(row) for row, _ in both)
    named = tuple(sorted(f"{row['case']}/{row['variant']}" for row in apart))
    return Repetition(files, named, any(map(_is_known, apart)))


def word(environment: Row, rows: Sequence[Row], found: Repetition, repeated: str = "files were run") -> str:
    """The gate's word on a contributed run that is good by itself: ``good`` where a sample agrees, else whose it is.

    ``repeated`` says of what and how a sample was taken.
    """
    wanted = min(SAMPLE, sum(not _is_known(row) for row in rows)) or SAMPLE
    if found.known_differ or len(found.differing) > DIFFERING * found.files:
        said = f"{len(found.differing)} of the {repeated.replace(' were', ' that were')} here too ended otherwise"
    elif found.files < wanted:
        said = f"{found.files} of {wanted} {repeated} here too"
    else:
        return GOOD
    where = f" ({environment['contributed_from']})" if environment.get("contributed_from") else ""
    return f"{_CONTRIBUTED}{environment['contributor']}{where}: {said}"


def _place(row: Row) -> tuple[Any, ...]:
    return tuple(row[column] or "" for column in _PLACE)


def _is_known(row: Row) -> bool:
    return row["corpus"] in (probes.CORPUS, CANARY)
