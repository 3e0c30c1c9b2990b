"""Alerts as annotations of a pull request, and as a feed (Atom): the same alerts give the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from caniexport import versions
from caniexport.alerts.alert import BETTER, Alert
from caniexport.alerts.comparison import Comparison
from caniexport.answers.annotations import annotation
from caniexport.answers.answer import Answer
from caniexport.answers.signs import CALLS
from caniexport.corpus.verdicts import Workaround

_ATOM = "http://www.w3.org/2005/Atom"
#: where an identity in a feed begins; it names nothing on the network
_URN = "urn:caniexport:"
#: a state that was never measured has no time; a feed wants one
_NO_TIME = "1970-01-01T00:00:00+00:00"
#: cells that an annotation names
_CELLS = 5
_GOOD = (*BETTER, Workaround.OBSOLETE)


def format_github(found: Comparison, answer: Answer) -> str:
    """Annotations: an error for what stops a build, a warning for what does not, a notice for what got better."""
    lines = []
    for alert in found.alerts:
        level = "error" if alert.stops else "notice" if alert.kind in _GOOD or alert.is_worse else "warning"
        lines.append(annotation(level, alert.title, "\n".join([*_format_cells(alert)[: _CELLS + 1], f"id {alert.id}"])))
    for item in found.findings:
        lines.append(annotation("error", f"expectation {item.trouble.value}", f"{item.entry.text}: {item.says}"))
    return "\n".join([*lines, annotation("notice", answer.verdict, "\n".join(answer.notes))]) + "\n"


def format_atom(entries: Iterable[tuple[Alert, str]], updated: str, *, link: str = "") -> str:
    """The feed of alerts, each with the time at which it was seen; ``updated`` is when the newest row was measured."""
    ElementTree.register_namespace("", _ATOM)
    feed = ElementTree.Element(f"{{{_ATOM}}}feed")
    _add(feed, "id", f"{_URN}alerts")
    _add(feed, "title", "caniexport: regressions and workarounds")
    _add(feed, "updated", updated or _NO_TIME)
    _add(_add(feed, "author"), "name", "caniexport")
    if link:
        _add(feed, "link").set("href", link)
    for alert, opened in entries:
        entry = _add(feed, "entry")
        _add(entry, "id", f"{_URN}alert:{alert.id}")
        _add(entry, "title", alert.title)
        _add(entry, "updated", opened or _NO_TIME)
        _add(entry, "category").set("term", alert.kind.value)
        if link:
            _add(entry, "link").set("href", link)
        _add(entry, "content", "\n".join(_format_cells(alert))).set("type", "text")
    ElementTree.indent(feed)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(feed, encoding="unicode") + "\n"


def _format_cells(alert: Alert) -> Sequence[str]:
    """The line of its message, then each of its cells: ``cross, torch 2.9.1, dynamo=True, opset 18: pass → fail``."""
    cells = [
        f"{place.name}, torch {place.torch}, {CALLS[place.exporter]}, {versions.opset_name(place.opset)}"
        f"{f', {place.provider}' if place.provider not in ('', 'cpu') else ''}: {change.before} → {change.after}"
        for change in alert.changes
        for place in (change.place,)
    ]
    return [*filter(None, [alert.line]), *cells]


def _add(parent: ElementTree.Element, name: str, text: str = "") -> ElementTree.Element:
    made = ElementTree.SubElement(parent, f"{{{_ATOM}}}{name}")
    # XML has no place for most control characters, which errors of exporters may hold
    made.text = "".join(sign for sign in text if sign in "\n\t" or ord(sign) >= 32) or None
    return made
