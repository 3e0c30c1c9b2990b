"""The whole answer to ``alerts``: two states compared, held against expectations and against what is known already.

A state is a folder, or what a git revision has in ``results/``. What people wrote down lies beside the dataset: which
changes are expected, and what became of alerts.
"""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from caniexport import home, names, versions
from caniexport.alerts import expectations, lifecycle
from caniexport.alerts.diff import Changed, Differences, axes, changes, differences, told_lines, with_signatures
from caniexport.alerts.expectations import Expectation, UnmetExpectation
from caniexport.alerts.group import Alert, group
from caniexport.alerts.lifecycle import AlertStage, KnownAlert
from caniexport.answers.reading import load
from caniexport.corpus.verdicts import Verdict
from caniexport.home import Home, holds_dataset
from caniexport.model.errors import CaniexportError, SchemaMismatch, UnknownName
from caniexport.store import Dataset, files

_FOLDER = "results"
_CELLS = f"{_FOLDER}/cells"

#: one of the two: what it is called in the answer, and its dataset
Side = tuple[str, Dataset]


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


@dataclass(frozen=True)
class Noted:
    """Both files of a home; empty where they are not there."""

    expected: tuple[Expectation, ...] = ()
    known: tuple[KnownAlert, ...] = ()


def read_noted(root: Path) -> Noted:
    """The files in ``root``. Raises :class:`caniexport.model.errors.CorpusError` naming what is wrong in one."""
    listed = root / home.EXPECTATIONS
    entries = expectations.read(listed) if listed.exists() else []
    return Noted(tuple(entries), tuple(lifecycle.read(root / home.STATES)))


def sides(home: Home, baseline: str | None, current: str | None, stack: ExitStack) -> tuple[Side, Side]:
    """The two states to compare.

    Each is a folder with a dataset, or a git revision of the repository around ``home``. Where the current one is not
    named it is this home's dataset, its local rows before the published ones. Where the baseline is not named it is
    what is published; where there are no local rows that could differ, the state before the last commit that changed
    it. Raises :class:`UnknownName` for what is neither folder nor revision, :class:`SchemaMismatch` for a state
    written under another version of the row contract.
    """
    after = _open(home, current, stack) if current else ("this machine", Dataset.open(home.published, home.local))
    if baseline:
        return _open(home, baseline, stack), after
    if current is None and holds_dataset(home.local):
        return ("published", Dataset.open(home.published, None)), after
    revisions = _revisions(home.root)
    if len(revisions) < 2:
        raise UnknownName(
            "--baseline: a folder or a git revision is wanted (the history has one state of results/ only)"
        )
    _, before = _open(home, revisions[1], stack)
    return (f"results/ at {revisions[1][:10]}", before), after


def _revisions(root: Path) -> list[str]:
    """The last two commits that changed the published rows, the newest first."""
    try:
        return _git(root, "log", "-n", "2", "--format=%H", "--", _CELLS).decode().split()
    except CaniexportError as error:
        raise UnknownName(
            f"--baseline: a folder with a dataset is wanted, for there is no history here ({error})"
        ) from error


def _open(home: Home, text: str, stack: ExitStack) -> Side:
    folder = Path(text).expanduser()
    if folder.is_dir():
        inside = folder / _FOLDER
        return _side(text, inside if (inside / "cells").is_dir() and not (folder / "cells").is_dir() else folder)
    return _side(f"results/ at {text}", _checked_out(home.root, text, stack))


def _side(name: str, folder: Path) -> Side:
    paths = files.cells_files(folder)
    if not paths and not holds_dataset(folder):
        raise UnknownName(f"{folder} has no dataset (a folder with cells/*.parquet is wanted)")
    for path in paths:
        try:
            files.check(path)
        except SchemaMismatch:
            raise
        except CaniexportError:
            continue  # damaged: named among the problems, the rest is compared
    local = folder if (folder / "journal").is_dir() else None
    return name, Dataset.open(None if local else folder, local)


def _checked_out(root: Path, revision: str, stack: ExitStack) -> Path:
    """``results/`` of a revision in a folder of its own."""
    if revision.startswith("-"):
        raise UnknownName(f"{revision!r} is neither a folder nor a git revision")
    try:
        commit = _git(root, "rev-parse", "--verify", f"{revision}^{{commit}}").decode().strip()
        archive = _git(root, "archive", "--format=tar", commit, _FOLDER)
    except CaniexportError as error:
        wanted = "a folder with a dataset, or a git revision whose tree has results/, is wanted"
        raise UnknownName(f"{revision!r} is no state of a dataset: {wanted} ({error})") from error
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="caniexport-")))
    _unpack(archive, folder)
    return folder / _FOLDER


def _unpack(archive: bytes, folder: Path) -> None:
    """Write an archive's regular files below ``folder``; a dataset has no others, and none that lies elsewhere."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for item in tar:
            content = tar.extractfile(item) if item.isfile() else None
            if content is not None and ".." not in Path(item.name).parts:
                path = folder / item.name.lstrip("/")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.read())


def _git(root: Path, *words: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, check=False)
    except OSError as error:
        raise CaniexportError(f"git cannot be run ({error})") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[0]
        raise CaniexportError(said or f"git {words[0]} failed")
    return done.stdout


@dataclass(frozen=True)
class RunRows:
    """The rows that are used, of one run, or of every run of a release where ``run_id`` is empty."""

    torch: str
    run_id: str
    cells: int

    @property
    def name(self) -> str:
        """As addresses and pickers have it: ``2.8.0``, ``2.8.0/20261121T101310-ee54``."""
        return f"{self.torch}/{self.run_id}" if self.run_id else self.torch

    def where(self) -> dict[str, Iterable[str]]:
        """The filter that takes its rows."""
        return {"torch": (self.torch,), **({"run_id": (self.run_id,)} if self.run_id else {})}


@dataclass(frozen=True)
class Between:
    """The answer: how many cells there are of every verdict, and the changes by kind and cause, worst first."""

    before: RunRows
    after: RunRows
    counts: Mapping[Verdict, int]
    changes: tuple[Alert, ...]


def runs(dataset: Dataset) -> dict[str, RunRows]:
    """By name, newest release first: each release, and behind it its runs where it has several."""
    by_release: dict[str, dict[str, int]] = {}
    for torch, run_id, cells in load(dataset).grouped(("torch", "run_id"), {"cells": "count(*)"}, {}):
        if torch and run_id:
            by_release.setdefault(torch, {})[run_id] = cells
    found = []
    for torch in reversed(versions.ordered(by_release)):
        mine = by_release[torch]
        found.append(RunRows(torch, "", sum(mine.values())))
        found += [RunRows(torch, run_id, mine[run_id]) for run_id in sorted(mine, reverse=True) if len(mine) > 1]
    return {item.name: item for item in found}


def between(dataset: Dataset, before: str, after: str) -> Between:
    """What is different in the run ``after``. Raises :class:`caniexport.model.errors.UnknownName`."""
    rows = load(dataset)
    known = runs(dataset)
    one, other = (known[names.require("run", name, list(known))] for name in (before, after))
    # two releases are compared as one: what differs is then the cell, not its place
    left, right = (told_lines(rows, run.where(), {run.torch: other.torch}) for run in (one, other))
    counts: Counter[Verdict] = Counter()
    changed = list(changes(left, right, {*left, *right}, counts))
    axes = {axis: frozenset(values) for axis, values in rows.axes.items()}
    found = Differences({}, tuple(with_signatures(changed, rows)), (), 0)
    return Between(one, other, {verdict: counts[verdict] for verdict in Verdict}, tuple(group(found, axes)))
