"""A pasted error: its case, the outcome at the user's point, and what works there."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from caniexport import versions
from caniexport.answers.answer import LONGEST, Answer, AnswerOutcome, Cell, Code, Link, Mark, Table
from caniexport.answers.fix_code import code_to_copy
from caniexport.answers.helping import HelpingWorkaround, find_helping
from caniexport.answers.op import answer_op as answer_operator
from caniexport.answers.point import Point, Points, call_text
from caniexport.answers.samples import Samples, opset_range
from caniexport.corpus.verdicts import is_working
from caniexport.match.causes import find_cause
from caniexport.match.errors import SURE, ErrorIndex, ErrorMatch, Lead, Likeness, match_error
from caniexport.model.errors import UnknownName
from caniexport.model.status import Exporter, Stage, Status
from caniexport.names import plural
from caniexport.operators import operator_key, operator_keys
from caniexport.store import Dataset

#: the error of torch.export for a size or branch that depends on data
_GUARD = re.compile(r"GuardOnDataDependentSymNode|data-dependent expression")
#: the opset of the call in an error text, not one that it advises to try
_OPSET = re.compile(r"(?<!try )(?:to ONNX opset version|ONNX opset version:?|opset_version=|opset version) (\d+)")
#: the release of torch that a text names
_RELEASE = re.compile(r"\btorch(?: version)?(?:==|[ =:])v?(\d+\.\d+(?:\.\d+)?)\b", re.IGNORECASE)
_CALLED = (Exporter.TRACE.value, Exporter.DYNAMO.value)
_MEASURE = "caniexport check FILE.py:FACTORY measures the model itself with releases and exporters."
#: lines on the first screen: of cases, workarounds and code
_CASES, _WORKAROUNDS, _CODE_LINES = 4, 3, 14
#: cases that are named, besides those with the same error
_MOST_CASES = 12


@dataclass(frozen=True)
class LeadAt:
    """A case that may be the error, and its status at the point; ``is_alike``: it fails with the error. ``bundle`` is
    its file there.
    """

    lead: Lead
    status: Status | None
    is_alike: bool
    bundle: str | None = None

    @property
    def fails(self) -> bool:
        """Whether it was measured not to work."""
        return is_working(self.status) is False


@dataclass(frozen=True)
class CaseOutcome:
    """The outcome of a case at one point, and what to do there; ``text`` replaces the status."""

    where: str
    status: Status
    text: str
    helps: str

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The same as a row of a table."""
        return Code(self.where), Mark(self.status, self.text), self.helps


def answer_error(dataset: Dataset, text: str, asked: Mapping[str, str]) -> Answer:
    """Answer what an error is and what to do at a point: ``torch``, ``exporter``, ``opset`` where ``asked`` has them.

    What is not named is taken from the text, then from the newest cell that has the error. Raises
    :class:`UnknownName` for a release or exporter nobody knows.
    """
    index, points = ErrorIndex.of(dataset), Points(dataset)
    match = match_error(index, text)
    point, notes = points.find(_choose_point(points, match, text, asked))
    cause = None if match.is_known else find_cause(points.views, text, match.evidence)
    found = find_leads_at(dataset, points, match, point)
    if cause:
        alike = [item for item in found if item.is_alike]
        also = _case_table(index, alike, point, len(alike))
        return Answer(cause[0], AnswerOutcome.FAILS, (also,), tuple(filter(None, cause[1:])))
    operator = match.evidence.operator
    if not found:
        verdict = f"Not known{f': no measured case is about {operator}' if operator else ''}."
        return Answer(verdict, AnswerOutcome.NOT_MEASURED, (), (*_note_samples(dataset, operator), _MEASURE))
    first = found[0]
    fixes = find_helping(points.views, point, [first.lead.case])[first.lead.case] if first.fails else ()
    ends = tuple(_list_outcomes(points, match, first, point, fixes))
    # an error of several cases does not select a workaround
    many = sum(item.is_alike for item in found)
    same = [item for item in found if item.lead.shares is Likeness.ERROR]
    is_answered = many == 1 or (first.lead.shares in SURE and (match.evidence.is_of_exporter or len(same) < 2))
    verdict, outcome = _choose_verdict(match, first, point, fixes, ends)
    by_default = asked.get("exporter", Exporter.DEFAULT.value) == Exporter.DEFAULT.value
    is_guard = _GUARD.search(text) and by_default and point.own[0] == Exporter.DYNAMO.value
    if is_guard and first.lead.shares not in SURE:
        verdict = "Try dynamo=False first: the default call refuses what depends on the values of its inputs."
    elif not is_answered and many:
        verdict, outcome = f"{many} measured cases fail with these words: find yours below.", AnswerOutcome.FAILS
    shown = fixes[:is_answered]
    tables = (
        Table("", ("where", "result", "what helps"), tuple(end.cells for end in ends)),
        Table(
            "workarounds that work there",
            ("workaround", "what it does"),
            tuple((_workaround_link(first.lead.case, fix, point), fix.note) for fix in fixes),
            shown=_WORKAROUNDS,
        ),
        *(
            Table(f"code of {fix.variant}", ("code",), ((Code(code_to_copy(fix.code).strip()),),), shown=_CODE_LINES)
            for fix in shown
        ),
        _case_table(
            index, [*found[:_MOST_CASES], *(item for item in found[_MOST_CASES:] if item in same)], point, len(found)
        ),
    )
    if not first.fails and operator:
        notes += _note_samples(dataset, operator)
    more = f"caniexport case {first.lead.case} shows every cell."
    return Answer(verdict[:LONGEST], outcome, tables, tuple(notes), more=more)


