"""A warmed process that forks a child for each batch of cells: all opsets of one variant with one exporter.

Cells of a variant that patches or prepares something, and scripted ones, get a child each: what they leave in their
process decides how the next one ends.

It reads a JSON request a line from standard input and writes JSON lines to what was its standard output::

    {"cells": [[...Cell fields...]], "limits": [60.0, 2048, 300.0], "apart": false, "checks": true}

    {"ready": true}  or  {"error": "..."}       once, when it is warm
    {"ready": 9}                                a child begins with so many cells
    {"row": {...}, "messages": {...}}           a cell's outcome; no more follow one whose process has ended
    {"end": true}                               the request is served

Where a fork is not safe (threads were started while warming), the process starts again as one that imports nothing of
torch, and each cell's child warms itself.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import sys
from pathlib import Path
from typing import Any, Dict, Sequence

from caniexport.model import corpus as corpus_module
from caniexport.model.case import Case
from caniexport.model.messages import describe
from caniexport.model.plan import Cell
from caniexport.model.status import Exporter, Stage, Status
from caniexport.worker.cell import EagerResults, measure_cell
from caniexport.worker.exporters import read_torch_version
from caniexport.worker.failures import FOREIGN, Outcome, describe_code, failed_outcome
from caniexport.worker.isolate import Child, Limits, Report, follow_children
from caniexport.worker.process_tree import adopt_orphans, die_with_parent, end_children
from caniexport.worker.warm import count_threads, import_before_torch, prepare_opset, warm

#: the end of its output that a message of a process that ended keeps
_OUTPUT = 1500
_COLD = "--cold"
_OUTCOME = set(Outcome._fields)


class _Server:
    def __init__(self, arguments: argparse.Namespace, results: int) -> None:
        self._arguments = arguments
        self._results = results
        self._bundles = Path(arguments.bundles) if arguments.bundles else None
        self._loaded: Dict[str, corpus_module.LoadedCase] = {}

    def prepare(self) -> None:
        """Import everything, load the cases and their sources, and export something through each exporter."""
        import_before_torch()
        self._loaded = corpus_module.load([Path(path) for path in self._arguments.cases], stand_in=False)
        warm(self._arguments.dynamo, self._arguments.bare)
        for item in self._loaded.values():
            if issubclass(item.cls, Case):
                # what fails here fails in the cells too
                with contextlib.suppress(Exception):
                    item.cls.load()
        _freeze_objects()

    def say(self, line: bytes) -> None:
        data = line + b"\n"
        while data:
            data = data[os.write(self._results, data) :]

    def serve(self, request: Dict[str, Any]) -> None:
        """Measure the cells of a request up to the first whose process ends."""
        cells = [Cell(*fields) for fields in request["cells"]]
        limits = Limits(*request["limits"])
        built = [prepare_opset(cell.exporter, cell.opset) for cell in cells if not self._arguments.cold]
        if any(built):
            _freeze_objects()
        while cells:
            taken = self._measure(cells, limits, request)
            cells = cells[taken:] if taken else []
        self.say(b'{"end": true}')

    def _measure(self, cells: Sequence[Cell], limits: Limits, request: Dict[str, Any]) -> int:
        """Measure the first of these cells in one child; return how many, 0 where it ended before its last."""
        child = Child(lambda report: self._work(report, cells, request), limits)
        taken, rows = 0, -1
        for _, line in follow_children([child]):
            if line is None or child.is_killed:
                continue
            message = _parse_message(line)
            if rows < 0:
                taken = message.get("ready", 0)
            elif rows == taken or set(message) != _OUTCOME:
                # something else has written to its pipe
                child.kill(Status.CRASH)
                continue
            rows += 1
            self.say(line)
        end_children()
        if rows == taken:
            return taken
        self.say(json.dumps(_make_ended_outcome(child, limits)._asdict()).encode("utf-8"))
        return 0

    def _work(self, report: Report, cells: Sequence[Cell], request: Dict[str, Any]) -> None:
        """Measure the cells in this process, which is theirs, or the first where each is to have its own."""
        os.close(self._results)
        if self._arguments.cold:
            self.prepare()
        if request["apart"] or any(map(self._needs_own_process, cells)):
            cells = cells[:1]
        report.ready({"ready": len(cells)})
        known: EagerResults = {}
        for cell in cells:
            report.begin(Stage.EAGER.value)
            _seed_random_numbers()
            if cell.exporter == Exporter.DYNAMO.value and read_torch_version() < (2, 5):
                # torch 2.4's dynamo_export takes what an earlier export left for its own, until that is collected
                gc.collect()
            variants = self._loaded[cell.case].variants
            outcome = measure_cell(
                cell, variants, lambda stage: report.begin(stage.value), self._bundles, known, request["checks"]
            )
            row = {name: value.item() if hasattr(value, "item") else value for name, value in outcome.row.items()}
            report.send(outcome._replace(row=row)._asdict())

    def _needs_own_process(self, cell: Cell) -> bool:
        variant = self._loaded[cell.case].variants[cell.variant]
        is_scripted = variant.exporter(cell.exporter) == Exporter.SCRIPT.value
        return is_scripted or variant.patch is not None or variant.prepare is not None


def main() -> int:
    """Warm up, then serve requests until standard input closes."""
    arguments = _parse_arguments()
    die_with_parent()
    adopt_orphans()
    # whatever is printed goes where errors go
    results = os.dup(1)
    os.dup2(2, 1)
    server = _Server(arguments, results)
    if not arguments.cold:
        try:
            server.prepare()
        except BaseException as error:  # torch may fail to import in any way, also by SystemExit
            server.say(json.dumps({"error": "{}: {}".format(type(error).__name__, error)}).encode("utf-8"))
            return 1
        if count_threads() != 1:
            os.dup2(results, 1)
            os.execv(sys.executable, [sys.executable, "-m", "caniexport.worker.server", _COLD, *sys.argv[1:]])
    server.say(b'{"ready": true}')
    for line in iter(sys.stdin.readline, ""):
        server.serve(json.loads(line))
    return 0


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", action="append", required=True)
    parser.add_argument("--bundles", default="")
    for name in ("--dynamo", "--bare", _COLD):
        parser.add_argument(name, action="store_true")
    return parser.parse_args()


def _freeze_objects() -> None:
    """Keep the collector from what is warm: it would write into pages that the children share, each time."""
    gc.collect()
    gc.freeze()


def _seed_random_numbers() -> None:
    """Random numbers that nobody seeds are the same in every cell, whatever was measured before it."""
    for module, name in (("random", "seed"), ("numpy.random", "seed"), ("torch", "manual_seed")):
        seed = getattr(sys.modules.get(module), name, None)
        if seed is not None:
            seed(0)


def _parse_message(line: bytes) -> Dict[str, Any]:
    """The message of a line, empty where it is none."""
    try:
        message = json.loads(line.decode("utf-8"))
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def _make_ended_outcome(child: Child, limits: Limits) -> Outcome:
    """The outcome of the cell that a child was at when it ended."""
    ending = child.ending
    assert ending is not None
    stage = Stage(child.stage or Stage.EAGER.value)
    if ending.kind == FOREIGN:
        # what it had reached by then is a matter of time, as is what it printed
        stage, text = Stage.EAGER, "its process sent what was not asked for"
        return failed_outcome(stage, ending.status, describe(stage.value, ending.kind, text), runtime="onnxruntime")
    if ending.status is Status.TIMEOUT:
        text = "still in stage {} after {:g} s".format(stage.value, limits.seconds)
    elif ending.status is Status.OOM:
        text = "more than {} MiB in stage {}".format(limits.memory_mb, stage.value)
    elif ending.status is Status.INVALID:
        text = "the measuring process was killed from outside in stage {}".format(stage.value)
    else:
        text = "{} in stage {}".format(describe_code(ending.code or 0), stage.value)
    if ending.output:
        text += "\nlast output:\n" + ending.output[-_OUTPUT:]
    return failed_outcome(stage, ending.status, describe(stage.value, ending.kind, text), runtime="onnxruntime")


if __name__ == "__main__":
    sys.exit(main())
