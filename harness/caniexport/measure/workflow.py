"""The jobs of a workflow for GitHub Actions (docs/nightly.yml) that measures releases in shards, one job each.

The workflow names no release: its first job asks :func:`matrix` when it runs, which reads the table of releases, the
plan and the seconds that rows took.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil
from typing import TYPE_CHECKING, Any

from caniexport.measure.shards import Shard, Unit, past_of_each, total_seconds
from caniexport.model import plan
from caniexport.model.errors import CaniexportError

if TYPE_CHECKING:
    from caniexport.model.corpus import LoadedCase
    from caniexport.model.releases import Release
    from caniexport.store import Dataset

#: jobs that GitHub makes of one matrix at most
MOST_JOBS = 256
#: processors of a job's machine, and minutes of a job in which its environment is made
_WORKERS, _MAKING = 4, 15


class TooManyJobsError(CaniexportError):
    """More jobs than one matrix may have."""


def matrix(
    releases: Iterable[Release], corpus: Mapping[str, LoadedCase], dataset: Dataset, hours: float
) -> dict[str, Any]:
    """The jobs of a matrix: so many shards of each release that none takes longer than these hours.

    Raises :class:`TooManyJobsError`.
    """
    wanted = list(releases)
    past = past_of_each(dataset, [release.torch for release in wanted])
    jobs = [job for release in wanted for job in _jobs(release, corpus, past[release.torch], hours)]
    if len(jobs) > MOST_JOBS:
        raise TooManyJobsError(
            f"{len(jobs)} jobs of {hours:g} h are more than the {MOST_JOBS} of one matrix: take fewer releases or "
            "longer jobs"
        )
    return {"include": jobs}


def _jobs(
    release: Release, corpus: Mapping[str, LoadedCase], past: Mapping[Unit, int], hours: float
) -> Iterable[dict[str, str]]:
    cells = plan.cells(dict(corpus), release, "cpu")
    seconds = total_seconds(cells, past) / _WORKERS
    count = max(1, ceil(seconds / (hours * 3600 - _MAKING * 60)))
    for number in range(1, count + 1):
        shard = Shard(number, count)
        yield {"torch": release.torch, "shard": str(shard), "name": f"{release.torch}-{shard.file_name}"}
