"""What is measured already, and whose turn it is to measure the rest: the same for cells and replays."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from caniexport.machine.turns import wait_for_turn
from caniexport.model.rows import make_cell_key
from caniexport.model.status import MEASURED
from caniexport.store import Dataset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from caniexport.measure.job import Job, JobOptions
    from caniexport.runtime_releases import RuntimeRelease

_MEASURED = frozenset(status.value for status in MEASURED)
_CELL = ("case_hash", "measuring", "case", "variant", "exporter", "opset", "provider")
_ENVIRONMENT_CASE = ("case", "variant", "case_hash")

SomeJob = TypeVar("SomeJob", bound="Job")


def open_done(options: JobOptions) -> Dataset:
    """The dataset whose rows count as done."""
    return Dataset.open(options.home.published if options.missing else None, options.local)


def find_done_cells(dataset: Dataset, torch: str, spec: str, provider: str) -> frozenset[str]:
    """Keys of the cells of a release that have a row measured with the same pins."""
    same = {row["env_id"] for row in dataset.records("environments", {"spec": (spec,)})}
    where = {"torch": (torch,), "provider": (provider,), "env_id": same, "status": _MEASURED}
    return frozenset(make_cell_key(*row) for row in dataset.select(_CELL, where, runtimes=True))


def find_done_environment_cases(dataset: Dataset) -> frozenset[tuple[str, str, str]]:
    """Case, variant and hash of the environment cases that have a row."""
    return frozenset(dataset.select(_ENVIRONMENT_CASE, {"exporter": (None,), "status": _MEASURED}, runtimes=True))


def find_done_replays(dataset: Dataset, release: RuntimeRelease, provider: str) -> frozenset[str]:
    """Keys of the files of an archive that were run on a release of a runtime."""
    place = {"runtime": (release.runtime,), "runtime_version": (release.version,), "provider": (provider,)}
    rows = dataset.run_groups(("bundle", "session"), {}, {**place, "status": _MEASURED})
    return frozenset(bundle + (session or "") for bundle, session in rows)


@contextmanager
def take_turn(job: SomeJob, plan: Callable[[SomeJob], SomeJob]) -> Iterator[SomeJob]:
    """Yield the job when no other process measures it into the same folder; after a wait it is planned anew."""
    if not job.todo:
        yield job
        return
    with wait_for_turn(job.options.local, job.environment, job.progress.say) as waited:
        yield plan(job) if waited else job
