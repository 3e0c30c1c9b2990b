"""A bisection from its two ends to an interval, with both rows and what changed between them.

What a user asks is resolved first: the case, the versions on the index, the rows that are there.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from caniexport import names, versions
from caniexport.answers.select import load, require_exporter, require_opsets
from caniexport.bisect.probe import BisectedCell, ProbedVersion, Prober, known
from caniexport.home import Home
from caniexport.machine import interpreters
from caniexport.model import releases
from caniexport.model.case import PLAIN
from caniexport.model.errors import CaniexportError, UnknownName
from caniexport.model.status import Exporter
from caniexport.store import Dataset

#: packages whose change may be the cause, each named by its distribution
_SUSPECTS = ("python", "torch", "onnxruntime", "onnx", "onnxscript", "onnx-ir", "numpy", "protobuf")
#: seconds that uv may take to list versions
_SECONDS = 120
_AXES = ("torch", "onnxscript", "onnxruntime")


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


@dataclass(frozen=True)
class Question:
    """The words of the command; without an ``axis`` it is that of the ends (``torch=2.8.0``), else torch."""

    case: str
    good: str
    bad: str
    axis: str | None = None
    torch: str | None = None
    exporter: str = Exporter.DEFAULT.value
    opset: int | None = None


def answer(
    question: Question,
    home: Home,
    dataset: Dataset,
    *,
    disk_budget: int,
    timeout: float,
    say: Callable[[str], None],
) -> Bisection:
    """Search from what is known; environments are made below ``results-bisect`` and removed.

    Raises :class:`UnknownName` for a question that cannot be asked, and what :func:`caniexport.bisect.run.bisect`
    raises.
    """
    axis, good, bad = _ends(question)
    asked = _asked(question, axis, home, dataset)
    rows = known(dataset, asked)
    good, bad = (_version(text, rows) for text in (good, bad))
    if versions.parse(good) >= versions.parse(bad):
        raise UnknownName(f"--good {good} is not older than --bad {bad}: a bisection needs an older and a newer end")
    listed = _between(axis, good, bad, _pythons(axis, asked.torch, good, bad))
    inner = {version for version in rows if versions.parse(good) < versions.parse(version) < versions.parse(bad)}
    ordered = [good, *versions.ordered([*listed, *inner]), bad]
    say(f"{axis}: {len(ordered)} releases from {good} to {bad}, {len(rows.keys() & set(ordered))} of them measured")
    return bisect(asked, ordered, rows, Prober(home, asked, disk_budget, timeout, say), say)


def _ends(question: Question) -> tuple[str, str, str]:
    """The axis and the two versions; ``torch=2.8.0`` names both."""
    named = {question.axis} if question.axis else set()
    found = []
    for text in (question.good, question.bad):
        axis, equals, version = text.partition("=")
        found.append(version.lstrip("=") if equals else text)
        if equals:
            named.add(names.require("axis", axis, _AXES))
    if len(named) > 1:
        raise UnknownName(f"one axis at a time: {', '.join(sorted(named))} were named")
    return (named or {"torch"}).pop(), found[0], found[1]


def _asked(question: Question, axis: str, home: Home, dataset: Dataset) -> BisectedCell:
    corpus = {name: item for name, item in home.read_cases().items() if not item.is_environment}
    case, _, variant = question.case.partition("/")
    case = names.require("case", case, corpus)
    known_variants = {name for name, one in corpus[case].variants.items() if one.measured}
    variant = names.require(f"variant of {case}", variant or PLAIN, known_variants)
    exporter = require_exporter(question.exporter)
    if (question.opset is None) != (exporter == Exporter.DEFAULT.value):
        raise UnknownName(
            f"--opset is for every exporter but the default one, which asks for none (exporter {exporter})"
        )
    if question.opset is not None and (known_opsets := load(dataset).opsets):
        require_opsets((str(question.opset),), known_opsets)
    held = "" if axis == "torch" else _held(question.torch, dataset)
    return BisectedCell(case, variant, corpus[case].case_hash(variant), exporter, question.opset, axis, held)


def _held(torch: str | None, dataset: Dataset) -> str:
    """The release that is held fixed: the one named, else the newest measured, else the newest of the table."""
    if torch:
        return releases.find(torch).torch
    return versions.newest(load(dataset).torch) or releases.table()[-1].torch


def _version(text: str, measured: Iterable[str]) -> str:
    """A version as given, or the newest measured one of a series (``2.9``)."""
    try:
        return versions.resolve(text, measured)
    except UnknownName:
        return versions.public(text)


def _pythons(axis: str, torch: str, good: str, bad: str) -> list[str]:
    """The Pythons whose wheels count: those of the table's releases along the way."""
    if axis != "torch":
        return [releases.find(torch).python]
    low, high = releases.find(good), releases.find(bad)
    span = versions.parse(low.torch), versions.parse(high.torch)
    within = [entry.python for entry in releases.table() if span[0] <= versions.parse(entry.torch) <= span[1]]
    return [low.python, high.python, *within]


def _between(package: str, low: str, high: str, pythons: Iterable[str]) -> list[str]:
    """Releases with ``low < version < high`` that have a wheel for one of these Pythons (``3.12``), oldest first.

    Pre-releases are left out, as by every installer. Raises :class:`CaniexportError` where the index is not reached.
    """
    found: set[str] = set()
    for python in sorted(set(pythons)):
        bound = high
        while (newest := _newest(f"{package}>{low},<{bound}", package, python)) is not None:
            found.add(newest)
            bound = newest
    return versions.ordered(found)


def _newest(requirement: str, package: str, python: str) -> str | None:
    """The newest version that satisfies a requirement; ``None`` where there is none."""
    options = ["--no-deps", "--only-binary", ":all:", "--no-header", "--no-annotate", "--color", "never", "--quiet"]
    command = [interpreters.uv(), "pip", "compile", *options, "--python-version", python, "-"]
    try:
        reply = subprocess.run(
            command, input=requirement, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise CaniexportError(f"the versions of {package} could not be listed: {error}") from error
    if reply.returncode == 0:
        match = re.search(rf"^{re.escape(package)}==(\S+)", reply.stdout, re.MULTILINE)
        return versions.public(match[1]) if match else None
    if "No solution found" in reply.stderr:
        return None
    reason = reply.stderr.strip().splitlines()
    raise CaniexportError(f"the versions of {package} could not be listed: {reason[-1] if reason else 'uv failed'}")
