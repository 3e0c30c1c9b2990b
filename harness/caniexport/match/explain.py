"""A pasted error, answered: what it is, the cases that fail alike, and the fixes that work at the user's own point."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

from caniexport import versions
from caniexport.answers.declared import Declared, of_operators
from caniexport.answers.operator_at import OperatorAt, operator_at, passes_since, tell_calls
from caniexport.answers.points import Places
from caniexport.answers.reading import CatalogueEntry, Rows, load
from caniexport.answers.torch_operators import operators_beside
from caniexport.home import NEWEST
from caniexport.match.alike import has_line
from caniexport.match.error_answer import (
    AnsweredLead,
    ErrorAnswer,
    decide_error,
    tell_at,
    tell_only_named,
    tell_unmeasured,
    tell_way_on,
)
from caniexport.match.error_index import KnownError, exporter_of, index_errors
from caniexport.match.errors import SURE, Confidence, ErrorMatch, Lead, match_error
from caniexport.match.evidence import ErrorEvidence, only_wraps
from caniexport.match.judged import CaseAt, judge_case
from caniexport.match.lead_at import NAMED, answer_lead
from caniexport.match.older_packages import seen_with_older
from caniexport.match.plain_causes import tell_cause
from caniexport.match.runtimes import runtime_span, span_elsewhere
from caniexport.match.seen import SeenAt, SeenError
from caniexport.match.told import tell
from caniexport.model.case import PLAIN
from caniexport.model.errors import UnknownName
from caniexport.model.status import Exporter, Stage, Status
from caniexport.operators import operator_key, operator_keys
from caniexport.store import Dataset

#: the release of torch that a text names
_RELEASE = re.compile(r"\btorch(?: version)?(?:==|[ =:])v?(\d+\.\d+(?:\.\d+)?)\b", re.IGNORECASE)
#: what is said of a text that is a dump of values or frames alone
_NO_SENTENCE = (
    "Nothing in this text says what failed: paste the line with the error too, which stands before or behind it."
)
#: what is said of a text that only wraps another error
_ONLY_WRAPS = (
    "This only says that another error happened: paste what stands with it, too, the innermost exception («caused by», "
    "«The above exception was the direct cause»), which says what failed."
)
#: leads that are answered at the user's point, and those of which they are taken
_MOST, _LOOKED_AT = 3, 6
#: the opset that an error names as the one that was asked for, not one that it tells to try
_OPSET = re.compile(r"(?<!try )(?:to ONNX opset version|ONNX opset version:?|opset_version=|opset version) (\d+)")
#: operators of torch itself: its tables say nothing of another package's
_OF_TORCH = ("aten::", "prim::", "prims::", "quantized::")
#: stages at which the program that runs a file stops
_BY_RUNTIME = (Stage.LOAD.value, Stage.RUN.value)
#: how exporters name the nodes of a file
_NODE_NAMES = {
    Exporter.DYNAMO.value: re.compile(r"\bnode_[a-z]\w*"),
    Exporter.TRACE.value: re.compile(r"(?<![\w.])/(?:[\w.]+/)*[A-Z]\w*"),
}
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
    answered = _helping_first([answer_lead(rows, lead, asked, opset, gave) for lead in found])
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
    cause = None if leads and leads[0].lead.confidence in SURE else tell_cause(dataset, text, _release_of(rows, asked))
    if cause is not None:
        kept = (
            answer if cause.leads else replace(answer, leads=(), others=(), alike=0, ending=frozenset(), is_whole=True)
        )
        return replace(kept, decision=cause.told, notes=())
    if match.evidence.only_named:
        return replace(answer, decision=tell_only_named(match))
    is_sure = bool(leads) and leads[0].lead.confidence in SURE
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
    decided = decide_error(answer, bool(asked.get("torch")), beside_operator=other)
    exporter = leads[0].at.exporter if leads else gave
    beside = _measured_with(rows, answer, exporter, opset) if asked.get("torch") else ""
    raised = _other_for_operator(dataset, answer, asked_opset(text), _release_of(rows, asked))
    said = filter(None, (f"{decided}{raised}", beside, tell_way_on(answer, match.evidence)))
    return replace(answer, decision=" ".join(said))


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
    answered, notes = answer_lead(rows, lead, {}, opset, "")
    at = answered.at
    return SeenAnswer(tell_at(answered, placed=False) + tell_unmeasured(notes), at.works, bool(at.helping))


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
    if answer.leads and answer.leads[0].lead.confidence in SURE:
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
    """The one release that a text says it is from, where that or another of its minor version was measured."""
    named = set(_RELEASE.findall(text))
    try:
        return {"torch": versions.resolve_patch(versions.public("".join(named)), rows.torch)} if len(named) == 1 else {}
    except UnknownName:
        return {}


def _placed(rows: Rows, seen: Iterable[SeenAt], lead: Lead) -> Lead:
    """A lead that is not sure, at the newest place where its case is ``seen`` to end with a line of the text."""
    mine = [place for place in seen if (place.case, place.variant) == (lead.case, PLAIN)]
    named = [place for place in mine if place.torch and place.exporter in NAMED]
    if lead.confidence in SURE or not named:
        return lead
    newest = max(named, key=lambda place: rows.torch.index(place.torch))
    return replace(lead, torch=newest.torch, exporter=newest.exporter, opset=newest.opset)


def _helping_first(found: list[_Answered]) -> list[_Answered]:
    """Cases that have the error at the point before those that work there, which explain nothing; of the very same
    error, those with a fix that works at the point.
    """
    sure = [item for item in found if item[0].lead.confidence in SURE]
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
    if not found or not found[0][0].at.works or found[0][0].lead.confidence not in SURE:
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
    if not answered.at.works or answered.lead.confidence not in SURE:
        return answered
    span = runtime_span(dataset, rows, answered.at, match.evidence)
    if span is None and answered.lead.runtime:
        span = span_elsewhere(dataset, rows, answered.at, match.evidence)
    return replace(answered, span=span)


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
