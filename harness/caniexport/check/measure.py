"""Measure a user's model with one release: few cells first, then those that can still change the answer."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from caniexport.answers.point import call_text
from caniexport.check.cells import CheckedCell, read_cell
from caniexport.check.session import CheckSession, MeasurementSetup
from caniexport.check.widen import Point, ReleaseQuestion
from caniexport.measure.job import make_run_id
from caniexport.model import plan
from caniexport.model.corpus import LoadedCase
from caniexport.model.plan import Cell
from caniexport.model.status import Exporter, Stage, Status

_PROVIDER = "cpu"
_TORCHSCRIPT = (Exporter.TRACE.value, Exporter.SCRIPT.value)
#: before the exporter has seen the model, no other opset or exporter can change anything
BEFORE_EXPORT = (Stage.RESOLVE, Stage.IMPORT, Stage.EAGER)
#: first words of dynamo's errors that do not depend on the opset
_CAPTURE_FAILS = "Failed to export the model with torch.export"
#: first words of the tracer's warnings about values that become constants
CONVERTED = "Converting a tensor to a Python"


@dataclass(frozen=True)
class ModelNotes:
    """What was noted when the factory was called; empty for case files.

    ``sets`` describe the sets of inputs that it accepts, of which the first ``given`` are the user's, ``refused`` those
    that it does not. ``asked`` are the axes that the user named, ``axes`` those that vary. ``is_rough``: rounding alone
    moves its outputs by more than the tolerance; ``keeps_state``: a second call on the same inputs gives other values;
    ``reads_values``: it turns tensor values into Python numbers.
    """

    given: int = 0
    sets: Sequence[str] = ()
    refused: Sequence[str] = ()
    axes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    is_rough: bool = False
    keeps_state: bool = False
    reads_values: bool = False
    asked: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class MeasuredRelease:
    """What was measured of a release.

    ``packages`` are those of its environment, with ``python``; ``left`` the exporters for which there was no more time;
    ``problem`` is the reason why cells are missing.
    """

    torch: str
    cells: tuple[CheckedCell, ...] = ()
    packages: Mapping[str, str] = field(default_factory=dict)
    notes: ModelNotes = field(default_factory=ModelNotes)
    left: tuple[str, ...] = ()
    problem: str = ""


def measure_release(
    setup: MeasurementSetup,
    cases: Mapping[str, LoadedCase],
    question: ReleaseQuestion,
    seconds: float,
    workers: int,
    say: Callable[[str], None],
) -> MeasuredRelease:
    """Measure until nothing can change the answer; after ``seconds`` only named exporters and opsets are measured.

    ``workers`` exporters are measured at once; ``say`` is called with a line for each cell.
    """
    run = _Measurement(setup, cases, question, seconds, say)
    with ThreadPoolExecutor(workers) as pool:
        jobs = [pool.submit(run.measure_lane, lane) for lane in question.lanes]
        try:
            for job in jobs:
                job.result()
        except BaseException:
            run.stop()
            raise
    packages = json.loads(run.environment.get("packages", "{}")) | {"python": str(run.environment.get("python", ""))}
    torch = question.release.torch
    return MeasuredRelease(torch, tuple(run.cells), packages, _read_notes(setup), tuple(run.left), run.problem)


def _read_notes(setup: MeasurementSetup) -> ModelNotes:
    try:
        return ModelNotes(**json.loads(setup.notes.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return ModelNotes()


class _Measurement:
    """The cells measured so far, and the points still to measure."""

    def __init__(
        self,
        setup: MeasurementSetup,
        cases: Mapping[str, LoadedCase],
        question: ReleaseQuestion,
        seconds: float,
        say: Callable[[str], None],
    ) -> None:
        self.cells: list[CheckedCell] = []
        self.left: list[str] = []
        self.problem = ""
        self.environment: Mapping[str, Any] = {}
        self._setup, self._question, self._seconds, self._say = setup, question, seconds, say
        self._planned: dict[Point, list[Cell]] = defaultdict(list)
        for cell in plan.cells(dict(cases), question.release, _PROVIDER):
            self._planned[cell.exporter, cell.opset].append(cell)
        self._is_one = len(cases) == 1
        self._asked: dict[Point, None] = {}
        self._run_id = make_run_id()
        self._sessions: list[CheckSession] = []
        self._captured: set[tuple[CheckSession, str, str, str]] = set()
        self._lock = threading.RLock()
        self._is_ended = False
        self._began = time.monotonic()

    def stop(self) -> None:
        """Start nothing more, and stop the measuring processes."""
        self._is_ended = True
        for session in self._sessions:
            session.kill()

    def measure_lane(self, lane: Sequence[str]) -> None:
        """Measure the exporters of a lane in one process."""
        session: CheckSession | None = None
        while points := self._next(lane):
            groups = plan.group_cells([cell for point in points for cell in self._planned[point]])
            for group in groups.values():
                session = session or self._begin(lane)
                count = sum(self._add(*result) for result in self._measured(session, lane, group))
                if count < len(group) and not self._is_pointless:
                    log = self._setup.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
                    self.problem = f"the measuring process ended early: {log[-1] if log else 'its log is empty'}"
        if session is not None:
            session.close()

    def _next(self, lane: Sequence[str]) -> list[Point]:
        with self._lock:
            points = self._question.next_points(lane, self._seen(), is_fixed=self._is_fixed)
            if self._is_ended or self._is_pointless or not points:
                return []
            is_late = time.monotonic() - self._began > self._seconds
            if is_late and self.cells and not self._question.opsets:
                self.left.append(points[0][0])
                return []
            self._asked.update(dict.fromkeys(points))
            return points

    def _seen(self) -> dict[Point, tuple[Status, ...]]:
        """The statuses of the cells of each requested point, in a fixed order."""
        found: dict[Point, tuple[Status, ...]] = dict.fromkeys(self._asked, ())
        for cell in sorted(self.cells, key=lambda item: (item.case, item.variant)):
            found[cell.exporter, cell.opset] += (Status.SKIP if cell.limit else cell.status,)
        return found

    @property
    def _is_pointless(self) -> bool:
        """Whether the only model fails before the export."""
        return self._is_one and any(cell.stage in BEFORE_EXPORT and not cell.works for cell in self.cells)

    @property
    def _is_fixed(self) -> bool:
        """Whether a working trace may be wrong for other values, so that the script is measured too."""
        traces = [cell for cell in self.cells if cell.exporter == Exporter.TRACE.value and cell.works]
        return any(CONVERTED in cell.warnings for cell in traces)

    def _begin(self, lane: Sequence[str]) -> CheckSession:
        warms_dynamo = any(name not in _TORCHSCRIPT for name in lane) and bool(self._question.release.dynamo)
        session = CheckSession(self._setup, self._run_id, dynamo=warms_dynamo)
        with self._lock:
            self._sessions.append(session)
            self.environment = self.environment or session.environment
        return session

    def _measured(
        self, session: CheckSession, lane: Sequence[str], group: Sequence[Cell]
    ) -> Iterator[tuple[Mapping[str, Any], Mapping[str, str]]]:
        """The rows of a group. Capturing a module does not depend on the opset, and torch 2.13 captures an RNN with
        dynamic axes once in a process: where capturing fails after it did not, it is done again in another process.
        """
        for cell, result in zip(group, session.measure(group), strict=False):
            row, texts = result
            model = (session, cell.case, cell.variant, cell.exporter)
            if Stage(row["stage"]) not in (*BEFORE_EXPORT, Stage.EXPORT):
                self._captured.add(model)
            if model in self._captured and _CAPTURE_FAILS in texts.get(row.get("message_id") or "", ""):
                other = self._begin(lane)
                result = next(other.measure([cell]), result)
                other.close()
            yield result

    def _add(self, row: Mapping[str, Any], texts: Mapping[str, str]) -> bool:
        cell = read_cell(row, texts)
        with self._lock:
            self.cells.append(cell)
        call = call_text(cell.torch, cell.exporter)
        where = "the default call" if cell.exporter == Exporter.DEFAULT.value else f"{call}, opset {cell.opset}"
        status = "not judged" if cell.limit else cell.status.value
        outcome = status if cell.works else f"{status} at {cell.stage.value}"
        variant = "" if self._is_one else f"{cell.case}/{cell.variant}, "
        self._say(f"torch {cell.torch}: {variant}{where}: {outcome} ({time.monotonic() - self._began:.1f} s)")
        return True
