"""What was measured when and with what, what does not speak and why, how often we cry wolf, what is going on now."""

from __future__ import annotations

import time
from pathlib import Path

import streamlit as st

from caniexport import home as homes
from caniexport.alerts.between import Between, RunRows, between, runs
from caniexport.measure.progress import RowCount
from caniexport.pages import alerts_html, live, runs_html, verdicts_html
from caniexport.pages.kept import Kept
from dashboard import frame, params

#: seconds between two looks at a run that goes on
_EVERY = 5


def page(kept: Kept) -> None:
    """Draw it."""
    frame.heading(
        "Runs and environments",
        "Each release was measured by a run in an environment of its own; a run speaks only if its gate lets it.",
    )
    found = kept.environment_records()
    st.html('<h2 class="sub">Going on now</h2>')
    _progress(live.planned(found))
    frame.section("Left out", runs_html.quarantined([row for row in found if row["quarantined"]]))
    frame.notes(kept.rows().notes)
    _differences(kept)
    frame.section("How often we cry wolf", runs_html.repeats(found))
    hint = '<p class="hint">Open a release for every package that was installed.</p>'
    frame.section("Environments that export", hint, runs_html.environments(found))
    frame.section("Runtimes that run the same files", runs_html.runtimes(found))


def _differences(kept: Kept) -> None:
    """Two runs, or all of two releases: what is different in the later one."""
    st.html('<h2 class="sub">What differs between two runs</h2>')
    known = kept.answer(runs)
    releases = [name for name, run in known.items() if not run.run_id]
    if not known:
        st.html('<p class="hint">No run has rows yet.</p>')
        return
    shown = {name: _said(run) for name, run in known.items()}
    first, second = releases[min(1, len(releases) - 1)], releases[0]
    with st.container(key="pair", horizontal=True, vertical_alignment="bottom"):
        before = params.select("before", "Before", list(known), default=shown[first], shown=shown, width=320) or first
        after = params.select("after", "After", list(known), default=shown[second], shown=shown, width=320) or second
    found = kept.answer(_between, before, after)
    st.html(alerts_html.changes(found.changes))
    with st.expander("Every class with its number"):
        st.html(verdicts_html.counts(found.counts))


def _said(run: RunRows) -> str:
    rows = f"{run.cells:,} cells"
    return f"torch {run.torch} · run {run.run_id} · {rows}" if run.run_id else f"torch {run.torch} · {rows}"


def _between(kept: Kept, before: str, after: str) -> Between:
    return between(kept, before, after)


@st.fragment(run_every=_EVERY)
def _progress(planned: dict[str, int]) -> None:
    local = homes.find().local
    st.html(runs_html.progress(live.going(local, time.time(), planned, _count(local))))


@st.cache_resource(max_entries=2, show_spinner=False)
def _count(local: Path) -> RowCount:
    """One count for all sessions: a journal of megabytes is read once."""
    return RowCount(local)
