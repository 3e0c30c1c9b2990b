"""Measured rows as a pandas frame: what the Python API returns, and what a page lets a reader save."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caniexport.answers.filters import Filters
from caniexport.answers.matrix import By, narrowed, table
from caniexport.answers.pandas_extra import import_pandas
from caniexport.answers.select import load, select
from caniexport.store import Dataset

if TYPE_CHECKING:
    import pandas as pd


def cells_frame(dataset: Dataset, filters: Filters) -> pd.DataFrame:
    """The rows that the filters take, one per cell: the columns of docs/data.md and ``origin`` (published or local)."""
    pandas = import_pandas("cells()")
    taken = select(load(dataset), filters)
    where = {name: tuple(values) for name, values in taken.where().items()}
    frame = dataset.cells(**where, status=tuple(status.value for status in taken.statuses) or None)
    variants = pandas.MultiIndex.from_frame(frame[["case", "variant"]])
    found: pd.DataFrame = frame[variants.isin(list(taken.catalogue))].reset_index(drop=True)
    return found


def matrix_frame(dataset: Dataset, filters: Filters, by: By) -> pd.DataFrame:
    """The cells of the lines that a matrix shows, whole, and of the environment cases below it; columns as above.

    By runtime it has the cells as they were measured, not the same files on further runtimes.
    """
    pandas = import_pandas("the cells of a matrix")
    shown = table(dataset, filters, by)
    where = select(load(dataset), narrowed(filters, by, load(dataset).torch, [])).where()
    if shown.environments and "exporter" in where:
        where["exporter"] = {*where["exporter"], None}
    frame = load(dataset, runtimes=by is By.RUNTIME).frame(**where)
    lines = {(line.case, line.variant, line.exporter, line.provider) for line in shown.lines}
    lines |= {(line.case, line.variant, None, None) for line in shown.environments}
    # what is one column of a line each, or is not told of it, does not tell lines apart
    told = frame[["case", "variant", "exporter", "provider"]].copy()
    if by is By.EXPORTER:
        told["exporter"] = None
    if not any(line.provider for line in shown.lines):
        told["provider"] = None
    is_shown = pandas.Series([key in lines for key in told.itertuples(index=False, name=None)], dtype=bool)
    found: pd.DataFrame = frame[is_shown].reset_index(drop=True)
    return found