def _choose_point(points: Points, match: ErrorMatch, text: str, asked: Mapping[str, str]) -> dict[str, str]:
    """Return the point of the answer: what the user names, else what the text names, else where it was seen."""
    seen = next((lead.seen for lead in match.leads if lead.seen and lead.seen.exporter in _CALLED), None)
    named, opset = set(_RELEASE.findall(text)), _OPSET.search(text)
    found = {"torch": seen.torch, "exporter": seen.exporter} if seen else {}
    if not seen and match.is_known:
        # an error of another runtime is compared with the traced file of the newest release
        found["exporter"] = Exporter.TRACE.value
    named_axes = dict(asked)
    if len(named) == 1:
        with contextlib.suppress(UnknownName):
            named_axes.setdefault("torch", versions.resolve_patch(versions.public("".join(named)), points.releases))
    # the opset of a cell is that of its release
    if seen and seen.opset and not named_axes.get("torch"):
        found["opset"] = str(seen.opset)
    if opset:
        found["opset"] = opset[1]
    return {**found, **named_axes}


def find_leads_at(dataset: Dataset, points: Points, match: ErrorMatch, point: Point) -> list[LeadAt]:
    """Return the leads at a point, first those that fail with the error there."""
    rows = points.views.fetch(
        f"""SELECT "case", status, stage, bundle, list_has_any([message_id, warning_id, checker_id], $1)
            FROM ({point.rows}) WHERE variant = 'plain' AND list_contains($2, "case")""",
        [list(match.messages), [lead.case for lead in match.leads]],
    )
    at = {case: end for case, *end in rows}
    index, key = ErrorIndex.of(dataset), operator_key(match.evidence.operator)
    found = []
    for lead in match.leads:
        status, stage, bundle, is_same = at.get(lead.case, (None,) * 4)
        # the export of a case cannot do without the operator that it is about
        is_refused = stage == Stage.EXPORT.value and key in operator_keys(index.cases[lead.case].ops[:1])
        is_alike = is_working(status and Status(status)) is False and (is_same or (bool(key) and is_refused))
        found.append(LeadAt(lead, status and Status(status), is_alike, bundle))
    return sorted(found, key=lambda item: not item.is_alike)


def _list_outcomes(
    points: Points, match: ErrorMatch, first: LeadAt, point: Point, fixes: Sequence[HelpingWorkaround]
) -> Iterator[CaseOutcome]:
    """Yield the outcome of the first case at the point, the releases and calls with which it works, and the
    releases of a runtime on which its file fails.
    """
    text = "same error" if first.is_alike else "another error" if first.fails else ""
    nothing = "no workaround found" if first.fails else ""
    helps = plural(len(fixes), "workaround") if fixes else nothing
    yield CaseOutcome(point.text, first.status or Status.NOT_RUN, text, helps)
    if not first.fails:
        yield from _list_runtimes(points, match, first)
        return
    cells = points.views.fetch(
        """SELECT torch, exporter, opset, works(status) FROM cells JOIN version USING (torch)
            WHERE profile = $1 AND "case" = $2 AND variant = 'plain' AND provider = 'cpu' ORDER BY n DESC""",
        [point.profile, first.lead.case],
    )
    along = [(torch, does) for torch, exporter, opset, does in cells if (exporter, opset) == point.calls[0]]
    later = [torch for torch, _ in takewhile(lambda end: end[1] and end[0] != point.torch, along)]
    if later:
        yield CaseOutcome(f"torch {later[-1]} and later", Status.PASS, "works", f"upgrade to torch {later[-1]}")
    for exporter in _CALLED:
        here = {opset: does for torch, name, opset, does in cells if (torch, name) == (point.torch, exporter) and opset}
        if passing := sorted(opset for opset, does in here.items() if does):
            call = f"{call_text(point.torch, exporter)}, opset {opset_range(passing, here)}"
            yield CaseOutcome(call, Status.PASS, "works", f"call it with {call}")


