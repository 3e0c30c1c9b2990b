"""What is known to fail where a user is: a case by its name, at the versions that they run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from caniexport import names, versions
from caniexport.answers.case import find
from caniexport.answers.helping import find_helping
from caniexport.answers.installed import find_nearest, list_differences, read_installations, select_companions
from caniexport.answers.outcomes import short_cause
from caniexport.answers.point import Point, Points
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.upstream import source_address
from caniexport.home import NEWEST
from caniexport.model.case import PLAIN
from caniexport.model.errors import UnknownName
from caniexport.model.status import WORKS, Exporter, Stage, Status
from caniexport.store import Dataset

_STAGES = [stage.value for stage in Stage]
#: companion packages that can change the outcome: with dynamo, and behind the checker
_BY_DYNAMO, _BY_RUNTIME = ("onnxscript", "onnx-ir"), ("onnxruntime",)
#: characters of a message's line
_LONGEST = 200
#: fixes that are named
_MOST_FIXES = 2


class KnownOutcome(StrEnum):
    """What is known of a case at a point."""

    FAILS = "measured to fail"
    WORKS = "measured to work"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class KnownCase:
    """A variant of a case at a point.

    ``status``, ``stage`` and ``message`` are the measured cell's, ``message`` the line with the cause; ``place`` is the
    point. ``is_exact`` says that the very release of torch was measured, ``is_alike`` that it was with the same minor
    versions of the packages that can change the answer; ``differs`` which of them were others, or why nothing was
    measured. ``fixes`` are measured to work there; ``links`` are the case's sources.
    """

    case: str
    variant: str
    title: str
    word: KnownOutcome = KnownOutcome.NOT_MEASURED
    status: Status | None = None
    stage: str = ""
    message: str = ""
    place: str = ""
    is_exact: bool = False
    is_alike: bool = False
    differs: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()
    links: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """``cross-no-symbolic``; with its variant where that is a fix."""
        return self.case if self.variant == PLAIN else f"{self.case}/{self.variant}"

    @property
    def reason(self) -> str:
        """The outcome, its message, what helps and the command that shows more, in one line."""
        status = f" ({self.status.value} at {self.stage})" if self.word is KnownOutcome.FAILS and self.status else ""
        parts = [f"{self.name} is {self.word.value} at {self.place}{status}", self.message, *self.differs]
        parts += [f"works there: {', '.join(self.fixes)}"] if self.fixes else []
        return "; ".join([*filter(None, parts), *self.links[:1], f"caniexport case {self.name}"])


def known_case(dataset: Dataset, name: str, point: Mapping[str, str], upto: str = "") -> KnownCase:
    """Return the outcome of ``CASE`` or ``CASE/VARIANT`` at a user's point: their packages, an exporter and an opset.

    A failure behind the stage ``upto`` does not count: a test that only exports does not see it. Raises
    :class:`UnknownName` for a case, a stage or an exporter nobody knows; a release that was not measured is an answer.
    """
    points = Points(dataset)
    named = find(points.views, name)
    last = _STAGES.index(names.require("stage", upto, _STAGES) if upto else Stage.DONE.value)
    ((title, sources),) = points.views.fetch(
        """SELECT any_value(title), any_value(sources) FROM variants WHERE "case" = $1""", [named.case]
    )
    links = tuple(filter(None, map(source_address, sources or ())))
    known = KnownCase(named.case, named.variant or PLAIN, title or "", links=links)
    # the runtime is that of the rows: another one has not run the files of every case
    asked = {axis: value for axis, value in point.items() if axis != "runtime"}
    try:
        _, other = versions.resolve_with_note(asked.get("torch") or "latest", points.releases)
    except UnknownName as error:
        return replace(known, place=f"torch {asked.get('torch', '')}".strip(), differs=(str(error),))
    place, _ = points.find(asked)
    found = _judge_at(points, known, place, asked, last)
    if found.word is KnownOutcome.NOT_MEASURED and place.profile != NEWEST:
        place, _ = points.find({**asked, "profile": NEWEST})
        found = _judge_at(points, known, place, asked, last)
    return replace(found, differs=(*filter(None, (other,)), *found.differs))


def find_failing_releases(
    dataset: Dataset, name: str, torch: str, point: Mapping[str, str], upto: str = ""
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the measured releases of ``torch`` at which a case fails, and those without a row."""
    releases = versions.resolve_range(torch, Points(dataset).releases)
    found = {release: known_case(dataset, name, {**point, "torch": release}, upto).word for release in releases}
    failing = (torch for torch, word in found.items() if word is KnownOutcome.FAILS)
    return tuple(failing), tuple(torch for torch, word in found.items() if word is KnownOutcome.NOT_MEASURED)


def _judge_at(points: Points, known: KnownCase, place: Point, asked: Mapping[str, str], last: int) -> KnownCase:
    exporter = EXPORTER_SHORT.get(place.exporter, place.exporter)
    known = replace(known, place=f"torch {place.torch}, {exporter}, {versions.opset_name(place.opset)}")
    rows = points.views.fetch(
        f"""SELECT status, stage, message_id FROM ({place.rows})
            WHERE "case" = $1 AND variant = $2 AND provider = 'cpu' AND works(status) IS NOT NULL""",
        [known.case, known.variant],
    )
    if not rows:
        return known
    status, stage, message = Status(rows[0][0]), *rows[0][1:]
    there = points.views.dataset.of(place.profile)
    reached = min(_STAGES.index(stage), last)
    fails = status not in WORKS and stage == _STAGES[reached]
    apart = _list_other_versions(there, place, asked, reached)
    fixes = find_helping(points.views, place, [known.case])[known.case] if fails and known.variant == PLAIN else ()
    torch = versions.public(asked["torch"]) if asked.get("torch") else place.torch
    return replace(
        known,
        word=KnownOutcome.FAILS if fails else KnownOutcome.WORKS,
        status=status,
        stage=stage,
        message=short_cause("".join(there.messages([message]).values()), _LONGEST) if fails else "",
        is_exact=torch == versions.public(place.torch),
        is_alike=not apart,
        differs=(f"measured with {', '.join(apart)}",) if apart else (),
        fixes=tuple(fix.label for fix in fixes[:_MOST_FIXES]),
    )


def _list_other_versions(dataset: Dataset, place: Point, asked: Mapping[str, str], reached: int) -> list[str]:
    """``onnxruntime 1.31.1 (here 1.32.0)``: the packages that can change the outcome up to a stage, measured in
    another minor version.
    """
    able = ["onnx", *(_BY_DYNAMO if place.exporter == Exporter.DYNAMO.value else ())]
    able += _BY_RUNTIME if reached > _STAGES.index(Stage.CHECK.value) else ()
    measured = find_nearest(read_installations(dataset), place.torch, wanted := select_companions(asked))
    return [
        f"{item.package} {item.measured} (here {item.own})" if item.measured else f"no {item.package} (here {item.own})"
        for item in (list_differences(measured, wanted) if measured else ())
        if item.package in able and not (item.measured and _minor_version(item.own) == _minor_version(item.measured))
    ]


def _minor_version(version: str) -> tuple[int, ...]:
    return versions.parse(version).release[:2]
