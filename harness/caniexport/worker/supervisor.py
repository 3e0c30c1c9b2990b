"""Watching over a zygote: deadlines, memory, and how a child's end becomes a row.

The supervisor lives in the pytest process and never imports torch. Whatever a cell does to its process, every cell
handed to :meth:`Supervisor.run` comes back with exactly one outcome.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, Generator, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from caniexport.model.messages import describe
from caniexport.model.plan import Cell
from caniexport.model.status import Checker, Stage, Status
from caniexport.worker.cell import Outcome
from caniexport.worker.channel import Lines
from caniexport.worker.process_tree import Memory, kill_group, kill_marked
from caniexport.worker.stages import Stages

_TAIL = 16 * 1024
_POLL_SECONDS = 0.25
#: a zygote that does not tell the end of a child that was killed has been stopped: it is killed too
_TELLS_WITHIN = 5.0
#: may come from the machine or from outside: a row has one only after two attempts with it
_DOUBTFUL = frozenset(item.value for item in (Status.TIMEOUT, Status.OOM, Status.CRASH, Status.INVALID))
#: environment variable by which everything that a zygote or a case has started is found
_MARK = "CANIEXPORT_PROCESSES"
_SIGNALS = {-member.value: member.name for member in signal.Signals}


class Limits(NamedTuple):
    """What one cell may take: seconds of wall time and MiB beyond the warmed process; seconds to warm up."""

    seconds: float = 60.0
    memory_mb: int = 2048
    warm_seconds: float = 300.0


class Settings(NamedTuple):
    """How to start a zygote."""

    cases: Sequence[Path]
    bundles: Optional[Path]
    dynamo: bool
    limits: Limits = Limits()
    fork: bool = True
    bare: bool = False


class Broken(Exception):
    """The zygote could not be started; ``status`` is that of the cells it was for."""

    def __init__(self, text: str, status: Status = Status.FAIL) -> None:
        super().__init__(text)
        self.status = status


class Supervisor:
    """Runs cells one by one, each in a process of its own. Use as a context manager."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._zygote: Optional[_ZygoteProcess] = None
        self._batch = 0

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """End the zygote and whatever it runs."""
        if self._zygote is not None:
            self._zygote.close()
            self._zygote = None

    def run(self, cells: Sequence[Cell], together: bool = False) -> Iterator[Outcome]:
        """One outcome a cell, in order. One that may come from the machine is measured again, with doubled limits.

        ``together`` lets one process measure several of them in turn; where it ends before the last, a new one takes
        the rest. Raises :class:`Broken` where no zygote can be started at all.
        """
        left = list(cells)
        while left:
            outcomes = self._attempt(left if together else left[:1], self._settings.limits, not together)
            doubtful: List[Outcome] = []
            for outcome in outcomes:
                # the process is at the next cell already: a second attempt waits until it has ended
                if doubtful or outcome.row["status"] in _DOUBTFUL:
                    doubtful.append(outcome)
                else:
                    yield self._confirmed(left.pop(0), outcome)
            for outcome in doubtful:
                yield self._confirmed(left.pop(0), outcome)

    def _confirmed(self, cell: Cell, outcome: Outcome) -> Outcome:
        """The outcome itself, or that of the last of the attempts that it takes until a doubtful status comes twice."""
        limits = self._settings.limits
        doubled = limits._replace(seconds=limits.seconds * 2, memory_mb=limits.memory_mb * 2)
        attempts = 1
        seen: Set[str] = set()
        crashed: Optional[Outcome] = None
        while outcome.row["status"] in _DOUBTFUL and outcome.row["status"] not in seen:
            seen.add(outcome.row["status"])
            if (outcome.row["status"], outcome.row["stage"]) == (Status.CRASH.value, Stage.CHECK.value):
                crashed = outcome
            (outcome,) = self._attempt([cell], doubled, alone=True, checks=crashed is None)
            attempts += 1
        outcome.row["attempts"] = attempts
        return outcome if crashed is None else _with_crashed_checker(outcome, crashed)

    def _attempt(self, cells: Sequence[Cell], limits: Limits, alone: bool, checks: bool = True) -> Iterator[Outcome]:
        """Outcomes of the first of these cells as they come, at least of one."""
        if self._zygote is None or not self._zygote.usable():
            self.close()
            self._zygote = self._start()
        self._batch += 1
        return self._zygote.measure(self._batch, cells, limits, alone, checks)

    def _start(self) -> _ZygoteProcess:
        try:
            return _ZygoteProcess(self._settings)
        except Broken:
            # a kill from outside or a busy machine; a second failure is reported
            return _ZygoteProcess(self._settings)


