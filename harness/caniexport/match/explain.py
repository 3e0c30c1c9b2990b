"""A pasted error, answered: what it is, the cases that fail alike, and the fixes that work at the user's own point."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby, takewhile

from caniexport import versions
from caniexport.answers.bare_opsets import find_bare_opset
from caniexport.answers.declared import Declared, of_operators
from caniexport.answers.operator_at import OperatorAt, operator_at, passes_since, tell_calls
from caniexport.answers.points import Places
from caniexport.answers.reading import CatalogueEntry, Rows, load
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.select import exporter_name
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.torch_operators import operators_beside
from caniexport.home import NEWEST
from caniexport.match.alike import has_line
from caniexport.match.error_index import KnownError, exporter_of, index_errors
from caniexport.match.errors import Confidence, ErrorMatch, Lead, match_error
from caniexport.match.evidence import ErrorEvidence, only_wraps
from caniexport.match.judged import CaseAt, FixAt, judge_case
from caniexport.match.older_packages import seen_with_older
from caniexport.match.plain_causes import tell_cause
from caniexport.match.question import read_release
from caniexport.match.runtimes import RuntimeSpan, runtime_span, span_elsewhere
from caniexport.match.seen import SeenAt, SeenError
from caniexport.match.told import tell
from caniexport.model.case import PLAIN
from caniexport.model.errors import UnknownName
from caniexport.model.status import EXPORTERS, MEASURED, WORKS, Exporter, FixKind, Stage, Status
from caniexport.names import plural
from caniexport.operators import operator_key, operator_keys
from caniexport.store import Dataset

#: what is said of a text that is a dump of values or frames alone
_NO_SENTENCE = (
    "Nothing in this text says what failed: paste the line with the error too, which stands before or behind it."
)
#: what to do where nothing is known: with words of somebody's own, and with any error
_ONLY_HEARD = "Paste the whole error (`caniexport why - < error.txt`). "
_MEASURE = "`caniexport check FILE.py:FACTORY` takes the model itself through releases and exporters."
#: what is said of a text that only wraps another error
_ONLY_WRAPS = (
    "This only says that another error happened: paste what stands with it, too, the innermost exception («caused by», "
    "«The above exception was the direct cause»), which says what failed."
)
#: leads that are answered at the user's point, and those of which they are taken
_MOST, _LOOKED_AT = 3, 6
#: as many cases may end with one error and still be told apart by looking at them
_FEW = 12
_FAILS = MEASURED - WORKS - {Status.UNSUPPORTED}
#: the opset that an error names as the one that was asked for, not one that it tells to try
_OPSET = re.compile(r"(?<!try )(?:to ONNX opset version|ONNX opset version:?|opset_version=|opset version) (\d+)")
#: operators of torch itself: its tables say nothing of another package's
_OF_TORCH = ("aten::", "prim::", "prims::", "quantized::")
#: exporters, of which one may do what the other does not
_BESIDE = (Exporter.TRACE.value, Exporter.DYNAMO.value)
_SURE = (Confidence.EXACT, Confidence.CAUSE)
#: stages at which the program that runs a file stops
_BY_RUNTIME = (Stage.LOAD.value, Stage.RUN.value)
#: how exporters name the nodes of a file
_NODE_NAMES = {
    Exporter.DYNAMO.value: re.compile(r"\bnode_[a-z]\w*"),
    Exporter.TRACE.value: re.compile(r"(?<![\w.])/(?:[\w.]+/)*[A-Z]\w*"),
}
_NAMED = tuple(name.value for name in Exporter if name is not Exporter.DEFAULT)


@dataclass(frozen=True)
class AnsweredLead:
    """A case that fails alike, with what it shares with the error, at the point that the answer is about.

    ``other`` is the same release's other exporter, where the case works by that: ``dynamo, opset 18``; ``later`` the
    release from which on it works with the exporter and opset of the point; ``now``, where nobody named a release and
    neither is known, an exporter by which it works on the newest: ``torch 2.15.0 by dynamo, opset 20``. ``otherwise``:
    at the point the case stops at another stage than where it has the error. ``span``: at the point it works, and some
    releases of a runtime give the error for its file, there or elsewhere. ``raised``: it works on the same release
    and exporter at a higher opset, in words: ``from opset 13 on``; ``lowered`` is the next lower opset at which it
    does: ``at opset 17``. ``bare``: what is said of an opset at which nearly everything fails. ``is_alike``: at the
    point it stops at such a stage and with such an exception as the error's.
    """

    lead: Lead
    at: CaseAt
    other: str = ""
    later: str = ""
    now: str = ""
    otherwise: bool = False
    span: RuntimeSpan | None = None
    raised: str = ""
    lowered: str = ""
    bare: str = ""
    is_alike: bool = False


@dataclass(frozen=True)
class ErrorAnswer:
    """What is known of a pasted error.

    ``decision`` is the sentence to act on. ``reason`` is the innermost cause in the text, ``operators`` are those that
    it names. ``leads`` are the cases that fail alike, best first, at the user's point; ``others`` names further ones.
    ``tables`` say which rules torch itself lists for the operator, ``operator`` how torch's own calls of it end at the
    point's release, where they were measured. ``notes`` tell what was assumed. ``tool`` is the program beside torch and
    ONNX Runtime that gave the error, where the text shows one. ``alike`` counts the cases that share as much as the
    first, ``ending`` are those that end with the same words. ``is_whole``: the text tells its cause, and no case is
    needed.
    """

    decision: str
    reason: str
    operators: tuple[str, ...]
    leads: tuple[AnsweredLead, ...]
    others: tuple[str, ...]
    tables: tuple[Declared, ...]
    notes: tuple[str, ...]
    tool: str = ""
    operator: OperatorAt | None = None
    alike: int = 0
    ending: frozenset[str] = frozenset()
    is_whole: bool = False


#: a lead at its point, and what was assumed of the point
_Answered = tuple[AnsweredLead, tuple[str, ...]]


def explain_error(dataset: Dataset, text: str, asked: Mapping[str, str]) -> ErrorAnswer:
    """Answer an error text at a point: ``torch``, ``exporter`` and ``opset`` as far as ``asked`` names them.

    What is not named is taken from the text, then from the newest cell that has the error, then from the release.
    Raises :class:`UnknownName` for a release or exporter nobody knows.
    """
    rows, where = load(dataset), index_errors(dataset)
    asked = {**_named_release(rows, text), **asked}
    match = match_error(where, text)
    gave = _named_nodes(text) or exporter_of(where, match.evidence)
    rows.keep_cases(lead.case for lead in match.leads[:_LOOKED_AT])
    opset = asked.get("opset") or asked_opset(text)
    seen = [place for item in where.known if has_line(match.evidence, item) for place in item.seen.places]
    ending = frozenset(place.case for place in seen)
    found = [_placed(rows, seen, lead) for lead in match.leads[:_LOOKED_AT]]
    answered = _helping_first([_answered(rows, lead, asked, opset, gave) for lead in found])
    answered = _ending_first(dataset, rows, answered, match, ending)[:_MOST]
    answered = [(_held(dataset, item, match.evidence, ending), notes) for item, notes in answered]
    answered = [(_on_runtimes(dataset, rows, item, match), notes) for item, notes in answered]
    reasons = match.evidence.reasons
    reason = f"{reasons[0].kind}: {reasons[0].line}".strip(": ") if reasons else ""
    operator = match.evidence.operator
    leads = tuple(item for item, _ in answered)
    own = bool(leads) and leads[0].lead.confidence not in (Confidence.SIMILAR, Confidence.WORDS)
    torch = asked.get("torch") or (leads[0].at.torch if own else rows.torch[-1])
    measured = _measured(dataset, rows, operator, torch)
    if measured and leads:
        measured = replace(measured, calls=_tell_fixed(dataset, measured, leads[0].at))
    tables = () if measured else tuple(_tables(dataset, rows, operator, torch))
    notes = tuple(dict.fromkeys(note for _, found in answered[:1] for note in found))
    shown = {item.lead.case for item in leads}
    others = tuple(lead.case for lead in match.leads if lead.case not in shown)
    tool, operators = match.evidence.tool, (*match.evidence.operators, *match.evidence.beside)
    answer = ErrorAnswer("", reason, operators, leads, others, tables, notes, tool, measured, match.alike, ending)
    cause = None if leads and leads[0].lead.confidence in _SURE else tell_cause(dataset, text, _release_of(rows, asked))
    if cause is not None:
        kept = (
            answer if cause.leads else replace(answer, leads=(), others=(), alike=0, ending=frozenset(), is_whole=True)
        )
        return replace(kept, decision=cause.told, notes=())
    if match.evidence.only_named:
        return replace(answer, decision=_only_named(match))
    is_sure = bool(leads) and leads[0].lead.confidence in _SURE
    older = None if is_sure else seen_with_older(dataset, rows, where, match.evidence, _release_of(rows, asked))
    if older is not None:
        why = f"{Confidence.EXACT.value}, with {older.older}"
        lead = Lead(
            older.at.entry, Confidence.EXACT, why, 0.0, PLAIN, older.at.torch, older.at.exporter, older.at.opset
        )
        rest = [item for item in leads if item.lead.case != lead.case]
        first = (AnsweredLead(lead, older.at), *rest)[:_MOST]
        return replace(answer, decision=older.told, leads=first, notes=(), alike=older.cases)
    if not reasons and not leads and not operator:
        return replace(answer, decision=_NO_SENTENCE)
    only_named = all(item.lead.confidence is Confidence.WORDS for item in leads)
    if only_named and not operator and all(only_wraps(reason.line) for reason in reasons):
        return replace(answer, decision=_ONLY_WRAPS)
    other = bool(measured and asked.get("torch") and not measured.is_later and measured.passes(opset))
    decided = _decision(answer, bool(asked.get("torch")), beside_operator=other)
    exporter = leads[0].at.exporter if leads else gave
    beside = _measured_with(rows, answer, exporter, opset) if asked.get("torch") else ""
    raised = _other_for_operator(dataset, answer, asked_opset(text), _release_of(rows, asked))
    said = filter(None, (f"{decided}{raised}", beside, _way_on(answer, match.evidence)))
    return replace(answer, decision=" ".join(said))


def _way_on(answer: ErrorAnswer, evidence: ErrorEvidence) -> str:
    """What to do where nothing is known of a text; empty where something is, or another program gave the error."""
    if _is_led(answer) or answer.operator or answer.tool:
        return ""
    return f"{_ONLY_HEARD if evidence.is_prose and not answer.operators else ''}{_MEASURE}"


@dataclass(frozen=True)
class SeenAnswer:
    """What to do where a case was last seen to end with an error. ``works`` and ``helping`` say whether the case works
    there and whether a fix helps, by which cases of one error are ordered.
    """

    told: str
    works: bool
    helping: bool


def asked_opset(text: str) -> str:
    """The opset that an error text names, which was asked for; empty where it names none."""
    found = _OPSET.search(text)
    return found[1] if found else ""


def tell_seen(rows: Rows, seen: SeenAt, *, names_opset: bool = False) -> SeenAnswer:
    """What :func:`explain_error` says of a case that surely has an error, where nobody names a point: ``seen`` is where
    the case was last seen with it, ``names_opset`` whether the text names the opset of that.
    """
    entry = rows.catalogue[seen.case, PLAIN]
    lead = Lead(entry, Confidence.CAUSE, "", 0.0, PLAIN, seen.torch, seen.exporter, seen.opset)
    opset = str(seen.opset) if names_opset and seen.opset is not None else ""
    answered, notes = _answered(rows, lead, {}, opset, "")
    at = answered.at
    return SeenAnswer(_at(answered, placed=False) + _tell_unmeasured(notes), at.works, bool(at.helping))


def _tell_fixed(dataset: Dataset, operator: OperatorAt, at: CaseAt) -> str:
    """What an operator's own calls have that a case has not which fails where they pass; empty where none does."""
    summary = operators_beside(dataset)
    passing = any(end.exporter == at.exporter and end.passes(at.opset) for end in operator.ends)
    is_apart = passing and at.status is not None and not at.works
    return tell_calls(summary, operator) if summary and is_apart else ""


