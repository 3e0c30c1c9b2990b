"""The words of verdicts. Whether a workaround is needed is ``verdict`` in ``store/views.sql``; what happened between
two cells is :data:`caniexport.alerts.changes.VERDICT`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from caniexport.model.status import MEASURED, WORKS, Status


class Workaround(StrEnum):
    """Whether a fix is still needed, from the failing form and the fix in the same cell."""

    NEEDED = "needed"
    OBSOLETE = "obsolete"
    BROKEN = "broken"
    HARMFUL = "harmful"
    UNKNOWN = "unknown"


class Verdict(StrEnum):
    """What happened between two cells of the same case."""

    SAME_PASS = "same-pass"
    SAME_DEGRADED = "same-degraded"
    SAME_FAIL = "same-fail"
    SAME_MISMATCH = "same-mismatch"
    SAME_CRASH = "same-crash"
    SAME_SUSPECT = "same-suspect"
    SAME_UNSUPPORTED = "same-unsupported"
    DEGRADED = "degraded"
    RESTORED = "restored"
    REGRESSED = "regressed"
    REGRESSED_SILENT = "regressed-silent"
    REGRESSED_CRASH = "regressed-crash"
    FIXED = "fixed"
    FIXED_DEGRADED = "fixed-degraded"
    FIXED_SUSPECT = "fixed-suspect"
    CHANGED_FAILURE = "changed-failure"
    CHANGED_FAILURE_SUSPECT = "changed-failure-suspect"
    NOW_FAILS_CLEANLY = "now-fails-cleanly"
    NOW_DECLARED = "now-declared"
    WITHDRAWN = "withdrawn"
    SUSPECT = "suspect"
    NEWLY_SUPPORTED = "newly-supported"
    NEWLY_FAILING = "newly-failing"
    NEW_PASSING = "new-passing"
    NEW_FAILING = "new-failing"
    NEW_UNSUPPORTED = "new-unsupported"
    REBASELINED = "rebaselined"
    UNKNOWN = "unknown"


#: verdicts that say something got worse, and those that say it got better
REGRESSIONS = frozenset({Verdict.REGRESSED, Verdict.REGRESSED_SILENT, Verdict.REGRESSED_CRASH})
IMPROVEMENTS = frozenset({Verdict.FIXED, Verdict.FIXED_DEGRADED})
#: verdicts that say that something changed, the worst first
CHANGES = (
    Verdict.REGRESSED_SILENT,
    Verdict.REGRESSED_CRASH,
    Verdict.REGRESSED,
    Verdict.WITHDRAWN,
    Verdict.SUSPECT,
    Verdict.DEGRADED,
    Verdict.CHANGED_FAILURE,
    Verdict.CHANGED_FAILURE_SUSPECT,
    Verdict.NOW_FAILS_CLEANLY,
    Verdict.NOW_DECLARED,
    Verdict.NEWLY_FAILING,
    Verdict.FIXED,
    Verdict.FIXED_DEGRADED,
    Verdict.FIXED_SUSPECT,
    Verdict.NEWLY_SUPPORTED,
    Verdict.RESTORED,
)


def is_working(status: Status | None) -> bool | None:
    """``True`` where a user's model works, ``False`` where it does not, ``None`` where it was not measured."""
    if status is None or status not in MEASURED:
        return None
    return status in WORKS


def find_worst(statuses: Iterable[Status]) -> Status | None:
    """The worst of several measured statuses; ``None`` where none was measured."""
    severity = list(Status)
    measured = [status for status in statuses if status in MEASURED]
    return max(measured, key=severity.index) if measured else None
