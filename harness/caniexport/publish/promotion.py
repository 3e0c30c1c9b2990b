"""Which rows of cells and of replays are published: of each the one that is taken, without those that are held back.

A row that is held back leaves its place to the published one, so that what is to be published is judged until nothing
of it is held back any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from caniexport.gate import held_back
from caniexport.gate import moved as moving
from caniexport.gate.moved import cell_names, settled
from caniexport.store.frames import to_frame
from caniexport.store.merge import taken
from caniexport.store.which_row import KEYS, PUBLISHED_REPLAY

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_ORIGINS = ("published", "local")
_LOCAL = _ORIGINS.index("local")
#: one row for each of these is published
_ONE_EACH = {"cells": KEYS["cells"], "runs": PUBLISHED_REPLAY}
#: columns that :func:`_reasons` looks at
_JUDGED = {"cells": held_back.COLUMNS, "runs": ("message_id", "signature")}

#: (published, local) rows of each file of a table, by the file's name
Sides = Mapping[str, tuple["pa.Table", "pa.Table"]]
#: rows of a file without those that are out of date, and how many of them, by reason
Current = Callable[["pa.Table"], "tuple[pa.Table, Counter[str]]"]


@dataclass
class Promotion:
    """What is to be published.

    rows      by the file's name
    promoted  how many of them were not published before, the same
    held      local cells that are held back: names by reason
    doubtful  published cells of which nothing shows that they are wrong: names by reason
    dropped   rows that go, by reason
    """

    rows: dict[str, pa.Table] = field(default_factory=dict)
    promoted: dict[str, int] = field(default_factory=dict)
    held: dict[str, list[str]] = field(default_factory=dict)
    doubtful: dict[str, list[str]] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)

    def add(self, other: Promotion) -> None:
        """Add what is to be published of another table."""
        self.rows |= other.rows
        self.promoted |= other.promoted
        self.held |= other.held
        self.doubtful |= other.doubtful
        self.dropped += other.dropped


def promote(
    table: str,
    sides: Sides,
    current: Current,
    environments: Sequence[Mapping[str, Any]],
    texts: Mapping[str, str],
) -> Promotion:
    """What is to be published of a table.

    environments, texts  as for :func:`caniexport.gate.held_back.reasons`
    """
    found = Promotion()
    numbered = {name: [_numbered(rows, side) for side, rows in enumerate(pair)] for name, pair in sides.items()}
    outdated: dict[str, Counter[str]] = {}
    moved = _moved(sides) if table == "cells" else set()
    frame, again = _frame(table, {}), set(numbered)
    why = frame["_file"]
    while again:
        for name in sorted(again):
            found.rows[name], outdated[name] = current(_taken(table, *numbered[name]))
        frame = _frame(table, found.rows)
        why = _reasons(table, frame, environments, texts)
        why[(why == "") & _is_moved(frame, moved)] = held_back.MOVED
        out = frame[(why != "") & ((frame["_side"] == _LOCAL) | why.isin(held_back.FALSE))]
        _note(table, found, out, why[out.index])
        again = {str(name) for name in out["_file"].unique()}
        for name in again:
            gone = out[out["_file"] == name]
            numbered[name] = [_without(rows, side, gone) for side, rows in enumerate(numbered[name])]
    found.doubtful = _by_reason(frame[why != ""], why[why != ""])
    found.dropped += sum(outdated.values(), Counter())
    for name, rows in found.rows.items():
        new = _new(table, rows, sides[name][0])
        found.promoted |= {name: new} if new else {}
        found.rows[name] = rows.drop_columns(["_side", "_at"])
    return found


def _reasons(
    table: str, rows: pd.DataFrame, environments: Sequence[Mapping[str, Any]], texts: Mapping[str, str]
) -> pd.Series[str]:
    """Why a row is held back; empty where it is not."""
    if table == "cells":
        return held_back.reasons(rows, environments, texts)
    return held_back.ours(rows, texts).map({True: held_back.OURS, False: ""})


def _taken(table: str, published: pa.Table, local: pa.Table) -> pa.Table:
    """One row of each thing; published ones alone do not compete any more."""
    if not local.num_rows:
        return published
    return taken(table, list(zip(_ORIGINS, (published, local), strict=True)), _ONE_EACH[table])


def _new(table: str, rows: pa.Table, published: pa.Table) -> int:
    """How many of the rows were not published before."""
    import pyarrow.compute as pc

    key = [*KEYS[table], "env_id", "run_id", "measured_at"]
    local = rows.filter(pc.equal(rows["_side"], _LOCAL))
    known = set(_values(published, key)) if local.num_rows else set()
    return sum(item not in known for item in _values(local, key))


def _values(rows: pa.Table, names: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    return zip(*(rows[name].to_pylist() for name in names), strict=True)


def _moved(sides: Sides) -> set[tuple[str, int]]:
    """File and place of the local cells with another outcome than was published, as far as they are not settled."""
    found: set[tuple[str, int]] = set()
    for name, (published, local) in sides.items():
        if published.num_rows and local.num_rows:
            before, after = (to_frame(rows.select([*moving.COLUMNS])) for rows in (published, local))
            out = moving.moved(before, after) & ~settled(to_frame(local.select(["apart", "attempts"])))
            found |= {(name, int(place)) for place in out.index[out]}
    return found


def _is_moved(frame: pd.DataFrame, moved: set[tuple[str, int]]) -> pd.Series[bool]:
    """Which rows of a frame of :func:`_frame` are among them."""
    import pandas as pd

    local = frame[frame["_side"] == _LOCAL]
    places = zip(local["_file"], local["_at"], strict=True)
    hit = [at for at, place in zip(local.index, places, strict=True) if place in moved]
    return pd.Series(frame.index.isin(hit), index=frame.index)


def _numbered(rows: pa.Table, side: int) -> pa.Table:
    """The rows with their side and their place on it."""
    import numpy as np
    import pyarrow as pa

    rows = rows.append_column("_side", pa.array(np.full(rows.num_rows, side, dtype="int8")))
    return rows.append_column("_at", pa.array(np.arange(rows.num_rows)))


def _without(rows: pa.Table, side: int, out: pd.DataFrame) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    gone = pa.array(out.loc[out["_side"] == side, "_at"], pa.int64())
    return rows.filter(pc.invert(pc.is_in(rows["_at"], value_set=gone)))


def _frame(table: str, rows: Mapping[str, pa.Table]) -> pd.DataFrame:
    """Every row with the columns that are judged, and where it is from."""
    import pandas as pd

    names = [*_JUDGED[table], "_side", "_at"]
    frames = [to_frame(part.select(names)).assign(_file=name) for name, part in rows.items()]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=[*names, "_file"])


def _note(table: str, found: Promotion, out: pd.DataFrame, why: pd.Series[str]) -> None:
    """Note what goes; a replay has no cell's name, and is counted."""
    local = out["_side"] == _LOCAL
    if table == "cells":
        for reason, names in _by_reason(out[local], why[local]).items():
            found.held.setdefault(reason, []).extend(names)
    else:
        found.dropped += Counter(f"a run of a file, and {reason}" for reason in why[local])
    found.dropped += Counter(f"published before, and {reason}" for reason in why[~local])


def _by_reason(rows: pd.DataFrame, why: pd.Series[str]) -> dict[str, list[str]]:
    return {str(reason): sorted(cell_names(rows[why == reason])) for reason in sorted(set(why))}
