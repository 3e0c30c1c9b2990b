"""Measuring what a user gave in a folder of theirs, release by release, with the table's pins and their own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from caniexport import versions
from caniexport.check.subject import UnusableModel
from caniexport.home import Home
from caniexport.model import releases
from caniexport.model.corpus import LoadedCase
from caniexport.model.errors import UnknownName
from caniexport.model.releases import Release
from caniexport.model.status import EXPORTERS

#: says that a folder was made here, so that another one's files are never written over
MARK = ".caniexport-check"


def prepare(folder: Path, home: Home, files: Mapping[str, str], *, keep: bool) -> Home:
    """Make the folder of a check, the home of its measurements, with the case files in the place of earlier ones.

    The rows of an earlier check are removed unless they are to be kept; its environments stay.
    Raises :class:`UnusableModel` for a folder with other things in it, one inside a dataset or the corpus, and where
    nothing can be written.
    """
    folder = folder.resolve()
    for taken in (home.published, home.local, *home.corpora):
        if folder == taken.resolve() or taken.resolve() in folder.parents:
            raise UnusableModel(f"--into {folder}: this is within {taken.name}/, which a check never writes to")
    try:
        if folder.exists() and not (folder / MARK).is_file() and (not folder.is_dir() or any(folder.iterdir())):
            raise UnusableModel(f"--into {folder}: there are other things; name a folder that is not there yet")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MARK).touch()
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        cases = folder / "cases"
        for old in (cases, *([] if keep else [folder / "results"])):
            shutil.rmtree(old, ignore_errors=True)
        cases.mkdir()
        for name, text in files.items():
            (cases / name).write_text(text, encoding="utf-8")
        _add_canaries(home, cases)
    except OSError as error:
        raise UnusableModel(f"--into {folder}: cannot be written ({error.strerror})") from error
    return Home(folder, cases, folder / "none", folder / "results", home.tox_ini)


def _add_canaries(home: Home, cases: Path) -> None:
    """Every run has them: one whose canaries surprise does not speak."""
    found = [path for path in sorted(home.cases.glob("canar*.py")) if path.is_file()]
    for path in found:
        # after every file of the user's, whatever it is called
        shutil.copy(path, cases / f"zz_{path.name}")


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


def cases(place: Home) -> dict[str, LoadedCase]:
    """The cases of a place, without the canaries. Raises :class:`~caniexport.model.errors.CorpusError`."""
    loaded = place.read_cases()
    found = {name: item for name, item in loaded.items() if item.cls.corpus != "canary" and not item.is_environment}
    if not found:
        raise UnusableModel("no case in these files: a class derived from Case, or MODULE:FACTORY, is wanted")
    return found


def measure_release(release: Release, request: CheckRequest, place: Home, say: Callable[[str], None]) -> str:
    """Measure everything asked for in one release; the problem in words, empty where there is none."""
    from caniexport.measure.cells import measure
    from caniexport.measure.job import MeasureOptions
    from caniexport.measure.tox_calls import table_with

    release = with_packages(release, request.packages)
    options = MeasureOptions(
        home=place,
        releases=(release.torch,),
        cases=tuple(cases(place)),
        exporters=request.exporters,
        opsets=release.with_sure(request.opsets, request.exporters),
        workers=request.workers,
        fresh=not request.resume,
        rolling=request.rolling,
        disk_budget=request.disk_budget,
        timeout=request.timeout,
        memory=request.memory,
        tables=False,
    )
    with table_with(release, place.root):
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
