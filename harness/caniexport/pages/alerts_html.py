"""Alerts as a table: what got worse in which release, for what reason, and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from textwrap import shorten

from caniexport.alerts.feed import FeedEntry
from caniexport.alerts.group import Alert, Member, opset_spans
from caniexport.alerts.lifecycle import AlertStage
from caniexport.alerts.releases import ReleaseAlert, ReleaseAlerts, Step
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.model.case import PLAIN
from caniexport.pages import links
from caniexport.pages.markup import columns, escape, legend, link, plural, table
from caniexport.pages.render import opset_name
from caniexport.pages.verdicts_html import kind_badge

#: variants named in a row; the others fold out
_SHOWN = 3
#: state -> (sign and word, class of its colour, what it means)
STATES: dict[AlertStage, tuple[str, str, str]] = {
    AlertStage.OPEN: ("● open", "s-fail", "still so in the newest release, or good in one release only so far"),
    AlertStage.ACKNOWLEDGED: ("◐ acknowledged", "s-timeout", "open, and somebody has noted it (alerts.toml)"),
    AlertStage.RESOLVED: ("✓ resolved", "s-pass", "all of its cells were good in two releases in a row since"),
}
_COLUMNS = ("state", "what", "case / form", "exporter", "done by", "cells")


def states(found: Iterable[ReleaseAlert]) -> str:
    """Every state explained, with its number."""
    seen = Counter(item.state for item in found)
    return legend((_badge(state), look[2], seen[state]) for state, look in STATES.items())


def _badge(state: AlertStage) -> str:
    name, classes, _ = STATES[state]
    return f'<span class="badge {classes}">{escape(name)}</span>'


def alerts(found: Sequence[ReleaseAlert]) -> str:
    """The alerts, those of a release under its name; newest release first, worst first within it."""
    body = ""
    for (torch, before), mine in groupby(found, key=lambda item: (item.torch, item.before)):
        listed = list(mine)
        when = f" · measured {listed[0].opened[:10]}" if listed[0].opened else ""
        said = f"torch {torch} <small>against {escape(before)}{when} · {plural(len(listed), 'alert')}</small>"
        body += f'<tr class="theme"><th colspan="{len(_COLUMNS)}" scope="rowgroup">{said}</th></tr>'
        body += "".join(map(_row, listed))
    return table("Alerts by release", "plain alerts", columns(_COLUMNS), body, whole=True)


def _row(item: ReleaseAlert) -> str:
    said = f'<p class="said">{escape(_first(item.text))}</p>' if item.text else ""
    note = f'<br><span class="quiet">{escape(item.note)}</span>' if item.note else ""
    exporters = dict.fromkeys(EXPORTER_SHORT.get(m.place.exporter, m.place.exporter) for m in item.alert.members)
    return (
        f'<tr id="alert-{escape(item.alert.id)}"><td class="tight">{_badge(item.state)}<br>'
        f'<span class="quiet">{escape(_life(item))}</span>{note}</td>'
        f'<td class="tight">{kind_badge(item.alert.kind)}<br>{_changes(item.alert.members)}</td>'
        f"<td>{_variants(item.alert)}{said}</td>"
        f'<td class="tight">{escape(", ".join(exporters))}</td><td>{escape(" ".join(item.by))}</td>'
        f'<td class="number">{len(item.alert.members)}</td></tr>'
    )


def _life(item: ReleaseAlert) -> str:
    if item.resolved:
        return f"since {item.resolved}"
    return f"good in {item.good}, one more wanted" if item.good else ""


def _first(text: str | None) -> str:
    lines = [line for line in (text or "").splitlines() if line.strip()]
    return shorten(lines[0], 200) if lines else ""


def _changes(members: Sequence[Member]) -> str:
    """What each pair of outcomes was and is, once."""
    pairs = dict.fromkeys((member.before, member.after) for member in members)
    return "<br>".join(f'<span class="quiet">{escape(one)} → {escape(other)}</span>' for one, other in pairs)


def _variants(alert: Alert) -> str:
    by_name: dict[str, Member] = {}
    for member in alert.members:
        by_name.setdefault(member.name, member)
    shown = [_cell_link(member) for member in by_name.values()]
    text = " · ".join(shown[:_SHOWN])
    if len(shown) > _SHOWN:
        text += f"<details><summary>and {len(shown) - _SHOWN} more</summary>{' · '.join(shown[_SHOWN:])}</details>"
    return text


def _cell_link(member: Member) -> str:
    place = member.place
    address = links.page(
        "case",
        case=member.case,
        variant="" if member.variant == PLAIN else member.variant,
        torch=place.torch,
        exporter=place.exporter,
        opset=opset_name(place.opset),
    )
    return link(address, escape(member.name))


def changes(found: Sequence[Alert]) -> str:
    """What differs between two runs, by kind and cause."""
    if not found:
        return '<p class="hint">No cell that both runs measured has changed.</p>'
    rows = "".join(map(_change, found))
    heads = columns(("what", "case / form", "exporter", "opsets", "cells"))
    return table("What differs between the two", "plain alerts", heads, rows)


def _change(item: Alert) -> str:
    exporters = dict.fromkeys(EXPORTER_SHORT.get(m.place.exporter, m.place.exporter) for m in item.members)
    opsets = dict.fromkeys(
        "own" if member.place.opset is None else str(member.place.opset)
        for member in sorted(item.members, key=lambda member: member.place.opset or 0)
    )
    spans = opset_spans([name for name in opsets if name != "own"]) if set(opsets) - {"own"} else ""
    where = ", ".join(filter(None, [spans, "own" if "own" in opsets else ""]))
    cause = "" if item.cause in item.names else f'<p class="said">{escape(shorten(item.cause, 200))}</p>'
    return (
        f'<tr><td class="tight">{kind_badge(item.kind)}<br>{_changes(item.members)}</td>'
        f"<td>{_variants(item)}{cause}</td>"
        f'<td class="tight">{escape(", ".join(exporters))}</td><td class="tight">{escape(where)}</td>'
        f'<td class="number">{len(item.members)}</td></tr>'
    )


def steps(found: Sequence[Step], *, linked: bool = True) -> str:
    """Every pair of releases with its number of alerts, each a link to the whole difference where ``linked``."""
    rows = "".join(
        f'<tr><th scope="row">{_whole(step) if linked else _pair(step)}</th>'
        f'<td class="number">{step.alerts or "·"}</td><td class="number">{sum(step.counts.values()):,}</td></tr>'
        for step in found
    )
    shown = table("Releases compared", "plain", columns(("releases", "alerts", "cells")), rows, whole=True)
    return f'<section><h3 class="sub">Pairs of releases</h3>{shown}</section>'


def _whole(step: Step) -> str:
    return link(links.page("runs", before=step.before, after=step.torch), _pair(step))


def _pair(step: Step) -> str:
    return escape(f"{step.before} → {step.torch}")


def entries(found: ReleaseAlerts) -> list[FeedEntry]:
    """The alerts as entries of a feed; an alert's identity is its release, its kind and its cause."""
    return [_entry(item) for item in found.alerts]


def _entry(item: ReleaseAlert) -> FeedEntry:
    life = STATES[item.state][0].split(" ", 1)[1] + (f" {_life(item)}" if _life(item) else "")
    lines = [f"torch {item.torch} against {item.before}: {life}", *filter(None, [_first(item.text)])]
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