def _measured_with(rows: Rows, answer: ErrorAnswer, exporter: str, opset: str) -> str:
    """Where by dynamo it works at the user's point what fails for them: with which packages, and what to do."""
    ends = [end for end in answer.operator.ends if end.exporter == exporter] if answer.operator else []
    works = any(end.passes(int(opset) if opset.isdigit() else None) for end in ends)
    place = (NEWEST, answer.operator.torch if answer.operator else "")
    if answer.leads and answer.leads[0].lead.confidence in _SURE:
        at = answer.leads[0].at
        works, place = at.works, (rows.profile, at.torch)
    beside = next((item.text for item in rows.installed if (item.profile, item.torch) == place), "")
    if exporter != Exporter.DYNAMO.value or not works or not beside:
        return ""
    return (
        f"That was measured with {beside}: where yours are older, `pip install -U onnxscript` and export again; "
        "`caniexport why … --here` compares yours."
    )


def _other_for_operator(dataset: Dataset, answer: ErrorAnswer, opset: str, torch: str) -> str:
    """That torch's own calls of the operator pass with the opset that an error names on a later release than the one
    asked for, else at a higher opset, where no case says it. An opset that was not tried is not one that fails.
    """
    found = answer.operator
    if not opset or found is None or any(item.raised or item.later or item.at.works for item in answer.leads[:1]):
        return ""
    end = next((end for end in found.ends if end.exporter == Exporter.TRACE.value), None)
    if end is None or (end.passes(int(opset)) and not found.is_later):
        return ""
    summary = operators_beside(dataset)
    since = passes_since(summary, found.op, Exporter.TRACE.value, int(opset)) if summary else ""
    if since and not (torch and versions.parse(since) <= versions.parse(torch)):
        return f" Move to torch {since} or newer: torch's own calls of it pass there at opset {opset}."
    above = [number for number in end.opsets if number > int(opset)]
    if above and int(opset) in end.tried:
        return f" Raise the opset: torch's own calls of it pass at opset {above[0]}, not at {opset}."
    return ""


