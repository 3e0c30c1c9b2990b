"""Alerts: what every release made worse than the one before it, and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from itertools import groupby
from typing import Any

from markupsafe import Markup

from caniexport import home as homes
from caniexport.alerts import formats, noted
from caniexport.alerts.feed import FeedEntry
from caniexport.alerts.group import Alert, AlertKind, opset_spans
from caniexport.alerts.lifecycle import AlertStage
from caniexport.alerts.noted import Noted
from caniexport.alerts.releases import ReleaseAlert, ReleaseAlerts, Step, along, decide_alerts
from caniexport.alerts.report import Report, report
from caniexport.answers.lived import NOT_MENDED, SPANS, count_lived
from caniexport.answers.outcomes import short_cause
from caniexport.answers.select import Rows
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.corpus.verdicts import IMPROVEMENTS, REGRESSIONS, Verdict
from caniexport.model.status import Exporter
from caniexport.names import plural
from caniexport.pages import looks
from caniexport.pages.charts import Series, bars_chart
from caniexport.pages.form import Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.render import render
from caniexport.pages.sheet import joined, table_file
from caniexport.store import Dataset

#: characters of a cause
_LONGEST = 200
_EXPORTERS = [member.value for member in Exporter]
_NAMED = tuple(name for name in _EXPORTERS if name != Exporter.DEFAULT.value)
_STATES = [state.value for state in AlertStage]
_DEFAULT = (AlertStage.OPEN.value, AlertStage.ACKNOWLEDGED.value)
_COLUMNS = (
    *("torch", "against", "state", "since", "note", "case / form", "text", "what", "before → after"),
    *("exporter", "done by", "cells"),
)
TITLE = "What did a release break?"
_LEAD = (
    "What a release made worse than the one before it, one alert for each cause. Every exporter is looked at "
    "with the release's own default opset, as installed together with its own onnxruntime."
)


def page(form: Form, kept: Kept) -> Page:
    """The alerts that the filters take."""
    people = noted.read(homes.find().root)
    found = kept.answer(releases, people)
    asked = _filters(form, found, kept.rows())
    here = None
    if kept.rows().local and not form.whole:
        here = kept.answer(_against_published, people, datetime.now(UTC).date())
    taken = [item for item in found.alerts if _taken(item, asked)]
    shown = [item for item in taken if item.state.value in asked["state"]]
    body = render(
        "alerts.html",
        found=found,
        decision=decide_alerts(taken, found.steps[0] if found.steps else None),
        shown=_by_step(shown),
        states=Counter(item.state for item in shown),
        hidden=Counter(looks.STATE[item.state].word for item in taken if item.state.value not in asked["state"]),
        every={**form.asked, "state": ",".join(_STATES)},
        whole=form.whole,
        here=here,
        summary=formats.summary(here) if here else "",
        changed=[told(item.alert) for item in here.alerts] if here else (),
        environments=kept.environment_records(),
        chart=_chart(found),
        lived=kept.answer(_lived),
    )
    return form.page(TITLE, _LEAD, body, folds=True, files=(table_file("alerts", _COLUMNS, lambda: map(_row, shown)),))


def _row(item: ReleaseAlert) -> tuple[object, ...]:
    """An alert as it is kept, in the order of the columns."""
    members = item.alert.members
    return (
        item.torch,
        item.before,
        looks.STATE[item.state].word,
        life(item),
        item.note,
        joined(item.alert.names),
        short_cause(item.text or "", _LONGEST),
        item.alert.kind.value,
        joined(dict.fromkeys(f"{member.before} → {member.after}" for member in members)),
        joined(dict.fromkeys(member.place.exporter for member in members)),
        joined(item.by),
        len(members),
    )


def releases(kept: Kept, people: Noted) -> ReleaseAlerts:
    """Every release against the one before it."""
    return along(kept, people.expected, people.known)


def told(item: Alert) -> dict[str, Any]:
    """What differs between two runs, for one cause: where, and in which words."""
    opsets = sorted({m.place.opset for m in item.members if m.place.opset is not None})
    spans = opset_spans([str(opset) for opset in opsets]) if opsets else ""
    own = "own" if any(m.place.opset is None for m in item.members) else ""
    cause = "" if item.cause in item.names else item.cause
    return {"alert": item, "opsets": ", ".join(filter(None, (spans, own))), "cause": cause}


def _chart(found: ReleaseAlerts) -> Markup:
    """Cells that each release mended, upwards, and broke, downwards."""
    steps = found.steps[::-1]
    mended = Series("mended", tuple(_cells(step, IMPROVEMENTS) for step in steps))
    broken = Series("broken", tuple(-_cells(step, REGRESSIONS) for step in steps))
    caption = "Cells at the release's own opset that each torch release mended and broke against the one before"
    return bars_chart([step.torch for step in steps], (mended, broken), caption)


def _lived(kept: Kept) -> Markup:
    """How many releases failures lived, bars for each exporter."""
    found = count_lived(kept)
    counted = {name: found[name] for name in _NAMED if name in found}
    columns = [*(name for _, name in SPANS), NOT_MENDED]
    series = [Series(EXPORTER_SHORT[name], tuple(counted[name][column] for column in columns)) for name in counted]
    caption = (
        "How long failures lived: cases by the measured releases from the first on which they failed to the last, "
        "at every opset, up to the release that mended them"
    )
    return bars_chart(columns, series, caption)


def _cells(step: Step, verdicts: Iterable[Verdict]) -> int:
    return sum(step.counts.get(verdict, 0) for verdict in verdicts)


def _by_step(found: Sequence[ReleaseAlert]) -> list[tuple[ReleaseAlert, list[tuple[ReleaseAlert, str, str]]]]:
    """The alerts of each release with what became of each and its cause; newest release first."""
    grouped = (list(mine) for _, mine in groupby(found, key=lambda item: (item.torch, item.before)))
    return [
        (mine[0], [(item, life(item), short_cause(item.text or "", _LONGEST)) for item in mine]) for mine in grouped
    ]


def life(item: ReleaseAlert) -> str:
    """What became of an alert since."""
    if item.resolved:
        return f"since {item.resolved}"
    return f"good in {item.good} (resolved after two)" if item.good else ""


def entries(found: ReleaseAlerts) -> list[FeedEntry]:
    """The alerts as entries of a feed; an alert's identity is its release, its kind and its cause."""
    return [_entry(item) for item in found.alerts]


