"""Measuring what a user gave in a folder of theirs, release by release, with the table's pins and their own."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from caniexport import versions
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.check.environments import Environment, NoEnvironment, environment, fitting
from caniexport.check.limits import fixed_by_tracing, told_as_measured
from caniexport.check.session import CheckSession, Told
from caniexport.check.subject import UnusableModel
from caniexport.check.widen import Point, ReleaseQuestion
from caniexport.home import Home
from caniexport.machine.disk import Budget
from caniexport.measure.done import done_cells
from caniexport.measure.job import new_run_id, utc_now
from caniexport.model import plan, releases
from caniexport.model.corpus import LoadedCase
from caniexport.model.errors import UnknownName
from caniexport.model.journal import Journal
from caniexport.model.plan import Cell
from caniexport.model.releases import Release
from caniexport.model.rows import MEASURING_VERSION
from caniexport.model.status import EXPORTERS, WORKS, Exporter, Stage, Status
from caniexport.store import Dataset, compact
from caniexport.store.gates import GOOD
from caniexport.worker.codehash import code_hash

#: says that a folder was made here, so that another one's files are never written over
MARK = ".caniexport-check"
#: models whose rows are kept in one folder
_KEPT = 20
#: how such a folder is named
_KEY = re.compile(r"[0-9a-f]{12}")
_PROVIDER = "cpu"
_TORCHSCRIPT = (Exporter.TRACE.value, Exporter.SCRIPT.value)
#: before the exporter has seen the model, no other opset or exporter can change anything
_BEFORE_EXPORT = (Stage.RESOLVE.value, Stage.IMPORT.value, Stage.EAGER.value)
#: how an error of dynamo begins that has not come as far as an opset
_CAPTURE_FAILS = "Failed to export the model with torch.export"


@dataclass(frozen=True)
class CheckPlace:
    """The folder of a check: ``model`` has the case files and the rows of one model, ``shared`` what all models use."""

    model: Home
    shared: Home

    @property
    def local(self) -> Path:
        """The dataset of the model's rows."""
        return self.model.local

    @property
    def bundles(self) -> Path:
        """The folder of the exported files, where they are kept."""
        return self.local / "bundles"


def prepare(folder: Path, home: Home, files: Mapping[str, str], packages: Sequence[str] = ()) -> CheckPlace:
    """Make the folder of a check, with a folder in it for these files; its environments and earlier rows stay.

    Raises :class:`UnusableModel` for a folder with other things in it, one inside a dataset or the corpus, and where
    nothing can be written.
    """
    folder = folder.resolve()
    for taken in (home.published, home.local, *home.corpora):
        if folder == taken.resolve() or taken.resolve() in folder.parents:
            raise UnusableModel(f"--into {folder}: this is within {taken.name}/, which a check never writes to")
    own = folder / "checks" / _key(files, packages)
    try:
        if folder.exists() and not (folder / MARK).is_file() and (not folder.is_dir() or any(folder.iterdir())):
            raise UnusableModel(f"--into {folder}: there are other things; name a folder that is not there yet")
        own.mkdir(parents=True, exist_ok=True)
        (folder / MARK).touch()
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        _write_files(own / "cases", files)
        canaries = {path.name: path.read_text(encoding="utf-8") for path in home.cases.glob("canar*.py")}
        _write_files(folder / "canaries", canaries)
        _remove_oldest(own)
    except OSError as error:
        raise UnusableModel(f"--into {folder}: cannot be written ({error.strerror})") from error
    none = folder / "none"
    model = Home(folder, own / "cases", none, own / "results", home.tox_ini)
    root = folder / f"with-{_digest(sorted(packages))[:6]}" if packages else folder
    return CheckPlace(model, replace(model, root=root, cases=folder / "canaries", local=folder / "environments"))


def _key(files: Mapping[str, str], packages: Sequence[str]) -> str:
    """Twelve hex digits for what is measured: the files, the packages beside them and the measuring code."""
    return _digest([dict(files), sorted(packages), MEASURING_VERSION, code_hash()])


