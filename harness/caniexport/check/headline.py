"""The answer to a check in one line: what works, what stops it elsewhere, and what helps there."""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from caniexport import versions
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.support import EVERYWHERE
from caniexport.check.found import NOT_JUDGED, first_words, last_cause
from caniexport.check.widen import USUAL_OPSET, default_exporter
from caniexport.match.errors import SURE
from caniexport.match.parse import read_error
from caniexport.model.status import WORKS, Exporter, FixKind, Stage, Status

if TYPE_CHECKING:
    from caniexport.answers.support import Support
    from caniexport.check.found import Failure, Where, Works

#: how a case must be alike to be named in the first line
_SURE = tuple(shares.value for shares in SURE)
#: characters of a cause in the first line
_MOST_WORDS = 120
#: sets of inputs named in the first line
_MOST_SETS = 3
_ENDS = {
    Status.MISMATCH: "wrong values without an error",
    Status.CRASH: "the process is killed",
    Status.TIMEOUT: "it takes too long",
    Status.OOM: "it takes too much memory",
    Status.UNSUPPORTED: "refused",
}
#: the two values that a mismatch names, and how near they are where rounding may be all there is to it
_DIFFERS, _NEAR = re.compile(r"expected (-?\d[\d.e+-]*), \w+ gave (-?\d[\d.e+-]*\d)"), 0.01
#: how onnxruntime begins what it says
_RUNTIMES_HEAD = re.compile(
    r"\[ONNXRuntimeError\] : \d+ : \w+ : (?:This is an invalid model\. (?:(?:Type )?Error: )?)?"
    r"(?:Non-zero status code returned while running \w+ node\. Name:'[^']*' Status Message: "
    r"(?:\S+\.(?:cc|h):\d+ [^\n]*?\) (?=\S))?)*"
)
_ROUGH = "rounding alone moves the outputs as much, so that wrong values may be no more than that"
_FIXED = "the trace has {} as the first inputs decide it, so that others may come out wrong"
_GOES_ON = (
    "called again on the same inputs the model gives other values in eager, the file those of the first call at every "
    "run"
)
#: the call that a user writes first comes first
_ORDER = [Exporter.DEFAULT.value, Exporter.TRACE.value, Exporter.DYNAMO.value, Exporter.SCRIPT.value]


def headline(
    works: Sequence[Works],
    failures: Sequence[Failure],
    problems: Sequence[str],
    *,
    is_rough: bool = False,
    fixed: str = "",
    goes_on: bool = False,
    other_opsets: Sequence[str] = (),
) -> str:
    """One line, without an end; ``problems`` are those of releases of which nothing was measured. ``is_rough`` says
    that rounding alone moves the outputs by as much as they may differ, ``fixed`` what the tracer warned of that it
    fixes where it works, ``goes_on`` that a second call gives other values than the first. ``other_opsets`` names the
    files of another opset than the named one.
    """
    if not works:
        return problems[0] if problems else "nothing was measured"
    failures = [_without_refuted(failure, _refuted(failures)) for failure in failures]
    wrong = [failure for failure in failures if failure.status is Status.MISMATCH]
    rough = (_ROUGH,) if is_rough and wrong and all(map(_is_near, wrong)) else ()
    decided = (_FIXED.format(fixed),) if fixed else ()
    kept = (_GOES_ON,) if goes_on and any(line.status in WORKS for item in works for line in item.lines) else ()
    told = _of_one(works[0], failures, fixed) if len(works) == 1 else _of_several(works)
    return "; ".join((told, *other_opsets, *decided, *kept, *rough, *problems))


def _of_one(works: Works, failures: Sequence[Failure], fixed: str) -> str:
    lines = sorted(works.lines, key=lambda line: _ORDER.index(line.exporter))
    early = next((item for item in failures if item.stage == Stage.EAGER.value and not item.is_ours), None)
    if early is not None and not any(line.status in WORKS for line in lines):
        return f"the model itself does not run here: {early.message.splitlines()[0]}"
    return "; ".join(_clauses(lines, failures, fixed))


