"""Cells that came out differently than their published row, though neither the case nor the environment has changed.

Either the measuring code is the cause, or the exporter does not always answer alike: that of torch 2.4 fails in one
export of fourteen, when the garbage collector frees a tensor that it still refers to. Which of the two it was is known
when the cell was measured apart and twice: it is then settled.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from caniexport.model.status import MEASURED
from caniexport.store import Dataset

if TYPE_CHECKING:
    import pandas as pd


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


#: what two rows of one question have in common, beside the runtime: what failed before one was reached carries none
_QUESTION = (
    *("torch", "case", "variant", "exporter", "opset", "provider"),
    *("case_hash", "measuring", "python", "onnx", "onnxscript"),
)
#: columns that :func:`moved` looks at
COLUMNS = (*_QUESTION, "runtime", "runtime_version", "bundle", "status", "signature", "unstable")

_MEASURED = frozenset(status.value for status in MEASURED)


def moved(before: pd.DataFrame, after: pd.DataFrame) -> pd.Series[bool]:
    """Which rows of ``after`` have another status or signature than a row of ``before`` with the same question.

    Both have :data:`COLUMNS`. Rows that measured nothing move nothing, and what is known to be unstable may differ.
    Two outcomes of one and the same file are the runtime's (:mod:`caniexport.gate.unstable`).
    """
    import pandas as pd

    known = before[before["status"].isin(_MEASURED) & before["unstable"].isna()]
    rows = after[list(COLUMNS)].assign(_at=after.index)
    both = rows[rows["status"].isin(_MEASURED)].merge(
        known[list(COLUMNS)], on=list(_QUESTION), suffixes=("", "_before")
    )
    both = both.astype(object).where(both.notna(), "")
    same_runtime = _same(both, "runtime") & _same(both, "runtime_version")
    same_runtime |= (both["runtime"] == "") | (both["runtime_before"] == "")
    same_file = _same(both, "bundle") & (both["bundle"] != "")
    other = ~same_file & ~(_same(both, "status") & _same(both, "signature"))
    return pd.Series(after.index.isin(both.loc[same_runtime & other, "_at"]), index=after.index)


def moved_cells(published: Path, local: Path, torch: str | None = None) -> list[str]:
    """Names of the local cells, of one release or all, that have moved since publication and are not settled."""
    before = Dataset.open(published, None).cells(columns=COLUMNS, torch=torch)
    after = Dataset.open(None, local).cells(columns=(*COLUMNS, "apart", "attempts"), torch=torch)
    return list(cell_names(after[moved(before, after) & ~settled(after)]))


def _same(both: pd.DataFrame, name: str) -> pd.Series[bool]:
    return both[name] == both[f"{name}_before"]
