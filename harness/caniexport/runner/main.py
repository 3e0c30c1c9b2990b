"""The runner's command: an archive of bundles in, a journal of rows out."""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Optional, Sequence

from caniexport.model.errors import CaniexportError, CorpusError, UnknownName
from caniexport.model.journal import Journal
from caniexport.model.messages import describe
from caniexport.model.printable import escape_control
from caniexport.model.status import Stage, Status
from caniexport.runner import adapters, own_runtime, report, supervise
from caniexport.runner.adapters.base import Running, Unavailable
from caniexport.runner.archive import Archive, ArchiveEntry, format_options
from caniexport.runner.chosen import choose_entries
from caniexport.runner.contents import Contents
from caniexport.runner.expectations import ReplayResult, read_for_files
from caniexport.worker import envinfo
from caniexport.worker.codehash import hash_replay_code
from caniexport.worker.failures import Outcome, failed_outcome
from caniexport.worker.isolate import Limits

#: days after which somebody looks again at what a written list expects
_REVIEW_DAYS = 182


def main(arguments: Sequence[str], program: Path) -> int:
    """Run the bundles of the archive ``program``.

    Returns 0 where every bundle has its row, 1 where the runtime cannot be used here (one row says why), 2 for wrong
    use; whatever the rows say is a measurement, not an error, unless a list of expectations is given: then 1 where a
    file does not work that it does not expect, or where an entry of it does not hold.
    """
    options = _make_parser(program).parse_args(arguments)
    try:
        return _ReplayRun(options, Archive(program)).go()
    except CaniexportError as error:
        sys.stderr.write(escape_control("{}\n".format(error)))
        return 2 if isinstance(error, (UnknownName, CorpusError)) else 1


def _make_parser(program: Path) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python {}".format(program),
        description="Run the bundles of an archive on a runtime and write one row for each.",
    )
    add = parser.add_argument
    add(
        "--runtime", required=True, help="one of: {}, or a FILE.py with an adapter".format(", ".join(adapters.ADAPTERS))
    )
    add("--provider", default="", help="execution provider (default: the runtime's first, mostly cpu)")
    add("-o", "--output", default="rows", metavar="DIR", help="folder for the rows (default: rows)")
    add("--workers", type=int, default=1, help="processes side by side (default: 1)")
    add("--timeout", type=float, default=60.0, help="seconds that a bundle may take (default: 60)")
    add("--memory", type=int, default=4096, help="MiB that a bundle may take on cpu, 0 for any (default: 4096)")
    add(
        "--only", action="append", default=[], metavar="KEY=PATTERN", help="op=Resize, opset=17, case=NAME, corpus=NAME"
    )
    add("--sample", type=int, default=0, metavar="N", help="so many bundles, drawn anew for each run")
    add("--junit", metavar="FILE", help="write how each file ended, as JUnit's XML")
    add("--expectations", metavar="FILE", help="what is expected to fail (TOML): exit code 1 for anything else")
    add("--write-expectations", metavar="FILE", help="write a list that expects what fails now")
    add("--by", metavar="NAME", help="who measures, where the rows are handed in")
    add("--at", metavar="WORDS", help="where: a board, a CI job")
    add("--done", metavar="FILE", help="file with the bundles that need no running, one a line")
    add("--release", help="the environment's name in its row (default: runtime==version)")
    add("--spec", default="", help="hash of the pins that the environment was made from")
    add("--run-id", help="name of the run; made up where not given")
    return parser


