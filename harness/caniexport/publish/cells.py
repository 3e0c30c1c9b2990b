"""Which cells are published: of each the row that speaks, without those that are held back.

A row that is held back leaves its place to the published one, so that what is to be published is judged until nothing
of it is held back any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from caniexport.gate import held_back
from caniexport.gate import moved as moving
from caniexport.gate.settled import cell_names, settled
from caniexport.store.frames import to_frame
from caniexport.store.merge import taken

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_PUBLISHED, _LOCAL = 0, 1

#: rows of a file without those that are out of date, and how many of them, by reason
Current = Callable[["pa.Table"], "tuple[pa.Table, Counter[str]]"]


@dataclass
class Promotion:
    """What is to be published.

    rows      by name of the cells file
    held      local cells that are held back: names by reason
    doubtful  published cells of which nothing shows that they are wrong: names by reason
    dropped   rows that go, by reason
    """

    rows: dict[str, pa.Table] = field(default_factory=dict)
    held: dict[str, list[str]] = field(default_factory=dict)
    doubtful: dict[str, list[str]] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)


def promote(
    sides: Mapping[str, tuple[pa.Table, pa.Table]],
    current: Current,
    environments: Sequence[Mapping[str, Any]],
    texts: Mapping[str, str],
) -> Promotion:
    """What is to be published of the (published, local) rows of each cells file.

    environments, texts  as for :func:`caniexport.gate.held_back.reasons`
    """
    found = Promotion()
    numbered = {name: [_numbered(rows, side) for side, rows in enumerate(pair)] for name, pair in sides.items()}
    outdated: dict[str, Counter[str]] = {}
    moved = _moved(numbered)
    again = set(numbered)
    while again:
        for name in sorted(again):
            merged = taken("cells", list(zip(("published", "local"), numbered[name], strict=True)))
            found.rows[name], outdated[name] = current(merged)
        frame = _frame(found.rows)
        why = held_back.reasons(frame, environments, texts)
        why[(why == "") & _is_moved(frame, moved)] = held_back.MOVED
        false = why.isin(held_back.FALSE)
        out = frame[(why != "") & ((frame["_side"] == _LOCAL) | false)]
        _note(found, out, why[out.index])
        again = {str(name) for name in out["_file"].unique()}
        for name in again:
            numbered[name] = [
                _without(rows, side, out[out["_file"] == name]) for side, rows in enumerate(numbered[name])
            ]
    found.doubtful = _by_reason(frame[why != ""], why[why != ""]) if found.rows else {}
    found.dropped += sum(outdated.values(), Counter())
    found.rows = {name: rows.drop_columns(["_side", "_at"]) for name, rows in found.rows.items()}
    return found


def _moved(numbered: Mapping[str, Sequence[pa.Table]]) -> set[tuple[str, int]]:
    """File and place of the local rows with another outcome than was published, as far as they are not settled."""
    found: set[tuple[str, int]] = set()
    for name, (published, local) in numbered.items():
        if published.num_rows and local.num_rows:
            before, after = (to_frame(rows.select([*moving.COLUMNS])) for rows in (published, local))
            out = moving.moved(before, after) & ~settled(to_frame(local.select(["apart", "attempts"])))
            found |= {(name, int(place)) for place in out.index[out]}
    return found


def _is_moved(frame: pd.DataFrame, moved: set[tuple[str, int]]) -> pd.Series[bool]:
    """Which rows of a frame of :func:`_frame` are among them."""
    import pandas as pd

    places = zip(frame["_side"], frame["_file"], frame["_at"], strict=True)
    return pd.Series(
        [side == _LOCAL and (name, at) in moved for side, name, at in places], index=frame.index, dtype=bool
    )


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


def _frame(rows: Mapping[str, pa.Table]) -> pd.DataFrame:
    """Every row with the columns that are judged, and where it is from."""
    import pandas as pd

    names = [*held_back.COLUMNS, "_side", "_at"]
    frames = [to_frame(table.select(names)).assign(_file=name) for name, table in rows.items()]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=[*names, "_file"])


def _note(found: Promotion, out: pd.DataFrame, why: pd.Series[str]) -> None:
    local = out["_side"] == _LOCAL
    for reason, names in _by_reason(out[local], why[local]).items():
        found.held.setdefault(reason, []).extend(names)
    for word, count in why[~local].value_counts().items():
        found.dropped[f"published before, and {word}"] += int(count)


def _by_reason(rows: pd.DataFrame, why: pd.Series[str]) -> dict[str, list[str]]:
    return {str(reason): sorted(cell_names(rows[why == reason])) for reason in sorted(set(why))}
