"""A case that fails alike, at the user's own point: what it does there, and where near it it works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import takewhile

from caniexport import versions
from caniexport.answers.bare_opsets import find_bare_opset
from caniexport.answers.points import Places
from caniexport.answers.reading import Rows
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.select import exporter_name
from caniexport.match.error_answer import AnsweredLead, short_name
from caniexport.match.errors import SURE, Lead
from caniexport.match.judged import CaseAt, FixAt, judge_case
from caniexport.model.case import PLAIN
from caniexport.model.status import EXPORTERS, MEASURED, WORKS, Exporter, Status

_FAILS = MEASURED - WORKS - {Status.UNSUPPORTED}
#: exporters, of which one may do what the other does not
_BESIDE = (Exporter.TRACE.value, Exporter.DYNAMO.value)
NAMED = tuple(name.value for name in Exporter if name is not Exporter.DEFAULT)


def answer_lead(
    rows: Rows, lead: Lead, asked: Mapping[str, str], opset: str, gave: str
) -> tuple[AnsweredLead, tuple[str, ...]]:
    """A lead at its point. ``gave`` is the exporter that gives such errors: used where the lead has no cell with it."""
    gave = lead.exporter if lead.confidence in SURE and lead.exporter in NAMED else gave
    if asked.get("torch"):
        point = {**_as_called(rows, asked, opset, gave), **asked}
    else:
        told = {"opset": opset, "exporter": gave if lead.confidence not in SURE else ""}
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
                return f"{short_name(exporter)}, {versions.opset_name(found.opset)}"
    return ""


def _ends_otherwise(rows: Rows, lead: Lead, at: CaseAt) -> bool:
    """Whether a case that fails at a point stops there at another stage than where it has the error."""
    if lead.confidence not in SURE or lead.exporter != at.exporter or at.status is None or at.works:
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
            return f"torch {newest} by {short_name(exporter)}, {versions.opset_name(found.opset)}"
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
    if lead.torch and lead.exporter in NAMED:
        torch = _ended_alike(rows, lead, named.get("opset", "")) or lead.torch
        return _point(torch, lead.exporter, _taken_opset(rows, lead))
    if lead.runtime and lead.confidence in SURE:
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
    if cell.exporter not in NAMED or (exporter and exporter_name(exporter) != cell.exporter):
        return False
    return not opset.isdigit() or cell.opset == int(opset)


def _point(torch: str, exporter: str, opset: int | None) -> dict[str, str]:
    return {"torch": torch, "exporter": exporter, **({} if opset is None else {"opset": str(opset)})}