def _release_of(rows: Rows, asked: Mapping[str, str]) -> str:
    return Places(rows).fill({"torch": asked["torch"]}).torch if asked.get("torch") else ""


def _named_release(rows: Rows, text: str) -> dict[str, str]:
    """The release that a text says it is from, where that or another of its minor version was measured."""
    try:
        return {"torch": versions.resolve_patch(versions.public(read_release(text)), rows.torch)}
    except UnknownName:
        return {}


def _placed(rows: Rows, seen: Iterable[SeenAt], lead: Lead) -> Lead:
    """A lead that is not sure, at the newest place where its case is ``seen`` to end with a line of the text."""
    mine = [place for place in seen if (place.case, place.variant) == (lead.case, PLAIN)]
    named = [place for place in mine if place.torch and place.exporter in _NAMED]
    if lead.confidence in _SURE or not named:
        return lead
    newest = max(named, key=lambda place: rows.torch.index(place.torch))
    return replace(lead, torch=newest.torch, exporter=newest.exporter, opset=newest.opset)


def _helping_first(found: list[_Answered]) -> list[_Answered]:
    """Cases that have the error at the point before those that work there, which explain nothing; of the very same
    error, those with a fix that works at the point.
    """
    sure = [item for item in found if item[0].lead.confidence in _SURE]
    if sure and sure[0][0].at.works and not any(_has_it_there(item) for item, _ in sure):
        return found

    def rank(item: _Answered) -> tuple[bool, ...]:
        is_exact = item[0].lead.confidence is Confidence.EXACT
        return item[0].at.works, not is_exact, is_exact and not item[0].at.helping

    alike = groupby(found[len(sure) :], key=lambda item: item[0].lead.confidence)
    others = [item for _, same in alike for item in _failing_first([*same])]
    return [*sorted(sure, key=rank), *others]


