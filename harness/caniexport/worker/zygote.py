"""A warmed, single-threaded process that forks children to measure batches of cells.

A batch is all opsets of one variant with one exporter. No child serves two cases. The traced batches of a case go to
one child, one after the other; those of its other exporters to a second one; a scripted batch has a child of its own.
They give the same rows together as apart (``tests/`` and the second measuring of every release hold them to it). A
symbolic that a cell leaves registered is taken back. A child is replaced when it has died, when a cell has changed it
in another way, when a cell left a process running, when it has grown, and for cells that ask for their own process.

It reads one JSON request a line from standard input and writes JSON lines to the descriptor ``--results``; what the
cells print goes to the descriptor ``--output``. Children note the cell and stage they are at in the file ``--stages``.

Requests:   ``{"batch": 7, "secret": "5f…", "cells": [[...Cell fields...]], "memory_mb": 2048, "alone": false}``
Answers:    ``{"ready": true, "fork": true}``, ``{"batch": 7, "secret": "5f…", "pid": 123}``,
            ``{…, "cell": 0, "row": {...}, "messages": {...}}``, ``{…, "ended": -11}``

Each child has a pipe of its own to the zygote. Every line on it begins with the request's secret, the child's process
number and the cell: anything else that comes ends the child and is told of the cell that it was at (``foreign``).

Where a fork is not safe (threads were started while warming) it says ``"fork": false``, serves one request in this very
process and ends; the supervisor then starts a fresh one for each batch.
"""

from __future__ import annotations

import argparse
import codecs
import contextlib
import enum
import gc
import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from caniexport.model import corpus as corpus_module
from caniexport.model.case import Case
from caniexport.model.plan import Cell
from caniexport.model.status import Exporter, Stage
from caniexport.worker.cell import EagerResults, Outcome, measure
from caniexport.worker.channel import Channel, Lines, encoded
from caniexport.worker.process import grown, limit_memory
from caniexport.worker.process_tree import adopt_orphans, die_with_parent, end_children, kill_group
from caniexport.worker.sharing import spoiled
from caniexport.worker.stages import Stages
from caniexport.worker.warm import import_before_torch, prepare_opset, threads, warm
from caniexport.worker.watch import State

_POLL_SECONDS = 0.05
#: what a child says: it takes the request; a row; the request is served and it takes another; or it takes no more
_BEGUN, _ROW, _CLEAN, _RETIRED = b"begun", b"row", b"clean", b"retired"


class Kind(enum.Enum):
    """What a child is for: the traced batches of a case, those of its other exporters, or one batch alone."""

    TRACES = "traces"
    OTHERS = "others"
    ALONE = "alone"


#: how a child ended from which something came that its request had not asked for
_FOREIGN = "foreign"


class _Worker(NamedTuple):
    """What a process that measures needs."""

    loaded: Dict[str, Any]
    stages: Stages
    bundles: Optional[Path]
    known: EagerResults
    state: State

    def serve(self, request: Dict[str, Any], send: Callable[[int, Outcome], None]) -> bool:
        """Measure the cells of one request; stop where one has changed the process that the next would share.

        Returns whether the process is still what it was.
        """
        self.state.begin()
        self.stages.take()
        for index, fields in enumerate(request["cells"]):
            send(index, self._measure(request, index, Cell(*fields)))
            # what a cell leaves running may change the next one, or speak for it
            if end_children() or not self.state.is_kept():
                return False
        return not spoiled() and self.state.is_kept_widely()

    def kind(self, request: Dict[str, Any]) -> Kind:
        """Which child serves a request: what scripting leaves behind changes whether another variant scripts at all."""
        exporters = {self._exporter(Cell(*fields)) for fields in request["cells"]}
        if request["alone"] or Exporter.SCRIPT.value in exporters:
            return Kind.ALONE
        return Kind.TRACES if exporters == {Exporter.TRACE.value} else Kind.OTHERS

    def _measure(self, request: Dict[str, Any], index: int, cell: Cell) -> Outcome:
        def announce(stage: Stage) -> None:
            self.stages.note(request["batch"], index, stage)

        _seed()
        # torch 2.4 takes what an earlier export left for its own while nobody has collected it; what is shared with the
        # zygote is frozen, so that this takes about a millisecond
        gc.collect()
        variants = self.loaded[cell.case].variants
        return measure(cell, variants, announce, self.bundles, self.known, request["checks"])

    def _exporter(self, cell: Cell) -> str:
        """The exporter that is used: a fix may name another one than the cell's."""
        exporter: str = self.loaded[cell.case].variants[cell.variant].exporter(cell.exporter)
        return exporter


def _seed() -> None:
    """Random numbers that nobody seeds are the same in every cell, whatever was measured before it."""
    for module, name in (("random", "seed"), ("numpy.random", "seed"), ("torch", "manual_seed")):
        seed = getattr(sys.modules.get(module), name, None)
        if seed is not None:
            seed(0)