class _ZygoteProcess:
    """One zygote process with its pipes."""

    def __init__(self, settings: Settings) -> None:
        results, results_write = os.pipe()
        output, output_write = os.pipe()
        self._stages_file = tempfile.TemporaryFile()
        stages = self._stages_file.fileno()
        self._stages = Stages(stages)
        self._lines = Lines()
        self._mark = os.urandom(8).hex()
        self._tail = b""
        self._process = subprocess.Popen(
            self._command(settings, results_write, output_write, stages),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(results_write, output_write, stages),
            env=dict(_environment(), **{_MARK: self._mark}),
            start_new_session=True,
        )
        os.close(results_write)
        os.close(output_write)
        self._results, self._output = results, output
        self._selector = selectors.DefaultSelector()
        for descriptor in (results, output):
            os.set_blocking(descriptor, False)
            self._selector.register(descriptor, selectors.EVENT_READ)
        self._serves = True
        #: whether it forks the measuring processes, or measures in its own
        self._forks = True
        self._wait_ready(settings.limits.warm_seconds)

    @staticmethod
    def _command(settings: Settings, results: int, output: int, stages: int) -> List[str]:
        command = [sys.executable, "-m", "caniexport.worker.zygote", "--results", str(results), "--output", str(output)]
        command += ["--stages", str(stages)]
        for path in settings.cases:
            command += ["--cases", str(path)]
        if settings.bundles is not None:
            command += ["--bundles", str(settings.bundles)]
        if settings.dynamo:
            command.append("--dynamo")
        if settings.bare:
            command.append("--bare")
        if not settings.fork:
            command.append("--no-fork")
        return command

    def usable(self) -> bool:
        """Whether it will take another request."""
        return self._serves and self._process.poll() is None

    def close(self) -> None:
        """Kill the zygote and its group, and free the pipes."""
        if self._process.stdin is not None:
            try:
                self._process.stdin.close()
            except OSError:
                pass  # a dead zygote's pipe
        kill_group(self._process.pid)
        self._process.wait()
        # what a case started in a session of its own outlives the zygote that would have ended it
        kill_marked(_MARK, self._mark)
        self._selector.close()
        os.close(self._results)
        os.close(self._output)
        self._stages_file.close()

    def measure(
        self, batch: int, cells: Sequence[Cell], limits: Limits, alone: bool, checks: bool
    ) -> Iterator[Outcome]:
        """Measure cells in one process; however it ends, there is an outcome for each cell that was begun.

        Each comes as soon as the process has sent it: what is written then is not lost with the cells behind it.
        """
        watch = _Watch(limits, len(cells), lambda cell: self._stages.at(batch, cell))
        self._tail = b""
        self._secret = os.urandom(8).hex()
        request = {
            "batch": batch,
            "secret": self._secret,
            "cells": [list(cell) for cell in cells],
            "memory_mb": limits.memory_mb,
            "alone": alone,
            "checks": checks,
        }
        try:
            assert self._process.stdin is not None
            self._process.stdin.write((json.dumps(request) + "\n").encode("utf-8"))
            self._process.stdin.flush()
        except OSError:
            self._serves = False
            yield from watch.last(None, self._text())
            return
        ended = yield from self._follow(watch)
        yield from watch.last(ended, self._text())

    def _follow(self, watch: _Watch) -> Generator[Outcome, None, Optional[int]]:
        """Take messages until the measuring process has ended; returns its exit code, ``None`` where its parent did."""
        while True:
            for message in self._receive(_POLL_SECONDS):
                yield from watch.take(message, self._secret)
                if "ended" in message:
                    return int(message["ended"])
            if self._process.poll() is not None:
                # without forks the measuring process ends like this; with them, no cell's own crash does
                for message in self._receive(0):
                    yield from watch.take(message, self._secret)
                self._serves = False
                return None if self._forks else self._process.returncode
            watch.enforce(self._process.pid)

    def _receive(self, timeout: float) -> List[Dict[str, Any]]:
        """JSON messages that have arrived whole; output is drained to its tail on the way."""
        for key, _ in self._selector.select(timeout):
            data = _drain(key.fd)
            if key.fd == self._output:
                self._tail = (self._tail + data)[-_TAIL:]
            else:
                self._lines.add(data)
        return [_message(line) for line in self._lines.whole()]

    def _text(self) -> str:
        self._receive(0)
        return self._tail.decode("utf-8", "replace").strip()

    def _wait_ready(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for message in self._receive(_POLL_SECONDS):
                if message.get("ready"):
                    self._forks = bool(message["fork"])
                    return
                if "error" in message:
                    self.close()
                    raise Broken(message["error"])
            if self._process.poll() is not None:
                text = self._text()
                code = self._process.returncode
                self.close()
                problem = "{} while importing torch and warming up\n{}".format(_ending(code), text[-2000:])
                raise Broken(problem, Status.INVALID if _is_killed(code) else Status.FAIL)
        self.close()
        raise Broken("importing torch and warming up took more than {:.0f} s".format(seconds))


class _Watch:
    """What is known of the cells that one process measures."""

    def __init__(self, limits: Limits, cells: int, stage_of: Callable[[int], Optional[Stage]]) -> None:
        self._limits = limits
        self._cells = cells
        self._stage_of = stage_of
        self._started = time.monotonic()
        self._pid: Optional[int] = None
        self._memory: Optional[Memory] = None
        self._looked = 0.0
        #: what came that was no reply to the request
        self._foreign = False
        self._killed: Optional[Status] = None
        self._killed_at = 0.0
        self._measured = 0

    def take(self, message: Dict[str, Any], secret: str) -> Iterator[Outcome]:
        """Note what the child or the zygote says; gives the outcome that it brings."""
        if message.get("secret") != secret or ("row" in message and message.get("cell") != self._measured):
            # only where a case runs in the zygote itself could this be
            self._foreign = True
            return
        self._foreign |= "foreign" in message
        if "pid" in message:
            # another one where the first did not begin; its clock starts when it does: building an opset's registry
            # before is not the cell's
            self._pid, self._memory, self._killed = message["pid"], Memory(message["pid"]), None
            self._started = time.monotonic()
        if "row" in message:
            self._measured += 1
            self._started = time.monotonic()
            yield Outcome(message["row"], message["messages"])

    def enforce(self, zygote: int) -> None:
        """Kill the child where it is over time or over memory, and a zygote that is silent about its end."""
        if self._killed is not None:
            if time.monotonic() - self._killed_at > _TELLS_WITHIN:
                kill_group(zygote)
            return
        if self._foreign or time.monotonic() - self._started > self._limits.seconds:
            self._kill(Status.TIMEOUT, zygote)
        elif self._memory is not None and time.monotonic() - self._looked >= _POLL_SECONDS:
            self._looked = time.monotonic()
            if self._memory.exceeds(self._limits.memory_mb * 1024):
                self._kill(Status.OOM, zygote)

    def last(self, ended: Optional[int], output: str) -> Iterator[Outcome]:
        """Where the process ended badly, what its end says of the cell it was at."""
        whole = self._measured == self._cells
        retired = self._measured > 0 and ended == 0 and self._killed is None
        if whole or (retired and not self._foreign):
            return
        stage = (None if self._foreign else self._stage_of(self._measured)) or Stage.EAGER
        status, kind, text = self._explain(stage, ended, output)
        if output and not self._foreign:
            text += "\nlast output:\n" + output[-1500:]
        signature, identifier, kept = describe(stage.value, kind, text)
        row = {
            "runtime": "onnxruntime",
            "stage": stage.value,
            "status": status.value,
            "signature": signature,
            "message_id": identifier,
        }
        yield Outcome(row, {identifier: kept})

    def _explain(self, stage: Stage, ended: Optional[int], output: str) -> Tuple[Status, str, str]:
        if self._foreign:
            # what it had reached by then is as much a matter of time as what it printed
            return Status.CRASH, "ForeignReply", "its process sent what was not asked for"
        if self._killed is Status.TIMEOUT:
            return (
                Status.TIMEOUT,
                "Timeout",
                "still in stage {} after {:g} s".format(stage.value, self._limits.seconds),
            )
        out_of_memory = "more than {} MiB in stage {}".format(self._limits.memory_mb, stage.value)
        if self._killed is Status.OOM:
            return Status.OOM, "OutOfMemory", out_of_memory
        if ended is None or _is_killed(ended):
            # no limit of ours: the machine's memory ran out, or somebody ended the process
            who = "the parent of the measuring process" if ended is None else "the measuring process"
            return Status.INVALID, "Killed", "{} was killed from outside in stage {}".format(who, stage.value)
        if "bad_alloc" in output:
            return Status.OOM, "OutOfMemory", out_of_memory
        return Status.CRASH, _SIGNALS.get(ended, "Exit"), "{} in stage {}".format(_ending(ended), stage.value)

    def _kill(self, status: Status, zygote: int) -> None:
        self._killed, self._killed_at = status, time.monotonic()
        if self._pid is not None and self._pid != zygote:
            kill_group(self._pid)
            try:
                os.kill(self._pid, signal.SIGKILL)
            except OSError:
                pass  # it ended by itself in this moment
        else:
            kill_group(zygote)


def _environment() -> Dict[str, str]:
    """One thread in every library: a fork is safe only from a single-threaded process.

    onnxruntime 1.31 starts a telemetry thread when it is imported; measuring sends nothing anywhere. Torch 2.3 starts a
    pool for compiling kernels with the first captured program; no export compiles any. Torch's database of operators
    draws samples in the order of sets: two processes have the same ones only if they hash alike.
    """
    environment = dict(os.environ)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
        environment[name] = "1"
    environment["ORT_DISABLE_TELEMETRY"] = "1"
    environment["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    environment["PYTHONHASHSEED"] = "0"
    return environment


def _drain(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 20)
    except BlockingIOError:
        return b""


def _message(line: bytes) -> Dict[str, Any]:
    """The message of a line; one that a case has written instead is none of this request."""
    try:
        message = json.loads(line.decode("utf-8"))
    except ValueError:
        message = None
    return message if isinstance(message, dict) else {}


def _with_crashed_checker(outcome: Outcome, crashed: Outcome) -> Outcome:
    """The outcome of an attempt without onnx's checker, with the crash of the attempt before as the checker's."""
    row = dict(outcome.row, checker=Checker.CRASH.value, checker_id=crashed.row["message_id"])
    return Outcome(row, dict(crashed.messages, **outcome.messages))


def _is_killed(code: int) -> bool:
    return _SIGNALS.get(code) == "SIGKILL"


def _ending(code: int) -> str:
    if code < 0:
        return "killed by {}".format(_SIGNALS.get(code, "signal {}".format(-code)))
    return "the process exited with code {} before the cell was finished".format(code)