def _failing_first(found: list[_Answered]) -> list[_Answered]:
    """Cases that share as much before those that work at the point, where one has an error there; wrong values explain
    none.
    """
    errors = [item for item, _ in found if not item.at.works and item.at.status is not Status.MISMATCH]
    return sorted(found, key=lambda item: item[0].at.works) if errors else found


def _ending_first(
    dataset: Dataset, rows: Rows, found: list[_Answered], match: ErrorMatch, ending: Collection[str]
) -> list[_Answered]:
    """Before a case that surely had the error and works at the point one that ends with it there, whatever is shared
    beside: only where none does, the error has another cause.
    """
    if not found or not found[0][0].at.works or found[0][0].lead.confidence not in _SURE:
        return found
    at, notes = found[0][0].at, found[0][1]
    same = _ending_at(dataset, rows, at, match.evidence, ending)
    known = {item.lead.case for item, _ in found}
    further = [lead for lead in match.leads if lead.case in same - known]
    about = same - known - {lead.case for lead in further}
    further += [_similar(rows.catalogue[case, PLAIN]) for case in sorted(about)[:1]]
    more = [
        (AnsweredLead(lead, judge_case(rows, lead.case, at.torch, at.exporter, at.opset)), notes) for lead in further
    ]
    return sorted([*found, *more], key=lambda item: item[0].lead.case not in same)


def _ending_at(
    dataset: Dataset, rows: Rows, at: CaseAt, evidence: ErrorEvidence, cases: Collection[str]
) -> frozenset[str]:
    """Those of some cases that end at a point with a line of a text."""
    point = {"torch": (at.torch,), "exporter": (at.exporter,), "opset": (at.opset,), "provider": ("cpu",)}
    cells = rows.cells(case=sorted(cases), variant=(PLAIN,), **point) if cases else []
    texts = dataset.messages(cell.message_id for cell in cells if not cell.works)
    same = {number for number, text in texts.items() if has_line(evidence, KnownError(SeenError(text, ()), tell(text)))}
    return frozenset(cell.case for cell in cells if cell.message_id in same)


def _similar(entry: CatalogueEntry) -> Lead:
    return Lead(entry, Confidence.SIMILAR, Confidence.SIMILAR.value, 0.0)


def _has_it_there(answered: AnsweredLead) -> bool:
    """Whether a case fails at the point, and had the error on that release or on a later one."""
    at, seen = answered.at, answered.lead.torch
    return not at.works and bool(seen) and versions.parse(seen) >= versions.parse(at.torch)


def _answered(
    rows: Rows, lead: Lead, asked: Mapping[str, str], opset: str, gave: str
) -> tuple[AnsweredLead, tuple[str, ...]]:
    """A lead at its point. ``gave`` is the exporter that gives such errors: used where the lead has no cell with it."""
    gave = lead.exporter if lead.confidence in _SURE and lead.exporter in _NAMED else gave
    if asked.get("torch"):
        point = {**_as_called(rows, asked, opset, gave), **asked}
    else:
        told = {"opset": opset, "exporter": gave if lead.confidence not in _SURE else ""}
        named = {**{name: value for name, value in told.items() if value}, **asked}
        point = {**_seen(rows, lead, named), **named}
    place = Places(rows).fill(point)
    at = _as_asked(judge_case(rows, lead.case, place.torch, place.exporter, place.opset), asked)
    other, later = _other_exporter(rows, at), _works_from(rows, at)
    now = "" if other or later or asked.get("torch") else _works_now(rows, at)
    raised, lowered = _works_above(rows, at), _works_below(rows, at)
    otherwise = _ends_otherwise(rows, lead, at)
    bare = find_bare_opset(rows, at.torch, at.exporter, at.opset) if at.status is Status.FAIL else None
    said = bare.told if bare else ""
    return AnsweredLead(lead, at, other, later, now, otherwise, raised=raised, lowered=lowered, bare=said), place.notes


