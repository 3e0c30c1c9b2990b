"""What a measurement is asked, what it reports, and the rows that it owes."""

from __future__ import annotations

import datetime
import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from caniexport.gate.repeats import REPEATED
from caniexport.machine.disk import GIGABYTE, Budget
from caniexport.model.messages import describe
from caniexport.model.rows import CELLS, MEASURING_VERSION
from caniexport.model.status import Stage, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from caniexport.home import Home
    from caniexport.model import plan
    from caniexport.model.releases import Release


@dataclass(frozen=True)
class MeasureOptions:
    """What to measure, and how.

    releases   names of releases; empty for the default ones, ``("all",)`` for the whole table
    cases      case ids or case/variant; empty for all
    cells      names of cells as :func:`cell_name` gives them: these and nothing else, whether they are done or not
    apart      measure the cells each apart, twice, whether they are done or not
    missing    count published rows as done too: only what the published dataset does not hold yet
    fresh      measure everything again, whatever is done
    rolling    remove each environment after it has been measured, and downloads where ``disk_budget`` asks for it
    disk_budget  bytes that environments and downloads may take, where ``rolling``
    workers    pytest-xdist workers
    timeout    seconds a cell may take
    memory     MiB a cell may allocate; the plugin's own limit where it is not given
    repeat     cells of each release to measure a second time (A/A), where nothing was selected
    plan       only say what would be measured
    """

    home: Home
    releases: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    exporters: tuple[str, ...] = ()
    opsets: tuple[int, ...] = ()
    cells: frozenset[str] = frozenset()
    apart: bool = False
    provider: str = "cpu"
    workers: int = 2
    missing: bool = False
    fresh: bool = False
    rolling: bool = False
    disk_budget: int = 20 * GIGABYTE
    timeout: float = 60.0
    memory: int | None = None
    repeat: int = REPEATED
    plan: bool = False

    @property
    def whole(self) -> bool:
        """Whether all of a release is asked for."""
        return not (self.cases or self.exporters or self.opsets or self.cells)

    @property
    def budget(self) -> Budget:
        """What a rolling measurement may delete: a user's own cache of downloads is not ours to clean."""
        return Budget(self.disk_budget, self.home.root / ".tox", self.home.local / "downloads")


@dataclass(frozen=True)
class ReleaseReport:
    """How the measurement of one release ended; ``problem`` is empty where its rows may be published.

    ``lacks`` is what it needs and this machine has not (``Python 3.8``), ``invalid`` the rows that measured nothing by
    reason, ``moved`` the cells that came out otherwise than their published row.
    """

    torch: str
    planned: int
    measured: int
    seconds: float
    problem: str = ""
    lacks: str = ""
    invalid: Mapping[str, int] = field(default_factory=dict)
    moved: tuple[str, ...] = ()


def cell_name(torch: str, cell: plan.Cell) -> str:
    """``torch/case/variant/exporter/opset`` of a planned cell, as claims and files of cells name it."""
    return "/".join(
        (torch, cell.case, cell.variant, cell.exporter, "default" if cell.opset is None else str(cell.opset))
    )


def owed_row(release: Release, provider: str, run_id: str, cell: plan.Cell | None, text: str) -> tuple[Any, Any]:
    """A row for what could not be measured: one cell (``invalid``), or the whole release (``resolve``, no case)."""
    stage = Stage.RESOLVE if cell is None else Stage.EAGER
    kind = "Unavailable" if cell is None else "Lost"
    signature, identifier, kept = describe(stage.value, kind, text)
    row: dict[str, Any] = dict.fromkeys(column.name for column in CELLS)
    row.update(
        run_id=run_id,
        measured_at=utc_now(),
        torch=release.torch,
        python=release.python,
        corpus="documented",
        measuring=MEASURING_VERSION,
        provider=provider,
        stage=stage.value,
        status=(Status.NOT_RUN if cell is None else Status.INVALID).value,
        signature=signature,
        message_id=identifier,
    )
    if cell is not None:
        row.update(case=cell.case, variant=cell.variant, exporter=cell.exporter, opset=cell.opset)
        row.update(case_hash=cell.case_hash)
    return row, {identifier: kept}


def new_run_id() -> str:
    """A name for a run: when it began, and four digits that tell two of one second apart."""
    return time.strftime("%Y%m%dT%H%M%S", time.gmtime()) + f"-{random.SystemRandom().randrange(1 << 16):04x}"


def utc_now() -> str:
    """This moment as rows have it: ISO 8601 with milliseconds and Z."""
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    return now.isoformat(timespec="milliseconds") + "Z"
