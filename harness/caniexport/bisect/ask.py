"""What a user asks of a bisection, resolved: the case, the versions on the index, the rows that are there."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from caniexport import names, versions
from caniexport.answers.filters import require_exporter, require_opsets
from caniexport.answers.inventory import Inventory
from caniexport.bisect.probe import BisectedCell, Prober, known
from caniexport.bisect.run import Bisection, bisect
from caniexport.home import Home
from caniexport.machine import interpreters
from caniexport.model import releases
from caniexport.model.case import PLAIN
from caniexport.model.errors import CaniexportError, UnknownName
from caniexport.model.status import Exporter
from caniexport.store import Dataset

#: seconds that uv may take to list versions
_SECONDS = 120
_AXES = ("torch", "onnxscript", "onnxruntime")


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
    if question.opset is not None and (known_opsets := Inventory.of(dataset).opsets):
        require_opsets((str(question.opset),), known_opsets)
    held = "" if axis == "torch" else _held(question.torch, dataset)
    return BisectedCell(case, variant, corpus[case].case_hash(variant), exporter, question.opset, axis, held)


def _held(torch: str | None, dataset: Dataset) -> str:
    """The release that is held fixed: the one named, else the newest measured, else the newest of the table."""
    if torch:
        return releases.find(torch).torch
    return versions.newest(Inventory.of(dataset).torch) or releases.table()[-1].torch


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
