"""What is known of a pasted error, and the sentence to act on."""

from __future__ import annotations

from dataclasses import dataclass

from caniexport.answers.declared import Declared
from caniexport.answers.operator_at import OperatorAt
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.match.errors import SURE, Confidence, ErrorMatch, Lead
from caniexport.match.judged import CaseAt
from caniexport.match.runtimes import RuntimeSpan
from caniexport.model.status import Status
from caniexport.operators import operator_key, operator_keys

_MEASURE = "`caniexport check FILE.py:FACTORY` takes the model itself through releases and exporters."
#: as many cases may end with one error and still be told apart by looking at them
_FEW = 12


@dataclass(frozen=True)
class AnsweredLead:
    """A case that fails alike, with what it shares with the error, at the point that the answer is about.

    ``other`` is the same release's other exporter, where the case works by that: ``dynamo, opset 18``; ``later`` the
    release from which on it works with the exporter and opset of the point; ``raised`` the next higher opset at which
    it works there. ``is_alike``: at the point it ends with the error. ``span``: at the point it works, and some
    releases of a runtime give the error for its file.
    """

    lead: Lead
    at: CaseAt
    other: str = ""
    later: str = ""
    raised: str = ""
    is_alike: bool = False
    span: RuntimeSpan | None = None


@dataclass(frozen=True)
class ErrorAnswer:
    """What is known of a pasted error.

    ``decision`` is the sentence to act on. ``reason`` is the innermost cause in the text, ``operators`` are those that
    it names. ``leads`` are the cases that fail alike, best first, at the user's point; ``others`` names further ones.
    ``tables`` say which rules torch itself lists for the operator, ``operator`` how torch's own calls of it end at the
    point's release, where they were measured. ``notes`` tell what was assumed. ``alike`` counts the cases that share as
    much as the first, ``ending`` are those that end with the same words. ``is_whole``: the text tells its cause, and no
    case is needed.
    """

    decision: str
    reason: str
    operators: tuple[str, ...]
    leads: tuple[AnsweredLead, ...]
    others: tuple[str, ...]
    tables: tuple[Declared, ...]
    notes: tuple[str, ...]
    operator: OperatorAt | None = None
    alike: int = 0
    ending: frozenset[str] = frozenset()
    is_whole: bool = False


def tell_only_named(match: ErrorMatch) -> str:
    """Return what the name of an exception alone says: a family of errors, not which of them."""
    kind = match.evidence.kinds[0]
    if not match.cases:
        return f"No measured case ends with {kind}."
    cases = f"{match.cases} measured case{'s' * (match.cases != 1)}"
    return f"{cases} ended with {kind}: paste the words behind it, which name the operator."


def decide_error(answer: ErrorAnswer) -> str:
    """Return the sentence to act on, and what was not measured of the point asked for."""
    unmeasured = "".join(f" {note[:1].upper()}{note[1:]}." for note in answer.notes if "not measured" in note)
    return f"{_about_cases(answer)}{unmeasured}"


def _about_cases(answer: ErrorAnswer) -> str:
    operator = f" {answer.operator.told}" if answer.operator else _listed(answer)
    if not answer.leads:
        about = f", and none is about {answer.operators[0]}" if answer.operators else ""
        return f"No measured case fails like this{about}.{operator or f' {_MEASURE}'}"
    first = answer.leads[0]
    title = first.at.entry.title.rstrip(".")
    what = f"{first.at.entry.case} ({title})" if title else first.at.entry.case
    if first.lead.confidence not in SURE:
        some = "Measured cases end with these words, which several causes share"
        nobody = some if answer.ending else "No measured case has just this error"
        if first.lead.confidence is Confidence.OPERATOR:
            is_named = operator_key(answer.operators[0]) in operator_keys(first.at.entry.ops)
            about = answer.operators[0] if is_named else first.at.entry.ops[0]
            return f"{nobody}; the nearest about {about} is {what}. {_similar(first)}{operator}"
        return f"{nobody}; the most alike is {what}. {_similar(first)}{operator}"
    known = f"This is {what}."
    if answer.alike > 1:
        same = "end with this error" if first.lead.confidence is Confidence.EXACT else "fail for this cause"
        many = ", which alone does not tell them apart;" if answer.alike > _FEW else ","
        known = f"{answer.alike} measured cases {same}{many} the first is {what}."
    beside = operator if answer.operator and (first.at.works or not first.is_alike) else ""
    return f"{known} {_there(first)}{beside}"


def _listed(answer: ErrorAnswer) -> str:
    """What torch's own tables say of an operator."""
    parts = [
        f"{short_name(table.exporter)} has {f'a rule for opset {table.declared}' if table.declared else 'no rule'}"
        for table in answer.tables
    ]
    return f" torch {answer.tables[0].torch} itself lists: {'; '.join(parts)} (not measured)." if parts else ""


def _similar(answered: AnsweredLead) -> str:
    """What a case that only reads alike does at the point: its workaround helps only where it ends with the error."""
    at = answered.at
    if at.status is None:
        return f"It was not measured at {at.place}."
    if at.works:
        return f"It works at {at.place}, so it does not explain this error."
    if at.status is Status.MISMATCH:
        return f"At {at.place} it gives wrong values."
    if not answered.is_alike:
        return f"At {at.place} it ends with {at.kind or 'another error'} at {at.stage}."
    return _there(answered)


def _there(answered: AnsweredLead) -> str:
    """What to do at the point."""
    at, seen = answered.at, answered.lead
    if answered.span:
        return f"At {at.place} it exports; {answered.span.told}"
    if at.status is None:
        return f"It was not measured at {at.place}."
    last = f"It was last seen on torch {seen.torch}, {short_name(seen.exporter)}." if seen.torch else ""
    if at.works and seen.runtime:
        works = f"At {at.place} it works with the runtime measured there"
        is_older = seen.runtime.startswith("onnxruntime ")  # another runtime's newest release may refuse the file, too
        return (
            f"{works}. It was seen on {seen.runtime}: upgrade that." if is_older else f"{works}, not on {seen.runtime}."
        )
    if at.works:
        return f"At {at.place} it works without a workaround; an error from there has another cause. {last}".rstrip()
    otherwise = "" if answered.is_alike else f"At {at.place} it ends otherwise. {last} "
    fix = at.helping[0] if at.helping else None
    ways = [f"By {answered.other} it works there without one."] if answered.other else []
    ways += [f"At {answered.raised} it works there without one."] if answered.raised else []
    ways += [f"From torch {answered.later} on this call works without one."] if answered.later else []
    way = f"At {at.place} no workaround is measured to work."
    if fix and fix.changes_values:
        way = f"At {at.place} every workaround that works computes other values: `{fix.variant}` ({fix.told})."
    elif fix:
        way = f"At {at.place} the workaround `{fix.variant}` is measured to work: {fix.told}."
    return " ".join((f"{otherwise}{way}", *ways))


def short_name(exporter: str) -> str:
    """Return what an exporter is called in a sentence."""
    return EXPORTER_SHORT.get(exporter, exporter)
