"""A pasted error, answered: what it is, the cases that fail alike, and what works at the user's own point."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import takewhile

from caniexport import versions
from caniexport.answers.declared import Declared, of_operators
from caniexport.answers.operator_at import OperatorAt, operator_at
from caniexport.answers.points import Places
from caniexport.answers.reading import Rows, load
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.select import exporter_name
from caniexport.answers.torch_operators import operators_beside
from caniexport.match.error_answer import (
    AnsweredLead,
    ErrorAnswer,
    decide_error,
    short_name,
    tell_only_named,
)
from caniexport.match.error_index import SeenAt, exporter_of, index_errors, read_known
from caniexport.match.errors import SURE, Confidence, Lead, match_error
from caniexport.match.evidence import ErrorEvidence, only_wraps
from caniexport.match.judged import CaseAt, judge_case
from caniexport.match.plain_causes import tell_cause
from caniexport.match.runtimes import runtime_span
from caniexport.model.case import PLAIN
from caniexport.model.errors import UnknownName
from caniexport.model.status import EXPORTERS, MEASURED, WORKS, Exporter, Stage, Status
from caniexport.operators import operator_key, operator_keys
from caniexport.store import Dataset

_ONLY_WRAPS = (
    "This only says that another error happened: paste what stands with it, too, the innermost exception («caused by», "
    "«The above exception was the direct cause»), which says what failed."
)
#: what torch.export says of a size that only values tell
_DATA_DEPENDENT = re.compile(r"GuardOnDataDependentSymNode|data-dependent expression")
_OTHER_EXPORTER_FIRST = (
    "Try `dynamo=False` first: the default exporter since torch 2.9 is dynamo, and it refuses decisions on input "
    "values. The other one follows the example input there: compare the file on other inputs. "
)
#: the first release whose default call is dynamo's
_DYNAMO_IS_DEFAULT = "2.9"
_NO_SENTENCE = "Nothing in this text says what failed: paste the line with the error too."
#: leads that are answered at the user's point
_MOST = 3
#: the opset that an error names as the one that was asked for, not one that it tells to try
_OPSET = re.compile(r"(?<!try )(?:to ONNX opset version|ONNX opset version:?|opset_version=|opset version) (\d+)")
#: the release of torch that a text names
_RELEASE = re.compile(r"\btorch(?: version)?(?:==|[ =:])v?(\d+\.\d+(?:\.\d+)?)\b", re.IGNORECASE)
#: operators of torch itself: its tables say nothing of another package's
_OF_TORCH = ("aten::", "prim::", "prims::", "quantized::")
_FAILS = MEASURED - WORKS - {Status.UNSUPPORTED}
#: exporters, of which one may do what the other does not
_BESIDE = (Exporter.TRACE.value, Exporter.DYNAMO.value)
_NAMED = tuple(name.value for name in Exporter if name is not Exporter.DEFAULT)


def explain_error(dataset: Dataset, text: str, asked: Mapping[str, str]) -> ErrorAnswer:
    """Answer an error text at a point: ``torch``, ``exporter`` and ``opset`` as far as ``asked`` names them.

    What is not named is taken from the text, then from the newest cell that has the error, then from the release.
    Raises :class:`UnknownName` for a release or exporter nobody knows.
    """
    rows, where = load(dataset), index_errors(dataset)
    asked = {**_named_release(rows, text), **asked}
    torch = Places(rows).fill({"torch": asked["torch"]}).torch if asked.get("torch") else ""
    match = match_error(where, text)
    evidence = match.evidence
    seen = [place for item in where.known if item.speaks_alike(evidence) for place in item.places]
    gave, named = exporter_of(where, evidence), _OPSET.search(text)
    called = {"exporter": gave, "opset": named[1] if named else ""}
    rows.keep_cases(lead.case for lead in match.leads)
    leads, notes = _answered(dataset, rows, match.leads, seen, evidence, asked, called)
    reasons, operator = evidence.reasons, evidence.operator
    own = bool(leads) and leads[0].lead.confidence is not Confidence.SIMILAR
    release = torch or (leads[0].at.torch if own else rows.torch[-1])
    measured = _measured(dataset, operator, release)
    answer = ErrorAnswer(
        "",
        f"{reasons[0].kind}: {reasons[0].line}".strip(": ") if reasons else "",
        evidence.operators,
        leads,
        tuple(lead.case for lead in match.leads if lead.case not in {item.lead.case for item in leads}),
        () if measured else tuple(_tables(dataset, operator, release)),
        notes,
        measured,
        match.alike,
        frozenset(place.case for place in seen),
    )
    cause = "" if leads and leads[0].lead.confidence in SURE else tell_cause(dataset, text, torch)
    if cause:
        kept = tuple(item for item in leads if item.lead.case in answer.ending)
        others = answer.others if kept else ()
        return replace(answer, decision=cause, leads=kept, others=others, notes=(), is_whole=not kept)
    first = _OTHER_EXPORTER_FIRST if _is_guard_of_default(text, asked, torch) else ""
    if evidence.only_named:
        return replace(answer, decision=first + tell_only_named(match))
    if not leads and not operator and all(only_wraps(reason.line) for reason in reasons):
        return replace(answer, decision=_ONLY_WRAPS if reasons else _NO_SENTENCE)
    return replace(answer, decision=first + decide_error(answer))


def _answered(
    dataset: Dataset,
    rows: Rows,
    leads: Collection[Lead],
    seen: Collection[SeenAt],
    evidence: ErrorEvidence,
    asked: Mapping[str, str],
    called: Mapping[str, str],
) -> tuple[tuple[AnsweredLead, ...], tuple[str, ...]]:
    """The best leads at the user's point, those first that end with the error at the point of the best one."""
    placed = [_placed(rows, seen, lead) for lead in leads]
    if not placed:
        return (), ()
    point = Places(rows).fill(_point(rows, placed[0], asked, called))
    where = {"torch": (point.torch,), "exporter": (point.exporter,), "opset": (point.opset,), "provider": ("cpu",)}
    cases = {place.case for place in seen}
    cells = rows.cells(case=sorted(cases), variant=(PLAIN,), **where) if cases else []
    same = {cell.case for cell in cells if not cell.works and _has(dataset, cell.message_id, evidence)}
    known = {lead.case for lead in placed}
    similar = (rows.catalogue[case, PLAIN] for case in sorted(same - known)[:1])
    placed += [Lead(entry, Confidence.SIMILAR, Confidence.SIMILAR.value, 0.0) for entry in similar]
    placed.sort(key=lambda lead: lead.case not in same)
    found: list[AnsweredLead] = []
    notes: tuple[str, ...] = ()
    for lead in placed[:_MOST]:
        place = Places(rows).fill(_point(rows, lead, asked, called))
        notes = notes if found else place.notes
        at = judge_case(rows, lead.case, place.torch, place.exporter, place.opset)
        is_alike = not at.works and (_has(dataset, at.message_id, evidence) or _is_refused(evidence.operator, at))
        span = runtime_span(dataset, rows, at, evidence) if at.works and lead.confidence in SURE else None
        ways = (_other_exporter(rows, at), _works_from(rows, at), _works_above(rows, at)) if _fails(at) else ("",) * 3
        found.append(AnsweredLead(lead, at, *ways, is_alike=is_alike, span=span))
    return tuple(found), notes


