"""Try cases in the environment at hand and print what happens: for whoever writes a case.

``python -m caniexport.worker.try_case CASE[/VARIANT] [--exporter E] [--opset 9-14]``
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import FrozenSet, List

from caniexport.model import corpus as corpus_module
from caniexport.model import plan, releases
from caniexport.model.canaries import is_canary
from caniexport.worker.envinfo import find_version, strip_local_part
from caniexport.worker.failures import Outcome
from caniexport.worker.supervisor import ServerSettings, Supervisor

_COLUMNS = ("exporter_effective", "opset_effective", "ir_version", "ops", "facts")
#: characters of a text
_SHOWN = 1500


def main() -> int:
    """Print one line a cell, and under each new failure its text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", nargs="+")
    parser.add_argument("--exporter", action="append", default=[])
    parser.add_argument("--opset", default="")
    parser.add_argument("--cases", default="cases")
    arguments = parser.parse_args()
    corpus = corpus_module.load([Path(arguments.cases)], stand_in=True)
    release = releases.find(strip_local_part(find_version("torch")) or "")
    selection = plan.Selection(frozenset(arguments.case), frozenset(arguments.exporter), _read_opsets(arguments.opset))
    cells = plan.cells(corpus, release, "cpu", selection)
    shown: List[str] = []
    with Supervisor(ServerSettings([Path(arguments.cases)], None, bool(release.dynamo))) as supervisor:
        for group in plan.group_cells(cells).values():
            if not is_canary(group[0].case) or group[0].case in arguments.case:
                for outcome, cell in zip(supervisor.run(group, together=True), group):
                    _print_outcome(cell, outcome, shown)
    return 0


def _read_opsets(text: str) -> FrozenSet[int]:
    low, _, high = text.partition("-")
    return frozenset(range(int(low), int(high or low) + 1)) if text else frozenset()


def _print_outcome(cell: plan.Cell, outcome: Outcome, shown: List[str]) -> None:
    row, messages = outcome
    asked = "{}/{} {} {}".format(cell.case, cell.variant, cell.exporter, cell.opset)
    found = " ".join(str(row.get(name) or "-") for name in _COLUMNS)
    print("{:<11} {:<8} {} -> {}".format(row["status"], row["stage"], asked, found))
    for identifier in (row.get("message_id"), row.get("warning_id")):
        if identifier and identifier not in shown:
            shown.append(identifier)
            print("    " + messages[identifier].replace("\n", "\n    ")[:_SHOWN])


if __name__ == "__main__":
    sys.exit(main())
