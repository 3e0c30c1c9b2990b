"""Alerts: what every release made worse than the one before it, and what this machine measured otherwise."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

from caniexport import home as homes
from caniexport.alerts import expectations, formats, known
from caniexport.alerts.alert import Alert
from caniexport.alerts.answer import alerts_answer
from caniexport.alerts.comparison import compare
from caniexport.alerts.expectations import Expectation
from caniexport.alerts.releases import compare_releases, select_releases
from caniexport.answers.answer import Answer
from caniexport.answers.signs import CALLS
from caniexport.model.status import Exporter
from caniexport.pages.answered import make_files, render_answer
from caniexport.pages.form import Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.render import render
from caniexport.store import Dataset

TITLE = "What did a release break?"
_LEAD = "What a release made worse than the one before it, one alert for each cause."
_EXPORTERS = [member.value for member in Exporter]


def page(form: Form, kept: Kept) -> Page:
    """The alerts that the filters take."""
    entries, noted = _noted()
    found = kept.answer(compare_releases, entries, noted)
    text = form.words("q", "Search", "case, workaround, text of the error").casefold().split()
    exporters = form.mine.of("exporter") or _EXPORTERS
    form.choose_setting(kept.inventory, ("torch", "exporter"), _EXPORTERS)
    taken = replace(found, alerts=tuple(item for item in found.alerts if _is_taken(item, text, exporters)))
    about = ", ".join([*text, *(CALLS[name] for name in form.mine.of("exporter"))])
    answer = alerts_answer(select_releases(taken, form.mine.of("torch")), about)
    here = None
    if kept.inventory.local and not form.whole:
        here = render_answer(kept.answer(_against_published, entries, noted, datetime.now(UTC).date()))
    body = render("alerts.html", whole=form.whole, body=render_answer(answer), here=here)
    return form.page(TITLE, _LEAD, body, folds=True, files=make_files("alerts", answer))


def _is_taken(item: Alert, words: list[str], exporters: tuple[str, ...] | list[str]) -> bool:
    names = "\n".join(change.place.name for change in item.changes)
    text = "\n".join((names, item.text, item.note, item.id)).casefold()
    return all(word in text for word in words) and any(c.place.exporter in exporters for c in item.changes)


def _noted() -> tuple[tuple[Expectation, ...], tuple[Alert, ...]]:
    """Read the expected changes and the acknowledged alerts."""
    root = homes.find().root
    listed = root / homes.EXPECTATIONS
    return tuple(expectations.read_expectations(listed) if listed.exists() else ()), known.read_states(
        root / homes.STATES
    )


def feed(kept: Kept) -> str:
    """The alerts of all releases as a feed, each with the time at which its release was measured."""
    found = kept.answer(compare_releases, *_noted())
    opened = {step.torch: step.opened for step in found.steps}
    return formats.format_atom(
        ((alert, opened[alert.torch]) for alert in found.alerts), found.measured_at, link="alerts.html"
    )


def _against_published(kept: Kept, entries: tuple[Expectation, ...], noted: tuple[Alert, ...], today: date) -> Answer:
    """What was measured on this machine, against what is published."""
    published = Dataset.open(homes.find().published, None)
    return alerts_answer(compare(("published", published), ("this machine", kept), entries, noted, today))
