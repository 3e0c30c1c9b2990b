"""The app: ``python -m streamlit run dashboard/app.py``, with ``CANIEXPORT_HOME`` naming the checkout to read."""

from __future__ import annotations

import sys
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
# Streamlit puts this folder on the path, not the one that has harness/ and dashboard/
if str(_FOLDER.parent) not in sys.path:
    sys.path.insert(0, str(_FOLDER.parent))

import streamlit as st  # noqa: E402 - the path first

from dashboard import frame  # noqa: E402
from dashboard.views import about, alerts, case, claims, declared, home, matrix, op, runs, upgrade, workarounds  # noqa: E402

st.set_page_config(page_title="Can I export it?", page_icon=_FOLDER / "icon.svg", layout="wide")
st.html(_FOLDER / "style.css")
frame.brand()
st.navigation(
    [
        st.Page(frame.guarded(home.page), title="Search", url_path="search", default=True),
        st.Page(frame.guarded(matrix.page), title="Matrix", url_path="matrix"),
        st.Page(frame.guarded(case.page), title="Cases", url_path="case"),
        st.Page(frame.guarded(op.page), title="Operators", url_path="op"),
        st.Page(frame.guarded(upgrade.page), title="Upgrade", url_path="upgrade"),
        st.Page(frame.guarded(workarounds.page), title="Workarounds", url_path="workarounds"),
        st.Page(frame.guarded(claims.page), title="Claims", url_path="claims"),
        st.Page(frame.guarded(declared.page), title="Declared", url_path="declared"),
        st.Page(frame.guarded(alerts.page), title="Alerts", url_path="alerts"),
        st.Page(frame.guarded(runs.page), title="Runs", url_path="runs"),
        st.Page(frame.guarded(about.page), title="About", url_path="about"),
    ],
    position="top",
).run()
