"""An alert: cells that changed in one way for one cause."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from caniexport import versions
from caniexport.answers.outcomes import short_cause
from caniexport.corpus.verdicts import CHANGES, Verdict, Workaround
from caniexport.model.case import PLAIN
from caniexport.names import plural
from caniexport.store import Dataset

#: what the newest nightly build of each side is called, so that one night is compared with another
NIGHTLY = "nightly"
#: verdicts that should stop a build, the worst first; a workaround that stops helping has one of its own
STOPS = (Verdict.REGRESSED_SILENT, Verdict.REGRESSED_CRASH, Verdict.REGRESSED, Verdict.WITHDRAWN)
#: verdicts that say that something got better: they have no error, and the variant is their cause
BETTER = CHANGES[CHANGES.index(Verdict.FIXED) :]
#: what is news: how a cell ends otherwise, or what that makes of a workaround
Kind = Verdict | Workaround
_WORST: tuple[Kind, ...] = (*STOPS, Workaround.NEEDED, Workaround.OBSOLETE, *CHANGES)
#: characters of a message's line
_LONGEST = 200


class AlertStage(StrEnum):
    """Where an alert stands."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"


class CellPoint(NamedTuple):
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

    kind: Kind
    cause: str
    place: CellPoint
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
    kind: Kind
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
    def places(self) -> frozenset[CellPoint]:
        """Its cells."""
        return frozenset(change.place for change in self.changes)

    @property
    def is_worse(self) -> bool:
        """Whether it is of a kind that should stop a build."""
        return self.kind in STOPS

    @property
    def stops(self) -> bool:
        """Whether it should stop a build."""
        return self.is_worse and self.is_new

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


def group_changes(dataset: Dataset, changes: Sequence[Change], *, by_release: bool = False) -> list[Alert]:
    """One alert for each kind and cause, and for each release where that is a part of it.

    The newest release comes first, then the worst kind; so do the cells of an alert.
    """
    grouped: dict[tuple[Kind, str], list[Change]] = defaultdict(list)
    for change in sorted(changes, key=lambda change: str(change.place)):
        release = f"torch {change.place.torch}\n" if by_release else ""
        grouped[change.kind, release + change.cause].append(change)
    texts = dataset.messages(change.message_id for change in changes)
    alerts = []
    for (kind, cause), found in grouped.items():
        found.sort(key=lambda change: release_order(change.place.torch), reverse=True)
        name = hashlib.sha256(f"{kind.value}\n{cause}".encode()).hexdigest()[:12]
        text = next((texts[change.message_id] for change in found if change.message_id in texts), "")
        alerts.append(Alert(name, kind, found[0].cause, tuple(found), text))
    alerts.sort(key=lambda alert: (_WORST.index(alert.kind), -len(alert.changes), alert.cause))
    return sorted(alerts, key=lambda alert: release_order(alert.torch), reverse=True)
