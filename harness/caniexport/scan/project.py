"""The opset and the exporter that a project means, by most of its export calls; those of its tests are left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from caniexport import names
from caniexport.model.status import Exporter
from caniexport.scan.site import BY_DYNAMO, BY_EITHER, BY_TRACE, UNREAD, Site, SiteKind

_TEST = re.compile(r"(^|[/_])(tests?|testing|unittests?|conftest)([/_.]|$)", re.IGNORECASE)
#: places that a note names
_MOST_PLACES = 3


@dataclass(frozen=True)
class Meant:
    """A project's ``exporter`` and ``opset``, ``None`` for each release's own; ``notes`` say what was taken and why.

    ``ways`` are the exporters by which its calls export, where they differ at the releases looked at.
    """

    exporter: str | None
    opset: int | None
    notes: tuple[str, ...] = ()
    ways: tuple[str | None, ...] = ()


@dataclass(frozen=True)
class Offers:
    """What the releases looked at have: ``opset`` tells whether an exporter writes an opset at any of them,
    ``by_release`` gives the exporter that a call uses in each.
    """

    opset: Callable[[str | None, int], bool]
    by_release: Callable[[str | None], Sequence[str]]


def is_test(path: str) -> bool:
    """Whether a file is a test, or only for tests."""
    return bool(_TEST.search(path))


def meant(sites: Sequence[Site], asked: Meant, offers: Offers) -> Meant:
    """What most export calls say where nobody asked, of what the releases have."""
    calls = [site for site in sites if not is_test(site.path)]
    exporter, notes = asked.exporter, list(asked.notes)
    ways: tuple[str | None, ...] = (asked.exporter,)
    if exporter is None:
        exporter, ways, note = _by_most(_by_way(calls), offers)
        notes += [note] if note else []
    opset = asked.opset
    if opset is None:
        counts = Counter(int(site.name) for site in calls if site.kind is SiteKind.OPSET)
        opset, note = _most(counts, exporter, offers.opset)
        notes += [note] if note else []
    if asked.exporter is None or asked.opset is None:
        notes += _unread(calls)
    return Meant(exporter, opset, tuple(notes), ways)


_TRACE, _DYNAMO = Exporter.TRACE.value, Exporter.DYNAMO.value
#: the exporters of a call by how it chooses
_CHOSEN: dict[str, tuple[str | None, ...]] = {
    "": (None,),
    BY_TRACE: (_TRACE,),
    BY_DYNAMO: (_DYNAMO,),
    BY_EITHER: (_TRACE, _DYNAMO),
    UNREAD: (),
}
_WAYS = {_TRACE: "the TorchScript exporter", _DYNAMO: "dynamo", None: "each release's own exporter"}


def _by_way(calls: Sequence[Site]) -> dict[str | None, list[Site]]:
    """The export calls by exporter, ``None`` for those that leave it to the release."""
    found: dict[str | None, list[Site]] = {}
    for site in calls:
        if site.kind in (SiteKind.DYNAMO, SiteKind.EXPORT):
            for way in _CHOSEN[site.name]:
                found.setdefault(way, []).append(site)
    return found


def _by_most(
    found: Mapping[str | None, Sequence[Site]], offers: Offers
) -> tuple[str | None, tuple[str | None, ...], str]:
    """The exporter of most calls, all that are another one at some of the releases, and what is to be told of it."""
    ordered = sorted(found, key=lambda way: -len(found[way]))
    first = ordered[0] if ordered else None
    if len(ordered) > 1 and len(found[ordered[0]]) == len(found[ordered[1]]):
        first = None
    apart: dict[tuple[str, ...], str | None] = {}
    for way in ordered:
        apart.setdefault(tuple(offers.by_release(way)), way)
    ways = tuple(apart.values())
    if len(ways) > 1:
        both = "both" if len(ways) == 2 else "each"
        each = "; ".join(f"{_WAYS[way]} at {_places(found[way])}" for way in ways)
        return first, ways, f"export calls use {each}: each place is held against {both} (--exporter takes one)"
    if first == _TRACE:
        note = "dynamo=False is in most export calls, so the TorchScript exporter is meant (--exporter takes another)"
        return first, (first,), note
    if first == _DYNAMO:
        return first, (first,), "most export calls are by dynamo, so it is meant (--exporter takes another)"
    return None, (None,), ""


def _places(sites: Sequence[Site]) -> str:
    return names.some(list(dict.fromkeys(f"{site.path}:{site.line}" for site in sites)), _MOST_PLACES)


def _unread(calls: Sequence[Site]) -> list[str]:
    """What is told of export calls that are given something which the scan cannot read."""
    places = [f"{site.path}:{site.line}" for site in calls if site.kind is SiteKind.EXPORT and site.name == UNREAD]
    if not places:
        return []
    one = len(places) == 1
    who = f"the export call{'' if one else 's'} at {names.some(places, _MOST_PLACES)} take{'s' if one else ''}"
    return [f"{who} **kwargs that are not known: an exporter or opset may be chosen there"]


def _most(
    counts: Counter[int], exporter: str | None, offered: Callable[[str | None, int], bool]
) -> tuple[int | None, str]:
    """The opset of more than half of the calls that name one, and what is to be told of it."""
    if not counts:
        return None, ""
    whole = counts.total()
    opset, count = counts.most_common(1)[0]
    listed = ", ".join(f"{value} ({number})" for value, number in counts.most_common())
    if 2 * count <= whole:
        return None, f"export calls name several opsets, {listed}: each release's own is looked at (--opset takes one)"
    which = "the only one" if len(counts) == 1 else f"in {count} of {whole} calls"
    if not offered(exporter, opset):
        return (
            None,
            f"opset {opset}, {which} that the project names, is not written there: each release's own is looked at",
        )
    return opset, f"opset {opset} is {which} that the project names, so it is meant (--opset takes another)"
