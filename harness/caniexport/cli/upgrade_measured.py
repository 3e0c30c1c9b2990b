"""``caniexport upgrade --measure``: what is known of a model at the targets, replaced by what was measured of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from caniexport import home as homes
from caniexport.answers.plan import Plan
from caniexport.answers.targets import UpgradeTarget
from caniexport.answers.touching import ModelStanding, TouchWord
from caniexport.cli import output
from caniexport.corpus.verdicts import collapse, works
from caniexport.model.status import Status

if TYPE_CHECKING:
    from caniexport.answers.matrix import Table
    from caniexport.answers.points import MeasuredPoint
    from caniexport.answers.upgrade import Upgrade
    from caniexport.check.found import Failure
    from caniexport.store import Dataset

_INTO = Path("caniexport-check")


def measured(found: Upgrade | Plan, factory: str, corpus: Dataset) -> Upgrade | Plan:
    """The answer with what came of the model itself at its targets. Everything that is written goes below ``_INTO``."""
    if isinstance(found, Plan):
        return _measured_plan(found, factory, corpus)
    places = [target.place for target in (found.target, found.kept) if target]
    ends = _measure(factory, places, corpus)
    # the other ways are told by cases alone, which say nothing of a model that was measured
    kept = found.kept and _told(found.kept, ends)
    return replace(found, target=_told(found.target, ends), kept=kept, other=None, stay=None)


def _measured_plan(found: Plan, factory: str, corpus: Dataset) -> Plan:
    """A plan whose targets are those at which the model was measured to work; others of them hold it back."""
    goals = (found.newest, found.kept, found.wanted)
    ends = _measure(factory, [target.place for target in goals if target], corpus)
    newest, kept, wanted = (goal and _told(goal, ends) for goal in goals)
    missed = [goal for goal in (newest, kept) if goal and not goal.clean]
    return replace(
        found,
        newest=newest if newest and newest.clean else None,
        kept=kept if kept and kept.clean else None,
        wanted=wanted,
        held=(*missed, *found.held),
    )


@dataclass(frozen=True)
class _End:
    """How the model ended at a place, and what stops it there."""

    status: Status
    why: str


def _told(target: UpgradeTarget, ends: Mapping[MeasuredPoint, _End]) -> UpgradeTarget:
    """A target with how the model ended there, in the place of what is inferred."""
    end = ends.get(target.place)
    status = end.status if end else None
    known = target.model or ModelStanding(TouchWord.NOT_KNOWN, {}, (), (), 0, 0, ())
    ended = works(status)
    word = known.word if ended is None else TouchWord.WORKS if ended else TouchWord.FAILS
    if ended is None:
        return replace(target, model=replace(known, word=word))
    return replace(
        target, model=replace(known, word=word, measured=status, why=end.why if end else "", may_be_wrong=())
    )


def _measure(factory: str, places: Sequence[MeasuredPoint], corpus: Dataset) -> dict[MeasuredPoint, _End]:
    """How the model ended at each place where it was measured."""
    from caniexport.check.check import check
    from caniexport.check.run import CheckRequest
    from caniexport.check.subject import Options

    request = CheckRequest(
        tuple(dict.fromkeys(place.torch for place in places)),
        tuple(dict.fromkeys(place.exporter for place in places)),
        tuple(sorted({place.opset for place in places if place.opset is not None})),
    )
    options = Options({}, None, None)
    home = homes.find()
    checked = check(factory, request, options, into=_INTO, home=home, corpus=corpus, cwd=Path.cwd(), say=output.say)
    for release, problem in checked.problems.items():
        output.say(f"torch {release}: {problem}")
    ended = {place: _status_in(checked.table, place) for place in places}
    return {place: _End(status, _why(checked.failures, place)) for place, status in ended.items() if status is not None}


def _why(failures: Sequence[Failure], place: MeasuredPoint) -> str:
    """What stops the model at a place, or for which inputs it is wrong; empty where nothing does."""
    from caniexport.check.headline import stopped_by, told_sets

    for failure in failures:
        if any(
            (at.torch, at.exporter) == (place.torch, place.exporter) and place.opset in at.opsets
            for at in failure.where
        ):
            return stopped_by(failure) if failure.status is Status.FAIL else told_sets(failure)
    return ""


def _status_in(table: Table, place: MeasuredPoint) -> Status | None:
    """The status of a model at a place of its own matrix, the worst of its variants'."""
    lines = [line for line in table.lines if line.exporter == place.exporter and place.torch in line.places]
    seen = (item for line in lines for item in line.places[place.torch].at.items())
    return collapse(Status(status) for status, opsets in seen if str(place.opset) in opsets)
