"""What a measurement is asked, the run of one environment that it comes to, and what it reports."""

from __future__ import annotations

import contextlib
import datetime
import random
import shutil
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from caniexport.gate.repeats import REPEATED
from caniexport.home import DOCUMENTED
from caniexport.profiles import NEWEST_PACKAGES, EnvironmentProfile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from caniexport.home import Home
    from caniexport.measure.progress import Progress
    from caniexport.measure.shards import Shard
    from caniexport.model import plan
    from caniexport.model.corpus import LoadedCase
    from caniexport.model.releases import Release
    from caniexport.runner.archive import ArchiveEntry
    from caniexport.runtime_releases import RuntimeRelease


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """What a measurement of cells and one of replays are both asked.

    cases      case ids or case/variant; empty for all, as are ``exporters`` and ``opsets``
    provider   execution provider; empty for each runtime's first
    workers    processes side by side
    timeout    seconds that a cell or a bundle may take
    missing    count published rows as done too: only what the published dataset does not hold yet
    fresh      measure everything again, whatever is done
    rolling    remove each environment and its downloads after it has been measured
    shard      this part of each release alone
    """

    home: Home
    cases: tuple[str, ...] = ()
    exporters: tuple[str, ...] = ()
    opsets: tuple[int, ...] = ()
    provider: str = ""
    workers: int = 2
    timeout: float = 60.0
    missing: bool = False
    fresh: bool = False
    rolling: bool = False
    shard: Shard | None = None

    @property
    def local(self) -> Path:
        """The dataset that the rows go to."""
        return self.home.local


@dataclass(frozen=True, kw_only=True)
class MeasureOptions(JobOptions):
    """What cells to measure, and how.

    releases   to be measured; empty for the default ones
    cells      names of cells as :func:`format_cell` gives them: these and nothing else, whether they are done or not
    apart      measure the cells each apart, twice, whether they are done or not
    repeat     cells of each release to measure a second time (A/A), where nothing was selected
    plan       only say what would be measured
    profile    what is installed beside torch; ``home`` is that of the profile
    corpus     which cases, by the name of ``home``'s corpus
    """

    releases: tuple[Release, ...] = ()
    cells: frozenset[str] = frozenset()
    apart: bool = False
    provider: str = "cpu"
    repeat: int = REPEATED
    plan: bool = False
    profile: EnvironmentProfile = NEWEST_PACKAGES
    corpus: str = DOCUMENTED

    @property
    def whole(self) -> bool:
        """Whether all of a release is asked for."""
        return not (self.cases or self.exporters or self.opsets or self.cells)


@dataclass(frozen=True, kw_only=True)
class ReplayOptions(JobOptions):
    """What bundles to run again, and how.

    runtimes  releases of runtimes, in the order in which they run
    torch     only bundles of cells of these releases; empty for all that this machine has
    archive   run this archive and nothing else; else one is packed
    output    folder of the rows, if not the local dataset
    """

    runtimes: tuple[RuntimeRelease, ...]
    torch: tuple[str, ...] = ()
    archive: Path | None = None
    output: Path | None = None

    @property
    def local(self) -> Path:
        """The dataset that the rows go to."""
        return self.output.resolve() if self.output else self.home.local


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run in one tox environment.

    table        what its rows are of: ``cells`` or ``runs``
    environment  the environment's name
    label        what a person calls it: ``torch 2.8.0``, ``onnxruntime==1.14.1``
    todo         what is to be measured, ``done`` the keys of what needs no measuring
    arguments    of the command in the environment: what is wanted, and what each cell or bundle may take
    variables    of its process
    """

    table: ClassVar[str]
    options: JobOptions
    release: Release | RuntimeRelease
    environment: str
    label: str
    todo: Sequence[plan.Cell | ArchiveEntry] = ()
    done: frozenset[str] = frozenset()
    arguments: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    progress: Progress
    run_id: str = field(default_factory=lambda: make_run_id())

    @property
    def pins(self) -> tuple[str, ...]:
        """Requirements that must be installed as they are asked for."""
        raise NotImplementedError

    @property
    def log(self) -> Path:
        """The file that the output of tox goes to."""
        return self.options.local / "logs" / f"{self.environment}.log"

    def tell(self, line: str) -> None:
        """Say a line about this job."""
        self.progress.say(f"{self.label}: {line}")

    @property
    def downloads(self) -> Path:
        """The cache of a rolling measurement: a user's own is not ours to clean."""
        return self.options.home.environments / f"{self.environment}.downloads"

    def clean(self) -> None:
        """Remove the environment and its downloads, where that was asked."""
        if self.options.rolling:
            for folder in (self.options.home.environments / self.environment, self.downloads):
                going = folder.with_name(f"{folder.name}.going")
                shutil.rmtree(going, ignore_errors=True)
                # an environment of which a part is left would be taken for whole
                with contextlib.suppress(FileNotFoundError):
                    folder.rename(going)
                shutil.rmtree(going, ignore_errors=True)


