"""Alerts along torch: what each measured release made worse than the one before, and what became of it since.

Both are looked at as a user meets them, every exporter at the release's own default opset. An alert opens in the
release that made something worse and is resolved when all of its cells were good in two releases in a row. What may
have made it worse: torch itself, the opset or exporter that the release now takes, its onnxruntime.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from caniexport.alerts.diff import CellPlace, Changed, Differences
from caniexport.alerts.expectations import Expectation, expected
from caniexport.alerts.group import KINDS, Alert, Member, group, identity
from caniexport.alerts.lifecycle import AlertStage, KnownAlert
from caniexport.answers.reading import Rows, load
from caniexport.answers.rows import MeasuredCell, compared
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.corpus.verdicts import Verdict, compare, works
from caniexport.model.canaries import CANARY
from caniexport.model.status import EXPORTERS, Exporter, Stage, Status
from caniexport.names import plural
from caniexport.store import Dataset

#: case, variant, exporter, provider
Line = tuple[str, str, str, str | None]
#: by release: the cells at its default opsets
Grid = Mapping[str, Mapping[Line, MeasuredCell]]

#: stages that only a written file reaches: another runtime may be the reason
_AFTER_EXPORT = frozenset(stage.value for stage in (Stage.LOAD, Stage.PLACE, Stage.RUN, Stage.COMPARE))
_Key = tuple[str, Line, int | None]
#: releases that are named
_MOST = 3


def line_of(cell: MeasuredCell) -> Line:
    """Where a cell is, but for its release and opset."""
    return cell.case, cell.variant, cell.exporter, cell.provider


def place_of(member: Member) -> Line:
    """The same of an alert's cell."""
    return member.case, member.variant, member.place.exporter, member.place.provider


def _reasons(rows: Rows, grid: Grid, found: Sequence[tuple[Alert, str]]) -> dict[str, tuple[str, ...]]:
    """By alert: the axes that may have done it, each with what it was and is. ``found`` has the release before, too."""
    apart = _apart(rows, grid, found)
    return {
        alert.id: tuple(
            dict.fromkeys(reason for member in alert.members for reason in _by(member, before, grid, apart, rows))
        )
        for alert, before in found
    }


def _apart(rows: Rows, grid: Grid, found: Iterable[tuple[Alert, str]]) -> dict[_Key, MeasuredCell]:
    """The cells on the newer release at the older one's opset, wherever the two differ."""
    wanted: set[_Key] = set()
    for alert, before in found:
        for member in alert.members:
            was = grid[before][place_of(member)]
            if was.opset != member.place.opset:
                wanted.add((member.place.torch, place_of(member), was.opset))
    if not wanted:
        return {}
    cells = rows.cells(
        case={line[0] for _, line, _ in wanted},
        torch={torch for torch, _, _ in wanted},
        opset={opset for _, _, opset in wanted},
    )
    keyed = {(cell.torch, line_of(cell), cell.opset): cell for cell in cells}
    return {key: keyed[key] for key in wanted if key in keyed}


def _by(member: Member, before: str, grid: Grid, apart: Mapping[_Key, MeasuredCell], rows: Rows) -> Iterable[str]:
    place = place_of(member)
    torch = member.place.torch
    was, is_now = grid[before][place], grid[torch][place]
    moved = "torch"
    if was.opset != is_now.opset:
        same_opset = apart.get((torch, place, was.opset))
        steps = f"opset {was.opset} → {is_now.opset}"
        known = works(same_opset.status) if same_opset is not None else None
        moved = {True: steps, False: "torch", None: f"torch or {steps}"}[known]
    if member.place.exporter == Exporter.DEFAULT.value:
        own = [rows.default_exporters.get(release, "") for release in (before, torch)]
        if own[0] != own[1]:
            moved = " → ".join(EXPORTER_SHORT.get(name, name) for name in own)
    yield moved
    if is_now.stage in _AFTER_EXPORT and was.runtime_version != is_now.runtime_version:
        yield f"or onnxruntime {was.runtime_version} → {is_now.runtime_version}"


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


def decide_alerts(taken: Sequence[ReleaseAlert], newest: Step | None) -> str:
    """What the newest release made worse, and which releases made most worse of what still is so, and of all."""
    if newest is None or not taken:
        return ""
    still = [item for item in taken if not item.resolved]
    new = sum(item.torch == newest.torch for item in taken)
    said = [f"torch {newest.torch} made {plural(new, 'thing')} worse than {newest.before}." if new else ""]
    worse = f"{plural(len(still), 'thing')} {'is' if len(still) == 1 else 'are'} still worse: {_most(still)}."
    said.append(worse if still else "Nothing of this is still worse.")
    if mended := len(taken) - len(still):
        said.append(f"With the {mended:,} that {'was' if mended == 1 else 'were'} mended since: {_most(taken)}.")
    return " ".join(filter(None, said))


def _most(found: Iterable[ReleaseAlert]) -> str:
    """``most came with torch 2.9.1 (31), 1.2.0 (16)``, ``all came with torch 2.9.1``."""
    counted = Counter(item.torch for item in found).most_common(_MOST)
    if len(counted) == 1:
        return f"all came with torch {counted[0][0]}"
    return "most came with torch " + ", ".join(f"{torch} ({count})" for torch, count in counted)


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
    by = _reasons(rows, grid, [(item.alert, item.before) for item in found])
    texts = dataset.messages(filter(None, (_message(item.alert) for item in found)))
    told = [replace(item, by=by[item.alert.id], text=texts.get(_message(item.alert) or "")) for item in found]
    told.sort(key=lambda item: -rows.torch.index(item.torch))  # stable: worst first within a release
    return ReleaseAlerts(tuple(told), tuple(reversed(steps)), left_out)


def _grid(rows: Rows) -> Grid:
    """Every cell at the default opset of its exporter, by release; canaries and fixes known to be wrong left out."""
    asked: dict[tuple[str, int | None], list[str]] = defaultdict(list)
    for exporter in EXPORTERS:
        for torch in rows.torch:
            opset = rows.opset(torch, exporter)
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
    for line in {**before, **after}:
        one, other = before.get(line), after.get(line)
        verdict = compare(compared(one), compared(other))
        counts[verdict] += 1
        if one is not None and other is not None and verdict in KINDS and KINDS[verdict].stops:
            worse.append(_changed(one, other, verdict, torch))
    worse.sort(key=lambda item: (item.case, item.variant, item.place.exporter, item.place.provider or ""))
    return {verdict: counts[verdict] for verdict in Verdict}, worse


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
