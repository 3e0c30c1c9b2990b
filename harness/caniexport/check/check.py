"""Check a user's model: read the target, measure each release, write the answer."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from caniexport import versions
from caniexport.answers.answer import Answer
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.check import environments
from caniexport.check.answer import write_answer
from caniexport.check.environments import Environment, InstallationFailed
from caniexport.check.measure import MeasuredRelease, measure_release
from caniexport.check.road import follow_road, read_steps
from caniexport.check.session import MeasurementSetup
from caniexport.check.target import Options, UnusableModel, read_target
from caniexport.check.verdict import Asked
from caniexport.check.widen import ReleaseQuestion
from caniexport.home import Home
from caniexport.measure.tox_calls import make_code_folder
from caniexport.model import corpus as case_files
from caniexport.model import releases
from caniexport.model.case import PLAIN
from caniexport.model.corpus import LoadedCase
from caniexport.model.errors import UnknownName
from caniexport.model.releases import Release
from caniexport.model.status import EXPORTERS
from caniexport.store import Dataset

_WRONG, _RAISED = "WrongFactory: ", "FactoryRaised: "


@dataclass(frozen=True)
class CheckRequest:
    """Where to look: ``releases`` (empty: the torch that is installed, else the newest of the table), exporters and
    opsets (empty: all); ``packages`` are installed too.

    ``memory`` is MiB and ``timeout`` seconds for a cell. After ``seconds`` only what was named is still measured.
    ``rolling`` deletes each environment that was made, once it has been measured; the exported files go to ``keep``.
    ``then`` are tools that the file goes through afterwards.
    """

    releases: tuple[str, ...] = ()
    exporters: tuple[str, ...] = ()
    opsets: tuple[int, ...] = ()
    packages: tuple[str, ...] = ()
    workers: int = 2
    timeout: float = 120.0
    seconds: float = 60.0
    memory: int = 8192
    rolling: bool = False
    keep: Path | None = None
    then: tuple[str, ...] = ()


def check(
    target: str,
    request: CheckRequest,
    options: Options,
    *,
    home: Home,
    corpus: Dataset,
    cwd: Path,
    say: Callable[[str], None],
) -> Answer:
    """Measure ``target`` and answer.

    Raises :class:`~caniexport.model.errors.UnknownName` for a name that is not there, :class:`UnusableModel` for what
    cannot be checked on any release, :class:`~caniexport.model.errors.CorpusError` for a case file that cannot be used.
    """
    steps = read_steps(request.then)
    files = read_target(target, cwd, options)
    for text in request.packages:
        environments.requirement(text)
    chosen, own = _chosen(request, cwd, say)
    wanted = [allow_lower_opsets(release, request.opsets) for release in chosen]
    _require_opsets(request, wanted)
    with tempfile.TemporaryDirectory(prefix="caniexport-check-", ignore_cleanup_errors=True) as name:
        work = Path(name)
        for file, text in files.items():
            (work / "cases").mkdir(exist_ok=True)
            (work / "cases" / file).write_text(text, encoding="utf-8")
        cases = read_cases(work / "cases")
        measured = []
        for release in wanted:
            python = own if own and own.release.torch == release.torch else None
            measured.append(_measure(release, python, request, home, work, cwd, cases, say))
            _refuse_factory(measured, is_last=release is wanted[-1])
        answer = write_answer(measured, Asked(request.exporters, request.opsets), corpus)
        return follow_road(answer, measured[0].cells, steps, work, options, say)


def _chosen(request: CheckRequest, cwd: Path, say: Callable[[str], None]) -> tuple[list[Release], Environment | None]:
    """The releases asked for, newest first, and the user's own environment where it is one of them."""
    own = None if request.packages else environments.find_own_environment(cwd, say)
    if "all" in request.releases:
        return list(reversed(releases.read_table())), own
    named = {}
    for text in request.releases:
        is_own = own is not None and versions.public(text) == own.release.torch
        release = own.release if own is not None and is_own else releases.find(text)
        named[release.torch] = release
    if not named:
        found = own.release if own else releases.read_table()[-1]
        named[found.torch] = found
    return [named[torch] for torch in reversed(versions.ordered(named))], own


