"""What the pages read: the dataset of this home, opened anew when a file of it changes."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import streamlit as st

from dashboard.kept import Kept
from harness import home as homes
from harness.store.dataset import fingerprint

__all__ = ["Kept", "source"]


def source() -> Kept:
    """The dataset as its files are now; raises :class:`harness.worker.errors.CaniexportError` where there is none."""
    home = homes.find()
    return _open(home.published, home.local, fingerprint(home.published, home.local))


@st.cache_resource(max_entries=2, show_spinner=False)
def _open(published: Path, local: Path, seen: str) -> Kept:  # noqa: ARG001 - the fingerprint is a part of the key
    return cast("Kept", Kept.open(published, local))
