"""Measuring what a user gave, release by release, with the pins of the table and what they add to them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from caniexport import versions
from caniexport.check.place import CheckFolder
from caniexport.check.subject import UnusableModel
from caniexport.model import releases
from caniexport.model.corpus import LoadedCase
from caniexport.model.errors import UnknownName
from caniexport.model.releases import Release
from caniexport.model.status import EXPORTERS, Exporter

#: what every dynamo exporter writes
_DYNAMO_OPSET = 18


@dataclass(frozen=True)
class CheckRequest:
    """Where to look: ``releases`` (empty: the newest of the table), exporters and opsets (empty: all).

    ``memory`` is MiB and ``timeout`` seconds for a cell, ``disk_budget`` bytes. ``resume`` keeps what an earlier check
    of the same source has measured; ``keep_files`` keeps the exported files.
    """

    releases: tuple[str, ...] = ()
    exporters: tuple[str, ...] = ()
    opsets: tuple[int, ...] = ()
    packages: tuple[str, ...] = ()
    workers: int = 2
    timeout: float = 60.0
    memory: int = 2048
    rolling: bool = False
    disk_budget: int = 0
    resume: bool = False
    keep_files: bool = False


def chosen(names: Sequence[str]) -> list[Release]:
    """The releases asked for, newest first: what is wrong with a model is often seen in the first of them."""
    if not names:
        return [releases.table()[-1]]
    if "all" in names:
        return list(reversed(releases.table()))
    found = {release.torch: release for release in map(releases.find, names)}
    return [found[torch] for torch in reversed(versions.ordered(found))]


def require_opsets(request: CheckRequest, wanted: Sequence[Release]) -> None:
    """Raises :class:`UnknownName` where no release chosen takes any opset asked for."""
    exporters = request.exporters or EXPORTERS
    taken = {opset for release in wanted for name in exporters for opset in release.opsets(name) if opset is not None}
    if request.opsets and not taken & set(request.opsets):
        asked = ", ".join(map(str, request.opsets))
        known = f"{min(taken)} to {max(taken)}" if taken else "none: the default exporter asks for no opset"
        raise UnknownName(f"opset {asked}: these releases and exporters are asked for {known}")


def cases(place: CheckFolder) -> dict[str, LoadedCase]:
    """The cases of a place, without the canaries. Raises :class:`~caniexport.model.errors.CorpusError`."""
    loaded = place.home.read_cases()
    found = {name: item for name, item in loaded.items() if item.cls.corpus != "canary" and not item.is_environment}
    if not found:
        raise UnusableModel("no case in these files: a class derived from Case, or MODULE:FACTORY, is wanted")
    return found


def measure_release(release: Release, request: CheckRequest, place: CheckFolder, say: Callable[[str], None]) -> str:
    """Measure everything asked for in one release; the problem in words, empty where there is none."""
    from caniexport.measure.cells import measure
    from caniexport.measure.job import MeasureOptions
    from caniexport.measure.tox_calls import table_with

    release = with_packages(release, request.packages)
    options = MeasureOptions(
        home=place.home,
        releases=(release.torch,),
        cases=tuple(cases(place)),
        exporters=request.exporters,
        opsets=_opsets(release, request),
        workers=request.workers,
        fresh=not request.resume,
        rolling=request.rolling,
        disk_budget=request.disk_budget,
        timeout=request.timeout,
        memory=request.memory,
        tables=False,
    )
    with table_with(release, place.folder):
        reports = measure(options, say)
    if not request.keep_files:
        shutil.rmtree(place.local / "bundles", ignore_errors=True)
    return next((report.problem for report in reports if report.problem), "")


def with_packages(release: Release, packages: Sequence[str]) -> Release:
    """The release with further requirements; one of a package that it pins takes that pin's place."""
    named = {canonicalize_name(requirement(text).name) for text in packages}
    if "torch" in named:
        raise UnusableModel("--with torch: --release says which torch")
    pins = [pin for pin in release.pins if canonicalize_name(requirement(pin).name) not in named]
    return release._replace(pins=(*pins, *packages))


def requirement(text: str) -> Requirement:
    """A requirement as pip writes it. Raises :class:`UnusableModel`."""
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        raise UnusableModel(f"--with {text!r}: not a requirement such as torchvision or timm==1.0.9") from error


def _opsets(release: Release, request: CheckRequest) -> tuple[int, ...]:
    """The opsets asked for, and one that each exporter surely takes: without it the canaries might all be refused."""
    if not request.opsets:
        return ()
    sure = {release.torchscript[0]}
    if release.dynamo and (not request.exporters or Exporter.DYNAMO.value in request.exporters):
        sure.add(_DYNAMO_OPSET)
    return tuple(sorted({*request.opsets, *sure}))