def _works_above(rows: Rows, at: CaseAt) -> str:
    """From which higher opset on, or at which, a case works that fails at a point; empty where at none."""
    where = {"torch": (at.torch,), "exporter": (at.exporter,), "provider": ("cpu",)}
    cells = rows.cells(case=(at.entry.case,), variant=(PLAIN,), **where) if not at.works else ()
    above = {cell.opset: cell for cell in cells if (cell.opset or 0) > (at.opset or 0)}
    tried = [opset for opset, cell in sorted(above.items()) if cell.status is not Status.UNSUPPORTED]
    working = [opset for opset in tried if above[opset].works]
    if not working:
        return ""
    return f"from opset {working[0]} on" if working == tried[tried.index(working[0]) :] else f"at opset {working[0]}"


def _works_below(rows: Rows, at: CaseAt) -> str:
    """At which lower opset a case works that fails at a point, the next one; empty where at none."""
    where = {"torch": (at.torch,), "exporter": (at.exporter,), "provider": ("cpu",)}
    fails = at.status is not None and not at.works and at.opset is not None
    cells = rows.cells(case=(at.entry.case,), variant=(PLAIN,), **where) if fails else ()
    below = [cell.opset for cell in cells if cell.works and cell.opset and cell.opset < (at.opset or 0)]
    return f"at opset {max(below)}" if below else ""


def _named_nodes(text: str) -> str:
    """The exporter that names nodes as a text does: ``node_expand_1`` dynamo, ``/encoder/Expand_1`` TorchScript."""
    return next((exporter for exporter, named in _NODE_NAMES.items() if named.search(text)), "")


def _held(dataset: Dataset, answered: AnsweredLead, evidence: ErrorEvidence, ending: Collection[str]) -> AnsweredLead:
    """A lead held against an error: whether it ends alike at its point, at export for the sake of its own operator, or
    with the very words.
    """
    at = answered.at
    is_alike = bool(at.kind) and at.kind in evidence.kinds
    if answered.lead.confidence is Confidence.OPERATOR and at.stage not in _BY_RUNTIME:
        is_its_own = operator_key(evidence.operator) in operator_keys(at.entry.ops[:1])
        is_alike = "::" in evidence.operator and is_its_own and at.stage == Stage.EXPORT.value
    there = [KnownError(SeenError(text, ()), tell(text)) for text in dataset.messages([at.message_id]).values()]
    is_of_another = any(item.key and item.key != operator_key(evidence.operator) for item in there)
    is_alike = is_alike and not (answered.lead.confidence is Confidence.OPERATOR and is_of_another)
    is_same = any(has_line(evidence, item) for item in there)
    is_refused = at.refused and at.entry.case in ending
    return replace(answered, is_alike=is_alike or is_same or is_refused)


def _on_runtimes(dataset: Dataset, rows: Rows, answered: AnsweredLead, match: ErrorMatch) -> AnsweredLead:
    """A lead that works at its point with the releases of a runtime that give the error for its file."""
    if not answered.at.works or answered.lead.confidence not in _SURE:
        return answered
    span = runtime_span(dataset, rows, answered.at, match.evidence)
    if span is None and answered.lead.runtime:
        span = span_elsewhere(dataset, rows, answered.at, match.evidence)
    return replace(answered, span=span)


def _as_asked(at: CaseAt, asked: Mapping[str, str]) -> CaseAt:
    """Of the fixes that help those first that keep the opset and the exporter that a user named."""

    def rank(fix: FixAt) -> tuple[bool, bool, bool]:
        opset = bool(asked.get("opset")) and fix.opset not in (None, at.opset)
        exporter = bool(asked.get("exporter")) and fix.exporter not in ("", at.exporter)
        return not fix.helps, fix.changes_values, opset or exporter

    return replace(at, fixes=tuple(sorted(at.fixes, key=rank)))


def _other_exporter(rows: Rows, at: CaseAt) -> str:
    """The exporter of the same release by which a case works that fails at a point: at the exporter's own opset, else
    at its newest.
    """
    fails = at.status is not None and not at.works
    for exporter in _BESIDE if fails and at.exporter in _BESIDE else ():
        offered = rows.offers.get((at.torch, exporter), ()) if exporter != at.exporter else ()
        own = rows.choice(at.torch, exporter).opset
        for opset in dict.fromkeys([*([own] if own in offered else []), *([max(offered)] if offered else [])]):
            found = judge_case(rows, at.entry.case, at.torch, exporter, opset)
            if found.works:
                return f"{_short(exporter)}, {versions.opset_name(found.opset)}"
    return ""


def _ends_otherwise(rows: Rows, lead: Lead, at: CaseAt) -> bool:
    """Whether a case that fails at a point stops there at another stage than where it has the error."""
    if lead.confidence not in _SURE or lead.exporter != at.exporter or at.status is None or at.works:
        return False
    where = {"torch": (lead.torch,), "exporter": (lead.exporter,), "provider": ("cpu",)}
    seen = rows.cells(case=(lead.case,), variant=(lead.variant,), **where)
    stages = {cell.stage for cell in seen if cell.opset == lead.opset}
    return bool(stages) and at.stage not in stages


