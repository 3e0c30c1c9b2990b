"""The answer to a check in one line: what works, what stops it elsewhere, and what helps there."""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.support import EVERYWHERE
from caniexport.check.found import last_cause
from caniexport.check.inside import GIVEN
from caniexport.check.widen import USUAL_OPSET
from caniexport.match.errors import Confidence
from caniexport.match.evidence import read_error
from caniexport.model.status import WORKS, Exporter, Stage, Status

if TYPE_CHECKING:
    from caniexport.answers.support import Support
    from caniexport.check.found import Failure, Where, Works

#: how a case must be alike to be named in the first line
_SURE = (Confidence.EXACT.value, Confidence.CAUSE.value)
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
)
_ROUGH = "rounding alone moves the outputs as much, so that wrong values may be no more than that"
#: the call that a user writes first comes first
_ORDER = [Exporter.DEFAULT.value, Exporter.TRACE.value, Exporter.DYNAMO.value, Exporter.SCRIPT.value]


def headline(
    works: Sequence[Works], failures: Sequence[Failure], problems: Sequence[str], *, is_rough: bool = False
) -> str:
    """One line, without an end; ``problems`` are those of releases of which nothing was measured. ``is_rough`` says
    that rounding alone moves the outputs by as much as they may differ.
    """
    if not works:
        return problems[0] if problems else "nothing was measured"
    wrong = [failure for failure in failures if failure.status is Status.MISMATCH]
    rough = (_ROUGH,) if is_rough and wrong and all(map(_is_near, wrong)) else ()
    return "; ".join((_of_one(works[0], failures) if len(works) == 1 else _of_several(works), *rough, *problems))


def _of_one(works: Works, failures: Sequence[Failure]) -> str:
    lines = sorted(works.lines, key=lambda line: _ORDER.index(line.exporter))
    early = next((failure for failure in failures if failure.stage == Stage.EAGER.value), None)
    if early is not None and not any(line.status in WORKS for line in lines):
        return f"the model itself does not run here: {early.message.splitlines()[0]}"
    return "; ".join(_clauses(lines, failures))


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


def _clauses(lines: Sequence[Support], failures: Sequence[Failure]) -> Iterator[str]:
    works = [line for line in lines if line.status in WORKS]
    told = [_by(line.exporter) + _limits(line) for line in works]
    if told:
        yield "works " + " and ".join(filter(None, [", ".join(told[:-1]), told[-1]]))
    stopped: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        # few models can be scripted: that one cannot is told below
        if line not in works and (line.exporter != Exporter.SCRIPT.value or len(lines) == 1):
            stopped[_reason(line, _failure_of(line, failures))].append(_by(line.exporter))
    for reason, ways in stopped.items():
        yield f"{' and '.join(ways)} {reason}"


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
    ends of what an exporter takes much fails for itself.
    """
    places = ((failure, place) for failure in failures for place in failure.where)
    mine = [(failure, place) for failure, place in places if place.exporter == line.exporter]
    newest = [item for item in mine if item[1].torch == line.newest and item[0].status is line.status]
    found = min(newest or mine[:1], key=lambda item: _far_from_usual(item[1]), default=None)
    return found[0] if found else None


def _far_from_usual(place: Where) -> int:
    return min(abs((opset or USUAL_OPSET) - USUAL_OPSET) for opset in place.opsets)


def _reason(line: Support, failure: Failure | None) -> str:
    if line.status in _ENDS:
        return _ENDS[line.status] + (_told_sets(failure.differs) if failure else "")
    if failure is None:
        return "an error"
    if failure.is_ours:
        return f"not judged: {failure.hint}"
    help_ = _help(failure)
    return _lead(failure) + help_ if help_ else stopped_by(failure)


def stopped_by(failure: Failure) -> str:
    """``aten::x stops it (only 4D query, key, and value are supported)``: the operator, and the innermost cause."""
    lead = _lead(failure)
    words = _cause(failure.message)
    is_named = failure.operator and failure.operator.split("::")[-1] in words
    if not words or (is_named and failure.stage == Stage.EXPORT.value):
        return lead
    return f"{lead} ({textwrap.shorten(words, _MOST_WORDS, placeholder=' …')})"


def _cause(message: str) -> str:
    """The words of the innermost exception: a kept text tells the chain of causes last."""
    cause = last_cause(message)
    if cause:
        return cause.partition(": ")[2]
    first = message.partition("\n")[0]
    runtimes = _RUNTIMES_HEAD.search(first)
    if runtimes:
        return first[runtimes.end() :]
    return next((reason.line for reason in read_error(message).reasons), "")


def _lead(failure: Failure) -> str:
    return f"{failure.operator} stops it" if failure.operator else f"an error at {failure.stage}"


def _told_sets(differs: Sequence[str]) -> str:
    """For which inputs; the others need no names where those given are among them."""
    if not differs:
        return ""
    if any(words.startswith(GIVEN) for words in differs):
        return " (for the inputs given too)"
    further = len(differs) - _MOST_SETS
    return f" ({'; '.join(differs[:_MOST_SETS])}{f'; and {further} more' if further > 0 else ''})"


def _help(failure: Failure) -> str:
    """The first fix that works where a case fails by the same error or cause; empty for none."""
    for match in failure.matches:
        if not match.why.startswith(_SURE):
            continue
        for fix in match.fixes:
            if fix.helps:
                own = match.torch in {place.torch for place in failure.where}
                where = "there" if own else f"on torch {match.torch}, the nearest that was measured"
                other = ", with other values" if fix.changes_values else ""
                return f", as {match.case} does; {fix.variant} helps {where}{other}"
    return ""
