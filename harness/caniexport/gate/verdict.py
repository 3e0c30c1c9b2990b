"""The gate: may a run be published? Pure; it looks at the run's rows, at what was installed and at what was asked for.

A runtime has no canary that must pass everywhere (an old one loads no new file), so of replays: something passes, and
what must never pass never does.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from caniexport.bundles import probes
from caniexport.model.canaries import CANARY, EXPECTED, find_surprises, is_conclusive
from caniexport.model.status import WORKS, Stage, Status
from caniexport.store.gates import GOOD

#: share of what was planned that must have left a row
ENOUGH = 0.95
#: share of the rows that may be ``invalid``
INVALID = 0.05
#: share of the failures that one signature at resolve or import may explain, and of the rows that are skipped
ONE_REASON = 0.5
#: so many rows may be skipped with one signature in any run: one package was not there
FEW_SKIPPED = 20
#: share of the repeated cells that may differ
DIFFERING = 0.01
#: share of the replays that may have killed or hung their process
MOST_LOST = 0.1

_FAILED = {Status.FAIL, Status.TIMEOUT, Status.OOM, Status.CRASH, Status.MISMATCH, Status.INVALID}
_LOST = {Status.CRASH, Status.TIMEOUT, Status.OOM}

Row = Mapping[str, Any]


def judge_run(table: str, rows: Sequence[Row], environment: Row, planned: int, pins: Sequence[str]) -> str:
    """``good``, or ``quarantined: `` with the first reason found.

    table        what the rows are of: ``cells`` or ``runs``
    rows         every row of the run
    environment  its row of ``ENVIRONMENTS``
    planned      how many cells or bundles the run planned
    pins         requirements asked for (``torch==2.8.0``); every one must be installed at that version
    """
    reasons: list[Iterable[str]] = [_versions(environment, pins)]
    if table == "cells":
        # surprises before the counts: a run is ended at the first canary that surprises
        reasons += [find_surprises(rows), _counts(rows, planned, "cells"), _one_reason(rows)]
        reasons += [_canaries(rows, environment), _repeats(environment)]
    else:
        reasons += [_counts(rows, planned, "bundles"), _replays(rows)]
    return next((f"quarantined: {reason}" for reason in itertools.chain(*reasons)), GOOD)


def _repeats(environment: Row) -> Iterator[str]:
    repeated, differing = environment.get("repeated") or 0, len(environment.get("differing") or ())
    if differing > DIFFERING * repeated:
        yield f"{differing} of {repeated} cells differ when they are measured again (at most {DIFFERING:.0%} may)"


def _versions(environment: Row, pins: Sequence[str]) -> Iterator[str]:
    """A sentence for each pin that is not installed as it was asked for."""
    packages = json.loads(environment.get("packages") or "{}")
    installed = {canonicalize_name(name): text for name, text in packages.items()}
    for pin in map(Requirement, pins):
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


def _counts(rows: Sequence[Row], planned: int, things: str) -> Iterator[str]:
    if planned <= 0:
        yield f"no {things} were planned"
    if len(rows) < ENOUGH * planned:
        yield f"{len(rows)} rows of {planned} planned {things} (at least {ENOUGH:.0%} are needed)"
    invalid = sum(row["status"] == Status.INVALID for row in rows)
    if invalid > INVALID * len(rows):
        yield f"{invalid} of {len(rows)} rows are invalid (at most {INVALID:.0%} may be)"


def _one_reason(rows: Sequence[Row]) -> Iterator[str]:
    failures = [row for row in rows if row["status"] in _FAILED and row["corpus"] != CANARY]
    early = Counter(row["signature"] for row in failures if row["stage"] in (Stage.RESOLVE, Stage.IMPORT))
    for signature, count in early.most_common(1):
        if count > ONE_REASON * len(failures):
            yield f"{count} of {len(failures)} failures have one reason before any case was tried ({signature})"
    tried = [row for row in rows if row["corpus"] != CANARY]
    skipped = Counter(row["signature"] for row in tried if row["status"] == Status.SKIP)
    for signature, count in skipped.most_common(1):
        if count > max(FEW_SKIPPED, ONE_REASON * len(tried)):
            yield f"{count} of {len(tried)} rows are skipped for one reason ({signature})"


def _canaries(rows: Sequence[Row], environment: Row) -> Iterator[str]:
    """Apart from cpu, which is always there, some passing canary must have run on the provider asked for."""
    seen = {row["case"] for row in rows if is_conclusive(row)}
    for case in EXPECTED:
        if case not in seen:
            yield f"no row of {case}: nothing shows that the measurement can be trusted"
    for provider in sorted({row["provider"] for row in rows if row["provider"]} - {"cpu", "none"}):
        if provider in ("cuda", "tensorrt") and not environment.get("gpu"):
            yield f"provider {provider} was asked for, and there is no GPU"
        mine = (row for row in rows if row["case"] == "canary-pass" and row["provider"] == provider)
        if all(row["status"] != Status.PASS for row in mine):
            yield f"provider {provider} was asked for, and no canary ran on it without falling back"


def _replays(rows: Sequence[Row]) -> Iterator[str]:
    """A runtime that only reads models computes nothing, so its rows have no error and say nothing of mismatches."""
    computed = any(row["max_abs_error"] is not None for row in rows)
    for row in rows:
        if row["case"] == "canary-mismatch" and row["status"] in WORKS and computed:
            yield f"canary-mismatch came out as {row['status']} (bundle {row['bundle']})"
        if row["case"] == "canary-pass" and row["status"] == Status.MISMATCH:
            yield f"canary-pass came out as mismatch (bundle {row['bundle']})"
    known = [row for row in rows if row["corpus"] in (CANARY, probes.CORPUS)]
    if known and not any(row["status"] in WORKS for row in known):
        yield "no probe and no canary passes: nothing shows that the runtime works"
    lost = Counter(row["status"] for row in rows if row["status"] in _LOST)
    if lost.total() > MOST_LOST * len(rows):
        words = ", ".join(f"{count} {status}" for status, count in sorted(lost.items()))
        yield f"{words} of {len(rows)} rows (at most {MOST_LOST:.0%} may end so)"
