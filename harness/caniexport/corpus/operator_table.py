"""The table of torch's operators (``cases/operators/op_db.jsonl``): what each release's environment listed, joined.

A line is an entry of the database in a range of releases that list it alike; ``caniexport operators`` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from caniexport import home as homes
from caniexport.model.made_cases import DatabaseEntry, parse_release

TABLE = "op_db.jsonl"
#: what a line has though it is empty
_ALWAYS = ("aten", "calls", "since", "until", "name")


def table_path(home: homes.Home) -> Path:
    """Where the table is."""
    return home.cases / TABLE


def find_listed_releases(entries: Iterable[DatabaseEntry], known: Iterable[str]) -> tuple[str, ...]:
    """The releases that the table lists, oldest first, of those that are known."""
    ranges = {(entry.since, entry.until): entry for entry in entries}.values()
    return tuple(
        release for release in sorted(known, key=parse_release) if any(entry.holds(release) for entry in ranges)
    )


def join_entries(
    entries: Sequence[DatabaseEntry], listed: Mapping[str, Mapping[str, Any]], known: Iterable[str]
) -> list[DatabaseEntry]:
    """Return the table with the operators of some releases replaced.

    ``listed`` has by release and operator the columns of its entry; ``known`` are all releases.
    """
    order = sorted(known, key=parse_release)
    by_release = _group_by_release(entries, order) | {
        release: {
            name: DatabaseEntry(name=name, since=release, until=release, **_leave_out_empty(found))
            for name, found in operators.items()
        }
        for release, operators in listed.items()
    }
    names = dict.fromkeys(name for release in reversed(order) for name in by_release.get(release, {}))
    return [entry for name in sorted(names) for entry in _make_ranges(name, by_release, order)]


def write_table(path: Path, entries: Iterable[DatabaseEntry]) -> None:
    """Write the table: a line an entry."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(_leave_out_empty(entry._asdict())) + "\n" for entry in entries]
    path.write_text("".join(lines), encoding="utf-8")


def _leave_out_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value or name in _ALWAYS}


def _group_by_release(entries: Iterable[DatabaseEntry], order: Sequence[str]) -> dict[str, dict[str, DatabaseEntry]]:
    found: dict[str, dict[str, DatabaseEntry]] = {}
    for entry in entries:
        for release in order:
            if entry.holds(release):
                found.setdefault(release, {})[entry.name] = entry
    return found


def _make_ranges(
    name: str, by_release: Mapping[str, Mapping[str, DatabaseEntry]], order: Sequence[str]
) -> list[DatabaseEntry]:
    """The entry's ranges: one ends at a release that was not listed, and one that lists it otherwise begins another."""
    found: list[DatabaseEntry] = []
    ended = True
    for release in order:
        if release not in by_release:
            ended = True
            continue
        entry = by_release[release].get(name)
        if entry is None:
            ended = True
        elif not ended and entry._replace(since="", until="") == found[-1]._replace(since="", until=""):
            found[-1] = found[-1]._replace(until=release)
        else:
            found.append(entry._replace(since=release, until=release))
            ended = False
    return found
