"""The script that repeats a cell with nothing of ours installed, from the corpus of this home."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from caniexport import home as homes
from caniexport.answers.reasons import Why
from caniexport.model import corpus
from caniexport.model.corpus import LoadedCase
from caniexport.pages.kept import Kept
from caniexport.reproduce.find import of_answer


@st.cache_resource(max_entries=1, show_spinner=False)
def _corpus(folders: tuple[Path, ...]) -> dict[str, LoadedCase]:
    return dict(corpus.load(folders, stand_in=True))


def script(kept: Kept, shown: Why) -> str:
    """The script of the cell shown. Raises :class:`CaniexportError` with the reason where it cannot be written."""
    return of_answer(shown, kept, _corpus(homes.find().corpora)).script
