"""What became of a source upstream, beside what is measured: closed and still failing, open and passing.

A thread is held against the failing form of its case on the newest release that it was measured on, on cpu, with each
exporter that its claims are about: closed is judged at the release's own default opset; open, where the claim names
opsets, at all of these. A thread whose claims rows have not decided (a device that is not there) is not judged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from caniexport import versions
from caniexport.answers.along import lines, statuses
from caniexport.answers.reading import Rows, load
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.model.case import PLAIN
from caniexport.model.status import MEASURED, WORKS, Exporter, Stage, Status
from caniexport.store import Dataset

#: closed or merged, and the failing form still fails
CLOSED_FAILING = "closed-failing"
#: open, and the failing form passes
OPEN_PASSING = "open-passing"

_ADJUDICATED = ("reproduced", "partly", "not-reproduced")
_BAD = frozenset(status.value for status in Status) - {Status.PASS.value, Status.DEGRADED.value}
_ANY = (Exporter.TRACE.value, Exporter.SCRIPT.value, Exporter.DYNAMO.value)
_ISSUE = re.compile(r"([A-Za-z0-9][\w.-]*)/([\w.-]+)#(\d+)")
_WEB = re.compile(r"https?://[^\s\"'<>]+")
#: beside the rows, for the next answer
_REFUSED = "refused by torch itself"


@dataclass(frozen=True)
class ExporterStanding:
    """How the failing form stands with one exporter: on ``torch``, the newest release, and like this ``since``.

    ``since`` is empty where it has been so on every measured release. ``status`` is the one at the opset judged.
    """

    exporter: str
    torch: str
    status: Status
    since: str

    @property
    def text(self) -> str:
        """``dynamo since 2.9.1 (mismatch)``."""
        how = "" if self.status in (Status.PASS, Status.DEGRADED) else f" ({self.status.value})"
        name = EXPORTER_SHORT.get(self.exporter, self.exporter)
        return f"{name} {f'since {self.since}' if self.since else 'on every measured release'}{how}"


@dataclass(frozen=True)
class SourceState:
    """A source of a case and its state; empty words where that is not known. ``word`` is empty where nothing is odd."""

    source: str
    kind: str = ""
    state: str = ""
    as_of: str = ""
    seen: str = ""
    word: str = ""
    places: tuple[ExporterStanding, ...] = ()

    @property
    def text(self) -> str:
        """``closed (seen 2026-11-22), but still failing on torch 2.15.0: trace since 1.3.1 (mismatch)``."""
        if not self.state:
            return ""
        when = f"as of {self.as_of}" if self.as_of else f"seen {self.seen}"
        return f"{self.state} ({when})" + (f", but {self.but}" if self.word else "")

    @property
    def but(self) -> str:
        """What is odd about it: ``passing on torch 2.15.0: dynamo since 2.9.1``."""
        verb = "still failing" if self.word == CLOSED_FAILING else "passing"
        by_release: dict[str, list[str]] = {}
        for place in self.places:
            by_release.setdefault(place.torch, []).append(place.text)
        return f"{verb} on " + "; ".join(f"torch {torch}: {', '.join(told)}" for torch, told in by_release.items())


def source_address(text: str) -> str | None:
    """Where a source can be read: ``owner/repo#number`` on GitHub, an address as it is; ``None`` for a document."""
    issue = _ISSUE.fullmatch(text.strip())
    if issue:
        return f"https://github.com/{issue[1]}/{issue[2]}/issues/{issue[3]}"
    return text.strip() if _WEB.fullmatch(text.strip()) else None


def upstream(dataset: Dataset, cases: Collection[str] = ()) -> dict[str, tuple[SourceState, ...]]:
    """By case: its sources in its own order, each with its state as far as it is known. Without ``cases``, of all."""
    rows = load(dataset)
    key = ("upstream", frozenset(cases))
    if key not in rows.beside:
        rows.beside[key] = _upstream(rows, dataset, cases)
    found: dict[str, tuple[SourceState, ...]] = rows.beside[key]
    return found


def _upstream(rows: Rows, dataset: Dataset, cases: Collection[str]) -> dict[str, tuple[SourceState, ...]]:
    known = {row["source"]: row for row in dataset.records("sources")}
    wanted = {
        case: entry.sources
        for (case, variant), entry in rows.catalogue.items()
        if variant == PLAIN and (not cases or case in cases)
    }
    judged = [case for case, sources in wanted.items() if any(source in known for source in sources)]
    standing = _Standing(rows, judged, dataset) if judged else None
    return {
        case: tuple(_source(case, source, known.get(source), standing) for source in sources)
        for case, sources in wanted.items()
    }


def _source(case: str, source: str, row: Mapping[str, Any] | None, standing: _Standing | None) -> SourceState:
    if row is None or standing is None:
        return SourceState(source)
    words = {name: row[name] or "" for name in ("kind", "state", "as_of", "seen")}
    if words["state"] == "open":
        places = standing.passing(case, source)
        return SourceState(source, **words, word=OPEN_PASSING if places else "", places=places)
    places = standing.failing(case, source)
    return SourceState(source, **words, word=CLOSED_FAILING if places else "", places=places)


