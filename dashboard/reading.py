"""What the pages read: the dataset of this home and its answers, kept until a file of the dataset changes."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import streamlit as st

from harness import home as homes
from harness.answers import select
from harness.answers.rows import COLUMNS
from harness.answers.select import Rows
from harness.store.dataset import Dataset, fingerprint
from harness.worker.status import Exporter

if TYPE_CHECKING:
    import pandas as pd

_Answer = TypeVar("_Answer")
#: answers kept at once; they are small beside the cells
_MOST_KEPT = 400


class Kept(Dataset):
    """A dataset that reads each of its small tables, and each set of columns of all its cells, once."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._kept: dict[Any, Any] = {}

    def cells(self, *given: Any, **asked: Any) -> pd.DataFrame:
        """One row per cell, as :meth:`Dataset.cells` gives them; a question without filters is read once."""
        if given or set(asked) != {"columns"}:
            return super().cells(*given, **asked)
        read = super().cells
        return cast("pd.DataFrame", self._once(("cells", tuple(asked["columns"] or ())), lambda: read(**asked)))

    def cases(self) -> pd.DataFrame:
        """One row per case and variant."""
        return cast("pd.DataFrame", self._once("cases", super().cases))

    def claims(self) -> pd.DataFrame:
        """One row per claim."""
        return cast("pd.DataFrame", self._once("claims", super().claims))

    def environments(self) -> pd.DataFrame:
        """One row per environment and run."""
        return cast("pd.DataFrame", self._once("environments", super().environments))

    def rows(self) -> Rows:
        """Every cell and the catalogue, as the answers read them."""
        return cast("Rows", self._once("rows", lambda: select.load(self)))

    def about(self, case: str) -> Kept:
        """The same dataset for questions about one case, which need not go through the cells of all others.

        Of these it has what decides a release's own opset and the opsets it offers: every cell of the exporter
        ``default``, and one of each release, exporter, opset, provider and status.
        """
        return cast("Kept", self._once(("about", case), lambda: self._narrowed(case)))

    def _narrowed(self, case: str) -> Kept:
        frame = self.cells(columns=COLUMNS)
        alike = frame.duplicated(["torch", "exporter", "opset", "provider", "status"])
        wanted = (frame["case"] == case) | (frame["exporter"] == Exporter.DEFAULT.value) | ~alike
        narrow = copy(self)
        narrow._kept = {("cells", COLUMNS): frame[wanted]}
        return narrow

    def answer(self, question: Callable[..., _Answer], *asked: Any) -> _Answer:
        """``question(self, *asked)``, kept; ``asked`` must be hashable."""
        return cast("_Answer", self._once((question, asked), lambda: question(self, *asked)))

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        if key in self._kept:
            return self._kept[key]
        if len(self._kept) > _MOST_KEPT:
            self._kept.clear()
        return self._kept.setdefault(key, make())


def source() -> Kept:
    """The dataset as its files are now; raises :class:`harness.worker.errors.CaniexportError` where there is none."""
    home = homes.find()
    return _open(home.published, home.local, fingerprint(home.published, home.local))


@st.cache_resource(max_entries=2, show_spinner=False)
def _open(published: Path, local: Path, seen: str) -> Kept:  # noqa: ARG001 - the fingerprint is a part of the key
    return cast("Kept", Kept.open(published, local))
