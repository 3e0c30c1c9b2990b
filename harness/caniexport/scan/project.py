"""The opset and the exporter that a project means, by most of its export calls; those of its tests are left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from caniexport import names
from caniexport.model.status import Exporter
from caniexport.scan.site import Site, SiteKind

_TEST = re.compile(r"(^|[/_])(tests?|testing|unittests?|conftest)([/_.]|$)", re.IGNORECASE)
#: places that a note names
_MOST_PLACES = 3


@dataclass(frozen=True)
class Meant:
    """A project's ``exporter`` and ``opset``, ``None`` for each release's own; ``notes`` say what was taken and why."""

    exporter: str | None
    opset: int | None
    notes: tuple[str, ...] = ()


def is_test(path: str) -> bool:
    """Whether a file is a test, or only for tests."""
    return bool(_TEST.search(path))


def meant(sites: Sequence[Site], asked: Meant, offered: Callable[[str | None, int], bool]) -> Meant:
    """What most export calls say where nobody asked; ``offered`` tells whether an exporter writes an opset at any of
    the releases.
    """
    calls = [site for site in sites if not is_test(site.path)]
    exporter, notes = asked.exporter, list(asked.notes)
    if exporter is None and _is_pinned(calls):
        exporter = Exporter.TRACE.value
        notes.append(
            "dynamo=False is in most export calls, so the TorchScript exporter is meant (--exporter takes another)"
        )
    opset = asked.opset
    if opset is None:
        counts = Counter(int(site.name) for site in calls if site.kind is SiteKind.OPSET)
        opset, note = _most(counts, exporter, offered)
        notes += [note] if note else []
    if asked.exporter is None or asked.opset is None:
        notes += _unread(calls)
    return Meant(exporter, opset, tuple(notes))


def _is_pinned(calls: Sequence[Site]) -> bool:
    pinned = sum(site.kind is SiteKind.DYNAMO for site in calls)
    open_calls = sum(site.kind is SiteKind.EXPORT and not site.name for site in calls)
    return pinned > open_calls


def _unread(calls: Sequence[Site]) -> list[str]:
    """What is told of export calls that are given something which the scan cannot read."""
    places = [f"{site.path}:{site.line}" for site in calls if site.kind is SiteKind.EXPORT and site.name]
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