def _list_runtimes(points: Points, match: ErrorMatch, first: LeadAt) -> Iterator[CaseOutcome]:
    """Yield the releases of a runtime that give the error for a file that works at the point, and the first newer one
    that takes the file.
    """
    own = (first.lead.seen.runtime if first.lead.seen else "").partition(" ")[0]
    ran = points.views.fetch(
        """SELECT runtime_version, bool_and(works(status)), bool_or(list_contains($3, message_id)) FROM replays
            WHERE bundle = $1 AND runtime = $2 AND provider = 'cpu' AND session IS NULL AND works(status) IS NOT NULL
            GROUP BY ALL""",
        [first.bundle, own, list(match.messages)],
    )
    failing = versions.ordered(version for version, _, is_alike in ran if is_alike)
    if failing:
        span = " to ".join(dict.fromkeys((failing[0], failing[-1])))
        yield CaseOutcome(f"{own} {span}", Status.FAIL, "same error", "")
        last = versions.parse(failing[-1])
        working = versions.ordered(version for version, does, _ in ran if does and versions.parse(version) > last)
        for newer in working[:1]:
            yield CaseOutcome(f"{own} {newer} and later", Status.PASS, "works", f"upgrade {own} to {newer}")


def _choose_verdict(
    match: ErrorMatch, first: LeadAt, point: Point, fixes: Sequence[HelpingWorkaround], ends: Sequence[CaseOutcome]
) -> tuple[str, AnswerOutcome]:
    """Return what to do, in one line."""
    about = f" of {match.evidence.operator.removeprefix('aten::')}" if match.evidence.operator else ""
    is_known = first.lead.shares in SURE
    if not is_known and not first.is_alike:
        return f"Not known{about}: no measured case fails so there.", AnswerOutcome.NOT_MEASURED
    what = f"Known error{about}" if is_known else f"Fails as {first.lead.case} does"
    if is_working(first.status) is None:
        return f"{what}: not measured at torch {point.torch}.", AnswerOutcome.NOT_MEASURED
    if fixes and not fixes[0].changes_values:
        return f"{what}: use the workaround {fixes[0].variant}.", AnswerOutcome.FAILS
    for end in ends[1:]:
        if end.helps:
            return f"{what}: {end.helps}.", AnswerOutcome.FAILS
    if fixes:
        return f"{what}: the workaround {fixes[0].variant} works, but changes values.", AnswerOutcome.FAILS
    if first.fails:
        return f"{what}: no measured workaround, opset or call fixes it at torch {point.torch}.", AnswerOutcome.FAILS
    if first.lead.seen and first.lead.seen.runtime:
        runtime = first.lead.seen.runtime
        return f"{what} on {runtime}: it works on the runtime of torch {point.torch}.", AnswerOutcome.FAILS
    return f"{what}, and it works at torch {point.torch}: look for another cause.", AnswerOutcome.NOT_MEASURED


def _case_table(index: ErrorIndex, found: Sequence[LeadAt], point: Point, every: int) -> Table:
    """Return the cases with the same failure, with what each shares with the text and its status at the point."""
    rows = tuple(
        (
            Link(item.lead.case, "case", {"case": item.lead.case, **_point_parameters(point)}),
            item.lead.shares.value,
            Mark(item.status or Status.NOT_RUN, "same error" if item.is_alike else ""),
            index.cases[item.lead.case].title,
        )
        for item in found
    )
    counted = f"{len(found)} of {every} cases" if every > len(found) else plural(every, "case")
    return Table(
        f"{counted} with a similar failure", ("case", "match", f"at torch {point.torch}", "title"), rows, shown=_CASES
    )


def _workaround_link(case: str, fix: HelpingWorkaround, point: Point) -> Link:
    """Return the link from a workaround to the cell in which it works."""
    asked = {"case": case, "variant": fix.variant, **_point_parameters(point)}
    return Link(fix.label, "case", asked)


def _point_parameters(point: Point) -> dict[str, str]:
    if point.is_default:
        return {"torch": point.torch}
    return {"torch": point.torch, "exporter": point.exporter, "opset": str(point.opset or "")}


def _note_samples(dataset: Dataset, operator: str) -> list[str]:
    """Note the verdict on the samples of an operator."""
    names = Samples.of(dataset).called(operator) if operator else ()
    if not names:
        return []
    verdict = answer_operator(dataset, names[0]).verdict
    return [f"Operator samples: {verdict} caniexport op {names[0]} shows more."]