class _Standing:
    """How the failing forms of some cases stand on every release."""

    def __init__(self, rows: Rows, cases: Collection[str], dataset: Dataset) -> None:
        where = {"variant": (PLAIN,), "case": tuple(cases), "provider": ("cpu",)}
        self._told = {(case, exporter): told for (case, _, exporter, _), told in lines(rows, where).items()}
        # what torch itself refuses says nothing about an export
        self._eager = _refused_by_torch(rows)
        self._rows = rows
        self._claims: dict[str, list[dict[str, Any]]] = {}
        for row in dataset.records("claims", {"case": tuple(cases), "variant": (PLAIN,)}):
            self._claims.setdefault(row["case"], []).append(row)

    def failing(self, case: str, source: str) -> tuple[ExporterStanding, ...]:
        """Where it fails on the newest release, at the release's own default opset."""
        exporters = dict.fromkeys(name for claim in self._of(case, source) for name in _exporters(claim))
        found = (self._place(case, exporter, False, self._at_default(exporter)) for exporter in exporters)
        return tuple(place for place in found if place)

    def passing(self, case: str, source: str) -> tuple[ExporterStanding, ...]:
        """Where it passes on the newest release, if it does so for every claim that it fails."""
        expected = [(json.loads(claim["expects"] or "{}"), claim) for claim in self._of(case, source)]
        claims = [claim for expects, claim in expected if _BAD.intersection(expects.get("status", ()))]
        asked = [(name, claim["opset"] or "") for claim in claims for name in _exporters(claim)]
        measured = [(name, opset) for name, opset in dict.fromkeys(asked) if (case, name) in self._told]
        places = [self._place(case, name, True, self._at(name, opset)) for name, opset in measured]
        found = {place.exporter: place for place in places if place}
        return tuple(found.values()) if places and None not in places else ()

    def _of(self, case: str, source: str) -> list[dict[str, Any]]:
        """The decided claims of a source; those of its case where it has none of its own."""
        mine = [claim for claim in self._claims.get(case, ()) if claim["source"] == source]
        every = mine or self._claims.get(case, [])
        return [claim for claim in every if claim["outcome"] in _ADJUDICATED]

    def _place(
        self, case: str, exporter: str, good: bool, chosen: Callable[[str], Collection[int | None] | None]
    ) -> ExporterStanding | None:
        """Where it is (not) ``good`` on the newest release that says anything, and since when."""
        judged = list(self._judged(case, exporter, chosen))
        if not judged or judged[-1][1] is not good:
            return None
        since = judged[-1][0]
        for torch, verdict, _ in reversed(judged):
            if verdict is not good:
                break
            since = torch
        return ExporterStanding(exporter, judged[-1][0], judged[-1][2], "" if since == judged[0][0] else since)

    def _judged(
        self, case: str, exporter: str, chosen: Callable[[str], Collection[int | None] | None]
    ) -> Iterator[tuple[str, bool | None, Status]]:
        """Release by release, oldest first: whether the opsets chosen work (``None``: some do), the worst status."""
        told = self._told.get((case, exporter), {})
        for torch in versions.ordered(told):
            if (case, exporter, torch) in self._eager:
                continue
            opsets = chosen(torch)
            here = {at: status for at, status in statuses(told[torch]).items() if opsets is None or at in opsets}
            # an opset that the exporter refuses by its own word was not tried
            found = {status for status in here.values() if status in MEASURED and status is not Status.UNSUPPORTED}
            if found:
                good = {status in WORKS for status in found}
                yield torch, good.pop() if len(good) == 1 else None, max(found, key=list(Status).index)

    def _at_default(self, exporter: str) -> Callable[[str], Collection[int | None]]:
        return lambda torch: (self._rows.opset(torch, exporter),)

    def _at(self, exporter: str, opset: str) -> Callable[[str], Collection[int | None] | None]:
        """The opsets that a claim names, else the release's own."""
        if not opset or exporter == Exporter.DEFAULT.value:
            return self._at_default(exporter)
        taken = {number for number in self._rows.offered_opsets if versions.opset_in(number, opset)}
        return lambda _: taken


def _refused_by_torch(rows: Rows) -> Collection[tuple[str, str, str]]:
    """Case, exporter and release where eager already failed. Of all cases: hardly dearer than of one, and kept."""
    where = {"variant": (PLAIN,), "provider": ("cpu",), "stage": (Stage.EAGER.value,)}
    if _REFUSED not in rows.beside:
        rows.beside[_REFUSED] = frozenset(rows.distinct(("case", "exporter", "torch"), where))
    kept: frozenset[tuple[str, str, str]] = rows.beside[_REFUSED]
    return kept


def _exporters(claim: Mapping[str, Any]) -> Iterable[str]:
    return (claim["exporter"],) if claim["exporter"] else _ANY
