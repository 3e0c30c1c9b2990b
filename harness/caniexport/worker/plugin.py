"""The pytest plugin that measures: one item for each variant and exporter, all its opsets in order.

``pytest -p caniexport.worker.plugin --release 2.8.0 cases/`` inside the environment of that release; tox writes this
line. An item passes when each of its cells has its row, whatever the row says: a failing export is a measurement, not
a failing test. The run ends with how a few variants ended, and the counts of statuses.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Dict, FrozenSet, List, Optional, Sequence, Tuple

import pytest

from caniexport.model import canaries, corpus, plan, releases
from caniexport.model.errors import DiskFull, StoreError
from caniexport.model.journal import Journal
from caniexport.model.status import Status
from caniexport.worker import envinfo
from caniexport.worker.cell_rows import CellRows, utc_now
from caniexport.worker.isolate import Limits
from caniexport.worker.process_tree import die_with_parent
from caniexport.worker.supervisor import ServerSettings, Supervisor

#: bytes: with less than this a disk has no room for what a cell writes
_LEAST_FREE = 1 << 20
#: most variants that the summary lists one by one
_MOST_LINES = 60


def pytest_addoption(parser: Any) -> None:
    """Options of the measuring run; all of them are written by tox or ``caniexport measure``."""
    group = parser.getgroup("caniexport")
    target = releases.parse_environment_name(os.environ.get("TOX_ENV_NAME", ""))
    group.addoption("--release", default=target.release, help="entry of the table of releases (default: tox's)")
    group.addoption("--provider", default=target.provider, help="execution provider of the runtime (default: tox's)")
    group.addoption("--results-local", default="results-local", help="folder of the local dataset")
    group.addoption("--case", action="append", default=[], help="only this case, or case/variant (repeatable)")
    group.addoption("--exporter", action="append", default=[], help="only this exporter (repeatable)")
    group.addoption("--opset", action="append", type=int, default=target.opsets, help="only this opset (repeatable)")
    group.addoption("--done", help="file with keys of cells that need no measuring, one a line")
    group.addoption("--only", help="file with keys of the cells to measure, one a line; all others are left out")
    group.addoption("--run-id", default=_make_run_id(), help="name of the run; made up where not given")
    group.addoption("--cell-timeout", type=float, default=60.0, help="seconds a cell may take")
    group.addoption("--cell-memory", type=int, default=2048, help="MiB a cell may allocate")
    group.addoption("--apart", action="store_true", help="a process of its own for every single cell")
    group.addoption("--bare", action="store_true", help="nothing kept between exports: what torch does by itself")
    group.addoption("--reverse", action="store_true", help="variants and opsets in the opposite order")


def _make_run_id() -> str:
    # two runs may start within one second
    return time.strftime("%Y%m%dT%H%M%S", time.gmtime()) + "-{:04x}".format(random.SystemRandom().randrange(1 << 16))


def pytest_configure(config: Any) -> None:
    """Register what belongs to the run; the controller and each xdist worker have their own."""
    if not config.getoption("--release"):
        raise pytest.UsageError("caniexport.worker.plugin: --release is needed")
    if os.environ.get("CANIEXPORT_SUPERVISED"):
        die_with_parent()
    config.pluginmanager.register(Run(config), "caniexport-run")


def pytest_configure_node(node: Any) -> None:
    """xdist: the workers write under the controller's run."""
    node.workerinput["caniexport_run"] = node.config.getoption("--run-id")


