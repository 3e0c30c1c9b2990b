"""Two runs of one dataset, of the same release or of two: every cell that both could have, at the same opset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from caniexport import names, versions
from caniexport.alerts.diff import Differences, changes, told_lines, with_signatures
from caniexport.alerts.group import Alert, group
from caniexport.answers.reading import load
from caniexport.corpus.verdicts import Verdict
from caniexport.store import Dataset


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
