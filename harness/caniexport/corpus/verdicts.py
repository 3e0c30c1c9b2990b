"""Verdicts: pure functions of what was measured.

Four questions are answered here: is a workaround still needed (:func:`workaround`), what happened between two
cells (:func:`compare`), since when does something work along one axis (:func:`ranges`), and where along it did its
outcome change at all (:func:`stretches`). What was not measured
absorbs: it never makes a verdict, and it only ever widens a range.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from itertools import pairwise

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


def works(status: Status | None) -> bool | None:
    """``True`` where a user's model works, ``False`` where it does not, ``None`` where it was not measured."""
    if status is None or status not in MEASURED:
        return None
    return status in WORKS


def workaround(plain: Status | None, fix: Status | None) -> Workaround:
    """The word for a fix, from the statuses of the failing form and of the fix in the same cell.

    An opset or provider refused to both says nothing about the fix: ``unknown``. Refused to one of them only, it is
    what the user gets there, so it counts as not working.
    """
    if plain is Status.UNSUPPORTED and fix is Status.UNSUPPORTED:
        return Workaround.UNKNOWN
    match works(plain), works(fix):
        case (None, _) | (_, None):
            return Workaround.UNKNOWN
        case False, True:
            return Workaround.NEEDED
        case True, True:
            return Workaround.OBSOLETE
        case True, False:
            return Workaround.HARMFUL
        case _:
            return Workaround.BROKEN


@dataclass(frozen=True)
class ComparedCell:
    """What a comparison looks at of one cell; ``status`` is ``None`` where there is no row."""

    status: Status | None
    signature: str | None = None
    case_hash: str | None = None


class _Kind(Enum):
    """Statuses as the decision table groups them."""

    PASS = "pass"
    DEGRADED = "degraded"
    FAIL = "fail"
    MISMATCH = "mismatch"
    CRASH = "crash"
    SUSPECT = "suspect"
    UNSUPPORTED = "unsupported"
    UNMEASURED = "unmeasured"


_KINDS = {
    None: _Kind.UNMEASURED,
    Status.PASS: _Kind.PASS,
    Status.DEGRADED: _Kind.DEGRADED,
    Status.UNSUPPORTED: _Kind.UNSUPPORTED,
    Status.FAIL: _Kind.FAIL,
    # neither counts before a confirming run: a busy machine makes both
    Status.TIMEOUT: _Kind.SUSPECT,
    Status.OOM: _Kind.SUSPECT,
    # the same cell ended otherwise when it was repeated: neither a pass nor a failure that counts
    Status.UNSTABLE: _Kind.SUSPECT,
    Status.CRASH: _Kind.CRASH,
    Status.MISMATCH: _Kind.MISMATCH,
    Status.SKIP: _Kind.UNMEASURED,
    Status.NOT_RUN: _Kind.UNMEASURED,
    Status.INVALID: _Kind.UNMEASURED,
}


def compare(before: ComparedCell, after: ComparedCell) -> Verdict:
    """What happened from ``before`` to ``after``: the decision table, one arm for each of its words.

    Cells of different code (``case_hash``) are not compared: ``rebaselined``.
    """
    if before.case_hash and after.case_hash and before.case_hash != after.case_hash:
        return Verdict.REBASELINED
    return _decide(_KINDS[before.status], _KINDS[after.status], before.signature == after.signature)


