"""Measures the cells that it is asked for, one request after the other, and tells each row as soon as it is there.

``python -m caniexport.worker.session --release 2.8.0 --run-id … cases/`` inside the environment of that release. One
JSON line on standard input is a list of cells of one variant and exporter. Answers are lines on standard output: first
``{"environment": {…}}``, then for each cell ``{"row": {…}, "messages": {…}}``.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from pathlib import Path
from typing import Any, Dict

from caniexport.model import corpus, releases
from caniexport.model.plan import Cell
from caniexport.worker import envinfo
from caniexport.worker.cell_rows import CellRows
from caniexport.worker.isolate import Limits
from caniexport.worker.process_tree import die_with_parent
from caniexport.worker.supervisor import ServerSettings, Supervisor


def main() -> int:
    """Serve requests until standard input closes."""
    asked = _parse_arguments()
    die_with_parent()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    release = releases.find(asked.release)
    cases = corpus.load([asked.cases], stand_in=True)
    environment = envinfo.describe_environment(release.torch, release.spec, "cpu")
    _send({"environment": environment})
    limits = Limits(asked.timeout, asked.memory)
    with Supervisor(ServerSettings([asked.cases], asked.bundles, asked.dynamo, limits)) as supervisor:
        rows = CellRows(environment, cases, asked.run_id, supervisor)
        for line in iter(sys.stdin.readline, ""):
            for row, messages in rows.measure([Cell(*fields) for fields in json.loads(line)], together=True):
                _send({"row": row, "messages": messages})
    return 0


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", type=Path, help="folder of the case files")
    parser.add_argument("--release", required=True, help="entry of the table of releases")
    parser.add_argument("--run-id", required=True, help="name of the run")
    parser.add_argument("--dynamo", action="store_true", help="warm the dynamo exporter too")
    parser.add_argument("--bundles", type=Path, help="folder for the exported files")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds a cell may take")
    parser.add_argument("--memory", type=int, default=2048, help="MiB a cell may allocate")
    return parser.parse_args()


def _send(message: Dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
