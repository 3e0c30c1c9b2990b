"""Plausibility: which cells fail in one release only, in a way that a fault of the measurement has too. Pure.

A cell is *isolated* where it does not work and works in the release before and in the release after, with the same
exporter and opset. Torch does break things and mend them at once; so does a broken measurement, and it does it to many
cells in the same words. Which of the two it was is known when the cells were measured apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from caniexport import versions
from caniexport.model.status import MEASURED, WORKS

if TYPE_CHECKING:
    import pandas as pd

#: columns that :func:`implausible` looks at
COLUMNS = ("torch", "provider", "case", "variant", "exporter", "opset", "status", "signature")

#: isolated cells and cases that one signature must have with an exporter, where other releases know it too
MANY_CELLS = 20
MANY_CASES = 5

_CELL = ["provider", "case", "variant", "exporter", "opset"]
_WORKS = frozenset(status.value for status in WORKS)
_BROKEN = frozenset(status.value for status in MEASURED - WORKS)


def implausible(cells: pd.DataFrame) -> pd.Series[bool]:
    """Which rows of a frame with :data:`COLUMNS` are not to be believed before they were measured apart.

    Where a signature is known from one release alone and any of its cells is isolated: all of its cells. Where other
    releases know it: its isolated cells, as far as they are many and of many cases with one exporter.
    """
    measured = cells[cells["torch"].notna() & cells["case"].notna()]
    isolated = _isolated(measured)
    found = _of_one_release(measured, isolated) | _in_bulk(measured, isolated)
    return found.reindex(cells.index, fill_value=False)


def _isolated(cells: pd.DataFrame) -> pd.Series[bool]:
    """Whether a row does not work, and its cell does in the releases before and after, on whatever runtime."""
    places = {torch: place for place, torch in enumerate(sorted(cells["torch"].unique(), key=versions.parse))}
    # a number for each cell and release; those of the releases before and after lie beside it
    numbers = cells.groupby(_CELL, dropna=False).ngroup() * (len(places) + 2) + cells["torch"].map(places)
    working = numbers[cells["status"].isin(_WORKS)].unique()
    return cells["status"].isin(_BROKEN) & (numbers - 1).isin(working) & (numbers + 1).isin(working)


def _of_one_release(cells: pd.DataFrame, isolated: pd.Series[bool]) -> pd.Series[bool]:
    releases = cells.groupby("signature")["torch"].nunique()
    alone = cells["signature"].map(releases) == 1
    suspicious = set(cells.loc[alone & isolated, "signature"])
    return cells["signature"].isin(suspicious) & cells["status"].isin(_BROKEN)


def _in_bulk(cells: pd.DataFrame, isolated: pd.Series[bool]) -> pd.Series[bool]:
    groups = cells[isolated].groupby(["torch", "provider", "exporter", "signature"])["case"]
    many = (groups.transform("size") >= MANY_CELLS) & (groups.transform("nunique") >= MANY_CASES)
    return many.reindex(cells.index, fill_value=False)
