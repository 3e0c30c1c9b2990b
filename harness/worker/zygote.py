"""A warmed, single-threaded process that forks children to measure batches of cells.

A batch is all opsets of one variant with one exporter. Batches of one case go to the same child, one after the other;
traced ones go to another child, which stays for the traced batches of many cases. They give the same rows together as
apart (``tests/`` and the second measuring of every release hold them to it). A symbolic that a cell leaves registered
is taken back. A child is replaced when it has died, when a cell has changed torch's exporter in another way (a patch),
when it has grown, and for cells that ask for a process of their own.

It reads one JSON request a line from standard input and writes JSON lines to the descriptor ``--results``; what the
cells print goes to the descriptor ``--output``. Children note the cell and stage they are at in the file ``--stages``,
and the zygote says how each batch ended, so its supervisor can turn a signal, an exit or silence into a row.

Requests:   ``{"batch": 7, "cells": [[...Cell fields...]], "memory_mb": 2048, "alone": false}``
Answers:    ``{"ready": true, "fork": true}``, ``{"batch": 7, "pid": 123}``,
            ``{"batch": 7, "cell": 0, "row": {...}, "messages": {...}}``, ``{"batch": 7, "ended": -11}``

Where a fork is not safe (threads were started while warming) it says ``"fork": false``, serves one request in this very
process and ends; the supervisor then starts a fresh one for each batch.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import select
import signal
import sys
from pathlib import Path
from typing import Any, Dict, NamedTuple, Optional, Sequence, Set

from harness.worker import corpus as corpus_module
from harness.worker.cell import EagerResults, measure
from harness.worker.plan import Cell
from harness.worker.process import State, die_with_parent, grown, kill_group, limit_memory
from harness.worker.sharing import spoiled
from harness.worker.stages import Stages
from harness.worker.status import Exporter, Stage
from harness.worker.warm import prepare_opset, threads, warm

_POLL_SECONDS = 0.05
#: cases that one child traces before it is replaced, whatever it says of itself; a new one costs as much as three cells
_CASES_OF_A_TRACING_CHILD = 25
_CLEAN, _RETIRED = b".", b"!"


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


class _Worker(NamedTuple):
    """What a process that measures needs."""

    loaded: Dict[str, Any]
    wire: _Wire
    stages: Stages
    bundles: Optional[Path]
    known: EagerResults
    state: State

    def serve(self, request: Dict[str, Any]) -> bool:
        """Measure the cells of one request; stop where one has changed the process that the next would share.

        Returns whether the process is still what it was.
        """
        batch = request["batch"]
        self.state.begin()
        self._forget_other_cases(request["cells"][0][0])
        for index, fields in enumerate(request["cells"]):
            cell = Cell(*fields)

            def announce(stage: Stage, index: int = index) -> None:
                self.stages.note(batch, index, stage)

            outcome = measure(cell, self.loaded[cell.case].variants, announce, self.bundles, self.known)
            self.wire.send(batch=batch, cell=index, row=_plain(outcome.row), messages=outcome.messages)
            if not self.state.is_kept():
                return False
        return not spoiled()

    def traces(self, fields: Sequence[Any]) -> bool:
        """Whether a cell is exported by tracing alone: a fix may name another exporter than the cell's."""
        cell = Cell(*fields)
        exporter: str = self.loaded[cell.case].variants[cell.variant].exporter(cell.exporter)
        return exporter == Exporter.TRACE.value

    def _forget_other_cases(self, case: str) -> None:
        for key in [key for key in self.known if key[0] != case]:
            del self.known[key]


class _Child(NamedTuple):
    """A forked process: its number, the cases it worked for, where it takes requests and where it says it is done."""

    pid: int
    cases: Set[str]
    requests: int
    done: int

    def takes(self, case: str, traces: bool) -> bool:
        """Whether the next batch of this case may go to it."""
        return case in self.cases or (traces and len(self.cases) < _CASES_OF_A_TRACING_CHILD)

    def send(self, line: bytes) -> None:
        try:
            while line:
                line = line[os.write(self.requests, line) :]
        except OSError:
            pass  # it is dead; waiting for it says how

    def wait(self) -> Optional[int]:
        """Until the request is served: ``None`` where the child takes another, else its exit code."""
        while True:
            ready, _, _ = select.select([self.done], [], [], _POLL_SECONDS)
            if ready:
                return None if os.read(self.done, 1) == _CLEAN else self.end()
            # a grandchild may hold the pipe of a dead child open
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._close()
                return _exit_code(status)

    def end(self) -> int:
        """Take no more requests of it; returns its exit code."""
        os.close(self.requests)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.done)
        kill_group(self.pid)
        return _exit_code(status)

    def leave(self) -> None:
        """Close the pipes to it in this process."""
        os.close(self.requests)
        os.close(self.done)

    def _close(self) -> None:
        self.leave()
        kill_group(self.pid)


