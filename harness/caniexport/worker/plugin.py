"""The pytest plugin that measures: one item for each variant and exporter, all its opsets in order.

``pytest -p caniexport.worker.plugin --release 2.8.0 cases/`` inside the environment of that release; tox writes this
line. An item passes when each of its cells has its row, whatever the row says: a failing export is a measurement, not
a failing test. The run ends with a table of a few variants and the counts of statuses.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Dict, FrozenSet, Iterator, List, Optional, Sequence, Tuple

import pytest

from caniexport.model import canaries, plan, releases
from caniexport.model import corpus as corpus_module
from caniexport.model.case import Case
from caniexport.model.corpus import LoadedCase
from caniexport.model.errors import DiskFull, StoreError
from caniexport.model.journal import Journal
from caniexport.model.status import Status
from caniexport.worker import envinfo
from caniexport.worker.cell_rows import CellRows, make_import_failure, utc_now
from caniexport.worker.failures import Outcome
from caniexport.worker.isolate import Limits
from caniexport.worker.process_tree import die_with_parent
from caniexport.worker.supervisor import ServerFailed, ServerSettings, Supervisor

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
    group.addoption("--run-id", help="name of the run; made up where not given")
    group.addoption("--cell-timeout", type=float, default=60.0, help="seconds a cell may take")
    group.addoption("--cell-memory", type=int, default=2048, help="MiB a cell may allocate")
    group.addoption("--apart", action="store_true", help="a process of its own for every single cell")
    group.addoption("--bare", action="store_true", help="nothing kept between exports: what torch does by itself")
    group.addoption("--reverse", action="store_true", help="variants and opsets in the opposite order")
    group.addoption("--no-fork", action="store_true", help="a fresh process for each cell instead of a forked one")


def pytest_configure(config: Any) -> None:
    """Register what belongs to the run; the controller and each xdist worker have their own."""
    if not config.getoption("--release"):
        raise pytest.UsageError("caniexport.worker.plugin: --release is needed")
    if os.environ.get("CANIEXPORT_SUPERVISED"):
        die_with_parent()
    config.stash_run = Run(config)
    config.pluginmanager.register(config.stash_run, "caniexport-run")


def pytest_configure_node(node: Any) -> None:
    """xdist: the workers write under the controller's run."""
    node.workerinput["caniexport_run"] = node.config.stash_run.run_id


def pytest_collect_file(file_path: Path, parent: Any) -> Any:
    """Case files are collected by this plugin alone; pytest's own collection finds no tests in them."""
    run = parent.config.stash_run
    if file_path.suffix == ".py" and not file_path.name.startswith("_") and run.owns(file_path):
        return CaseFile.from_parent(parent, path=file_path)
    return None


def pytest_collection_modifyitems(items: List[Any]) -> None:
    """Canaries first, for they may end the run."""
    items.sort(key=lambda item: not canaries.is_canary(item.name))


class CaseFile(pytest.File):
    """One file of the corpus."""

    def collect(self) -> Iterator[Any]:
        """One item for each variant and exporter with something to measure."""
        run: Run = self.config.stash_run  # type: ignore[attr-defined]  # pytest_configure put it there
        for (case, variant, exporter), cells in run.groups_of(self.path).items():
            name = "{}/{}[{}]".format(case, variant, exporter)
            yield CellItem.from_parent(self, name=name, cells=cells)


