"""Alerts along torch: what each measured release made worse than the one before, and what became of it since.

Both are looked at as a user meets them, every exporter at the release's own default opset. An alert opens in the
release that made something worse and is resolved when all of its cells were good in two releases in a row.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from caniexport.alerts import reasons
from caniexport.alerts.diff import CellPlace, Changed, Differences
from caniexport.alerts.expectations import Expectation, expected
from caniexport.alerts.group import KINDS, Alert, group, identity
from caniexport.alerts.lifecycle import AlertStage, KnownAlert
from caniexport.alerts.reasons import Grid, Line, line_of, place_of
from caniexport.answers.reading import Rows, load
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.words import Ruler
from caniexport.corpus.verdicts import ComparedCell, Verdict, compare, works
from caniexport.model.canaries import CANARY
from caniexport.model.status import EXPORTERS, Exporter, Status
from caniexport.store import Dataset


@dataclass(frozen=True)
class ReleaseAlert:
    """One alert and its life.

    ``torch`` made it, ``before`` is the release before that, ``opened`` the time (UTC) at which ``torch`` was measured.
    ``by`` are the axes that may have done it. ``resolved`` is the first of two good releases in a row, ``good`` the
    newest release where that alone is good so far. ``text`` is the message of one of the cells.
    """

    alert: Alert
    before: str
    torch: str
    opened: str
    by: tuple[str, ...] = ()
    state: AlertStage = AlertStage.OPEN
    resolved: str | None = None
    good: str | None = None
    note: str = ""
    text: str | None = None


@dataclass(frozen=True)
class Step:
    """Two neighbouring releases: how many cells there are of every verdict, and how many alerts it opened."""

    before: str
    torch: str
    counts: Mapping[Verdict, int]
    alerts: int


@dataclass(frozen=True)
class ReleaseAlerts:
    """The answer, newest release first. ``expected`` changes are in the counts and in no alert."""

    alerts: tuple[ReleaseAlert, ...]
    steps: tuple[Step, ...]
    expected: int

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many cells there are of every verdict, over all steps."""
        every: Counter[Verdict] = Counter()
        for step in self.steps:
            every.update(step.counts)
        return {verdict: every[verdict] for verdict in Verdict}


def along(dataset: Dataset, entries: Sequence[Expectation] = (), known: Sequence[KnownAlert] = ()) -> ReleaseAlerts:
    """Every release against the one before. ``entries`` are changes that are no news, ``known`` what people noted.

    An alert of ``known`` that is acknowledged there is so here as long as it is open.
    """
    rows = load(dataset)
    grid = _grid(rows)
    opened = _measured(dataset)
    notes = {item.id: item for item in known}
    found: list[ReleaseAlert] = []
    steps: list[Step] = []
    left_out = 0
    for before, torch in pairwise(rows.torch):
        counts, worse = _judged(grid[before], grid[torch], torch)
        news = [item for item in worse if expected(item, entries) is None]
        left_out += len(worse) - len(news)
        alerts = [ReleaseAlert(alert, before, torch, opened.get(torch, "")) for alert in _alerts(news, rows)]
        found += [_lived(item, grid, rows.torch, notes.get(item.alert.id)) for item in alerts]
        steps.append(Step(before, torch, counts, len(alerts)))
    by = reasons.of(rows, grid, [(item.alert, item.before) for item in found])
    texts = dataset.messages(filter(None, (_message(item.alert) for item in found)))
    told = [replace(item, by=by[item.alert.id], text=texts.get(_message(item.alert) or "")) for item in found]
    told.sort(key=lambda item: -rows.torch.index(item.torch))  # stable: worst first within a release
    return ReleaseAlerts(tuple(told), tuple(reversed(steps)), left_out)


