"""``measure --on``: releases measured by the workers of a Dask cluster, a shard each.

Dask decides who measures what, and gives the shard of a worker that died to another. A shard that failed is missing:
asking again measures it.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from caniexport import home as homes
from caniexport.measure.cells import find_default_releases, measure, plan_jobs
from caniexport.measure.merge import merge
from caniexport.measure.settle import copy_bundles
from caniexport.measure.shards import Shard
from caniexport.model import plan, releases
from caniexport.model.canaries import is_canary
from caniexport.model.errors import CaniexportError
from caniexport.worker.codehash import hash_measuring_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from distributed import Client

    from caniexport.measure.job import MeasureOptions, RunReport

#: what a worker declares that measures for us: ``dask worker --resources caniexport=1``
RESOURCE = "caniexport"
#: cells of a shard where nothing else is asked, tries of one, and seconds that a first worker is waited for
_CELLS, _TRIES, _PATIENCE = 1500, 3, 60


class ClusterError(CaniexportError):
    """A cluster that cannot be reached, a worker with another caniexport, or a shard that was not measured."""


def measure_on(
    options: MeasureOptions, address: str, shards: int | None, say: Callable[[str], None]
) -> tuple[list[RunReport], dict[str, str]]:
    """Measure what is new on a Dask cluster (``tcp://host:8786``, or ``local:4``); reports, and why shards failed.

    Each shard is merged when it comes. Raises :class:`ClusterError`.
    """
    tasks = {_name(task): task for task in _missing_shards(options, shards)}
    if not tasks:
        say("nothing new to measure")
        return [], {}
    home, reports, failed = homes.find().of_corpus(options.corpus), {}, {}
    resources = {RESOURCE: 1, **({"GPU": 1} if options.provider == "cuda" else {})}
    with _connect(address, say) as client, tempfile.TemporaryDirectory(prefix="caniexport-") as folder:
        from distributed import as_completed

        futures = client.map(
            run_shard,
            list(tasks.values()),
            code=hash_measuring_code(),
            key=list(tasks),
            resources=resources,
            retries=_TRIES - 1,
        )
        for number, future in enumerate(as_completed(futures), start=1):
            try:
                for name, content in future.result().items():
                    path = Path(folder) / future.key / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(content)
                for report in merge([Path(folder) / future.key], home)[0]:
                    reports[report.version] = report
            except Exception as error:  # whatever a worker raises: the shard is still missing
                failed[future.key] = f"{type(error).__name__}: {error}".splitlines()[0]
            future.release()
            say(f"{future.key}: {failed.get(future.key) or 'measured'} · {number} of {len(tasks)} shards")
    return list(reports.values()), failed


def _name(task: MeasureOptions) -> str:
    environment = releases.make_environment_name(task.releases[0].torch, task.profile.name, task.provider)
    return f"{environment}-{task.shard}".replace("/", "-of-")


def _missing_shards(options: MeasureOptions, count: int | None) -> Iterator[MeasureOptions]:
    """The shards in which a cell is to be measured."""
    for release, job in zip(options.releases or find_default_releases(), plan_jobs(options), strict=True):
        of = count or max(1, len(plan.cells(job.corpus, job.release, options.provider)) // _CELLS)
        new = [cell for cell in job.todo if not is_canary(cell.case)]
        for shard in (Shard(number, of) for number in range(1, of + 1)):
            if any(map(shard.holds, new)):
                yield replace(options, releases=(release,), shard=shard)


@contextmanager
def _connect(address: str, say: Callable[[str], None]) -> Iterator[Client]:
    """A client of the cluster at an address, or of one of ``local:4`` processes that ends with it."""
    import distributed

    kind, _, number = address.partition(":")
    with ExitStack() as held:
        if kind == "local" and number.isdecimal() and int(number):
            own = {"resources": {RESOURCE: 1}, "dashboard_address": ":0", "memory_limit": 0}
            cluster = distributed.LocalCluster(n_workers=int(number), threads_per_worker=1, **own)
            address = held.enter_context(cluster).scheduler_address
        elif "://" not in address:
            raise ClusterError(f"{address!r} is no cluster: tcp://host:8786, or local:4 for four processes here")
        try:
            client = held.enter_context(distributed.Client(address, timeout=_PATIENCE / 2))
            client.wait_for_workers(1, timeout=_PATIENCE)
        except (OSError, ValueError, TimeoutError) as error:
            raise ClusterError(f"no Dask scheduler with a worker answers at {address}: {error}") from error
        say(f"dashboard: {client.dashboard_link}")
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        if not any(worker["resources"].get(RESOURCE) for worker in workers):
            raise ClusterError(f"no worker offers {RESOURCE}: start them with `dask worker --resources {RESOURCE}=1`")
        yield client


def run_shard(options: MeasureOptions, code: str) -> dict[str, bytes]:
    """Measure a shard with this machine's own installation; the files of its dataset, without exported ones.

    These stay on this machine. What was measured before this process died is not measured again here.
    """
    if code != hash_measuring_code():
        raise ClusterError(f"this worker has other measuring code ({hash_measuring_code()}) than who asks ({code})")
    here = homes.find().of_corpus(options.corpus).of(options.profile.name)
    folder = here.local / "shards" / _name(options)
    (report,) = measure(replace(options, home=replace(here, local=folder)), partial(print, file=sys.stderr))
    if report.problem:
        raise ClusterError(report.problem)
    copy_bundles([folder], here.local)
    paths = [path for pattern in ("cells/*.parquet", "*.parquet") for path in folder.glob(pattern)]
    found = {str(path.relative_to(folder)): path.read_bytes() for path in paths}
    shutil.rmtree(folder)
    return found