class CellItem(pytest.Item):
    """One variant with one exporter: its cells, opset by opset."""

    def __init__(self, *, cells: List[plan.Cell], run: Run, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cells = cells
        self.run = run

    def runtest(self) -> None:
        """Measure each cell and write its row at once."""
        try:
            statuses, surprise = self.run.measure(self.cells)
        except StoreError as error:
            # the controller ends the run; half a batch is under way here
            self.run.pytest_sessionfinish()
            self.user_properties.append(("surprise", str(error)))
            raise
        self.user_properties += [("statuses", statuses), ("surprise", surprise)]

    def reportinfo(self) -> Tuple[Any, Optional[int], str]:
        """Where a report says the item is."""
        return self.path, None, self.name


class Run:
    """A measuring run in this process: corpus, release, supervisor, journal."""

    def __init__(self, config: Any) -> None:
        option = config.getoption
        self._config = config
        self._release = release = releases.find(option("--release"))
        self._provider, self._local = option("--provider"), Path(option("--results-local"))
        self._is_controller = not hasattr(config, "workerinput")
        self._run_id = option("--run-id") if self._is_controller else config.workerinput["caniexport_run"]
        self._environment = envinfo.describe_environment(
            release.torch, release.spec, self._provider, release.profile, release.as_of
        )
        paths = [Path(argument) for argument in config.args]
        self._cases = corpus.load(paths, stand_in=True)
        limits = Limits(option("--cell-timeout"), option("--cell-memory"))
        bundles, dynamo = self._local / "bundles", bool(release.dynamo)
        self._supervisor = Supervisor(ServerSettings(paths, bundles, dynamo, limits, option("--bare")))
        self._rows = CellRows(
            self._environment, self._cases, self._run_id, self._supervisor, option("--apart") and option("--bare")
        )
        self._journal: Optional[Journal] = None
        #: variant and exporter -> status -> cells
        self._ended: "Dict[str, Counter[str]]" = {}

    @pytest.hookimpl
    def pytest_collection(self, session: Any) -> bool:
        """Make the items in place of pytest's own collection. Canaries first, for they may end the run."""
        option = self._config.getoption
        names = (frozenset(option(name)) for name in ("--case", "--exporter", "--opset"))
        cells = plan.cells(self._cases, self._release, self._provider, plan.Selection(*names))
        done, only = self._read_keys("--done"), self._read_keys("--only")
        cells = [cell for cell in cells if cell.key not in done and (not only or cell.key in only)]
        if option("--reverse"):
            cells.reverse()
        groups = sorted(plan.group_cells(cells).items(), key=lambda group: not canaries.is_canary(group[0][0]))
        session.items = [
            CellItem.from_parent(session, name="{}/{}[{}]".format(*names), cells=found, run=self)
            for names, found in groups
        ]
        self._config.hook.pytest_collection_modifyitems(session=session, config=self._config, items=session.items)
        self._config.hook.pytest_collection_finish(session=session)
        session.testscollected = len(session.items)
        return True

    def measure(self, cells: Sequence[plan.Cell]) -> Tuple[Dict[str, int], str]:
        """Measure cells one by one, a row each; returns the counts of their statuses, and what a canary says.

        Raises :class:`StoreError` where a row cannot be written.
        """
        counts: "Counter[str]" = Counter()
        surprise = ""
        for row, messages in self._rows.measure(cells, not self._config.getoption("--apart")):
            if row["status"] == Status.INVALID.value:
                self._require_space()
            self._open_journal().cell(row, messages)
            counts[row["status"]] += 1
            surprise = surprise or next(canaries.find_surprises([row]), "")
        return dict(counts), surprise

    @pytest.hookimpl
    def pytest_sessionstart(self) -> None:
        """The controller says what the environment is before the first row."""
        if self._is_controller and not self._config.getoption("--collect-only"):
            row = dict(self._environment, run_id=self._run_id, measured_at=utc_now())
            self._open_journal().environment(row)

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count statuses where the reports arrive, in the controller or the only process, and hear the canaries.

        A release that cannot speak is ended at once; its gate would say so after a quarter of an hour.
        """
        if report.when == "call" and self._is_controller:
            found = dict(report.user_properties)
            self._ended[report.nodeid.split("::")[-1]] = Counter(found.get("statuses", {}))
            if found.get("surprise"):
                pytest.exit(found["surprise"], returncode=pytest.ExitCode.INTERRUPTED)

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """What was measured: a line for each of a few variants that were asked for by hand, and one for all."""
        if not os.environ.get("CANIEXPORT_SUPERVISED") and len(self._ended) <= _MOST_LINES:
            for name, counts in sorted(self._ended.items()):
                terminalreporter.write_line("{}: {}".format(name, _format_counts(counts)))
        total = sum(self._ended.values(), Counter())
        terminalreporter.write_line(
            "torch {} on {}: {} cells measured{}".format(
                self._release.torch, self._provider, sum(total.values()), ": " + _format_counts(total) if total else ""
            )
        )

    @pytest.hookimpl
    def pytest_sessionfinish(self) -> None:
        """End the server and release the journal."""
        self._supervisor.close()
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def _require_space(self) -> None:
        """Raise :class:`DiskFull` where a cell was lost for lack of space: it has no row and is measured again."""
        for folder in (self._local, Path(tempfile.gettempdir())):
            found = os.statvfs(str(folder))
            has_files = found.f_files == 0 or found.f_favail > 0
            if found.f_bavail * found.f_frsize < _LEAST_FREE or not has_files:
                raise DiskFull("no space left on the disk of {}; every finished cell is kept".format(folder))

    def _read_keys(self, option: str) -> FrozenSet[str]:
        path = self._config.getoption(option)
        if not path or not os.path.exists(path):
            return frozenset()
        return frozenset(Path(path).read_text(encoding="utf-8").split())

    def _open_journal(self) -> Journal:
        if self._journal is None:
            name = "torch-{}-{}-{}".format(self._release.torch, self._provider, self._run_id)
            self._journal = Journal(self._local / "journal", name)
        return self._journal


def _format_counts(counts: "Counter[str]") -> str:
    """``5 pass, 2 fail``."""
    return ", ".join("{} {}".format(count, status) for status, count in sorted(counts.items()))
