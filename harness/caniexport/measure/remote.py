"""What a Dask worker does: measure one shard with its own installation, and hand back rows as they are finished.

It measures with the function that a single machine measures with, into a folder of its own. Rows go to a folder or URL
that all machines reach, or through the scheduler; where a shard was begun elsewhere, its rows are taken first.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport import __version__
from caniexport import home as homes
from caniexport.home import Home
from caniexport.machine import interpreters
from caniexport.measure.cells import measure
from caniexport.measure.deliveries import TASKS, append_rows, fetched, remove_rows, send_deliveries
from caniexport.measure.merge import merge
from caniexport.measure.merge_replays import NothingToMergeError
from caniexport.measure.shards import CutShard
from caniexport.measure.tox_calls import environment_failure
from caniexport.model.errors import CaniexportError, DiskFull
from caniexport.store.journal_reader import journals
from caniexport.worker.codehash import code_hash

if TYPE_CHECKING:
    from distributed import Worker

    from caniexport.measure.job import MeasureOptions, ReleaseReport

#: what a worker declares that measures for us, and how many shards it takes at a time
RESOURCE = "caniexport"
#: the topic of what workers have to say
TOPIC = "caniexport"
#: seconds between two messages with rows
_PAUSE = 2.0
_CELL, _ENVIRONMENT = b'"kind": "cell"', b'"kind": "environment"'
#: one measurement at a time in a process: tox reads its table of releases from the process's environment
_ONE_AT_A_TIME = threading.Lock()


class UnfitWorkerError(CaniexportError):
    """A worker that cannot measure what it was given."""


class AbandonedError(CaniexportError):
    """A task that nobody waits for any more."""


@dataclass(frozen=True)
class ShardTask:
    """One shard of one release, for a worker.

    options    as on a single machine, but for the places, which are the worker's own
    cut        which part of which plan: the worker's own plan must be cut alike
    identity   of the caniexport that asks
    name       of the shard: ``torch2.8.0-cpu-3-of-8``
    place      the folder or URL where rows go to; ``None`` for the scheduler
    known      deliveries of the shard that have come before
    elsewhere  whether another worker has the release's Python
    """

    options: MeasureOptions
    cut: CutShard
    identity: str
    name: str
    place: str | None = None
    known: tuple[bytes, ...] = ()
    elsewhere: bool = False

    @property
    def topic(self) -> str:
        """The topic of its rows."""
        return f"{TOPIC}-{self.name}-{self.cut.digest}"


@dataclass(frozen=True)
class ShardResult:
    """What a worker measured: its reports, and the delivery where it did not go elsewhere."""

    reports: Sequence[ReleaseReport]
    name: str = ""
    data: bytes = b""


def identity(corpus: str) -> str:
    """This caniexport: two that say the same measure the same cells with the same code."""
    return f"{__version__} (measuring code {code_hash()}, cases {_cases_hash(homes.find().of_corpus(corpus))})"


def _cases_hash(home: Home) -> str:
    known = home.read_cases()
    hashes = (
        f"{name}/{variant} {known[name].case_hash(variant)}" for name in known for variant in known[name].variants
    )
    return hashlib.sha256("\n".join(sorted(hashes)).encode()).hexdigest()[:8]


def lacking(minors: Sequence[str]) -> list[str]:
    """Those of these Pythons that this machine has not and cannot fetch."""
    return [minor for minor in minors if interpreters.find(minor) is None]


def measure_shard(task: ShardTask) -> ShardResult:
    """Measure a shard on this worker. A worker that cannot takes no further one, and Dask gives it to another."""
    from distributed import Reschedule, get_worker

    worker = get_worker()
    try:
        _check(task)
        with _ONE_AT_A_TIME:
            return _measure(task, Sending(task, worker))
    except (UnfitWorkerError, DiskFull) as error:
        _withdraw(worker, str(error))
        raise Reschedule from error
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        _withdraw(worker, f"no space left for {error.filename}")
        raise Reschedule from error


def _check(task: ShardTask) -> None:
    mine = identity(task.options.corpus)
    if mine != task.identity:
        raise UnfitWorkerError(f"it has caniexport {mine}, and {task.identity} asks")


def _withdraw(worker: Worker, why: str) -> None:
    """Offer nothing more: the tasks that wait for this worker go to others."""
    from distributed import get_client

    worker.log_event(TOPIC, {"worker": worker.address, "unfit": why})
    worker.loop.add_callback(worker.set_resources, **{RESOURCE: 0})
    # the scheduler has to know before it gives this task to anybody
    get_client().run_on_scheduler(_giving_back(), worker.address, worker.get_current_task())


def _giving_back() -> Callable[..., None]:
    """A function for a scheduler that may have no caniexport: it travels as it is, not by its name."""
    resource = RESOURCE

    def give_back(address: str, current: str, dask_scheduler: Any) -> None:
        dask_scheduler.add_resources(address, {resource: 0})
        tasks = [task for task in dask_scheduler.workers[address].processing if task.key != current]
        ours = [task.key for task in tasks if resource in (task.resource_restrictions or {})]
        dask_scheduler.transitions(dict.fromkeys(ours, "released"), stimulus_id=f"{resource}-gives-back")

    return give_back


def _measure(task: ShardTask, sending: Sending) -> ShardResult:
    here, profile = homes.find().of_corpus(task.options.corpus), task.options.profile.name
    folder = here.local / TASKS / socket.gethostname() / task.name
    base = replace(here, local=folder)
    options = replace(task.options, home=base.of(profile))
    try:
        _take_what_is_known(task, sending.earlier(), base)
        sending.follow(options.home.local)
        reports = measure(options, sending.say, sending.tell)
        _require_fit(task, reports)
        reports = [_with_log(report, sending.worker.address, options.home.local / "logs") for report in reports]
    except (DiskFull, UnfitWorkerError):
        # what was sent is kept elsewhere, and the next one needs the room
        shutil.rmtree(folder, ignore_errors=True)
        raise
    result = sending.finish(reports)
    _bring_bundles(options.home.local, here.of(profile).local)
    shutil.rmtree(folder, ignore_errors=True)
    return result


def _with_log(report: ReleaseReport, address: str, logs: Path) -> ReleaseReport:
    """The report; a problem with the worker and what its log says last: the log goes with the worker's folder."""
    if not report.problem:
        return report
    found = max(logs.glob("*.log"), key=lambda path: path.stat().st_mtime, default=None)
    line = environment_failure(found) if found else "there is none"
    said = "" if line in report.problem else f"; its log: {line}"
    return replace(report, problem=f"{report.problem} (on {address}{said})")