#: the living children: the one that traces, and the one for every other exporter
_Children = Dict[bool, _Child]


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
        warm(arguments.dynamo, arguments.bare)
    except BaseException as error:  # torch may fail to import in any way, also by SystemExit
        wire.send(ready=False, error="{}: {}".format(type(error).__name__, error))
        return 1
    # what is warm stays shared with the children: the collector must not write into its pages
    gc.collect()
    gc.freeze()
    bundles = Path(arguments.bundles) if arguments.bundles else None
    worker = _Worker(loaded, wire, Stages(arguments.stages), bundles, {}, State())
    fork = hasattr(os, "fork") and threads() == 1 and not arguments.no_fork
    wire.send(ready=True, fork=fork, threads=threads())
    if fork:
        _serve_forking(worker)
    else:
        _serve_once(worker)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--results", type=int, required=True)
    parser.add_argument("--output", type=int, required=True)
    parser.add_argument("--stages", type=int, required=True)
    parser.add_argument("--cases", action="append", required=True)
    parser.add_argument("--bundles", default="")
    parser.add_argument("--dynamo", action="store_true")
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--no-fork", action="store_true")
    return parser.parse_args()


def _serve_once(worker: _Worker) -> None:
    for line in iter(sys.stdin.readline, ""):
        request = json.loads(line)
        worker.wire.send(batch=request["batch"], pid=os.getpid())
        worker.serve(request)
        return


def _serve_forking(worker: _Worker) -> None:
    children: _Children = {}
    for line in iter(sys.stdin.readline, ""):
        request = json.loads(line)
        case, alone, traces = request["cells"][0][0], request["alone"], all(map(worker.traces, request["cells"]))
        built = [prepare_opset(fields[2], fields[3]) for fields in request["cells"]]
        if alone or any(built) or not (traces in children and children[traces].takes(case, traces)):
            _end(children, traces)
            children[traces] = _fork(worker, children)
        child = children[traces]
        child.cases.add(case)
        worker.wire.send(batch=request["batch"], pid=child.pid)
        child.send(line.encode("utf-8"))
        ended = child.wait()
        if ended is not None:
            del children[traces]
            worker.wire.end_line()
        elif alone:
            ended = _end(children, traces)
        worker.wire.send(batch=request["batch"], ended=ended or 0)


def _end(children: _Children, traces: bool) -> int:
    child = children.pop(traces, None)
    return child.end() if child is not None else 0


def _fork(worker: _Worker, others: _Children) -> _Child:
    requests, requests_write = os.pipe()
    done, done_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        # held open here, the pipe of another child would never end for it
        for descriptor in [requests_write, done] + [
            end for other in others.values() for end in (other.requests, other.done)
        ]:
            os.close(descriptor)
        _child(requests, done_write, worker)
    os.close(requests)
    os.close(done_write)
    try:
        os.setpgid(pid, pid)
    except OSError:
        pass  # the child is already gone
    return _Child(pid, set(), requests_write, done)


def _child(requests: int, done: int, worker: _Worker) -> None:
    code = 0
    try:
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        die_with_parent()
        _take_requests(requests, done, worker)
    except BaseException:  # the zygote reports the exit; nothing may unwind into its loop
        code = 70
    finally:
        # no atexit handlers, no flushing of what the parent had buffered
        os._exit(code)


def _take_requests(requests: int, done: int, worker: _Worker) -> None:
    grown()
    with os.fdopen(requests, "rb") as lines:
        for line in iter(lines.readline, b""):
            request = json.loads(line.decode("utf-8"))
            limit_memory(request["memory_mb"])
            clean = worker.serve(request) and grown() < request["memory_mb"] // 4
            os.write(done, _CLEAN if clean else _RETIRED)
            if not clean:
                return


def _plain(row: Dict[str, Any]) -> Dict[str, Any]:
    return {name: value.item() if hasattr(value, "item") else value for name, value in row.items()}


def _exit_code(status: int) -> int:
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


if __name__ == "__main__":
    sys.exit(main())
