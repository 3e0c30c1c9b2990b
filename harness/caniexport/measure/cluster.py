"""``measure --on``: releases measured by the workers of a Dask cluster, a shard each.

Dask decides who measures what and when, and gives the shards of a worker that died to others. This says what there is
to do, shows how far it is, keeps the rows that come, and merges them as rows of other machines are merged.
"""

from __future__ import annotations

import importlib.metadata
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.machine.disk import ENVIRONMENT
from caniexport.measure.cells import chosen_releases, plan_of
from caniexport.measure.deliveries import SHARDS, fetched
from caniexport.measure.done import done_cells, measured_before
from caniexport.measure.merge import merge
from caniexport.measure.merge_replays import NothingToMergeError
from caniexport.measure.merged_release import MergedRelease
from caniexport.measure.progress import Progress
from caniexport.measure.remote import RESOURCE, TOPIC, ShardResult, ShardTask, identity, lacking, measure_shard
from caniexport.measure.resolve_profile import resolve
from caniexport.measure.shards import CutShard, Shard, cut, digest, past_microseconds, took
from caniexport.model.canaries import is_canary
from caniexport.model.errors import CaniexportError, EnvironmentUnavailable
from caniexport.model.releases import environment_name
from caniexport.store import Dataset

if TYPE_CHECKING:
    from distributed import Client, Future

    from caniexport.measure.job import MeasureOptions
    from caniexport.model.releases import Release

#: seconds that a shard is to take, by what rows took
_SHARD_SECONDS = 600
#: seconds between two looks; seconds without any worker, or without the scheduler, after which nothing is waited for
_POLL, _PATIENCE = 1.0, 60.0
#: bytes that a process which measures may take, beside what a cell may allocate (MiB)
_PROCESS, _CELL_MEMORY = 1 << 30, 2048


class ClusterError(CaniexportError):
    """A cluster that cannot be reached, or whose workers cannot measure."""


@dataclass(frozen=True)
class ClusterReport:
    """What came of a measurement on a cluster: releases as they are merged, shards that failed, with the reason."""

    releases: Sequence[MergedRelease]
    failed: Mapping[str, str]

    @property
    def complete(self) -> bool:
        """Whether every shard was measured and every row may be used."""
        return not self.failed and all(report.complete for report in self.releases)


def measure_on(
    options: MeasureOptions, address: str, place: str | None, shards: int | None, say: Callable[[str], None]
) -> ClusterReport:
    """Measure what is new on the workers of a Dask cluster: ``tcp://host:8786``, or ``local:4``, four processes here.

    ``place`` is a folder or URL that all machines reach, for rows; without one they come through the scheduler.
    Raises :class:`ClusterError`; what had come by then is merged.
    """
    if place and "://" not in place:
        Path(place).mkdir(parents=True, exist_ok=True)
    merge_kept(options)
    with connected(address, say) as client:
        workers = accepted_workers(client, options.corpus, say)
        tasks = list(shard_tasks(options, place, shards or None, max(len(workers), 1)))
        run = ClusterRun(client, options, say)
        try:
            failed = run.measure(_with_pythons(client, workers, tasks))
        finally:
            reports = merge_kept(options, place)
    return ClusterReport(reports, failed)


def merge_kept(options: MeasureOptions, place: str | None = None) -> list[MergedRelease]:
    """Merge the deliveries that have come, here and at ``place``."""
    from caniexport import home as homes

    base = homes.find().of_corpus(options.corpus)
    folder = base.of(options.profile.name).local / SHARDS
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(NothingToMergeError), ExitStack() as held:
        there = [held.enter_context(fetched(place))] if place else []
        return merge([folder, *there], base)[0]
    return []


