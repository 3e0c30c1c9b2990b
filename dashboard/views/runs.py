"""What was measured when and with what, what does not speak and why, how often we cry wolf, what is going on now."""

from __future__ import annotations

import time

import streamlit as st

from dashboard import frame, live, runs_html
from dashboard.kept import Kept
from harness import home as homes
from harness.answers.rows import records

#: seconds between two looks at a run that goes on
_EVERY = 5


def page(kept: Kept) -> None:
    """Draw it."""
    frame.heading(
        "Runs and environments",
        "Each release was measured by a run in an environment of its own; a run speaks only if its gate lets it.",
    )
    found = records(kept.environments())
    st.html('<h2 class="sub">Going on now</h2>')
    _progress(live.planned(found))
    st.html('<h2 class="sub">Left out</h2>')
    st.html(runs_html.quarantined([row for row in found if row["quarantined"]]))
    frame.notes(kept.rows().notes)
    st.html('<h2 class="sub">How often we cry wolf</h2>')
    st.html(runs_html.repeats(found))
    st.html('<h2 class="sub">Environments</h2>')
    st.html('<p class="hint">Open a release for every package that was installed.</p>')
    st.html(runs_html.environments(found))


@st.fragment(run_every=_EVERY)
def _progress(planned: dict[str, int]) -> None:
    st.html(runs_html.progress(live.going(homes.find().local, time.time(), planned)))