@dataclass(frozen=True, kw_only=True)
class CellsJob(Job):
    """Cells of one torch release, whose case files are ``corpus``; ``unresolved`` is why its packages do not fit."""

    table: ClassVar[str] = "cells"
    options: MeasureOptions
    release: Release
    todo: Sequence[plan.Cell] = ()
    corpus: dict[str, LoadedCase]
    unresolved: str = ""

    @property
    def pins(self) -> tuple[str, ...]:
        """What the table of releases says."""
        return tuple(self.release.requirements)


@dataclass(frozen=True, kw_only=True)
class ReplaysJob(Job):
    """Bundles on one release of a runtime; ``wanted`` are all that are asked for."""

    table: ClassVar[str] = "runs"
    options: ReplayOptions
    release: RuntimeRelease
    provider: str
    wanted: Sequence[ArchiveEntry]
    todo: Sequence[ArchiveEntry] = ()

    @property
    def pins(self) -> tuple[str, ...]:
        """What the table of runtimes says."""
        return self.release.requirements(self.provider)


@dataclass(frozen=True)
class ReleaseReport:
    """How the measurement of one release ended.

    planned, measured  cells to measure, and cells with a row
    problem  why its rows may not be published; empty if they may
    lacks    what it needs and this machine has not: ``Python 3.8``
    invalid  number of rows that measured nothing, by reason
    moved    cells whose outcome is not that of their published row
    """

    torch: str
    planned: int
    measured: int
    seconds: float
    problem: str = ""
    lacks: str = ""
    invalid: Mapping[str, int] = field(default_factory=dict)
    moved: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunReport:
    """Rows of bundles on a runtime, or the rows that other machines measured (``runtime`` is then torch).

    statuses  number of rows by status
    problem   why the gate refuses them; empty if it accepts them
    missing   names of the cells without a row, of a release that was measured in shards
    """

    runtime: str
    version: str
    provider: str
    run_id: str
    rows: int
    statuses: dict[str, int]
    problem: str
    missing: tuple[str, ...] = ()

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]], problem: str) -> RunReport:
        """The report of these rows, of which there is one at least."""
        first, statuses = rows[0], Counter(row["status"] for row in rows)
        name, version = ("torch", first["torch"]) if "torch" in first else (first["runtime"], first["runtime_version"])
        counts = dict(sorted(statuses.items()))
        return cls(name, version or "", first["provider"], first["run_id"], len(rows), counts, problem)


def format_cell(torch: str, cell: plan.Cell) -> str:
    """``torch/case/variant/exporter/opset`` of a planned cell, as claims and files of cells name it."""
    opset = "default" if cell.opset is None else str(cell.opset)
    return "/".join((torch, cell.case, cell.variant, cell.exporter, opset))


def make_run_id() -> str:
    """A name for a run: when it began, and four digits that tell two of one second apart."""
    return time.strftime("%Y%m%dT%H%M%S", time.gmtime()) + f"-{random.SystemRandom().randrange(1 << 16):04x}"


def utc_now() -> str:
    """This moment as rows have it: ISO 8601 with milliseconds and Z."""
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    return now.isoformat(timespec="milliseconds") + "Z"
