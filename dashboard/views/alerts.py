"""Alerts: what every release made worse than the one before, what became of it, and how often we cry wolf."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime

import streamlit as st

from caniexport import home as homes
from caniexport.alerts import formats, noted
from caniexport.alerts.group import AlertKind
from caniexport.alerts.lifecycle import AlertStage
from caniexport.alerts.noted import Noted
from caniexport.alerts.releases import ReleaseAlert, ReleaseAlerts, along
from caniexport.alerts.report import Report, report
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.model.status import Exporter
from caniexport.pages import alerts_html, links, runs_html, verdicts_html
from caniexport.pages.kept import Kept
from caniexport.pages.markup import escape, link, plural
from caniexport.store import Dataset
from dashboard import frame, params

_EXPORTERS = [member.value for member in Exporter]
_STATES = [state.value for state in AlertStage]
_DEFAULT = (AlertStage.OPEN.value, AlertStage.ACKNOWLEDGED.value)


def page(kept: Kept) -> None:
    """Draw it."""
    frame.heading(
        "Alerts",
        "What a release made worse than the one before it, one alert for each cause. Every exporter is looked at "
        "with the release's own default opset, as installed together with its own onnxruntime.",
    )
    people = noted.read(homes.find().root)
    found = kept.answer(_along, people)
    shown = _shown(found, _filters(found))
    st.html(alerts_html.states(found.alerts))
    if shown:
        st.html(alerts_html.alerts(shown))
    else:
        _nothing(found)
    if found.expected:
        st.html(f'<p class="hint">{plural(found.expected, "change")} left out: expected (expectations.toml).</p>')
    _here(kept, people)
    frame.section("How often we cry wolf", runs_html.rate(kept.environment_records()))
    points = link(links.page("upgrade"), "Any two points")
    hint = f'<p class="hint">A pair leads to all of its differences, at every opset. {points} can be compared, too.</p>'
    tables = f'<div class="two">{alerts_html.steps(found.steps)}{verdicts_html.counts(found.counts)}</div>'
    frame.section("Every class, and every pair of releases", hint, tables)


def _along(kept: Kept, people: Noted) -> ReleaseAlerts:
    return along(kept, people.expected, people.known)


def _filters(found: ReleaseAlerts) -> dict[str, Sequence[str]]:
    releases = list(dict.fromkeys(item.torch for item in found.alerts))
    kinds = [kind.value for kind in AlertKind if any(item.alert.kind is kind for item in found.alerts)]
    names = {kind.value: verdicts_html.KINDS[kind][0] for kind in AlertKind}
    with st.container(key="filters", horizontal=True, vertical_alignment="bottom"):
        query = params.words("q", "Search", "case, fix, words of the error")
        torch = params.select("torch", "Made worse by", releases, default="any release", shown=_torch(releases))
        kind = params.select("kind", "What", kinds, default="anything", shown=names)
        states = params.pills("state", "State", _STATES, default=_DEFAULT)
        exporters = params.pills(
            "exporter", "Exporter", _EXPORTERS, default=_EXPORTERS, shown=lambda name: EXPORTER_SHORT[name]
        )
    return {
        "q": query.casefold().split(),
        "torch": [torch] if torch else releases,
        "kind": [kind] if kind else kinds,
        "state": states,
        "exporter": exporters,
    }


def _torch(releases: Sequence[str]) -> dict[str, str]:
    return {torch: f"torch {torch}" for torch in releases}


def _shown(found: ReleaseAlerts, asked: dict[str, Sequence[str]]) -> list[ReleaseAlert]:
    return [item for item in found.alerts if _taken(item, asked)]


def _taken(item: ReleaseAlert, asked: dict[str, Sequence[str]]) -> bool:
    text = "\n".join((*item.alert.names, item.text or "", item.note, item.alert.id)).casefold()
    return (
        item.torch in asked["torch"]
        and item.alert.kind.value in asked["kind"]
        and item.state.value in asked["state"]
        and any(member.place.exporter in asked["exporter"] for member in item.alert.members)
        and all(word in text for word in asked["q"])
    )


def _nothing(found: ReleaseAlerts) -> None:
    if found.alerts:
        st.info("No alert passes these filters.", icon=":material/filter_alt_off:")
        return
    compared = plural(sum(found.counts.values()), "cell")
    st.html(
        f'<p class="counts"><span class="badge s-pass">✓ none</span> <span>{compared} of '
        f"{plural(len(found.steps), 'pair')} of releases were compared, and nothing got worse; every class is counted "
        "below.</span></p>"
    )


def _here(kept: Kept, people: Noted) -> None:
    """What was measured on this machine, against what is published."""
    title = "Measured here, against what is published"
    if not kept.rows().local:
        said = "Nothing was measured on this machine. After <code>caniexport measure</code> the differences stand here."
        frame.section(title, f'<p class="hint">{said}</p>')
        return
    found = kept.answer(_against_published, people, datetime.now(UTC).date())
    changes = alerts_html.changes([item.alert for item in found.alerts])
    frame.section(title, f'<p class="hint">{escape(formats.summary(found))}</p>', changes)


def _against_published(kept: Kept, people: Noted, today: date) -> Report:
    published = Dataset.open(homes.find().published, None)
    return report(("published", published), ("this machine", kept), people.expected, people.known, today)
