"""One alert for each cause: changes of one verdict with one signature, and the smallest words for where they are."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from caniexport import versions
from caniexport.alerts.diff import NIGHTLY, CellPlace, Changed, Differences
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.corpus.verdicts import Verdict, Workaround
from caniexport.store.elsewhere import BEFORE_RUNTIME

#: stages at which no runtime, and so no provider, has a part
_WITHOUT_PROVIDER = frozenset(stage.value for stage in BEFORE_RUNTIME)


class AlertKind(StrEnum):
    """What an alert says, worst first. The first six stop a build."""

    REGRESSED_SILENT = "regressed-silent"
    REGRESSED_CRASH = "regressed-crash"
    REGRESSED = "regressed"
    WITHDRAWN = "withdrawn"
    WORKAROUND_BROKEN = "workaround-broken"
    WORKAROUND_HARMFUL = "workaround-harmful"
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


#: verdicts that are news, and what an alert calls them
KINDS: dict[Verdict, AlertKind] = {
    Verdict.REGRESSED_SILENT: AlertKind.REGRESSED_SILENT,
    Verdict.REGRESSED_CRASH: AlertKind.REGRESSED_CRASH,
    Verdict.REGRESSED: AlertKind.REGRESSED,
    Verdict.NEWLY_FAILING: AlertKind.CHANGED_FAILURE,
    Verdict.WITHDRAWN: AlertKind.WITHDRAWN,
    Verdict.DEGRADED: AlertKind.DEGRADED,
    Verdict.CHANGED_FAILURE: AlertKind.CHANGED_FAILURE,
    Verdict.NOW_FAILS_CLEANLY: AlertKind.CHANGED_FAILURE,
    Verdict.NOW_DECLARED: AlertKind.CHANGED_FAILURE,
    Verdict.CHANGED_FAILURE_SUSPECT: AlertKind.SUSPECT,
    Verdict.SUSPECT: AlertKind.SUSPECT,
    Verdict.FIXED: AlertKind.FIXED,
    Verdict.FIXED_DEGRADED: AlertKind.FIXED,
    Verdict.FIXED_SUSPECT: AlertKind.FIXED,
    Verdict.NEWLY_SUPPORTED: AlertKind.FIXED,
    Verdict.RESTORED: AlertKind.FIXED,
}
_MOVES: dict[tuple[Workaround, Workaround], AlertKind] = {
    (Workaround.NEEDED, Workaround.BROKEN): AlertKind.WORKAROUND_BROKEN,
    (Workaround.NEEDED, Workaround.HARMFUL): AlertKind.WORKAROUND_HARMFUL,
    (Workaround.OBSOLETE, Workaround.HARMFUL): AlertKind.WORKAROUND_HARMFUL,
    (Workaround.NEEDED, Workaround.OBSOLETE): AlertKind.WORKAROUND_OBSOLETE,
    (Workaround.OBSOLETE, Workaround.NEEDED): AlertKind.WORKAROUND_NEEDED,
    (Workaround.HARMFUL, Workaround.NEEDED): AlertKind.WORKAROUND_NEEDED,
}


@dataclass(frozen=True)
class Member:
    """One cell of an alert: what it was and what it is, as words."""

    case: str
    variant: str
    place: CellPlace
    before: str
    after: str
    message_id: str | None = None

    @property
    def name(self) -> str:
        """``case/variant``."""
        return f"{self.case}/{self.variant}"


@dataclass(frozen=True)
class Alert:
    """Changes of one kind with one cause.

    ``id`` depends on the kind and the cause only (the signature, or the variant where there is none): neither on the
    run nor on how many other cells share it. What happened on a provider other than the cpu, once the file was there,
    has a cause of its own: it names the provider. ``where`` names the axes on which not everything measured is
    affected.
    """

    id: str
    kind: AlertKind
    cause: str
    where: str
    members: tuple[Member, ...]

    @property
    def names(self) -> list[str]:
        """The variants affected, each once."""
        return list(dict.fromkeys(member.name for member in self.members))

    @property
    def title(self) -> str:
        """One line: ``regressed: 3 cells of cross/plain (torch 2.9.1, dynamo)``."""
        names = self.names
        about = names[0] if len(names) == 1 else f"{len(names)} variants ({names[0]}, …)"
        return f"{self.kind.value}: {len(self.members)} cell{'s'[: len(self.members) > 1]} of {about} ({self.where})"


def group(found: Differences, measured: Mapping[str, frozenset[str]]) -> list[Alert]:
    """The alerts, worst first. ``measured`` are the values of each axis that anything was measured at afterwards."""
    grouped: dict[tuple[AlertKind, str], list[Member]] = defaultdict(list)
    for item in found.changed:
        kind = KINDS.get(item.verdict)
        if kind is not None:
            grouped[kind, _cause(item, kind)].append(_member(item))
    for move in found.moved:
        kind = _MOVES.get((move.before, move.after))
        if kind is not None:
            cause = f"{move.case}/{move.variant}{_on(move.place.provider)}"
            words = move.before.value, move.after.value
            grouped[kind, cause].append(Member(move.case, move.variant, move.place, *words))
    alerts = [
        Alert(identity(kind, cause), kind, cause, where((item.place for item in members), measured), tuple(members))
        for (kind, cause), members in grouped.items()
    ]
    order = list(AlertKind)
    return sorted(alerts, key=lambda alert: (order.index(alert.kind), -len(alert.members), alert.cause))


def identity(kind: AlertKind, cause: str) -> str:
    """Twelve hex digits of what an alert is about."""
    return hashlib.sha256(f"{kind.value}\n{cause}".encode()).hexdigest()[:12]


def _cause(item: Changed, kind: AlertKind) -> str:
    """Errors are one cause where they read alike; what has no error, and what got better, is about its variant.

    Before the file is there the provider has no part in it.
    """
    about = f"{item.case}/{item.variant}" if kind is AlertKind.FIXED or not item.signature else item.signature
    return about if item.stage in _WITHOUT_PROVIDER else f"{about}{_on(item.place.provider)}"


def _on(provider: str | None) -> str:
    """Empty for the cpu, so that what was known before there were other providers keeps its identity."""
    return "" if provider in (None, "cpu", "none") else f" [{provider}]"


def _member(item: Changed) -> Member:
    before, after = (status.value if status else "not measured" for status in (item.before, item.after))
    return Member(item.case, item.variant, item.place, before, after, item.message_id)


def where(places: Iterable[CellPlace], measured: Mapping[str, frozenset[str]]) -> str:
    """The axes on which a part of what is measured is affected, in words; ``everywhere`` where there is none."""
    axes = axis_values(places)
    said = []
    for axis, values in axes.items():
        if frozenset(values) < measured.get(axis, frozenset()) or axis not in measured:
            said.append(_said(axis, values))
    return ", ".join(said) or "everywhere"


def axis_values(places: Iterable[CellPlace]) -> dict[str, list[str]]:
    """The values of every axis that these places have, in its order."""
    places = list(places)
    return {
        "torch": [
            *versions.ordered(p.torch for p in places if p.torch != NIGHTLY),
            *[NIGHTLY] * any(p.torch == NIGHTLY for p in places),
        ],
        "exporter": sorted({place.exporter for place in places}),
        "opset": [str(opset) for opset in sorted({p.opset for p in places if p.opset is not None})]
        + ["default"] * any(place.opset is None for place in places),
        "provider": sorted({place.provider for place in places if place.provider}),
    }


def _said(axis: str, values: Sequence[str]) -> str:
    match axis:
        case "exporter":
            return "/".join(EXPORTER_SHORT.get(value, value) for value in values)
        case "opset":
            return f"opset {opset_spans(values)}"
        case "torch":
            shown = "/".join(values) if len(values) <= 3 else f"{values[0]} to {values[-1]} ({len(values)} releases)"
            return f"torch {shown}"
        case _:
            return "/".join(values)


def opset_spans(values: Iterable[str]) -> str:
    """``9-14, default``."""
    return versions.opset_text(int(text) if text.isdigit() else None for text in values)