def _decide(before: _Kind, after: _Kind, same_signature: bool) -> Verdict:  # noqa: C901 - one table, one match
    match before, after:
        # what was not measured afterwards says nothing
        case _, _Kind.UNMEASURED:
            return Verdict.UNKNOWN
        # what is new has nothing to be compared with; it never alerts
        case _Kind.UNMEASURED, (_Kind.PASS | _Kind.DEGRADED):
            return Verdict.NEW_PASSING
        case _Kind.UNMEASURED, (_Kind.FAIL | _Kind.MISMATCH | _Kind.CRASH):
            return Verdict.NEW_FAILING
        case _Kind.UNMEASURED, _Kind.UNSUPPORTED:
            return Verdict.NEW_UNSUPPORTED
        case _Kind.UNMEASURED, _Kind.SUSPECT:
            return Verdict.UNKNOWN
        # the same on both sides
        case _Kind.PASS, _Kind.PASS:
            return Verdict.SAME_PASS
        case _Kind.DEGRADED, _Kind.DEGRADED:
            return Verdict.SAME_DEGRADED
        case _Kind.FAIL, _Kind.FAIL:
            return Verdict.SAME_FAIL if same_signature else Verdict.CHANGED_FAILURE
        case _Kind.MISMATCH, _Kind.MISMATCH:
            return Verdict.SAME_MISMATCH
        case _Kind.CRASH, _Kind.CRASH:
            return Verdict.SAME_CRASH
        case _Kind.SUSPECT, _Kind.SUSPECT:
            return Verdict.SAME_SUSPECT
        case _Kind.UNSUPPORTED, _Kind.UNSUPPORTED:
            return Verdict.SAME_UNSUPPORTED
        # wrong numbers reach production unseen: worse than whatever was before, a clean failure too
        case _, _Kind.MISMATCH:
            return Verdict.REGRESSED_SILENT
        # a crash takes the process with it: worse than whatever was before, wrong numbers too
        case _, _Kind.CRASH:
            return Verdict.REGRESSED_CRASH
        # between the two ways of working
        case _Kind.PASS, _Kind.DEGRADED:
            return Verdict.DEGRADED
        case _Kind.DEGRADED, _Kind.PASS:
            return Verdict.RESTORED
        # it worked
        case ((_Kind.PASS | _Kind.DEGRADED), _Kind.FAIL):
            return Verdict.REGRESSED
        case ((_Kind.PASS | _Kind.DEGRADED), _Kind.SUSPECT):
            return Verdict.SUSPECT
        case ((_Kind.PASS | _Kind.DEGRADED), _Kind.UNSUPPORTED):
            return Verdict.WITHDRAWN
        # it works now
        case ((_Kind.FAIL | _Kind.MISMATCH | _Kind.CRASH), _Kind.PASS):
            return Verdict.FIXED
        case ((_Kind.FAIL | _Kind.MISMATCH | _Kind.CRASH), _Kind.DEGRADED):
            return Verdict.FIXED_DEGRADED
        case _Kind.SUSPECT, (_Kind.PASS | _Kind.DEGRADED):
            return Verdict.FIXED_SUSPECT
        case _Kind.UNSUPPORTED, (_Kind.PASS | _Kind.DEGRADED):
            return Verdict.NEWLY_SUPPORTED
        # it fails in another way
        case ((_Kind.MISMATCH | _Kind.CRASH), _Kind.FAIL):
            return Verdict.NOW_FAILS_CLEANLY
        case _Kind.SUSPECT, _Kind.FAIL:
            return Verdict.CHANGED_FAILURE
        case _Kind.UNSUPPORTED, _Kind.FAIL:
            return Verdict.NEWLY_FAILING
        case ((_Kind.FAIL | _Kind.MISMATCH | _Kind.CRASH), _Kind.SUSPECT):
            return Verdict.CHANGED_FAILURE_SUSPECT
        case _Kind.UNSUPPORTED, _Kind.SUSPECT:
            return Verdict.SUSPECT
        case ((_Kind.FAIL | _Kind.MISMATCH | _Kind.CRASH | _Kind.SUSPECT), _Kind.UNSUPPORTED):
            return Verdict.NOW_DECLARED
    raise AssertionError(f"no verdict for {before} -> {after}")


class RangeWord(StrEnum):
    """What a series of points says about something that works or does not."""

    ALWAYS = "always"
    NEVER = "never"
    FIXED_IN = "fixed-in"
    BROKEN_SINCE = "broken-since"
    BROKEN_AGAIN = "broken-again"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class AxisPoint:
    """One place on an axis, in the axis's order: its label, and whether it works there (``None``: not measured)."""

    label: str
    works: bool | None


@dataclass(frozen=True)
class StatusChange:
    """A change in the half-open interval ``(after, by]``: last seen otherwise at ``after``, first seen so at ``by``."""

    works: bool
    after: str
    by: str