def _works_now(rows: Rows, at: CaseAt) -> str:
    """The newest release with an exporter by which a case works there that fails at a point; empty where none is."""
    newest, fails = rows.torch[-1], at.status is not None and not at.works
    for exporter in _BESIDE if fails and at.torch != newest else ():
        found = judge_case(rows, at.entry.case, newest, exporter, rows.choice(newest, exporter).opset)
        if found.works:
            return f"torch {newest} by {_short(exporter)}, {versions.opset_name(found.opset)}"
    return ""


def _works_from(rows: Rows, at: CaseAt) -> str:
    """The release from which on a case that fails at a point works there; empty where the newest does not."""
    if at.status is None or at.works:
        return ""
    cells = rows.cells(
        case=(at.entry.case,), variant=(PLAIN,), provider=("cpu",), exporter=(at.exporter,), opset=(at.opset,)
    )
    working = {cell.torch for cell in cells if cell.works}
    newer = rows.torch[rows.torch.index(at.torch) + 1 :]
    on = list(takewhile(working.__contains__, reversed(newer)))
    return on[-1] if on else ""


def _as_called(rows: Rows, asked: Mapping[str, str], opset: str, gave: str) -> dict[str, str]:
    """What an error tells of the call at the user's own release: the exporter that gives it, and the opset it names,
    as far as the release has them.
    """
    exporter = exporter_name(asked["exporter"]) if asked.get("exporter") else gave
    torch = Places(rows).fill({"torch": asked["torch"]}).torch
    offered = rows.offers.get((torch, exporter or Exporter.TRACE.value), ())
    named = {"opset": opset} if opset.isdigit() and int(opset) in offered else {}
    return {"exporter": exporter, **named} if exporter and offered else named if not exporter else {}


def _seen(rows: Rows, lead: Lead, named: Mapping[str, str]) -> dict[str, str]:
    """Where an error was last seen; where only the operator is shared, the newest place at which the case fails. What a
    runtime gave is looked at in the file that the newest release writes by trace.
    """
    if lead.torch and lead.exporter in _NAMED:
        torch = _ended_alike(rows, lead, named.get("opset", "")) or lead.torch
        return _point(torch, lead.exporter, _taken_opset(rows, lead))
    if lead.runtime and lead.confidence in _SURE:
        return _point(rows.torch[-1], Exporter.TRACE.value, None)
    cells = [
        cell for cell in rows.cells(case=(lead.case,), variant=(PLAIN,), provider=("cpu",)) if _is_meant(cell, named)
    ]
    every = [cell for cell in cells if cell.status in _FAILS]
    # at an opset that a release does not take a case fails whatever it is about
    failing = [cell for cell in every if _is_taken(rows, cell)] or every
    if not failing:
        return {}
    newest = max(
        failing, key=lambda cell: (rows.torch.index(cell.torch), -EXPORTERS.index(cell.exporter), cell.opset or 0)
    )
    return _point(newest.torch, newest.exporter, newest.opset)


def _is_taken(rows: Rows, cell: MeasuredCell) -> bool:
    return cell.opset in rows.offers.get((cell.torch, cell.exporter), ())


def _taken_opset(rows: Rows, lead: Lead) -> int | None:
    """The opset at which an error was seen; the newest that the release takes and where the case ends alike, in place
    of one that it does not take.
    """
    where = {"torch": (lead.torch,), "exporter": (lead.exporter,), "provider": ("cpu",)}
    cells = [cell for cell in rows.cells(case=(lead.case,), variant=(lead.variant,), **where) if not cell.works]
    seen = next((cell for cell in cells if cell.opset == lead.opset), None)
    if seen is None or _is_taken(rows, seen):
        return lead.opset
    alike = [cell.opset for cell in cells if _is_taken(rows, cell) and cell.signature == seen.signature]
    return max(filter(None, alike), default=rows.choice(lead.torch, lead.exporter).opset)


def _ended_alike(rows: Rows, lead: Lead, opset: str) -> str:
    """The newest release where the case ends at a named opset as it does where the error was last seen, at another:
    at the same stage with the same exception. Empty where it never does.
    """
    if not opset:
        return ""
    cells = rows.cells(case=(lead.case,), variant=(lead.variant,), provider=("cpu",), exporter=(lead.exporter,))
    failing = [cell for cell in cells if not cell.works]
    last = {_ending(cell) for cell in failing if (cell.torch, cell.opset) == (lead.torch, lead.opset)}
    alike = [cell.torch for cell in failing if str(cell.opset) == opset and _ending(cell) in last]
    return max(alike, key=rows.torch.index, default="")


def _ending(cell: MeasuredCell) -> tuple[str, ...]:
    """The stage and the exception of a cell that fails."""
    return tuple((cell.signature or "").split("|")[:2])


def _is_meant(cell: MeasuredCell, named: Mapping[str, str]) -> bool:
    """Whether a cell is at the opset and with the exporter that were named."""
    opset, exporter = named.get("opset", ""), named.get("exporter", "")
    if cell.exporter not in _NAMED or (exporter and exporter_name(exporter) != cell.exporter):
        return False
    return not opset.isdigit() or cell.opset == int(opset)


