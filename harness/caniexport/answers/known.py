"""What is known to fail where a user is: a case by its name, at the versions that they run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from caniexport import names, versions
from caniexport.answers.filters import Filters
from caniexport.answers.helping import helping
from caniexport.answers.installed import VersionDifference
from caniexport.answers.outcomes import short_cause
from caniexport.answers.point import Point
from caniexport.answers.points import MeasuredPoint, Places
from caniexport.answers.reading import CatalogueEntry, Rows, load
from caniexport.answers.select import select
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.upstream import source_address
from caniexport.home import NEWEST
from caniexport.model.case import PLAIN
from caniexport.model.errors import UnknownName
from caniexport.model.status import MEASURED, WORKS, Exporter, Stage, Status
from caniexport.store import Dataset
from caniexport.store.views import Views

_STAGES = [stage.value for stage in Stage]
#: packages beside torch that can change how an export ends: with dynamo, and behind the checker
_BY_DYNAMO, _BY_RUNTIME = ("onnxscript", "onnx-ir"), ("onnxruntime",)
#: characters of a message's line
_LONGEST = 200
#: fixes that are named
_MOST_FIXES = 2


class KnownWord(StrEnum):
    """What is known of a case at a point."""

    FAILS = "measured to fail"
    WORKS = "measured to work"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class KnownCase:
    """A variant of a case at a point.

    ``status``, ``stage`` and ``message`` are the measured cell's, ``message`` the line that says why; ``place`` is the
    point. ``is_exact`` says that the very release of torch was measured, ``is_alike`` that it was with the same minor
    versions of the packages that can change the answer; ``differs`` which of them were others, or why nothing was
    measured.
    ``fixes`` are measured to work there; ``links`` are the case's sources.
    """

    case: str
    variant: str
    title: str
    word: KnownWord
    status: Status | None
    stage: str
    message: str
    place: str
    is_exact: bool
    is_alike: bool
    differs: tuple[str, ...]
    fixes: tuple[str, ...]
    links: tuple[str, ...]

    @property
    def name(self) -> str:
        """``cross-no-symbolic``; with its variant where that is a fix."""
        return self.case if self.variant == PLAIN else f"{self.case}/{self.variant}"

    @property
    def reason(self) -> str:
        """What is known, why, what helps, and where more is said, in one line."""
        status = f" ({self.status.value} at {self.stage})" if self.word is KnownWord.FAILS and self.status else ""
        said = [f"{self.name} is {self.word.value} at {self.place}{status}", self.message, *self.differs]
        said += [f"works there: {', '.join(self.fixes)}"] if self.fixes else []
        return "; ".join([*filter(None, said), *self.links[:1], f"caniexport why {self.name}"])


def known_case(dataset: Dataset, name: str, point: Mapping[str, str], upto: str = "") -> KnownCase:
    """How ``CASE`` or ``CASE/VARIANT`` ends at a point of a user's: their packages, an exporter and an opset.

    A failure behind the stage ``upto`` does not count: a test that only exports does not see it. Raises
    :class:`UnknownName` for a case, a stage or an exporter nobody knows; a release that was not measured is an answer.
    """
    rows = load(dataset)
    case, _, variant = name.partition("/")
    entry = next(iter(select(rows, Filters(cases=(f"{case}/{variant or PLAIN}",))).catalogue.values()))
    last = _STAGES.index(names.require("stage", upto, _STAGES) if upto else Stage.DONE.value)
    try:
        place = Places(rows).fill(point)
    except UnknownName as error:
        if not _is_unmeasured(rows, point):
            raise
        return _unmeasured(entry, f"torch {point.get('torch', '')}".strip(), str(error))
    found = _at(dataset, entry, place, point, last)
    if found.word is KnownWord.NOT_MEASURED and place.profile != NEWEST:
        newest = Places(rows).fill({**point, "profile": NEWEST})
        found = _at(dataset, entry, newest, point, last)
    return found


def still_failing(
    dataset: Dataset, name: str, torch: str, point: Mapping[str, str], upto: str = ""
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of the measured releases that ``torch`` means: those on which a case fails, and those where nobody knows."""
    releases = versions.resolve_each(torch, load(dataset).torch)
    found = {release: known_case(dataset, name, {**point, "torch": release}, upto).word for release in releases}
    failing = (torch for torch, word in found.items() if word is KnownWord.FAILS)
    return tuple(failing), tuple(torch for torch, word in found.items() if word is KnownWord.NOT_MEASURED)