class _Child:
    """A forked process as the zygote sees it: where it takes requests, and what it says."""

    def __init__(self, pid: int, case: str, requests: int, replies: int) -> None:
        self.pid = pid
        self.case = case
        self._requests, self._replies = requests, replies
        self._lines = Lines()
        self._ended = False

    def send(self, line: bytes) -> None:
        try:
            while line:
                line = line[os.write(self._requests, line) :]
        except OSError:
            pass  # it is dead; waiting for it says how

    def lines(self) -> Iterator[Union[bytes, int]]:
        """What it says, line by line; the exit code last, where it has ended."""
        reads = True
        while True:
            # a grandchild may hold the pipe of a dead child open
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._ended = bool(pid)
            reads = reads and self._read(0 if pid else _POLL_SECONDS, drain=bool(pid))
            for line in self._lines.whole():
                yield line
            if pid:
                self.end()
                yield _exit_code(status)
                return
            if not reads:
                # it closed its end: what is left to hear is how it ends
                time.sleep(_POLL_SECONDS)

    def end(self) -> None:
        """End it, and what is left of its group."""
        kill_group(self.pid)
        if not self._ended:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.leave()

    def leave(self) -> None:
        """Close the pipes to it in this process."""
        os.close(self._requests)
        os.close(self._replies)

    def _read(self, seconds: float, drain: bool) -> bool:
        """Take what there is to read, all of it to ``drain``; ``False`` where there never will be anything."""
        while select.select([self._replies], [], [], seconds)[0]:
            data = os.read(self._replies, 1 << 16)
            self._lines.add(data)
            if not data or not drain:
                return bool(data)
        return True


class _Zygote:
    """Serves requests one by one by the child that each is for."""

    def __init__(self, worker: _Worker, wire: Channel) -> None:
        self._worker = worker
        self._wire = wire
        self._children: Dict[Kind, _Child] = {}

    def serve(self, request: Dict[str, Any]) -> None:
        """Have a request served, and tell the supervisor what comes and how it ended."""
        case, kind = request["cells"][0][0], self._worker.kind(request)
        built = [prepare_opset(fields[2], fields[3]) for fields in request["cells"]]
        kept = self._children.get(kind)
        ended: Union[int, str, None] = None
        if any(built):
            self._worker.state.take()
        if kept is not None and not any(built) and kept.case == case:
            ended = self._through(kept, kind, request, is_new=False)
        if ended is None:
            self._end(kind)
            self._children[kind] = _fork(self._worker, case, self._wire, list(self._children.values()))
            ended = self._through(self._children[kind], kind, request, is_new=True)
        if kind is Kind.ALONE:
            self._end(kind)
        self._sweep()
        if ended == _FOREIGN:
            self._say(request, foreign=True, ended=0)
        else:
            self._say(request, ended=ended or 0)

    def _through(self, child: _Child, kind: Kind, request: Dict[str, Any], is_new: bool) -> Union[int, str, None]:
        """Hand a request to a child and its rows on; ``None`` where one that had others before has died since."""
        self._say(request, pid=child.pid)
        child.send((json.dumps(request) + "\n").encode("utf-8"))
        begun, cell = False, 0
        for line in child.lines():
            if isinstance(line, int):
                del self._children[kind]
                return line if begun or is_new else None
            word, body = _said(line, request, child.pid, cell)
            if word == _ROW and begun and cell < len(request["cells"]):
                self._wire.write(body + b"\n")
                cell += 1
            elif word == _BEGUN and not begun:
                begun = True
            elif word in (_CLEAN, _RETIRED) and begun and cell:
                if word == _RETIRED:
                    self._end(kind)
                return 0
            else:
                self._end(kind)
                return _FOREIGN
        raise AssertionError("a child says nothing after its end")

    def _say(self, request: Dict[str, Any], **message: Any) -> None:
        self._wire.send(dict(message, batch=request["batch"], secret=request["secret"]))

    def _end(self, kind: Kind) -> None:
        child = self._children.pop(kind, None)
        if child is not None:
            child.end()

    def _sweep(self) -> None:
        """End what ended children have left behind."""
        end_children(keep={child.pid for child in self._children.values()})


def _said(line: bytes, request: Dict[str, Any], pid: int, cell: int) -> Tuple[bytes, bytes]:
    """The word and the rest of a line that this child wrote for this request and cell; nothing for any other line."""
    words = line.split(b" ", 4)
    if len(words) != 5 or words[:3] != _address(request, pid, cell):
        return b"", b""
    return words[3], words[4]


def _address(request: Dict[str, Any], pid: int, cell: int) -> List[bytes]:
    return [request["secret"].encode("ascii"), str(pid).encode("ascii"), str(cell).encode("ascii")]


