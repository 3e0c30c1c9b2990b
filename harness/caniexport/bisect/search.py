"""The search itself: which version to look at next, and what is known when there is none left. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


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
