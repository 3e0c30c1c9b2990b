"""What the pages read: the dataset of this home, opened anew when a file of it changes."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from caniexport import home as homes
from caniexport.pages.kept import Kept
from caniexport.store.dataset import fingerprint

#: seconds for which rows that a measurement appends are not looked at again: every row would change the dataset
PATIENCE = 30


def source() -> Kept:
    """Return the dataset as its files are now, at most :data:`PATIENCE` seconds behind a measurement that goes on.

    Raises :class:`caniexport.model.errors.CaniexportError` where there is none.
    """
    home = homes.find()
    folders = home.published, home.local
    return _opened(*folders, fingerprint(*folders, journals=False), _journals(*folders))


@st.cache_data(ttl=PATIENCE, max_entries=2, show_spinner=False)
def _journals(published: Path, local: Path) -> str:
    return fingerprint(published, local)


@st.cache_resource(max_entries=1, show_spinner=False)
def _opened(published: Path, local: Path, settled: str, journals: str) -> Kept:  # noqa: ARG001  # both are the key
    return Kept.open(published, local)