def _point(torch: str, exporter: str, opset: int | None) -> dict[str, str]:
    return {"torch": torch, "exporter": exporter, **({} if opset is None else {"opset": str(opset)})}


def _is_of_torch(operator: str) -> bool:
    """Whether an operator is torch's own, by its namespace, as people call it (``adaptive pooling``), or as torch's
    symbolic function of it is called, which ONNX's begin with a capital.
    """
    is_bare = "::" not in operator and operator[:1].lower() == operator[:1]
    return operator.startswith(_OF_TORCH) or " " in operator or (bool(operator) and is_bare)


def _tables(dataset: Dataset, rows: Rows, operator: str, torch: str) -> list[Declared]:
    """What the tables of a release list for an operator of torch."""
    if not _is_of_torch(operator):
        return []
    return of_operators(dataset, (operator,), (Places(rows).fill({"torch": torch}).torch,))


def _measured(dataset: Dataset, rows: Rows, operator: str, torch: str) -> OperatorAt | None:
    """How torch's own calls of an operator of torch end at a release."""
    summary = operators_beside(dataset) if _is_of_torch(operator) else None
    return operator_at(summary, operator, Places(rows).fill({"torch": torch}).torch) if summary else None


def _decision(answer: ErrorAnswer, placed: bool, *, beside_operator: bool) -> str:
    """The sentence to act on, behind the program that gave the error where it is another one than is measured first,
    and before what was not measured of the point asked for. ``beside_operator``: the operator passes there.
    """
    gave = f"{answer.tool} gave this error. " if answer.tool else ""
    other = _tell_unmeasured(answer.notes)
    cause = " The error has a cause beside the operator." if beside_operator and not _is_led(answer) else ""
    return f"{gave}{_about_cases(answer, placed)}{cause}{other}"


def _tell_unmeasured(notes: Iterable[str]) -> str:
    """What was not measured of the point, as sentences behind another one."""
    return "".join(f" {note[:1].upper()}{note[1:]}." for note in notes if "not measured" in note)


def _is_led(answer: ErrorAnswer) -> bool:
    """Whether a case leads, not the operator."""
    return bool(answer.leads) and not (answer.operator and answer.leads[0].lead.confidence is Confidence.SIMILAR)


def _about_cases(answer: ErrorAnswer, placed: bool) -> str:
    if not _is_led(answer):
        return f"{_nothing_fails(answer)}{_listed(answer)}"
    first = answer.leads[0]
    title = first.at.entry.title.rstrip(".")
    what = f"{first.at.entry.case} ({title})" if title else first.at.entry.case
    if first.lead.confidence is Confidence.WORDS:
        return f"No measured case fails like this; {first.lead.why}, which {what} is about{_of_another(first)}"
    if first.lead.confidence is Confidence.OPERATOR and answer.operators:
        is_named = operator_key(answer.operators[0]) in operator_keys(first.at.entry.ops)
        about = answer.operators[0] if is_named else first.at.entry.ops[0]
        nearest = f"{_nobody(answer)}; the nearest about {about} is {what}{_of_another(first)}"
        return f"{nearest} {answer.operator.told}" if answer.operator and is_named else nearest
    if first.lead.confidence is Confidence.SIMILAR:
        return f"{_nobody(answer)}; the most alike is {what}{_of_another(first)}"
    if answer.alike > 1:
        same = "end with this error" if first.lead.confidence is Confidence.EXACT else "fail for this cause"
        many = ", which alone does not tell them apart;" if answer.alike > _FEW else ","
        return f"{answer.alike} measured cases {same}{many} the first is {what}. {_there(answer, first, placed)}"
    if first.at.works and not first.span and not first.at.refused:
        return f"{what} had this error, and has it no more. {_there(answer, first, placed)}"
    return f"This is {what}. {_there(answer, first, placed)}"


def _there(answer: ErrorAnswer, first: AnsweredLead, placed: bool) -> str:
    """What to do at the point; where the case works and the operator's own calls do not, what these do."""
    at, operator = first.at, answer.operator
    ends = [end for end in operator.ends if end.exporter == at.exporter] if operator and at.works else []
    if operator and ends and not any(end.passes(at.opset) for end in ends):
        return f"That case works at {at.place}, and the operator by itself does not. {operator.told}"
    if operator and first.otherwise:
        return f"{_at(first, placed)} {operator.told}"
    return _at(first, placed)


def _nobody(answer: ErrorAnswer) -> str:
    """That no case has the error, or that some end with the same words, which several causes share."""
    if not answer.ending:
        return "No measured case has just this error"
    verb = "ends" if len(answer.ending) == 1 else "end"
    return f"{plural(len(answer.ending), 'measured case')} {verb} with these words, which several causes can have"


