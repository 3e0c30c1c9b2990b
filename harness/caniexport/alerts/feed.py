"""A feed of alerts (Atom); the same entries give the same bytes, whenever it is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

_ATOM = "http://www.w3.org/2005/Atom"
#: where an identity in a feed begins; it names nothing on the network
_URN = "urn:caniexport:"
#: a state that was never measured has no time; a feed wants one
_NO_TIME = "1970-01-01T00:00:00+00:00"


@dataclass(frozen=True)
class FeedEntry:
    """One alert: ``id`` is its identity, times are ISO 8601, ``lines`` are its text, ``links`` addresses of pages."""

    id: str
    title: str
    kind: str
    published: str
    updated: str
    lines: Sequence[str]
    link: str = ""


def write(entries: Iterable[FeedEntry], updated: str | None, *, link: str = "") -> str:
    """The feed. ``updated`` is when its newest row was measured, ``link`` the page that shows the same."""
    ElementTree.register_namespace("", _ATOM)
    feed = ElementTree.Element(f"{{{_ATOM}}}feed")
    _add(feed, "id", f"{_URN}alerts")
    _add(feed, "title", "caniexport: regressions and workarounds")
    _add(feed, "updated", updated or _NO_TIME)
    _add(_add(feed, "author"), "name", "caniexport")
    if link:
        _add(feed, "link").set("href", link)
    for item in entries:
        entry = _add(feed, "entry")
        _add(entry, "id", f"{_URN}alert:{item.id}")
        _add(entry, "title", item.title)
        _add(entry, "updated", item.updated or _NO_TIME)
        _add(entry, "published", item.published or _NO_TIME)
        _add(entry, "category").set("term", item.kind)
        if item.link:
            _add(entry, "link").set("href", item.link)
        _add(entry, "content", "\n".join(item.lines)).set("type", "text")
    ElementTree.indent(feed)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(feed, encoding="unicode") + "\n"


def _add(parent: ElementTree.Element, name: str, text: str = "") -> ElementTree.Element:
    made = ElementTree.SubElement(parent, f"{{{_ATOM}}}{name}")
    made.text = _without_control(text) or None
    return made


def _without_control(text: str) -> str:
    """XML has no place for most control characters, which errors of exporters may hold."""
    return "".join(sign for sign in text if sign in "\n\t" or ord(sign) >= 32)
