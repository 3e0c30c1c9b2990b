"""States of sources upstream compared with what is measured: closed and still failing, open and passing.

A thread is compared with the original of its case on the newest release that it was measured on, on cpu, with each
exporter that its claims are about: closed is judged at the release's own default opset; open, where the claim names
opsets, at all of these. A thread whose claims rows have not decided (a device that is not there) is not judged.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from caniexport import versions
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.model.case import PLAIN
from caniexport.model.status import WORKS, Exporter, Status
from caniexport.store import Dataset, sql
from caniexport.store.views import Views

#: closed or merged, and the original still fails
CLOSED_FAILING = "closed-failing"
#: open, and the original passes
OPEN_PASSING = "open-passing"

_ADJUDICATED = ("reproduced", "partly", "not-reproduced")
_BAD = frozenset(status.value for status in Status) - {Status.PASS.value, Status.DEGRADED.value}
_ANY = (Exporter.TRACE.value, Exporter.SCRIPT.value, Exporter.DYNAMO.value)
_ISSUE = re.compile(r"([A-Za-z0-9][\w.-]*)/([\w.-]+)#(\d+)")
_WEB = re.compile(r"https?://[^\s\"'<>]+")


@dataclass(frozen=True)
class ExporterStanding:
    """The outcome of the original with one exporter: on ``torch``, the newest release, and the same ``since``.

    ``since`` is empty where it is the same on every measured release. ``status`` is the one at the opset judged.
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
    """A source of a case and its state; empty texts where that is not known. ``word`` is the contradiction, if any."""

    source: str
    kind: str = ""
    state: str = ""
    as_of: str = ""
    seen: str = ""
    word: str = ""
    places: tuple[ExporterStanding, ...] = ()

    @property
    def text(self) -> str:
        """``closed (seen 2026-11-22), but still fails at torch 2.15.0: trace since 1.3.1 (mismatch)``."""
        if not self.state:
            return ""
        when = f"as of {self.as_of}" if self.as_of else f"seen {self.seen}"
        return f"{self.state} ({when})" + (f", but {self.but}" if self.word else "")

    @property
    def but(self) -> str:
        """The contradiction: ``passes at torch 2.15.0: dynamo since 2.9.1``."""
        verb = "still fails" if self.word == CLOSED_FAILING else "passes"
        by_release: dict[str, list[str]] = {}
        for place in self.places:
            by_release.setdefault(place.torch, []).append(place.text)
        return f"{verb} at " + "; ".join(f"torch {torch}: {', '.join(texts)}" for torch, texts in by_release.items())


def source_address(text: str) -> str | None:
    """Return where a source can be read: ``owner/repo#number`` on GitHub, an address as it is; else ``None``."""
    issue = _ISSUE.fullmatch(text.strip())
    if issue:
        return f"https://github.com/{issue[1]}/{issue[2]}/issues/{issue[3]}"
    return text.strip() if _WEB.fullmatch(text.strip()) else None


def upstream(dataset: Dataset, cases: Collection[str] = ()) -> dict[str, tuple[SourceState, ...]]:
    """Return by case its sources in its own order, each with its state if known. Without ``cases``, of all, kept."""
    if "upstream" in dataset.cache:
        every: dict[str, tuple[SourceState, ...]] = dataset.cache["upstream"]
        return {case: every[case] for case in cases or every if case in every}
    known = {row["source"]: row for row in dataset.records("sources")}
    rows = Views.of(dataset).fetch("""SELECT "case", sources FROM variants WHERE variant = 'plain'""")
    wanted = {case: sources or () for case, sources in rows if not cases or case in cases}
    standing = _OriginalStandings(dataset, [case for case, sources in wanted.items() if known.keys() & set(sources)])
    found = {
        case: tuple(_judge_source(case, source, known.get(source), standing) for source in sources)
        for case, sources in wanted.items()
    }
    if not cases:
        dataset.cache["upstream"] = found
    return found


def _judge_source(case: str, source: str, row: Mapping[str, Any] | None, standing: _OriginalStandings) -> SourceState:
    if row is None:
        return SourceState(source)
    words = {name: row[name] or "" for name in ("kind", "state", "as_of", "seen")}
    is_open = words["state"] == "open"
    places = standing.passing(case, source) if is_open else standing.failing(case, source)
    word = (OPEN_PASSING if is_open else CLOSED_FAILING) if places else ""
    return SourceState(source, **words, word=word, places=places)


