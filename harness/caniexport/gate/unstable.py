"""Files that one and the same runtime does not always answer alike: each of their rows is a repetition of the others.

A bundle's name is a hash over its file, inputs and expected outputs. Where rows of one variant have one bundle and one
runtime, and some work and some do not, neither is what the cell does: it does both.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from caniexport.model.status import MEASURED, WORKS, Stage, Status

if TYPE_CHECKING:
    import pandas as pd

_KEY = ["bundle", "case", "variant", "runtime", "runtime_version", "provider", "device"]
#: what :func:`unstable` looks at, and what the worst row of a bundle gives to the others
COLUMNS = (*_KEY, "corpus", "stage", "status", "signature", "message_id", "max_abs_error", "max_rel_error", "unstable")
GIVEN = ("stage", "status", "signature", "message_id", "max_abs_error", "max_rel_error")

_WORKS = frozenset(status.value for status in WORKS)
_ORDER = {status.value: place for place, status in enumerate(Status) if status in MEASURED}
#: stages that a runtime has reached
_REACHED = frozenset(
    stage.value for stage in (Stage.LOAD, Stage.PARSE, Stage.BUILD, Stage.PLACE, Stage.RUN, Stage.COMPARE, Stage.DONE)
)


def unstable(rows: pd.DataFrame, left_out: Collection[tuple[str, str]]) -> dict[int, dict[str, Any]]:
    """By position in a frame with :data:`COLUMNS` the values that change: those of the worst row, the statuses seen.

    Rows that others have taken the place of count too: what was seen once is not unseen by measuring again.
    ``left_out`` are variants (case, variant) whose session has options of its own: not one runtime, but two.
    """
    rows = rows.reset_index(drop=True)
    reached = rows[rows["bundle"].notna() & rows["stage"].isin(_REACHED) & rows["status"].isin(_ORDER)]
    reached = reached[reached["bundle"].isin(_suspects(reached))]
    places = [reached[name].fillna("") for name in _KEY]
    works = reached["status"].isin(_WORKS).groupby(places)
    known = reached["unstable"].map(_has).astype(bool).groupby(places)
    torn = reached[(works.transform("any") & ~works.transform("all")) | known.transform("any")]
    found: dict[int, dict[str, Any]] = {}
    for _, group in torn.groupby(_KEY, dropna=False):
        first = group.iloc[0]
        if (first["case"], first["variant"]) not in left_out:
            found |= _told(group)
    return found


def _suspects(rows: pd.DataFrame) -> set[str]:
    """Bundles with rows that work and rows that do not, or with one that is known to be unstable."""
    works = rows["status"].isin(_WORKS)
    known = rows.loc[rows["unstable"].map(_has).astype(bool), "bundle"]
    return (set(rows.loc[works, "bundle"]) & set(rows.loc[~works, "bundle"])) | set(known)


def _told(group: pd.DataFrame) -> dict[int, dict[str, Any]]:
    worst = group.iloc[int(group["status"].map(_ORDER).argmax())]
    given = {name: None if worst[name] != worst[name] else worst[name] for name in GIVEN}
    seen = sorted(set(group["status"]) | {status for words in group["unstable"] if _has(words) for status in words})
    return {int(position): {**given, "unstable": seen} for position in group.index}


def _has(words: Any) -> bool:
    return words is not None and not isinstance(words, float)