def _require_fit(task: ShardTask, reports: Sequence[ReleaseReport]) -> None:
    """Raise :class:`UnfitWorkerError` where another worker has what this one lacks, or this one has another plan."""
    for report in reports:
        if task.elsewhere and report.lacks:
            raise UnfitWorkerError(f"it lacks {report.lacks}")
        if report.shard and report.shard != str(task.cut):
            other = f"{report.shard}, not {task.cut}"
            raise UnfitWorkerError(f"it cuts the plan otherwise ({other}): its published dataset is another one")


def _take_what_is_known(task: ShardTask, earlier: bytes, home: Home) -> None:
    """Bring the rows of this shard that others have measured into the folder that it is measured into."""
    with tempfile.TemporaryDirectory(prefix="caniexport-") as folder:
        for number, data in enumerate(filter(None, (*task.known, earlier))):
            (Path(folder) / f"{number}.jsonl").write_bytes(data)
        with contextlib.suppress(NothingToMergeError):
            merge([Path(folder)], home)


def _bring_bundles(folder: Path, local: Path) -> None:
    """Put exported files beside the others of this machine."""
    for path in (folder / "bundles").rglob("*.zip"):
        target = local / path.relative_to(folder)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(path, target)


@dataclass
class Sending:
    """Hands the rows of a shard on as they are finished, through a folder, a URL or the scheduler."""

    task: ShardTask
    worker: Worker
    _folder: Path = Path()
    _read: dict[Path, int] = field(default_factory=dict)
    _waiting: list[bytes] = field(default_factory=list)
    _sent: float = 0.0
    _finished: int = 0
    _environments: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._key = self.worker.get_current_task()
        self._part = f"{self.task.name}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}.part.jsonl"

    def earlier(self) -> bytes:
        """The rows of this shard that were sent before, by whomever."""
        if self.task.place is None:
            from distributed import get_client

            events = get_client().get_events(self.task.topic)
            return b"".join(message["rows"] for _, message in events)
        if "://" not in self.task.place:
            Path(self.task.place).mkdir(parents=True, exist_ok=True)
        with fetched(self.task.place, f"{self.task.name}-") as folder:
            return b"".join(map(_whole_lines, sorted(folder.glob(f"*{self.task.name}-*.jsonl"))))

    def follow(self, folder: Path) -> None:
        """Send what is written into this local dataset from now on."""
        self._folder = folder

    def say(self, line: str) -> None:
        """A line for a person."""
        self.worker.log_event(TOPIC, {"worker": self.worker.address, "said": line})

    def tell(self) -> None:
        """Send what is new, now and then. Raises :class:`AbandonedError` where nobody waits for this task."""
        self._waiting += self._new_lines()
        if time.monotonic() - self._sent < _PAUSE:
            return
        state = self.worker.state.tasks.get(self._key)
        if state is None or state.state == "cancelled":
            raise AbandonedError(f"{self.task.name}: nobody waits for it any more")
        self._send(b"".join(self._waiting))

    def _send(self, rows: bytes) -> None:
        self._sent, self._waiting = time.monotonic(), []
        self._finished += rows.count(_CELL)
        self._environments += [line for line in rows.splitlines(keepends=True) if _ENVIRONMENT in line[:64]]
        if self.task.place is not None and rows:
            # a file of its own at a URL: it says in which environment its rows were measured
            beside = b"".join(self._environments) if "://" in self.task.place else b""
            append_rows(self.task.place, self._part, beside + rows)
            rows = b""
        self.worker.log_event(self.task.topic, {"rows": rows, "finished": self._finished, "part": self._part})

    def _new_lines(self) -> Iterator[bytes]:
        for path in journals(self._folder):
            data = _whole_lines(path, self._read.get(path, 0))
            self._read[path] = self._read.get(path, 0) + len(data)
            yield data

    def finish(self, reports: Sequence[ReleaseReport]) -> ShardResult:
        """Send the delivery of the whole shard; what was sent before is then in it."""
        path = next((Path(report.file) for report in reports if report.file), None)
        if path is None:
            return ShardResult(reports)
        if self.task.place is None:
            return ShardResult(reports, path.name, path.read_bytes())
        send_deliveries([path], self.task.place)
        remove_rows(self.task.place, self.task.name)
        return ShardResult(reports, path.name)


def _whole_lines(path: Path, start: int = 0) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(start)
            data = file.read()
    except FileNotFoundError:  # compacted in this moment: the delivery of the shard will have its rows
        return b""
    return data[: data.rfind(b"\n") + 1]
