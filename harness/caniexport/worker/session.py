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
from typing import Any, Dict, Iterator, List, Sequence

from caniexport.model import corpus, releases
from caniexport.model.plan import Cell
from caniexport.worker import envinfo
from caniexport.worker.cell_rows import CellRows, make_import_failure
from caniexport.worker.failures import Outcome
from caniexport.worker.isolate import Limits
from caniexport.worker.process_tree import die_with_parent
from caniexport.worker.supervisor import ServerFailed, ServerSettings, Supervisor


def main() -> int:
    """Serve requests until standard input closes."""
    asked = _parse_arguments()
    die_with_parent()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    release = releases.find(asked.release)
    cases = corpus.load([Path(path) for path in asked.cases], stand_in=True)
    environment = envinfo.describe_environment(release.torch, release.spec, asked.provider)
    rows = CellRows(environment, asked.run_id)
    _send({"environment": environment})
    limits = Limits(asked.timeout, asked.memory)
    bundles = Path(asked.bundles) if asked.bundles else None
    with Supervisor(ServerSettings([Path(path) for path in asked.cases], bundles, asked.dynamo, limits)) as supervisor:
        for line in iter(sys.stdin.readline, ""):
            cells = [Cell(*fields) for fields in json.loads(line)]
            # outcomes first: asked once more after the last, they see the process of these cells to its end
            for outcome, cell in zip(_measure_cells(supervisor, cells), cells):
                row = rows.row(cell, cases[cell.case].cls.corpus, outcome.row)
                _send({"row": row, "messages": outcome.messages})
    return 0


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="+", help="case files, or folders of them")
    parser.add_argument("--release", required=True, help="entry of the table of releases")
    parser.add_argument("--run-id", required=True, help="name of the run")
    parser.add_argument("--provider", default="cpu", help="execution provider of the runtime")
    parser.add_argument("--dynamo", action="store_true", help="warm the dynamo exporter too")
    parser.add_argument("--bundles", default="", help="folder for the exported files")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds a cell may take")
    parser.add_argument("--memory", type=int, default=2048, help="MiB a cell may allocate")
    return parser.parse_args()


def _measure_cells(supervisor: Supervisor, cells: Sequence[Cell]) -> Iterator[Outcome]:
    """One outcome for each cell, also where torch does not import."""
    left: List[Cell] = list(cells)
    try:
        for outcome in supervisor.run(cells, together=True):
            left.pop(0)
            yield outcome
    except ServerFailed as error:
        for _ in left:
            yield make_import_failure(str(error), error.status)


def _send(message: Dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
