"""Try cases in the environment at hand, one forked child a cell, and print what happens: for whoever writes a case.

``python -m caniexport.worker.try_case CASE[/VARIANT] [--exporter E] [--opset 9-14]``
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any, List

from caniexport.model import corpus as corpus_module
from caniexport.model import plan, releases
from caniexport.model.canaries import is_canary
from caniexport.worker.cell import measure
from caniexport.worker.envinfo import version_of


def main() -> int:
    """Print one line a cell, and under each new failure its text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", nargs="+")
    parser.add_argument("--exporter", action="append", default=[])
    parser.add_argument("--opset", default="")
    parser.add_argument("--cases", default="cases")
    arguments = parser.parse_args()
    corpus = corpus_module.load([Path(arguments.cases)], stand_in=False)
    release = releases.find((version_of("torch") or "").split("+")[0])
    selection = plan.Selection(frozenset(arguments.case), frozenset(arguments.exporter), _opsets(arguments.opset))
    shown: List[str] = []
    for cell in plan.cells(corpus, release, "cpu", selection):
        if is_canary(cell.case) and cell.case not in arguments.case:
            continue
        _show(_forked(cell, corpus), cell, shown)
    return 0


def _opsets(text: str) -> Any:
    if not text:
        return frozenset()
    low, _, high = text.partition("-")
    return frozenset(range(int(low), int(high or low) + 1))


def _forked(cell: plan.Cell, corpus: Any) -> Any:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        stages: List[str] = []
        sys.stdout = sys.stderr = open(os.devnull, "w")
        outcome = measure(cell, corpus[cell.case].variants, lambda stage: stages.append(stage.value), None)
        os.write(write, json.dumps(outcome, default=str).encode("utf-8"))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        text = file.read()
    _, status = os.waitpid(child, 0)
    return (
        json.loads(text.decode("utf-8")) if text else [{"status": "crash", "stage": "?", "signature": str(status)}, {}]
    )


def _show(outcome: Any, cell: plan.Cell, shown: List[str]) -> None:
    row, messages = outcome
    print(
        "{:<11} {:<8} {}/{} {} {} -> {} {} ir{} [{}] {}".format(
            row.get("status"),
            row.get("stage"),
            cell.case,
            cell.variant,
            cell.exporter,
            cell.opset,
            row.get("exporter_effective"),
            row.get("opset_effective"),
            row.get("ir_version"),
            row.get("ops"),
            row.get("facts") or "",
        )
    )
    for identifier in (row.get("message_id"), row.get("warning_id")):
        if identifier and identifier not in shown:
            shown.append(identifier)
            print("    " + messages[identifier].replace("\n", "\n    ")[:1500])


if __name__ == "__main__":
    sys.exit(main())
