"""Measured rows as a pandas frame: what the Python API returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caniexport.answers.filters import Filters
from caniexport.answers.pandas_extra import import_pandas
from caniexport.answers.scope import select
from caniexport.store import Dataset

if TYPE_CHECKING:
    import pandas as pd


def cells_frame(dataset: Dataset, filters: Filters) -> pd.DataFrame:
    """The rows that the filters take, one per cell: the columns of docs/data.md and ``origin`` (published or local)."""
    pandas = import_pandas("cells()")
    taken = select(dataset, filters)
    where = {name: tuple(values) for name, values in taken.where.items()}
    frame = dataset.cells(**where, status=tuple(status.value for status in taken.statuses) or None)
    variants = pandas.MultiIndex.from_frame(frame[["case", "variant"]])
    found: pd.DataFrame = frame[variants.isin(list(taken.catalogue))].reset_index(drop=True)
    return found