class _OriginalStandings:
    """The outcomes of the originals of some cases on every release, on cpu."""

    def __init__(self, dataset: Dataset, cases: Sequence[str]) -> None:
        views = Views.of(dataset)
        self._claims: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in dataset.records("claims", {"case": tuple(cases), "variant": (PLAIN,)}) if cases else ():
            self._claims[row["case"]].append(row)
        self._ends: dict[tuple[str, str], dict[str, dict[int | None, Status]]] = defaultdict(dict)
        for case, exporter, torch, opsets, statuses in views.fetch(
            _ENDS.format(cases=sql.listed(cases)), [dataset.profile]
        ):
            self._ends[case, exporter][torch] = dict(zip(opsets, map(Status, statuses), strict=True))
        own = views.fetch("SELECT torch, exporter, opset FROM call WHERE is_own AND profile = $1", [dataset.profile])
        self._own: dict[tuple[str, str], int] = {(torch, exporter): opset for torch, exporter, opset in own}
        # opsets that are newer than the runtime of a release are left out
        taken = "SELECT DISTINCT torch, exporter, opset FROM places WHERE status = 'pass' AND profile = $1"
        self._taken = set(views.fetch(taken, [dataset.profile]))

    def failing(self, case: str, source: str) -> tuple[ExporterStanding, ...]:
        """Return where it fails on the newest release, at the release's own default opset."""
        exporters = dict.fromkeys(name for claim in self._find_claims(case, source) for name in _list_exporters(claim))
        return tuple(filter(None, (self._judge_exporter(case, exporter, "", is_good=False) for exporter in exporters)))

    def passing(self, case: str, source: str) -> tuple[ExporterStanding, ...]:
        """Return where it passes on the newest release, if it passes for every claim of a failure."""
        expected = [(json.loads(claim["expects"] or "{}"), claim) for claim in self._find_claims(case, source)]
        claims = [claim for expects, claim in expected if _BAD.intersection(expects.get("status", ()))]
        asked = dict.fromkeys((name, claim["opset"] or "") for claim in claims for name in _list_exporters(claim))
        places = [self._judge_exporter(case, *call, is_good=True) for call in asked if (case, call[0]) in self._ends]
        found = {place.exporter: place for place in places if place}
        return tuple(found.values()) if places and None not in places else ()

    def _find_claims(self, case: str, source: str) -> list[dict[str, Any]]:
        """The decided claims of a source; those of its case where it has none of its own."""
        mine = [claim for claim in self._claims[case] if claim["source"] == source]
        return [claim for claim in mine or self._claims[case] if claim["outcome"] in _ADJUDICATED]

    def _judge_exporter(self, case: str, exporter: str, opset: str, *, is_good: bool) -> ExporterStanding | None:
        """Return where it is (not) good on the newest measured release, and since when; at the opsets that a claim
        names, else the release's own.
        """
        judged = list(self._judge_releases(case, exporter, opset))
        if not judged or judged[-1][1] is not is_good:
            return None
        alike = list(takewhile(lambda item: item[1] is is_good, reversed(judged)))
        since = "" if len(alike) == len(judged) else alike[-1][0]
        return ExporterStanding(exporter, judged[-1][0], judged[-1][2], since)

    def _judge_releases(self, case: str, exporter: str, opset: str) -> Iterator[tuple[str, bool | None, Status]]:
        """Release by release, oldest first: whether the opsets chosen work (``None``: some do), the worst status."""
        is_own = not opset or exporter == Exporter.DEFAULT.value
        for torch, ends in self._ends[case, exporter].items():
            own = self._own.get((torch, exporter))
            found = {
                status
                for at, status in ends.items()
                if (
                    at == own
                    if is_own
                    else at and (torch, exporter, at) in self._taken and versions.is_opset_in(at, opset)
                )
            }
            if found:
                good = {status in WORKS for status in found}
                yield torch, good.pop() if len(good) == 1 else None, max(found, key=list(Status).index)


#: without rows that torch itself or the exporter refuses: they are not about the export
_ENDS = f"""SELECT "case", exporter, torch, list(opset), list(status) FROM (
        SELECT *, bool_or(stage = 'eager') OVER (PARTITION BY "case", exporter, torch) AS is_refused FROM cells
        WHERE variant = 'plain' AND provider = 'cpu' AND exporter IS NOT NULL AND profile = $1
            AND "case" IN {{cases}} AND works(status) IS NOT NULL)
    JOIN version USING (torch) WHERE NOT is_refused AND status <> '{Status.UNSUPPORTED.value}'
    GROUP BY "case", exporter, torch, n ORDER BY n"""


def _list_exporters(claim: Mapping[str, Any]) -> Iterable[str]:
    return (claim["exporter"],) if claim["exporter"] else _ANY
