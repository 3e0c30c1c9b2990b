"""What a user asks of a bisection: the versions on the index, the rows that are there, environments for the others.

What a bisection measures stays in ``results-bisect/<package>-<version>`` next to the local dataset, each version a
dataset of its own: asked again, also after a kill, it is not measured again, and nothing of it is ever published.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from caniexport import names, versions
from caniexport.answers.filters import require_exporter, require_opsets
from caniexport.answers.inventory import Inventory
from caniexport.bisect.run import AXES, BisectedCell, Bisection, ProbedVersion, bisect
from caniexport.home import Home
from caniexport.machine import interpreters
from caniexport.model import releases
from caniexport.model.case import PLAIN
from caniexport.model.errors import CaniexportError, UnknownName
from caniexport.model.status import Exporter
from caniexport.profiles import NEWEST_PACKAGES, find_profile
from caniexport.store import Dataset

#: seconds that uv may take to list versions
_SECONDS = 120
_OF_A_ROW = ("origin", "status", "stage", "signature", "exporter_effective", "opset_effective")
_COLUMNS = (*_OF_A_ROW, "measured_at", "torch", "env_id", "case_hash", "message_id")
#: statuses that say nothing about the version
_SILENT = ("invalid", "not_run", "skip")


@dataclass(frozen=True)
class BisectQuestion:
    """The words of the command; without an ``axis`` it is that of the ends (``torch=2.8.0``), else torch."""

    case: str
    good: str
    bad: str
    axis: str | None = None
    torch: str | None = None
    exporter: str = Exporter.DEFAULT.value
    opset: int | None = None


def answer_bisection(
    question: BisectQuestion,
    home: Home,
    dataset: Dataset,
    *,
    timeout: float,
    say: Callable[[str], None],
) -> Bisection:
    """Search from what is known; environments are made below ``results-bisect`` and removed.

    ``timeout`` is in seconds a cell. Raises :class:`UnknownName` for a question that cannot be
    asked, and what :func:`caniexport.bisect.run.bisect` raises.
    """
    ends = [text.rpartition("=")[::2] for text in (question.good, question.bad)]
    given = {names.require("axis", axis.rstrip("="), AXES) for axis, _ in ends if axis} | {question.axis or ""} - {""}
    if len(given) > 1:
        raise UnknownName(f"one axis at a time: {', '.join(sorted(given))} were named")
    asked = _cell(question, (given or {"torch"}).pop(), home, dataset)
    axis = asked.axis
    # other profiles count where their packages differ on the axis alone
    swaps = [name for name in dataset.profiles() if name.startswith(f"{axis}-")]
    rows = {key: row for part in (*map(dataset.of, swaps), dataset) for key, row in find_known(part, asked).items()}
    good, bad = (_version(text, rows) for _, text in ends)
    if versions.parse(good) >= versions.parse(bad):
        raise UnknownName(f"--good {good} is not older than --bad {bad}: a bisection needs an older and a newer end")
    listed = _between(axis, good, bad, _pythons(asked, good, bad))
    inner = {version for version in rows if versions.parse(good) < versions.parse(version) < versions.parse(bad)}
    ordered = [good, *versions.ordered([*listed, *inner]), bad]
    measured = {version: one for version in ordered if (one := _measured_before(home, asked, version))}
    say(f"{axis}: {len(ordered)} releases from {good} to {bad}, {len(rows.keys() & set(ordered))} of them measured")

    def measure(version: str) -> ProbedVersion:
        return _measure(home, asked, version, timeout, say)

    return bisect(asked, ordered, {**measured, **rows}, measure, say)


def _cell(question: BisectQuestion, axis: str, home: Home, dataset: Dataset) -> BisectedCell:
    corpus = {name: item for name, item in home.read_cases().items() if not item.is_environment}
    case, _, variant = question.case.partition("/")
    case = names.require("case", case, corpus)
    variants = {name for name, one in corpus[case].variants.items() if one.measured}
    variant = names.require(f"variant of {case}", variant or PLAIN, variants)
    exporter = require_exporter(question.exporter)
    if (question.opset is None) != (exporter == Exporter.DEFAULT.value):
        raise UnknownName(
            f"--opset is for every exporter but the default one, which asks for none (exporter {exporter})"
        )
    if question.opset is not None and (opsets := Inventory.of(dataset).opsets):
        require_opsets((str(question.opset),), opsets)
    held = ""
    if axis != "torch":  # the release named, else the newest measured, else the newest of the table
        newest = versions.newest(Inventory.of(dataset).torch) or releases.read_table()[-1].torch
        held = releases.find(question.torch).torch if question.torch else newest
    return BisectedCell(case, variant, corpus[case].case_hash(variant), exporter, question.opset, axis, held)


def _version(text: str, measured: Iterable[str]) -> str:
    """A version as given, or the newest measured one of a series (``2.9``)."""
    try:
        return versions.resolve(text, measured)
    except UnknownName:
        return versions.public(text)


def find_known(dataset: Dataset, asked: BisectedCell) -> dict[str, ProbedVersion]:
    """Outcomes by version, from rows of the same case code; the newest row of each version is used."""
    where: dict[str, tuple[Any, ...]] = {
        **{name: (getattr(asked, name),) for name in ("case", "variant", "exporter", "opset")},
        **({"torch": (asked.torch,)} if asked.torch else {}),
        "provider": ("cpu",),
    }
    rows = [dict(zip(_COLUMNS, row, strict=True)) for row in dataset.select(_COLUMNS, where, runtimes=True)]
    found = {}
    for row in sorted(rows, key=lambda row: row["measured_at"] or 0):
        if row["case_hash"] != asked.case_hash or row["status"] in _SILENT:
            continue
        kept = dataset.records("environments", {"env_id": (row["env_id"],)})
        packages = {**json.loads(kept[0]["packages"] or "{}"), "python": kept[0]["python"]} if kept else {}
        version = versions.public(packages.get(asked.axis) or row["torch"])
        message = dataset.message(row["message_id"] or "") or ""
        values: dict[str, Any] = {name: row[name] or "" for name in _OF_A_ROW}
        values |= {"opset_effective": row["opset_effective"], "packages": packages, "message": message}
        found[version] = ProbedVersion(version, **values)
    return found


def _pythons(asked: BisectedCell, good: str, bad: str) -> list[str]:
    """The Pythons whose wheels count: those of the table's releases along the way."""
    if asked.torch:
        return [releases.find(asked.torch).python]
    low, high = releases.find(good), releases.find(bad)
    span = versions.parse(low.torch), versions.parse(high.torch)
    within = [entry.python for entry in releases.read_table() if span[0] <= versions.parse(entry.torch) <= span[1]]
    return [low.python, high.python, *within]


