"""``measure --runtime``: bundles that this machine has, run by further releases of a runtime."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from caniexport.bundles.pack import COLUMNS, PackedBundle, entries, pack
from caniexport.machine import calls
from caniexport.machine.interpreters import find as find_python
from caniexport.measure.settle_replays import RunReport, count_runs, settle_runs
from caniexport.measure.tox_calls import failure
from caniexport.model import corpus as corpus_module
from caniexport.model.status import MEASURED
from caniexport.runner.archive import Archive
from caniexport.worker.process_tree import die_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from caniexport.bundles.runtime_releases import RuntimeRelease
    from caniexport.home import Home
    from caniexport.runner.archive import ArchiveEntry
    from caniexport.store import Dataset

_SAID_EVERY = 5.0
_SPEAKS = frozenset(status.value for status in MEASURED)


@dataclass(frozen=True)
class RunOptions:
    """What to run, and how.

    runtimes  releases of runtimes, in the order in which they run
    torch, cases, exporters, opsets  only bundles of these cells; empty for all that this machine has
    provider  empty for each runtime's first
    fresh     run again what has a row already
    missing   count published rows as done too
    rolling   remove each environment after it has run
    archive   run this archive and nothing else; else one is packed
    output    folder of the rows, if not the local dataset
    """

    home: Home
    runtimes: tuple[RuntimeRelease, ...]
    torch: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    exporters: tuple[str, ...] = ()
    opsets: tuple[int, ...] = ()
    provider: str = ""
    workers: int = 2
    timeout: float = 60.0
    fresh: bool = False
    missing: bool = False
    rolling: bool = False
    archive: Path | None = None
    output: Path | None = None

    @property
    def local(self) -> Path:
        """Where the rows go."""
        return self.output or self.home.local


def measure_runs(options: RunOptions, say: Callable[[str], None]) -> list[RunReport]:
    """Run what is new on each release; one that cannot be made is said so and does not stop the others."""
    from caniexport.store import Dataset

    dataset = Dataset.open(options.home.published, options.home.local)
    archive = options.archive or _pack(options, dataset, say)
    wanted = Archive(archive).entries
    done_before = Dataset.open(options.home.published if options.missing else None, options.local)
    return [_run(options, release, archive, wanted, done_before, say) for release in options.runtimes]


def selected(
    dataset: Dataset,
    home: Home,
    torch: Sequence[str],
    cases: Sequence[str],
    exporters: Sequence[str] = (),
    opsets: Sequence[int] = (),
) -> list[PackedBundle]:
    """The bundles of these releases, cases (``case`` or ``case/variant``), exporters and opsets.

    Canaries come along whatever the cases; so does the default call, which names no opset, whatever the opsets.
    """
    corpus = corpus_module.load(home.corpora, stand_in=True)
    frame = dataset.cells(
        torch=torch or None,
        exporter=exporters or None,
        opset=(*opsets, None) if opsets else None,
        columns=COLUMNS,
    )
    if cases:
        names = frame["case"] + "/" + frame["variant"]
        frame = frame[frame["case"].isin(list(cases)) | names.isin(list(cases)) | (frame["corpus"] == "canary")]
    return entries(frame, corpus)


def _pack(options: RunOptions, dataset: Dataset, say: Callable[[str], None]) -> Path:
    file = options.home.local / "bundles.zip"
    file.parent.mkdir(parents=True, exist_ok=True)
    found = selected(dataset, options.home, options.torch, options.cases, options.exporters, options.opsets)
    report = pack(file, found, options.home.local / "bundles")
    say(f"{report.bundles} bundles for {report.cells} cells" + missing_words(report.missing))
    return file


def missing_words(missing: int) -> str:
    """Said of bundles that rows name and this machine does not have; empty for none."""
    if not missing:
        return ""
    return f"; {missing} more are not on this machine (`caniexport measure` of their releases makes them)"


def _run(
    options: RunOptions,
    release: RuntimeRelease,
    archive: Path,
    wanted: Sequence[ArchiveEntry],
    dataset: Dataset,
    say: Callable[[str], None],
) -> RunReport:
    from caniexport.measure.job import new_run_id

    provider = options.provider or release.providers[0]
    name = release.environment(provider)
    done = frozenset() if options.fresh else _done(dataset, release, provider)
    left = [entry for entry in wanted if entry.key not in done]
    run_id = new_run_id()
    if not left:
        say(f"{release.text}: nothing new to run")
        return RunReport(release.runtime, release.version, provider, run_id, 0, {}, "")
    log = options.local / "logs" / f"{name}.log"
    code = _tox(options, name, archive, run_id, done, len(left), say, log)
    reports = settle_runs(options.local, [run_id], release.requirements(provider))
    if options.rolling:
        shutil.rmtree(options.home.root / ".tox" / name, ignore_errors=True)
    if not reports:
        reason = failure(log).splitlines()[0] if code else "it wrote no row"
        problem = f"could not be run: {reason}"
        say(f"{release.text}: {problem} (log: {log})")
        return RunReport(release.runtime, release.version, provider, run_id, 0, {}, problem)
    words = ", ".join(f"{count} {status}" for status, count in reports[0].statuses.items())
    say(f"{release.text}: {reports[0].rows} bundles: {words}{'; ' * bool(reports[0].problem)}{reports[0].problem}")
    return reports[0]


def _done(dataset: Dataset, release: RuntimeRelease, provider: str) -> frozenset[str]:
    """Keys of the entries that have a row of this release and provider which says something."""
    frame = dataset.runs(columns=["bundle", "session", "runtime", "runtime_version", "provider", "status"])
    mine = (frame["runtime"] == release.runtime) & (frame["runtime_version"] == release.version)
    frame = frame[mine & (frame["provider"] == provider) & frame["status"].isin(_SPEAKS)]
    return frozenset(frame["bundle"] + frame["session"].fillna(""))


def _tox(
    options: RunOptions,
    name: str,
    archive: Path,
    run_id: str,
    done: frozenset[str],
    todo: int,
    say: Callable[[str], None],
    log: Path,
) -> int:
    """One tox run; what it does is told every few seconds."""
    home = options.home
    log.parent.mkdir(parents=True, exist_ok=True)
    done_file = log.with_suffix(".done")
    done_file.write_text("\n".join(sorted(done)), encoding="utf-8")
    command = [sys.executable, "-m", "tox", "run", "-c", str(home.tox_ini), "--workdir", str(home.root / ".tox")]
    more = ["--run-id", run_id, "--done", str(done_file), "--workers", str(options.workers)]
    environment = {name: text for name, text in os.environ.items() if name != "TOXENV"}
    environment.update(CANIEXPORT_LOCAL=str(options.local), CANIEXPORT_ARCHIVE=str(archive.resolve()))
    tell = _Every(_SAID_EVERY, lambda: say(f"{name}: {count_runs(options.local, run_id)}/{todo} bundles"))
    line = [*command, "-e", name, "--", *more, "--timeout", str(options.timeout)]
    return calls.run(line, log, home.root, environment, tell)


class _Every:
    """Calls a function every few seconds, however often it is called itself."""

    def __init__(self, seconds: float, tell: Callable[[], None]) -> None:
        self._seconds, self._tell, self._told = seconds, tell, time.monotonic()

    def __call__(self) -> None:
        if time.monotonic() - self._told > self._seconds:
            self._told = time.monotonic()
            self._tell()


def run_here(archive: Path, arguments: Sequence[str], python: str = "") -> int:
    """Run an archive with the Python at hand (or another one: a path, or ``3.8``), in whatever is installed there."""
    found = find_python(python) if python and not Path(python).exists() else None
    command = str(found) if found else python or sys.executable
    alone = die_with_parent if os.name == "posix" else None
    return subprocess.run([command, str(archive), *arguments], check=False, preexec_fn=alone).returncode
