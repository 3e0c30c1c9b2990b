"""A bisection from its two ends to an interval, with both rows and what changed between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from caniexport import versions
from caniexport.model.errors import CaniexportError

AXES = ("torch", "onnxscript", "onnxruntime")
#: packages whose change may be the cause, each named by its distribution
_SUSPECTS = ("python", "torch", "onnxruntime", "onnx", "onnxscript", "onnx-ir", "numpy", "protobuf")


class NothingChangedError(CaniexportError):
    """Both ends of a bisection are alike: there is nothing to look for between them."""


@dataclass(frozen=True)
class BisectedCell:
    """The cell that is followed along an axis; ``torch`` is the release held fixed where the axis is another."""

    case: str
    variant: str
    case_hash: str
    exporter: str
    opset: int | None
    axis: str
    torch: str = ""


@dataclass(frozen=True)
class ProbedVersion:
    """What a version gave; ``origin`` is published, local or measured (now or by an earlier bisection).

    A version that could not be measured has no ``status`` and the reason as its ``message``.
    """

    version: str
    origin: str
    status: str = ""
    stage: str = ""
    signature: str = ""
    message: str = ""
    exporter_effective: str = ""
    opset_effective: int | None = None
    packages: Mapping[str, str] | None = None

    @property
    def first(self) -> str:
        """The first line of its message."""
        return next(iter(self.message.strip().splitlines()), "")

    @property
    def text(self) -> str:
        """``fail at export``; ``pass, opset 18 by dynamo`` where a file came of it."""
        if not self.status:
            return "could not be measured"
        ended = self.status if self.stage == "done" else f"{self.status} at {self.stage}"
        return f"{ended}, opset {self.opset_effective} by {self.exporter_effective}" if self.opset_effective else ended

    @property
    def aspects(self) -> dict[str, object]:
        """What two versions may differ in, from what matters most to what matters least."""
        works = self.status in ("pass", "degraded")
        return {
            "whether it works": works,
            "how it fails": () if works else (self.status, self.stage, self.signature),
            "status": self.status,
            "the exporter that wrote the file": self.exporter_effective,
            "the opset of the file": self.opset_effective,
        }


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
    known: Mapping[str, ProbedVersion],
    measure: Callable[[str], ProbedVersion],
    say: Callable[[str], None],
) -> Bisection:
    """Search ``ordered`` (the good end first, the bad one last); ``known`` are outcomes that need no measurement.

    Where a version between two that work does not, that is the first change: later ones are not looked at. Raises
    :class:`NothingChangedError` where the ends are alike and :class:`CaniexportError` where one cannot be measured.
    """
    found = {version: known[version] for version in ordered if version in known}
    fresh: list[str] = []

    def look(version: str) -> ProbedVersion:
        if version not in found:
            say(f"{asked.axis} {version}: making an environment")
            fresh.append(version)
            found[version] = measure(version)
            say(f"{asked.axis} {version}: {found[version].text}")
        return found[version]

    first, last = ordered[0], ordered[-1]
    for end in map(look, (first, last)):
        if not end.status:
            raise CaniexportError(f"{asked.axis} {end.version}: {end.first}")
    good, bad = found[first].aspects, found[last].aspects
    changed = next((name for name, value in good.items() if value != bad[name]), "")
    if not changed:
        raise NothingChangedError(
            f"nothing changed between {asked.axis} {first} and {last}: {found[first].text} at both"
        )
    alike = {
        place: found[text].aspects[changed] == good[changed] for place, text in enumerate(ordered) if text in found
    }
    high = min(place for place, is_good in alike.items() if not is_good)
    low = max(place for place, is_good in alike.items() if is_good and place < high)
    while untried := [place for place in range(low + 1, high) if ordered[place] not in found]:
        place = min(untried, key=lambda place: abs(2 * place - low - high))
        one = look(ordered[place])
        if one.status:
            low, high = (place, high) if one.aspects[changed] == good[changed] else (low, place)
    ends = Interval(ordered[low], ordered[high], tuple(ordered[low + 1 : high]))
    cause, differing = explain(asked, found[ends.good], found[ends.bad])
    steps = tuple(found[version] for version in ordered if version in found)
    measured = tuple(versions.ordered(fresh))
    return Bisection(asked, ends, found[ends.good], found[ends.bad], changed, cause, differing, steps, measured)


def explain(asked: BisectedCell, good: ProbedVersion, bad: ProbedVersion) -> tuple[str, tuple[str, ...]]:
    """The cause as far as the two rows tell it, and the packages that differ between them besides the axis."""
    before, after = good.packages or {}, bad.packages or {}
    differing = tuple(
        f"{name} {before.get(name, 'absent')} → {after.get(name, 'absent')}"
        for name in _SUSPECTS
        if name != asked.axis and before.get(name) != after.get(name)
    )
    wrote = [one.exporter_effective for one in (good, bad)]
    if asked.exporter == "default" and all(wrote) and wrote[0] != wrote[1]:
        return f"the release's default exporter: {wrote[0]} → {wrote[1]}", differing
    return "" if differing else f"{asked.axis} itself: nothing else that takes part differs", differing
