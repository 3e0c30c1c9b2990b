"""An alert: cells that changed in one way for one cause."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from caniexport import versions
from caniexport.answers.outcomes import short_cause
from caniexport.corpus.verdicts import CHANGES, Verdict
from caniexport.model.case import PLAIN
from caniexport.names import plural
from caniexport.store import Dataset

#: what the newest nightly build of each side is called, so that one night is compared with another
NIGHTLY = "nightly"
#: characters of a message's line
_LONGEST = 200


class AlertKind(StrEnum):
    """What an alert says, worst first. The first four stop a build."""

    REGRESSED_SILENT = "regressed-silent"
    REGRESSED_CRASH = "regressed-crash"
    REGRESSED = "regressed"
    WITHDRAWN = "withdrawn"
    DEGRADED = "degraded"
    CHANGED_FAILURE = "changed-failure"
    WORKAROUND_NEEDED = "workaround-needed"
    WORKAROUND_OBSOLETE = "workaround-obsolete"
    FIXED = "fixed"
    SUSPECT = "suspect"

    @property
    def stops(self) -> bool:
        """Whether a new alert of this kind should stop a build."""
        return list(AlertKind).index(self) < list(AlertKind).index(AlertKind.DEGRADED)

    @property
    def is_of_workaround(self) -> bool:
        """Whether it follows from how the original and the workaround end."""
        return self.value.startswith("workaround")


class AlertStage(StrEnum):
    """Where an alert stands."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"


#: verdicts that are news, and what an alert calls them
KINDS: dict[Verdict, AlertKind] = {
    **{verdict: AlertKind(verdict.value) for verdict in CHANGES if verdict.value in list(AlertKind)},
    **dict.fromkeys(
        (Verdict.NEWLY_FAILING, Verdict.NOW_FAILS_CLEANLY, Verdict.NOW_DECLARED), AlertKind.CHANGED_FAILURE
    ),
    Verdict.CHANGED_FAILURE_SUSPECT: AlertKind.SUSPECT,
    **dict.fromkeys(
        (Verdict.FIXED_DEGRADED, Verdict.FIXED_SUSPECT, Verdict.NEWLY_SUPPORTED, Verdict.RESTORED), AlertKind.FIXED
    ),
}


class Place(NamedTuple):
    """Where a change is. ``torch`` is :data:`NIGHTLY` for a development build, ``opset`` ``None`` for the default."""

    case: str
    variant: str
    torch: str
    exporter: str
    opset: int | None
    provider: str

    @property
    def name(self) -> str:
        """``cross``, ``cross/stack_rewrite``."""
        return self.case if self.variant == PLAIN else f"{self.case}/{self.variant}"


@dataclass(frozen=True)
class Change:
    """A cell that is not as it was; ``before`` and ``after`` are statuses, of a workaround its verdicts.

    Both are empty where only the file of alerts knows the cell.
    """

    kind: AlertKind
    cause: str
    place: Place
    before: str = ""
    after: str = ""
    message_id: str | None = None


@dataclass(frozen=True)
class Alert:
    """Changes of one kind with one cause: the signature of the error, or the variant where there is none.

    ``id`` depends on these two alone, and along torch on the release: neither on the run nor on what else changed.
    ``since``: the day on which it was seen first, along torch the release that resolved it. ``by``: what else changed
    with torch. ``good``: when its cells were measured and were good.
    """

    id: str
    kind: AlertKind
    cause: str
    changes: tuple[Change, ...]
    text: str = ""
    stage: AlertStage = AlertStage.OPEN
    is_new: bool = True
    since: str = ""
    note: str = ""
    by: tuple[str, ...] = ()
    good: tuple[str, ...] = ()

    @property
    def places(self) -> frozenset[Place]:
        """Its cells."""
        return frozenset(change.place for change in self.changes)

    @property
    def stops(self) -> bool:
        """Whether it should stop a build."""
        return self.kind.stops and self.is_new

    @property
    def torch(self) -> str:
        """The newest release that it is about."""
        return max((change.place.torch for change in self.changes), key=release_order, default="")

    @property
    def name(self) -> str:
        """``cross``, ``cross +2`` where it is about other variants, too."""
        found = dict.fromkeys(change.place.name for change in self.changes)
        return next(iter(found)) + (f" +{len(found) - 1}" if len(found) > 1 else "")

    @property
    def title(self) -> str:
        """``regressed: cross in torch 2.9.1, 3 cells``."""
        return f"{self.kind.value}: {self.name} in torch {self.torch}, {plural(len(self.changes), 'cell')}"

    @property
    def line(self) -> str:
        """The line of its message that says why."""
        return short_cause(self.text, _LONGEST)


def release_order(torch: str) -> tuple[bool, object]:
    """What orders releases; the nightly build is the newest."""
    return torch == NIGHTLY, "" if torch == NIGHTLY else versions.parse(torch)


def group(changes: Iterable[Change], *, by_release: bool = False) -> list[Alert]:
    """One alert for each kind and cause, and for each release where that is a part of it: the newest first, then the
    worst.
    """
    grouped: dict[tuple[AlertKind, str], list[Change]] = defaultdict(list)
    for change in changes:
        release = f"torch {change.place.torch}\n" if by_release else ""
        grouped[change.kind, release + change.cause].append(change)
    alerts = [
        Alert(
            hashlib.sha256(f"{kind.value}\n{cause}".encode()).hexdigest()[:12],
            kind,
            found[0].cause,
            tuple(sorted(found, key=lambda change: (release_order(change.place.torch), str(change.place)))),
        )
        for (kind, cause), found in grouped.items()
    ]
    worst = list(AlertKind)
    alerts.sort(key=lambda alert: (worst.index(alert.kind), -len(alert.changes), alert.cause))
    return sorted(alerts, key=lambda alert: release_order(alert.torch), reverse=True)


def with_texts(dataset: Dataset, alerts: Iterable[Alert]) -> list[Alert]:
    """The alerts, each with the message of the first of its cells that has one."""
    alerts = list(alerts)
    texts = dataset.messages(change.message_id for alert in alerts for change in alert.changes)
    found = (next((c.message_id for c in alert.changes if c.message_id in texts), None) for alert in alerts)
    return [replace(a, text=texts[m]) if m else a for a, m in zip(alerts, found, strict=True)]
