"""The gate: may a run be published? Pure; it looks at the run's rows, at what was installed and at what was asked for.

What is checked of rows of cells and of replays is in :data:`CHECKS`. A runtime has no canary that must pass everywhere
(an old one loads no new file), so of replays: something passes, and what must never pass never does.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from caniexport.bundles import probes
from caniexport.model.canaries import CANARY, EXPECTED, find_surprises, is_conclusive
from caniexport.model.status import WORKS, Stage, Status
from caniexport.store.gates import GOOD

#: share of the planned cells that must have left a row
ENOUGH = 0.95
#: share of the rows that may be ``invalid``
INVALID = 0.05
#: share of the failures that one signature at resolve or import may explain
ONE_REASON = 0.5

#: share of the repeated cells that may differ
DIFFERING = 0.01
#: share of the replays that may have killed or hung their process
MOST_LOST = 0.1

_BEFORE_THE_CASE = frozenset({Stage.RESOLVE.value, Stage.IMPORT.value})
_FAILED = frozenset(
    member.value for member in (Status.FAIL, Status.TIMEOUT, Status.OOM, Status.CRASH, Status.MISMATCH, Status.INVALID)
)
_LOST = frozenset({Status.CRASH.value, Status.TIMEOUT.value, Status.OOM.value})
_ON_A_GPU = frozenset({"cuda", "tensorrt"})

Row = Mapping[str, Any]


@dataclass(frozen=True)
class JudgedRun:
    """What a run is judged by.

    rows         every row of the run
    environment  its row of ``ENVIRONMENTS``
    planned      how many ``things`` (cells, bundles) the run planned
    pins         requirements asked for (``torch==2.8.0``); every one must be installed at that version
    """

    rows: Sequence[Row]
    environment: Row
    planned: int
    pins: Sequence[str]
    things: str


#: a sentence for each reason against a run
Check = Callable[[JudgedRun], Iterator[str]]


def judge_run(table: str, rows: Sequence[Row], environment: Row, planned: int, pins: Sequence[str]) -> str:
    """``good``, or ``quarantined: `` with the first reason found; the arguments are as for :class:`JudgedRun`.

    ``table`` says what the rows are of: ``cells`` or ``runs``.
    """
    run = JudgedRun(rows, environment, planned, pins, THINGS[table])
    return next((f"quarantined: {reason}" for check in CHECKS[table] for reason in check(run)), GOOD)


def _repeats(run: JudgedRun) -> Iterator[str]:
    repeated, differing = run.environment.get("repeated") or 0, len(run.environment.get("differing") or ())
    if differing > DIFFERING * repeated:
        yield f"{differing} of {repeated} cells differ when they are measured again (at most {DIFFERING:.0%} may)"


def _versions(run: JudgedRun) -> Iterator[str]:
    """A sentence for each pin that is not installed as it was asked for."""
    installed = {
        canonicalize_name(name): text for name, text in json.loads(run.environment.get("packages") or "{}").items()
    }
    for pin in map(Requirement, run.pins):
        have = installed.get(canonicalize_name(pin.name))
        if pin.marker is not None and not pin.marker.evaluate():
            continue
        if have is None:
            yield f"{pin} was asked for and is not installed"
        elif not _fits(have, pin):
            yield f"{pin} was asked for, {have} is installed"


def _fits(have: str, pin: Requirement) -> bool:
    """A local part (``+cpu``) says how a version was built, not which it is."""
    try:
        return pin.specifier.contains(Version(have).public, prereleases=True)
    except InvalidVersion:
        return False


def _counts(run: JudgedRun) -> Iterator[str]:
    if run.planned <= 0:
        yield f"no {run.things} were planned"
    if len(run.rows) < ENOUGH * run.planned:
        yield f"{len(run.rows)} rows of {run.planned} planned {run.things} (at least {ENOUGH:.0%} are needed)"
    invalid = sum(row["status"] == Status.INVALID for row in run.rows)
    if invalid > INVALID * len(run.rows):
        yield f"{invalid} of {len(run.rows)} rows are invalid (at most {INVALID:.0%} may be)"


def _one_reason(run: JudgedRun) -> Iterator[str]:
    failures = [row for row in run.rows if row["status"] in _FAILED and row["corpus"] != CANARY]
    early = Counter(row["signature"] for row in failures if row["stage"] in _BEFORE_THE_CASE)
    for signature, count in early.most_common(1):
        if count > ONE_REASON * len(failures):
            yield f"{count} of {len(failures)} failures have one reason before any case was tried ({signature})"


def _canaries(run: JudgedRun) -> Iterator[str]:
    seen = {row["case"] for row in run.rows if is_conclusive(row)}
    for case in EXPECTED:
        if case not in seen:
            yield f"no row of {case}: nothing shows that the measurement can be trusted"


def _providers(run: JudgedRun) -> Iterator[str]:
    """Apart from cpu, which is always there, some passing canary must have run on the provider asked for."""
    asked = sorted({row["provider"] for row in run.rows if row["provider"]} - {"cpu", "none"})
    for provider in asked:
        if provider in _ON_A_GPU and not run.environment.get("gpu"):
            yield f"provider {provider} was asked for, and there is no GPU"
        mine = [row for row in run.rows if row["case"] == "canary-pass" and row["provider"] == provider]
        if not any(row["status"] == Status.PASS for row in mine):
            yield f"provider {provider} was asked for, and no canary ran on it without falling back"


def _replayed_canaries(run: JudgedRun) -> Iterator[str]:
    """A runtime that only reads models computes nothing, so its rows have no error and say nothing of mismatches."""
    computed = any(row["max_abs_error"] is not None for row in run.rows)
    for row in run.rows:
        if row["case"] == "canary-mismatch" and row["status"] in WORKS and computed:
            yield f"canary-mismatch came out as {row['status']} (bundle {row['bundle']})"
        if row["case"] == "canary-pass" and row["status"] == Status.MISMATCH:
            yield f"canary-pass came out as mismatch (bundle {row['bundle']})"
    known = [row for row in run.rows if row["corpus"] in (CANARY, probes.CORPUS)]
    if known and not any(row["status"] in WORKS for row in known):
        yield "no probe and no canary passes: nothing shows that the runtime works"


def _lost(run: JudgedRun) -> Iterator[str]:
    lost = Counter(row["status"] for row in run.rows if row["status"] in _LOST)
    if sum(lost.values()) > MOST_LOST * len(run.rows):
        words = ", ".join(f"{count} {status}" for status, count in sorted(lost.items()))
        yield f"{words} of {len(run.rows)} rows (at most {MOST_LOST:.0%} may end so)"


#: what a table's rows are of, as a person says it
THINGS = {"cells": "cells", "runs": "bundles"}
#: what is asked of a run, by table, in this order
CHECKS: dict[str, tuple[Check, ...]] = {
    # surprises before the counts: a run is ended at the first canary that surprises
    "cells": (_versions, lambda run: find_surprises(run.rows), _counts, _one_reason, _canaries, _providers, _repeats),
    "runs": (_versions, _counts, _replayed_canaries, _lost),
}
