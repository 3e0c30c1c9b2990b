"""Measured rows as a pandas frame: what the Python API returns, and what a page lets a reader save."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caniexport.answers.filters import Filters
from caniexport.answers.select import load, select
from caniexport.store import Dataset

if TYPE_CHECKING:
    import pandas as pd


def cells_frame(dataset: Dataset, filters: Filters) -> pd.DataFrame:
    """The rows that the filters take, one per cell: the columns of docs/data.md and ``origin`` (published or local)."""
    import pandas as pd

    taken = select(load(dataset), filters)
    where = {name: tuple(values) for name, values in taken.where().items()}
    frame = dataset.cells(**where, status=tuple(status.value for status in taken.statuses) or None)
    variants = pd.MultiIndex.from_frame(frame[["case", "variant"]])
    return frame[variants.isin(list(taken.catalogue))].reset_index(drop=True)