def _grid(rows: Rows) -> Grid:
    """Every cell at the default opset of its exporter, by release; canaries and fixes known to be wrong left out."""
    ruler = Ruler.of(rows)
    asked: dict[tuple[str, int | None], list[str]] = defaultdict(list)
    for exporter in EXPORTERS:
        for torch in rows.torch:
            opset = ruler.opset(torch, exporter)
            if opset is not None or exporter == Exporter.DEFAULT.value:
                asked[exporter, opset].append(torch)
    found: dict[str, dict[Line, MeasuredCell]] = {torch: {} for torch in rows.torch}
    # a question for each opset: of a release only one in twelve rows is wanted
    for (exporter, opset), releases in asked.items():
        for cell in rows.cells(exporter=(exporter,), opset=(opset,), torch=releases):
            entry = rows.catalogue.get((cell.case, cell.variant))
            if entry is not None and not entry.caution and entry.corpus != CANARY:
                found[cell.torch][line_of(cell)] = cell
    return found


def _measured(dataset: Dataset) -> dict[str, str]:
    """When each release was measured first, as text in UTC."""
    found: dict[str, str] = {}
    for row in dataset.records("environments"):
        if row["torch"] and row["measured_at"]:
            when = row["measured_at"].isoformat()
            found[row["torch"]] = min(when, found.get(row["torch"], when))
    return found


def _judged(
    before: Mapping[Line, MeasuredCell], after: Mapping[Line, MeasuredCell], torch: str
) -> tuple[dict[Verdict, int], list[Changed]]:
    """How many cells there are of every verdict, and those that got worse."""
    counts: Counter[Verdict] = Counter()
    worse = []
    for line in sorted({*before, *after}, key=lambda line: tuple(item or "" for item in line)):
        one, other = before.get(line), after.get(line)
        verdict = compare(_outcome(one), _outcome(other))
        counts[verdict] += 1
        if one is not None and other is not None and verdict in KINDS and KINDS[verdict].stops:
            worse.append(_changed(one, other, verdict, torch))
    return {verdict: counts[verdict] for verdict in Verdict}, worse


def _outcome(cell: MeasuredCell | None) -> ComparedCell:
    return ComparedCell(None) if cell is None else ComparedCell(cell.status, cell.signature, cell.case_hash)


def _changed(before: MeasuredCell, after: MeasuredCell, verdict: Verdict, torch: str) -> Changed:
    # wrong values all read alike: each variant is a cause of its own
    signature = None if after.status is Status.MISMATCH else after.signature
    place = CellPlace(torch, after.exporter, after.opset, after.provider)
    return Changed(after.case, after.variant, place, before.status, after.status, verdict, signature, after.message_id)


def _alerts(news: Sequence[Changed], rows: Rows) -> list[Alert]:
    """One alert for each cause; the release is a part of its identity, another run is not."""
    axes = {axis: frozenset(values) for axis, values in rows.axes.items()}
    return [
        replace(alert, id=identity(alert.kind, f"torch {alert.members[0].place.torch}\n{alert.cause}"))
        for alert in group(Differences({}, tuple(news), (), 0), axes)
    ]


def _lived(item: ReleaseAlert, grid: Grid, releases: Sequence[str], noted: KnownAlert | None) -> ReleaseAlert:
    """The alert with what the releases after it, and the people who noted it, say of it."""
    note = noted.note if noted is not None else ""
    good: str | None = None
    for release in releases[releases.index(item.torch) + 1 :]:
        if not _good(item.alert, grid[release]):
            good = None
        elif good is None:
            good = release
        else:
            return replace(item, state=AlertStage.RESOLVED, resolved=good, note=note)
    acknowledged = noted is not None and noted.state is AlertStage.ACKNOWLEDGED
    return replace(item, state=AlertStage.ACKNOWLEDGED if acknowledged else AlertStage.OPEN, good=good, note=note)


def _good(alert: Alert, cells: Mapping[Line, MeasuredCell]) -> bool:
    """Whether every cell of an alert was measured in a release and works there."""
    found = (cells.get(place_of(member)) for member in alert.members)
    return all(cell is not None and works(cell.status) for cell in found)


def _message(alert: Alert) -> str | None:
    return next((member.message_id for member in alert.members if member.message_id), None)