class CellItem(pytest.Item):
    """One variant with one exporter: its cells, opset by opset."""

    def __init__(self, *, cells: List[plan.Cell], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cells = cells

    def runtest(self) -> None:
        """Measure each cell and write its row at once."""
        run: Run = self.config.stash_run  # type: ignore[attr-defined]  # pytest_configure put it there
        try:
            statuses, surprise = run.measure(self.cells)
        except StoreError as error:
            # the controller ends the run, and until then this process measures nothing more
            run.refuse(error)
            self.user_properties.append(("surprise", str(error)))
            raise
        self.user_properties += [("statuses", statuses), ("surprise", surprise)]

    def reportinfo(self) -> Tuple[Any, Optional[int], str]:
        """Where a report says the item is."""
        return self.path, None, self.name


class Run:
    """A measuring run in this process: corpus, release, supervisor, journal."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.release = releases.find(config.getoption("--release"))
        self.provider = config.getoption("--provider")
        self.local = Path(config.getoption("--results-local"))
        self.is_controller = not hasattr(config, "workerinput")
        self.run_id = self._run_id()
        self._supervisor: Optional[Supervisor] = None
        self._journal: Optional[Journal] = None
        self._broken: Optional[ServerFailed] = None
        self._refused: Optional[StoreError] = None
        entry = self.release
        self._environment = envinfo.describe_environment(
            entry.torch, entry.spec, self.provider, entry.profile, entry.as_of
        )
        self._roots = [Path(argument.split("::")[0]).resolve() for argument in config.args]
        self._corpora: Dict[Path, Dict[str, LoadedCase]] = {}
        self._done = self._read_keys("--done")
        self._only = self._read_keys("--only")
        is_apart = bool(config.getoption("--apart") and config.getoption("--bare"))
        self._rows = CellRows(self._environment, self.run_id, is_apart)
        self._statuses: "Counter[str]" = Counter()
        #: variant -> exporter -> status -> cells
        self._ended: "Dict[str, Dict[str, Dict[str, int]]]" = {}
        self._planned: List[plan.Cell] = []
        self._selection = plan.Selection(
            frozenset(config.getoption("--case")),
            frozenset(config.getoption("--exporter")),
            frozenset(config.getoption("--opset")),
        )

    def owns(self, path: Path) -> bool:
        """Whether a file is one of those asked for, and defines cases: pytest offers every file on the way to them."""
        if not any(root in (path, path.parent) for root in self._roots):
            return False
        return any(issubclass(item.cls, Case) for item in self._corpus(path).values())

    def groups_of(self, path: Path) -> "Dict[Tuple[str, str, str], List[plan.Cell]]":
        """What is to be measured of one file."""
        cells = plan.cells(self._corpus(path), self.release, self.provider, self._selection)
        if self.config.getoption("--reverse"):
            cells.reverse()
        return plan.group_cells([cell for cell in cells if cell.key not in self._done and self._wants(cell)])

    def measure(self, cells: Sequence[plan.Cell]) -> Tuple[Dict[str, int], str]:
        """Measure cells one by one, a row each; returns the counts of their statuses, and what a canary says.

        Raises :class:`StoreError` where a row cannot be written.
        """
        if self._refused is not None:
            raise self._refused
        counts: "Counter[str]" = Counter()
        surprise = ""
        # outcomes first: asked once more after the last, they see the process of these cells to its end
        for outcome, cell in zip(self._outcomes(cells), cells):
            row = self._row(cell, outcome.row)
            if row["status"] == Status.INVALID.value:
                self._require_space()
            self._write(row, outcome.messages)
            counts[row["status"]] += 1
            surprise = surprise or next(canaries.find_surprises([row]), "")
        return dict(counts), surprise

    def refuse(self, error: StoreError) -> None:
        """Measure nothing more: what could not be written is not to be measured, and half a batch is under way."""
        self._refused = error

    @pytest.hookimpl
    def pytest_sessionstart(self) -> None:
        """The controller says what the environment is before the first row."""
        if self.is_controller and not self.config.getoption("--collect-only"):
            self._journal = self._open_journal()
            self._journal.environment(dict(self._environment, run_id=self.run_id, measured_at=utc_now()))

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count statuses where the reports arrive, in the controller or the only process, and hear the canaries.

        A release that cannot speak is ended at once; its gate would say so after a quarter of an hour.
        """
        if report.when == "call" and self.is_controller:
            found = dict(report.user_properties)
            self._statuses.update(found.get("statuses", {}))
            variant, _, exporter = report.nodeid.split("::")[-1].rstrip("]").partition("[")
            self._ended.setdefault(variant, {})[exporter] = found.get("statuses", {})
            if found.get("surprise"):
                pytest.exit(found["surprise"], returncode=pytest.ExitCode.INTERRUPTED)

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """What was measured: a table where a few variants were asked for by hand, and a line."""
        if not os.environ.get("CANIEXPORT_SUPERVISED") and len(self._ended) <= _MOST_LINES:
            for line in format_table(self._ended):
                terminalreporter.write_line(line)
        total = sum(self._statuses.values())
        words = ", ".join("{} {}".format(count, status) for status, count in sorted(self._statuses.items()))
        terminalreporter.write_line(
            "torch {} on {}: {} cells measured{}".format(
                self.release.torch, self.provider, total, ": " + words if words else ""
            )
        )

    @pytest.hookimpl
    def pytest_sessionfinish(self) -> None:
        """End the server and release the journal."""
        if self._supervisor is not None:
            self._supervisor.close()
        if self._journal is not None:
            self._journal.close()

    def _outcomes(self, cells: Sequence[plan.Cell]) -> Iterator[Outcome]:
        broken = self._broken
        if broken is None:
            try:
                for outcome in self._supervise().run(cells, not self.config.getoption("--apart")):
                    cells = cells[1:]
                    yield outcome
                return
            except ServerFailed as error:
                broken = self._broken = error
        for _ in cells:
            yield make_import_failure(str(broken), broken.status)

    def _supervise(self) -> Supervisor:
        if self._supervisor is None:
            option = self.config.getoption
            limits = Limits(option("--cell-timeout"), option("--cell-memory"))
            cases = [Path(argument.split("::")[0]) for argument in self.config.args]
            bundles = self.local / "bundles"
            dynamo = bool(self.release.dynamo)
            fork, bare = not option("--no-fork"), option("--bare")
            self._supervisor = Supervisor(ServerSettings(cases, bundles, dynamo, limits, fork, bare))
        return self._supervisor

    def _require_space(self) -> None:
        """Raise :class:`DiskFull` where a cell was lost for lack of space: it has no row and is measured again."""
        for folder in (self.local, Path(tempfile.gettempdir())):
            if _is_full(folder):
                raise DiskFull("no space left on the disk of {}; every finished cell is kept".format(folder))

    def _write(self, row: Dict[str, Any], messages: Dict[str, str]) -> None:
        if self._journal is None:
            self._journal = self._open_journal()
        self._journal.cell(row, messages)

    def _row(self, cell: plan.Cell, measured: Dict[str, Any]) -> Dict[str, Any]:
        return self._rows.row(cell, self._find(cell.case).cls.corpus, measured)

    def _find(self, case: str) -> LoadedCase:
        return next(found[case] for found in self._corpora.values() if case in found)

    def _corpus(self, path: Path) -> Dict[str, LoadedCase]:
        if path not in self._corpora:
            self._corpora[path] = corpus_module.load([path], stand_in=True)
        return self._corpora[path]

    def _wants(self, cell: plan.Cell) -> bool:
        return not self._only or cell.key in self._only

    def _read_keys(self, option: str) -> FrozenSet[str]:
        path = self.config.getoption(option)
        if not path or not os.path.exists(path):
            return frozenset()
        return frozenset(Path(path).read_text(encoding="utf-8").split())

    def _open_journal(self) -> Journal:
        return Journal(self.local / "journal", "torch-{}-{}-{}".format(self.release.torch, self.provider, self.run_id))

    def _run_id(self) -> str:
        if not self.is_controller:
            return str(self.config.workerinput["caniexport_run"])
        given = self.config.getoption("--run-id")
        if given:
            return str(given)
        # two runs may start within one second
        return time.strftime("%Y%m%dT%H%M%S", time.gmtime()) + "-{:04x}".format(
            random.SystemRandom().randrange(1 << 16)
        )


def format_table(ended: "Dict[str, Dict[str, Dict[str, int]]]") -> List[str]:
    """Lines of a table: a variant in each, a column for each exporter; ``pass``, or ``2 fail, 5 pass`` of opsets."""
    exporters = sorted({exporter for cells in ended.values() for exporter in cells})
    table = [["case/variant"] + exporters]
    for variant, cells in sorted(ended.items()):
        table.append([variant] + [_format_counts(cells.get(exporter, {})) for exporter in exporters])
    widths = [max(len(line[column]) for line in table) for column in range(len(exporters) + 1)]
    return ["  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in table if ended]


def _format_counts(statuses: "Dict[str, int]") -> str:
    if sum(statuses.values()) == 1:
        return next(iter(statuses))
    return ", ".join("{} {}".format(count, status) for status, count in sorted(statuses.items())) or "-"


def _is_full(folder: Path) -> bool:
    if shutil.disk_usage(str(folder)).free < _LEAST_FREE:
        return True
    if not hasattr(os, "statvfs"):
        return False
    found = os.statvfs(str(folder))
    return found.f_files > 0 and found.f_favail == 0
