"""Alerts as a job summary, as annotations of a pull request, and as a feed. Each is a pure function to text."""

from __future__ import annotations

from html import escape

from caniexport import versions
from caniexport.alerts import feed
from caniexport.alerts.group import AlertKind, Member
from caniexport.alerts.report import Report, ReportedAlert
from caniexport.answers.annotations import annotation
from caniexport.answers.outcomes import short_cause
from caniexport.answers.signs import EXPORTER_SHORT

_CELLS = 5
#: characters of a message's line
_LONGEST = 200


def summary(found: Report) -> str:
    """One line: what is new, what is known."""
    new = sum(item.new and item.alert.kind.stops for item in found.alerts)
    parts = [f"{new} new regression{'s' if new != 1 else ''}"]
    parts += [f"{len(found.findings)} expectation{'s' if len(found.findings) != 1 else ''} that do not hold"]
    parts += [f"{len(found.still)} still open", f"{len(found.resolved)} resolved"]
    return f"{', '.join(parts)} ({found.baseline} → {found.current})"


def counts(found: Report) -> str:
    """The count of every class, those that are left out too; the verdicts sum to the cells compared."""
    said = [f"{count} {word}" for word, count in found.counts.items() if count or word in ("suspect", "unknown")]
    total = sum(found.counts.values())
    left = f"left out: {found.quarantined} rows of quarantined runs, {found.expected} expected changes"
    return f"{total} cells: {', '.join(said)}; {left}"


def cell(member: Member) -> str:
    """``cross/plain, torch 2.9.1, dynamo, opset 18: pass → fail``."""
    place = member.place
    exporter, opset = EXPORTER_SHORT.get(place.exporter, place.exporter), versions.opset_name(place.opset)
    where = f"torch {place.torch}, {exporter}, {opset}"
    provider = "" if place.provider in ("cpu", None) else f", {place.provider}"
    return f"{member.name}, {where}{provider}: {member.before} → {member.after}"


def _cause(item: ReportedAlert) -> str:
    return short_cause(item.text or "", _LONGEST)


def markdown(found: Report) -> str:
    """A job summary: a table of alerts, each with its cells folded in below."""
    lines = [f"## caniexport: {_md(summary(found))}", ""]
    if found.alerts:
        lines += ["| | kind | cells | where | what | id |", "| --- | --- | ---: | --- | --- | --- |"]
    for item in found.alerts:
        alert = item.alert
        names = ", ".join(f"`{name}`" for name in alert.names[:3]) + (" …" if len(alert.names) > 3 else "")
        state = "**new**" if item.new else item.state.value
        cells = state, alert.kind.value, len(alert.members), _md(alert.where), names, f"`{alert.id}`"
        lines.append(f"| {' | '.join(map(str, cells))} |")
    for item in found.alerts:
        lines += ["", f"<details><summary>{escape(item.alert.title, quote=False)}</summary>", ""]
        lines += [f"    {_cause(item)}", ""] if item.text else []
        lines += [f"- {_md(cell(member))}" for member in item.alert.members[:_CELLS]]
        more = len(item.alert.members) - _CELLS
        lines += [f"- and {more} more"] if more > 0 else []
        lines += ["", "</details>"]
    lines += ["", "### Expectations that do not hold", ""] if found.findings else []
    lines += [f"- **{item.trouble.value}** {_md(item.entry.text)}: {_md(item.says)}" for item in found.findings]
    lines += ["", "### Still open", ""] if found.still else []
    lines += [
        f"- `{item.id}` {item.kind.value} since {item.since} ({item.state.value}) {_md(item.note)}"
        for item in found.still
    ]
    return "\n".join([*lines, "", _md(counts(found)), ""])


def github(found: Report) -> str:
    """Annotations: an error for what stops a build, a warning for what does not, a notice for what got better."""
    lines = []
    for item in found.alerts:
        alert = item.alert
        if alert.kind.stops and item.new:
            level = "error"
        elif alert.kind in (AlertKind.FIXED, AlertKind.WORKAROUND_OBSOLETE) or alert.kind.stops:
            level = "notice"
        else:
            level = "warning"
        said = [*filter(None, [_cause(item)]), *map(cell, alert.members[:_CELLS]), f"id {alert.id}"]
        lines.append(annotation(level, alert.title, "\n".join(said)))
    for finding in found.findings:
        lines.append(
            annotation("error", f"expectation {finding.trouble.value}", f"{finding.entry.text}: {finding.says}")
        )
    lines.append(annotation("notice", "caniexport alerts", f"{summary(found)}\n{counts(found)}"))
    return "\n".join(lines) + "\n"


def atom(found: Report) -> str:
    """A feed with an entry for each alert; the same data gives the same bytes, whenever it is asked."""
    updated = found.measured_at or ""
    return feed.write([_entry(item, updated) for item in found.alerts], found.measured_at)


def _entry(item: ReportedAlert, updated: str) -> feed.FeedEntry:
    said = [*filter(None, [_cause(item)]), *(cell(member) for member in item.alert.members)]
    published = f"{item.since.isoformat()}T00:00:00+00:00"
    return feed.FeedEntry(item.alert.id, item.alert.title, item.alert.kind.value, published, updated, said)


def _md(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