def _is_guard_of_default(text: str, asked: Mapping[str, str], torch: str) -> bool:
    """Whether a text is a data-dependent guard that a default call may have given, at a release if one is named."""
    is_default = exporter_name(asked.get("exporter") or Exporter.DEFAULT.value) == Exporter.DEFAULT.value
    is_dynamo = not torch or versions.parse(torch) >= versions.parse(_DYNAMO_IS_DEFAULT)
    return is_default and is_dynamo and bool(_DATA_DEPENDENT.search(text))


def _named_release(rows: Rows, text: str) -> dict[str, str]:
    """The one release that a text says it is from, where that or another of its minor version was measured."""
    named = set(_RELEASE.findall(text))
    try:
        return {"torch": versions.resolve_patch(versions.public("".join(named)), rows.torch)} if len(named) == 1 else {}
    except UnknownName:
        return {}


def _has(dataset: Dataset, message: str | None, evidence: ErrorEvidence) -> bool:
    """Whether a message has a line of an error, but for names and numbers."""
    text = dataset.message(message) if message else None
    return text is not None and read_known(text).speaks_alike(evidence)


def _is_refused(operator: str, at: CaseAt) -> bool:
    """Whether a case stops at export, and is about an operator of torch: its export cannot do without that one."""
    about = operator_key(operator) in operator_keys(at.entry.ops[:1])
    return "::" in operator and about and at.stage == Stage.EXPORT.value


def _placed(rows: Rows, seen: Collection[SeenAt], lead: Lead) -> Lead:
    """A lead without a place, at the newest place where its case is ``seen`` to end with a line of the text."""
    mine = [place for place in seen if (place.case, place.variant) == (lead.case, PLAIN)]
    named = [place for place in mine if place.torch and place.exporter in _NAMED]
    if lead.confidence in SURE or not named:
        return lead
    newest = max(named, key=lambda place: rows.torch.index(place.torch))
    return replace(lead, torch=newest.torch, exporter=newest.exporter, opset=newest.opset)


