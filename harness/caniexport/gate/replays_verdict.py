"""The gate for runs of bundles: may this run of a runtime speak? Pure.

A runtime has no canary that must pass everywhere (an old one loads no new file), so: something passes, what must never
pass never does, and what was asked for is installed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from caniexport.bundles import probes
from caniexport.gate.verdict import ENOUGH, INVALID, versions_installed
from caniexport.model.canaries import CANARY
from caniexport.model.status import WORKS, Status
from caniexport.store.gates import GOOD

Row = Mapping[str, Any]

_WORKS = frozenset(status.value for status in WORKS)
_LOST = frozenset({Status.CRASH.value, Status.TIMEOUT.value, Status.OOM.value})
#: share of the rows that may have killed or hung their process
_MOST_LOST = 0.1


def judge_runs(rows: Sequence[Row], environment: Row, planned: int, pins: Sequence[str]) -> str:
    """``good``, or ``quarantined: `` with the first reason found; the arguments are as for
    :func:`caniexport.gate.verdict.judge`.

    ``rows`` have the columns of ``RUNS``.
    """
    checks: tuple[Callable[[], Iterator[str]], ...] = (
        lambda: versions_installed(environment, pins),
        lambda: _counts(rows, planned),
        lambda: _canaries(rows),
        lambda: _lost(rows),
    )
    for check in checks:
        for reason in check():
            return f"quarantined: {reason}"
    return GOOD


def _counts(rows: Sequence[Row], planned: int) -> Iterator[str]:
    if len(rows) < ENOUGH * planned or not rows:
        yield f"{len(rows)} rows of {planned} planned bundles (at least {ENOUGH:.0%} are needed)"
    invalid = sum(row["status"] == Status.INVALID for row in rows)
    if invalid > INVALID * len(rows):
        yield f"{invalid} of {len(rows)} rows are invalid (at most {INVALID:.0%} may be)"


def _canaries(rows: Sequence[Row]) -> Iterator[str]:
    """A runtime that only reads models computes nothing, so its rows have no error and say nothing of mismatches."""
    computed = any(row["max_abs_error"] is not None for row in rows)
    for row in rows:
        if row["case"] == "canary-mismatch" and row["status"] in _WORKS and computed:
            yield f"canary-mismatch came out as {row['status']} (bundle {row['bundle']})"
        if row["case"] == "canary-pass" and row["status"] == Status.MISMATCH:
            yield f"canary-pass came out as mismatch (bundle {row['bundle']})"
    known = [row for row in rows if row["corpus"] in (CANARY, probes.CORPUS)]
    if known and not any(row["status"] in _WORKS for row in known):
        yield "no probe and no canary passes: nothing shows that the runtime works"


def _lost(rows: Sequence[Row]) -> Iterator[str]:
    lost = Counter(row["status"] for row in rows if row["status"] in _LOST)
    if sum(lost.values()) > _MOST_LOST * len(rows):
        words = ", ".join(f"{count} {status}" for status, count in sorted(lost.items()))
        yield f"{words} of {len(rows)} rows (at most {_MOST_LOST:.0%} may end so)"