def _digest(parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("utf-8")).hexdigest()[:12]


def _write_files(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        if not (folder / name).is_file() or (folder / name).read_text(encoding="utf-8") != text:
            (folder / name).write_text(text, encoding="utf-8")


def _remove_oldest(own: Path) -> None:
    """Keep the rows of the last models only; ``own`` is the newest."""
    os.utime(own)
    ours = (path for path in own.parent.iterdir() if _KEY.fullmatch(path.name))
    folders = sorted(ours, key=lambda path: path.stat().st_mtime, reverse=True)
    for old in folders[_KEPT:]:
        shutil.rmtree(old, ignore_errors=True)


@dataclass(frozen=True)
class CheckRequest:
    """Where to look: ``releases`` (empty: the newest of the table), exporters and opsets (empty: all).

    ``memory`` is MiB and ``timeout`` seconds for a cell, ``disk_budget`` bytes. After ``seconds`` nothing more is begun
    that was not named. ``fresh`` measures again what an earlier check of the same model has; ``keep_files`` keeps the
    exported files.
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
    disk_budget: int = 0
    fresh: bool = False
    keep_files: bool = False


def chosen(request: CheckRequest) -> list[Release]:
    """The releases asked for, newest first: what is wrong with a model is often seen in the first of them."""
    names = request.releases
    if "all" in names:
        found = list(releases.table())
    else:
        by_torch = {release.torch: release for release in map(releases.find, names)}
        found = [by_torch[torch] for torch in versions.ordered(by_torch)] or [releases.table()[-1]]
    return [_with_lower(release, request.opsets) for release in reversed(found)]


def _with_lower(release: Release, opsets: Sequence[int]) -> Release:
    """The release with these opsets for dynamo too: it takes any lower one without an error, and writes another."""
    low, high = release.dynamo or (0, 0)
    # dynamo_export of 2.1 to 2.4 takes no opset at all
    return release._replace(dynamo=(min(low, *opsets), high)) if opsets and low < high else release


def require_opsets(request: CheckRequest, wanted: Sequence[Release]) -> None:
    """Raises :class:`UnknownName` where no release chosen takes any opset asked for."""
    exporters = request.exporters or EXPORTERS
    taken = {opset for release in wanted for name in exporters for opset in release.opsets(name) if opset is not None}
    if request.opsets and not taken & set(request.opsets):
        asked = ", ".join(map(str, request.opsets))
        known = f"{min(taken)} to {max(taken)}" if taken else "none: the default exporter asks for no opset"
        raise UnknownName(f"opset {asked}: these releases and exporters are asked for {known}")


def left_out(request: CheckRequest, wanted: Sequence[Release]) -> Iterator[str]:
    """The exporters asked for of which no release chosen takes any opset asked for, in words."""
    for name in request.exporters if request.opsets else ():
        opsets = {opset for release in wanted for opset in release.opsets(name)}
        if opsets & set(request.opsets):
            continue
        taken = sorted(opset for opset in opsets if opset is not None)
        known = f"it is asked for {taken[0]} to {taken[-1]}" if taken else "these releases do not have it"
        why = "the default call asks for no opset" if None in opsets else known
        yield f"{EXPORTER_SHORT[name]} was not measured at opset {', '.join(map(str, request.opsets))}: {why}"


def cases(place: CheckPlace) -> dict[str, LoadedCase]:
    """The cases of a place. Raises :class:`~caniexport.model.errors.CorpusError`."""
    found = {name: item for name, item in place.model.read_cases().items() if not item.is_environment}
    if not found:
        raise UnusableModel("no case in these files: a class derived from Case, or MODULE:FACTORY, is wanted")
    return found


@dataclass(frozen=True)
class MeasuredRelease:
    """How the measuring of a release ended: ``problem`` in words, empty where there is none; ``left`` says what was not
    begun for want of time.
    """

    problem: str = ""
    left: str = ""


def measure_release(
    release: Release,
    request: CheckRequest,
    place: CheckPlace,
    known: dict[str, LoadedCase],
    say: Callable[[str], None],
    hear: Callable[[Mapping[str, Any]], None],
    highest: Mapping[str, int],
) -> MeasuredRelease:
    """Measure what is asked of the cases ``known`` in one release; ``hear`` is given each row that is measured.

    ``highest`` has the newest opset that a version of onnxruntime takes.
    """
    release = fitting(with_packages(release, request.packages)) or release
    question = ReleaseQuestion(release, request.exporters, request.opsets, _highest(release, highest))
    measuring = _Measuring(question, request, place, known, say, hear)
    try:
        measuring.finish()
    except NoEnvironment as error:
        return MeasuredRelease(str(error))
    finally:
        if request.rolling:
            shutil.rmtree(place.shared.environments / f"torch{release.torch}-{_PROVIDER}", ignore_errors=True)
    return MeasuredRelease(measuring.problem, measuring.left)


def _highest(release: Release, highest: Mapping[str, int]) -> int | None:
    """The newest opset that the release's runtime takes; ``None`` where it is of no version that is known."""
    pins = [requirement(pin) for pin in release.pins]
    found = [str(pin.specifier).removeprefix("==") for pin in pins if canonicalize_name(pin.name) == "onnxruntime"]
    return highest.get(found[0]) if found else None


def notes_of(place: CheckPlace, torch: str) -> Mapping[str, Any]:
    """What was noted of a factory when it was called; empty where none was."""
    try:
        found: Mapping[str, Any] = json.loads(_notes(place, torch).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def _notes(place: CheckPlace, torch: str) -> Path:
    return place.local / f"notes-{torch}.json"


def forget_changed(
    request: CheckRequest, place: CheckPlace, releases: Sequence[Release], known: Mapping[str, LoadedCase]
) -> None:
    """Before any release is measured: remove the rows of a model of which a file has changed since at one of them, or
    of which that is not known; all rows where the request wants them new, or files that were not kept.
    """
    is_made = any(item.cls.corpus == "checked" for item in known.values())
    without_files = request.keep_files and not place.bundles.is_dir()
    is_old = is_made and any(_has_rows(place, item.torch) and _is_changed(place, item.torch) for item in releases)
    if request.fresh or without_files or is_old:
        shutil.rmtree(place.local, ignore_errors=True)


def _is_changed(place: CheckPlace, torch: str) -> bool:
    """Whether a file that the model was made of at a release is another one, or nothing is known of them."""
    notes = notes_of(place, torch)
    return not (notes and all(_is_same(*entry) for entry in notes["files"]))


def _has_rows(place: CheckPlace, torch: str) -> bool:
    return bool(Dataset.open(None, place.local).select(("case",), {"torch": (torch,)}))


def _is_same(path: str, size: int, changed: int) -> bool:
    try:
        status = Path(path).stat()
    except OSError:
        return False
    return (status.st_size, status.st_mtime_ns) == (size, changed)


class _Measuring:
    """What is measured of one release: rows as they come, and what of them is still to be asked."""

    def __init__(
        self,
        question: ReleaseQuestion,
        request: CheckRequest,
        place: CheckPlace,
        known: dict[str, LoadedCase],
        say: Callable[[str], None],
        hear: Callable[[Mapping[str, Any]], None],
    ) -> None:
        self.problem, self.left = "", ""
        self._ended = False
        self._hear = hear
        self._question, self._request, self._place, self._say = question, request, place, say
        self._run_id = new_run_id()
        self._cells: dict[Point, list[Cell]] = defaultdict(list)
        for cell in plan.cells(known, question.release, _PROVIDER):
            self._cells[cell.exporter, cell.opset].append(cell)
        self._statuses: dict[Point, dict[tuple[str, str], Status]] = defaultdict(dict)
        self._asked: set[Point] = set()
        self._lock = threading.RLock()
        self._journal: Journal | None = None
        self._environment: Environment | None = None
        self._sessions: list[CheckSession] = []
        self._captured: set[tuple[int, str, str, str]] = set()
        self._pointless = self._is_fixed = False
        self._began = time.monotonic()

    def finish(self) -> None:
        """Measure until nothing can change the answer, or the time is over. Raises :class:`NoEnvironment`."""
        self._take_kept()
        seen = self._seen()
        self.left = self._known_left()
        lanes = [lane for lane in self._question.lanes if self._question.next_points(lane, seen)]
        if not lanes or self._is_settled() or (self.left and not self._named):
            return
        self.left = ""
        self._environment = self._made()
        self._began = time.monotonic()
        try:
            self._measure(lanes)
        finally:
            if self._journal is not None:
                self._journal.close()
                compact(self._place.local)

    def _measure(self, lanes: Sequence[tuple[str, ...]]) -> None:
        with ThreadPoolExecutor(min(len(lanes), self._request.workers)) as pool:
            jobs = [pool.submit(self._measure_lane, lane) for lane in lanes]
            try:
                for job in jobs:
                    job.result()
            except BaseException:
                self._ended = True
                for session in self._sessions:
                    session.kill()
                raise

    def _made(self) -> Environment:
        budget = None
        if self._request.rolling:
            shared = self._place.shared
            budget = Budget(self._request.disk_budget, shared.environments, shared.root / "downloads")
            budget.check()
        return environment(self._question.release, self._place.shared, self._say, budget)

    def _take_kept(self) -> None:
        """Rows that an earlier check of the same model has left in the same environment."""
        torch, dataset = self._question.release.torch, Dataset.open(None, self._place.local)
        done = done_cells(dataset, self._question.release, _PROVIDER, also=(Status.SKIP,))
        keys = {cell.key: cell for cells in self._cells.values() for cell in cells if cell.key in done}
        kept = {(cell.case, cell.variant, cell.exporter, cell.opset) for cell in keys.values()}
        columns = ("case", "variant", "exporter", "opset", "status", "stage")
        for *name, status, stage in dataset.select(columns, {"torch": (torch,)}) if kept else ():
            case, variant, exporter, opset = name
            if (case, variant, exporter, opset) in kept:
                self._note(case, variant, exporter, opset, status, stage)

    def _note(self, case: str, variant: str, exporter: str, opset: int | None, status: str, stage: str) -> None:
        self._statuses[exporter, opset][case, variant] = Status(status)
        self._pointless |= stage in _BEFORE_EXPORT and Status(status) not in WORKS

    def _seen(self) -> dict[Point, tuple[Status, ...]]:
        """By point: what its cells came out with; of one that was asked in vain, nothing."""
        found: dict[Point, tuple[Status, ...]] = dict.fromkeys(self._asked, ())
        for point, statuses in self._statuses.items():
            if len(statuses) == len(self._cells[point]):
                found[point] = tuple(statuses[key] for key in sorted(statuses))
        return found

    def _next(self, lane: Sequence[str]) -> list[Point]:
        with self._lock:
            points = self._question.next_points(lane, self._seen(), is_fixed=self._is_fixed)
            if self._ended or self._is_settled():
                return []
            if points and self._is_late() and self._statuses:
                self._leave(points[0][0])
                return []
            self._asked.update(points)
            return points

    @property
    def _named(self) -> bool:
        return bool(self._question.opsets)

    def _leave(self, exporter: str) -> None:
        """Note that the time is over for what was not named, so that the next check of the model ends there too."""
        short = EXPORTER_SHORT[exporter]
        self.left = f"{self.left} and {short}" if self.left else short
        text = json.dumps({"seconds": self._request.seconds, "left": self.left})
        (self._place.local / f"left-{self._question.release.torch}.json").write_text(text, encoding="utf-8")

    def _known_left(self) -> str:
        """What an earlier check left for want of as much time as there is now."""
        path = self._place.local / f"left-{self._question.release.torch}.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return ""
        if found["seconds"] >= self._request.seconds:
            return str(found["left"])
        path.unlink()
        return ""

    def _is_settled(self) -> bool:
        """Whether the only model there is fails before any exporter has seen it."""
        return self._pointless and len({cell.case for cells in self._cells.values() for cell in cells}) == 1

    def _is_late(self) -> bool:
        return not self._named and time.monotonic() - self._began > self._request.seconds

    def _measure_lane(self, lane: Sequence[str]) -> None:
        session: CheckSession | None = None
        points = self._next(lane)
        while points:
            cells = [cell for point in points for cell in self._cells[point]]
            if cells and session is None:
                session = self._begin(lane)
            for group in plan.groups(cells).values():
                assert session is not None
                self._take(self._measured(session, lane, group), len(group))
            points = self._next(lane)
        if session is not None:
            session.close()

    def _measured(self, session: CheckSession, lane: Sequence[str], group: Sequence[Cell]) -> Iterator[Told]:
        """The rows of a group. Capturing a module does not depend on the opset, and torch 2.13 captures an RNN with
        dynamic axes once in a process: where capturing fails after it did not, it is done again in another process.
        """
        for cell, told in zip(group, session.measure(group), strict=False):
            row, texts = told
            fails = _CAPTURE_FAILS in texts.get(row.get("message_id") or "", "")
            model = (id(session), cell.case, cell.variant, cell.exporter)
            if row["stage"] not in (*_BEFORE_EXPORT, Stage.EXPORT.value):
                self._captured.add(model)
            if fails and model in self._captured:
                other = self._begin(lane)
                told = next(other.measure([cell]), told)
                other.close()
            yield told

    def _begin(self, lane: Sequence[str]) -> CheckSession:
        assert self._environment is not None
        dynamo = any(name not in _TORCHSCRIPT for name in lane) and bool(self._question.release.dynamo)
        request = self._request
        place = replace(
            self._environment.place,
            home=self._place.model,
            timeout=request.timeout,
            memory=request.memory,
            dynamo=dynamo,
            bundles=request.keep_files,
        )
        session = CheckSession(place, self._run_id)
        with self._lock:
            self._sessions.append(session)
            if self._journal is None:
                self._journal = Journal(self._place.local / "journal", f"check-{self._run_id}")
                row = dict(session.environment, run_id=self._run_id, measured_at=utc_now(), gate=GOOD)
                self._journal.environment(row)
        return session

    def _take(self, told: Iterator[tuple[Mapping[str, Any], Mapping[str, str]]], expected: int) -> None:
        """Write rows as they come, and say what the first of a point came out with."""
        count = 0
        for measured, said in told:
            count += 1
            row, texts = told_as_measured(measured, said)
            with self._lock:
                assert self._journal is not None
                self._journal.cell(row, texts)
                self._note(*(row[name] for name in ("case", "variant", "exporter", "opset", "status", "stage")))
                is_trace = row["exporter"] == Exporter.TRACE.value and Status(row["status"]) in WORKS
                self._is_fixed |= is_trace and bool(
                    fixed_by_tracing(texts.get(row.get("warning_id") or "", ""), reads=True, varies=True)
                )
                self._tell(row)
                self._hear(row)
        if count < expected and not self._pointless:
            self.problem = "the measuring process ended before its last cell (see the log below the folder)"

    def _tell(self, row: Mapping[str, Any]) -> None:
        short = EXPORTER_SHORT[row["exporter"]]
        where = "the default call" if row["opset"] is None else f"{short}, opset {row['opset']}"
        word = "not judged" if row["status"] == Status.SKIP.value else row["status"]
        end = word if Status(row["status"]) in WORKS else f"{word} at {row['stage']}"
        self._say(f"torch {row['torch']}: {where}: {end} ({time.monotonic() - self._began:.1f} s)")


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