def allow_lower_opsets(release: Release, opsets: Sequence[int]) -> Release:
    """The release with these opsets for dynamo too: it takes any lower one without an error, and writes another."""
    low, high = release.dynamo or (0, 0)
    # dynamo_export of 2.1 to 2.4 takes no opset at all
    return release._replace(dynamo=(min(low, *opsets), high)) if opsets and low < high else release


def _require_opsets(request: CheckRequest, wanted: Sequence[Release]) -> None:
    """Raises :class:`UnknownName` where no release chosen takes any opset asked for."""
    exporters = request.exporters or EXPORTERS
    taken = {opset for release in wanted for name in exporters for opset in release.opsets(name) if opset is not None}
    if request.opsets and not taken & set(request.opsets):
        asked = ", ".join(map(str, request.opsets))
        known = f"{min(taken)} to {max(taken)}" if taken else "none, because the default call names no opset"
        raise UnknownName(f"opset {asked} is not measured here (measured: {known})")


def read_cases(folder: Path) -> Mapping[str, LoadedCase]:
    """The cases of a folder. Raises :class:`~caniexport.model.errors.CorpusError`, and for none."""
    found = {name: item for name, item in case_files.load([folder], stand_in=True).items() if not item.is_environment}
    if not found:
        raise UnusableModel("no case in these files: give a class derived from Case, or MODULE:FACTORY")
    return found


def _measure(
    release: Release,
    own: Environment | None,
    request: CheckRequest,
    home: Home,
    work: Path,
    cwd: Path,
    cases: Mapping[str, LoadedCase],
    say: Callable[[str], None],
) -> MeasuredRelease:
    wanted = release if own else environments.fit_release(release, request.packages)
    try:
        python = own or environments.make_environment_for(wanted, request.packages, home, say)
    except InstallationFailed as error:
        return MeasuredRelease(release.torch, problem=str(error))
    say(f"torch {release.torch}: measuring with {python.python}")
    code = make_code_folder(replace(home, local=work))
    setup = MeasurementSetup(
        python, code, work, request.timeout, request.memory, work / "bundles" if request.keep or request.then else None
    )
    question = ReleaseQuestion(wanted, request.exporters, request.opsets)
    found = measure_release(setup, cases, question, request.seconds, request.workers, say)
    if request.keep:
        _keep_files(found, work / "bundles", cwd / request.keep)
    if request.rolling and not own:
        shutil.rmtree(python.python.parents[1], ignore_errors=True)
    return found


def _keep_files(measured: MeasuredRelease, bundles: Path, folder: Path) -> None:
    """Write each exported file under the name of its call: ``net-make-torch2.15.0-dynamo-18.onnx``."""
    folder.mkdir(parents=True, exist_ok=True)
    for cell in measured.cells:
        archive = bundles / cell.bundle[:2] / f"{cell.bundle}.zip"
        if cell.bundle and archive.is_file():
            variant = cell.case if cell.variant == PLAIN else f"{cell.case}-{cell.variant}"
            call = f"{EXPORTER_SHORT[cell.exporter]}-{cell.opset_effective if cell.opset is None else cell.opset}"
            content = zipfile.ZipFile(archive).read("model.onnx")
            (folder / f"{variant}-torch{cell.torch}-{call}.onnx").write_bytes(content)


def _refuse_factory(measured: Sequence[MeasuredRelease], *, is_last: bool) -> None:
    """Raise if the factory returned something that no release can export, or raised on every release."""
    texts = [
        [cell.message for cell in item.cells if cell.message.startswith((_WRONG, _RAISED))]
        for item in measured
        if item.cells
    ]
    for text in texts[-1] if texts else ():
        if text.startswith(_WRONG):
            raise UnusableModel(text.splitlines()[0].removeprefix(_WRONG))
    if is_last and texts and all(texts):
        reason = texts[0][0].removeprefix(_RAISED).replace("\ncaused by ", ": ").splitlines()[0]
        raise UnusableModel(f"{reason} (torch {measured[0].torch})")
