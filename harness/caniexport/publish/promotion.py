"""Which rows of cells and of replays are published: of each the one that is taken, without those that are held back.

A row that is held back leaves its place to the published one, so that what is to be published is judged until nothing
of it is held back any more. One file's rows are held at a time; what compares files is asked of :class:`Staging`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from caniexport.gate import held_back, plausible
from caniexport.gate import moved as moving
from caniexport.gate.moved import settled
from caniexport.publish.rules import rules
from caniexport.publish.staging import AT, NEW, PLACE, SIDE, Staging
from caniexport.store.frames import to_frame
from caniexport.store.merge import taken
from caniexport.store.which_row import KEYS, PUBLISHED_REPLAY

if TYPE_CHECKING:
    import pyarrow as pa

_ORIGINS = ("published", "local")
_LOCAL = _ORIGINS.index("local")
#: one row for each of these is published
_ONE_EACH = {"cells": KEYS["cells"], "runs": PUBLISHED_REPLAY}
#: columns that are looked at
_JUDGED = {"cells": held_back.COLUMNS, "runs": ("message_id", "signature")}

#: the variants with an unstable row in any profile
_UNSTABLE = " UNION ".join(
    f'SELECT "case", variant FROM {view} WHERE unstable IS NOT NULL' for view in ("cells", "cells_elsewhere")
)

#: the (published, local) rows of a file, by its name
Sides = Callable[[str], "tuple[pa.Table, pa.Table]"]
#: rows of a file without those that are out of date, and how many of them, by reason
Current = Callable[["pa.Table"], "tuple[pa.Table, Counter[str]]"]


@dataclass
class Promotion:
    """What is to be published, beside the rows themselves.

    promoted  how many rows of each file were not published before, the same
    held      local rows that are held back: labels by reason
    doubtful  published rows of which nothing shows that they are wrong, or that break a rule: labels by reason
    dropped   rows that go, by reason
    unstable  rows of files that one runtime does not always answer alike
    """

    promoted: dict[str, int] = field(default_factory=dict)
    held: dict[str, list[str]] = field(default_factory=dict)
    doubtful: dict[str, list[str]] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)
    unstable: int = 0


class _Flaw(NamedTuple):
    """A row that is not as it should be, and why."""

    file: str
    line: int
    is_local: bool
    is_new: bool
    at: int
    label: str
    reason: str


def promote(
    paths: Mapping[str, Path],
    sides: Sides,
    current: Current,
    environments: pa.Table,
    texts: Mapping[str, str],
    variants: Sequence[Mapping[str, Any]],
    staging: Staging,
) -> Promotion:
    """Stage what is to be published.

    paths         the path in the published dataset of every file that either side has
    environments  rows of ``ENVIRONMENTS``: the verdicts on runs, and what each A/A sample saw differ
    texts         error texts by id
    variants      as for :meth:`Staging.mark`
    """
    import pyarrow as pa

    found, judged, replaced = Promotion(), environments.to_pylist(), dict[str, Path]()
    outdated: dict[str, Counter[str]] = {}
    gone: dict[str, list[set[int]]] = {name: [set(), set()] for name in paths}
    moved: dict[str, set[int]] = {}
    again = set(paths)
    staging.register("environments", environments)
    withdrawn = {*held_back.FALSE, *(rule.sentence for rule in rules() if rule.withdraws)}
    while True:
        for name in sorted(again):
            table, pair = name.partition("/")[0], sides(name)
            if table == "cells" and name not in moved:
                moved[name] = _moved(*pair)
            rows, outdated[name] = current(_taken(table, *_left(pair, gone[name])))
            new = _new(table, rows, pair[0])
            found.promoted[name] = sum(new)
            if pair[1].num_rows or pair[0].num_rows > rows.num_rows:
                staging.put(name, rows.append_column(NEW, pa.array(new, pa.bool_())))
                replaced |= {name: paths[name]} if pair[0].num_rows else {}
            elif pair[0].num_rows:
                staging.keep(name, paths[name])
            del pair, rows  # one file's rows at a time, not those of the one before, too
        found.unstable = staging.mark(replaced, variants)
        flaws = _flaws(staging, judged, texts, moved)
        out = [flaw for flaw in flaws if flaw.is_new or flaw.reason in withdrawn]
        if not out:
            break
        _note(found, out)
        again = {flaw.file for flaw in out}
        for flaw in out:
            gone[flaw.file][flaw.is_local].add(flaw.at)
    found.doubtful = _by_reason(flaws)
    found.promoted = {name: count for name, count in found.promoted.items() if count}
    found.dropped += sum(outdated.values(), Counter())
    return found


def _flaws(
    staging: Staging,
    environments: Sequence[Mapping[str, Any]],
    texts: Mapping[str, str],
    moved: Mapping[str, set[int]],
) -> list[_Flaw]:
    """The staged rows with a reason against them, each with its gravest."""
    found: dict[tuple[str, int], _Flaw] = {}
    torches = [torch for (torch,) in staging.fetch("SELECT DISTINCT torch FROM cells WHERE torch IS NOT NULL")]
    unstable = {(case, variant) for case, variant in staging.fetch(_UNSTABLE)}
    suspects: dict[str, set[int]] = {}
    for file, line in staging.fetch(plausible.query("FROM cells", "file, line", torches)):
        suspects.setdefault(file, set()).add(line)
    for name in (*staging.names("cells"), *staging.names("runs")):
        rows = to_frame(staging.part(name, [*_JUDGED[name.partition("/")[0]], *PLACE]))
        if name.startswith("cells/"):
            implausible = rows["line"].isin(suspects.get(name, ()))
            why = held_back.reasons(rows, environments, texts, implausible, unstable)
            why[(why == "") & rows["is_new"] & rows["at"].isin(moved[name])] = held_back.MOVED
        else:
            why = held_back.ours(rows, texts).map({True: held_back.OURS, False: ""})
        bad = rows.loc[why != "", list(PLACE)].astype(object)
        for place, reason in zip(bad.itertuples(index=False, name=None), why[why != ""], strict=True):
            flaw = _Flaw(**dict(zip(PLACE, place, strict=True)), reason=str(reason))
            found[flaw.file, flaw.line] = flaw
    for rule in rules():
        for (place,) in staging.fetch(rule.query):
            found.setdefault((place["file"], place["line"]), _Flaw(**place, reason=rule.sentence))
    return list(found.values())


def _left(pair: tuple[pa.Table, pa.Table], gone: Sequence[set[int]]) -> list[pa.Table]:
    """The rows of both sides that are not gone, with their side and their place on it."""
    import numpy as np
    import pyarrow as pa

    found = []
    for side, (rows, out) in enumerate(zip(pair, gone, strict=True)):
        numbered = rows.append_column(SIDE, pa.array(np.full(rows.num_rows, side, dtype="int8")))
        numbered = numbered.append_column(AT, pa.array(np.arange(rows.num_rows)))
        found.append(numbered.filter(pa.array(~np.isin(np.arange(rows.num_rows), list(out)))) if out else numbered)
    return found


def _taken(table: str, published: pa.Table, local: pa.Table) -> pa.Table:
    """One row of each thing; published ones alone do not compete any more."""
    if not local.num_rows:
        return published
    return taken(table, list(zip(_ORIGINS, (published, local), strict=True)), _ONE_EACH[table])


def _new(table: str, rows: pa.Table, published: pa.Table) -> list[bool]:
    """Which of the rows were not published before."""
    key = [*KEYS[table], "env_id", "run_id", "measured_at"]
    sides = rows[SIDE].to_pylist()
    if _LOCAL not in sides:
        return [False] * rows.num_rows
    known = set(_values(published, key))
    return [side == _LOCAL and row not in known for side, row in zip(sides, _values(rows, key), strict=True)]


def _values(rows: pa.Table, names: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    return zip(*(rows[name].to_pylist() for name in names), strict=True)


def _moved(published: pa.Table, local: pa.Table) -> set[int]:
    """Places of the local cells with another outcome than was published, as far as they are not settled."""
    if not (published.num_rows and local.num_rows):
        return set()
    before, after = (to_frame(rows.select([*moving.COLUMNS])) for rows in (published, local))
    out = moving.moved(before, after) & ~settled(to_frame(local.select(["apart", "attempts"])))
    return {int(place) for place in out.index[out]}


def _note(found: Promotion, out: Iterable[_Flaw]) -> None:
    """Note what goes. A replay whose error is ours is counted."""
    for flaw in out:
        if not flaw.is_new:
            found.dropped[f"published before, and {flaw.reason}"] += not flaw.is_local
        elif flaw.file.startswith("runs/") and flaw.reason == held_back.OURS:
            found.dropped[f"a run of a file, and {flaw.reason}"] += 1
        else:
            found.held.setdefault(flaw.reason, []).append(flaw.label)


def _by_reason(flaws: Iterable[_Flaw]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for flaw in sorted(flaws, key=lambda flaw: (flaw.reason, flaw.label)):
        found.setdefault(flaw.reason, []).append(flaw.label)
    return found