def main() -> int:
    """Warm up, then serve requests until standard input closes."""
    arguments = _arguments()
    die_with_parent()
    adopt_orphans()
    wire = Channel(arguments.results)
    # cells may print or flood; standard output belongs to them from here on
    os.dup2(arguments.output, 1)
    os.dup2(arguments.output, 2)
    os.close(arguments.output)
    try:
        import_before_torch()
        loaded = corpus_module.load([Path(path) for path in arguments.cases], stand_in=False)
        warm(arguments.dynamo, arguments.bare)
        _load_sources(loaded)
    except BaseException as error:  # torch may fail to import in any way, also by SystemExit
        wire.send({"ready": False, "error": "{}: {}".format(type(error).__name__, error)})
        return 1
    # what is warm stays shared with the children: the collector must not write into its pages
    gc.collect()
    gc.freeze()
    bundles = Path(arguments.bundles) if arguments.bundles else None
    # every child reads /proc in this encoding: one that imports it itself takes the state of all modules again
    codecs.lookup("ascii")
    state = State()
    worker = _Worker(loaded, Stages(arguments.stages), bundles, {}, state)
    state.take()
    fork = hasattr(os, "fork") and threads() == 1 and not arguments.no_fork
    wire.send({"ready": True, "fork": fork, "threads": threads()})
    if fork:
        zygote = _Zygote(worker, wire)
        for line in iter(sys.stdin.readline, ""):
            zygote.serve(json.loads(line))
    else:
        _serve_once(worker, wire)
    return 0


def _load_sources(loaded: Dict[str, corpus_module.LoadedCase]) -> None:
    """Load the sources of the cases before any fork: no child pays for them."""
    for item in loaded.values():
        if issubclass(item.cls, Case):
            # what fails here fails in the cells, and is said there
            with contextlib.suppress(Exception):
                item.cls.load()


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


def _serve_once(worker: _Worker, wire: Channel) -> None:
    line = sys.stdin.readline()
    if line:
        request = json.loads(line)
        wire.send({"batch": request["batch"], "secret": request["secret"], "pid": os.getpid()})
        worker.serve(request, lambda cell, outcome: wire.write(_row(request, cell, outcome) + b"\n"))


def _fork(worker: _Worker, case: str, wire: Channel, others: Sequence[_Child]) -> _Child:
    requests, requests_write = os.pipe()
    replies, replies_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(requests_write)
        os.close(replies)
        # held open here, the pipe of another child would never end for it, and a case could write into them
        wire.close()
        for other in others:
            other.leave()
        _child(requests, Channel(replies_write), worker)
    os.close(requests)
    os.close(replies_write)
    try:
        os.setpgid(pid, pid)
    except OSError:
        pass  # the child is already gone
    return _Child(pid, case, requests_write, replies)


def _child(requests: int, replies: Channel, worker: _Worker) -> None:
    code = 0
    try:
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        _have_own_output()
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        die_with_parent()
        adopt_orphans()
        os.register_at_fork(after_in_child=die_with_parent)
        _take_requests(requests, replies, worker)
    except BaseException:  # the zygote reports the exit; nothing may unwind into its loop
        code = 70
    finally:
        # no atexit handlers, no flushing of what the parent had buffered
        os._exit(code)


def _have_own_output() -> None:
    """Open the pipe for what cells print anew: what a case tells it (not to wait) is told to no other process's."""
    with contextlib.suppress(OSError):  # only Linux has a way
        own = os.open("/proc/self/fd/1", os.O_WRONLY)
        os.dup2(own, 1)
        os.dup2(own, 2)
        os.close(own)


def _take_requests(requests: int, replies: Channel, worker: _Worker) -> None:
    grown()
    with os.fdopen(requests, "rb") as lines:
        for line in iter(lines.readline, b""):
            if not _serve(_Replies(replies, json.loads(line.decode("utf-8"))), worker):
                return


def _serve(replies: _Replies, worker: _Worker) -> bool:
    """Serve one request; whether this process is fit for another."""
    memory: int = replies.request["memory_mb"]
    replies.say(_BEGUN)
    limit_memory(memory)
    clean = worker.serve(replies.request, replies.row) and grown() < memory // 4
    replies.say(_CLEAN if clean else _RETIRED)
    return clean


class _Replies:
    """What a child says to one request, each line with its address."""

    def __init__(self, channel: Channel, request: Dict[str, Any]) -> None:
        self.request = request
        self._channel = channel
        self._pid = os.getpid()
        self._cells = 0

    def say(self, word: bytes, body: bytes = b"") -> None:
        self._channel.write(b" ".join(_address(self.request, self._pid, self._cells) + [word, body]) + b"\n")

    def row(self, cell: int, outcome: Outcome) -> None:
        self.say(_ROW, _row(self.request, cell, outcome))
        self._cells += 1


def _row(request: Dict[str, Any], cell: int, outcome: Outcome) -> bytes:
    """A cell's outcome as the supervisor reads it."""
    message = {"batch": request["batch"], "secret": request["secret"], "cell": cell}
    return encoded(dict(message, row=_plain(outcome.row), messages=outcome.messages))


def _plain(row: Dict[str, Any]) -> Dict[str, Any]:
    return {name: value.item() if hasattr(value, "item") else value for name, value in row.items()}


def _exit_code(status: int) -> int:
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


if __name__ == "__main__":
    sys.exit(main())