def _only_named(match: ErrorMatch) -> str:
    """A name says which family of errors it is; the words behind it say which of them."""
    kind = match.evidence.kinds[0]
    if not match.cases:
        return f"No measured case ends with {kind}."
    cases = f"{match.cases} measured case{'s' * (match.cases != 1)}"
    return (
        f"{cases} ended with {kind}: paste the words behind it, which name the operator. "
        "Those that end with nothing else come first."
    )


def _nothing_fails(answer: ErrorAnswer) -> str:
    about = f", and none is about {answer.operators[0]}" if answer.operators else ""
    return f"No measured case fails like this{about}{'.' if answer.operator else ': nothing is known of a fix.'}"


def _listed(answer: ErrorAnswer) -> str:
    """What passes where of an operator that no case is about, else what torch's own tables say of it."""
    if answer.operator:
        return f" {answer.operator.told}"
    parts = [
        f"{_short(table.exporter)} has {f'a rule for opset {table.declared}' if table.declared else 'no rule'}"
        for table in answer.tables
    ]
    return f" torch {answer.tables[0].torch} itself lists: {'; '.join(parts)} (not measured)." if parts else ""


def _short(exporter: str) -> str:
    return EXPORTER_SHORT.get(exporter, exporter)


def _of_another(answered: AnsweredLead) -> str:
    """What a case does at the point that is not the user's own, behind its name: that it works there is no word about
    theirs, nor is a fix where it ends otherwise.
    """
    at = answered.at
    if at.status is None:
        return f". It was not measured at {at.place}."
    if at.works:
        return f". It works at {at.place}, so it does not explain this error."
    if at.status is Status.MISMATCH:
        return f". At {at.place} it gives wrong values."
    if not answered.is_alike:
        ends = f"it ends with {at.kind} at {at.stage}" if at.kind else "it ends otherwise"
        return f", which has another cause: at {at.place} {ends}."
    fails = f". It fails at {at.place}, too"
    if at.helping:
        fix = at.helping[0]
        return f"{fails}; its fix `{fix.variant}` works there: {fix.told}."
    return f"{fails}, and no fix of it is measured to work there{_beside_fixes(answered)}."


def _at(answered: AnsweredLead, placed: bool) -> str:
    """What to do at the point."""
    at, seen = answered.at, answered.lead
    if answered.span:
        is_there = answered.span.place == at.place
        works = "exports" if is_there else "works with the runtime measured there"
        return f"At {at.place} it {works}; {'' if is_there else f'at {answered.span.place} '}{answered.span.told}"
    if seen.runtime and not placed:
        return f"It was seen on {seen.runtime}, where its fixes are not judged."
    if at.status is None:
        return f"It was not measured at {at.place}."
    if at.works:
        last = f" It was last seen on torch {seen.torch}, {_short(seen.exporter)}." if seen.torch else ""
        if at.refused:
            return f"At {at.place} onnx's checker refuses its file, and the runtime runs it.{last}"
        return f"At {at.place} it works without a fix; an error from there has another cause.{last}"
    fix, other = at.helping[0] if at.helping else None, _otherwise(answered)
    if answered.otherwise:
        helps = f", where `{fix.variant}` works ({fix.told})" if fix else ""
        where = f"torch {seen.torch}, {_short(seen.exporter)}, {versions.opset_name(seen.opset)}"
        last = f"this one was last seen on {where}"
        ends = "gives wrong values without an error" if at.status is Status.MISMATCH else "fails with another error"
        return f"At {at.place} it {ends}{helps}; {last}.{other}"
    if fix and fix.changes_values:
        only = f"At {at.place} it fails, and every fix that is measured to work there computes other values"
        return f"{only}: `{fix.variant}` ({fix.told}).{other}"
    if fix:
        is_told = bool(fix.exporter) and answered.other.startswith(f"{_short(fix.exporter)},")
        beside = "" if is_told and fix.exporter != at.exporter else other
        return f"At {at.place} the fix `{fix.variant}` is measured to work: {fix.told}.{beside}"
    way = f"; {answered.raised} it works there: raise the opset" if answered.raised else ""
    way = f", {answered.bare}" if answered.bare else way
    none = f", and no fix of it is measured to work there{_beside_fixes(answered)}"
    return f"At {at.place} it fails{way or none}.{other}"


def _beside_fixes(answered: AnsweredLead) -> str:
    """Another opset at which the case works where no fix does."""
    way = answered.raised or answered.lowered
    return f"; {way} it works without one" if way else ""


def _otherwise(answered: AnsweredLead) -> str:
    """Where the case works without a fix: by the other exporter, at a higher opset, on a later release."""
    other = f" By {answered.other} it works there without a fix." if answered.other else ""
    other += f" From torch {answered.later} on this call works without a fix." if answered.later else ""
    other += f" On {answered.now} it works without a fix." if answered.now else ""
    fix = answered.at.helping[0] if answered.at.helping else None
    is_told = not fix and not answered.otherwise
    if not answered.raised or is_told or (fix and fix.kind == FixKind.RAISE_OPSET.value):
        return other
    return f" {answered.raised[:1].upper()}{answered.raised[1:]} it works there without a fix.{other}"