def _is_unmeasured(rows: Rows, point: Mapping[str, str]) -> bool:
    """Whether it is the release, and nothing else of a point, that is not known."""
    try:
        versions.resolve_patch(point.get("torch", ""), rows.torch)
    except UnknownName:
        return True
    return False


def _unmeasured(entry: CatalogueEntry, place: str, why: str) -> KnownCase:
    links = _links(entry)
    return KnownCase(
        entry.case,
        entry.variant,
        entry.title,
        KnownWord.NOT_MEASURED,
        None,
        "",
        "",
        place,
        False,
        False,
        (why,),
        (),
        links,
    )


def _at(
    dataset: Dataset, entry: CatalogueEntry, place: MeasuredPoint, point: Mapping[str, str], last: int
) -> KnownCase:
    rows = load(dataset)
    there = rows.under(place.profile)
    where = {"case": (entry.case,), "variant": (entry.variant,), "torch": (place.torch,)}
    cells = there.cells(**where, exporter=(place.exporter,), provider=("cpu",), opset=(place.opset,))
    cell = next((cell for cell in cells if cell.status in MEASURED), None)
    exporter = EXPORTER_SHORT.get(place.exporter, place.exporter)
    shown = f"torch {place.torch}, {exporter}, {versions.opset_name(place.opset)}"
    own = Places(rows).own({**point, "profile": place.profile})
    if cell is None:
        return replace(_unmeasured(entry, shown, ""), differs=own.notes)
    reached = min(_STAGES.index(cell.stage), last)
    fails = cell.status not in WORKS and cell.stage == _STAGES[reached]
    apart = _apart(own.differs, place.exporter, reached)
    asked = versions.parse(point["torch"]).public if point.get("torch") else place.torch
    at = Point(place.torch, place.exporter, place.opset, (place.exporter, place.opset), profile=place.profile)
    views = Views.of(dataset)
    views.include(place.profile)
    fixes = helping(views, at, [entry.case])[entry.case] if fails and entry.variant == PLAIN else ()
    entries = rows.catalogue
    return KnownCase(
        entry.case,
        entry.variant,
        entry.title,
        KnownWord.FAILS if fails else KnownWord.WORKS,
        cell.status,
        cell.stage,
        short_cause("".join(dataset.of(place.profile).messages([cell.message_id]).values()), _LONGEST) if fails else "",
        shown,
        asked == versions.public(place.torch),
        not apart,
        (*own.notes, *([f"measured with {', '.join(apart)}"] if apart else [])),
        tuple(_named(entries[entry.case, fix.variant]) for fix in fixes[:_MOST_FIXES]),
        _links(entry),
    )


def _named(fix: CatalogueEntry) -> str:
    """A fix, with what it does to the values where it computes others."""
    return f"{fix.variant}, which {fix.changed}" if fix.changed else fix.variant


def _apart(differs: Iterable[VersionDifference], exporter: str, reached: int) -> list[str]:
    """``onnxruntime 1.31.1 (here 1.32.0)``: the packages that can change how an export ends by then, measured in
    another minor version.
    """
    able = ["onnx", *(_BY_DYNAMO if exporter == Exporter.DYNAMO.value else ())]
    able += _BY_RUNTIME if reached > _STAGES.index(Stage.CHECK.value) else ()
    return [
        f"{item.package} {item.measured} (here {item.own})" if item.measured else f"no {item.package} (here {item.own})"
        for item in differs
        if item.package in able and not (item.measured and _minor(item.own) == _minor(item.measured))
    ]


def _minor(version: str) -> tuple[int, ...]:
    return versions.parse(version).release[:2]


def _links(entry: CatalogueEntry) -> tuple[str, ...]:
    return tuple(filter(None, map(source_address, entry.sources)))
