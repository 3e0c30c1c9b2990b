"""What is known of a pasted error, and what is said of it: the sentence to act on first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from caniexport import versions
from caniexport.answers.declared import Declared
from caniexport.answers.operator_at import OperatorAt
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.match.errors import Confidence, ErrorMatch, Lead
from caniexport.match.evidence import ErrorEvidence
from caniexport.match.judged import CaseAt
from caniexport.match.runtimes import RuntimeSpan
from caniexport.model.status import FixKind, Status
from caniexport.names import plural
from caniexport.operators import operator_key, operator_keys

#: what to do where nothing is known: with words of somebody's own, and with any error
_ONLY_HEARD = "Paste the whole error (`caniexport why - < error.txt`). "
_MEASURE = "`caniexport check FILE.py:FACTORY` takes the model itself through releases and exporters."
#: as many cases may end with one error and still be told apart by looking at them
_FEW = 12


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


def decide_error(answer: ErrorAnswer, placed: bool, *, beside_operator: bool) -> str:
    """The sentence to act on, behind the program that gave the error where it is another one than is measured first,
    and before what was not measured of the point asked for. ``beside_operator``: the operator passes there.
    """
    gave = f"{answer.tool} gave this error. " if answer.tool else ""
    other = tell_unmeasured(answer.notes)
    cause = " The error has a cause beside the operator." if beside_operator and not _is_led(answer) else ""
    return f"{gave}{_about_cases(answer, placed)}{cause}{other}"


def tell_way_on(answer: ErrorAnswer, evidence: ErrorEvidence) -> str:
    """What to do where nothing is known of a text; empty where something is, or another program gave the error."""
    if _is_led(answer) or answer.operator or answer.tool:
        return ""
    return f"{_ONLY_HEARD if evidence.is_prose and not answer.operators else ''}{_MEASURE}"


def tell_only_named(match: ErrorMatch) -> str:
    """A name says which family of errors it is; the words behind it say which of them."""
    kind = match.evidence.kinds[0]
    if not match.cases:
        return f"No measured case ends with {kind}."
    cases = f"{match.cases} measured case{'s' * (match.cases != 1)}"
    return (
        f"{cases} ended with {kind}: paste the words behind it, which name the operator. "
        "Those that end with nothing else come first."
    )


def tell_unmeasured(notes: Iterable[str]) -> str:
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
        return f"{tell_at(first, placed)} {operator.told}"
    return tell_at(first, placed)


def _nobody(answer: ErrorAnswer) -> str:
    """That no case has the error, or that some end with the same words, which several causes share."""
    if not answer.ending:
        return "No measured case has just this error"
    verb = "ends" if len(answer.ending) == 1 else "end"
    return f"{plural(len(answer.ending), 'measured case')} {verb} with these words, which several causes can have"


def _nothing_fails(answer: ErrorAnswer) -> str:
    about = f", and none is about {answer.operators[0]}" if answer.operators else ""
    return f"No measured case fails like this{about}{'.' if answer.operator else ': nothing is known of a fix.'}"


def _listed(answer: ErrorAnswer) -> str:
    """What passes where of an operator that no case is about, else what torch's own tables say of it."""
    if answer.operator:
        return f" {answer.operator.told}"
    parts = [
        f"{short_name(table.exporter)} has {f'a rule for opset {table.declared}' if table.declared else 'no rule'}"
        for table in answer.tables
    ]
    return f" torch {answer.tables[0].torch} itself lists: {'; '.join(parts)} (not measured)." if parts else ""


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


def tell_at(answered: AnsweredLead, placed: bool) -> str:
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
        last = f" It was last seen on torch {seen.torch}, {short_name(seen.exporter)}." if seen.torch else ""
        if at.refused:
            return f"At {at.place} onnx's checker refuses its file, and the runtime runs it.{last}"
        return f"At {at.place} it works without a fix; an error from there has another cause.{last}"
    fix, other = at.helping[0] if at.helping else None, _otherwise(answered)
    if answered.otherwise:
        helps = f", where `{fix.variant}` works ({fix.told})" if fix else ""
        where = f"torch {seen.torch}, {short_name(seen.exporter)}, {versions.opset_name(seen.opset)}"
        last = f"this one was last seen on {where}"
        ends = "gives wrong values without an error" if at.status is Status.MISMATCH else "fails with another error"
        return f"At {at.place} it {ends}{helps}; {last}.{other}"
    if fix and fix.changes_values:
        only = f"At {at.place} it fails, and every fix that is measured to work there computes other values"
        return f"{only}: `{fix.variant}` ({fix.told}).{other}"
    if fix:
        is_told = bool(fix.exporter) and answered.other.startswith(f"{short_name(fix.exporter)},")
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


def short_name(exporter: str) -> str:
    """What an exporter is called in a sentence."""
    return EXPORTER_SHORT.get(exporter, exporter)
