"""A warmed, single-threaded process that forks one child for each batch of cells.

A batch is one cell, or all opsets of one variant with the TorchScript exporter: those give the same rows together as
apart (``tests/`` hold them to it), unless a cell changes torch's exporter, which ends its batch.

It reads one JSON request a line from standard input and writes JSON lines to the descriptor ``--results``; what the
cells print goes to the descriptor ``--output``. Children announce each stage before it begins, and the zygote says
how each ended, so its supervisor can turn a signal, an exit or silence into a row.

Requests:   ``{"batch": 7, "cells": [[...Cell fields...]], "memory_mb": 2048}``
Answers:    ``{"ready": true, "fork": true}``, ``{"batch": 7, "pid": 123}``, ``{"batch": 7, "cell": 0, "stage":
"export"}``,
            ``{"batch": 7, "cell": 0, "row": {...}, "messages": {...}}``, ``{"batch": 7, "ended": -11}``

Where a fork is not safe (threads were started while warming) it says ``"fork": false``, serves one request in this very
process and ends; the supervisor then starts a fresh one for each batch.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, Dict, Optional

from harness.worker import corpus as corpus_module
from harness.worker.cell import measure
from harness.worker.plan import Cell
from harness.worker.process import die_with_parent, fingerprint
from harness.worker.status import Stage
from harness.worker.warm import prepare_opset, threads, warm


class _Wire:
    """Writes whole JSON lines to a descriptor that outlives every child."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def send(self, **message: Any) -> None:
        data = (json.dumps(message) + "\n").encode("utf-8")
        while data:
            data = data[os.write(self._descriptor, data) :]

    def end_line(self) -> None:
        """End whatever line a dead child left unfinished."""
        os.write(self._descriptor, b"\n")


def main() -> int:
    """Warm up, then serve requests until standard input closes."""
    arguments = _arguments()
    die_with_parent()
    wire = _Wire(arguments.results)
    # cells may print or flood; standard output belongs to them from here on
    os.dup2(arguments.output, 1)
    os.dup2(arguments.output, 2)
    try:
        loaded = corpus_module.load([Path(path) for path in arguments.cases], stand_in=False)
        warm(arguments.dynamo)
    except BaseException as error:  # torch may fail to import in any way, also by SystemExit
        wire.send(ready=False, error="{}: {}".format(type(error).__name__, error))
        return 1
    # what is warm stays shared with the children: the collector must not write into its pages
    gc.collect()
    gc.freeze()
    fork = hasattr(os, "fork") and threads() == 1 and not arguments.no_fork
    wire.send(ready=True, fork=fork, threads=threads())
    bundles = Path(arguments.bundles) if arguments.bundles else None
    for line in iter(sys.stdin.readline, ""):
        request = json.loads(line)
        if not fork:
            wire.send(batch=request["batch"], pid=os.getpid())
            _serve(request, loaded, wire, bundles)
            return 0
        _fork(request, loaded, wire, bundles)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--results", type=int, required=True)
    parser.add_argument("--output", type=int, required=True)
    parser.add_argument("--cases", action="append", required=True)
    parser.add_argument("--bundles", default="")
    parser.add_argument("--dynamo", action="store_true")
    parser.add_argument("--no-fork", action="store_true")
    return parser.parse_args()


def _fork(request: Dict[str, Any], loaded: Any, wire: _Wire, bundles: Optional[Path]) -> None:
    for fields in request["cells"]:
        prepare_opset(fields[2], fields[3])
    # the child waits for this pipe: its process group must exist before the supervisor hears of it
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(write)
        os.read(read, 1)
        _child(request, loaded, wire, bundles)
    os.close(read)
    try:
        os.setpgid(pid, pid)
    except OSError:
        pass  # the child is already gone
    wire.send(batch=request["batch"], pid=pid)
    os.close(write)
    _, status = os.waitpid(pid, 0)
    _kill_group(pid)
    wire.end_line()
    wire.send(batch=request["batch"], ended=_exit_code(status))


def _child(request: Dict[str, Any], loaded: Any, wire: _Wire, bundles: Optional[Path]) -> None:
    code = 0
    try:
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        die_with_parent()
        _limit_memory(request["memory_mb"])
        _serve(request, loaded, wire, bundles)
    except BaseException:  # the zygote reports the exit; nothing may unwind into its loop
        code = 70
    finally:
        # no atexit handlers, no flushing of what the parent had buffered
        os._exit(code)


def _serve(request: Dict[str, Any], loaded: Any, wire: _Wire, bundles: Optional[Path]) -> None:
    """Measure the cells of one request; stop where one has changed the process that the next would share."""
    batch, known = request["batch"], {}  # type: ignore[var-annotated]  # EagerResults
    before = fingerprint()
    for index, fields in enumerate(request["cells"]):
        if index and fingerprint() != before:
            return
        cell = Cell(*fields)

        def announce(stage: Stage, index: int = index) -> None:
            wire.send(batch=batch, cell=index, stage=stage.value)

        outcome = measure(cell, loaded[cell.case].variants, announce, bundles, known)
        wire.send(batch=batch, cell=index, row=_plain(outcome.row), messages=outcome.messages)


def _plain(row: Dict[str, Any]) -> Dict[str, Any]:
    return {name: value.item() if hasattr(value, "item") else value for name, value in row.items()}


def _limit_memory(megabytes: int) -> None:
    """Limit what this child may allocate beyond what it has; an allocation above it fails like a full machine's."""
    import resource

    have = 0
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            have = next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmData"))
    except (OSError, StopIteration):
        pass
    limit = have + megabytes * 1024 * 1024
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    except (ValueError, OSError):
        pass  # a platform without this limit; the supervisor watches the resident size as well
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _kill_group(pid: int) -> None:
    """Whatever a child started ends with it."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        pass


def _exit_code(status: int) -> int:
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


if __name__ == "__main__":
    sys.exit(main())
