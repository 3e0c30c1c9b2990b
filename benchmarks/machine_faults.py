"""Kills a worker, the scheduler or the client of a measurement on a Dask cluster, each at random moments.

``python benchmarks/machine_faults.py [--times 10] [--kill worker]`` measures the stand-in release of tests/mini with
two workers, kills one process at a moment drawn from the seconds that this takes undisturbed, starts again what was
killed, gives the same command once more, and prints a line of a Markdown table for each time. It ends with 1 where
the rows are not those of one machine in the end, or where what is owed was said wrongly.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

from mini import runner  # noqa: E402  # the folder is not installed
from mini.cluster import OLD, Cluster, rows_sent, started  # noqa: E402
from mini.home import Home, make_home  # noqa: E402

PROCESSES = ("worker", "scheduler", "client")
_HEAD = "| killed | after | rows that had come | how it ended | owed | right | again | measured twice |"


@dataclass(frozen=True)
class Ending:
    """How a measurement ended: its exit code, the rows in the dataset with their runs, the cells that it calls owed."""

    code: int
    rows: dict[runner.Name, dict[str, Any]]
    runs: dict[runner.Name, str]
    owed: frozenset[str] | None

    def right(self, plan: set[runner.Name]) -> bool:
        """Whether it has all rows, or names just those that are not there, or says that it could not go on."""
        missing = {_name(cell) for cell in plan - set(self.rows)}
        return missing == self.owed if self.owed is not None else self.code != 0 and len(missing) == len(plan)


def _name(cell: runner.Name) -> str:
    case, variant, exporter, opset = cell
    return "/".join((OLD, case, variant, exporter, "default" if opset is None else str(opset)))


def ending(client: Any, home: Home) -> Ending:
    """Wait for a measurement to end."""
    said, complaints = client.communicate()
    print(complaints, file=sys.stderr, flush=True)
    found = home.cells(OLD) if (home.folder / "results-local" / "cells").is_dir() else {}
    releases = json.loads(said)["releases"] if said else []
    owed = frozenset(cell for release in releases for cell in release["owed"]) if releases else None
    runs = {runner.name_of(row): row["run_id"] for row in home.rows()}
    return Ending(client.returncode, found, runs, owed)


@contextmanager
def cluster_of_two(measured: Home) -> Iterator[Cluster]:
    """A scheduler with two workers that it knows."""
    with tempfile.TemporaryDirectory(prefix="caniexport-faults-") as name, started(measured, Path(name)) as cluster:
        for worker in ("first", "second"):
            cluster.worker(worker)
        cluster.registered("first", "second")
        yield cluster


def undisturbed(measured: Home) -> float:
    """Seconds of a measurement that nobody disturbs."""
    with cluster_of_two(measured) as cluster:
        began = time.monotonic()
        assert ending(cluster.client(cluster.home, "--json"), cluster.home).code == 0
        return time.monotonic() - began


def disturbed(measured: Home, kill: str, after: float) -> tuple[str, bool]:
    """Kill a process after some seconds; the table's line, and whether all was as it should be."""
    with cluster_of_two(measured) as cluster:
        client = cluster.client(cluster.home, "--json")
        time.sleep(after)
        before = rows_sent(cluster.home)
        kill_one(cluster, client, kill)
        first = ending(client, cluster.home)
        if kill == "scheduler":
            restart(cluster)
        again = ending(cluster.client(cluster.home, "--json"), cluster.home)
        same = again.code == 0 and again.rows == measured.cells(OLD)
        right = kill == "client" or first.right(set(measured.cells(OLD)))
        line = (
            kill,
            f"{after:.1f} s",
            len(set(map(runner.name_of, before))),
            _word(kill, first),
            len(first.owed or ()),
            _yes(right),
            _yes(same),
        )
        return " | ".join(("|", *map(str, line), str(_twice(before, again)), "|")).replace("| |", "|"), right and same


def kill_one(cluster: Cluster, client: Any, kill: str) -> None:
    """Kill it at once."""
    if kill == "client":
        client.kill()
    else:
        cluster.kill({"worker": "first"}.get(kill, kill))


def restart(cluster: Cluster) -> None:
    """A new scheduler with workers of its own, where the old ones' may still be ending."""
    cluster.kill("first")
    cluster.kill("second")
    cluster.scheduler()
    cluster.worker("third")
    cluster.registered("third")


def _word(kill: str, first: Ending) -> str:
    if kill == "client":
        return f"killed, {len(first.rows)} rows merged"
    return f"exit {first.code}, {len(first.rows)} rows"


def _yes(right: bool) -> str:
    return "yes" if right else "**no**"


def _twice(before: list[dict[str, Any]], again: Ending) -> int:
    """How many rows that had come were measured a second time, canaries apart."""
    runs = {runner.name_of(row): row["run_id"] for row in before if not row["case"].startswith("canary-")}
    return sum(again.runs.get(name) != run_id for name, run_id in runs.items())


def main() -> None:
    """As the module's docstring says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=10, help="that each is killed")
    parser.add_argument("--kill", choices=PROCESSES, action="append")
    parser.add_argument("--seconds", type=float, help="that a measurement takes undisturbed, if not to be measured")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="caniexport-faults-") as folder:
        measured = make_home(Path(folder))
        measured.caniexport("measure", "--release", OLD, "--repeat", "0")
        seconds = asked.seconds or undisturbed(measured)
        print(f"undisturbed: {seconds:.1f} s, {len(measured.cells(OLD))} rows\n\n{_HEAD}")
        print("|" + " --- |" * (_HEAD.count("|") - 1), flush=True)
        wrong = 0
        for _ in range(asked.times):
            for kill in asked.kill or PROCESSES:
                line, right = disturbed(measured, kill, random.uniform(0, seconds))
                print(line, flush=True)
                wrong += not right
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
