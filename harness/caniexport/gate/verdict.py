"""The gate: may a run speak? Pure; it looks at the run's rows, at what was installed and at what was asked for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from caniexport.model.canaries import CANARY, EXPECTED, surprises, tells
from caniexport.model.status import Stage, Status
from caniexport.store.gates import GOOD

#: share of the planned cells that must have left a row
ENOUGH = 0.95
#: share of the rows that may be ``invalid``
INVALID = 0.05
#: share of the failures that one signature at resolve or import may explain
ONE_REASON = 0.5

#: share of the repeated cells that may differ
DIFFERING = 0.01

_BEFORE_THE_CASE = frozenset({Stage.RESOLVE.value, Stage.IMPORT.value})
_FAILED = frozenset(
    member.value for member in (Status.FAIL, Status.TIMEOUT, Status.OOM, Status.CRASH, Status.MISMATCH, Status.INVALID)
)
_ON_A_GPU = frozenset({"cuda", "tensorrt"})

Row = Mapping[str, Any]


def judge(rows: Sequence[Row], environment: Row, planned: int, pins: Sequence[str]) -> str:
    """``good``, or ``quarantined: `` with the first reason found.

    rows         every row of the run (columns of ``CELLS``)
    environment  its row of ``ENVIRONMENTS``
    planned      how many cells the run planned
    pins         requirements asked for (``torch==2.8.0``); every one must be installed at that version
    """
    checks: tuple[Callable[[], Iterator[str]], ...] = (
        lambda: versions_installed(environment, pins),
        # before the counts: a run is ended at the first canary that surprises
        lambda: surprises(rows),
        lambda: _counts(rows, planned),
        lambda: _one_reason(rows),
        lambda: _canaries(rows),
        lambda: _providers(rows, environment),
        lambda: _repeats(environment),
    )
    for check in checks:
        for reason in check():
            return f"quarantined: {reason}"
    return GOOD


def _repeats(environment: Row) -> Iterator[str]:
    repeated, differing = environment.get("repeated") or 0, len(environment.get("differing") or ())
    if differing > DIFFERING * repeated:
        yield f"{differing} of {repeated} cells differ when they are measured again (at most {DIFFERING:.0%} may)"


def versions_installed(environment: Row, pins: Sequence[str]) -> Iterator[str]:
    """A sentence for each pin that is not installed as it was asked for."""
    installed = {
        canonicalize_name(name): text for name, text in json.loads(environment.get("packages") or "{}").items()
    }
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


def _counts(rows: Sequence[Row], planned: int) -> Iterator[str]:
    if planned <= 0:
        yield "no cells were planned"
    if len(rows) < ENOUGH * planned:
        yield f"{len(rows)} rows of {planned} planned cells (at least {ENOUGH:.0%} are needed)"
    invalid = sum(row["status"] == Status.INVALID for row in rows)
    if invalid > INVALID * len(rows):
        yield f"{invalid} of {len(rows)} rows are invalid (at most {INVALID:.0%} may be)"


def _one_reason(rows: Sequence[Row]) -> Iterator[str]:
    failures = [row for row in rows if row["status"] in _FAILED and row["corpus"] != CANARY]
    early = Counter(row["signature"] for row in failures if row["stage"] in _BEFORE_THE_CASE)
    for signature, count in early.most_common(1):
        if count > ONE_REASON * len(failures):
            yield f"{count} of {len(failures)} failures have one reason before any case was tried ({signature})"


def _canaries(rows: Sequence[Row]) -> Iterator[str]:
    seen = {row["case"] for row in rows if tells(row)}
    for case in EXPECTED:
        if case not in seen:
            yield f"no row of {case}: nothing shows that the measurement can be trusted"


def _providers(rows: Sequence[Row], environment: Row) -> Iterator[str]:
    """Apart from cpu, which is always there, some passing canary must have run on the provider asked for."""
    asked = sorted({row["provider"] for row in rows if row["provider"]} - {"cpu", "none"})
    for provider in asked:
        if provider in _ON_A_GPU and not environment.get("gpu"):
            yield f"provider {provider} was asked for, and there is no GPU"
        mine = [row for row in rows if row["case"] == "canary-pass" and row["provider"] == provider]
        if not any(row["status"] == Status.PASS for row in mine):
            yield f"provider {provider} was asked for, and no canary ran on it without falling back"