class _ReplayRun:
    """One invocation: its environment's row first, then a row for each bundle."""

    def __init__(self, options: argparse.Namespace, archive: Archive) -> None:
        self.options = options
        self.archive = archive
        self.adapter = adapters.find_adapter(options.runtime, options.provider)
        #: what every row says of an adapter that is not ours
        self.own: Dict[str, str] = {}
        if own_runtime.is_adapter_file(options.runtime):
            self.own["adapter"] = hashlib.sha256(Path(options.runtime).read_bytes()).hexdigest()[:16]
        self.expectations = read_for_files(options.expectations) if options.expectations else []
        number = "{:04x}".format(random.SystemRandom().randrange(1 << 16))
        self.run_id = options.run_id or time.strftime("%Y%m%dT%H%M%S-", time.gmtime()) + number
        limits = Limits(options.timeout, options.memory)
        self.settings = supervise.ReplaySettings(archive.path, options.runtime, self.adapter.provider, limits)

    def go(self) -> int:
        options = self.options
        done = Path(options.done).read_text(encoding="utf-8").split("\n") if options.done else ()
        places = choose_entries(self.archive, options.only, options.sample, self.run_id, done)
        name = "{}-{}-{}".format(self.adapter.name, self.adapter.provider, self.run_id)
        ended: Dict[int, ReplayResult] = {}
        contents = self.archive.contents()
        with Journal(Path(options.output) / "journal", name) as journal:
            try:
                running = supervise.start_runtime(self.settings)
            except Unavailable as error:
                return self._unavailable(journal, error)
            environment = self._environment(running)
            journal.environment(dict(environment, planned=len(places)))
            started = time.monotonic()
            for place, outcome in supervise.run_bundles(self.settings, places, options.workers):
                entry = self.archive.entries[place]
                row = self._row(entry, outcome, environment, running)
                journal.run(row, outcome.messages)
                text = outcome.messages.get(row.get("message_id") or "", "")
                ended[place] = ReplayResult(entry, row, text, contents.get(entry.bundle, Contents(0, [])))
        counts = Counter(result.row["status"] for result in ended.values())
        words = ["{} {}".format(counts[status.value], status.value) for status in Status if counts[status.value]]
        where = "{} {} on {}".format(self.adapter.name, running.version, self.adapter.provider)
        seconds = time.monotonic() - started
        sys.stdout.write("{}: {} bundles in {:.1f} s: {}\n".format(where, len(ended), seconds, ", ".join(words) or "-"))
        return self._report(where, [ended[place] for place in sorted(ended)])

    def _report(self, of: str, ended: Sequence[ReplayResult]) -> int:
        """Write what is asked for of how the files ended; the exit code."""
        options = self.options
        today = datetime.datetime.now(datetime.timezone.utc).date()
        found = report.make_report(of, ended, self.expectations, today)
        review = today + datetime.timedelta(days=_REVIEW_DAYS)
        for file, text in (
            (options.junit, report.format_junit(found)),
            (options.write_expectations, report.format_expectations(found, review)),
        ):
            if file:
                Path(file).write_text(text, encoding="utf-8")
        if not options.expectations:
            return 0
        sys.stdout.write(escape_control("\n".join(report.format_lines(found)) + "\n"))
        return 1 if found.stops else 0

    def _unavailable(self, journal: Journal, error: Unavailable) -> int:
        """One row for everything: nothing was run, and why."""
        environment = self._environment(Running("", ""))
        journal.environment(environment)
        status = {Stage.RESOLVE: Status.NOT_RUN, Stage.PLACE: Status.UNSUPPORTED}.get(error.stage, Status.FAIL)
        outcome = failed_outcome(error.stage, status, describe(error.stage.value, "Unavailable", str(error)))
        # as far as it is installed: it could not be asked
        installed = envinfo.read_installed()
        version = next((installed[name] for name in self.adapter.packages if name in installed), "")
        journal.run(self._row(None, outcome, environment, Running(version, "none")), outcome.messages)
        sys.stderr.write(escape_control("{}\n".format(error)))
        return 1

    def _row(
        self, entry: Optional[ArchiveEntry], outcome: Outcome, environment: Dict[str, Any], running: Running
    ) -> Dict[str, Any]:
        row: Dict[str, Any] = {
            "run_id": self.run_id,
            "measured_at": _now(),
            "env_id": environment["env_id"],
            "runtime": self.adapter.name,
            "runtime_version": envinfo.strip_local_part(running.version) or None,
            "provider": self.adapter.provider,
            "device": running.device,
            "code": hash_replay_code(),
        }
        if entry is not None:
            row.update(bundle=entry.bundle, corpus=entry.corpus, case=entry.case, variant=entry.variant)
            row["session"] = format_options(entry.options) or None
        facts = dict(running.facts, **self.own, **outcome.row.get("facts", {}))
        return dict(row, **dict(outcome.row, facts=json.dumps(facts, sort_keys=True) if facts else None))

    def _environment(self, running: Running) -> Dict[str, Any]:
        release = self.options.release or "{}=={}".format(self.adapter.name, running.version or "?")
        found = envinfo.describe_environment(release, self.options.spec, self.adapter.provider)
        about = {"contributor": self.options.by, "contributed_from": self.options.at}
        return dict(found, run_id=self.run_id, measured_at=_now(), **about)


def _now() -> str:
    """To the second: a bundle takes a millisecond, and what is written once a row should be small."""
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None, microsecond=0)
    return now.isoformat() + "Z"


def main_of_archive() -> int:
    """For the archive's own ``__main__.py``."""
    return main(sys.argv[1:], Path(os.path.abspath(sys.argv[0])))
