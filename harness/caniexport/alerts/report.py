"""The whole answer to ``alerts``: two states compared, held against expectations and against what is known already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from caniexport.alerts import expectations, lifecycle
from caniexport.alerts.diff import Changed, axes, differences
from caniexport.alerts.expectations import Expectation, UnmetExpectation
from caniexport.alerts.group import Alert, group
from caniexport.alerts.lifecycle import AlertStage, KnownAlert
from caniexport.answers.reading import load
from caniexport.store import Dataset


@dataclass(frozen=True)
class ReportedAlert:
    """An alert with its state; ``new`` where it was not known, has grown, or has come back; ``text`` is its message."""

    alert: Alert
    state: AlertStage
    new: bool
    since: date
    note: str
    text: str | None


@dataclass(frozen=True)
class Report:
    """``alerts`` worst first; ``still`` are known alerts that no change of this comparison is about and that are not
    good yet; ``resolved`` became good now. ``counts`` has every verdict and sums to the cells compared; ``expected``
    changes are among them and in no alert; rows of ``quarantined`` runs are not.
    """

    baseline: str
    current: str
    measured_at: str | None
    alerts: tuple[ReportedAlert, ...]
    findings: tuple[UnmetExpectation, ...]
    still: tuple[KnownAlert, ...]
    resolved: tuple[KnownAlert, ...]
    counts: Mapping[str, int]
    expected: int
    quarantined: int
    known: tuple[KnownAlert, ...]

    @property
    def stops(self) -> bool:
        """Whether a build should stop: a new regression, or an expectation that does not hold."""
        return bool(self.findings) or any(item.new and item.alert.kind.stops for item in self.alerts)


def report(
    before: tuple[str, Dataset],
    after: tuple[str, Dataset],
    entries: Sequence[Expectation],
    known: Sequence[KnownAlert],
    today: date,
) -> Report:
    """Compare two datasets, each with the name it is shown under."""
    left, right = load(before[1]), load(after[1])
    found = differences(left, right)
    news = tuple(item for item in found.changed if expectations.expected(item, entries) is None)
    quiet = _quiet(found.changed, news)
    moved = tuple(item for item in found.moved if (item.case, item.place) not in quiet)
    alerts = group(replace(found, changed=news, moved=moved), axes(right))
    carried = lifecycle.carry(known, [alert for alert in alerts if alert.kind.stops], right, today)
    by_id = {item.id: item for item in carried.known}
    texts = after[1].messages(member.message_id for alert in alerts for member in alert.members[:1])
    ids = {alert.id for alert in alerts}
    was = {item.id: item.state for item in known}
    return Report(
        before[0],
        after[0],
        right.measured_at,
        tuple(_shown(alert, by_id.get(alert.id), alert.id in carried.new, texts, today) for alert in alerts),
        tuple(expectations.judge(entries, right, today)),
        tuple(item for item in carried.known if item.id not in ids and item.state is not AlertStage.RESOLVED),
        tuple(
            item
            for item in carried.known
            if item.state is AlertStage.RESOLVED and was.get(item.id) is not AlertStage.RESOLVED
        ),
        {verdict.value: count for verdict, count in found.counts.items()},
        len(found.changed) - len(news),
        found.quarantined,
        carried.known,
    )


def _quiet(changed: Sequence[Changed], news: Sequence[Changed]) -> set[tuple[str, object]]:
    """Where every change is expected: a workaround's word that follows from it is no news either."""
    every = Counter((item.case, item.place) for item in changed)
    left = Counter((item.case, item.place) for item in news)
    return {key for key in every if not left[key]}


def _shown(alert: Alert, known: KnownAlert | None, new: bool, texts: Mapping[str, str], today: date) -> ReportedAlert:
    message = next((member.message_id for member in alert.members if member.message_id), None)
    text = texts.get(message) if message else None
    if known is None:
        return ReportedAlert(alert, AlertStage.OPEN, not alert.kind.stops, today, "", text)
    return ReportedAlert(alert, known.state, new, known.since, known.note, text)