@dataclass(frozen=True)
class AxisRange:
    """What is known along one axis.

    ``changes`` are in the axis's order; ``first`` and ``last`` are the measured ends, ``None`` where nothing was
    measured; beyond them nothing is known. ``unmeasured`` counts the points that said nothing.
    """

    word: RangeWord
    changes: tuple[StatusChange, ...]
    first: str | None
    last: str | None
    unmeasured: int

    @property
    def text(self) -> str:
        """For a person: ``works from 2.0.1 on (not at 1.12.1)``, ``always (1.3.1 to 2.15.0)``."""
        match self.word:
            case RangeWord.UNKNOWN:
                return "not measured, or refused"
            case RangeWord.ALWAYS | RangeWord.NEVER:
                ends = str(self.first) if self.first == self.last else f"{self.first} to {self.last}"
                return f"{self.word.value} ({ends})"
            case _:
                change = self.changes[-1]
                if change.works:
                    return f"works from {change.by} on (not at {change.after})"
                again = " again" if self.word is RangeWord.BROKEN_AGAIN else ""
                return f"broken{again} from {change.by} on (worked at {change.after})"


def ranges(points: Sequence[AxisPoint]) -> AxisRange:
    """What a series says, from its first point to its last; points that were not measured only widen the bounds."""
    known = [point for point in points if point.works is not None]
    if not known:
        return AxisRange(RangeWord.UNKNOWN, (), None, None, len(points))
    changes = tuple(
        StatusChange(bool(right.works), left.label, right.label)
        for left, right in pairwise(known)
        if left.works != right.works
    )
    unmeasured = len(points) - len(known)
    return AxisRange(
        _range_word(bool(known[-1].works), len(changes)), changes, known[0].label, known[-1].label, unmeasured
    )


def _range_word(works_last: bool, changes: int) -> RangeWord:
    if not changes:
        return RangeWord.ALWAYS if works_last else RangeWord.NEVER
    if works_last:
        return RangeWord.FIXED_IN
    return RangeWord.BROKEN_SINCE if changes == 1 else RangeWord.BROKEN_AGAIN


@dataclass(frozen=True)
class AxisStretch:
    """Neighbouring points that ended alike, those that were not measured passed over; ``points`` in the axis's order.

    Where one stretch follows another the change lies in ``(last of the one, first of the other]``.
    """

    points: tuple[str, ...]
    outcome: ComparedCell

    @property
    def first(self) -> str:
        """The first point at which it was seen so."""
        return self.points[0]

    @property
    def last(self) -> str:
        """The last point at which it was seen so."""
        return self.points[-1]


def stretches(points: Iterable[tuple[str, ComparedCell]]) -> tuple[AxisStretch, ...]:
    """A series cut where its outcome changes: another status, another error, or results wrong in another way.

    A point that was not measured belongs to no stretch and cuts none: it only widens the interval in which a change
    lies. Outcomes of other code than the last measured one's count as not measured.
    """
    known = [(label, outcome) for label, outcome in points if works(outcome.status) is not None]
    found: list[AxisStretch] = []
    for label, outcome in known:
        if outcome.case_hash != known[-1][1].case_hash:
            continue
        if found and alike(found[-1].outcome, outcome):
            found[-1] = AxisStretch((*found[-1].points, label), found[-1].outcome)
        else:
            found.append(AxisStretch((label,), outcome))
    return tuple(found)


#: what of a result is wrong, as signatures say it: its number, dtype or shape; else its values
_WRONG = re.compile(r"(?P<count>output\(s\) expected)|: (?P<part>dtype|shape) ")


def alike(one: ComparedCell, other: ComparedCell) -> bool:
    """Whether two cells ended in the same way; which values of a wrong result are most wrong does not count."""
    return one.status is other.status and _manner(one) == _manner(other)


def _manner(outcome: ComparedCell) -> tuple[str | None, ...]:
    """How it ended, without what differs between equal endings: which values were most wrong, say."""
    signature = outcome.signature
    if outcome.status in (Status.PASS, Status.UNSUPPORTED) or signature is None:
        return ()
    if outcome.status is not Status.MISMATCH:
        return (signature,)
    wrong = _WRONG.search(signature)
    return signature.partition("|")[0], wrong and (wrong["part"] or "count")


def collapse(statuses: Iterable[Status]) -> Status | None:
    """The worst of several measured statuses; ``None`` where none was measured."""
    severity = list(Status)
    measured = [status for status in statuses if status in MEASURED]
    return max(measured, key=severity.index) if measured else None
