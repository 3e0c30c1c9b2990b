"""Which cells were measured apart and twice, and what cells are called."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def settled(cells: pd.DataFrame) -> pd.Series[bool]:
    """Which rows are of cells that were measured apart and twice."""
    attempts = cells["attempts"].fillna(1).astype("int64")
    return cells["apart"].fillna(False).astype(bool) & (attempts >= 2)


def cell_names(cells: pd.DataFrame) -> Iterable[str]:
    """``torch/case/variant/exporter/opset`` of each row."""
    import pandas as pd

    names = ["torch", "case", "variant", "exporter"]
    for *words, opset in cells[[*names, "opset"]].astype(object).itertuples(index=False, name=None):
        yield "/".join([*(str(word) for word in words), "default" if pd.isna(opset) else str(int(opset))])