@contextmanager
def connected(address: str, say: Callable[[str], None]) -> Iterator[Client]:
    """A client of the cluster at an address, or of one of ``local:4`` processes that ends with it."""
    import distributed

    kind, _, number = address.partition(":")
    if kind == "local" and number.isdecimal() and int(number):
        with (
            tempfile.TemporaryDirectory(prefix="caniexport-dask-") as folder,
            distributed.LocalCluster(
                n_workers=int(number),
                threads_per_worker=1,
                resources={RESOURCE: 1},
                dashboard_address=":0",
                local_directory=folder,
                memory_limit=0,
                silence_logs=40,
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            say(f"dashboard: {client.dashboard_link}")
            yield client
        return
    if "://" not in address:
        raise ClusterError(f"{address!r} is no cluster: tcp://host:8786, or local:4 for four processes on this machine")
    try:
        client = distributed.Client(address, timeout=_PATIENCE / 2)
    except (OSError, ValueError, TimeoutError) as error:
        raise ClusterError(f"no Dask scheduler answers at {address}: {error}") from error
    with client:
        say(f"dashboard: {client.dashboard_link}")
        yield client


def accepted_workers(client: Client, corpus: str, say: Callable[[str], None]) -> list[str]:
    """The workers that measure for us and have the same caniexport; others are told, and get no task."""
    with suppress(TimeoutError):
        client.wait_for_workers(1, timeout=_PATIENCE)
    offering = [
        address
        for address, worker in client.scheduler_info(n_workers=-1)["workers"].items()
        if worker["resources"].get(RESOURCE)
    ]
    if not offering:
        raise ClusterError(
            f"no worker offers the resource {RESOURCE}: they are started with `dask worker --resources {RESOURCE}=1`"
        )
    mine = identity(corpus)
    said = client.run(identity, corpus, workers=offering, on_error="return")
    others = [address for address in offering if said[address] != mine]
    if others:
        versions = client.run(importlib.metadata.version, "caniexport", workers=others, on_error="return")
        for address in others:
            told = said[address] if isinstance(said[address], str) else _version(versions[address])
            say(f"{address} has caniexport {told}, this is {mine}: it is not used")
    if len(others) == len(offering):
        raise ClusterError("no worker has the caniexport that asks")
    if others:
        client.run(_withdrawing(), workers=others)
    return [address for address in offering if address not in others]


def _version(found: object) -> str:
    return found if isinstance(found, str) else "(not installed)"


def _withdrawing() -> Callable[[Any], Any]:
    """A function for workers that may have no caniexport: it travels as it is, not by its name."""
    resource = RESOURCE

    async def withdraw(dask_worker: Any) -> None:
        await dask_worker.set_resources(**{resource: 0})

    return withdraw


def shard_tasks(
    options: MeasureOptions, place: str | None, shards: int | None, workers: int
) -> Iterator[tuple[ShardTask, Release, int]]:
    """The shards in which something is to be measured, their releases, and how many cells that is."""
    dataset, mine = measured_before(options), identity(options.corpus)
    for release in (_resolved(release, options) for release in chosen_releases(options)):
        cells = plan_of(options, release)
        seconds = past_microseconds(Dataset.open(options.home.published, None), release.torch)
        count = shards or _count(sum(took(cell, seconds) for cell in cells) / 1e6, workers)
        parts = cut(cells, count, seconds)
        cut_as, done = digest(parts), done_cells(dataset, release, options.provider)
        for number, part in enumerate(parts, start=1):
            new = [cell for cell in part if cell.key not in done]
            if all(is_canary(cell.case) for cell in new) and (done or not part):
                continue
            shard = Shard(number, count)
            name = f"{environment_name(release.torch, options.profile.name, options.provider)}-{shard.file_name}"
            task = ShardTask(
                options=replace(options, releases=(release.torch,), shard=shard),
                cut=CutShard(shard, len(part), cut_as),
                identity=mine,
                name=name,
                place=place,
                known=tuple(path.read_bytes() for path in sorted((options.local / SHARDS).glob(f"{name}-*.jsonl"))),
            )
            yield task, release, len(new)


def _resolved(release: Release, options: MeasureOptions) -> Release:
    """The release with the pins of its profile, where they can be had here: they say what is done already."""
    with suppress(EnvironmentUnavailable):
        return resolve(release, options.profile, options.local / "pins")
    return release


def _count(seconds: float, workers: int) -> int:
    """How many shards: none longer than ten minutes, and where there is work for it one for every worker."""
    return max(1, round(seconds / _SHARD_SECONDS), min(workers, round(seconds / 30)))


def _with_pythons(
    client: Client, workers: Sequence[str], tasks: Sequence[tuple[ShardTask, Release, int]]
) -> list[tuple[ShardTask, int]]:
    """The tasks, each told whether some worker has its Python: one that lacks it leaves it to that one then."""
    minors = sorted({release.python for _, release, _ in tasks})
    lacks = client.run(lacking, minors, workers=list(workers)) if minors else {}
    had = {minor for minor in minors if any(minor not in some for some in lacks.values())}
    return [(replace(task, elsewhere=release.python in had), cells) for task, release, cells in tasks]


@dataclass
class ClusterRun:
    """One measurement on a cluster: its tasks, and what is heard of them."""

    client: Client
    options: MeasureOptions
    say: Callable[[str], None]
    _finished: dict[str, int] = field(default_factory=dict)
    _parts: dict[str, set[Path]] = field(default_factory=dict)

    def measure(self, tasks: Sequence[tuple[ShardTask, int]]) -> dict[str, str]:
        """Have all measured; the shards that failed, by name, with the reason. Raises :class:`ClusterError`."""
        if not tasks:
            self.say("nothing new to measure")
            return {}
        self.client.subscribe_topic(TOPIC, self._hear)
        futures = {self._submit(task): task for task, _ in tasks}
        progress = Progress(self.say)
        label = f"{len(tasks)} shards"
        planned = sum(cells for _, cells in tasks)
        progress.begin({label: planned})
        failed: dict[str, str] = {}
        waiting, alone = set(futures), 0.0
        while waiting:
            # of a worker that dies with a result that nobody has, Dask says "lost", and has it measured again
            done = {future for future in waiting if future.status not in ("pending", "lost")}
            if not done:
                time.sleep(_POLL)
            for future in done:
                waiting.discard(future)
                self._take(future, futures[future], failed)
                # what is taken is not measured again where its worker dies later
                future.release()
            alone = 0.0 if done or self._workers() else alone + _POLL
            if alone > _PATIENCE:
                raise ClusterError(f"no worker has been left for {_PATIENCE:.0f} s: {self._owed(waiting, futures)}")
            progress.update(label, min(planned, sum(self._finished.values())))
        progress.end(label, 0, sum(self._finished.values()), "; ".join(failed.values()))
        return failed

    def _submit(self, task: ShardTask) -> Future:
        """The same shard of two clients is one task."""
        self.client.subscribe_topic(task.topic, lambda event: self._keep(task, event[1]))
        return self.client.submit(
            measure_shard, task, key=f"{task.topic}-{len(task.known)}", resources=self._needs(task), pure=False
        )

    def _needs(self, task: ShardTask) -> dict[str, float]:
        """What a worker must have free: of disk and memory only where workers say what they have."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        declared = {name for worker in workers for name in worker["resources"]}
        memory = (task.options.memory or _CELL_MEMORY) * 2**20 + _PROCESS
        wanted = {"DISK": ENVIRONMENT, "MEMORY": memory * task.options.workers}
        needs: dict[str, float] = {name: size for name, size in wanted.items() if name in declared}
        return {RESOURCE: 1, **needs, **({"GPU": 1} if task.options.provider == "cuda" else {})}

    def _workers(self) -> bool:
        """Whether somebody could measure."""
        if self.client.status != "running":
            return False
        with suppress(OSError, TimeoutError):
            workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
            return any(worker["resources"].get(RESOURCE) for worker in workers)
        return False

    def _take(self, future: Future, task: ShardTask, failed: dict[str, str]) -> None:
        result: ShardResult | None = future.result() if future.status == "finished" else None
        problems = [report.problem for report in result.reports if report.problem] if result else [_why(future)]
        if problems:
            failed[task.name] = problems[-1]
            self.say(f"{task.name} failed: {failed[task.name]}")
        if result is None:
            return
        if result.data:
            folder = self.options.local / SHARDS
            folder.mkdir(parents=True, exist_ok=True)
            (folder / result.name).write_bytes(result.data)
        # those of an earlier measurement stay: they have been merged, and what became of their runs is still to be told
        for path in self._parts.pop(task.name, set()):
            path.unlink(missing_ok=True)

    def _keep(self, task: ShardTask, message: Mapping[str, Any]) -> None:
        """Rows that come while a shard is measured: of a worker that dies then, they are all that there is."""
        self._finished[task.name] = max(message["finished"], self._finished.get(task.name, 0))
        if message["rows"]:
            folder = self.options.local / SHARDS
            folder.mkdir(parents=True, exist_ok=True)
            part = folder / message["part"]
            if not part.exists():
                self._parts.setdefault(task.name, set()).add(part)
            with part.open("ab") as file:
                file.write(message["rows"])

    def _hear(self, event: tuple[float, Mapping[str, str]]) -> None:
        message = event[1]
        if "unfit" in message:
            self.say(f"{message['worker']} measures nothing more: {message['unfit']}")

    def _owed(self, waiting: set[Future], futures: Mapping[Future, ShardTask]) -> str:
        names = sorted(futures[future].name for future in waiting)
        return f"{len(names)} shards are owed ({', '.join(names[:5])}{', ...' if len(names) > 5 else ''})"


def _why(future: Future) -> str:
    """Why a task failed, in one line."""
    if future.status == "cancelled":
        return (
            "it is owed, for the scheduler has gone or somebody has cancelled it; the same command goes on from there"
        )
    error = future.exception()
    return f"{type(error).__name__}: {error}".splitlines()[0]