def _point(rows: Rows, lead: Lead, asked: Mapping[str, str], called: Mapping[str, str]) -> dict[str, str]:
    """Where a lead is answered: what the user names, else what the error tells of the call, else where it was seen."""
    gave = lead.exporter if lead.confidence in SURE and lead.exporter in _NAMED else called["exporter"]
    exporter = exporter_name(asked["exporter"]) if asked.get("exporter") else gave
    if not asked.get("torch"):
        told = {"opset": called["opset"], "exporter": exporter if lead.confidence not in SURE else ""}
        named = {**{name: value for name, value in told.items() if value}, **asked}
        return {**_seen(rows, lead, named), **named}
    torch = Places(rows).fill({"torch": asked["torch"]}).torch
    offered = rows.offers.get((torch, exporter or Exporter.TRACE.value), ())
    opset = {"opset": called["opset"]} if called["opset"] and int(called["opset"]) in offered else {}
    return {**({"exporter": exporter} if exporter and offered else {}), **opset, **asked}


def _seen(rows: Rows, lead: Lead, named: Mapping[str, str]) -> dict[str, str]:
    """Where an error was last seen; where only the operator is shared, the newest place at which the case fails. What a
    runtime gave is looked at in the file that the newest release writes by trace.
    """
    if lead.torch and lead.exporter in _NAMED:
        return _as_point(lead.torch, lead.exporter, lead.opset)
    if lead.runtime and lead.confidence in SURE:
        return _as_point(rows.torch[-1], Exporter.TRACE.value, None)
    opset, exporter = named.get("opset", ""), named.get("exporter", "")

    def is_meant(cell: MeasuredCell) -> bool:
        by = not exporter or exporter_name(exporter) == cell.exporter
        return cell.exporter in _NAMED and by and (not opset.isdigit() or cell.opset == int(opset))

    cells = rows.cells(case=(lead.case,), variant=(PLAIN,), provider=("cpu",))
    failing = [cell for cell in cells if cell.status in _FAILS and is_meant(cell)]
    if not failing:
        return {}
    newest = max(
        failing, key=lambda cell: (rows.torch.index(cell.torch), -EXPORTERS.index(cell.exporter), cell.opset or 0)
    )
    return _as_point(newest.torch, newest.exporter, newest.opset)


def _as_point(torch: str, exporter: str, opset: int | None) -> dict[str, str]:
    return {"torch": torch, "exporter": exporter, **({} if opset is None else {"opset": str(opset)})}


def _fails(at: CaseAt) -> bool:
    return at.status is not None and not at.works


def _other_exporter(rows: Rows, at: CaseAt) -> str:
    """The other exporter of the same release, where the case works by it at its own opset."""
    for exporter in _BESIDE if at.exporter in _BESIDE else ():
        found = judge_case(rows, at.entry.case, at.torch, exporter, None) if exporter != at.exporter else at
        if found.works:
            return f"{short_name(exporter)}, {versions.opset_name(found.opset)}"
    return ""


def _works_from(rows: Rows, at: CaseAt) -> str:
    """The release from which on a case that fails at a point works there; empty where the newest does not."""
    where = {"provider": ("cpu",), "exporter": (at.exporter,), "opset": (at.opset,)}
    working = {cell.torch for cell in rows.cells(case=(at.entry.case,), variant=(PLAIN,), **where) if cell.works}
    newer = rows.torch[rows.torch.index(at.torch) + 1 :]
    on = list(takewhile(working.__contains__, reversed(newer)))
    return on[-1] if on else ""


def _works_above(rows: Rows, at: CaseAt) -> str:
    """The next higher opset at which a case works that fails at a point."""
    where = {"torch": (at.torch,), "exporter": (at.exporter,), "provider": ("cpu",)}
    cells = rows.cells(case=(at.entry.case,), variant=(PLAIN,), **where)
    above = [cell.opset for cell in cells if cell.works and cell.opset and cell.opset > (at.opset or 0)]
    return versions.opset_name(min(above)) if above else ""


def _is_of_torch(operator: str) -> bool:
    """Whether an operator is torch's own, by its namespace or as torch's symbolic function of it is called."""
    return operator.startswith(_OF_TORCH) or ("::" not in operator and operator[:1].islower())


def _tables(dataset: Dataset, operator: str, torch: str) -> list[Declared]:
    """What the tables of a release list for an operator of torch."""
    return of_operators(dataset, (operator,), (torch,)) if _is_of_torch(operator) else []


def _measured(dataset: Dataset, operator: str, torch: str) -> OperatorAt | None:
    """How torch's own calls of an operator of torch end at a release."""
    summary = operators_beside(dataset) if _is_of_torch(operator) else None
    return operator_at(summary, operator, torch) if summary else None