def _is_near(failure: Failure) -> bool:
    """Whether the values that differ most are near each other, so that rounding may have moved them."""
    found = _DIFFERS.search(failure.message)
    if found is None:
        return False
    expected, given = float(found[1]), float(found[2])
    return abs(expected - given) <= _NEAR * max(abs(expected), abs(given))


def _of_several(works: Sequence[Works]) -> str:
    count = sum(any(line.status in WORKS for line in item.lines) for item in works)
    return f"{count} of {len(works)} variants work with one exporter at least"


def _refuted(failures: Sequence[Failure]) -> set[tuple[str, str]]:
    """Case and variant of every fix that the model's own rows refute anywhere."""
    matches = (match for failure in failures for match in failure.matches)
    return {(match.case, fix.variant) for match in matches for fix in match.fixes if fix.refuted}


def _without_refuted(failure: Failure, refuted: Container[tuple[str, str]]) -> Failure:
    """The failure with fixes that nothing refutes, in no place: the first line knows no places."""
    matches = (
        replace(match, fixes=tuple(fix for fix in match.fixes if (match.case, fix.variant) not in refuted))
        for match in failure.matches
    )
    return replace(failure, matches=tuple(matches))


def _clauses(lines: Sequence[Support], failures: Sequence[Failure], fixed: str) -> Iterator[str]:
    works = [line for line in lines if line.status in WORKS]
    told = [_by(line.exporter) + _limits(line) for line in works]
    if told:
        yield "works " + " and ".join(filter(None, [", ".join(told[:-1]), told[-1]]))
    stopped: dict[tuple[str, str], list[str]] = defaultdict(list)
    for line in lines:
        # few models can be scripted: that one cannot is told below
        is_told = line.exporter != Exporter.SCRIPT.value or len(lines) == 1 or line.status is Status.SKIP
        if line not in works and is_told:
            failure = _failure_of(line, failures)
            given = _wrong_as_given(line, failures) if failure is not None and failure.is_as_made else ""
            stopped[_reason(line, failure, given)].append(line.exporter)
    for (reason, help_), exporters in stopped.items():
        out = _way_out(works, fixed) if Exporter.DEFAULT.value in exporters else ""
        yield f"{' and '.join(map(_by, exporters))} {reason}{help_ or out}"


def _way_out(works: Sequence[Support], fixed: str) -> str:
    """``: the way out is dynamo=False (opset ≥ 9)``: the first call that works beside the bare one; empty for none.

    One that may be wrong, for something that the tracer ``fixed``, comes last.
    """
    if not works:
        return ""
    line = min(works, key=lambda item: bool(fixed) and item.exporter == Exporter.TRACE.value)
    return f": the way out is {_call(line.exporter, default_exporter(line.newest))}{_limits(line)}"


def _call(exporter: str, bare: str) -> str:
    """How an exporter is asked for, where ``bare`` is that of the bare call."""
    if exporter == bare:
        return "another opset_version"
    if exporter == Exporter.DYNAMO.value:
        return "the dynamo exporter"
    call = ["dynamo=False"] if bare == Exporter.DYNAMO.value else []
    return " with ".join([*(["torch.jit.script"] if exporter == Exporter.SCRIPT.value else []), *call])


def _limits(line: Support) -> str:
    """`` (opset ≥ 11)``; empty where it works wherever it was measured."""
    where = line.text.removeprefix(EVERYWHERE).removeprefix(", ")
    return f" ({where})" if where else ""


def _by(exporter: str) -> str:
    if exporter == Exporter.DEFAULT.value:
        return "with the default call"
    return f"by {EXPORTER_SHORT[exporter]}"


def _failure_of(line: Support, failures: Sequence[Failure]) -> Failure | None:
    """The failure of the exporter on the release that its line is about, at the opset nearest to the usual one: at the
    ends of what an exporter takes much fails for itself. Of wrong values those of the inputs given come first.
    """
    places = ((failure, place) for failure in failures for place in failure.where)
    is_ours = line.status is Status.SKIP
    mine = [item for item in places if item[1].exporter == line.exporter and item[0].is_ours == is_ours]
    newest = [item for item in mine if item[1].torch == line.newest and item[0].status is line.status]
    found = min(newest or mine[:1], key=lambda item: _telling(*item), default=None)
    return found[0] if found else None


