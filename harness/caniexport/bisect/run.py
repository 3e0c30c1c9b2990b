"""A bisection from its two ends to an interval, with both rows and what changed between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from caniexport import versions
from caniexport.bisect.probe import BisectedCell, ProbedVersion
from caniexport.model.errors import CaniexportError

#: packages whose change may be the cause, each named by its distribution
_SUSPECTS = ("python", "torch", "onnxruntime", "onnx", "onnxscript", "onnx-ir", "numpy", "protobuf")


class NothingChangedError(CaniexportError):
    """Both ends of a bisection are alike: there is nothing to look for between them."""


class VersionProbe(Protocol):
    """What looks at a version: :class:`caniexport.bisect.probe.Prober`, or a table of outcomes."""

    def kept(self, version: str) -> ProbedVersion | None:
        """What is there already."""

    def measure(self, version: str) -> ProbedVersion:
        """Look now; an outcome without a status where it cannot be."""


class BisectSide(StrEnum):
    """Which end a version is like; a version that could not be measured is like neither."""

    GOOD = "good"
    BAD = "bad"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Interval:
    """The change lies in ``(good, bad]``; ``between`` are the versions within that could not be measured."""

    good: str
    bad: str
    between: tuple[str, ...]


@dataclass(frozen=True)
class Bisection:
    """The first change of a cell along an axis: it is in ``(interval.good, interval.bad]``.

    ``changed`` says in what the ends differ, ``differing`` what else is installed otherwise at the two, ``steps`` are
    the versions looked at in the order of the axis, ``measured`` those for which an environment was made.
    """

    asked: BisectedCell
    interval: Interval
    good: ProbedVersion
    bad: ProbedVersion
    changed: str
    cause: str
    differing: tuple[str, ...]
    steps: tuple[ProbedVersion, ...]
    measured: tuple[str, ...]


def bisect(
    asked: BisectedCell,
    ordered: Sequence[str],
    outcomes: Mapping[str, ProbedVersion],
    probe: VersionProbe,
    say: Callable[[str], None],
) -> Bisection:
    """Search ``ordered`` (the good end first, the bad one last); ``outcomes`` are those known beforehand.

    Raises :class:`NothingChangedError` where the ends are alike and :class:`CaniexportError` where one of them cannot
    be measured.
    """
    found = {version: outcomes[version] for version in ordered if version in outcomes}
    fresh: list[str] = []

    def look(version: str) -> None:
        kept = probe.kept(version)
        if kept is None:
            say(f"{asked.axis} {version}: making an environment")
            fresh.append(version)
        found[version] = kept or probe.measure(version)
        say(f"{asked.axis} {version}: {found[version].text}")

    for end in (ordered[0], ordered[-1]):
        if end not in found:
            look(end)
        if not found[end].status:
            raise CaniexportError(f"{asked.axis} {end}: {found[end].message.strip().splitlines()[0]}")
    changed = difference(found[ordered[0]], found[ordered[-1]])
    if not changed:
        raise NothingChangedError(
            f"nothing changed between {asked.axis} {ordered[0]} and {ordered[-1]}: {found[ordered[0]].text} at both"
        )
    sides = {version: _side(one, found[ordered[0]], changed) for version, one in found.items()}
    while (version := middle(ordered, sides)) is not None:
        look(version)
        sides[version] = _side(found[version], found[ordered[0]], changed)
    ends = interval(ordered, sides)
    good, bad = found[ends.good], found[ends.bad]
    cause, differing = why(asked, good, bad)
    steps = tuple(found[version] for version in ordered if version in found)
    return Bisection(asked, ends, good, bad, changed, cause, differing, steps, tuple(versions.ordered(fresh)))


def difference(good: ProbedVersion, bad: ProbedVersion) -> str:
    """The first thing in which two outcomes differ; empty where they are alike."""
    for name, value in _aspects(good).items():
        if value != _aspects(bad)[name]:
            return name
    return ""


def _aspects(one: ProbedVersion) -> dict[str, object]:
    """From what matters most to what matters least."""
    return {
        "whether it works": one.works,
        "how it fails": () if one.works else (one.status, one.stage, one.signature),
        "status": one.status,
        "the exporter that wrote the file": one.exporter_effective,
        "the opset of the file": one.opset_effective,
    }


def _side(one: ProbedVersion, good: ProbedVersion, changed: str) -> BisectSide:
    if not one.status:
        return BisectSide.UNKNOWN
    return BisectSide.GOOD if _aspects(one)[changed] == _aspects(good)[changed] else BisectSide.BAD


def why(asked: BisectedCell, good: ProbedVersion, bad: ProbedVersion) -> tuple[str, tuple[str, ...]]:
    """The cause as far as the two rows tell it, and the packages that differ between them besides the axis."""
    differing = tuple(
        f"{name} {before or 'absent'} → {after or 'absent'}"
        for name in _SUSPECTS
        if name != asked.axis
        for before, after in [((good.packages or {}).get(name), (bad.packages or {}).get(name))]
        if before != after
    )
    if asked.exporter == "default" and good.exporter_effective and bad.exporter_effective:
        before, after = good.exporter_effective, bad.exporter_effective
        if before != after:
            return f"the release's default exporter: {before} → {after}", differing
    if not differing:
        return f"{asked.axis} itself: nothing else that takes part differs", ()
    return "", differing


def interval(ordered: Sequence[str], sides: Mapping[str, BisectSide]) -> Interval:
    """The first change as far as it is known; ``ordered`` begins with the good end and ends with the bad one.

    Where a version between two that work does not, that is the first change: later ones are not looked at.
    """
    bad = next(index for index, version in enumerate(ordered) if sides.get(version) is BisectSide.BAD)
    good = max(index for index in range(bad) if sides.get(ordered[index]) is BisectSide.GOOD)
    return Interval(ordered[good], ordered[bad], tuple(ordered[good + 1 : bad]))


def middle(ordered: Sequence[str], sides: Mapping[str, BisectSide]) -> str | None:
    """The version to measure next: of those not tried yet within the interval the nearest to its middle."""
    found = interval(ordered, sides)
    low, high = ordered.index(found.good), ordered.index(found.bad)
    untried = [index for index in range(low + 1, high) if ordered[index] not in sides]
    if not untried:
        return None
    return ordered[min(untried, key=lambda index: abs(2 * index - low - high))]