def _entry(item: ReleaseAlert) -> FeedEntry:
    became = " ".join(filter(None, (looks.STATE[item.state].word, life(item))))
    lines = [
        f"torch {item.torch} against {item.before}: {became}",
        *filter(None, [short_cause(item.text or "", _LONGEST)]),
    ]
    lines += [
        f"{member.name}, {EXPORTER_SHORT.get(member.place.exporter, member.place.exporter)}, "
        f"{'its own opset' if member.place.opset is None else f'opset {member.place.opset}'}: "
        f"{member.before} → {member.after}"
        for member in item.alert.members
    ]
    names = item.alert.names
    about = names[0] if len(names) == 1 else f"{names[0]} and {plural(len(names) - 1, 'other')}"
    title = f"torch {item.torch}: {item.alert.kind.value}: {about}"
    address = f"alerts.html#alert-{item.alert.id}"
    return FeedEntry(item.alert.id, title, item.alert.kind.value, item.opened, item.opened, lines, address)


def _filters(form: Form, found: ReleaseAlerts, rows: Rows) -> dict[str, Sequence[str]]:
    present = {item.alert.kind for item in found.alerts}
    kinds = {kind.value: looks.KIND[kind].name for kind in AlertKind if kind in present}
    query = form.words("q", "Search", "case, fix, text of the error")
    kind = form.select("kind", "What", list(kinds), text="anything", shown=kinds)
    asked: dict[str, Sequence[str]] = {
        "q": query.casefold().split(),
        "torch": form.mine.of("torch") or [item.torch for item in found.alerts],
        "kind": [kind] if kind else list(kinds),
        "state": form.pills("state", "State", _STATES, default=_DEFAULT),
        "exporter": form.mine.of("exporter") or _EXPORTERS,
    }
    form.choose_setting(rows, ("torch", "exporter"), _EXPORTERS)
    return asked


def _taken(item: ReleaseAlert, asked: dict[str, Sequence[str]]) -> bool:
    """Whether the filters take an alert, in whatever state it is."""
    text = "\n".join((*item.alert.names, item.text or "", item.note, item.alert.id)).casefold()
    return (
        item.torch in asked["torch"]
        and item.alert.kind.value in asked["kind"]
        and any(member.place.exporter in asked["exporter"] for member in item.alert.members)
        and all(word in text for word in asked["q"])
    )


def _against_published(kept: Kept, people: Noted, today: date) -> Report:
    """What was measured on this machine, against what is published."""
    published = Dataset.open(homes.find().published, None)
    return report(("published", published), ("this machine", kept), people.expected, people.known, today)