def _between(package: str, low: str, high: str, pythons: Iterable[str]) -> list[str]:
    """Releases with ``low < version < high`` that have a wheel for one of these Pythons (``3.12``), oldest first.

    Pre-releases are left out, as by every installer. Raises :class:`CaniexportError` where the index is not reached.
    """
    options = ["--no-deps", "--only-binary", ":all:", "--no-header", "--no-annotate", "--color", "never", "--quiet"]
    found: set[str] = set()
    for python in sorted(set(pythons)):
        command = [interpreters.find_uv(), "pip", "compile", *options, "--python-version", python, "-"]
        bound = high
        while bound:
            wanted = f"{package}>{low},<{bound}"
            try:
                reply = subprocess.run(
                    command, input=wanted, capture_output=True, text=True, timeout=_SECONDS, check=False
                )
            except (OSError, subprocess.SubprocessError) as error:
                raise CaniexportError(f"the versions of {package} could not be listed: {error}") from error
            if reply.returncode and "No solution found" not in reply.stderr:
                reason = reply.stderr.strip().splitlines() or ["uv failed"]
                raise CaniexportError(f"the versions of {package} could not be listed: {reason[-1]}")
            match = re.search(rf"^{re.escape(package)}==(\S+)", reply.stdout, re.MULTILINE)
            bound = versions.public(match[1]) if match else ""
            found |= {bound} - {""}
    return versions.ordered(found)


def _folder(home: Home, asked: BisectedCell, version: str) -> Path:
    """Where a version's rows are: next to the local dataset, whose readers never look there."""
    held = f"-torch-{asked.torch}" if asked.torch else ""
    return home.local.with_name("results-bisect") / f"{asked.axis}-{version}{held}"


def _measured_before(home: Home, asked: BisectedCell, version: str) -> ProbedVersion | None:
    """What an earlier bisection measured, or this one."""
    found = find_known(Dataset.open(None, _folder(home, asked, version)), asked).get(version)
    return found and replace(found, origin="measured")


def _measure(
    home: Home, asked: BisectedCell, version: str, timeout: float, say: Callable[[str], None]
) -> ProbedVersion:
    """Make the environment, measure the cell, remove the environment."""
    from caniexport.measure.cells import measure
    from caniexport.measure.job import MeasureOptions

    release = releases.find(asked.torch or version)._replace(torch=asked.torch or version)
    local = _folder(home, asked, version)
    local.mkdir(parents=True, exist_ok=True)
    options = MeasureOptions(
        # environments of its own: those of `measure` stay as they are
        home=replace(home, root=local.parent, local=local),
        releases=(release,),
        cases=(f"{asked.case}/{asked.variant}",),
        exporters=(asked.exporter,),
        opsets=release.with_sure([] if asked.opset is None else [asked.opset], [asked.exporter]),
        workers=1,
        fresh=True,
        rolling=True,
        timeout=timeout,
        profile=NEWEST_PACKAGES if asked.axis == "torch" else find_profile(f"{asked.axis}-{version}"),
    )
    reports = measure(options, say)
    problem = next((report.problem for report in reports if report.problem), "its run left no row")
    return _measured_before(home, asked, version) or ProbedVersion(version, "measured", message=problem)
