"""The app: ``streamlit run dashboard/app.py``, as ``caniexport dashboard`` does; ``CANIEXPORT_HOME`` names the home."""

from __future__ import annotations

import sys
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
# Streamlit puts this folder on the path, not the one that has dashboard/
if str(_FOLDER.parent) not in sys.path:
    sys.path.insert(0, str(_FOLDER.parent))

import streamlit as st  # noqa: E402 - the path first

from caniexport import pages  # noqa: E402
from caniexport.pages.page import NAVIGATION, PAGES  # noqa: E402
from dashboard import frame  # noqa: E402

_ASSETS = Path(pages.__file__).parent
st.set_page_config(page_title="Can I export it?", page_icon=_ASSETS / "icon.svg", layout="wide")
st.html(_ASSETS / "style.css")
frame.brand()
shown = [
    st.Page(
        frame.make_page(name),
        title=title,
        url_path=name,
        default=name == "search",
        visibility="visible" if name in NAVIGATION else "hidden",
    )
    for name, title in PAGES.items()
]
st.navigation(shown, position="top").run()