def _telling(failure: Failure, place: Where) -> tuple[bool, int]:
    return failure.status is Status.MISMATCH and failure.is_as_made, _far_from_usual(place)


def _far_from_usual(place: Where) -> int:
    return min(abs((opset or USUAL_OPSET) - USUAL_OPSET) for opset in place.opsets)


def _wrong_as_given(line: Support, failures: Sequence[Failure]) -> str:
    """The other releases, in words, on which the exporter's values are wrong for inputs that the user gave."""
    wrong = [failure for failure in failures if failure.status is Status.MISMATCH and failure.is_as_given]
    places = {place.torch for failure in wrong for place in failure.where if place.exporter == line.exporter}
    return f"on torch {', '.join(versions.ordered(places))} for those given too" if places else ""


def _reason(line: Support, failure: Failure | None, given: str) -> tuple[str, str]:
    """Why a line does not work, and what helps there; empty where nothing is known to. ``given`` are releases that are
    wrong for more inputs.
    """
    if line.status in _ENDS:
        sets = told_sets(failure) if failure else ""
        ignores = f": the file ignores {', '.join(failure.ignores)}" if failure and failure.ignores else ""
        return _ENDS[line.status] + ignores + _bracketed("; ".join(filter(None, [sets, given]))), ""
    if failure is None:
        return "an error", ""
    if failure.is_ours:
        return f"{NOT_JUDGED}: {failure.hint}", ""
    help_ = _help(failure)
    sets = _bracketed(told_sets(failure)) if failure.is_as_made else ""
    return (f"{_lead(failure)}{sets}", help_) if help_ else (stopped_by(failure), "")


def stopped_by(failure: Failure) -> str:
    """``aten::x stops it (only 4D query, key, and value are supported)``: the operator, and the innermost cause."""
    if failure.why:
        return f"an error at {failure.stage} ({failure.why})"
    lead = _lead(failure)
    words = _cause(failure.message)
    name = failure.operator.split("::")[-1]
    # what torch's own arguments are wrong for is more than that the exporter has no rule
    is_named = name and name in words and not words.startswith(f"{name}(): ")
    sets = _bracketed(told_sets(failure)) if failure.is_as_made else ""
    if not words or (is_named and failure.stage == Stage.EXPORT.value):
        return f"{lead}{sets}"
    return f"{lead} ({textwrap.shorten(words, _MOST_WORDS, placeholder=' …')}){sets}"


def _cause(message: str) -> str:
    """The words of the innermost exception: a kept text tells the chain of causes last."""
    cause = last_cause(message)
    if cause:
        return cause.partition(": ")[2]
    first = message.partition("\n")[0]
    runtimes = _RUNTIMES_HEAD.search(first)
    if runtimes:
        return first[runtimes.end() :]
    return next((first_words(reason.text) for reason in read_error(message).reasons), "")


def _lead(failure: Failure) -> str:
    return f"{failure.operator} stops it" if failure.operator else f"an error at {failure.stage}"


def _bracketed(words: str) -> str:
    return f" ({words})" if words else ""


def told_sets(failure: Failure) -> str:
    """For which inputs; the others need no names where those given are among them, and nobody gave them else."""
    if failure.is_as_given:
        return "for the inputs given too"
    if not failure.is_as_made:
        return ""
    further = len(failure.differs) - _MOST_SETS
    more = f"; and {further} more" if further > 0 else ""
    return f"for inputs that the check made: {'; '.join(failure.differs[:_MOST_SETS])}{more}"


def _help(failure: Failure) -> str:
    """The first fix that works where a case fails by the same error or cause; empty for none."""
    for match in failure.matches:
        if not match.why.startswith(_SURE):
            continue
        for fix in match.fixes:
            if fix.helps:
                own = match.torch in {place.torch for place in failure.where}
                where = "there" if own else f"on torch {match.torch}, the nearest that was measured"
                other = f", but {fix.changed}" if fix.changed else ""
                # the name of one that raises the opset says nothing of what else it does
                is_named = not (fix.does_more and fix.kind == FixKind.RAISE_OPSET.value)
                what = "" if is_named or not fix.note else f" ({fix.note})"
                return f", as {match.case} does; {fix.variant}{what} helps {where}{other}"
    return ""
