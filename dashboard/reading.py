"""What the pages read: the dataset of this home, opened anew when a file of it changes."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import streamlit as st

from caniexport import home as homes
from caniexport.pages.kept import Kept
from caniexport.store.dataset import fingerprint

__all__ = ["Kept", "source"]

#: seconds for which rows that a measurement appends are not looked at again: every row would change the dataset, and
#: each page would be worked out anew
PATIENCE = 30.0


def source() -> Kept:
    """The dataset as its files are now, at most :data:`PATIENCE` seconds behind a measurement that goes on.

    Raises :class:`caniexport.model.errors.CaniexportError` where there is none.
    """
    home = homes.find()
    return _shelf(home.published, home.local).now(time.monotonic())


class Shelf:
    """The dataset of two folders, kept for all sessions as long as its files are the same."""

    def __init__(self, published: Path, local: Path) -> None:
        self._folders = published, local
        self._lock = threading.Lock()
        self._kept: Kept | None = None
        self._settled = self._journals = ""
        self._opened = 0.0

    def now(self, at: float) -> Kept:
        """The dataset at this time (seconds of a clock that does not jump)."""
        with self._lock:
            settled = fingerprint(*self._folders, journals=False)
            if self._kept is None or settled != self._settled:
                return self._open(settled, at)
            if at - self._opened >= PATIENCE and self._seen() != self._journals:
                return self._open(settled, at)
            return self._kept

    def _seen(self) -> str:
        return fingerprint(*self._folders)

    def _open(self, settled: str, at: float) -> Kept:
        self._settled, self._journals, self._opened = settled, self._seen(), at
        self._kept = Kept.open(*self._folders)
        return self._kept


@st.cache_resource(max_entries=2, show_spinner=False)
def _shelf(published: Path, local: Path) -> Shelf:
    return Shelf(published, local)
